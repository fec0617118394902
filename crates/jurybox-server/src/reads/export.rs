//! Everything that a queue has, to be taken elsewhere: its items one by one, each with what was said of it.
//!
//! It is read in pages, each as it is at one moment: whoever reads a large queue slowly holds up neither the database nor others.

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

/// An item with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedItem {
    /// The item's id.
    pub id: String,
    /// When it came in, in microseconds since 1970.
    pub arrived: i64,
    /// From when on it goes before all others.
    pub due: Option<i64>,
    /// The probability with which it was drawn on arrival, to be looked at whatever its scores; none where it was not.
    pub random_check: Option<f64>,
    /// Whether nobody will be given it any more.
    pub closed: bool,
    /// Its scores by the present evaluators.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// What reviewers are shown, as JSON.
    pub payload: Option<String>,
    /// What people have decided that it is worth; none where they have not, though a rule may have.
    pub reward: Option<f64>,
    /// The verdicts that stand on it, in the order in which they came.
    pub verdicts: Vec<ExportedVerdict>,
    /// Who did not want it, and why, in the order in which that was said; reasons of an erased item are erased too.
    #[serde(default)]
    pub skips: Vec<SkippedItem>,
}

/// A verdict that stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedVerdict {
    /// Its id.
    pub id: String,
    /// Who gave it.
    pub reviewer: String,
    /// Where it comes from.
    pub source: VerdictSource,
    /// What it says the item is worth.
    pub reward: f64,
    /// A word for what was found.
    pub label: Option<String>,
    /// What was said beside it.
    #[serde(default)]
    pub note: Option<String>,
    /// The pick that it answers; none where the reviewer had not been given the item.
    pub pick: Option<ExportedPick>,
    /// When it came in, in microseconds since 1970.
    pub given: i64,
    /// When it was given, as whoever sent it says.
    pub observed: Option<i64>,
    /// Whether it decided what the item is worth.
    pub decides: bool,
    /// Whether its reviewer had given a verdict on the item before, and may have seen what was thought of it since: one that they took back
    /// or revised, however they came to have the item again.
    #[serde(default)]
    pub seen: bool,
}

/// How a reviewer came to have an item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExportedPick {
    /// The claim's entry in the log, which its verdict came with as its token.
    pub token: u64,
    /// When it was claimed.
    pub claimed: Option<i64>,
    /// The probability with which it was to be looked at.
    pub probability: f64,
    /// Whether it was an audit.
    pub explored: bool,
    /// The entry up to which the model had learnt that ranked it; none where the item came back by a verdict taken back.
    pub model: Option<u64>,
}

/// Some items, in the order in which they came.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportPage {
    /// The evaluators whose scores they are.
    pub evaluators: Vec<String>,
    /// The items; those that were erased are left out.
    pub items: Vec<ExportedItem>,
    /// The number to go on after; none where there are no more.
    pub next: Option<u64>,
}

/// A verdict with what the log says of it.
pub(crate) struct VerdictRecord {
    pub(crate) verdict: VerdictRow,
    /// When it came in.
    pub(crate) given: i64,
    /// By which model it was ranked, and when it was claimed.
    pub(crate) model: Option<u64>,
    pub(crate) claimed: Option<i64>,
    /// What was said beside it.
    pub(crate) note: Option<String>,
    /// Whether its reviewer had judged the item before.
    pub(crate) seen: bool,
}

/// An item with its id and what reviewers are shown.
pub(crate) struct ItemRecord {
    pub(crate) item: ItemRow,
    pub(crate) id: String,
    pub(crate) payload: Option<String>,
}

impl Queue {
    /// Items with all that was said of them, after the one of that number, so many numbers further.
    pub fn export_page(&self, after: u64, many: u64) -> Result<ExportPage, Error> {
        self.read_separately(|store, queue, head| page(store, queue, head, after, many))
    }

    /// The names of all tags that items have.
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
        let decides = |told: &VerdictRecord| told.verdict.decides.filter(|_| told.verdict.source != VerdictSource::Automatic);
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

/// Items that a lower quorum decided, with the entry and what they are worth: no verdict says so.
fn decided_by_quorum(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
) -> Result<HashMap<u64, (u64, f64)>, Error> {
    let mut all = HashMap::new();
    for (seq, body) in store.bodies(queue, ["configure", "configure"], until)? {
        let StoredBody::Configure { decided, .. } = StoredBody::from_text(&body)? else {
            return Err(corrupt(format!("entry {seq} is no setting up")));
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
