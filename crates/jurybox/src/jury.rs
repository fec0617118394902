//! A jury: a policy over named evaluators, which learns and makes fits.
//!
//! This file has the type, what it does with scores, and fitting. [`verdicts`] has learning from
//! rewards, [`rounds`] whole rounds, [`merging`] the merge of two states, and [`evaluator_changes`]
//! the change of evaluators.

mod evaluator_changes;
mod merging;
mod rounds;
mod verdicts;

use crate::border::{check_time, check_width};
use crate::error::Error;
use crate::evaluators::Evaluators;
use crate::fitted::Fitted;
use crate::link::Link;
use crate::policy::{AnyPolicy, AnyRank};
use crate::schedule::{Renewal, Schedule};
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::seen::Seen;
use crate::spec::Spec;

/// A policy that learns over named evaluators. Its state can be saved and merged.
/// [`fit`](Jury::fit) makes a [`Fitted`], which ranks items.
///
/// ```
/// use jurybox::{Evaluators, Example, Jury};
/// use jurybox::rand::SeedableRng;
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
/// let now = 0; // the number of the round, or a timestamp
/// let picks = jury.round(&scores, now, 2, &mut rng)?;
/// assert_eq!(picks.len(), 2);
///
/// // Later, in any order, the verdicts come in.
/// for pick in &picks {
///     let reward = if pick.item == 0 { 1.0 } else { 0.0 };
///     let (scores, receipt) = (scores.row(pick.item), Some(&pick.receipt));
///     jury.learn(&[Example { scores, reward, receipt }], now)?;
/// }
/// assert_eq!(jury.seen().used, 2);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Jury {
    spec: Spec,
    evaluators: Evaluators,
    pub(crate) policy: AnyPolicy,
    pub(crate) seen: Seen,
    pub(crate) schedule: Schedule,
    /// The last fit that rounds made. It fits the state that the schedule names, unless a new fit
    /// is due.
    rank: Option<AnyRank>,
    scratch: Scratch,
    row: Vec<f64>,
}

impl Jury {
    /// A jury with the policy of this spec, which has learnt nothing yet.
    ///
    /// Any policy takes `inverted=[columns]`, which sets the direction of these evaluators to
    /// [`Direction::Low`](crate::Direction::Low).
    ///
    /// ```
    /// use jurybox::{Direction, Evaluators, Jury};
    /// let jury = Jury::new(&"adaptive(inverted=[1])".parse()?, Evaluators::numbered(2)?)?;
    /// assert_eq!(jury.evaluators().as_slice()[1].direction, Direction::Low);
    /// assert_eq!(jury.spec().to_string(), "adaptive");
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn new(spec: &Spec, evaluators: Evaluators) -> Result<Self, Error> {
        let (spec, turned) = spec.clone().take_inverted()?;
        let refuse = |reason| Error::Policy { policy: spec.to_string(), reason };
        let evaluators = evaluators.turned(&turned).map_err(refuse)?;
        Jury::build(spec, evaluators)
    }

    /// A jury that has learnt nothing, with `inverted` already removed from the spec.
    fn build(spec: Spec, evaluators: Evaluators) -> Result<Self, Error> {
        let mut policy = AnyPolicy::create(&spec, evaluators.len())?;
        policy.take_contexts(&spec, &evaluators.contexts().collect::<Vec<_>>())?;
        Ok(Jury {
            spec,
            evaluators,
            policy,
            seen: Seen::default(),
            schedule: Schedule::Due,
            rank: None,
            scratch: Scratch::new(),
            row: Vec::new(),
        })
    }

    /// Validates the scores of a round, one row per item; errors name the evaluator.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let jury = Jury::new(&"average".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// let error = jury.scores(&[0.1, f64::INFINITY]).unwrap_err();
    /// assert!(matches!(error, jurybox::Error::Score { item: 0, value: f64::INFINITY, .. }));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn scores<'a>(&self, values: &'a [f64]) -> Result<Scores<'a>, Error> {
        Scores::of(values, &self.evaluators)
    }

    /// Observes the scores of all items of a round, picked or not. Show each item once.
    ///
    /// `at` is the time of the round: its number, or a timestamp in any integer unit. Statistics
    /// over time go by it, so rounds may be shown in any order and in parts.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// jury.observe(&jury.scores(&[1.0, 2.0, 3.0, 4.0])?, 0)?;
    /// assert_eq!((jury.seen().rounds, jury.seen().items), (1, 2));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn observe(&mut self, scores: &Scores<'_>, at: u64) -> Result<(), Error> {
        check_width(scores, &self.evaluators)?;
        check_time(at, self.seen.latest)?;
        let items = scores.items() as u64;
        self.schedule.before_change(&self.policy, &self.seen, &self.seen.and(items, 0));
        let link = self.policy.link();
        let mut buffer = std::mem::take(&mut self.scratch.oriented);
        let oriented = self.evaluators.oriented(link, scores, &mut buffer);
        let changed = self.policy.observe(&oriented, at);
        self.scratch.oriented = buffer;
        self.schedule.after_change(&self.policy, changed);
        self.schedule.after_observing(&self.policy);
        let mut more = Seen { rounds: 1, items, latest: Some(at), ..Seen::default() };
        if !scores.is_complete() {
            more.missing = scores.values().iter().filter(|v| v.is_nan()).count() as u64;
        }
        if link != Link::Identity {
            more.clamped = scores.values().iter().filter(|&&v| link.clamps(v)).count() as u64;
        }
        self.seen.add(more);
        Ok(())
    }

    /// Whether observed scores can change the ranking. If not, the policy learns from rewards
    /// alone, or not at all.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// for (policy, looks) in [("adaptive", true), ("esag", true), ("average", false)] {
    ///     let jury = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?;
    ///     assert_eq!(jury.learns_from_scores(), looks);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learns_from_scores(&self) -> bool {
        self.policy.learns_from_scores()
    }

    /// Whether a round must be observed before picking from it. [`round`](Self::round) observes in
    /// the right order by itself.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let evaluators = Evaluators::numbered(2)?;
    /// assert!(Jury::new(&"adaptive".parse()?, evaluators.clone())?.observes_first());
    /// assert!(!Jury::new(&"esag".parse()?, evaluators)?.observes_first()); // the paper's letter
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn observes_first(&self) -> bool {
        self.policy.observes_first()
    }

    /// Fits the policy to all that has been learnt so far. The fit is a pure function of the state:
    /// juries with equal bytes have equal fits.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// jury.observe(&jury.scores(&[1.0, 2.0, 3.0, 4.0])?, 0)?;
    /// let again = Jury::from_bytes(&jury.to_bytes())?;
    /// assert_eq!(jury.fit().weights(), again.fit().weights());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn fit(&self) -> Fitted {
        let mut rank = self.policy.buffer();
        self.policy.fit(&self.seen, &mut rank);
        Fitted::new(self.spec.clone(), self.evaluators.clone(), self.policy.link(), rank)
    }

    /// The policy and its options.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Counts of rounds, items and labels that the jury has seen.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Whether the policy is fitted after every change, whatever the schedule.
    pub(crate) fn fits_every_change(&self) -> bool {
        self.policy.renewal() == Renewal::EveryChange
    }
}
