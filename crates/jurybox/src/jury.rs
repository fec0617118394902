//! The jury: a policy seated with named evaluators, and its three verbs.

use crate::border::check_k;
use crate::error::Error;
use crate::link::Link;
use crate::pick::{Example, Learnt, Pick};
use crate::policy::{AnyPolicy, Desk, Exploration};
use crate::scores::{Evaluators, Scores};
use crate::seen::Seen;
use crate::spec::Spec;
use rand::Rng;

/// A policy at work over named evaluators: the three verbs, and a state that can be saved and merged.
///
/// ```
/// use jurybox::{Evaluators, Example, Jury};
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha8Rng;
///
/// let evaluators = Evaluators::new(["toxicity", "spam", "reports"])?;
/// let mut jury = Jury::new(&"lin-ucb".parse()?, evaluators)?;
/// let mut rng = ChaCha8Rng::seed_from_u64(7);
///
/// // A round: five posts scored by three evaluators, one score missing. Two can be looked at.
/// let table = [
///     0.9, 0.8, 3.0, //
///     0.1, 0.2, 0.0, //
///     0.7, f64::NAN, 2.0, //
///     0.3, 0.4, 0.0, //
///     0.2, 0.9, 1.0,
/// ];
/// let scores = jury.scores(&table)?;
/// let picks = jury.round(&scores, 2, &mut rng)?;
/// assert_eq!(picks.len(), 2);
///
/// // Later, in any order, the verdicts come in.
/// for pick in &picks {
///     let reward = if pick.item == 0 { 1.0 } else { 0.0 };
///     jury.learn(&[Example { scores: scores.row(pick.item), reward, receipt: Some(&pick.receipt) }])?;
/// }
/// assert_eq!(jury.seen().used, 2);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Jury {
    spec: Spec,
    pub(crate) evaluators: Evaluators,
    pub(crate) policy: AnyPolicy,
    pub(crate) seen: Seen,
    /// Whether the state has changed since the policy last brought up to date what it derives from it.
    stale: bool,
    desk: Desk,
}

impl Jury {
    /// Seats the policy that the spec names; it has learnt nothing yet.
    pub fn new(spec: &Spec, evaluators: Evaluators) -> Result<Self, Error> {
        let policy = AnyPolicy::seat(spec, evaluators.len())?;
        Ok(Jury {
            spec: spec.clone(),
            evaluators,
            policy,
            seen: Seen::default(),
            stale: true,
            desk: Desk::new(),
        })
    }

    /// Checks a round's scores, one row per item; errors name the evaluator.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let jury = Jury::new(&"average".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// let error = jury.scores(&[0.1, f64::INFINITY]).unwrap_err();
    /// assert!(error.to_string().starts_with("item 0, evaluator `abuse` (#1): score inf"));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn scores<'a>(&self, values: &'a [f64]) -> Result<Scores<'a>, Error> {
        Scores::new(values, self.evaluators.len()).map_err(|error| self.evaluators.name_in(error))
    }

    /// Picks `k` items. Nothing that was learnt changes.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?;
    /// let scores = jury.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let picks = jury.choose(&scores, 2, &mut rng)?;
    /// assert_eq!(picks.iter().map(|pick| pick.item).collect::<Vec<_>>(), [1, 2]); // best first
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn choose<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.choose_into(scores, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// As [`choose`](Self::choose), into a vector whose memory is used again: a steady state allocates nothing.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?;
    /// let scores = jury.scores(&[0.1, 0.2, 0.9, 0.7])?;
    /// let mut picks = Vec::new();
    /// for _ in 0..3 {
    ///     jury.choose_into(&scores, 1, &mut rng, &mut picks)?;
    ///     assert_eq!(picks[0].item, 1);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn choose_into<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.check_round(scores)?;
        check_k(k, scores)?;
        self.prepare();
        std::mem::swap(picks, &mut self.desk.picks);
        self.policy.choose(scores, k, rng, &mut self.desk);
        std::mem::swap(picks, &mut self.desk.picks);
        Ok(())
    }

    /// Sees a round's scores, whatever was chosen from it.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// jury.observe(&jury.scores(&[1.0, 2.0, 3.0, 4.0])?)?;
    /// assert_eq!(jury.alpha(), Some(&[2.0, 3.0][..])); // the mean score of each evaluator
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn observe(&mut self, scores: &Scores<'_>) -> Result<(), Error> {
        self.check_round(scores)?;
        self.stale |= self.policy.observe(scores);
        self.seen.rounds += 1;
        self.seen.items += scores.items() as u64;
        if !scores.is_complete() {
            self.seen.missing += scores.values().iter().filter(|v| v.is_nan()).count() as u64;
        }
        let link = self.policy.link();
        if link != Link::Identity {
            self.seen.clamped += scores.values().iter().filter(|&&v| link.clamps(v)).count() as u64;
        }
        Ok(())
    }

    /// One round: choose and observe, in the order that the policy asks for.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// let scores = jury.scores(&[1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(jury.round(&scores, 1, &mut rng)?.len(), 1); // blind: esag observes a round after choosing from it
    /// assert_eq!(jury.round(&scores, 1, &mut rng)?[0].item, 1);
    /// assert_eq!(jury.seen().rounds, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn round<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.round_into(scores, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// As [`round`](Self::round), into a vector whose memory is used again, as with [`choose_into`](Self::choose_into).
    pub fn round_into<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.round_from_pool_into(scores, scores, k, rng, picks)
    }

    /// One round where items stay until they are picked: chooses from the whole pool, observes what is new in it.
    ///
    /// What was passed over would otherwise be seen round after round, and policies that learn from all scores, `esag`
    /// above all, would take the leftovers for what items are like.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(1)?)?;
    /// let first = jury.scores(&[4.0, 0.0, 2.0])?;
    /// jury.round_from_pool(&first, &first, 1, &mut rng)?;
    /// // Say that the first item was picked. The other two are still there when one more arrives.
    /// let (pool, new) = (jury.scores(&[0.0, 2.0, 6.0])?, jury.scores(&[6.0])?);
    /// let picks = jury.round_from_pool(&pool, &new, 1, &mut rng)?;
    /// assert_eq!(picks[0].item, 2);
    /// assert_eq!(jury.alpha(), Some(&[3.0][..])); // the mean of 4, 0, 2 and 6
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn round_from_pool<R: Rng + ?Sized>(
        &mut self,
        pool: &Scores<'_>,
        new: &Scores<'_>,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.round_from_pool_into(pool, new, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// As [`round_from_pool`](Self::round_from_pool), into a vector whose memory is used again, as with
    /// [`choose_into`](Self::choose_into).
    pub fn round_from_pool_into<R: Rng + ?Sized>(
        &mut self,
        pool: &Scores<'_>,
        new: &Scores<'_>,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.check_round(pool)?;
        self.check_round(new)?;
        check_k(k, pool)?;
        if self.policy.observes_first() {
            self.observe(new)?;
            self.choose_into(pool, k, rng, picks)
        } else {
            self.choose_into(pool, k, rng, picks)?;
            self.observe(new)
        }
    }

    /// Learns from examples, whenever they come. Either all of them are sound, or none is taken in.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?;
    /// let history = [
    ///     Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None },
    ///     Example { scores: &[0.2, f64::NAN], reward: 0.0, receipt: None },
    /// ];
    /// assert_eq!(jury.learn(&history)?.used, 2);
    /// assert!(jury.learn(&[Example { reward: f64::NAN, ..history[0] }]).is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learn(&mut self, examples: &[Example<'_>]) -> Result<Learnt, Error> {
        for (at, example) in examples.iter().enumerate() {
            self.check_example(at, example)?;
        }
        let mut learnt = Learnt::default();
        for example in examples {
            if self.policy.learn(example) {
                learnt.used += 1;
                self.seen.outside += u64::from(self.policy.is_outside(example.reward));
            } else {
                learnt.passed_over += 1;
            }
        }
        self.stale |= learnt.used > 0;
        self.seen.used += learnt.used;
        self.seen.passed_over += learnt.passed_over;
        Ok(learnt)
    }

    /// The probability of each item to be picked by [`choose`](Self::choose); they sum to `k`.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"eps-greedy-all(eps=0.4)".parse()?, Evaluators::numbered(1)?)?;
    /// jury.learn(&[Example { scores: &[1.0], reward: 1.0, receipt: None }])?;
    /// let scores = jury.scores(&[3.0, 1.0, 2.0, 0.0])?;
    /// let pi = jury.inclusion_probabilities(&scores, 2)?;
    /// for (found, expected) in pi.iter().zip([0.8, 0.2, 0.8, 0.2]) {
    ///     assert!((found - expected).abs() < 1e-12);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn inclusion_probabilities(&mut self, scores: &Scores<'_>, k: usize) -> Result<Vec<f64>, Error> {
        self.check_round(scores)?;
        check_k(k, scores)?;
        self.prepare();
        self.policy.inclusion(scores, k, &mut self.desk);
        Ok(self.desk.probabilities.clone())
    }

    /// The value that each item would be ranked by, exploration aside.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?;
    /// let scores = jury.scores(&[1.0, 2.0, f64::NAN, 5.0])?;
    /// assert_eq!(jury.values(&scores)?, [1.5, 5.0]);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn values(&mut self, scores: &Scores<'_>) -> Result<Vec<f64>, Error> {
        self.check_round(scores)?;
        self.prepare();
        self.policy.values(scores, &mut self.desk);
        Ok(self.desk.values.clone())
    }

    /// Adds what another jury with the same policy, options and evaluators has learnt.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut here = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(1)?)?;
    /// let mut there = here.clone();
    /// here.learn(&[Example { scores: &[1.0], reward: 1.0, receipt: None }])?;
    /// there.learn(&[Example { scores: &[2.0], reward: 0.0, receipt: None }])?;
    /// here.merge(&there)?;
    /// assert_eq!(here.seen().used, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Jury) -> Result<(), Error> {
        if self.evaluators != other.evaluators {
            return Err(Error::Merge(format!(
                "one is over the evaluators {}, the other over {}",
                self.evaluators.names().join(", "),
                other.evaluators.names().join(", ")
            )));
        }
        if self.spec != other.spec || !self.policy.merge(&other.policy) {
            return Err(Error::Merge(format!(
                "one was learnt by `{}`, the other by `{}`",
                self.spec, other.spec
            )));
        }
        self.stale = true;
        self.seen.add(other.seen);
        Ok(())
    }

    /// Adds what another has learnt from further items of the same round: together they count as one round.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut first = Jury::new(&"esag".parse()?, Evaluators::numbered(1)?)?;
    /// let mut second = first.clone();
    /// first.observe(&first.scores(&[0.2, 0.4])?)?;
    /// second.observe(&second.scores(&[0.9])?)?;
    /// first.merge_same_round(&second)?;
    /// assert_eq!((first.seen().rounds, first.seen().items), (1, 3));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn merge_same_round(&mut self, other: &Jury) -> Result<(), Error> {
        let both = self.seen.rounds > 0 && other.seen.rounds > 0;
        self.merge(other)?;
        self.seen.rounds -= u64::from(both);
        Ok(())
    }

    /// Has the policy bring up to date what it derives from its state, if that has changed.
    #[inline]
    pub(crate) fn prepare(&mut self) -> &AnyPolicy {
        if std::mem::take(&mut self.stale) {
            self.policy.prepare();
        }
        &self.policy
    }

    /// The policy and its options.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The evaluators, in the order of the columns.
    pub fn evaluators(&self) -> &Evaluators {
        &self.evaluators
    }

    /// How much has been seen.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Whether a round is to be observed before choosing from it; [`round`](Self::round) takes care of it.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let evaluators = Evaluators::numbered(2)?;
    /// assert!(Jury::new(&"adaptive".parse()?, evaluators.clone())?.observes_first());
    /// assert!(!Jury::new(&"esag".parse()?, evaluators)?.observes_first()); // the paper's letter
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn observes_first(&self) -> bool {
        self.policy.observes_first()
    }

    /// How much of the next round will be given to chance.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let jury = Jury::new(&"eps-greedy(eps=0.1,slots=2)".parse()?, Evaluators::numbered(2)?)?;
    /// assert_eq!((jury.exploration().eps, jury.exploration().slots), (0.1, Some(2)));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn exploration(&self) -> Exploration {
        self.policy.exploration()
    }
}
