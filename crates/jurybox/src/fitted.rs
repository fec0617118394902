//! What ranks: a fit of what a jury has learnt, that never changes.

use crate::border::{check_k, check_width};
use crate::contributions::Contributions;
use crate::error::Error;
use crate::evaluators::Evaluators;
use crate::form::Form;
use crate::link::Link;
use crate::options::Fraction;
use crate::pick::Pick;
use crate::policy::{Alarm, AnyRank, Doubt, Exploration, SigmaOrigin, explore};
use crate::reviewer::Standing;
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::spec::Spec;
use crate::toolbox::Interval;
use rand::Rng;
use std::sync::Arc;

/// What ranks: a pure function of a jury's state, given by [`Jury::fit`](crate::Jury::fit).
///
/// It is owned, immutable and cheap to clone, and any number of threads can share it: everything takes `&self`. When to fit
/// again is the caller's decision. Calls that are made often take a [`Scratch`] whose memory is used again.
///
/// ```
/// use jurybox::{Evaluators, Example, Jury};
/// use jurybox::rand::SeedableRng;
/// use rand_chacha::ChaCha8Rng;
///
/// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::new(["toxicity", "spam"])?)?;
/// jury.learn(&[Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None }], 0)?;
/// let fitted = jury.fit();
///
/// let table = [0.1, 0.2, 0.9, 0.7, 0.4, 0.4];
/// let scores = fitted.scores(&table)?;
/// let threads: Vec<Vec<usize>> = std::thread::scope(|scope| {
///     let pick = || {
///         let picks = fitted.choose(&scores, 2, &mut ChaCha8Rng::seed_from_u64(7)).unwrap();
///         picks.iter().map(|pick| pick.item).collect()
///     };
///     let running: Vec<_> = (0..2).map(|_| scope.spawn(pick)).collect();
///     running.into_iter().map(|thread| thread.join().unwrap()).collect()
/// });
/// assert_eq!(threads[0], threads[1]);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fitted(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    spec: Spec,
    evaluators: Evaluators,
    link: Link,
    rank: AnyRank,
}

impl Fitted {
    pub(crate) fn new(spec: Spec, evaluators: Evaluators, link: Link, rank: AnyRank) -> Self {
        Fitted(Arc::new(Inner { spec, evaluators, link, rank }))
    }

    /// The policy and its options.
    pub fn spec(&self) -> &Spec {
        &self.0.spec
    }

    /// The evaluators, in the order of the columns.
    pub fn evaluators(&self) -> &Evaluators {
        &self.0.evaluators
    }

    /// Checks a round's scores, one row per item; errors name the evaluator.
    pub fn scores<'a>(&self, values: &'a [f64]) -> Result<Scores<'a>, Error> {
        Scores::of(values, &self.0.evaluators)
    }

    /// Picks `k` items, best first, explored ones last.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let scores = fitted.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let picks = fitted.choose(&scores, 2, &mut rng)?;
    /// assert_eq!(picks.iter().map(|pick| pick.item).collect::<Vec<_>>(), [1, 2]);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn choose<R: Rng + ?Sized>(
        &self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.choose_into(scores, k, rng, &mut Scratch::new(), &mut picks)?;
        Ok(picks)
    }

    /// As [`choose`](Self::choose), with memory that is used again: a steady state allocates nothing.
    pub fn choose_into<R: Rng + ?Sized>(
        &self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
        scratch: &mut Scratch,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.check(scores)?;
        check_k(k, scores.items())?;
        choose(&self.0.rank, &self.0.evaluators, self.0.link, scores, k, rng, scratch, picks);
        Ok(())
    }

    /// The probability of each item to be picked by [`choose`](Self::choose); they sum to `k`.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"eps-greedy-all(eps=0.4)".parse()?, Evaluators::numbered(1)?)?;
    /// jury.learn(&[Example { scores: &[1.0], reward: 1.0, receipt: None }], 0)?;
    /// let fitted = jury.fit();
    /// let pi = fitted.inclusion_probabilities(&fitted.scores(&[3.0, 1.0, 2.0, 0.0])?, 2)?;
    /// for (found, expected) in pi.iter().zip([0.8, 0.2, 0.8, 0.2]) {
    ///     assert!((found - expected).abs() < 1e-12);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn inclusion_probabilities(&self, scores: &Scores<'_>, k: usize) -> Result<Vec<f64>, Error> {
        self.check(scores)?;
        check_k(k, scores.items())?;
        let (mut scratch, mut buffer) = (Scratch::new(), Vec::new());
        let scores = self.0.evaluators.oriented(self.0.link, scores, &mut buffer);
        self.0.rank.inclusion(&scores, k, &mut scratch);
        Ok(scratch.probabilities)
    }

    /// Whether [`choose`](Self::choose) goes by the [`values`](Self::values) of the items, and by nothing else of their scores: then
    /// [`choose_by_values`](Self::choose_by_values) can do it for rounds whose scores are too many to be held.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// for (policy, by_values) in [("adaptive", true), ("eps-greedy", true), ("adaptive(draws=4)", false), ("rand", false)] {
    ///     let fitted = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?.fit();
    ///     assert_eq!(fitted.picks_by_values(), by_values, "{policy}");
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn picks_by_values(&self) -> bool {
        self.0.rank.picks_by_values()
    }

    /// The same, without the looks that `adaptive` takes now and then at what one evaluator scores highest and nobody has met: for rounds
    /// whose scores are too many to be held.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?.fit();
    /// assert!(fitted.without_looks().picks_by_values());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    #[must_use]
    pub fn without_looks(&self) -> Self {
        let Inner { spec, evaluators, link, rank } = &*self.0;
        Fitted::new(spec.clone(), evaluators.clone(), *link, rank.without_looks())
    }

    /// The picks of [`choose`](Self::choose), by the [`values`](Self::values) of the items. A policy that goes by more than these is
    /// refused.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let rng = || rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let scores = fitted.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let picks = fitted.choose_by_values(&fitted.values(&scores)?, 2, &mut rng())?;
    /// assert_eq!(picks, fitted.choose(&scores, 2, &mut rng())?);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn choose_by_values<R: Rng + ?Sized>(
        &self,
        values: &[f64],
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut scratch = self.by_values(values, k)?;
        explore::choose(self.exploration(), k, rng, &mut scratch);
        Ok(scratch.picks)
    }

    /// The [`inclusion_probabilities`](Self::inclusion_probabilities), by the [`values`](Self::values) of the items. A policy that goes by
    /// more than these is refused.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let scores = fitted.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let probabilities = fitted.probabilities_by_values(&fitted.values(&scores)?, 2)?;
    /// assert_eq!(probabilities, fitted.inclusion_probabilities(&scores, 2)?);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn probabilities_by_values(&self, values: &[f64], k: usize) -> Result<Vec<f64>, Error> {
        let mut scratch = self.by_values(values, k)?;
        explore::inclusion(self.exploration(), k, &mut scratch);
        Ok(scratch.probabilities)
    }

    /// What is needed to choose by values, and nothing else.
    fn by_values(&self, values: &[f64], k: usize) -> Result<Scratch, Error> {
        check_k(k, values.len())?;
        if !self.picks_by_values() {
            return Err(Error::ByMore { policy: self.spec().name().into() });
        }
        let mut scratch = Scratch::new();
        scratch.values = values.to_vec();
        Ok(scratch)
    }

    /// The value that each item is ranked by, exploration aside.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// assert_eq!(fitted.values(&fitted.scores(&[1.0, 2.0, f64::NAN, 5.0])?)?, [1.5, 5.0]);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn values(&self, scores: &Scores<'_>) -> Result<Vec<f64>, Error> {
        let mut scratch = Scratch::new();
        self.values_with(scores, &mut scratch)?;
        Ok(scratch.values)
    }

    /// As [`values`](Self::values), in memory that is used again.
    pub fn values_with<'s>(&self, scores: &Scores<'_>, scratch: &'s mut Scratch) -> Result<&'s [f64], Error> {
        self.check(scores)?;
        let mut buffer = std::mem::take(&mut scratch.oriented);
        let oriented = self.0.evaluators.oriented(self.0.link, scores, &mut buffer);
        self.0.rank.values(&oriented, scratch);
        scratch.oriented = buffer;
        Ok(&scratch.values)
    }

    /// Whether [`values`](Self::values) are expected rewards, on the reward's own scale, so that they can be held against what a look
    /// must be worth. `adaptive` has such values from its first reward on; others rank, and say no more.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
    /// jury.observe(&jury.scores(&[0.1, 0.9, 0.4, 0.2])?, 0)?;
    /// assert!(!jury.fit().values_are_rewards());
    /// jury.learn(&[Example { scores: &[0.1, 0.9], reward: 1.0, receipt: None }], 0)?;
    /// assert!(jury.fit().values_are_rewards());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn values_are_rewards(&self) -> bool {
        self.0.rank.values_are_rewards()
    }

    /// How the value of an item with all of its scores adds up over them, where it does: then columns of scores can be valued
    /// one after the other, to the last bit as [`values`](Self::values) does it.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// for (policy, adds_up) in [("esag", true), ("adaptive", true), ("lin-ucb", false), ("rand", false)] {
    ///     let fitted = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?.fit();
    ///     assert_eq!(fitted.form().is_some(), adds_up, "{policy}");
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn form(&self) -> Option<Form> {
        let Inner { evaluators, link, rank, .. } = &*self.0;
        rank.form().map(|form| form.turned(evaluators, *link))
    }

    /// Why an item has its value: what each evaluator adds to it. They sum to the value. None where an item's value is a
    /// question about the whole round, as with `rand` and `exp4p`, which rank by places.
    pub fn contributions(&self, row: &[f64]) -> Result<Option<Contributions>, Error> {
        let scores = self.scores(row)?;
        if scores.items() != 1 {
            return Err(Error::Width {
                what: "the item".into(),
                found: row.len(),
                expected: self.0.evaluators.len(),
            });
        }
        let mut buffer = Vec::new();
        let oriented = self.0.evaluators.oriented(self.0.link, &scores, &mut buffer);
        Ok(self.0.rank.contributions(oriented.row(0)))
    }

    /// The reward of each item with an interval that holds it, the reward and not merely its expectation, with that probability on average over items,
    /// where the policy can say. Of rewards with few levels it holds it more often; of items unlike all that was looked at it is a guess.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Spec, options::Fraction};
    /// let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(1)?)?;
    /// let table: Vec<f64> = (0..40).map(f64::from).collect();
    /// let scores = jury.scores(&table)?;
    /// jury.observe(&scores, 0)?;
    /// for row in scores.rows() {
    ///     jury.learn(&[Example { scores: row, reward: 2.0 * row[0], receipt: None }], 0)?;
    /// }
    /// let (fitted, level) = (jury.fit(), Fraction::try_from(0.9).unwrap());
    /// let predicted = fitted.predict(&scores, level)?.unwrap();
    /// assert!(predicted[39].mean > predicted[0].mean);
    /// assert_eq!(fitted.weight_intervals(level).unwrap().len(), 1);
    /// assert!(fitted.alarms().is_empty());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn predict(&self, scores: &Scores<'_>, level: Fraction) -> Result<Option<Vec<Interval>>, Error> {
        self.check(scores)?;
        let mut buffer = Vec::new();
        let oriented = self.0.evaluators.oriented(self.0.link, scores, &mut buffer);
        Ok(self.0.rank.predict(&oriented, level.get()))
    }

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

    /// Evaluators, or rewards, that are not what they were, where the policy watches for that, as `adaptive` does.
    pub fn alarms(&self) -> &[Alarm] {
        self.0.rank.alarms()
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
    /// probability. None as long as there is one alone. Verdicts that name nobody are one of them.
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

    /// Reasons to look again at what was learnt from: rewards that are all the same, or a jury that by its rewards points the wrong
    /// way. See [`Doubt`].
    pub fn doubts(&self) -> &[Doubt] {
        self.0.rank.doubts()
    }

    /// How much of a round is given to chance.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"eps-greedy(eps=0.1,slots=2)".parse()?, Evaluators::numbered(2)?)?.fit();
    /// assert_eq!((fitted.exploration().eps, fitted.exploration().slots), (0.1, Some(2)));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn exploration(&self) -> Exploration {
        self.0.rank.exploration()
    }

    /// Whether the policy leaves some of its picks to chance: by exploration, or because it draws all of them. A plain list by value
    /// is then not what it picks.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// for (policy, chance) in [("average", false), ("eps-greedy(eps=0.1)", true), ("rand", true), ("uniform", true)] {
    ///     let jury = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?;
    ///     assert_eq!(jury.fit().leaves_to_chance(), chance, "{policy}");
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn leaves_to_chance(&self) -> bool {
        self.0.rank.leaves_to_chance()
    }

    fn check(&self, scores: &Scores<'_>) -> Result<(), Error> {
        check_width(scores, &self.0.evaluators)
    }
}

/// Picks by a fit, into `picks`; input has been checked.
#[expect(clippy::too_many_arguments, reason = "the parts of a Fitted, which a jury has without being one")]
#[inline]
pub(crate) fn choose<R: Rng + ?Sized>(
    rank: &AnyRank,
    evaluators: &Evaluators,
    link: Link,
    scores: &Scores<'_>,
    k: usize,
    rng: &mut R,
    scratch: &mut Scratch,
    picks: &mut Vec<Pick>,
) {
    let mut buffer = std::mem::take(&mut scratch.oriented);
    let oriented = evaluators.oriented(link, scores, &mut buffer);
    std::mem::swap(picks, &mut scratch.picks);
    rank.choose(&oriented, k, rng, scratch);
    std::mem::swap(picks, &mut scratch.picks);
    scratch.oriented = buffer;
}
