//! When an alarm was raised: by the log, so that whoever folds it finds the same, on every node and at any later time.
//!
//! An alarm says from when on an evaluator is different, as nearly as the model knows now. It knows less exactly the longer ago that was, and
//! places it elsewhere. What does not move is with which entry of the log the alarm was raised, and what it said there.

use crate::Error;
use crate::learner::Learner;
use crate::load::{beginning, opened};
use crate::reads::Model;
use crate::service::Queue;
use crate::store::{Checkpoint, Store, set_up};
use jurybox::Fitted;
use std::collections::BTreeMap;

/// How an alarm was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// The first entry of the log whose model has it, and every later one has had it since.
    pub entry: u64,
    /// The time of that entry, in microseconds since 1970.
    pub at: i64,
    /// From when on the evaluator is different by that model, in microseconds since 1970.
    pub since: i64,
}

/// Evaluators that have changed, each with how the alarm was raised, as long as it lasts; none where that could not be told.
pub(crate) type Known = Vec<(String, Option<Raised>)>;

/// Rounds between two looks of the first search; the second looks after each.
const STEP: u64 = 16;

impl Queue {
    /// How the alarms about these were raised, of whom a model says that they have changed; none where that cannot be told.
    pub(super) fn raised(&self, model: &Model, changed: &[String]) -> Result<Vec<Option<Raised>>, Error> {
        let mut known = self.known_alarms();
        known.retain(|(name, _)| changed.contains(name));
        let found = |known: &Known, name: &String| {
            known.iter().find(|(other, _)| other == name).map(|(_, raised)| *raised)
        };
        let new: Vec<String> = changed.iter().filter(|name| found(&known, name).is_none()).cloned().collect();
        if !new.is_empty() {
            let (mut store, queue) =
                self.read(|clerk| Ok::<_, Error>((clerk.another_store()?, clerk.queue())))??;
            store.begin_reading(queue)?;
            let raised = search(store.as_mut(), queue, model.model, &new);
            store.rollback();
            known.extend(new.into_iter().zip(raised?));
        }
        Ok(changed.iter().map(|name| found(&known, name).flatten()).collect())
    }
}

/// From when on each of these is different by a fit, in seconds since 1970; none where it has no alarm about them. Which of its readings changed may
/// differ from one fit to the next: that it has changed is what lasts.
fn since(fitted: &Fitted, evaluators: &[String]) -> Vec<Option<u64>> {
    let names: Vec<&str> = fitted.evaluators().names().collect();
    let of = |name: &String| {
        let its = fitted
            .alarms()
            .iter()
            .filter(|alarm| alarm.evaluator.and_then(|at| names.get(at)) == Some(&name.as_str()));
        its.map(|alarm| alarm.since).min()
    };
    evaluators.iter().map(of).collect()
}

/// Looks for the raising of each alarm between the last checkpoint without it and the one that follows, or the last entry.
fn search(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
    evaluators: &[String],
) -> Result<Vec<Option<Raised>>, Error> {
    let mut marks: Vec<(Checkpoint, Vec<bool>)> = Vec::new();
    for checkpoint in store.checkpoints(queue)?.into_iter().filter(|checkpoint| checkpoint.seq <= until) {
        // One that is damaged says nothing here, and `rebuild` tells of it.
        let Ok(learner) = opened(&checkpoint) else { continue };
        let has = since(&learner.fit()?, evaluators).iter().map(Option::is_some).collect();
        marks.push((checkpoint, has));
    }
    let mut together: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..evaluators.len() {
        let after = marks.iter().rposition(|(_, has)| !has[at]).map_or(0, |last| last + 1);
        together.entry(after).or_default().push(at);
    }
    let mut raised = vec![None; evaluators.len()];
    for (after, which) in together {
        let from = after.checked_sub(1).map(|last| &marks[last].0);
        let to = marks.get(after).map_or(until, |(checkpoint, _)| checkpoint.seq);
        let some: Vec<String> = which.iter().map(|at| evaluators[*at].clone()).collect();
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
    evaluators: &[String],
) -> Result<Vec<Option<Raised>>, Error> {
    let start = match from {
        Some(checkpoint) => opened(checkpoint)?,
        None => beginning(store, queue, to, None)?,
    };
    let (begun, end) = before_each(store, queue, start, to, evaluators)?;
    let begun = if end < to {
        // Something was revised on the way: folded again by what is known at the end.
        let mut again = beginning(store, queue, to, None)?;
        if let Some(checkpoint) = from {
            follow(store, queue, &mut again, checkpoint.seq, u64::MAX, &mut |_| Ok(true))?;
        }
        before_each(store, queue, again, to, evaluators)?.0
    } else {
        begun
    };
    let mut raised = Vec::new();
    for (evaluator, begun) in evaluators.iter().zip(begun) {
        let mut found = None;
        if let Some(mut learner) = begun {
            follow(store, queue, &mut learner, to, 1, &mut |learner| {
                let since = since(&learner.fit()?, std::slice::from_ref(evaluator)).pop().flatten();
                found = since.map(|since| Raised {
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

/// What was learnt a few rounds before each alarm was raised that is there in the end; and how far the log could be folded.
fn before_each(
    store: &mut dyn Store,
    queue: i64,
    mut learner: Learner,
    to: u64,
    evaluators: &[String],
) -> Result<(Vec<Option<Learner>>, u64), Error> {
    let mut begun: Vec<Option<Learner>> = vec![None; evaluators.len()];
    let mut last = learner.clone();
    follow(store, queue, &mut learner, to, STEP, &mut |learner| {
        for (begun, since) in begun.iter_mut().zip(since(&learner.fit()?, evaluators)) {
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

/// Takes in the log up to an entry, and shows what was learnt wherever so many rounds are whole, and at the end, as long as that is wanted. It ends
/// early where something that was learnt is revised.
fn follow(
    store: &mut dyn Store,
    queue: i64,
    learner: &mut Learner,
    to: u64,
    step: u64,
    look: &mut dyn FnMut(&Learner) -> Result<bool, Error>,
) -> Result<(), Error> {
    let (seatings, _) = set_up(store, queue, to)?;
    while learner.seq() < to {
        let events = store.events(queue, learner.seq(), to, &seatings)?;
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
