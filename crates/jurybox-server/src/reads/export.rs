//! Export of a queue: all items that were not erased, with their verdicts, page by page.
//!
//! Each page is read from one snapshot, but later pages from later ones. So a slow export of a
//! large queue blocks neither the database nor other users.

use crate::error::corrupt;
use crate::event::VerdictSource;
use crate::reads::SkippedItem;
use crate::rows::{ItemRow, VerdictRow};
use crate::service::Queue;
use crate::store::{LogHead, Store, set_up};
use crate::stored_body::StoredBody;
use crate::{Error, Tags};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// An item with its verdicts and skips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedItem {
    /// The id of the item.
    pub id: String,
    /// When it arrived, in microseconds since 1970.
    pub arrived: i64,
    /// From when it is picked before items that are not due, in microseconds since 1970.
    pub due: Option<i64>,
    /// The probability with which it was chosen for a random check on arrival; None if it was not.
    pub random_check: Option<f64>,
    /// Whether it is closed, so that it can no longer be claimed.
    pub closed: bool,
    /// Its scores, in the order of the present evaluators.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// Its payload, shown to reviewers, as JSON.
    pub payload: Option<String>,
    /// The reward that people decided; None if they have not, even if a rule has decided.
    pub reward: Option<f64>,
    /// The valid verdicts on it, in log order.
    pub verdicts: Vec<ExportedVerdict>,
    /// Who skipped it and why, in log order. Erasing the item would erase the reasons.
    #[serde(default)]
    pub skips: Vec<SkippedItem>,
}

/// A valid verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedVerdict {
    /// The id of the verdict.
    pub id: String,
    /// The reviewer.
    pub reviewer: String,
    /// Where the verdict comes from.
    pub source: VerdictSource,
    /// The reward.
    pub reward: f64,
    /// The label, if one was given.
    pub label: Option<String>,
    /// The note, if one was written.
    #[serde(default)]
    pub note: Option<String>,
    /// The claim that it answers, if any.
    pub pick: Option<ExportedPick>,
    /// When it arrived, in microseconds since 1970.
    pub given: i64,
    /// When it was given according to its sender, in microseconds since 1970.
    pub observed: Option<i64>,
    /// Whether it determines the item's reward.
    pub decides: bool,
    /// Whether it replaces an earlier verdict, or its reviewer had given one that was taken back or
    /// revised. Such a reviewer may have seen the item's value before.
    #[serde(default)]
    pub seen: bool,
}

/// The claim or the undo that gave an item to a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExportedPick {
    /// Its log entry, which a verdict on the item names as its token.
    pub token: u64,
    /// When it was claimed, in microseconds since 1970.
    pub claimed: Option<i64>,
    /// The probability with which the item was to be picked.
    pub probability: f64,
    /// Whether it was picked at random, as a random check.
    pub explored: bool,
    /// The log entry up to which the ranking model had learnt; None if an undo gave the item back
    /// to the reviewer.
    pub model: Option<u64>,
}

/// A page of items, in order of arrival.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportPage {
    /// The names of the present evaluators, in the order of the scores.
    pub evaluators: Vec<String>,
    /// The items; erased ones are left out.
    pub items: Vec<ExportedItem>,
    /// The item number after which the next page begins; None at the end.
    pub next: Option<u64>,
}

/// A verdict with related facts of the log.
pub(crate) struct VerdictRecord {
    pub(crate) verdict: VerdictRow,
    /// When it arrived.
    pub(crate) given: i64,
    /// The log entry up to which the ranking model had learnt; None unless a claim gave the item.
    pub(crate) model: Option<u64>,
    /// When its item was claimed.
    pub(crate) claimed: Option<i64>,
    /// The note, if one was written.
    pub(crate) note: Option<String>,
    /// Whether the reviewer may have seen the item's value, as in [`ExportedVerdict::seen`].
    pub(crate) seen: bool,
}

/// An item with its id and payload.
pub(crate) struct ItemRecord {
    pub(crate) item: ItemRow,
    pub(crate) id: String,
    pub(crate) payload: Option<String>,
}

impl Queue {
    /// One page of the export: the items numbered `after + 1` to `after + many`.
    pub fn export_page(&self, after: u64, many: u64) -> Result<ExportPage, Error> {
        self.read_separately(|store, queue, head| page(store, queue, head, after, many))
    }

    /// The names of all tags of items that were not erased, in alphabetical order.
    pub fn tag_names(&self) -> Result<Vec<String>, Error> {
        self.read_separately(|store, queue, _| tag_names(store, queue))
    }
}

pub(crate) fn tag_names(store: &mut dyn Store, queue: i64) -> Result<Vec<String>, Error> {
    let mut names = BTreeSet::new();
    store.tag_sets(queue, &mut |tags| {
        names.extend(tags.into_keys());
        Ok(())
    })?;
    Ok(names.into_iter().collect())
}

pub(crate) fn page(
    store: &mut dyn Store,
    queue: i64,
    head: LogHead,
    after: u64,
    many: u64,
) -> Result<ExportPage, Error> {
    let (history, config) = set_up(store, queue, head.seq)?;
    let (all, _) = store.totals(queue)?;
    let last = after.saturating_add(many).min(all);
    let mut told: HashMap<u64, Vec<VerdictRecord>> = HashMap::new();
    for one in store.told_of(queue, after, last)? {
        told.entry(one.verdict.n).or_default().push(one);
    }
    let mut skips: HashMap<u64, Vec<SkippedItem>> = HashMap::new();
    for (n, skip) in store.skipped_of(queue, after, last)? {
        skips.entry(n).or_default().push(skip);
    }
    let enough = decided_by_quorum(store, queue, head.seq)?;
    let mut items = Vec::new();
    for ItemRecord { item, id, payload } in store.kept(queue, after, last)? {
        let (n, arrived, closed) = (item.n, item.arrived, item.closed);
        let enough = enough.get(&n).filter(|(seq, _)| closed == Some(*seq)).map(|(_, worth)| *worth);
        let item = item.into_added(&history, head.seq + 1);
        let verdicts = told.remove(&n).unwrap_or_default();
        let decides = |told: &VerdictRecord| {
            told.verdict.decides.filter(|_| told.verdict.source != VerdictSource::Automatic)
        };
        let last_word = verdicts.iter().rposition(|told| decides(told).is_some());
        let reward = last_word.and_then(|at| decides(&verdicts[at])).or(enough);
        let verdicts =
            verdicts.into_iter().enumerate().map(|(at, told)| told.exported(last_word == Some(at)));
        items.push(ExportedItem {
            id,
            arrived,
            due: item.due,
            random_check: item.random_check,
            closed: closed.is_some(),
            scores: item.scores.iter().map(|score| (!score.is_nan()).then_some(*score)).collect(),
            tags: item.tags,
            payload,
            reward,
            verdicts: verdicts.collect(),
            skips: skips.remove(&n).unwrap_or_default(),
        });
    }
    let evaluators = config.evaluators.names().map(String::from).collect();
    Ok(ExportPage { evaluators, items, next: (last < all).then_some(last) })
}

/// Items that a lowered quorum decided, with the entry and the reward. No verdict records them.
fn decided_by_quorum(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
) -> Result<HashMap<u64, (u64, f64)>, Error> {
    let mut all = HashMap::new();
    for (seq, body) in store.bodies(queue, ["configure", "configure"], until)? {
        let StoredBody::Configure { decided, .. } = StoredBody::from_text(&body)? else {
            return Err(corrupt(format!("entry {seq} is not a configuration")));
        };
        all.extend(decided.into_iter().map(|item| (item.n, (seq, item.reward))));
    }
    Ok(all)
}

impl VerdictRecord {
    fn exported(self, decides: bool) -> ExportedVerdict {
        let VerdictRecord { verdict, given, model, claimed, note, seen } = self;
        let (probability, explored) = (verdict.probability, verdict.explored);
        ExportedVerdict {
            id: verdict.id,
            reviewer: verdict.reviewer,
            source: verdict.source,
            reward: verdict.reward,
            label: verdict.label,
            note,
            pick: verdict.claim.map(|token| ExportedPick { token, claimed, probability, explored, model }),
            given,
            observed: verdict.observed_at,
            decides,
            seen,
        }
    }
}
