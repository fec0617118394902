//! The checker: verifies from the stored rows alone that the server kept its promises.
//!
//! It shares the ranking library, database connections and version numbers with the server, but no
//! code that decides or stores. It replays the log with simple data structures, and computes each
//! model that a claim names from the facts known at that entry.
//!
//! - Entries and rows must match the hashes in the entries (seals).
//! - Each claim must be the exact top K under its model: items that are due, then random checks,
//!   then the best.
//! - No review of an item is held by two reviewers, no verdict counts twice, and nothing accepted
//!   is missing.
//!
//! Of claims that earlier programs made by other rules, everything but their models is checked.

mod expected_picks;
mod item_order;
mod leases;
mod models;
mod payloads;
mod read;
mod rows;
mod seals;
mod tables;
mod unprovable;

use crate::store::schema::{RULES, VERSION};
use crate::{Error, StoreLocation};
use item_order::ItemOrder;
use models::Models;
use read::{CheckResult, LoggedEntry, QueueRecords};
use rows::Db;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tables::ClosedItem;

/// A violated rule, in words.
#[derive(Debug, Clone)]
struct Violation(String);

/// The result of the check for one queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueVerification {
    /// The name of the queue.
    pub queue: String,
    /// The number of entries of its log.
    pub entries: u64,
    /// The number of its claims.
    pub claims: u64,
    /// Claims that were the exact top K under the model they name.
    pub exact: u64,
    /// Claims whose picks cannot be proved the best, because an item was erased since. Everything
    /// else about these claims was checked.
    pub unprovable: u64,
    /// The claims among `unprovable` whose model may have learnt from the erased item. In the other
    /// claims, the erased item might have been picked.
    pub model_gone: u64,
    /// Claims that an earlier program made by other rules. Everything but their models was checked.
    #[serde(alias = "earlier")]
    pub older_rules: u64,
    /// The first entry from which all claims must be provable by the present rules; one after the
    /// last entry if there is none.
    pub rules_from: u64,
    /// Claims that were not checked again, because an earlier report covers them.
    pub before: u64,
    /// Claims that were not checked, because [`VerifyFrom::Entry`] named their entry or a later
    /// one.
    #[serde(alias = "untried")]
    pub not_checked: u64,
    /// A hash of the whole log, by which a later check recognises the same log.
    pub log: String,
    /// The number of models that claims name.
    pub models: u64,
    /// Checkpoints whose jury equals the one computed from the log.
    pub checkpoints: u64,
    /// Entries that revised learnt facts, erased items, or changed evaluators or policy.
    pub revisions: u64,
    /// Leases that expired.
    pub expired: u64,
    /// Verdicts, revised ones included.
    pub verdicts: u64,
    /// How often a claim gave out a review that was held or judged already, or a reviewer judged a
    /// review that another reviewer held.
    pub double_leases: u64,
    /// How often a review has two valid verdicts, or a reviewer two on one item.
    #[serde(alias = "twice")]
    pub double_verdicts: u64,
    /// A count of rows, or effects of log entries, that are missing or surplus in the tables.
    pub lost: u64,
    /// Entries without a seal, such as those of earlier programs, and skips whose reason was erased
    /// with their item.
    pub unsealed: u64,
    /// The first entry from which all must have a seal: 1, except in queues that an earlier program
    /// wrote to.
    pub sealed_from: u64,
    /// Payloads and notes that cannot be verified, because an earlier program wrote no hash of
    /// them.
    pub unsealed_payloads: u64,
    /// The first hundred problems of the queue, in words.
    pub problems: Vec<String>,
}

impl QueueVerification {
    /// Whether there are no problems, and every claim is accounted for.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
            && self.exact + self.unprovable + self.older_rules + self.before + self.not_checked == self.claims
    }

    fn tell(&mut self, what: String) {
        if self.problems.len() < 100 {
            self.problems.push(what);
        }
    }
}

/// Which claims to check. Everything else is always checked from the first entry.
#[derive(Debug, Clone, Default)]
pub enum VerifyFrom {
    /// All claims.
    #[default]
    Beginning,
    /// Claims after this entry.
    Entry(u64),
    /// Claims after the last entry of an earlier report, if it checked all claims and found no
    /// problem; otherwise all claims. The log up to there must be unchanged.
    Report(Box<VerifyReport>),
}

/// The result for a folder or a database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifyReport {
    /// Whether everything is in order.
    #[serde(alias = "sound")]
    pub ok: bool,
    /// How the database's own files were checked, or why they were not.
    pub integrity: String,
    /// Whether the folder is read-only. Then no file was written beside the database.
    pub read_only: bool,
    /// The result for each queue.
    pub queues: Vec<QueueVerification>,
    /// Problems of the database itself, in words.
    pub problems: Vec<String>,
}

/// Checks all queues on a snapshot, while others may write. Problems of the database itself are
/// added to each queue.
pub fn verify(place: impl Into<StoreLocation>) -> Result<Vec<QueueVerification>, Error> {
    let mut proof = prove(place, &VerifyFrom::Beginning)?;
    for checked in &mut proof.queues {
        checked.problems.extend(proof.problems.iter().cloned());
    }
    Ok(proof.queues)
}

/// Checks the database and all queues on a snapshot, while others may write.
pub fn prove(place: impl Into<StoreLocation>, since: &VerifyFrom) -> Result<VerifyReport, Error> {
    let place = place.into();
    let mut db = Db::open(&place)?;
    let corrupt = |problem: Violation| Error::Corrupt(problem.0);
    let version = db.version().map_err(corrupt)?;
    if version > VERSION {
        return Err(Error::Open(format!(
            "{place}: its tables have version {version}, made by a later program; this one knows versions up to {VERSION}"
        )));
    }
    let (integrity, mut problems) = db.integrity(&place).map_err(corrupt)?;
    // If pages are damaged, reading rows fails too; the damage is the cause to report.
    let stumbled = |Violation(what): Violation| {
        let why = problems.first().map(|first| format!(" ({first})")).unwrap_or_default();
        Error::Corrupt(format!("{what}{why}"))
    };
    let mut queues = Vec::new();
    for queue in read::queues(&mut db).map_err(&stumbled)? {
        queues.push(check(&QueueRecords::read(&mut db, version, queue, since).map_err(&stumbled)?));
    }
    for (queue, rows) in read::orphans(&mut db, version).map_err(&stumbled)? {
        let many = rows.iter().map(|(_, many)| many).sum();
        let rows: Vec<String> = rows.iter().map(|(table, many)| format!("{many} of {table}")).collect();
        let problem = format!("queue {queue} does not exist, but has rows: {}", rows.join(", "));
        let queue = format!("queue {queue} (does not exist)");
        queues.push(QueueVerification {
            queue,
            lost: many,
            problems: vec![problem],
            ..QueueVerification::default()
        });
    }
    let there = db.unique_indexes().map_err(&stumbled)?;
    problems.extend(UNIQUE.iter().filter(|index| !there.iter().any(|there| there == *index)).map(|index| {
        format!("the index {index} is missing or not unique, so the database does not prevent duplicates")
    }));
    let read_only = db.is_as_it_was()?;
    let ok = problems.is_empty() && queues.iter().all(QueueVerification::is_ok);
    Ok(VerifyReport { ok, integrity, read_only, queues, problems })
}

/// The unique indexes that every version has: item ids, verdict ids, and one valid verdict per
/// review.
const UNIQUE: [&str; 3] = ["items_by_key", "verdicts_by_id", "verdicts_that_stand"];

/// An open item during the replay.
struct OpenItem {
    row: Vec<f64>,
    /// A number that changes with the scores. It stays when the evaluators change, which discards
    /// all orders.
    version: u64,
    arrived: i64,
    random_check: Option<f64>,
    due: Option<i64>,
    leases: Vec<ReplayedLease>,
    verdicts: Vec<(i64, String, f64)>,
    skipped: BTreeSet<String>,
}

/// A lease during the replay.
#[derive(Debug, Clone, PartialEq)]
struct ReplayedLease {
    slot: i64,
    reviewer: String,
    until: i64,
    claim: u64,
    probability: f64,
    explored: bool,
}

impl OpenItem {
    fn of(item: &read::Item, row: Vec<f64>) -> OpenItem {
        OpenItem {
            row,
            version: 0,
            arrived: item.arrived,
            random_check: item.random_check,
            due: item.due,
            leases: Vec::new(),
            verdicts: Vec::new(),
            skipped: BTreeSet::new(),
        }
    }

    /// The number of reviews the item needs: the quorum, or twice the quorum minus one if its
    /// verdicts have different rewards.
    fn needed(&self, quorum: i64) -> i64 {
        if self.verdicts.len() < 2 {
            return quorum;
        }
        let rewards: HashSet<u64> =
            self.verdicts.iter().map(|(_, _, reward)| (reward + 0.0).to_bits()).collect();
        if rewards.len() > 1 { quorum.saturating_mul(2).saturating_sub(1) } else { quorum }
    }

    /// The lowest number of a free review, if there is one.
    fn free(&self, quorum: i64) -> Option<i64> {
        (0..self.needed(quorum)).find(|slot| {
            !self.leases.iter().any(|lease| lease.slot == *slot)
                && !self.verdicts.iter().any(|verdict| verdict.0 == *slot)
        })
    }

    fn knows(&self, reviewer: &str) -> bool {
        self.skipped.contains(reviewer)
            || self.leases.iter().any(|lease| lease.reviewer == reviewer)
            || self.verdicts.iter().any(|verdict| verdict.1 == reviewer)
    }
}

/// A replay of the log.
struct LogReplay<'a> {
    records: &'a QueueRecords,
    models: Models<'a>,
    open: BTreeMap<u64, OpenItem>,
    /// Open items with a due date, as (due date, item); items that are erased later are left out.
    due: BTreeSet<(i64, u64)>,
    /// Open random checks; items that are erased later are left out.
    random_checks: BTreeSet<u64>,
    /// Open items that are erased later.
    doomed: BTreeSet<u64>,
    /// Ends of leases with their items, also of leases that were extended or given back.
    ends: BTreeSet<(i64, u64)>,
    /// Items whose availability or rank may have changed, in order. Each `ItemOrder` has processed
    /// a first part of them.
    touched: Vec<u64>,
    versions: u64,
    /// Verdicts and closing entries of items, according to the log.
    closed: HashMap<u64, ClosedItem>,
    /// Skips according to the log.
    skips: BTreeSet<(u64, u64, String, String)>,
    next: u64,
    setup: usize,
    /// The latest rules that an entry has named so far.
    rules: u64,
    /// The item order for each model and filter that claims have named, the latest used last.
    orders: Vec<ItemOrder>,
    found: QueueVerification,
}

fn check(records: &QueueRecords) -> QueueVerification {
    if records.setups.is_empty() {
        let problem = "its log has no configuration, so that nothing can be checked".into();
        let (queue, entries) = (records.name.clone(), records.log.len() as u64);
        return QueueVerification { queue, entries, problems: vec![problem], ..QueueVerification::default() };
    }
    let models = Models::of(records);
    let mut named: HashSet<u64> = HashSet::new();
    named.extend(records.picks.values().flatten().map(|pick| pick.model));
    let found = QueueVerification {
        queue: records.name.clone(),
        entries: records.log.len() as u64,
        verdicts: records.verdicts.values().map(|list| list.len() as u64).sum(),
        models: named.len() as u64,
        revisions: models.revisions(),
        sealed_from: records.sealed_from,
        log: records.digest.clone(),
        rules_from: records
            .log
            .iter()
            .find(|entry| entry.rules() >= RULES)
            .map_or(records.head + 1, |entry| entry.seq),
        ..QueueVerification::default()
    };
    let mut play = LogReplay {
        records,
        models,
        open: BTreeMap::new(),
        due: BTreeSet::new(),
        random_checks: BTreeSet::new(),
        doomed: BTreeSet::new(),
        ends: BTreeSet::new(),
        touched: Vec::new(),
        versions: 0,
        closed: HashMap::new(),
        skips: BTreeSet::new(),
        next: 1,
        setup: 0,
        rules: 0,
        orders: Vec::new(),
        found,
    };
    play.found.problems.extend(records.other_log.clone());
    play.all();
    play.compare_owners();
    play.compare_seals();
    play.compare_shown();
    play.compare_tables();
    play.compare_checkpoints();
    play.found
}

impl LogReplay<'_> {
    fn all(&mut self) {
        let mut last = i64::MIN;
        for (place, entry) in self.records.log.iter().enumerate() {
            if entry.seq != place as u64 + 1 {
                self.found.lost += 1;
                self.found.tell(format!("entry {} is where entry {} should be", entry.seq, place + 1));
                return;
            }
            let sets_clock = entry.kind == "clock";
            if entry.at < last && !sets_clock {
                self.found.tell(format!("entry {} is earlier than the one before it", entry.seq));
            }
            last = entry.at;
            self.expire(if sets_clock { i64::MAX } else { entry.at });
            if let Err(Violation(what)) = self.entry(entry) {
                self.found.tell(format!("entry {} ({}): {what}", entry.seq, entry.kind));
            }
        }
        if self.records.log.len() as u64 != self.records.head {
            self.found.lost += 1;
            self.found.tell(format!(
                "the head is {}, but the log has {} entries",
                self.records.head,
                self.records.log.len()
            ));
        }
    }

    /// Ends all leases that have expired by time `at`.
    fn expire(&mut self, at: i64) {
        while let Some((until, n)) = self.ends.first().copied().filter(|(until, _)| *until <= at) {
            self.ends.remove(&(until, n));
            let Some(open) = self.open.get_mut(&n) else { continue };
            let before = open.leases.len();
            open.leases.retain(|lease| lease.until > at);
            let over = (before - open.leases.len()) as u64;
            self.found.expired += over;
            if over > 0 {
                self.touched.push(n);
            }
        }
    }

    /// Adds an item to the open ones.
    fn open(&mut self, n: u64, mut open: OpenItem) {
        self.versions += 1;
        open.version = self.versions;
        if self.models.is_erased(n) {
            self.doomed.insert(n);
        } else {
            self.due.extend(open.due.map(|due| (due, n)));
            self.random_checks.extend(open.random_check.map(|_| n));
        }
        self.touched.push(n);
        self.open.insert(n, open);
    }

    /// An open item, which is noted as changed; an error if it is not open.
    fn at(&mut self, n: u64) -> CheckResult<&mut OpenItem> {
        let open = self
            .open
            .get_mut(&n)
            .ok_or_else(|| Violation(format!("it changes item {n}, which is not open")))?;
        self.touched.push(n);
        Ok(open)
    }

    /// Adds a lease to an item, if the item is open.
    fn lend(&mut self, n: u64, lease: ReplayedLease) {
        if let Some(open) = self.open.get_mut(&n) {
            self.ends.insert((lease.until, n));
            open.leases.push(lease);
        }
    }

    fn entry(&mut self, entry: &LoggedEntry) -> CheckResult<()> {
        let records = self.records;
        let body = &entry.body;
        match entry.kind.as_str() {
            "create" => {
                self.rules = entry.rules();
                self.set_up(entry.seq);
            }
            "configure" => {
                self.set_up(entry.seq);
                self.all_on_scale(entry);
                self.enough(entry)?;
            }
            "items" => self.items(entry),
            "claim" => self.claim(entry)?,
            "extend" | "release" => self.held(entry)?,
            "verdicts" => {
                let found = records.verdicts.get(&entry.seq).map_or(0, Vec::len) as u64;
                self.all_there(found, body["given"].as_u64(), "verdicts");
                for verdict in records.verdicts.get(&entry.seq).into_iter().flatten() {
                    self.verdict(entry, verdict)?;
                }
            }
            "undo" => self.undo(entry)?,
            "clock" | "settle" => {}
            "close" => {
                for range in body["items"].as_array().into_iter().flatten() {
                    let last = range[1].as_u64().unwrap_or(0).min(records.items.len() as u64);
                    for n in range[0].as_u64().unwrap_or(1)..=last {
                        self.close(n, entry.seq);
                    }
                }
            }
            "erase" => {
                for n in body["items"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64)
                {
                    self.close(n, entry.seq);
                    let item = (n as usize).checked_sub(1).and_then(|at| records.items.get(at));
                    if item.is_some_and(|item| item.scores.is_some() || item.key.is_some()) {
                        return Err(Violation(format!("item {n} was erased, but its data is still there")));
                    }
                }
            }
            other => return Err(Violation(format!("unknown kind `{other}`"))),
        }
        Ok(())
    }

    fn all_there(&mut self, found: u64, said: Option<u64>, what: &str) {
        let said = said.unwrap_or(0);
        if found != said {
            self.found.lost += said.abs_diff(found);
            self.found.tell(format!("{said} {what} were written, but {found} exist"));
        }
    }

    fn set_up(&mut self, seq: u64) {
        let now = self.records.setup_at(seq);
        for open in self.open.values_mut() {
            open.row = self.records.moved(&open.row, self.setup, now);
        }
        self.setup = now;
        self.orders.clear();
    }

    fn items(&mut self, entry: &LoggedEntry) {
        let (first, many) =
            (entry.body["first"].as_u64().unwrap_or(0), entry.body["added"].as_u64().unwrap_or(0));
        let width = self.records.setups[self.setup].evaluators.len();
        // The entry may state any number; items beyond the last row are missing.
        let there = many.min(self.records.items.len() as u64);
        if there < many {
            self.found.lost += many - there;
            self.found.tell(format!("{many} items of entry {} were written, but {there} exist", entry.seq));
        }
        for n in first..first.saturating_add(there) {
            let item = (n as usize).checked_sub(1).and_then(|at| self.records.items.get(at));
            let item = item.filter(|item| item.n == n && item.seq == entry.seq);
            let Some(item) = item.filter(|_| n == self.next) else {
                self.found.lost += 1;
                self.found.tell(format!("item {n} of entry {} is missing", entry.seq));
                continue;
            };
            self.next += 1;
            let row = item.scores.clone().unwrap_or_else(|| vec![f64::NAN; width]);
            if row.len() != width {
                self.found
                    .tell(format!("item {n} has {} scores, but there were {width} evaluators", row.len()));
            }
            if item.arrived != entry.at {
                self.found.tell(format!("item {n} arrived with entry {}, but has another time", entry.seq));
            }
            if let Some(wrong) = self.records.wrong_draw(item) {
                self.found.tell(wrong);
            }
            self.open(n, OpenItem::of(item, row));
        }
        let late = self.records.late.get(&entry.seq);
        // Late scores of erased items are deleted, so they are counted only if nothing was erased.
        if self.models.erased().next().is_none() {
            self.all_there(late.map_or(0, Vec::len) as u64, entry.body["rescored"].as_u64(), "late scores");
        }
        for (n, row) in late.into_iter().flatten() {
            if row.len() != width {
                self.found
                    .tell(format!("item {n} got {} scores, but there were {width} evaluators", row.len()));
            } else if let Some(open) = self.open.get_mut(n) {
                let first = open.row.iter().zip(row).any(|(before, now)| before.is_nan() && !now.is_nan());
                if self.records.newly(entry.seq, *n).is_some_and(|said| said != first) {
                    self.found.tell(format!(
                        "entry {} is wrong about whether an evaluator scores item {n} for the first time",
                        entry.seq
                    ));
                }
                open.row.clone_from(row);
                self.versions += 1;
                open.version = self.versions;
                self.touched.push(*n);
            }
        }
    }
}
