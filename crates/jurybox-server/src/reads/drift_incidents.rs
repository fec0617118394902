//! When each drift alarm was raised: the entry is searched in the log, so that all nodes find the
//! same one.
//!
//! An alarm contains an estimate of when its evaluator changed. Later models estimate this time
//! again, and less exactly, so the estimate moves. An incident therefore keeps the entry that
//! raised its alarm, and the estimate at that entry.

use crate::Error;
use crate::learner::Learner;
use crate::load::{beginning, opened};
use crate::queue_writer::QueueWriter;
use crate::reads::RankingModel;
use crate::service::Queue;
use crate::store::{Checkpoint, Store, set_up};
use jurybox::{Alarm, Fitted};
use std::collections::BTreeMap;
use std::sync::MutexGuard;

/// The log entry that raised an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmOnset {
    /// The entry whose model first had the alarm, which has lasted since.
    pub entry: u64,
    /// The time of that entry, in microseconds since 1970.
    pub at: i64,
    /// When the evaluator changed, as estimated at that entry, in microseconds since 1970.
    pub since: i64,
}

/// A detected change of an evaluator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftIncident {
    /// The evaluator.
    pub evaluator: String,
    /// When its alarm was raised.
    pub raised: AlarmOnset,
    /// When the alarm was found to be over, in microseconds since 1970; None while it lasts.
    pub over: Option<i64>,
}

/// A change of an evaluator according to a fit: it took place between `since` and `until`, in
/// seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EvaluatorChange {
    evaluator: String,
    since: u64,
    until: u64,
}

impl EvaluatorChange {
    /// Whether two fits may report the same change: their periods overlap.
    fn is(&self, other: &EvaluatorChange) -> bool {
        self.evaluator == other.evaluator && self.since <= other.until && other.since <= self.until
    }
}

/// The changes known so far.
#[derive(Default)]
pub(crate) struct DriftHistory {
    /// The newest model that was examined; None before the first.
    model: Option<u64>,
    /// The changes with an alarm in `model`, each with its onset; None if no onset could be found.
    stand: Vec<(EvaluatorChange, Option<AlarmOnset>)>,
    /// Changes whose alarm is over, oldest first.
    over: Vec<(EvaluatorChange, DriftIncident)>,
}

impl DriftHistory {
    /// Reopens incidents that `told` reports again, with their original onsets. If several
    /// incidents match a change, the last one is reopened. A change that matches a current one
    /// reopens none, even if its period has grown to cover an earlier incident.
    fn bring_back(&mut self, told: &[EvaluatorChange]) {
        for change in told {
            if self.stand.iter().any(|(other, _)| other.is(change)) {
                continue;
            }
            if let Some(at) = self.over.iter().rposition(|(other, _)| other.is(change)) {
                let (again, drift_incidents) = self.over.remove(at);
                self.stand.push((again, Some(drift_incidents.raised)));
            }
        }
    }
}

/// Rounds between two fits in the coarse search. The fine search fits after each round.
const STEP: u64 = 16;
/// Checkpoints that are searched for changes that are over.
const ASKED: usize = 50;
/// Changes that are over and are kept.
const REMEMBERED: usize = 100;

impl Queue {
    /// The detected changes, newest first. Some have an alarm in `model`, or in a newer model if
    /// one was examined before; the alarms of the others are over. Changes that were over before
    /// the service started are found only at checkpoints.
    pub fn drift_incidents(&self, model: &RankingModel) -> Result<Vec<DriftIncident>, Error> {
        let known = self.known(model)?;
        let stands = |(change, raised): &(EvaluatorChange, Option<AlarmOnset>)| {
            Some(DriftIncident { evaluator: change.evaluator.clone(), raised: (*raised)?, over: None })
        };
        let mut all: Vec<DriftIncident> = known.stand.iter().filter_map(stands).collect();
        all.extend(known.over.iter().map(|(_, drift_incidents)| drift_incidents.clone()));
        all.sort_by(|a, b| (b.raised.entry, &b.evaluator).cmp(&(a.raised.entry, &a.evaluator)));
        Ok(all)
    }

    /// The onset of each of these alarms of a model; None if it cannot be found, or if the alarm is
    /// about the rewards.
    pub(super) fn raised(
        &self,
        model: &RankingModel,
        alarms: &[Alarm],
    ) -> Result<Vec<Option<AlarmOnset>>, Error> {
        let known = self.known(model)?;
        let of = |alarm: &Alarm| {
            let change = changed(model.fitted(), alarm)?;
            let exactly = known.stand.iter().find(|(other, _)| *other == change);
            exactly.or_else(|| known.stand.iter().find(|(other, _)| other.is(&change)))?.1
        };
        Ok(alarms.iter().map(of).collect())
    }

    /// The known changes, after this model was examined.
    fn known(&self, model: &RankingModel) -> Result<MutexGuard<'_, DriftHistory>, Error> {
        let mut known = self.known_alarms();
        // A model that is not newer adds nothing.
        if known.model.is_some_and(|last| last >= model.model) {
            return Ok(known);
        }
        let told = changes(model.fitted());
        known.bring_back(&told);
        let is_known = |change: &&EvaluatorChange| known.stand.iter().any(|(other, _)| other.is(change));
        let new: Vec<EvaluatorChange> = told.iter().filter(|change| !is_known(change)).cloned().collect();
        let begins = known.model.is_none();
        let (mut raised, mut past) = (Vec::new(), Vec::new());
        let now = self.read(QueueWriter::now)?;
        if begins || !new.is_empty() {
            let (_place, mut store) = self.long_read()?;
            let queue = self.number();
            store.begin_reading(queue)?;
            let found = search(store.as_mut(), queue, model.model, &new).and_then(|raised| {
                let past =
                    if begins { over(store.as_mut(), queue, model.model, (&told, now))? } else { Vec::new() };
                Ok((raised, past))
            });
            store.rollback();
            (raised, past) = found?;
        }
        let mut raised = new.into_iter().zip(raised);
        let mut before = std::mem::take(&mut known.stand);
        for change in told {
            let same = before.iter().position(|(other, _)| other.is(&change));
            let how = match same {
                Some(at) => before.remove(at).1,
                None => raised.find(|(other, _)| *other == change).and_then(|(_, raised)| raised),
            };
            known.stand.push((change, how));
        }
        let ended = before.into_iter().filter_map(|(change, raised)| {
            let drift_incidents =
                DriftIncident { evaluator: change.evaluator.clone(), raised: raised?, over: Some(now) };
            Some((change, drift_incidents))
        });
        known.over.extend(past.into_iter().chain(ended));
        let many = known.over.len();
        known.over.drain(..many.saturating_sub(REMEMBERED));
        known.model = Some(model.model);
        Ok(known)
    }
}

/// The change that an alarm is about; None if it is about the rewards.
fn changed(fitted: &Fitted, alarm: &Alarm) -> Option<EvaluatorChange> {
    let evaluator = fitted.evaluators().names().nth(alarm.evaluator?)?.to_string();
    Some(EvaluatorChange { evaluator, since: alarm.since, until: alarm.until })
}

/// The evaluators' changes in a fit, each once, because several alarms may report the same change.
fn changes(fitted: &Fitted) -> Vec<EvaluatorChange> {
    let mut all: Vec<EvaluatorChange> = Vec::new();
    for change in fitted.alarms().iter().filter_map(|alarm| changed(fitted, alarm)) {
        if !all.contains(&change) {
            all.push(change);
        }
    }
    all
}

/// For each change in `asked`, the earliest start that a fit reports for it, in seconds since 1970;
/// None if the fit does not report the change.
fn since(fitted: &Fitted, asked: &[EvaluatorChange]) -> Vec<Option<u64>> {
    let told = changes(fitted);
    asked.iter().map(|one| told.iter().filter(|other| other.is(one)).map(|other| other.since).min()).collect()
}

/// Changes with an alarm at one of the last checkpoints, but neither at a later one nor in the last
/// model.
fn over(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
    (told, now): (&[EvaluatorChange], i64),
) -> Result<Vec<(EvaluatorChange, DriftIncident)>, Error> {
    let (mut later, mut ended, mut found) = (told.to_vec(), now, Vec::new());
    let checkpoints =
        store.checkpoints(queue)?.into_iter().rev().filter(|checkpoint| checkpoint.seq <= until);
    for checkpoint in checkpoints.take(ASKED) {
        // Damaged checkpoints are skipped here; `rebuild` reports them.
        let Ok(learner) = opened(&checkpoint) else { continue };
        for change in changes(&learner.fit()?) {
            if !later.iter().any(|other| other.is(&change)) {
                later.push(change.clone());
                found.push((change, checkpoint.seq, ended));
            }
        }
        ended = learner.at();
    }
    let mut drift_incidents = Vec::new();
    for (change, seq, ended) in found.into_iter().rev() {
        let raised = search(store, queue, seq, std::slice::from_ref(&change))?.pop().flatten();
        let evaluator = change.evaluator.clone();
        drift_incidents
            .extend(raised.map(|raised| (change, DriftIncident { evaluator, raised, over: Some(ended) })));
    }
    Ok(drift_incidents)
}

/// Finds the onset of each alarm between the last checkpoint without it and the next checkpoint, or
/// entry `until`.
fn search(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
    asked: &[EvaluatorChange],
) -> Result<Vec<Option<AlarmOnset>>, Error> {
    let mut marks: Vec<(Checkpoint, Vec<bool>)> = Vec::new();
    for checkpoint in store.checkpoints(queue)?.into_iter().filter(|checkpoint| checkpoint.seq <= until) {
        // Damaged checkpoints are skipped here; `rebuild` reports them.
        let Ok(learner) = opened(&checkpoint) else { continue };
        let has = since(&learner.fit()?, asked).iter().map(Option::is_some).collect();
        marks.push((checkpoint, has));
    }
    let mut together: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..asked.len() {
        let after = marks.iter().rposition(|(_, has)| !has[at]).map_or(0, |last| last + 1);
        together.entry(after).or_default().push(at);
    }
    let mut raised = vec![None; asked.len()];
    for (after, which) in together {
        let from = after.checked_sub(1).map(|last| &marks[last].0);
        let to = marks.get(after).map_or(until, |(checkpoint, _)| checkpoint.seq);
        let some: Vec<EvaluatorChange> = which.iter().map(|at| asked[*at].clone()).collect();
        let found = between(store, queue, from, to, &some)?;
        which.into_iter().zip(found).for_each(|(at, found)| raised[at] = found);
    }
    Ok(raised)
}

fn between(
    store: &mut dyn Store,
    queue: i64,
    from: Option<&Checkpoint>,
    to: u64,
    asked: &[EvaluatorChange],
) -> Result<Vec<Option<AlarmOnset>>, Error> {
    let start = match from {
        Some(checkpoint) => opened(checkpoint)?,
        None => beginning(store, queue, to, None)?,
    };
    let (begun, end) = before_each(store, queue, start, to, asked)?;
    let begun = if end < to {
        // Learnt facts were revised on the way, so the log is folded again with the facts known at
        // the end.
        let mut again = beginning(store, queue, to, None)?;
        if let Some(checkpoint) = from {
            follow(store, queue, &mut again, checkpoint.seq, u64::MAX, &mut |_| Ok(true))?;
        }
        before_each(store, queue, again, to, asked)?.0
    } else {
        begun
    };
    let mut raised = Vec::new();
    for (change, begun) in asked.iter().zip(begun) {
        let mut found = None;
        if let Some(mut learner) = begun {
            follow(store, queue, &mut learner, to, 1, &mut |learner| {
                let since = since(&learner.fit()?, std::slice::from_ref(change)).pop().flatten();
                found = since.map(|since| AlarmOnset {
                    entry: learner.seq(),
                    at: learner.at(),
                    since: since.cast_signed().saturating_mul(1_000_000),
                });
                Ok(found.is_none())
            })?;
        }
        raised.push(found);
    }
    Ok(raised)
}

/// For each alarm, the learner about `STEP` rounds before the onset, if the alarm lasts until the
/// end. Also the entry up to which the log could be folded.
fn before_each(
    store: &mut dyn Store,
    queue: i64,
    mut learner: Learner,
    to: u64,
    asked: &[EvaluatorChange],
) -> Result<(Vec<Option<Learner>>, u64), Error> {
    let mut begun: Vec<Option<Learner>> = vec![None; asked.len()];
    let mut last = learner.clone();
    follow(store, queue, &mut learner, to, STEP, &mut |learner| {
        for (begun, since) in begun.iter_mut().zip(since(&learner.fit()?, asked)) {
            match since {
                Some(_) => _ = begun.get_or_insert_with(|| last.clone()),
                None => *begun = None,
            }
        }
        last = learner.clone();
        Ok(true)
    })?;
    Ok((begun, learner.seq()))
}

/// Folds the log up to an entry. Calls `look` after every `step` rounds and at the end, until it
/// returns false. Ends early if learnt facts are revised.
fn follow(
    store: &mut dyn Store,
    queue: i64,
    learner: &mut Learner,
    to: u64,
    step: u64,
    look: &mut dyn FnMut(&Learner) -> Result<bool, Error>,
) -> Result<(), Error> {
    let (history, _) = set_up(store, queue, to)?;
    while learner.seq() < to {
        let events = store.events(queue, learner.seq(), to, &history)?;
        if events.is_empty() {
            return Ok(());
        }
        for event in &events {
            let before = learner.rounds() / step;
            learner.apply(event)?;
            if learner.is_stale() {
                return Ok(());
            }
            let whole = learner.rounds() / step > before;
            if (whole || learner.seq() == to) && !look(learner)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{AlarmOnset, DriftHistory, DriftIncident, EvaluatorChange};

    fn change(since: u64, until: u64) -> EvaluatorChange {
        EvaluatorChange { evaluator: "a".into(), since, until }
    }

    fn raised(entry: u64) -> AlarmOnset {
        AlarmOnset { entry, at: 0, since: 0 }
    }

    fn over(entry: u64, since: u64, until: u64) -> (EvaluatorChange, DriftIncident) {
        let drift_incidents = DriftIncident { evaluator: "a".into(), raised: raised(entry), over: Some(7) };
        (change(since, until), drift_incidents)
    }

    fn entries(known: &DriftHistory) -> (Vec<u64>, Vec<u64>) {
        let stand = known.stand.iter().filter_map(|(_, raised)| Some((*raised)?.entry));
        (
            stand.collect(),
            known.over.iter().map(|(_, drift_incidents)| drift_incidents.raised.entry).collect(),
        )
    }

    #[test]
    fn what_is_over_stays_so_where_a_later_change_widens_over_it() {
        let stand = vec![(change(30, 40), Some(raised(3)))];
        let mut known = DriftHistory { stand, over: vec![over(1, 10, 20)], ..DriftHistory::default() };
        known.bring_back(&[change(15, 40)]);
        assert_eq!(entries(&known), (vec![3], vec![1]));
    }

    #[test]
    fn what_is_told_of_again_was_not_over() {
        let all = vec![over(1, 10, 20), over(2, 18, 30), over(3, 50, 60)];
        let mut known = DriftHistory { over: all, ..DriftHistory::default() };
        // Two statistics report one change of an evaluator with slightly different periods.
        known.bring_back(&[change(15, 25), change(16, 24)]);
        assert_eq!(entries(&known), (vec![2], vec![1, 3]));
    }
}
