//! The jury: a policy seated with named evaluators. It learns, and gives fits that rank.

use crate::border::{check_k, check_time, check_width, is_of_another_unit};
use crate::error::Error;
use crate::evaluators::Evaluators;
use crate::fitted::{self, Fitted};
use crate::link::Link;
use crate::pick::{Example, Learnt, Pick};
use crate::policy::{AnyPolicy, AnyRank};
use crate::reviewer::Reviewer;
use crate::schedule::{Renewal, Schedule};
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::seen::Seen;
use crate::spec::Spec;
use rand::Rng;

/// A policy that learns over named evaluators: its state can be saved and merged, and [`fit`](Jury::fit) makes of it what
/// ranks.
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
///     jury.learn(&[Example { scores: scores.row(pick.item), reward, receipt: Some(&pick.receipt) }], now)?;
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
    /// The fit in use by rounds: always the one that the schedule says, once it has been made.
    rank: Option<AnyRank>,
    scratch: Scratch,
    row: Vec<f64>,
}

impl Jury {
    /// Seats the policy that the spec names; it has learnt nothing yet.
    ///
    /// Any policy takes `inverted=[columns]`, which turns those evaluators to [`Direction::Low`](crate::Direction::Low).
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
        let mut policy = AnyPolicy::seat(&spec, evaluators.len())?;
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

    /// Checks a round's scores, one row per item; errors name the evaluator.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let jury = Jury::new(&"average".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// let error = jury.scores(&[0.1, f64::INFINITY]).unwrap_err();
    /// assert!(error.to_string().starts_with("item 0, evaluator `abuse` (#1): score inf"));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn scores<'a>(&self, values: &'a [f64]) -> Result<Scores<'a>, Error> {
        Scores::of(values, &self.evaluators)
    }

    /// Sees a round's scores, whatever was chosen from it; each item once.
    ///
    /// `at` is the time of the round: its number, or a timestamp in any whole unit. What keeps time files by it, so that rounds
    /// may be shown in any order, and apart, and merged.
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

    /// Whether the scores that it observes can change what it ranks by; otherwise it learns from rewards alone, or not at all.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// for (policy, looks) in [("adaptive", true), ("esag", true), ("average", false), ("lin-ucb", false)] {
    ///     assert_eq!(Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?.learns_from_scores(), looks);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learns_from_scores(&self) -> bool {
        self.policy.learns_from_scores()
    }

    /// Whether its policy takes columns that say which group an item belongs to, so that weights may differ by group; others refuse them.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// assert!(Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?.takes_contexts());
    /// assert!(!Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?.takes_contexts());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn takes_contexts(&self) -> bool {
        self.policy.takes_contexts()
    }

    /// Whether it makes a difference to its policy who judged; otherwise verdicts count alike, whoever gave them.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// assert!(Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?.tells_reviewers_apart());
    /// assert!(!Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?.tells_reviewers_apart());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn tells_reviewers_apart(&self) -> bool {
        self.policy.tells_reviewers_apart()
    }

    /// Learns from examples, whenever they come. Either all of them are sound, or none is taken in.
    ///
    /// `at` is the time of the round that the items came from, not of their verdicts: what is learnt is how scores went with
    /// rewards then.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?;
    /// let history = [
    ///     Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None },
    ///     Example { scores: &[0.2, f64::NAN], reward: 0.0, receipt: None },
    /// ];
    /// assert_eq!(jury.learn(&history, 0)?.used, 2);
    /// assert!(jury.learn(&[Example { reward: f64::NAN, ..history[0] }], 0).is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learn(&mut self, examples: &[Example<'_>], at: u64) -> Result<Learnt, Error> {
        self.learn_from(examples, None, at)
    }

    /// As [`learn`](Self::learn), where verdicts name their reviewers, one for each example. Policies that do not tell reviewers apart
    /// learn as if they were not named.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Reviewer};
    /// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
    /// let history = [
    ///     Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None },
    ///     Example { scores: &[0.2, f64::NAN], reward: 0.0, receipt: None },
    /// ];
    /// let reviewers = [Some(Reviewer::named("ann")), None]; // nobody knows who judged the second
    /// assert_eq!(jury.learn_by(&history, &reviewers, 0)?.used, 2);
    /// assert!(jury.learn_by(&history, &reviewers[..1], 0).is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learn_by(
        &mut self,
        examples: &[Example<'_>],
        reviewers: &[Option<Reviewer>],
        at: u64,
    ) -> Result<Learnt, Error> {
        let (found, expected) = (reviewers.len(), examples.len());
        if found != expected {
            return Err(Error::Reviewers { found, expected });
        }
        let named = reviewers.iter().any(Option::is_some);
        self.learn_from(examples, named.then_some(reviewers), at)
    }

    fn learn_from(
        &mut self,
        examples: &[Example<'_>],
        reviewers: Option<&[Option<Reviewer>]>,
        at: u64,
    ) -> Result<Learnt, Error> {
        for (place, example) in examples.iter().enumerate() {
            self.check_example(place, example)?;
        }
        check_time(at, self.seen.latest)?;
        if examples.is_empty() {
            return Ok(Learnt::default());
        }
        self.schedule.before_change(&self.policy, &self.seen, &self.seen.and(0, examples.len() as u64));
        let learn = |policy: &mut AnyPolicy, examples: &[Example<'_>], reviewers| match reviewers {
            Some(reviewers) => policy.learn_all_by(examples, reviewers, at),
            None => policy.learn_all(examples, at),
        };
        let (mut used, mut outside) = (0, 0);
        if self.evaluators.any_low() {
            for (place, example) in examples.iter().enumerate() {
                self.row.clear();
                self.evaluators.orient_row(self.policy.link(), example.scores, &mut self.row);
                let one = Example { scores: &self.row, ..*example };
                let learnt = learn(&mut self.policy, &[one], reviewers.map(|all| &all[place..=place]));
                (used, outside) = (used + learnt.0, outside + learnt.1);
            }
        } else {
            (used, outside) = learn(&mut self.policy, examples, reviewers);
        }
        self.schedule.after_change(&self.policy, used > 0);
        let passed_over = examples.len() as u64 - used;
        self.seen.add(Seen { used, passed_over, outside, latest: Some(at), ..Seen::default() });
        Ok(Learnt { used, passed_over })
    }

    /// What ranks, by all that has been learnt up to now: a pure function of the state. Equal bytes, equal fits.
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

    /// One round: choose and observe, in the order that the policy asks for, by a fit that is renewed when enough has changed.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// let scores = jury.scores(&[1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(jury.round(&scores, 0, 1, &mut rng)?.len(), 1); // blind: esag observes a round after choosing from it
    /// assert_eq!(jury.round(&scores, 1, 1, &mut rng)?[0].item, 1);
    /// assert_eq!(jury.seen().rounds, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn round<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.round_into(scores, at, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// As [`round`](Self::round), into a vector whose memory is used again: a steady state allocates nothing.
    pub fn round_into<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.round_from_pool_into(scores, scores, at, k, rng, picks)
    }

    /// One round where items stay until they are picked: chooses from the whole pool, observes what is new in it.
    ///
    /// What was passed over would otherwise be seen round after round, and policies that learn from all scores, `esag`
    /// above all, would take the leftovers for what items are like.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(1)?)?;
    /// let first = jury.scores(&[4.0, 0.0, 2.0])?;
    /// jury.round_from_pool(&first, &first, 0, 1, &mut rng)?;
    /// // Say that the first item was picked. The other two are still there when one more arrives.
    /// let (pool, new) = (jury.scores(&[0.0, 2.0, 6.0])?, jury.scores(&[6.0])?);
    /// let picks = jury.round_from_pool(&pool, &new, 1, 1, &mut rng)?;
    /// assert_eq!(picks[0].item, 2);
    /// assert_eq!(jury.fit().alpha(), Some(&[3.0][..])); // the mean of 4, 0, 2 and 6
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn round_from_pool<R: Rng + ?Sized>(
        &mut self,
        pool: &Scores<'_>,
        new: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.round_from_pool_into(pool, new, at, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// As [`round_from_pool`](Self::round_from_pool), into a vector whose memory is used again.
    pub fn round_from_pool_into<R: Rng + ?Sized>(
        &mut self,
        pool: &Scores<'_>,
        new: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        check_width(pool, &self.evaluators)?;
        check_width(new, &self.evaluators)?;
        check_time(at, self.seen.latest)?;
        check_k(k, pool.items())?;
        if self.policy.observes_first() {
            self.observe(new, at)?;
        }
        self.bring_fit_up_to_date();
        if let Some(rank) = &self.rank {
            let (evaluators, link) = (&self.evaluators, self.policy.link());
            fitted::choose(rank, evaluators, link, pool, k, rng, &mut self.scratch, picks);
        }
        if !self.policy.observes_first() {
            self.observe(new, at)?;
        }
        Ok(())
    }

    /// Makes the fit that the schedule says, unless it is in place.
    fn bring_fit_up_to_date(&mut self) {
        let (policy, seen) = (&self.policy, &self.seen);
        match (&self.schedule, &mut self.rank) {
            (Schedule::Past(_), Some(_)) => {}
            (Schedule::Past(past), none) => past.0.fit(&past.1, none.insert(past.0.buffer())),
            // The state is the same, but rounds may have passed.
            (Schedule::Current, Some(rank)) => policy.count(seen, rank),
            (Schedule::Current | Schedule::Due, rank) => {
                policy.fit(seen, rank.get_or_insert_with(|| policy.buffer()));
                self.schedule = Schedule::Current;
            }
        }
    }

    /// Adds what another jury with the same policy, options and evaluators has learnt.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut here = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(1)?)?;
    /// let mut there = here.clone();
    /// here.learn(&[Example { scores: &[1.0], reward: 1.0, receipt: None }], 0)?;
    /// there.learn(&[Example { scores: &[2.0], reward: 0.0, receipt: None }], 1)?;
    /// here.merge(&there)?;
    /// assert_eq!(here.seen().used, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Jury) -> Result<(), Error> {
        if self.evaluators != other.evaluators {
            return Err(Error::Merge(format!(
                "one is over the evaluators {}, the other over {}",
                self.evaluators, other.evaluators
            )));
        }
        if !self.seen.can_add(other.seen) {
            return Err(Error::Merge("together they count beyond 2^53, the most that is counted".into()));
        }
        if let (Some(mine), Some(theirs)) = (self.seen.latest, other.seen.latest)
            && (is_of_another_unit(mine, theirs) || is_of_another_unit(theirs, mine))
        {
            return Err(Error::Merge(format!(
                "the latest time of one is {mine}, that of the other {theirs}: these are not in one unit"
            )));
        }
        if self.spec != other.spec || !self.policy.merge(&other.policy) {
            return Err(Error::Merge(format!(
                "one was learnt by `{}`, the other by `{}`",
                self.spec, other.spec
            )));
        }
        self.schedule = Schedule::Due;
        self.seen.add(other.seen);
        Ok(())
    }

    /// Adds what another has learnt from further items of the same round: together they count as one round.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut first = Jury::new(&"esag".parse()?, Evaluators::numbered(1)?)?;
    /// let mut second = first.clone();
    /// first.observe(&first.scores(&[0.2, 0.4])?, 0)?;
    /// second.observe(&second.scores(&[0.9])?, 0)?;
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

    /// Keeps what has changed, so that it is known when it can no longer be seen: a jury that observes round after round does so of itself, one that is
    /// merged from parts must be told to, after each that adds another time. What is kept depends on when.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut days = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
    /// for day in 0..3 {
    ///     let mut one = Jury::new(days.spec(), days.evaluators().clone())?;
    ///     one.observe(&one.scores(&[0.2, 0.4, 0.1, 0.9])?, day)?;
    ///     days.merge(&one)?;
    ///     days.settle();
    /// }
    /// assert!(days.fit().alarms().is_empty());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn settle(&mut self) {
        self.policy.settle();
        self.schedule = Schedule::Due;
    }

    /// Seats other evaluators in place of these: what was learnt stays with the names, newcomers begin with nothing, those
    /// no longer named are forgotten. An old label goes on teaching with the scores it has.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// jury.learn(&[Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None }], 0)?;
    /// jury.reseat(Evaluators::new(["spam", "abuse", "newcomer"])?)?;
    /// jury.learn(&[Example { scores: &[0.8, 0.3, 0.5], reward: 1.0, receipt: None }], 1)?;
    /// jury.reseat(Evaluators::new(["newcomer", "spam"])?)?;
    /// assert_eq!(jury.seen().used, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn reseat(&mut self, evaluators: Evaluators) -> Result<(), Error> {
        let columns = evaluators.columns_in(&self.evaluators)?;
        let spec = self.spec.with_columns(&columns)?;
        let mut policy = AnyPolicy::seat(&spec, evaluators.len())?;
        policy.take_contexts(&spec, &evaluators.contexts().collect::<Vec<_>>())?;
        policy.take_columns(&self.policy, &columns);
        *self = Jury {
            spec,
            evaluators,
            policy,
            seen: self.seen,
            schedule: Schedule::Due,
            rank: None,
            scratch: Scratch::new(),
            row: Vec::new(),
        };
        Ok(())
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
    /// # use jurybox::{Evaluators, Jury};
    /// let evaluators = Evaluators::numbered(2)?;
    /// assert!(Jury::new(&"adaptive".parse()?, evaluators.clone())?.observes_first());
    /// assert!(!Jury::new(&"esag".parse()?, evaluators)?.observes_first()); // the paper's letter
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn observes_first(&self) -> bool {
        self.policy.observes_first()
    }

    /// Whether a fit is made from every state, so that the schedule says nothing.
    pub(crate) fn fits_every_change(&self) -> bool {
        self.policy.renewal() == Renewal::EveryChange
    }
}
