//! Checks log entries and their rows by their seals: the hashes that each entry records. The hashes
//! are computed here without code of the server.

use super::LogReplay;
use super::read::{CheckResult, LoggedEntry};
use super::rows::{Db, Row};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// The most rows in one hash.
const TOGETHER: u64 = 64;

/// The state of an entry's seal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SealState {
    /// No seal, as in entries of earlier programs, and in skips whose reason was erased.
    None,
    Whole,
    Broken,
}

/// Checks the seal of an entry: the last field of the body. It is a hash of the entry's number,
/// time, actor and kind, and of the rest of the body.
pub(super) fn of_entry(seq: u64, at: i64, actor: &str, kind: &str, body: &str) -> SealState {
    let Some((words, seal)) = body.strip_suffix("\"}").and_then(|body| body.rsplit_once(",\"seal\":\""))
    else {
        return SealState::None;
    };
    let mut hash = Sha256::new();
    for number in [seq.cast_signed(), at] {
        hash.update([b'i']);
        hash.update(number.to_le_bytes());
    }
    for text in [actor, kind, words] {
        hash.update([b't']);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    if digits(hash) == seal { SealState::Whole } else { SealState::Broken }
}

/// The first eight bytes of a hash in hexadecimal.
pub(super) fn digits(hash: Sha256) -> String {
    let bytes = hash.finalize();
    format!("{:016x}", bytes.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte)))
}

/// The hashes of an entry's rows in one table.
#[derive(Default)]
pub(super) struct RowHashes {
    rows: u64,
    /// One hash per group of rows; None if a row of the group belongs to an erased item.
    groups: Vec<Option<String>>,
}

/// A sealed table: its query, the columns of entry and item, and how many columns are hashed.
struct SealedTable {
    name: &'static str,
    sql: &'static str,
    seq: usize,
    item: usize,
    width: usize,
}

const TABLES: [SealedTable; 4] = [
    SealedTable {
        name: "items",
        sql: "SELECT n, key, seq, arrived, scores, tags, audit, due FROM items WHERE queue = ?1 ORDER BY n",
        seq: 2,
        item: 0,
        width: 8,
    },
    SealedTable {
        name: "late scores",
        sql: "SELECT n, seq, scores FROM rescored WHERE queue = ?1 ORDER BY seq, n",
        seq: 1,
        item: 0,
        width: 3,
    },
    SealedTable {
        name: "claims",
        sql: "SELECT seq, i, item, slot, reviewer, until, model, value, probability, explored FROM claims WHERE queue = ?1 ORDER BY seq, i",
        seq: 0,
        item: 2,
        width: 10,
    },
    SealedTable {
        name: "verdicts",
        sql: "SELECT seq, i, id, item, slot, reviewer, source, label, reward, observed_at, claim, supersedes_seq, supersedes_i, decides, probability, explored, stands_from, superseded_by FROM verdicts WHERE queue = ?1 ORDER BY seq, i",
        seq: 0,
        item: 3,
        width: 17,
    },
];

/// The hashes of all rows, by entry, for each of `TABLES`.
pub(super) type TableHashes = [HashMap<u64, RowHashes>; 4];

/// Hashes a table's rows in groups while they are read.
#[derive(Default)]
struct GroupHasher {
    done: HashMap<u64, RowHashes>,
    seq: u64,
    many: u64,
    spoilt: bool,
    hash: Sha256,
}

impl GroupHasher {
    fn end_group(&mut self) {
        if self.many > 0 {
            let hash = std::mem::take(&mut self.hash);
            let group = (!self.spoilt).then(|| digits(hash));
            let entry = self.done.entry(self.seq).or_default();
            entry.groups.push(group);
            entry.rows += self.many;
        }
        (self.many, self.spoilt) = (0, false);
    }
}

/// Hashes all rows of the sealed tables.
pub(super) fn of_rows(db: &mut Db, queue: i64, log: &[LoggedEntry]) -> CheckResult<TableHashes> {
    let erased: HashSet<u64> = log
        .iter()
        .filter(|entry| entry.kind == "erase")
        .flat_map(|entry| entry.body["items"].as_array().into_iter().flatten().filter_map(Value::as_u64))
        .collect();
    let mut sealed = TableHashes::default();
    for (table, sealed) in TABLES.iter().zip(&mut sealed) {
        let mut reading = GroupHasher::default();
        db.each(table.sql, queue, |row| {
            let seq = row.number(table.seq)?;
            if seq != reading.seq || reading.many == TOGETHER {
                reading.end_group();
                reading.seq = seq;
            }
            reading.many += 1;
            // Erasing an item leaves rows of claims as they are.
            reading.spoilt |= table.name != "claims" && erased.contains(&row.number(table.item)?);
            if table.name == "verdicts" {
                row.without_taking_back(2, 17)?.hash(table.width, &mut reading.hash);
            } else {
                row.hash(table.width, &mut reading.hash);
            }
            Ok(())
        })?;
        reading.end_group();
        *sealed = reading.done;
    }
    Ok(sealed)
}

impl Row {
    /// A verdict's row as it was written. Taking the verdict back appended a text to its id.
    fn without_taking_back(&self, id: usize, by: usize) -> CheckResult<Row> {
        let tail = self.number_if_any(by)?.map(|by| format!(" (taken back by {by})"));
        let text = self.text(id)?;
        let first = tail.and_then(|tail| text.strip_suffix(&tail).map(str::to_string));
        Ok(self.with_text(id, first.unwrap_or(text)))
    }
}

impl LogReplay<'_> {
    /// Checks all entries and their rows against their hashes.
    pub(super) fn compare_seals(&mut self) {
        let (owed, head) = (self.records.sealed_from, self.records.head);
        if let Some(said) = self.records.sealed_said.filter(|said| *said > head + 1) {
            self.found.tell(format!(
                "the queue's row says that entries need seals from {said} on, but the log ends at {head}: the row was changed"
            ));
        }
        for entry in &self.records.log {
            match entry.seal {
                SealState::None => {
                    self.found.unsealed += 1;
                    if entry.seq >= owed && !self.reason_was_erased(entry) {
                        self.found.tell(format!(
                            "entry {} ({}): it has no seal, although all entries from {owed} on need one",
                            entry.seq, entry.kind
                        ));
                    }
                    continue;
                }
                SealState::Broken => {
                    self.found.tell(format!(
                        "entry {} ({}): it was changed after it was written",
                        entry.seq, entry.kind
                    ));
                }
                SealState::Whole => {}
            }
            self.compare_rows(entry);
        }
    }

    /// Whether an entry lacks its seal because the reason of a skip was erased with its item.
    fn reason_was_erased(&self, entry: &LoggedEntry) -> bool {
        let mut leases = entry.body["leases"].as_array().into_iter().flatten();
        entry.body["skip"] == ""
            && leases.any(|lease| lease["n"].as_u64().is_some_and(|n| self.models.is_erased(n)))
    }

    fn compare_rows(&mut self, entry: &LoggedEntry) {
        let many = |name: &str| entry.body[name].as_u64().unwrap_or(0);
        let written = match entry.kind.as_str() {
            "items" => [many("added"), many("rescored"), 0, 0],
            "claim" => [0, 0, many("picked"), 0],
            "verdicts" => [0, 0, 0, many("given")],
            _ => return,
        };
        let mut said = entry.body["rows"].as_array().into_iter().flatten();
        for ((table, sealed), written) in TABLES.iter().zip(&self.records.sealed).zip(written) {
            let none = RowHashes::default();
            let found = sealed.get(&entry.seq).unwrap_or(&none);
            // Late scores of erased items are deleted, and the places of the deleted rows are
            // unknown.
            let gone = table.name == "late scores" && found.rows < written;
            // The entry may state any number; only the first missing group is reported.
            for group in 0..written.div_ceil(TOGETHER).min(found.groups.len() as u64 + 1) {
                let (said, is) = (said.next().and_then(Value::as_str), found.groups.get(group as usize));
                let spoilt = gone || matches!(is, Some(None));
                if !spoilt && (said.is_none() || is.and_then(Option::as_deref) != said) {
                    let (from, to) = (group * TOGETHER + 1, written.min((group + 1) * TOGETHER));
                    self.found.tell(format!(
                        "entry {} ({}): its {} were changed ({from} to {to} of {written})",
                        entry.seq, entry.kind, table.name
                    ));
                }
            }
        }
    }
}
