//! Rows that deciding needs besides the live queue, looked up once for all calls of a transaction.

use crate::Error;
use crate::config::QueueMode;
use crate::event::{Body, LogEvent, VerdictPosition, VerdictSource};
use crate::live_queue::LiveQueue;
use crate::request::{Call, NewVerdict, Request};
use crate::rows::{FoundItem, ItemRow, VerdictRow};
use crate::store::{Prefetch, Store};
use crate::verdict_scale::UNSAID;
use std::collections::{HashMap, HashSet};

/// The rows looked up, kept up to date as the calls of the transaction are decided one by one.
#[derive(Debug, Default)]
pub(crate) struct RequestFacts {
    items: HashMap<String, FoundItem>,
    verdicts: HashMap<String, VerdictRow>,
    /// The standing verdicts on the items in `closed`, and on items judged in this transaction.
    on_closed: HashMap<u64, Vec<VerdictRow>>,
    /// Items with their rows, if they are closed or one of their verdicts is to be undone.
    closed: HashMap<u64, ItemRow>,
    /// Items that a `close` request closed, with too few verdicts or none.
    unseen: HashSet<u64>,
    /// Reviewers who skipped an item whose verdict is to be undone.
    skipped: HashMap<u64, Vec<String>>,
    /// The present payloads of items that are sent again with a payload.
    shown: HashMap<u64, String>,
    /// For open items that a lower quorum decides: the probability of the last verdict's pick, and
    /// whether it was a random check.
    last_review: HashMap<u64, (f64, bool)>,
    /// The labels of standing verdicts with the lowest and highest reward of each, if the reward
    /// scale is to change.
    rewards: Vec<(Option<String>, f64, f64)>,
    /// The lowest and highest reward of the queue's verdicts, 0 and 1 included. Looked up if a
    /// reward outside the known range came.
    seen_rewards: Option<(f64, f64)>,
    /// By token, item and reviewer: the probability of a pick, and whether it was a random check.
    /// Only picks whose lease has ended, or may end within the transaction.
    claimed: HashMap<(u64, u64, String), (f64, bool)>,
}

/// The ids of items and of verdicts that calls mention, without the items of `Items` requests if
/// these are assumed to be new.
fn named<'a>(calls: impl Iterator<Item = &'a Call>, all_new: bool) -> (Vec<String>, Vec<String>) {
    let (mut keys, mut ids) = (HashSet::new(), HashSet::new());
    for call in calls {
        match &call.request {
            Request::Items(_) if all_new => {}
            Request::Items(items) => keys.extend(items.iter().map(|item| item.id.clone())),
            Request::Extend { items, .. } | Request::Release { items, .. } | Request::Erase { items } => {
                keys.extend(items.iter().cloned());
            }
            Request::Skip { item, .. } => {
                keys.insert(item.clone());
            }
            Request::Verdicts(verdicts) => {
                keys.extend(verdicts.iter().map(|verdict| verdict.item.clone()));
                ids.extend(verdicts.iter().map(|verdict| verdict.id.clone()));
                ids.extend(verdicts.iter().filter_map(|verdict| verdict.revises.clone()));
            }
            Request::Undo { verdict, .. } => {
                ids.insert(verdict.clone());
            }
            Request::Claim { .. } | Request::Configure(_) | Request::Close { .. } | Request::Clock => {}
        }
    }
    (keys.into_iter().collect(), ids.into_iter().collect())
}

/// The keys that a store may look up while it begins the transaction of these calls.
pub(crate) fn prefetch(calls: &[Call], all_new: bool) -> Prefetch {
    let (items, verdicts) = named(calls.iter(), all_new);
    let answers = calls.iter().filter_map(|call| call.idempotency.clone()).collect();
    Prefetch { items, verdicts, answers }
}

impl RequestFacts {
    /// Looks up what these calls mention. With `all_new`, the ids of sent items are not looked up:
    /// the database refuses an existing one on insert.
    pub(crate) fn of<'a>(
        calls: impl Iterator<Item = &'a Call> + Clone,
        all_new: bool,
        live: &LiveQueue,
        store: &mut dyn Store,
        queue: i64,
    ) -> Result<Self, Error> {
        // A draining queue adds no items, so the insert would not find existing ones; and a call
        // may change the queue's mode.
        let configures = |call: &Call| matches!(call.request, Request::Configure(_));
        let all_new = all_new && live.config.mode != QueueMode::Draining && !calls.clone().any(configures);
        let (keys, ids) = named(calls.clone(), all_new);
        let mut facts = RequestFacts::default();
        if !keys.is_empty() {
            facts.items = store.find(queue, &keys)?.into_iter().collect();
        }
        if !ids.is_empty() {
            let found = store.verdicts(queue, &ids)?;
            facts.verdicts = found.into_iter().map(|row| (row.id.clone(), row)).collect();
        }
        // An earlier call of the same transaction may end the lease before the verdict is decided.
        let gives_back = |call: &Call| matches!(call.request, Request::Release { .. } | Request::Skip { .. });
        let gives_back = calls.clone().any(gives_back);
        for call in calls {
            facts.look_up_call(call, gives_back, live, store, queue)?;
        }
        Ok(facts)
    }

    fn look_up_call(
        &mut self,
        call: &Call,
        gives_back: bool,
        live: &LiveQueue,
        store: &mut dyn Store,
        queue: i64,
    ) -> Result<(), Error> {
        let mut closed = Vec::new();
        match &call.request {
            Request::Items(items) => {
                let again = items.iter().filter(|item| item.payload.is_some());
                let again: Vec<u64> =
                    again.filter_map(|item| self.items.get(&item.id)).map(|found| found.n).collect();
                if !again.is_empty() {
                    let shown = store.shown(queue, &again)?;
                    self.shown.extend(shown.into_iter().filter_map(|(n, _, payload)| Some((n, payload?))));
                }
            }
            Request::Verdicts(verdicts) => {
                let is_new = |verdict: &NewVerdict| !verdict.by_label && !live.has_seen(verdict.reward);
                if live.seen_rewards.is_none()
                    && self.seen_rewards.is_none()
                    && live.config.reward.is_none()
                    && verdicts.iter().any(is_new)
                {
                    let seen = store.rewards(queue)?.into_iter();
                    let all = |(low, high): (f64, f64), (_, lowest, highest): (_, f64, f64)| {
                        (low.min(lowest), high.max(highest))
                    };
                    self.seen_rewards = Some(seen.fold(UNSAID, all));
                }
                for verdict in verdicts {
                    let Some(found) = self.items.get(&verdict.item) else { continue };
                    if !live.is_open(found.n) {
                        closed.push(found.n);
                    } else if let Some(token) = verdict.token
                        && (gives_back
                            || live
                                .reviews(found.n)
                                .and_then(|reviews| reviews.lease_of(&verdict.reviewer))
                                .is_none_or(|lease| lease.claim != token))
                        && let Some(pick) = store.claimed(queue, token, found.n, &verdict.reviewer)?
                    {
                        self.claimed.insert((token, found.n, verdict.reviewer.clone()), pick);
                    }
                }
            }
            Request::Undo { verdict, .. } => {
                if let Some(row) = self.verdicts.get(verdict) {
                    closed.push(row.n);
                    self.skipped.insert(row.n, store.skips_on(queue, row.n)?);
                }
            }
            Request::Configure(change) => {
                if change.reward.as_ref().is_some_and(|scale| scale.is_some() && *scale != live.config.reward)
                {
                    self.rewards = store.rewards(queue)?;
                }
                for (n, _) in live.enough(change.quorum.unwrap_or(live.config.quorum)) {
                    if let Some(last) = store.verdicts_on(queue, n)?.last() {
                        self.last_review.insert(n, (last.probability, last.explored));
                    }
                }
            }
            _ => {}
        }
        for n in closed {
            if !self.closed.contains_key(&n)
                && let Some(row) = store.item(queue, n)?
            {
                if let Some(closed) = row.closed
                    && store.kind_of(queue, closed)?.as_deref() == Some("close")
                {
                    self.unseen.insert(n);
                }
                self.closed.insert(n, row);
                self.on_closed.insert(n, store.verdicts_on(queue, n)?);
            }
        }
        Ok(())
    }

    pub(crate) fn item(&self, key: &str) -> Option<&FoundItem> {
        self.items.get(key)
    }

    /// The present payload of an item, as JSON.
    pub(crate) fn shown(&self, n: u64) -> Option<&str> {
        self.shown.get(&n).map(String::as_str)
    }

    /// Notes payloads that earlier calls of the same transaction wrote.
    pub(crate) fn note_payloads(&mut self, payloads: &[(u64, String, Option<i64>)]) {
        self.shown.extend(payloads.iter().map(|(n, payload, _)| (*n, payload.clone())));
    }

    pub(crate) fn verdict(&self, id: &str) -> Option<&VerdictRow> {
        self.verdicts.get(id)
    }

    /// The row of a mentioned item that is closed, or whose verdict is to be undone.
    pub(crate) fn closed(&self, n: u64) -> Option<&ItemRow> {
        self.closed.get(&n)
    }

    /// Whether a `close` request closed the item, and not a verdict.
    pub(crate) fn was_closed_unseen(&self, n: u64) -> bool {
        self.unseen.contains(&n)
    }

    pub(crate) fn standing_verdicts(&self, n: u64) -> &[VerdictRow] {
        self.on_closed.get(&n).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn skipped(&self, n: u64) -> &[String] {
        self.skipped.get(&n).map_or(&[], Vec::as_slice)
    }

    /// The probability of a reviewer's pick by token, and whether it was a random check. None if
    /// there is no such pick, or if it was not looked up because its lease goes on.
    pub(crate) fn claimed(&self, token: u64, n: u64, reviewer: &str) -> Option<(f64, bool)> {
        self.claimed.get(&(token, n, reviewer.into())).copied()
    }

    /// The probability of the pick behind the last verdict on an open item, and whether it was a
    /// random check. If that was not looked up, 1 and false.
    pub(crate) fn last_review(&self, n: u64) -> (f64, bool) {
        self.last_review.get(&n).copied().unwrap_or((1.0, false))
    }

    /// The labels of standing verdicts with the lowest and highest reward of each.
    pub(crate) fn rewards(&self) -> &[(Option<String>, f64, f64)] {
        &self.rewards
    }

    /// The lowest and highest reward of the queue's verdicts, 0 and 1 included, if they were looked
    /// up.
    pub(crate) fn seen_rewards(&self) -> Option<(f64, f64)> {
        self.seen_rewards
    }

    /// Notes what an earlier call of the same transaction changed.
    pub(crate) fn note(&mut self, event: &LogEvent, keys: &[String], stands_from: i64, live: &LiveQueue) {
        match &event.body {
            Body::Items { added, .. } => {
                for (item, key) in added.iter().zip(keys) {
                    self.items.insert(key.clone(), FoundItem { n: item.n });
                }
            }
            Body::Verdicts { given } => {
                for (i, given) in given.iter().enumerate() {
                    let which = VerdictPosition { seq: event.seq, i: i as u32 };
                    let row = VerdictRow::of(given, which, stands_from);
                    let standing_verdicts = self.on_closed.entry(given.n).or_default();
                    if let Some(old) = given.supersedes {
                        standing_verdicts.retain(|other| other.which != old);
                        for other in self.verdicts.values_mut().filter(|other| other.which == old) {
                            other.superseded_by = Some(event.seq);
                        }
                    }
                    standing_verdicts.push(row.clone());
                    self.verdicts.insert(given.id.clone(), row);
                    if !live.is_open(given.n) && given.source != VerdictSource::Appeal {
                        let row = ItemRow {
                            n: given.n,
                            arrived: given.arrived,
                            seq: event.seq,
                            scores: given.scores.clone(),
                            closed: Some(event.seq),
                            ..self.closed.remove(&given.n).unwrap_or_default()
                        };
                        self.closed.insert(given.n, row);
                    }
                }
            }
            Body::Undo { verdict, item, .. } => {
                self.closed.remove(&item.n);
                if let Some(standing_verdicts) = self.on_closed.get_mut(&item.n) {
                    standing_verdicts.retain(|other| other.which != *verdict);
                }
                // The id can be used again.
                self.verdicts.retain(|_, other| other.which != *verdict);
            }
            Body::Erase { items } => self.items.retain(|_, found| !items.contains(&found.n)),
            _ => {}
        }
    }
}
