//! The checker: proves from the rows alone that a queue kept its word.
//!
//! It shares no code with those who wrote them, only the library that ranks. It plays the log again item by item, with a plain list
//! where the server has an order with a cursor, and computes every model that a claim names from the facts known at that entry.
//! Every claim must be the exact top K under its model: items whose date had come, then audits, then the best. No review of an item
//! may be in two hands; no verdict may count twice; what was accepted must be there.

mod models;
mod read;
mod rows;
mod tables;
mod top;

use crate::{Error, Place};
use jurybox::Fitted;
use models::Models;
use read::{Entry, Found, Records};
use rows::Db;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use top::compare;

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
    /// Claims whose exactness cannot be proved any more, because an item was erased since.
    pub unprovable: u64,
    /// Models that claims name.
    pub models: u64,
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
    /// What is wrong, in words; the first hundred.
    pub problems: Vec<String>,
}

impl Checked {
    /// Whether everything is as it must be.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.exact + self.unprovable == self.claims
    }

    fn tell(&mut self, what: String) {
        if self.problems.len() < 100 {
            self.problems.push(what);
        }
    }
}

/// Checks every queue of a folder or a database as it is now, whoever writes to it.
pub fn verify(place: impl Into<Place>) -> Result<Vec<Checked>, Error> {
    let mut db = Db::open(&place.into())?;
    let corrupt = |problem: Problem| Error::Corrupt(problem.0);
    let queues = read::queues(&mut db).map_err(corrupt)?;
    let check = |(id, name, head)| Records::read(&mut db, id, name, head).map(|records| check(&records));
    queues.into_iter().map(check).collect::<Found<Vec<Checked>>>().map_err(corrupt)
}

/// An open item, as the checker sees it.
struct Open {
    row: Vec<f64>,
    arrived: i64,
    tags: BTreeMap<String, String>,
    audit: Option<f64>,
    due: Option<i64>,
    leases: Vec<(i64, String, i64)>,
    verdicts: Vec<(i64, String, f64)>,
    skipped: HashSet<String>,
}

impl Open {
    /// The review that is free, if one is.
    fn free(&self, quorum: i64) -> Option<i64> {
        let rewards: HashSet<u64> =
            self.verdicts.iter().map(|(_, _, reward)| (reward + 0.0).to_bits()).collect();
        let needed = if rewards.len() > 1 { 2 * quorum - 1 } else { quorum };
        (0..needed).find(|slot| {
            !self.leases.iter().any(|lease| lease.0 == *slot)
                && !self.verdicts.iter().any(|verdict| verdict.0 == *slot)
        })
    }

    fn knows(&self, reviewer: &str) -> bool {
        self.skipped.contains(reviewer)
            || self.leases.iter().any(|lease| lease.1 == reviewer)
            || self.verdicts.iter().any(|verdict| verdict.1 == reviewer)
    }
}

/// The log played again.
struct Play<'a> {
    records: &'a Records,
    models: Models<'a>,
    open: BTreeMap<u64, Open>,
    next: u64,
    setup: usize,
    /// The last model that was asked for, and the values by it.
    fitted: Option<(u64, Fitted)>,
    values: HashMap<u64, f64>,
    found: Checked,
}

fn check(records: &Records) -> Checked {
    let models = Models::of(records);
    let mut named: HashSet<u64> = HashSet::new();
    named.extend(records.picks.values().flatten().map(|pick| pick.model));
    let found = Checked {
        queue: records.name.clone(),
        entries: records.log.len() as u64,
        verdicts: records.verdicts.values().map(|list| list.len() as u64).sum(),
        models: named.len() as u64,
        revisions: models.revisions(),
        ..Checked::default()
    };
    let open = BTreeMap::new();
    let mut play =
        Play { records, models, open, next: 1, setup: 0, fitted: None, values: HashMap::new(), found };
    play.all();
    play.compare_tables();
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
            if entry.at < last {
                self.found.tell(format!("entry {} is earlier than the one before it", entry.seq));
            }
            last = entry.at;
            self.expire(entry.at);
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
            open.leases.retain(|lease| lease.2 > at);
            self.found.expired += (before - open.leases.len()) as u64;
        }
    }

    fn entry(&mut self, entry: &Entry) -> Found<()> {
        let records = self.records;
        let body = &entry.body;
        let held = || {
            let list = body["leases"].as_array().cloned().unwrap_or_default();
            list.into_iter()
                .filter_map(|held| Some((held["n"].as_u64()?, held["slot"].as_i64()?)))
                .collect::<Vec<_>>()
        };
        match entry.kind.as_str() {
            "create" | "configure" => self.set_up(entry.seq),
            "items" => self.items(entry),
            "claim" => self.claim(entry)?,
            "extend" => {
                for (n, slot) in held() {
                    let until = body["until"].as_i64().unwrap_or(0);
                    for lease in self.at(n)?.leases.iter_mut().filter(|lease| lease.0 == slot) {
                        lease.2 = until;
                    }
                }
            }
            "release" => {
                let (reviewer, skip) =
                    (body["reviewer"].as_str().unwrap_or_default().to_string(), !body["skip"].is_null());
                for (n, slot) in held() {
                    let open = self.at(n)?;
                    open.leases.retain(|lease| lease.0 != slot);
                    if skip {
                        open.skipped.insert(reviewer.clone());
                    }
                }
            }
            "verdicts" => {
                let found = records.verdicts.get(&entry.seq).map_or(0, Vec::len) as u64;
                self.all_there(found, body["given"].as_u64(), "verdicts");
                for verdict in records.verdicts.get(&entry.seq).into_iter().flatten() {
                    self.verdict(verdict)?;
                }
            }
            "undo" => self.undo(entry)?,
            "close" => {
                for range in body["items"].as_array().into_iter().flatten() {
                    for n in range[0].as_u64().unwrap_or(1)..=range[1].as_u64().unwrap_or(0) {
                        self.open.remove(&n);
                    }
                }
            }
            "erase" => {
                for n in body["items"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64)
                {
                    self.open.remove(&n);
                    let item = records.items.get(n as usize - 1);
                    if item.is_some_and(|item| item.scores.is_some() || item.named) {
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
        for n in first..first + many {
            let item =
                self.records.items.get(n as usize - 1).filter(|item| item.n == n && item.seq == entry.seq);
            let Some(item) = item.filter(|_| n == self.next) else {
                self.found.lost += 1;
                self.found.tell(format!("item {n} of entry {} is not there", entry.seq));
                continue;
            };
            self.next += 1;
            let row = item.scores.clone().unwrap_or_else(|| vec![f64::NAN; width]);
            let (tags, skipped) = (item.tags.clone(), HashSet::new());
            let open = Open {
                row,
                arrived: item.arrived,
                tags,
                audit: item.audit,
                due: item.due,
                leases: Vec::new(),
                verdicts: Vec::new(),
                skipped,
            };
            self.open.insert(n, open);
        }
        for (n, row) in self.records.late.get(&entry.seq).into_iter().flatten() {
            if let Some(open) = self.open.get_mut(n) {
                open.row.clone_from(row);
                self.values.remove(n);
            }
        }
    }

    fn claim(&mut self, entry: &Entry) -> Found<()> {
        self.found.claims += 1;
        let none = Vec::new();
        let picks = self.records.picks.get(&entry.seq).unwrap_or(&none);
        self.all_there(picks.len() as u64, entry.body["picked"].as_u64(), "picks");
        let (model, reviewer, until) =
            (entry.body["model"].as_u64(), entry.body["reviewer"].as_str(), entry.body["until"].as_i64());
        let told_otherwise = |pick: &read::Pick| {
            Some(pick.model) != model || Some(&*pick.reviewer) != reviewer || Some(pick.until) != until
        };
        if picks.iter().any(told_otherwise) {
            self.found
                .tell(format!("entry {} (claim): its rows say something else than the entry", entry.seq));
        }
        // What was erased since the model was made is missing from it now.
        if entry.body["model"].as_u64().unwrap_or(0) < self.models.provable_from() {
            self.found.unprovable += 1;
        } else {
            match self.top(entry).and_then(|top| compare(&top, picks)) {
                Ok(()) => self.found.exact += 1,
                Err(Problem(what)) => self.found.tell(format!("entry {} (claim): {what}", entry.seq)),
            }
        }
        for pick in picks {
            let open = self.at(pick.item)?;
            if open.leases.iter().any(|lease| lease.0 == pick.slot)
                || open.verdicts.iter().any(|verdict| verdict.0 == pick.slot)
            {
                self.found.double_leases += 1;
                return Err(Problem(format!("item {}, review {} is in two hands", pick.item, pick.slot)));
            }
            open.leases.push((pick.slot, pick.reviewer.clone(), pick.until));
        }
        Ok(())
    }

    fn verdict(&mut self, verdict: &read::Verdict) -> Found<()> {
        let Some(open) = self.open.get_mut(&verdict.item) else {
            let may = verdict.replaces.is_some() || verdict.source == "appeal";
            return if may {
                Ok(())
            } else {
                Err(Problem(format!("a verdict on item {}, which is closed", verdict.item)))
            };
        };
        if verdict.source == "reviewer" {
            let same = |other: &(i64, String, f64)| other.0 == verdict.slot;
            let by_another =
                open.leases.iter().any(|lease| lease.0 == verdict.slot && lease.1 != verdict.reviewer);
            let again = verdict.replaces.is_none()
                && (open.verdicts.iter().any(|other| same(other) || other.1 == verdict.reviewer));
            open.leases.retain(|lease| lease.0 != verdict.slot);
            open.verdicts.retain(|other| !same(other));
            open.verdicts.push((verdict.slot, verdict.reviewer.clone(), verdict.reward));
            if again {
                self.found.twice += 1;
                return Err(Problem(format!(
                    "item {}, review {} has two verdicts",
                    verdict.item, verdict.slot
                )));
            }
            if by_another {
                self.found.double_leases += 1;
                return Err(Problem(format!(
                    "a verdict on item {}, which another reviewer held",
                    verdict.item
                )));
            }
        }
        if verdict.decides.is_some() {
            self.open.remove(&verdict.item);
        }
        Ok(())
    }
}
