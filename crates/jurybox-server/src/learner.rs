//! What a queue has learnt: a pure fold of its log.
//!
//! The model at entry m is what a jury learns from the facts *as they are known at m*: items in the order in which they were
//! ripe, and again when an evaluator scores them for the first time after that, and with the first, second, fourth, eighth … other
//! scores in place of those that were there, in rounds of 64; until there is a whole round, the items that have
//! come in so far; lessons in the order in which their time to be taken back ran out, with who judged where that was one reviewer by
//! the quorum of that time; verdicts that were revised after that by their last word, as nobody's; erased items not at all. It depends on nothing but the log up to m, so anybody can compute it again.
//!
//! As long as nothing is revised that was learnt already, the next model is the last one and a little more. Otherwise the learner
//! says that it is [stale](Learner::is_stale) and stops, and a new one folds the log from the beginning, told beforehand what is
//! known by now ([`LaterFacts`]).

mod state;

use crate::Error;
use crate::config::{Config, micros};
use crate::event::{Body, LogEvent, GivenVerdict, VerdictSource, VerdictPosition};
use crate::evaluator_history::EvaluatorHistory;
use jurybox::{Example, Fitted, Jury, Receipt, Reviewer, Scores, Seen};
use state::{PendingLesson, State, WaitingItem, VERSION};
use std::collections::{BTreeMap, BTreeSet};

/// Items that make a round. Single arrivals would blind what watches for drift.
const ROUND: usize = 64;

/// Rows after which there is a checkpoint.
const CHECKPOINT: u64 = 1 << 16;

/// What a fold from the beginning is told of what comes later.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaterFacts {
    /// Up to which entry.
    pub(crate) until: u64,
    /// The seatings up to there.
    pub(crate) history: Option<EvaluatorHistory>,
    /// The configuration in force there.
    pub(crate) config: Option<Config>,
    /// What items were found to be worth in the end, where a verdict on them was revised, and by which verdict.
    pub(crate) worth: BTreeMap<u64, (f64, VerdictPosition)>,
    /// Items that were erased.
    pub(crate) erased: BTreeSet<u64>,
}

/// What a queue has learnt up to an entry of its log.
#[derive(Debug, Clone)]
pub(crate) struct Learner {
    state: State,
    jury: Jury,
    known: LaterFacts,
    /// By the time at which they are ripe.
    ripe_at: BTreeSet<(i64, u64)>,
    /// By the time at which they can no longer be taken back.
    taught_at: BTreeSet<(i64, u64, u32, u64)>,
    /// The entry with which the first items came, and then the first whole round: what was ranked before it knew next to nothing of them.
    sighted: u64,
    stale: bool,
}

impl Learner {
    /// Of a queue whose first entry this is.
    pub(crate) fn new(first: &LogEvent, known: LaterFacts) -> Result<Self, Error> {
        let Body::Create { config, .. } = &first.body else {
            return Err(crate::error::corrupt("the log does not begin with the making of the queue"));
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
            unripe: BTreeMap::new(),
            replaced: BTreeMap::new(),
            lessons: BTreeMap::new(),
            jury: Vec::new(),
        };
        let (ripe_at, taught_at) = (BTreeSet::new(), BTreeSet::new());
        Ok(Learner { state, jury, known, ripe_at, taught_at, sighted: 0, stale: false })
    }

    /// The entry up to which it has learnt.
    pub(crate) fn seq(&self) -> u64 {
        self.state.seq
    }

    /// The time of that entry.
    pub(crate) fn at(&self) -> i64 {
        self.state.at
    }

    /// How often something was revised that had been learnt.
    pub(crate) fn epoch(&self) -> u64 {
        self.state.epoch
    }

    /// Whether something that was learnt has been revised, so that the log is to be folded again.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Verdicts that can still be taken back.
    pub(crate) fn waiting(&self) -> u64 {
        self.state.lessons.len() as u64
    }

    /// Stops: the log is to be folded again.
    pub(crate) fn mark_stale(&mut self) {
        self.stale = true;
    }

    #[cfg(test)]
    pub(crate) fn jury(&self) -> &Jury {
        &self.jury
    }

    /// Whether there has been no whole round yet, and that makes a difference.
    pub(crate) fn is_new(&self) -> bool {
        self.jury.seen().rounds == 0 && self.jury.learns_from_scores()
    }

    /// Whether a model of that entry knows next to nothing of the scores, and a later one would.
    pub(crate) fn sees_more_than(&self, model: u64) -> bool {
        model < self.sighted && self.jury.learns_from_scores()
    }

    /// Something that changes when the model does.
    pub(crate) fn mark(&self) -> (Seen, u64) {
        (self.jury.seen(), if self.is_new() { self.state.seq } else { 0 })
    }

    /// The jury that ranks. Until there is a whole round, it is shown what has come in so far, a round's worth at the most, those that
    /// still wait for scores last: else all would be worth the same to it, and a small queue would go by age. The fold itself goes on
    /// without that, and shows these items to the jury again when their round is whole.
    pub(crate) fn ranking(&self) -> Result<Jury, Error> {
        let mut jury = self.jury.clone();
        if self.is_new() {
            let round = self.state.round.iter().map(|(_, row)| row);
            let unripe = self.state.unripe.values().map(|unripe| &unripe.scores);
            let table: Vec<f64> = round.chain(unripe).take(ROUND).flatten().copied().collect();
            if !table.is_empty() {
                jury.observe(&Scores::new(&table, jury.evaluators().len())?, seconds(self.state.at))?;
            }
        }
        Ok(jury)
    }

    /// The model.
    pub(crate) fn fit(&self) -> Result<Fitted, Error> {
        Ok(self.ranking()?.fit())
    }

    /// When the first of the verdicts that wait can no longer be taken back.
    pub(crate) fn lesson_due(&self) -> Option<i64> {
        self.taught_at.first().map(|(due, ..)| *due).filter(|_| !self.stale)
    }

    /// Whole rounds that the jury was shown.
    pub(crate) fn rounds(&self) -> u64 {
        self.jury.seen().rounds
    }

    /// Rows folded.
    pub(crate) fn weight(&self) -> u64 {
        self.state.weight
    }

    /// Takes in the next entry. True if there is to be a checkpoint after it.
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
        // What waits when the clock is set waits no longer: its time would come late.
        self.ripen_until(if matches!(event.body, Body::Clock) { i64::MAX } else { event.at })?;
        self.take_in(event)?;
        if self.stale {
            return Ok(false);
        }
        let before = self.state.weight / CHECKPOINT;
        (self.state.seq, self.state.at) = (event.seq, event.at);
        self.state.weight += event.body.weight();
        if event.seq >= self.known.until {
            // From here on nothing later is known.
            self.known = LaterFacts::default();
        }
        Ok(self.state.weight / CHECKPOINT > before)
    }

    fn take_in(&mut self, event: &LogEvent) -> Result<(), Error> {
        match &event.body {
            Body::Create { .. } => return Err(crate::error::corrupt("a queue was made twice")),
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
                    if self.state.unripe.contains_key(&item.n) {
                        self.arrived(item.n, &item.scores, event.at)?;
                    } else if item.newly.is_some_and(|newly| newly || self.replaces(item.n)) {
                        self.again(item.n, &item.scores, event.at)?;
                    }
                }
            }
            Body::Claim { picks, .. } => {
                for pick in picks {
                    self.ripe(pick.n, event.at)?;
                }
            }
            Body::Verdicts { given } => {
                for (i, given) in given.iter().enumerate() {
                    self.ripe(given.n, event.at)?;
                    self.verdict(event, i as u32, given);
                }
            }
            Body::Undo { item, .. } => {
                if let Some(lesson) = self.state.lessons.remove(&item.n) {
                    self.taught_at.remove(&(lesson.due, lesson.seq, lesson.i, item.n));
                }
            }
            Body::Close { items, .. } => {
                for n in items.iter().flat_map(|(first, last)| *first..=*last) {
                    self.state.replaced.remove(&n);
                    self.ripe(n, event.at)?;
                }
            }
            Body::Erase { items } => {
                self.revised(event.seq);
                for n in items {
                    self.forget(*n);
                }
            }
            Body::Extend { .. } | Body::Release { .. } | Body::Clock | Body::Settle => {}
        }
        Ok(())
    }

    /// Something that was learnt is not so. Where that was known beforehand, it was learnt as it is.
    fn revised(&mut self, seq: u64) {
        self.state.epoch += 1;
        self.stale = self.stale || seq > self.known.until;
    }

    fn forget(&mut self, n: u64) {
        self.state.replaced.remove(&n);
        if let Some(unripe) = self.state.unripe.remove(&n) {
            self.ripe_at.remove(&(unripe.due, n));
        }
    }

    /// An item has these scores: it is ripe if they are all of them.
    fn arrived(&mut self, n: u64, scores: &[f64], at: i64) -> Result<(), Error> {
        if scores.is_empty() || self.known.erased.contains(&n) {
            return Ok(());
        }
        let complete = !scores.iter().any(|score| score.is_nan());
        let scores = self.carried(scores);
        let due = if let Some(unripe) = self.state.unripe.get_mut(&n) {
            unripe.scores = scores;
            unripe.due
        } else {
            let due = at + micros(self.state.config.settle_seconds);
            if self.jury.seen().rounds == 0 && self.state.round.is_empty() && self.state.unripe.is_empty() {
                self.sighted = self.state.seq + 1;
            }
            self.state.unripe.insert(n, WaitingItem { due, scores });
            self.ripe_at.insert((due, n));
            due
        };
        if complete || due <= at { self.ripe(n, at) } else { Ok(()) }
    }

    /// An item is seen, if it has not been.
    fn ripe(&mut self, n: u64, at: i64) -> Result<(), Error> {
        let Some(unripe) = self.state.unripe.remove(&n) else { return Ok(()) };
        self.ripe_at.remove(&(unripe.due, n));
        self.show(n, unripe.scores, at)
    }

    /// Whether an item whose scores are replaced is seen again: the first, second, fourth, eighth … time. Who corrects scores is learnt
    /// from, and who writes one item's scores a thousand times does not show it to the jury as a thousand.
    fn replaces(&mut self, n: u64) -> bool {
        let many = self.state.replaced.entry(n).or_default();
        *many = many.saturating_add(1);
        many.is_power_of_two()
    }

    /// An item that was seen has other scores: it is seen again, as it is now.
    fn again(&mut self, n: u64, scores: &[f64], at: i64) -> Result<(), Error> {
        if scores.is_empty() || self.known.erased.contains(&n) {
            return Ok(());
        }
        let scores = self.carried(scores);
        self.show(n, scores, at)
    }

    fn show(&mut self, n: u64, scores: Vec<f64>, at: i64) -> Result<(), Error> {
        self.state.round.push((n, scores));
        if self.state.round.len() == ROUND {
            if self.jury.seen().rounds == 0 {
                self.sighted = self.state.seq + 1;
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
            self.taught_at.remove(&(lesson.due, lesson.seq, lesson.i, given.n));
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
            // What several have decided is nobody's verdict, and whoever hears an appeal has read the others'.
            reviewer: (given.source == VerdictSource::Reviewer && self.state.config.quorum == 1)
                .then(|| Reviewer::named(&given.reviewer).code()),
        };
        self.keep(given.n, lesson);
    }

    /// Keeps a lesson, with its scores by the seating in force, until it is time to learn it.
    fn keep(&mut self, n: u64, mut lesson: PendingLesson) {
        if lesson.scores.is_empty() || self.known.erased.contains(&n) {
            return;
        }
        lesson.scores = self.carried(&lesson.scores);
        self.taught_at.insert((lesson.due, lesson.seq, lesson.i, n));
        self.state.lessons.insert(n, lesson);
    }

    /// What time alone brings about: items that have waited long enough for scores, verdicts that stand.
    fn ripen_until(&mut self, at: i64) -> Result<(), Error> {
        loop {
            let ripe = self.ripe_at.first().map(|&(due, n)| (due, n));
            let taught = self.taught_at.first().copied();
            match (ripe, taught) {
                (Some((due, n)), taught) if due <= at && taught.is_none_or(|(later, ..)| due <= later) => {
                    self.ripe(n, due)?;
                }
                (_, Some((due, seq, i, n))) if due <= at => {
                    self.taught_at.remove(&(due, seq, i, n));
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
        let last = self.known.worth.get(&n);
        let reward = last.map_or(lesson.reward, |(worth, _)| *worth);
        // A reward that somebody else gave later is not this reviewer's.
        let own = last.is_none_or(|(_, by)| *by == VerdictPosition { seq: lesson.seq, i: lesson.i });
        let reviewer = lesson.reviewer.filter(|_| own).and_then(Reviewer::from_code);
        let example = Example { scores: &lesson.scores, reward, receipt: Some(&receipt) };
        self.jury.learn_by(&[example], &[reviewer], seconds(lesson.arrived))?;
        Ok(())
    }

    /// A row of the seating in force, by the evaluators of the jury: those of the present, or of what is known to come.
    fn carried(&self, row: &[f64]) -> Vec<f64> {
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
