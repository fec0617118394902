//! What a fit says about evaluators, groups of items and reviewers.

use super::Fitted;
use crate::options::Fraction;
use crate::policy::{Alarm, Diagnostic, SigmaOrigin};
use crate::reviewer::Standing;
use crate::toolbox::Interval;

/// Weights, gains, noise, reviewers, alarms and diagnostics.
impl Fitted {
    /// The weights of the evaluators, if the policy has them: how much the value grows with one
    /// unit of the score, in the evaluator's direction. With a link g, scores are on the scale of
    /// g^-1.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let policy = "oracle(alpha=[1,2],sigma=[1,1])".parse()?;
    /// let fitted = Jury::new(&policy, Evaluators::numbered(2)?)?.fit();
    /// let weights = fitted.weights().unwrap();
    /// assert!((weights[0] * 1.0 + weights[1] * 2.0 - 1.0).abs() < 1e-12); // <w, alpha> = 1
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn weights(&self) -> Option<&[f64]> {
        self.0.rank.weights()
    }

    /// The weights with intervals, if the policy has them.
    ///
    /// An interval contains, with this probability, the weight of ordinary least squares of the
    /// expected reward on the scores of the labelled items. The estimate (`mean`) is shrunk towards
    /// a prior while labels are few. The interval is not shrunk, but it is widened to contain the
    /// estimate, which may lie at one end.
    ///
    /// It describes the labelled items. These may be the best ones, and the expected reward may not
    /// be linear in the scores, as with yes/no rewards. The regression over all items then differs,
    /// and the interval need not contain its weight.
    ///
    /// An unbounded interval (infinite ends) says that the labels do not determine the weight. A
    /// bounded one needs rewards that differ, and at least two more labels than evaluators with
    /// varying scores. The evaluator's scores must vary and be no linear combination of other
    /// scores.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Spec, options::Fraction};
    /// let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(1)?)?;
    /// let level = Fraction::try_from(0.9).unwrap();
    /// let unlabelled = jury.fit().weight_intervals(level).unwrap();
    /// assert_eq!(unlabelled[0].high, f64::INFINITY);
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

    /// The estimated gains, if the policy has them; for `esag` up to a common factor.
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

    /// The noise levels in use, if the policy uses any, and their source.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"esag".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let (_, origin) = fitted.sigma().unwrap();
    /// assert!(matches!(origin, jurybox::SigmaOrigin::StandardDeviation(_))); // two are too few
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        self.0.rank.sigma()
    }

    /// The offset and the weights of one group, named by the column of the context and the group's
    /// number in it. The offset is how much more items of the group are worth than others with the
    /// same scores. None if the group is unknown or groups do not differ; then
    /// [`weights`](Self::weights) hold for the group.
    ///
    /// ```
    /// # use jurybox::{Evaluator, Evaluators, Example, Jury, Spec};
    /// let evaluators = Evaluators::new(["a".into(), "b".into(), Evaluator::context("language")])?;
    /// let mut jury = Jury::new(&Spec::default(), evaluators)?;
    /// for i in 0..120 {
    ///     // `a` knows the one language and `b` the other.
    ///     let (a, b) = (f64::from(i * 7 % 40), f64::from(i * 11 % 37));
    ///     let language = f64::from(i % 2);
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

    /// The reviewers: severity and noise of each relative to the others, with intervals of this
    /// probability. Only `adaptive` models them, and only if verdicts named them
    /// ([`Jury::learn_by`](crate::Jury::learn_by)). Empty while there is only one reviewer, or all
    /// verdicts are equal. Verdicts without a name count as one reviewer.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Reviewer, Spec, options::Fraction};
    /// let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(1)?)?;
    /// let (ann, bob) = (Reviewer::named("ann"), Reviewer::named("bob"));
    /// for i in 0..80 {
    ///     let score = f64::from(i * 7 % 40);
    ///     let (who, more) = if i % 2 == 0 { (ann, 0.0) } else { (bob, 5.0) };
    ///     let reward = score + more + f64::from(i % 3);
    ///     let example = Example { scores: &[score], reward, receipt: None };
    ///     jury.observe(&jury.scores(&[score])?, 0)?;
    ///     jury.learn_by(&[example], &[Some(who)], 0)?;
    /// }
    /// let standings = jury.fit().reviewers(Fraction::try_from(0.9).unwrap());
    /// let of = |who| standings.iter().find(|standing| standing.reviewer == Some(who)).unwrap();
    /// assert_eq!(of(bob).labels, 40);
    /// let above = of(bob).severity; // bob's verdicts less ann's for the same items
    /// assert!(above.low < 5.0 && 5.0 < above.high && above.half_width() < 0.5);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn reviewers(&self, level: Fraction) -> Vec<Standing> {
        self.0.rank.reviewers(level.get())
    }

    /// Changes in evaluators or rewards, if the policy watches for them, as `adaptive` does.
    pub fn alarms(&self) -> &[Alarm] {
        self.0.rank.alarms()
    }

    /// Diagnostics of the labels, for example rewards that are all equal, or scores that point
    /// against the rewards. See [`Diagnostic`].
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.0.rank.diagnostics()
    }
}
