//! Compares the tables with the state after the whole log was replayed.

use super::{LogReplay, Violation};
use crate::store::schema::RULES;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A valid verdict during the replay.
pub(super) struct ReplayedVerdict {
    pub(super) which: (u64, u64),
    pub(super) slot: i64,
    pub(super) reviewer: String,
    pub(super) reward: f64,
    /// Whether it decided the item.
    pub(super) decided: bool,
}

/// An item's verdicts and closing entry, according to the log.
#[derive(Default)]
pub(super) struct ClosedItem {
    /// The entry that closed it.
    pub(super) by: Option<u64>,
    /// Valid verdicts, in log order.
    pub(super) standing: Vec<ReplayedVerdict>,
    /// Verdicts that were replaced or taken back, with the entry that did so.
    pub(super) replaced: HashMap<(u64, u64), u64>,
}

impl LogReplay<'_> {
    pub(super) fn compare_tables(&mut self) {
        let last = self.records.log.last().map_or(0, |entry| entry.at);
        if self.records.at != last {
            self.found.tell("the time in the queue's row differs from that of the last entry".into());
        }
        self.compare_items();
        self.compare_leases(last);
        self.compare_verdicts();
        let by_row: BTreeSet<(u64, u64, String, String)> = self.records.skips.iter().cloned().collect();
        let apart = by_row.symmetric_difference(&self.skips).count() as u64;
        if apart > 0 {
            self.found.lost += apart;
            self.found.tell(format!("{apart} skips are in only one of log and table"));
        }
    }

    /// Checks that items, late scores, picks and verdicts belong to entries of the right kind, and
    /// checkpoints to existing entries.
    pub(super) fn compare_owners(&mut self) {
        let records = self.records;
        let of_kind = |seq: u64, kind: &str| {
            let entry = (seq as usize).checked_sub(1).and_then(|at| records.log.get(at));
            entry.is_some_and(|entry| entry.kind == kind)
        };
        let strangers = [
            ("items", records.items.iter().filter(|item| !of_kind(item.seq, "items")).count()),
            ("late scores", records.late.keys().filter(|seq| !of_kind(**seq, "items")).count()),
            ("picks", records.picks.keys().filter(|seq| !of_kind(**seq, "claim")).count()),
            ("verdicts", records.verdicts.keys().filter(|seq| !of_kind(**seq, "verdicts")).count()),
            (
                "checkpoints",
                records.checkpoints.iter().filter(|(seq, ..)| *seq == 0 || *seq > records.head).count(),
            ),
        ];
        for (what, many) in strangers.into_iter().filter(|(_, many)| *many > 0) {
            self.found.tell(format!(
                "{what} belong to an entry of another kind, or one that does not exist ({many} times)"
            ));
        }
    }

    fn compare_items(&mut self) {
        for item in &self.records.items {
            if item.closed.is_none() != self.open.contains_key(&item.n) {
                self.found.lost += 1;
                self.found.tell(format!(
                    "item {} is {} by its row, but not by the log",
                    item.n,
                    if item.closed.is_none() { "open" } else { "closed" }
                ));
            } else if item.closed != self.closed.get(&item.n).and_then(|closed| closed.by) {
                self.found.tell(format!("the row of item {} names a wrong closing entry", item.n));
            }
        }
        if self.records.items.len() as u64 + 1 != self.next {
            self.found.tell(format!(
                "there are {} items, but the log added {}",
                self.records.items.len(),
                self.next - 1
            ));
        }
    }

    fn compare_leases(&mut self, now: i64) {
        let row = |n: u64, lease: &super::ReplayedLease| {
            let odds = (lease.probability.to_bits(), lease.explored);
            (n, lease.slot, lease.reviewer.clone(), lease.until, lease.claim, odds)
        };
        let running = self.records.leases.iter().filter(|(_, lease)| lease.until > now);
        let by_row: HashSet<_> = running.map(|(n, lease)| row(*n, lease)).collect();
        let by_log: HashSet<_> =
            self.open.iter().flat_map(|(n, open)| open.leases.iter().map(|lease| row(*n, lease))).collect();
        let apart = by_row.symmetric_difference(&by_log).count() as u64;
        if apart > 0 {
            self.found.lost += apart;
            self.found.tell(format!("{apart} leases are in only one of log and table"));
        }
    }

    fn compare_verdicts(&mut self) {
        let mut standing: HashSet<(u64, i64)> = HashSet::new();
        for verdict in self.records.verdicts.values().flatten() {
            let replaced =
                self.closed.get(&verdict.item).and_then(|of| of.replaced.get(&(verdict.seq, verdict.i)));
            if verdict.replaced_by != replaced.copied() {
                self.found.tell(format!(
                    "verdict {} of entry {} on item {} is valid by only one of its row and the log",
                    verdict.i, verdict.seq, verdict.item
                ));
            }
            if verdict.replaced_by.is_none() && !standing.insert((verdict.item, verdict.slot)) {
                self.found.double_verdicts += 1;
                self.found
                    .tell(format!("item {}, review {} has two valid verdicts", verdict.item, verdict.slot));
            }
        }
    }

    /// Checks the hash of each checkpoint, and that it ends with the jury computed from the log.
    pub(super) fn compare_checkpoints(&mut self) {
        // Checkpoints of earlier programs follow other rules, and are discarded before use.
        if self.records.tables < RULES.cast_signed() {
            return;
        }
        for (seq, state, sha256) in &self.records.checkpoints {
            if Sha256::digest(state).as_slice() != sha256 {
                self.found.tell(format!("the checkpoint at entry {seq} does not match its hash"));
                continue;
            }
            // The state cannot be computed if an item was erased since.
            if self.models.is_gone(*seq) {
                continue;
            }
            match self.models.is_at(*seq) {
                Ok(true) => self.found.checkpoints += 1,
                Ok(false) => {
                    self.found.tell(format!(
                        "the checkpoint at entry {seq} differs from the state computed from the log"
                    ));
                }
                Err(Violation(what)) => self.found.tell(format!("the checkpoint at entry {seq}: {what}")),
            }
        }
    }
}
