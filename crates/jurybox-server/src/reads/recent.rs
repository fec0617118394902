//! Recent work of a queue, as its pages show it: verdicts, skips, arrivals, and waiting items.

use crate::event::{AddedItem, VerdictSource};
use crate::rows::ItemRow;
use crate::service::Queue;
use crate::store::set_up;
use crate::{Error, Tags};
use serde::{Deserialize, Serialize};

/// A valid verdict with its item.
#[derive(Debug, Clone)]
pub struct RecentVerdict {
    /// When it arrived, in microseconds since 1970.
    pub at: i64,
    /// When its item was claimed, in microseconds since 1970, if it was.
    pub claimed: Option<i64>,
    /// When its item arrived, in microseconds since 1970.
    pub arrived: i64,
    /// The number of its item.
    pub n: u64,
    /// The reviewer.
    pub reviewer: String,
    /// Where the verdict comes from.
    pub source: VerdictSource,
    /// The label, if one was given.
    pub label: Option<String>,
    /// The reward.
    pub reward: f64,
    /// The item's final reward, if this verdict decides it.
    pub decides: Option<f64>,
    /// Whether its claim picked the item at random, as a random check.
    pub explored: bool,
    /// The probability with which its item was chosen for a random check on arrival; None if it was
    /// not.
    pub random_check: Option<f64>,
    /// Whether it replaces an earlier verdict, or its reviewer had given one that was taken back or
    /// revised.
    pub seen: bool,
    /// The scores of its item by the present evaluators, NaN if missing; empty if the item was
    /// erased.
    pub scores: Vec<f64>,
    /// The tags of its item.
    pub tags: Tags,
}

/// A skip of an item by a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedItem {
    /// The time, in microseconds since 1970.
    pub at: i64,
    /// The reviewer.
    pub reviewer: String,
    /// The reason.
    pub reason: String,
}

/// A verdict in a reviewer's own list.
#[derive(Debug, Clone)]
pub struct OwnVerdict {
    /// The id of the verdict.
    pub id: String,
    /// The id of its item.
    pub item: String,
    /// When it arrived, in microseconds since 1970.
    pub at: i64,
    /// Until when it can be taken back, in microseconds since 1970.
    pub undo_until: i64,
    /// The label, if one was given.
    pub label: Option<String>,
    /// The reward.
    pub reward: f64,
    /// The note, if one was written.
    pub note: Option<String>,
}

/// Counts of due items and of leases, and the age of the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Workload {
    /// When the queue was created, in microseconds since 1970.
    pub since: i64,
    /// The arrival of the oldest item that nobody holds, in microseconds since 1970.
    pub oldest: Option<i64>,
    /// Open items that become due before the given time.
    pub due: u64,
    /// Leases that end before the given time.
    pub ending: u64,
}

/// A recent verdict with its item, as a store reads it.
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
    /// The last valid verdicts, at most `most`, oldest first; and the last skips, at most `most`,
    /// newest first.
    pub fn recent_verdicts(&self, most: u64) -> Result<(Vec<RecentVerdict>, Vec<SkippedItem>), Error> {
        self.read_separately(|store, queue, head| {
            let (history, _) = set_up(store, queue, head.seq)?;
            let mut recent_verdicts = Vec::new();
            for row in store.recent_verdicts(queue, most)?.into_iter().rev() {
                let RecentVerdictRow {
                    item,
                    at,
                    claimed,
                    reviewer,
                    source,
                    label,
                    reward,
                    decides,
                    explored,
                    seen,
                } = row;
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

    /// The arrival times of the last items, at most `most`, newest first, in microseconds
    /// since 1970.
    pub fn arrivals(&self, most: u64) -> Result<Vec<i64>, Error> {
        self.read_separately(|store, queue, _| store.last_arrivals(queue, most))
    }

    /// The last valid verdicts of a reviewer, at most `most`, newest first, among the last 20,000
    /// log entries.
    pub fn own_verdicts(&self, reviewer: &str, most: u64) -> Result<Vec<OwnVerdict>, Error> {
        const FAR: u64 = 20_000;
        self.read_separately(|store, queue, head| {
            store.own_verdicts(queue, reviewer, head.seq.saturating_sub(FAR), most)
        })
    }

    /// The number of valid verdicts that a reviewer gave since a time, in microseconds since 1970.
    pub fn own_verdicts_since(&self, reviewer: &str, since: i64) -> Result<u64, Error> {
        self.read_separately(|store, queue, head| {
            // Bisection for the last entry before `since`: times increase along the log, unless
            // somebody set the clock back.
            let (mut before, mut from) = (0, head.seq + 1);
            while from - before > 1 {
                let middle = before + (from - before) / 2;
                let at = store.at_of(queue, middle)?;
                if at.is_some_and(|at| at < since) { before = middle } else { from = middle }
            }
            store.count_own(queue, reviewer, before)
        })
    }

    /// The workload: counts items due before `due_before`, and leases that end before
    /// `ends_before`, both in microseconds since 1970.
    pub fn workload(&self, due_before: i64, ends_before: i64) -> Result<Workload, Error> {
        self.read(move |writer| writer.as_of_now(|live, _| live.workload(due_before, ends_before)))
    }
}
