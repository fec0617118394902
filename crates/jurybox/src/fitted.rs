//! A fitted jury, which computes the values of items and makes picks. It is immutable.
//!
//! This file has the type and the values of items. [`picking`] has picks and their probabilities;
//! [`findings`] has weights, reviewers, alarms and diagnostics.

mod findings;
mod picking;

pub(crate) use self::picking::choose;
use crate::border::check_width;
use crate::contributions::Contributions;
use crate::error::Error;
use crate::evaluators::Evaluators;
use crate::form::Form;
use crate::link::Link;
use crate::options::Fraction;
use crate::policy::AnyRank;
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::spec::Spec;
use crate::toolbox::Interval;
use std::sync::Arc;

/// A fitted jury: a pure function of a jury's state, made by [`Jury::fit`](crate::Jury::fit).
///
/// It is owned, immutable and cheap to clone, and any number of threads can share it. The caller
/// decides when to fit again. Frequent calls can take a [`Scratch`], whose memory is reused.
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
pub struct Fitted(Arc<FittedParts>);

#[derive(Debug)]
struct FittedParts {
    spec: Spec,
    evaluators: Evaluators,
    link: Link,
    rank: AnyRank,
}

impl Fitted {
    pub(crate) fn new(spec: Spec, evaluators: Evaluators, link: Link, rank: AnyRank) -> Self {
        Fitted(Arc::new(FittedParts { spec, evaluators, link, rank }))
    }

    /// The policy and its options.
    pub fn spec(&self) -> &Spec {
        &self.0.spec
    }

    /// The evaluators, in column order.
    pub fn evaluators(&self) -> &Evaluators {
        &self.0.evaluators
    }

    /// Validates the scores of a round, one row per item; errors name the evaluator.
    pub fn scores<'a>(&self, values: &'a [f64]) -> Result<Scores<'a>, Error> {
        Scores::of(values, &self.0.evaluators)
    }

    /// The values that items are ranked by, without exploration.
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

    /// [`values`](Self::values) in memory that is reused.
    pub fn values_with<'s>(&self, scores: &Scores<'_>, scratch: &'s mut Scratch) -> Result<&'s [f64], Error> {
        self.check(scores)?;
        let mut buffer = std::mem::take(&mut scratch.oriented);
        let oriented = self.0.evaluators.oriented(self.0.link, scores, &mut buffer);
        self.0.rank.values(&oriented, scratch);
        scratch.oriented = buffer;
        Ok(&scratch.values)
    }

    /// Whether [`values`](Self::values) are expected rewards on the reward's own scale, so that
    /// they can be compared with a threshold. Values of `adaptive` are, from its first reward on.
    /// Values of other policies only rank.
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

    /// The value of an item without missing scores as a sum of one term per score, if the policy
    /// has this form. Columns of scores can then be valued one after the other, with the same bits
    /// as [`values`](Self::values).
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// for (policy, adds_up) in [("esag", true), ("adaptive", true), ("rand", false)] {
    ///     let fitted = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?.fit();
    ///     assert_eq!(fitted.form().is_some(), adds_up, "{policy}");
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn form(&self) -> Option<Form> {
        let FittedParts { evaluators, link, rank, .. } = &*self.0;
        rank.form().map(|form| form.turned(evaluators, *link))
    }

    /// The contribution of each evaluator to an item's value; with a base they sum to it. None if
    /// the value depends on the whole round, as for `rand` and `exp4p`.
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

    /// A prediction interval for the reward of each item; none if the policy has none. It contains
    /// the reward itself, not only its mean, with this probability on average over items. If
    /// rewards take few distinct values, it contains them more often. For items unlike all labelled
    /// ones the probability is only a guess.
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

    fn check(&self, scores: &Scores<'_>) -> Result<(), Error> {
        check_width(scores, &self.0.evaluators)
    }
}
