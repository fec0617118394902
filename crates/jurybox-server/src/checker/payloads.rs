//! Checks payloads and notes by their hashes in log entries. Each has a hash of its own, because it
//! can expire or be erased alone.

use super::LogReplay;
use super::read::{CheckResult, LoggedEntry};
use super::rows::Db;
use super::seals::digits;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

/// Hexadecimal digits of a hash.
const WIDTH: usize = 16;
/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

/// Hashes of payloads by item, and of notes by entry and position.
#[derive(Default)]
pub(super) struct PayloadHashes {
    /// Hashes of the stored payloads, by item.
    payloads: BTreeMap<u64, String>,
    /// Hashes of the stored notes, with their items.
    notes: BTreeMap<(u64, u64), (u64, String)>,
    /// Hashes of payloads according to the log: for each item the last one, with its entry.
    payloads_said: HashMap<u64, (u64, String)>,
    /// Hashes of notes according to the log.
    notes_said: HashMap<(u64, u64), String>,
    /// For each `items` or `verdicts` entry, whether it records hashes of payloads or notes.
    says: HashMap<u64, bool>,
    /// The last `items` entry that records no hashes of payloads; 0 if there is none.
    silent: u64,
}

/// Computes the hashes of stored rows, and takes those of the log out of the entries, to save
/// memory.
pub(super) fn of(
    db: &mut Db,
    queue: i64,
    tables: i64,
    log: &mut [LoggedEntry],
) -> CheckResult<PayloadHashes> {
    let mut shown = PayloadHashes::default();
    db.each("SELECT n, body, expires FROM payloads WHERE queue = ?1 ORDER BY n", queue, |row| {
        let mut hash = Sha256::new();
        row.hash(3, &mut hash);
        shown.payloads.insert(row.number(0)?, digits(hash));
        Ok(())
    })?;
    if tables >= 7 {
        let sql = "SELECT n, seq, i, body FROM notes WHERE queue = ?1 ORDER BY n, seq, i";
        db.each(sql, queue, |row| {
            let mut hash = Sha256::new();
            row.hash(4, &mut hash);
            shown.notes.insert((row.number(1)?, row.number(2)?), (row.number(0)?, digits(hash)));
            Ok(())
        })?;
    }
    for entry in log.iter_mut().filter(|entry| entry.kind == "items" || entry.kind == "verdicts") {
        let said = entry.body.as_object_mut().and_then(|body| body.remove("shown"));
        shown.says.insert(entry.seq, said.is_some());
        if said.is_none() && entry.kind == "items" {
            shown.silent = entry.seq;
        }
        for stretch in said.iter().filter_map(|said| said.as_array()).flatten() {
            let (Some(first), Some(hashes)) = (stretch[0].as_u64(), stretch[1].as_str()) else { continue };
            for (place, hash) in (0..).zip(hashes.as_bytes().chunks(WIDTH)) {
                let (of, hash) = (first.saturating_add(place), String::from_utf8_lossy(hash).into_owned());
                if entry.kind == "items" {
                    shown.payloads_said.insert(of, (entry.seq, hash));
                } else {
                    shown.notes_said.insert((entry.seq, of), hash);
                }
            }
        }
    }
    Ok(shown)
}

impl LogReplay<'_> {
    /// Checks that payloads and notes match their hashes, and that none is missing that should not
    /// have expired.
    pub(super) fn compare_shown(&mut self) {
        let records = self.records;
        let shown = &records.shown;
        let item = |n: u64| (n as usize).checked_sub(1).and_then(|at| records.items.get(at));
        let says = |seq: u64| shown.says.get(&seq).copied().unwrap_or(false);
        let mut wrong: Vec<String> = Vec::new();
        let mut unsealed = 0;
        for (n, is) in &shown.payloads {
            match shown.payloads_said.get(n) {
                _ if self.models.is_erased(*n) => {
                    wrong.push(format!("item {n} was erased, but its payload is still there"));
                }
                Some((_, said)) if said == is => {}
                // An earlier program may have replaced the payload later, without a hash.
                Some((seq, _)) if shown.silent > *seq => unsealed += 1,
                Some((seq, _)) => {
                    wrong.push(format!("the payload of item {n} has changed since entry {seq}"));
                }
                None if item(*n).is_some_and(|item| !says(item.seq) || shown.silent > item.seq) => {
                    unsealed += 1;
                }
                None => wrong.push(format!("item {n} has a payload that no entry wrote")),
            }
        }
        // Payloads expire by the clock, which may be past the last entry.
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let last = records.log.iter().map(|entry| entry.at).max().unwrap_or(records.at);
        let now = i64::try_from(clock.as_micros()).unwrap_or(i64::MAX).max(last);
        let mut lost: Vec<u64> = Vec::new();
        for (n, (seq, _)) in &shown.payloads_said {
            if !shown.payloads.contains_key(n) && !self.models.is_erased(*n) {
                let days = records.setups[records.setup_before(*seq)].config["payload_days"].as_i64();
                let entry = (*seq as usize).checked_sub(1).and_then(|at| records.log.get(at));
                let at = entry.map_or(i64::MAX, |entry| entry.at);
                if days.is_none_or(|days| at.saturating_add(days.saturating_mul(DAY)) > now) {
                    lost.push(*n);
                }
            }
        }
        lost.sort_unstable();
        for ((seq, i), (n, is)) in &shown.notes {
            match shown.notes_said.get(&(*seq, *i)) {
                _ if self.models.is_erased(*n) => {
                    wrong.push(format!("item {n} was erased, but a note on it is still there"));
                }
                Some(said) if said == is => {}
                None if !says(*seq) => unsealed += 1,
                _ => wrong.push(format!("note {i} of entry {seq} on item {n} was changed")),
            }
        }
        let of = |(seq, i): &(u64, u64)| records.verdict((*seq, *i)).map(|verdict| verdict.item);
        let gone = |which: &&(u64, u64)| of(which).is_some_and(|n| self.models.is_erased(n));
        let notes = shown.notes_said.keys().filter(|which| !shown.notes.contains_key(which));
        let notes = notes.filter(|which| !gone(which)).count();
        self.found.unsealed_payloads = unsealed;
        self.found.lost += lost.len() as u64 + notes as u64;
        if let Some(n) = lost.first() {
            wrong.push(format!("{} payloads are missing, such as that of item {n}", lost.len()));
        }
        if notes > 0 {
            wrong.push(format!("{notes} notes are missing"));
        }
        for wrong in wrong {
            self.found.tell(wrong);
        }
    }
}
