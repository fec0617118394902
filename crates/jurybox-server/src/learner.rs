//! The learner: what a queue has learnt, as a pure function of its log.
//!
//! The learner applies the log's entries in order (a fold). The model at entry m is what a jury
//! learns from the facts *known at m*:
//!
//! - An item is observed as soon as it has all scores, is claimed, judged or closed, or has waited
//!   for `settle_seconds`. The jury gets observed items in rounds of 64. An item is observed again
//!   when an evaluator scores it for the first time. It is also observed at the first, second,
//!   fourth, eighth … replacement of its scores. Before the first whole round, the jury that ranks
//!   is shown the items so far.
//!   the items so far.
//! - A decided item is learnt when the undo window of the deciding verdict has ended. The reviewer
//!   is learnt with it if the quorum was 1. If a verdict is revised after that, its last version
//!   counts, without a reviewer.
//! - Erased items are left out.
//!
//! The model depends on nothing but the log up to m, so anybody can compute it again. A revision of
//! learnt facts makes the learner [stale](Learner::is_stale). Then a new learner folds the log from
//! the beginning, and knows the later facts in advance ([`LaterFacts`]).

mod state;

use crate::Error;
use crate::config::{Config, micros};
use crate::evaluator_history::EvaluatorHistory;
use crate::event::{Body, GivenVerdict, LogEvent, VerdictPosition, VerdictSource};
use jurybox::{Example, Fitted, Jury, Receipt, Reviewer, Scores, Seen};
use state::{PendingLesson, State, VERSION, WaitingItem};
use std::collections::{BTreeMap, BTreeSet};

/// Items in a round. With rounds of one item, drift detection would not notice changes.
const ROUND: usize = 64;

/// The total [`Body::weight`] of the entries between two checkpoints.
const CHECKPOINT: u64 = 1 << 16;

/// Facts from later entries that a fold from the beginning knows in advance.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaterFacts {
    /// The last entry whose facts are known.
    pub(crate) until: u64,
    /// The evaluators over the log up to that entry.
    pub(crate) history: Option<EvaluatorHistory>,
    /// The configuration in force at that entry.
    pub(crate) config: Option<Config>,
    /// The final reward of items with a revised verdict, and the verdict or decision that set it.
    pub(crate) final_rewards: BTreeMap<u64, (f64, VerdictPosition)>,
    /// Items erased up to that entry.
    pub(crate) erased: BTreeSet<u64>,
}

/// The jury of a queue, with the facts that are still to be learnt, at an entry of its log.
#[derive(Debug, Clone)]
pub(crate) struct Learner {
    state: State,
    jury: Jury,
    known: LaterFacts,
    /// Items that wait for missing scores, as (time, item). At that time they are observed as they
    /// are.
    observe_at: BTreeSet<(i64, u64)>,
    /// Decided items, as (time, entry, index, item). At that time they are learnt.
    learn_at: BTreeSet<(i64, u64, u32, u64)>,
    /// The entry that brought the first item, later the entry that completed the first round; 0 if
    /// this learner has applied neither. A ranking made before that entry knew next to nothing of
    /// the scores.
    first_ranked_at: u64,
    stale: bool,
}

impl Learner {
    /// The learner after the first entry, which must create the queue.
    pub(crate) fn new(first: &LogEvent, known: LaterFacts) -> Result<Self, Error> {
        let Body::Create { config, .. } = &first.body else {
            return Err(crate::error::corrupt("the log does not begin with the creation of the queue"));
        };
        let jury = known.config.as_ref().unwrap_or(config).jury()?;
        let history = EvaluatorHistory::new(first.seq, config.evaluators.clone());
        let state = State {
            version: VERSION,
            seq: first.seq,
            at: first.at,
            epoch: 0,
            weight: 1,
            config: config.clone(),
            history,
            round: Vec::new(),
            waiting_items: BTreeMap::new(),
            replaced: BTreeMap::new(),
            lessons: BTreeMap::new(),
            jury: Vec::new(),
        };
        let (observe_at, learn_at) = (BTreeSet::new(), BTreeSet::new());
        Ok(Learner { state, jury, known, observe_at, learn_at, first_ranked_at: 0, stale: false })
    }

    /// The last log entry that was applied.
    pub(crate) fn seq(&self) -> u64 {
        self.state.seq
    }

    /// The time of the last entry that was applied.
    pub(crate) fn at(&self) -> i64 {
        self.state.at
    }

    /// A count of the revisions of learnt facts, erasures, and changes of evaluators or policy.
    pub(crate) fn epoch(&self) -> u64 {
        self.state.epoch
    }

    /// Whether a revision has outdated the model, so that the log must be folded again.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Decided items that are not learnt yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.state.lessons.len() as u64
    }

    /// Marks the model as outdated, so that the log is folded again.
    pub(crate) fn mark_stale(&mut self) {
        self.stale = true;
    }

    #[cfg(test)]
    pub(crate) fn jury(&self) -> &Jury {
        &self.jury
    }

    /// Whether the policy learns from scores and has not seen a whole round.
    pub(crate) fn is_new(&self) -> bool {
        self.jury.seen().rounds == 0 && self.jury.learns_from_scores()
    }

    /// Whether a model made at entry `model` has seen no item, or no whole round, and this learner
    /// has.
    pub(crate) fn sees_more_than(&self, model: u64) -> bool {
        model < self.first_ranked_at && self.jury.learns_from_scores()
    }

    /// A value that changes whenever this learner's model does.
    pub(crate) fn mark(&self) -> (Seen, u64) {
        (self.jury.seen(), if self.is_new() { self.state.seq } else { 0 })
    }

    /// The jury that ranks. Before the first whole round it is shown the items so far, at most 64,
    /// with items that still wait for scores last. Otherwise a small queue would be ranked by age.
    /// The learner does not keep this: the jury is shown the items again when their round is whole.
    pub(crate) fn ranking(&self) -> Result<Jury, Error> {
        let mut jury = self.jury.clone();
        if self.is_new() {
            let round = self.state.round.iter().map(|(_, row)| row);
            let waiting_items = self.state.waiting_items.values().map(|waiting_items| &waiting_items.scores);
            let table: Vec<f64> = round.chain(waiting_items).take(ROUND).flatten().copied().collect();
            if !table.is_empty() {
                jury.observe(&Scores::new(&table, jury.evaluators().len())?, seconds(self.state.at))?;
            }
        }
        Ok(jury)
    }

    /// The fit of the jury that ranks.
    pub(crate) fn fit(&self) -> Result<Fitted, Error> {
        Ok(self.ranking()?.fit())
    }

    /// When the undo window of the next verdict to be learnt ends, in microseconds since 1970. None
    /// if no verdict waits, or if the learner is stale.
    pub(crate) fn lesson_due(&self) -> Option<i64> {
        self.learn_at.first().map(|(due, ..)| *due).filter(|_| !self.stale)
    }

    /// Whole rounds that the jury has observed.
    pub(crate) fn rounds(&self) -> u64 {
        self.jury.seen().rounds
    }

    /// The total [`Body::weight`] of the entries applied so far.
    pub(crate) fn weight(&self) -> u64 {
        self.state.weight
    }

    /// Applies the next log entry. True if a checkpoint is due after it. A stale learner does
    /// nothing.
    pub(crate) fn apply(&mut self, event: &LogEvent) -> Result<bool, Error> {
        if self.stale {
            return Ok(false);
        }
        if event.seq != self.state.seq + 1 {
            return Err(crate::error::corrupt(format!(
                "entry {} follows entry {}",
                event.seq, self.state.seq
            )));
        }
        // After the clock is set back, the times of waiting items and verdicts would come too late.
        // So everything that waits is learnt now.
        self.advance_to(if matches!(event.body, Body::Clock) { i64::MAX } else { event.at })?;
        self.learn_entry(event)?;
        if self.stale {
            return Ok(false);
        }
        let before = self.state.weight / CHECKPOINT;
        (self.state.seq, self.state.at) = (event.seq, event.at);
        self.state.weight += event.body.weight();
        if event.seq >= self.known.until {
            // From here on, no facts are known in advance.
            self.known = LaterFacts::default();
        }
        Ok(self.state.weight / CHECKPOINT > before)
    }

    fn learn_entry(&mut self, event: &LogEvent) -> Result<(), Error> {
        match &event.body {
            Body::Create { .. } => return Err(crate::error::corrupt("the queue was created twice")),
            Body::Configure { config, decided } => {
                for (i, item) in decided.iter().enumerate() {
                    self.state.replaced.remove(&item.n);
                    let due = event.at + micros(self.state.config.undo_seconds);
                    let lesson = PendingLesson {
                        due,
                        seq: event.seq,
                        i: i as u32,
                        arrived: item.arrived,
                        scores: item.scores.clone(),
                        reward: item.reward,
                        probability: item.probability,
                        explored: item.explored,
                        reviewer: None,
                    };
                    self.keep(item.n, lesson);
                }
                if self.state.config.learns_differently(config) {
                    self.revised(event.seq);
                }
                self.state.history.change(event.seq, &config.evaluators);
                self.state.config = config.clone();
            }
            Body::Items { added, rescored } => {
                for item in added {
                    self.arrived(item.n, &item.scores, event.at)?;
                }
                for item in rescored {
                    if self.state.waiting_items.contains_key(&item.n) {
                        self.arrived(item.n, &item.scores, event.at)?;
                    } else if item.newly.is_some_and(|newly| newly || self.replaces(item.n)) {
                        self.observe_again(item.n, &item.scores, event.at)?;
                    }
                }
            }
            Body::Claim { picks, .. } => {
                for pick in picks {
                    self.observe_waiting(pick.n, event.at)?;
                }
            }
            Body::Verdicts { given } => {
                for (i, given) in given.iter().enumerate() {
                    self.observe_waiting(given.n, event.at)?;
                    self.verdict(event, i as u32, given);
                }
            }
            Body::Undo { item, .. } => {
                if let Some(lesson) = self.state.lessons.remove(&item.n) {
                    self.learn_at.remove(&(lesson.due, lesson.seq, lesson.i, item.n));
                }
            }
            Body::Close { items, .. } => {
                for n in items.iter().flat_map(|(first, last)| *first..=*last) {
                    self.state.replaced.remove(&n);
                    self.observe_waiting(n, event.at)?;
                }
            }
            Body::Erase { items } => {
                self.revised(event.seq);
                for n in items {
                    self.drop_waiting(*n);
                }
            }
            Body::Extend { .. } | Body::Release { .. } | Body::Clock | Body::Settle => {}
        }
        Ok(())
    }

    /// Notes a revision of learnt facts. The learner becomes stale, unless it knew the facts in
    /// advance.
    fn revised(&mut self, seq: u64) {
        self.state.epoch += 1;
        self.stale = self.stale || seq > self.known.until;
    }

    fn drop_waiting(&mut self, n: u64) {
        self.state.replaced.remove(&n);
        if let Some(waiting_items) = self.state.waiting_items.remove(&n) {
            self.observe_at.remove(&(waiting_items.due, n));
        }
    }

    /// Takes new scores of an item. Observes it at once if no score is missing or its time has
    /// come.
    fn arrived(&mut self, n: u64, scores: &[f64], at: i64) -> Result<(), Error> {
        if scores.is_empty() || self.known.erased.contains(&n) {
            return Ok(());
        }
        let complete = !scores.iter().any(|score| score.is_nan());
        let scores = self.in_jury_columns(scores);
        let due = if let Some(waiting_items) = self.state.waiting_items.get_mut(&n) {
            waiting_items.scores = scores;
            waiting_items.due
        } else {
            let due = at + micros(self.state.config.settle_seconds);
            if self.jury.seen().rounds == 0
                && self.state.round.is_empty()
                && self.state.waiting_items.is_empty()
            {
                self.first_ranked_at = self.state.seq + 1;
            }
            self.state.waiting_items.insert(n, WaitingItem { due, scores });
            self.observe_at.insert((due, n));
            due
        };
        if complete || due <= at { self.observe_waiting(n, at) } else { Ok(()) }
    }

    /// Observes an item if it still waits.
    fn observe_waiting(&mut self, n: u64, at: i64) -> Result<(), Error> {
        let Some(waiting_items) = self.state.waiting_items.remove(&n) else { return Ok(()) };
        self.observe_at.remove(&(waiting_items.due, n));
        self.observe(n, waiting_items.scores, at)
    }

    /// Counts a replacement of an item's scores. True for the first, second, fourth, eighth … one,
    /// at which the item is observed again. So corrections are learnt, but one item rewritten a
    /// thousand times does not dominate.
    fn replaces(&mut self, n: u64) -> bool {
        let many = self.state.replaced.entry(n).or_default();
        *many = many.saturating_add(1);
        many.is_power_of_two()
    }

    /// Observes an item again with its present scores.
    fn observe_again(&mut self, n: u64, scores: &[f64], at: i64) -> Result<(), Error> {
        if scores.is_empty() || self.known.erased.contains(&n) {
            return Ok(());
        }
        let scores = self.in_jury_columns(scores);
        self.observe(n, scores, at)
    }

    fn observe(&mut self, n: u64, scores: Vec<f64>, at: i64) -> Result<(), Error> {
        self.state.round.push((n, scores));
        if self.state.round.len() == ROUND {
            if self.jury.seen().rounds == 0 {
                self.first_ranked_at = self.state.seq + 1;
            }
            let table: Vec<f64> = self.state.round.drain(..).flat_map(|(_, row)| row).collect();
            self.jury.observe(&Scores::new(&table, self.jury.evaluators().len())?, seconds(at))?;
        }
        Ok(())
    }

    fn verdict(&mut self, event: &LogEvent, i: u32, given: &GivenVerdict) {
        let Some(reward) = given.decides else { return };
        self.state.replaced.remove(&given.n);
        let pending = self.state.lessons.remove(&given.n);
        if let Some(lesson) = &pending {
            self.learn_at.remove(&(lesson.due, lesson.seq, lesson.i, given.n));
        }
        if given.source == VerdictSource::Automatic {
            return;
        }
        let revises = given.supersedes.is_some() || given.source == VerdictSource::Appeal;
        if pending.is_none() && revises && !given.decides_first {
            self.revised(event.seq);
            return;
        }
        let due = event.at + micros(self.state.config.undo_seconds);
        let lesson = PendingLesson {
            due,
            seq: event.seq,
            i,
            arrived: given.arrived,
            scores: given.scores.clone(),
            reward,
            probability: given.probability,
            explored: given.explored,
            // With a quorum above 1, a decision is not one reviewer's own. In an appeal, the
            // reviewer has read the other verdicts.
            reviewer: (given.source == VerdictSource::Reviewer && self.state.config.quorum == 1)
                .then(|| Reviewer::named(&given.reviewer).code()),
        };
        self.keep(given.n, lesson);
    }

    /// Keeps a decided item until it is learnt.
    fn keep(&mut self, n: u64, mut lesson: PendingLesson) {
        if lesson.scores.is_empty() || self.known.erased.contains(&n) {
            return;
        }
        lesson.scores = self.in_jury_columns(&lesson.scores);
        self.learn_at.insert((lesson.due, lesson.seq, lesson.i, n));
        self.state.lessons.insert(n, lesson);
    }

    /// Does what depends on time alone, in the order of the times. Items that have waited long
    /// enough are observed, and verdicts past their undo window are learnt.
    fn advance_to(&mut self, at: i64) -> Result<(), Error> {
        loop {
            let observe_waiting = self.observe_at.first().map(|&(due, n)| (due, n));
            let taught = self.learn_at.first().copied();
            match (observe_waiting, taught) {
                (Some((due, n)), taught) if due <= at && taught.is_none_or(|(later, ..)| due <= later) => {
                    self.observe_waiting(n, due)?;
                }
                (_, Some((due, seq, i, n))) if due <= at => {
                    self.learn_at.remove(&(due, seq, i, n));
                    if let Some(lesson) = self.state.lessons.remove(&n) {
                        self.teach(n, &lesson)?;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn teach(&mut self, n: u64, lesson: &PendingLesson) -> Result<(), Error> {
        let receipt = Receipt {
            inclusion_probability: lesson.probability,
            explored: lesson.explored,
            ..Receipt::default()
        };
        let last = self.known.final_rewards.get(&n);
        let reward = last.map_or(lesson.reward, |(final_rewards, _)| *final_rewards);
        // If another verdict set the final reward, this reviewer did not give it.
        let own = last.is_none_or(|(_, by)| *by == VerdictPosition { seq: lesson.seq, i: lesson.i });
        let reviewer = lesson.reviewer.filter(|_| own).and_then(Reviewer::from_code);
        let example = Example { scores: &lesson.scores, reward, receipt: Some(&receipt) };
        self.jury.learn_by(&[example], &[reviewer], seconds(lesson.arrived))?;
        Ok(())
    }

    /// A row with the columns of the evaluators in force, rearranged to the columns of the jury.
    fn in_jury_columns(&self, row: &[f64]) -> Vec<f64> {
        let mut row = row.to_vec();
        if let Some(history) = &self.known.history {
            history.carry(&mut row, self.state.history.len() - 1, history.len() - 1);
        }
        row
    }
}

fn seconds(at: i64) -> u64 {
    (at.max(0) / 1_000_000) as u64
}
