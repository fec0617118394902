//! Whom to trust: what has been found out about evaluators, about groups of items, and about those who judge?

use super::Fitted;
use crate::options::Fraction;
use crate::policy::{Alarm, Doubt, SigmaOrigin};
use crate::reviewer::Standing;
use crate::toolbox::Interval;

/// What was found out.
impl Fitted {
    /// The weights of the evaluators, where the policy has them: what a unit of the score adds to the value, in the direction
    /// in which the evaluator was said to point, on the inverse link's scale.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"oracle(alpha=[1,2],sigma=[1,1])".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let weights = fitted.weights().unwrap();
    /// assert!((weights[0] * 1.0 + weights[1] * 2.0 - 1.0).abs() < 1e-12); // <w, alpha> = 1
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn weights(&self) -> Option<&[f64]> {
        self.0.rank.weights()
    }

    /// The weights with intervals, where the policy knows how sure it is.
    ///
    /// **What an interval holds**, with that probability: the weight that plain least squares of the reward on the scores would give the
    /// evaluator if every item learnt from had been judged endlessly often, so that its expected reward is known. The weight itself
    /// (`mean`) is drawn towards a guess while labels are few, the interval is not, and always holds the weight too; it may lie at one end.
    ///
    /// It is about the items learnt from. Where those are the best, and expected rewards bend with the scores, as those of yes and no do, the
    /// straight line through all items is another one, which it need not hold.
    ///
    /// An interval without ends (infinite ones) says that the labels cannot tell: it takes two more of them than there are evaluators, rewards that
    /// differ, and scores of the evaluator that vary and do not follow from those of others.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Spec, options::Fraction};
    /// let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(1)?)?;
    /// let level = Fraction::try_from(0.9).unwrap();
    /// assert_eq!(jury.fit().weight_intervals(level).unwrap()[0].high, f64::INFINITY); // nothing is known yet
    /// let table: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 40)).collect();
    /// let scores = jury.scores(&table)?;
    /// jury.observe(&scores, 0)?;
    /// for (i, row) in scores.rows().enumerate() {
    ///     let reward = 2.0 * row[0] + (i % 3) as f64;
    ///     jury.learn(&[Example { scores: row, reward, receipt: None }], 0)?;
    /// }
    /// let weight = jury.fit().weight_intervals(level).unwrap()[0];
    /// assert!(weight.low < 2.0 && 2.0 < weight.high && weight.high - weight.low < 0.1);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn weight_intervals(&self, level: Fraction) -> Option<Vec<Interval>> {
        self.0.rank.weight_intervals(level.get())
    }

    /// The estimate of the gains, where the policy has one; for `esag` up to a common factor.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// jury.observe(&jury.scores(&[1.0, 2.0, 3.0, 4.0])?, 0)?;
    /// assert_eq!(jury.fit().alpha(), Some(&[2.0, 3.0][..])); // the mean score of each evaluator
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn alpha(&self) -> Option<&[f64]> {
        self.0.rank.alpha()
    }

    /// The noise levels in use, where the policy uses any, and where they come from.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"esag".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let (_, origin) = fitted.sigma().unwrap();
    /// assert!(origin.to_string().contains("2 evaluators are too few"));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        self.0.rank.sigma()
    }

    /// For the items of a group, named by the column of the context and its number there: what they are worth more than others with the
    /// same scores, and the weights of the evaluators. None where the group is not known, or groups do not differ: then [`weights`](
    /// Self::weights) are those of all.
    ///
    /// ```
    /// # use jurybox::{Evaluator, Evaluators, Example, Jury, Spec};
    /// let evaluators = Evaluators::new(["a".into(), "b".into(), Evaluator::context("language")])?;
    /// let mut jury = Jury::new(&Spec::default(), evaluators)?;
    /// for i in 0..120 {
    ///     // `a` knows the one language and `b` the other.
    ///     let (a, b, language) = (f64::from(i * 7 % 40), f64::from(i * 11 % 37), f64::from(i % 2));
    ///     let reward = if language == 0.0 { a } else { b } + f64::from(i % 3);
    ///     jury.observe(&jury.scores(&[a, b, language])?, 0)?;
    ///     jury.learn(&[Example { scores: &[a, b, language], reward, receipt: None }], 0)?;
    /// }
    /// let (_, weights) = jury.fit().group_weights(2, 0.0).unwrap();
    /// assert!(weights[0] > 0.9 && weights[1] < 0.1, "{weights:?}");
    /// assert_eq!(jury.fit().group_weights(2, 7.0), None);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn group_weights(&self, column: usize, group: f64) -> Option<(f64, Vec<f64>)> {
        self.0.rank.group_weights(column, group)
    }

    /// Those who judged, where the policy tells them apart (`adaptive`) and verdicts named them
    /// ([`Jury::learn_by`](crate::Jury::learn_by)): how severe and how noisy each is beside the others, with intervals of that
    /// probability. None as long as there is one alone, or all verdicts are the same. Verdicts that name nobody are one of them.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Reviewer, Spec, options::Fraction};
    /// let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(1)?)?;
    /// let (ann, bob) = (Reviewer::named("ann"), Reviewer::named("bob"));
    /// for i in 0..80 {
    ///     let score = f64::from(i * 7 % 40);
    ///     let (who, more) = if i % 2 == 0 { (ann, 0.0) } else { (bob, 5.0) };
    ///     let example = Example { scores: &[score], reward: score + more + f64::from(i % 3), receipt: None };
    ///     jury.observe(&jury.scores(&[score])?, 0)?;
    ///     jury.learn_by(&[example], &[Some(who)], 0)?;
    /// }
    /// let standings = jury.fit().reviewers(Fraction::try_from(0.9).unwrap());
    /// let of = |who| standings.iter().find(|standing| standing.reviewer == Some(who)).unwrap();
    /// assert_eq!(of(bob).labels, 40);
    /// let above = of(bob).severity; // bob's verdicts, over what ann would have said of the same items
    /// assert!(above.low < 5.0 && 5.0 < above.high && above.half_width() < 0.5);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn reviewers(&self, level: Fraction) -> Vec<Standing> {
        self.0.rank.reviewers(level.get())
    }

    /// Evaluators, or rewards, that are not what they were, where the policy watches for that, as `adaptive` does.
    pub fn alarms(&self) -> &[Alarm] {
        self.0.rank.alarms()
    }

    /// Reasons to look again at what was learnt from: rewards that are all the same, or a jury that by its rewards points the wrong
    /// way. See [`Doubt`].
    pub fn doubts(&self) -> &[Doubt] {
        self.0.rank.doubts()
    }
}
