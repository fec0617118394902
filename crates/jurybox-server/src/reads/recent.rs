//! The work of the last while: verdicts with their items, what waits, and what was learnt on the way. For pages that show it.

use crate::event::{AddedItem, VerdictSource};
use crate::rows::ItemRow;
use crate::service::Queue;
use crate::store::set_up;
use crate::{Error, Tags};
use serde::{Deserialize, Serialize};

/// A verdict that stands, with its item by those who sit now.
#[derive(Debug, Clone)]
pub struct RecentVerdict {
    /// When it came in, in microseconds since 1970.
    pub at: i64,
    /// When its item was claimed, where it was.
    pub claimed: Option<i64>,
    /// When its item came in.
    pub arrived: i64,
    /// The number of its item.
    pub n: u64,
    /// Whose it is.
    pub reviewer: String,
    /// Where it comes from.
    pub source: VerdictSource,
    /// A word for what was found.
    pub label: Option<String>,
    /// What it was worth.
    pub reward: f64,
    /// What its item is worth, where it decides that.
    pub decides: Option<f64>,
    /// Whether its pick was an audit.
    pub explored: bool,
    /// The chance with which its item was drawn on arrival, where it was: whoever took it then, and why.
    pub random_check: Option<f64>,
    /// Whether its reviewer had given a verdict on its item before, and may have seen what was thought of it since: one that they took back or
    /// revised, however they came to have the item again.
    pub seen: bool,
    /// The scores of its item, NaN where missing; none where it was erased.
    pub scores: Vec<f64>,
    /// The tags of its item.
    pub tags: Tags,
}

/// An item that a reviewer did not want.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedItem {
    /// When, in microseconds since 1970.
    pub at: i64,
    /// Who.
    pub reviewer: String,
    /// Why.
    pub reason: String,
}

/// A verdict of a reviewer's own.
#[derive(Debug, Clone)]
pub struct OwnVerdict {
    /// Its id.
    pub id: String,
    /// Its item, by its id.
    pub item: String,
    /// When it came in, in microseconds since 1970.
    pub at: i64,
    /// Until when it can be taken back.
    pub undo_until: i64,
    /// A word for what was found.
    pub label: Option<String>,
    /// What it was worth.
    pub reward: f64,
    /// What was said beside it.
    pub note: Option<String>,
}

/// What waits, and what is in hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Workload {
    /// When the queue was made, in microseconds since 1970.
    pub since: i64,
    /// When the oldest item came in that nobody has, in microseconds since 1970.
    pub oldest: Option<i64>,
    /// Items that are due before that time, or were.
    pub due: u64,
    /// Leases that end before that time.
    pub ending: u64,
}

/// What a verdict of the last while stands in, as a store reads it.
pub(crate) struct RecentVerdictRow {
    pub(crate) item: ItemRow,
    pub(crate) at: i64,
    pub(crate) claimed: Option<i64>,
    pub(crate) reviewer: String,
    pub(crate) source: VerdictSource,
    pub(crate) label: Option<String>,
    pub(crate) reward: f64,
    pub(crate) decides: Option<f64>,
    pub(crate) explored: bool,
    pub(crate) seen: bool,
}

impl Queue {
    /// The last verdicts that stand, so many at the most, oldest first, and as many items that reviewers did not want.
    pub fn recent_verdicts(&self, most: u64) -> Result<(Vec<RecentVerdict>, Vec<SkippedItem>), Error> {
        self.read_separately(|store, queue, head| {
            let (history, _) = set_up(store, queue, head.seq)?;
            let mut recent_verdicts = Vec::new();
            for row in store.recent_verdicts(queue, most)?.into_iter().rev() {
                let RecentVerdictRow { item, at, claimed, reviewer, source, label, reward, decides, explored, seen } = row;
                let arrived = item.arrived;
                let AddedItem { n, scores, tags, random_check, .. } = item.into_added(&history, head.seq + 1);
                recent_verdicts.push(RecentVerdict {
                    at,
                    claimed,
                    arrived,
                    n,
                    reviewer,
                    source,
                    label,
                    reward,
                    decides,
                    explored,
                    random_check,
                    seen,
                    scores,
                    tags,
                });
            }
            Ok((recent_verdicts, store.skipped(queue, most)?))
        })
    }

    /// When the last items came in, so many at the most, newest first, in microseconds since 1970.
    pub fn arrivals(&self, most: u64) -> Result<Vec<i64>, Error> {
        self.read_separately(|store, queue, _| store.last_arrivals(queue, most))
    }

    /// The last verdicts of a reviewer that stand, newest first; those that are very far back are not looked for.
    pub fn own_verdicts(&self, reviewer: &str, most: u64) -> Result<Vec<OwnVerdict>, Error> {
        const FAR: u64 = 20_000;
        self.read_separately(|store, queue, head| {
            store.own_verdicts(queue, reviewer, head.seq.saturating_sub(FAR), most)
        })
    }

    /// How many verdicts a reviewer has given since a time, in microseconds since 1970, that stand.
    pub fn own_verdicts_since(&self, reviewer: &str, since: i64) -> Result<u64, Error> {
        self.read_separately(|store, queue, head| {
            // Entries are in the order of their times: the last one before is found by halving.
            let (mut before, mut from) = (0, head.seq + 1);
            while from - before > 1 {
                let middle = before + (from - before) / 2;
                let at = store.at_of(queue, middle)?;
                if at.is_some_and(|at| at < since) { before = middle } else { from = middle }
            }
            store.count_own(queue, reviewer, before)
        })
    }

    /// What waits and what is in hand: items due before one time, leases that end before another, in microseconds since 1970.
    pub fn workload(&self, due_before: i64, ends_before: i64) -> Result<Workload, Error> {
        self.read(move |writer| writer.as_of_now(|live, _| live.workload(due_before, ends_before)))
    }
}
