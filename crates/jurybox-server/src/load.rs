//! Loads a queue's replica from its tables, the last checkpoint and the log after that checkpoint.
//! Also folds logs: a learner applies a log's entries in order.

use crate::Error;
use crate::error::corrupt;
use crate::event::VerdictPosition;
use crate::learner::{LaterFacts, Learner};
use crate::live_queue::LiveQueue;
use crate::live_queue::reviews::ItemReviews;
use crate::replica::Replica;
use crate::store::{Checkpoint, LogHead, Store, set_up};
use crate::stored_body::StoredBody;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Loads a queue. Also returns the total weight of the log entries that were folded. The store must
/// be in a reading transaction.
pub(crate) fn load(store: &mut dyn Store, queue: i64, head: LogHead) -> Result<(Replica, u64), Error> {
    let (history, config) = set_up(store, queue, head.seq)?;
    let first = store.events(queue, 0, 1, &history)?;
    let first = first.first().ok_or_else(|| corrupt("the queue's log has no `create` entry"))?;
    let mut live = LiveQueue::new(first)?;
    let (items, verdicts) = store.totals(queue)?;
    live.begin_loading(config, history);
    store.open_items(queue, &mut |row| {
        if row.scores.is_empty() {
            return Err(corrupt(format!("item {} is open and has no scores", row.n)));
        }
        let arrived = row.arrived;
        let (n, wrote, has, sat) = (row.n, row.seq, row.scores.len(), live.history.width_at(row.seq));
        if has != sat {
            return Err(corrupt(format!(
                "item {n} has {has} scores at entry {wrote}, where the queue had {sat} evaluators"
            )));
        }
        let item = row.into_added(&live.history, head.seq + 1);
        live.load(&item, arrived);
        Ok(())
    })?;
    let mut item_reviews: BTreeMap<u64, ItemReviews> = BTreeMap::new();
    for row in store.leases(queue)? {
        let reviews = item_reviews.entry(row.n).or_default();
        reviews.leases.reserve_exact(1);
        reviews.leases.push(row.lease);
    }
    for row in store.verdicts_on_open(queue)? {
        item_reviews.entry(row.n).or_default().verdicts.push(row.earlier());
    }
    for (n, reviewer) in store.skips(queue)? {
        item_reviews.entry(n).or_default().skipped.push(reviewer);
    }
    for (n, reviews) in item_reviews {
        live.load_reviews(n, reviews);
    }
    (live.seq, live.at, live.next, live.verdicts) = (head.seq, head.at, items + 1, verdicts);
    live.clock_set = store.bodies(queue, ["clock", "clock"], head.seq)?.last().map_or(0, |(seq, _)| *seq);
    let (learner, folded) = learnt(store, queue, head.seq)?;
    Ok((Replica { live, learner }, folded))
}

/// The learner at an entry: from the last checkpoint if nothing was revised since, otherwise from
/// the whole log. Also returns the total weight of the entries that were folded.
fn learnt(store: &mut dyn Store, queue: i64, until: u64) -> Result<(Learner, u64), Error> {
    // A damaged checkpoint only costs time here; `rebuild` and `verify` report it.
    if let Some(checkpoint) = store.checkpoint(queue, until)?
        && let Ok(mut learner) = opened(&checkpoint)
    {
        let before = learner.weight();
        fold(store, queue, &mut learner, until, &mut |_| Ok(()))?;
        if !learner.is_stale() {
            let folded = learner.weight() - before;
            return Ok((learner, folded));
        }
    }
    let learner = refold(store, queue, until, &mut |_| Ok(()))?;
    let folded = learner.weight();
    Ok((learner, folded))
}

/// Folds the whole log up to an entry, with the facts known at that entry. `each` is called
/// wherever a checkpoint is due.
pub(crate) fn refold(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
    each: &mut dyn FnMut(&Learner) -> Result<(), Error>,
) -> Result<Learner, Error> {
    refold_as(store, queue, until, None, each)
}

/// As [`refold`], but as if the queue had been given the configuration `changed` after entry
/// `until`.
pub(crate) fn refold_as(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
    changed: Option<&crate::Config>,
    each: &mut dyn FnMut(&Learner) -> Result<(), Error>,
) -> Result<Learner, Error> {
    let mut learner = beginning(store, queue, until, changed)?;
    fold(store, queue, &mut learner, until, each)?;
    Ok(learner)
}

/// The learner after the first entry, with the facts known at entry `until`.
pub(crate) fn beginning(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
    changed: Option<&crate::Config>,
) -> Result<Learner, Error> {
    let (history, mut config) = set_up(store, queue, until)?;
    let mut seated = history.clone();
    if let Some(changed) = changed {
        seated.change(until, &changed.evaluators);
        config = changed.clone();
    }
    let mut known =
        LaterFacts { until, history: Some(seated), config: Some(config), ..LaterFacts::default() };
    // These come in the order of the log, so that the last decision on an item remains.
    known.final_rewards.extend(store.revised(queue, until)?);
    for (seq, body) in store.bodies(queue, ["configure", "erase"], until)? {
        match StoredBody::from_text(&body)? {
            StoredBody::Erase { items } => known.erased.extend(items),
            // The rows of verdicts do not show decisions that a lower quorum made.
            StoredBody::Configure { decided, .. } => {
                for (i, item) in (0_u32..).zip(decided) {
                    if let Some(last) = known.final_rewards.get_mut(&item.n).filter(|(_, by)| by.seq < seq) {
                        *last = (item.reward, VerdictPosition { seq, i });
                    }
                }
            }
            _ => {}
        }
    }
    let first = store.events(queue, 0, 1, &history)?;
    let first = first.first().ok_or_else(|| corrupt("the queue's log has no `create` entry"))?;
    Learner::new(first, known)
}

/// Applies the log up to an entry, and stops early if a revision makes the learner stale. `each` is
/// called wherever a checkpoint is due.
pub(crate) fn fold(
    store: &mut dyn Store,
    queue: i64,
    learner: &mut Learner,
    until: u64,
    each: &mut dyn FnMut(&Learner) -> Result<(), Error>,
) -> Result<(), Error> {
    let (history, _) = set_up(store, queue, until)?;
    while learner.seq() < until && !learner.is_stale() {
        let events = store.events(queue, learner.seq(), until, &history)?;
        if events.is_empty() {
            return Err(corrupt(format!(
                "the log ends at entry {}, and should reach entry {until}",
                learner.seq()
            )));
        }
        for event in &events {
            if learner.apply(event)? {
                each(learner)?;
            }
        }
    }
    Ok(())
}

/// A checkpoint of a learner.
pub(crate) fn checkpoint_of(learner: &Learner) -> Checkpoint {
    let state = learner.to_bytes();
    let sha256 = Sha256::digest(&state).to_vec();
    Checkpoint { seq: learner.seq(), epoch: learner.epoch(), state, sha256 }
}

/// The learner in a checkpoint. Errors if the checkpoint's hash, version, entry or epoch is wrong.
pub(crate) fn opened(checkpoint: &Checkpoint) -> Result<Learner, Error> {
    if Sha256::digest(&checkpoint.state).as_slice() != checkpoint.sha256 {
        return Err(corrupt(format!(
            "the checkpoint at entry {} is damaged: run `jurybox server rebuild`",
            checkpoint.seq
        )));
    }
    let learner = Learner::from_bytes(&checkpoint.state)?;
    if (learner.seq(), learner.epoch()) != (checkpoint.seq, checkpoint.epoch) {
        return Err(corrupt(format!("the checkpoint at entry {} belongs to another entry", checkpoint.seq)));
    }
    Ok(learner)
}

impl LiveQueue {
    /// Prepares the state for loading: configuration and evaluators are the present ones.
    fn begin_loading(&mut self, config: crate::Config, history: crate::evaluator_history::EvaluatorHistory) {
        self.blocks = crate::live_queue::score_blocks::ScoreBlocks::new(config.evaluators.len());
        self.history = history;
        self.config = Arc::new(config);
    }
}
