//! The checker: proves from the rows alone that a queue kept its word.
//!
//! It shares no code with those who wrote them, only the library that ranks. It plays the log again item by item, with a plain list
//! where the server has an order with a cursor, and computes every model that a claim names from the facts known at that entry.
//! Entries and rows must be as they were written, by the hashes that entries carry.
//! Every claim must be the exact top K under its model: items whose date had come, then audits, then the best. No review of an item
//! may be in two hands; no verdict may count twice; what was accepted must be there. Claims that an earlier program made by other rules are
//! held to all but their models.

mod hands;
mod models;
mod partial;
mod read;
mod rows;
mod seals;
mod tables;
mod top;

use crate::store::schema::{RULES, VERSION};
use crate::{Error, Place};
use jurybox::Fitted;
use models::Models;
use read::{Entry, Found, Records};
use rows::Db;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tables::Closed;

/// Something that cannot be.
#[derive(Debug, Clone)]
struct Problem(String);

/// What the checker found in one queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Checked {
    /// The queue.
    pub queue: String,
    /// Entries of its log.
    pub entries: u64,
    /// Claims.
    pub claims: u64,
    /// Claims that were the exact top K under the model they name.
    pub exact: u64,
    /// Claims whose exactness cannot be proved any more, because an item was erased since; all else about them was.
    pub unprovable: u64,
    /// Those of them whose model had learnt from such an item. With the others, such an item could have been given out instead.
    pub model_gone: u64,
    /// Claims that an earlier program made, by rules that this one does not have: which were the best cannot be proved, all else about them was.
    pub earlier: u64,
    /// From which entry on every claim must be provable by the rules of this program: the first that names them, or the next where none does.
    pub rules_from: u64,
    /// Models that claims name.
    pub models: u64,
    /// Checkpoints that hold what the log gives.
    pub checkpoints: u64,
    /// How often something was revised that had been learnt.
    pub revisions: u64,
    /// Leases that ran out.
    pub expired: u64,
    /// Verdicts, revised ones included.
    pub verdicts: u64,
    /// Reviews of an item that were in two hands at once.
    pub double_leases: u64,
    /// Verdicts that count twice.
    pub twice: u64,
    /// What was accepted, or happened by the log, and is not in the tables.
    pub lost: u64,
    /// Entries without a seal on what they say and wrote: those of earlier programs, and skips whose reason was erased with their item.
    pub unsealed: u64,
    /// From which entry on every entry must have a seal: the first, but in queues that an earlier program has written to.
    pub sealed_from: u64,
    /// What is wrong, in words; the first hundred.
    pub problems: Vec<String>,
}

impl Checked {
    /// Whether everything is as it must be.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.exact + self.unprovable + self.earlier == self.claims
    }

    fn tell(&mut self, what: String) {
        if self.problems.len() < 100 {
            self.problems.push(what);
        }
    }
}

/// Checks every queue of a folder or a database as it is now, whoever writes to it.
pub fn verify(place: impl Into<Place>) -> Result<Vec<Checked>, Error> {
    let place = place.into();
    let mut db = Db::open(&place)?;
    let corrupt = |problem: Problem| Error::Corrupt(problem.0);
    let version = db.version().map_err(corrupt)?;
    if version > VERSION {
        return Err(Error::Open(format!(
            "{place}: it is of version {version}, made by a later program than this, which has version {VERSION}"
        )));
    }
    let queues = read::queues(&mut db).map_err(corrupt)?;
    let check = |queue| Records::read(&mut db, version, queue).map(|records| check(&records));
    let mut found = queues.into_iter().map(check).collect::<Found<Vec<Checked>>>().map_err(corrupt)?;
    for (queue, rows) in read::orphans(&mut db, version).map_err(corrupt)? {
        let many = rows.iter().map(|(_, many)| many).sum();
        let rows: Vec<String> = rows.iter().map(|(table, many)| format!("{many} of {table}")).collect();
        let problem = format!("queue {queue} is not there, and rows of it are: {}", rows.join(", "));
        let queue = format!("queue {queue}, which is not there");
        found.push(Checked { queue, lost: many, problems: vec![problem], ..Checked::default() });
    }
    let there = db.unique_indexes().map_err(corrupt)?;
    for index in UNIQUE.iter().filter(|index| !there.iter().any(|there| there == *index)) {
        for checked in &mut found {
            checked.tell(format!(
                "the index {index} is missing, or lets things be there twice: the database does not keep them from it"
            ));
        }
    }
    Ok(found)
}

/// The indexes by which no item has another's id, no verdict another's, and no review two verdicts, in every version.
const UNIQUE: [&str; 3] = ["items_by_key", "verdicts_by_id", "verdicts_that_stand"];

/// An open item, as the checker sees it.
struct Open {
    row: Vec<f64>,
    arrived: i64,
    tags: BTreeMap<String, String>,
    audit: Option<f64>,
    due: Option<i64>,
    leases: Vec<Lease>,
    verdicts: Vec<(i64, String, f64)>,
    skipped: HashSet<String>,
}

/// An item in somebody's hands, as the checker sees it.
#[derive(Debug, Clone, PartialEq)]
struct Lease {
    slot: i64,
    reviewer: String,
    until: i64,
    claim: u64,
    probability: f64,
    explored: bool,
}

impl Open {
    fn of(item: &read::Item, row: Vec<f64>) -> Open {
        Open {
            row,
            arrived: item.arrived,
            tags: item.tags.clone(),
            audit: item.audit,
            due: item.due,
            leases: Vec::new(),
            verdicts: Vec::new(),
            skipped: HashSet::new(),
        }
    }

    /// How many reviews it takes.
    fn needed(&self, quorum: i64) -> i64 {
        let rewards: HashSet<u64> =
            self.verdicts.iter().map(|(_, _, reward)| (reward + 0.0).to_bits()).collect();
        if rewards.len() > 1 { quorum.saturating_mul(2).saturating_sub(1) } else { quorum }
    }

    /// The review that is free, if one is.
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

/// The log played again.
struct Play<'a> {
    records: &'a Records,
    models: Models<'a>,
    open: BTreeMap<u64, Open>,
    /// Items that are closed, and what of them the log says.
    closed: HashMap<u64, Closed>,
    /// Who does not want what, by the log.
    skips: BTreeSet<(u64, u64, String)>,
    next: u64,
    setup: usize,
    /// The latest rules that an entry has named so far.
    rules: u64,
    /// The last model that was asked for, and the values by it.
    fitted: Option<(u64, Fitted)>,
    values: HashMap<u64, f64>,
    found: Checked,
}

fn check(records: &Records) -> Checked {
    if records.setups.is_empty() {
        let problem = "its log does not say how it was set up: nothing can be played again".into();
        let (queue, entries) = (records.name.clone(), records.log.len() as u64);
        return Checked { queue, entries, problems: vec![problem], ..Checked::default() };
    }
    let models = Models::of(records);
    let mut named: HashSet<u64> = HashSet::new();
    named.extend(records.picks.values().flatten().map(|pick| pick.model));
    let found = Checked {
        queue: records.name.clone(),
        entries: records.log.len() as u64,
        verdicts: records.verdicts.values().map(|list| list.len() as u64).sum(),
        models: named.len() as u64,
        revisions: models.revisions(),
        sealed_from: records.sealed_from,
        rules_from: records
            .log
            .iter()
            .find(|entry| entry.rules() >= RULES)
            .map_or(records.head + 1, |entry| entry.seq),
        ..Checked::default()
    };
    let mut play = Play {
        records,
        models,
        open: BTreeMap::new(),
        closed: HashMap::new(),
        skips: BTreeSet::new(),
        next: 1,
        setup: 0,
        rules: 0,
        fitted: None,
        values: HashMap::new(),
        found,
    };
    play.all();
    play.compare_owners();
    play.compare_seals();
    play.compare_tables();
    play.compare_checkpoints();
    play.found
}

impl Play<'_> {
    fn all(&mut self) {
        let mut last = i64::MIN;
        for (place, entry) in self.records.log.iter().enumerate() {
            if entry.seq != place as u64 + 1 {
                self.found.lost += 1;
                self.found.tell(format!("entry {} stands where entry {} should", entry.seq, place + 1));
                return;
            }
            let sets_clock = entry.kind == "clock";
            if entry.at < last && !sets_clock {
                self.found.tell(format!("entry {} is earlier than the one before it", entry.seq));
            }
            last = entry.at;
            self.expire(if sets_clock { i64::MAX } else { entry.at });
            if let Err(Problem(what)) = self.entry(entry) {
                self.found.tell(format!("entry {} ({}): {what}", entry.seq, entry.kind));
            }
        }
        if self.records.log.len() as u64 != self.records.head {
            self.found.lost += 1;
            self.found.tell(format!(
                "the head is {}, and the log has {} entries",
                self.records.head,
                self.records.log.len()
            ));
        }
    }

    fn expire(&mut self, at: i64) {
        for open in self.open.values_mut().filter(|open| !open.leases.is_empty()) {
            let before = open.leases.len();
            open.leases.retain(|lease| lease.until > at);
            self.found.expired += (before - open.leases.len()) as u64;
        }
    }

    fn entry(&mut self, entry: &Entry) -> Found<()> {
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
                        return Err(Problem(format!("item {n} was erased and is still there")));
                    }
                }
            }
            other => return Err(Problem(format!("nothing is known of `{other}`"))),
        }
        Ok(())
    }

    fn at(&mut self, n: u64) -> Found<&mut Open> {
        self.open
            .get_mut(&n)
            .ok_or_else(|| Problem(format!("item {n} is not open, and something happened to it")))
    }

    fn all_there(&mut self, found: u64, said: Option<u64>, what: &str) {
        let said = said.unwrap_or(0);
        if found != said {
            self.found.lost += said.abs_diff(found);
            self.found.tell(format!("{said} {what} were written, and {found} are there"));
        }
    }

    fn set_up(&mut self, seq: u64) {
        let now = self.records.setup_at(seq);
        for open in self.open.values_mut() {
            open.row = self.records.moved(&open.row, self.setup, now);
        }
        self.setup = now;
        self.values.clear();
    }

    fn items(&mut self, entry: &Entry) {
        let (first, many) =
            (entry.body["first"].as_u64().unwrap_or(0), entry.body["added"].as_u64().unwrap_or(0));
        let width = self.records.setups[self.setup].evaluators.len();
        // However many it says: more than there are were not written.
        let there = many.min(self.records.items.len() as u64);
        if there < many {
            self.found.lost += many - there;
            self.found
                .tell(format!("{many} items of entry {} were written, and {there} are there", entry.seq));
        }
        for n in first..first.saturating_add(there) {
            let item = (n as usize).checked_sub(1).and_then(|at| self.records.items.get(at));
            let item = item.filter(|item| item.n == n && item.seq == entry.seq);
            let Some(item) = item.filter(|_| n == self.next) else {
                self.found.lost += 1;
                self.found.tell(format!("item {n} of entry {} is not there", entry.seq));
                continue;
            };
            self.next += 1;
            let row = item.scores.clone().unwrap_or_else(|| vec![f64::NAN; width]);
            if row.len() != width {
                self.found.tell(format!("item {n} has {} scores, and {width} evaluators sat", row.len()));
            }
            if item.arrived != entry.at {
                self.found.tell(format!("item {n} came in with entry {} and says another time", entry.seq));
            }
            if let Some(wrong) = self.records.wrong_draw(item) {
                self.found.tell(wrong);
            }
            self.open.insert(n, Open::of(item, row));
        }
        let late = self.records.late.get(&entry.seq);
        // Late scores of what was erased are gone.
        if self.models.erased().next().is_none() {
            self.all_there(late.map_or(0, Vec::len) as u64, entry.body["rescored"].as_u64(), "late scores");
        }
        for (n, row) in late.into_iter().flatten() {
            if row.len() != width {
                self.found.tell(format!("item {n} got {} scores, and {width} evaluators sat", row.len()));
            } else if let Some(open) = self.open.get_mut(n) {
                let first = open.row.iter().zip(row).any(|(before, now)| before.is_nan() && !now.is_nan());
                if self.records.newly(entry.seq, *n).is_some_and(|said| said != first) {
                    self.found.tell(format!(
                        "entry {} is wrong about whether an evaluator scores item {n} for the first time",
                        entry.seq
                    ));
                }
                open.row.clone_from(row);
                self.values.remove(n);
            }
        }
    }
}
