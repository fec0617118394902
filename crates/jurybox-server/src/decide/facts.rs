//! What must be known of things that are not on the board: looked up once for all requests of a transaction.

use crate::Error;
use crate::live_queue::LiveQueue;
use crate::config::QueueMode;
use crate::event::{Body, LogEvent, VerdictSource, VerdictPosition};
use crate::request::{Call, NewVerdict, Request};
use crate::verdict_scale::UNSAID;
use crate::rows::{FoundItem, ItemRow, VerdictRow};
use crate::store::{Prefetch, Store};
use std::collections::{HashMap, HashSet};

/// What was looked up.
#[derive(Debug, Default)]
pub(crate) struct RequestFacts {
    items: HashMap<String, FoundItem>,
    verdicts: HashMap<String, VerdictRow>,
    /// The verdicts that stand on items that are closed.
    on_closed: HashMap<u64, Vec<VerdictRow>>,
    closed: HashMap<u64, ItemRow>,
    /// Those of them that were closed without a verdict.
    unseen: HashSet<u64>,
    /// Who does not want items whose verdict is to be taken back.
    skipped: HashMap<u64, Vec<String>>,
    /// What reviewers are shown of items that come again with something to show.
    shown: HashMap<u64, String>,
    /// What the last reviews were of items that may need no further one.
    last_review: HashMap<u64, (f64, bool)>,
    /// The labels of verdicts that stand, with the lowest and the highest reward of each: where the scale is to change.
    rewards: Vec<(Option<String>, f64, f64)>,
    /// The lowest and the highest reward of verdicts that stand, where one lies beyond what rewards lie within otherwise.
    seen_rewards: Option<(f64, f64)>,
    /// Probabilities of picks whose lease has run out, by the token and the reviewer.
    claimed: HashMap<(u64, u64, String), (f64, bool)>,
}

/// The ids of items and of verdicts that calls speak of; not those of items that are taken for new.
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

/// What these calls will look for.
pub(crate) fn prefetch(calls: &[Call], all_new: bool) -> Prefetch {
    let (items, verdicts) = named(calls.iter(), all_new);
    let answers = calls.iter().filter_map(|call| call.idempotency.clone()).collect();
    Prefetch { items, verdicts, answers }
}

impl RequestFacts {
    /// Looks up what these calls speak of; not items that are taken for new, where an id that is there could not be written again.
    pub(crate) fn of<'a>(
        calls: impl Iterator<Item = &'a Call> + Clone,
        all_new: bool,
        live: &LiveQueue,
        store: &mut dyn Store,
        queue: i64,
    ) -> Result<Self, Error> {
        // A queue that takes no new items writes none: what is there must be known.
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
        // What is held now may be given back before its verdict comes, by an earlier call of the same transaction.
        let gives_back = |call: &Call| matches!(call.request, Request::Release { .. } | Request::Skip { .. });
        let gives_back = calls.clone().any(gives_back);
        for call in calls {
            facts.look_closer(call, gives_back, live, store, queue)?;
        }
        Ok(facts)
    }

    fn look_closer(
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
                                .work(found.n)
                                .and_then(|work| work.lease_of(&verdict.reviewer))
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
                if change
                    .reward
                    .as_ref()
                    .is_some_and(|scale| scale.is_some() && *scale != live.config.reward)
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

    /// What reviewers are shown of an item.
    pub(crate) fn shown(&self, n: u64) -> Option<&str> {
        self.shown.get(&n).map(String::as_str)
    }

    /// What an earlier request of the same transaction has given reviewers to see.
    pub(crate) fn note_payloads(&mut self, payloads: &[(u64, String, Option<i64>)]) {
        self.shown.extend(payloads.iter().map(|(n, payload, _)| (*n, payload.clone())));
    }

    pub(crate) fn verdict(&self, id: &str) -> Option<&VerdictRow> {
        self.verdicts.get(id)
    }

    /// An item that is closed, or was when this was looked up.
    pub(crate) fn closed(&self, n: u64) -> Option<&ItemRow> {
        self.closed.get(&n)
    }

    /// Whether an item was closed without a verdict.
    pub(crate) fn was_closed_unseen(&self, n: u64) -> bool {
        self.unseen.contains(&n)
    }

    pub(crate) fn standing(&self, n: u64) -> &[VerdictRow] {
        self.on_closed.get(&n).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn skipped(&self, n: u64) -> &[String] {
        self.skipped.get(&n).map_or(&[], Vec::as_slice)
    }

    /// The probability of a reviewer's pick whose lease has run out, if it was that.
    pub(crate) fn claimed(&self, token: u64, n: u64, reviewer: &str) -> Option<(f64, bool)> {
        self.claimed.get(&(token, n, reviewer.into())).copied()
    }

    /// The probability of the pick that the last verdict on an open item was on, and whether that was an audit.
    pub(crate) fn last_review(&self, n: u64) -> (f64, bool) {
        self.last_review.get(&n).copied().unwrap_or((1.0, false))
    }

    /// The labels of verdicts that stand, with the lowest and the highest reward of each.
    pub(crate) fn rewards(&self) -> &[(Option<String>, f64, f64)] {
        &self.rewards
    }

    /// The lowest and the highest reward that the queue has taken, where that was looked up.
    pub(crate) fn seen_rewards(&self) -> Option<(f64, f64)> {
        self.seen_rewards
    }

    /// What an earlier request of the same transaction has changed.
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
                    let standing = self.on_closed.entry(given.n).or_default();
                    if let Some(old) = given.supersedes {
                        standing.retain(|other| other.which != old);
                        for other in self.verdicts.values_mut().filter(|other| other.which == old) {
                            other.superseded_by = Some(event.seq);
                        }
                    }
                    standing.push(row.clone());
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
                if let Some(standing) = self.on_closed.get_mut(&item.n) {
                    standing.retain(|other| other.which != *verdict);
                }
                // Its id is free again.
                self.verdicts.retain(|_, other| other.which != *verdict);
            }
            Body::Erase { items } => self.items.retain(|_, found| !items.contains(&found.n)),
            _ => {}
        }
    }
}
