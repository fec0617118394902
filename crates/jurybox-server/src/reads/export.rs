//! Export of a queue: all items with their verdicts, page by page.
//!
//! Each page is consistent in itself. A slow export of a large queue blocks neither the database
//! nor other users.

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

/// An item with everything known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedItem {
    /// The id of the item.
    pub id: String,
    /// When it arrived, in microseconds since 1970.
    pub arrived: i64,
    /// When it becomes due and goes before all others, in microseconds since 1970.
    pub due: Option<i64>,
    /// The probability with which it was chosen for a random check on arrival; None if it was not.
    pub random_check: Option<f64>,
    /// Whether it can no longer be claimed.
    pub closed: bool,
    /// Its scores, in the order of the present evaluators.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// Its payload, shown to reviewers, as JSON.
    pub payload: Option<String>,
    /// The reward that people decided; None if they have not, even if a rule has.
    pub reward: Option<f64>,
    /// The valid verdicts on it, in log order.
    pub verdicts: Vec<ExportedVerdict>,
    /// Who skipped it and why, in log order; erasing an item erases the reasons.
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
    /// The claim that it answers; None if the reviewer had not claimed the item.
    pub pick: Option<ExportedPick>,
    /// When it arrived, in microseconds since 1970.
    pub given: i64,
    /// When it was given according to the sender, in microseconds since 1970.
    pub observed: Option<i64>,
    /// Whether it determines the item's reward.
    pub decides: bool,
    /// Whether the reviewer judged the item before, in a verdict taken back or revised. Such a
    /// reviewer may have seen the item's value in between.
    #[serde(default)]
    pub seen: bool,
}

/// The claim that gave an item to a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExportedPick {
    /// The log entry of the claim, which is the token of its verdict.
    pub token: u64,
    /// When it was claimed, in microseconds since 1970.
    pub claimed: Option<i64>,
    /// The probability with which the item was to be picked.
    pub probability: f64,
    /// Whether it was picked at random, as a random check.
    pub explored: bool,
    /// The log entry up to which the ranking model had learnt; None if the item returned because a
    /// verdict was taken back.
    pub model: Option<u64>,
}

/// A page of items, in order of arrival.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportPage {
    /// The evaluators of the scores.
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
    /// The model that ranked its item; below, when the item was claimed.
    pub(crate) model: Option<u64>,
    pub(crate) claimed: Option<i64>,
    /// The note, if one was written.
    pub(crate) note: Option<String>,
    /// Whether the reviewer judged the item before.
    pub(crate) seen: bool,
}

/// An item with its id and payload.
pub(crate) struct ItemRecord {
    pub(crate) item: ItemRow,
    pub(crate) id: String,
    pub(crate) payload: Option<String>,
}

impl Queue {
    /// One page of the export: items numbered `after + 1` to `after + many`, with their verdicts.
    pub fn export_page(&self, after: u64, many: u64) -> Result<ExportPage, Error> {
        self.read_separately(|store, queue, head| page(store, queue, head, after, many))
    }

    /// The names of all tags that items have, in alphabetical order.
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

/// Items that a lowered quorum decided, with the entry and the reward. No verdict records that.
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
