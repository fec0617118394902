//! Reads all rows of a queue and parses them, without the code by which the server reads rows.

use super::payloads::{self, PayloadHashes};
use super::rows::Db;
use super::seals::{self, SealState, TableHashes};
use super::{ReplayedLease, VerifyFrom, Violation};
use crate::store::schema::CLEARS_AWAY;
use jurybox::Evaluators;
use jurybox::toolbox::{hash_number, hash_text};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A log entry.
pub(super) struct LoggedEntry {
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) body: Value,
    /// Whether it matches its seal.
    pub(super) seal: SealState,
}

impl LoggedEntry {
    /// The rules that it names; 0 if it names none.
    pub(super) fn rules(&self) -> u64 {
        self.body["rules"].as_u64().unwrap_or(0)
    }
}

/// An item's row.
pub(super) struct Item {
    pub(super) n: u64,
    /// None if the item was erased.
    pub(super) key: Option<String>,
    pub(super) seq: u64,
    pub(super) arrived: i64,
    /// None if the item was erased.
    pub(super) scores: Option<Vec<f64>>,
    pub(super) tags: Arc<BTreeMap<String, String>>,
    pub(super) random_check: Option<f64>,
    pub(super) due: Option<i64>,
    pub(super) closed: Option<u64>,
}

/// A pick of a claim.
pub(super) struct ClaimLine {
    pub(super) item: u64,
    pub(super) slot: i64,
    pub(super) reviewer: String,
    pub(super) until: i64,
    pub(super) model: u64,
    pub(super) value: f64,
    pub(super) probability: f64,
    pub(super) explored: bool,
}

/// A verdict.
#[derive(Clone)]
pub(super) struct LoggedVerdict {
    pub(super) seq: u64,
    pub(super) i: u64,
    pub(super) item: u64,
    pub(super) slot: i64,
    pub(super) reviewer: String,
    pub(super) source: String,
    pub(super) label: Option<String>,
    pub(super) reward: f64,
    pub(super) replaces: Option<(u64, u64)>,
    pub(super) replaced_by: Option<u64>,
    pub(super) decides: Option<f64>,
    pub(super) probability: f64,
    pub(super) explored: bool,
    pub(super) stands_from: i64,
    pub(super) claim: Option<u64>,
}

/// Evaluators, policy and configuration from an entry on.
pub(super) struct QueueSetup {
    pub(super) seq: u64,
    pub(super) evaluators: Evaluators,
    pub(super) policy: String,
    pub(super) config: Value,
}

/// All records of a queue.
pub(super) struct QueueRecords {
    pub(super) name: String,
    pub(super) head: u64,
    /// The time of the last entry, according to the queue's row.
    pub(super) at: i64,
    /// The version of the tables.
    pub(super) tables: i64,
    /// The first entry from which all must have a seal.
    pub(super) sealed_from: u64,
    /// The first entry from which all must have a seal, according to the queue's row.
    pub(super) sealed_said: Option<u64>,
    pub(super) log: Vec<LoggedEntry>,
    pub(super) items: Vec<Item>,
    /// Late scores by entry, with their items.
    pub(super) late: HashMap<u64, Vec<(u64, Vec<f64>)>>,
    /// Late scores by item, with their entries.
    pub(super) late_of: HashMap<u64, Vec<(u64, Vec<f64>)>>,
    pub(super) picks: HashMap<u64, Vec<ClaimLine>>,
    pub(super) verdicts: HashMap<u64, Vec<LoggedVerdict>>,
    pub(super) leases: Vec<(u64, ReplayedLease)>,
    pub(super) skips: Vec<(u64, u64, String, String)>,
    /// For each checkpoint: entry, state and hash.
    pub(super) checkpoints: Vec<(u64, Vec<u8>, Vec<u8>)>,
    pub(super) setups: Vec<QueueSetup>,
    /// Hashes of the stored rows.
    pub(super) sealed: TableHashes,
    /// Hashes of payloads and notes.
    pub(super) shown: PayloadHashes,
    /// The hash of the whole log.
    pub(super) digest: String,
    /// Claims up to this entry are not checked.
    pub(super) since: u64,
    /// Whether an earlier report covers the claims that are not checked.
    pub(super) proved_before: bool,
    /// How the log differs from the one in the earlier report.
    pub(super) other_log: Option<String>,
}

pub(super) type CheckResult<T> = Result<T, Violation>;

fn told(error: impl std::fmt::Display) -> Violation {
    Violation(error.to_string())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A queue's row.
pub(super) struct QueueHeader {
    id: i64,
    name: String,
    head: u64,
    at: i64,
    sealed: Option<u64>,
}

/// The queues of a database.
pub(super) fn queues(db: &mut Db) -> CheckResult<Vec<QueueHeader>> {
    // Databases before version 8 lack the last column.
    db.all("SELECT * FROM queues WHERE id > ?1 ORDER BY id", 0, |row| {
        let sealed = if row.width() > 4 { row.number_if_any(4)? } else { None };
        Ok(QueueHeader { id: row.int(0)?, name: row.text(1)?, head: row.number(2)?, at: row.int(3)?, sealed })
    })
}

/// The tables with rows of queues that exist in every version.
const OF_QUEUES: [&str; 10] = [
    "log",
    "items",
    "rescored",
    "payloads",
    "claims",
    "leases",
    "skips",
    "verdicts",
    "checkpoints",
    "idempotency",
];

/// Rows of queues that do not exist, counted by queue and table.
pub(super) fn orphans(db: &mut Db, version: i64) -> CheckResult<BTreeMap<i64, Vec<(&'static str, u64)>>> {
    let mut orphans: BTreeMap<i64, Vec<(&'static str, u64)>> = BTreeMap::new();
    // Rows of deleted queues do not count: they are deleted step by step.
    let deleted =
        if version < CLEARS_AWAY { "" } else { "AND queue NOT IN (SELECT queue FROM deleted_queues)" };
    for table in OF_QUEUES {
        let sql = format!(
            "SELECT queue, COUNT(*) FROM {table} WHERE queue NOT IN (SELECT id FROM queues WHERE id > ?1) {deleted} GROUP BY queue"
        );
        for (queue, many) in db.all(&sql, 0, |row| Ok((row.int(0)?, row.number(1)?)))? {
            orphans.entry(queue).or_default().push((table, many));
        }
    }
    Ok(orphans)
}

/// The verdicts of a queue by entry.
fn verdicts(db: &mut Db, queue: i64) -> CheckResult<HashMap<u64, Vec<LoggedVerdict>>> {
    let mut verdicts: HashMap<u64, Vec<LoggedVerdict>> = HashMap::new();
    let sql = "SELECT seq, i, item, slot, reviewer, source, reward, supersedes_seq, supersedes_i, superseded_by, decides, probability, explored, stands_from, claim, label FROM verdicts WHERE queue = ?1 ORDER BY seq, i";
    for verdict in db.all(sql, queue, |row| {
        let replaces = (row.number_if_any(7)?, row.number_if_any(8)?);
        Ok(LoggedVerdict {
            seq: row.number(0)?,
            i: row.number(1)?,
            item: row.number(2)?,
            slot: row.int(3)?,
            reviewer: row.text(4)?,
            source: row.text(5)?,
            reward: row.real(6)?,
            replaces: replaces.0.zip(replaces.1),
            replaced_by: row.number_if_any(9)?,
            decides: row.real_if_any(10)?,
            probability: row.real(11)?,
            explored: row.int(12)? != 0,
            stands_from: row.int(13)?,
            claim: row.number_if_any(14)?,
            label: row.text_if_any(15)?,
        })
    })? {
        verdicts.entry(verdict.seq).or_default().push(verdict);
    }
    Ok(verdicts)
}

/// The entries of a queue's log, a hash of all entries, and the hash up to entry `since`.
fn log(db: &mut Db, queue: i64, since: u64) -> CheckResult<(Vec<LoggedEntry>, [u8; 32], Option<String>)> {
    let (mut log, mut chain, mut then) = (Vec::new(), [0_u8; 32], None);
    let sql = "SELECT seq, at, actor, kind, body FROM log WHERE queue = ?1 ORDER BY seq";
    db.each(sql, queue, |row| {
        let (seq, at, kind, body) = (row.number(0)?, row.int(1)?, row.text(3)?, row.text(4)?);
        let seal = seals::of_entry(seq, at, &row.text(2)?, &kind, &body);
        // The reason of a skip may be erased, and the seal with it, so the hash leaves out both.
        let lasting = if kind == "release" { body.split(",\"skip\":").next() } else { None };
        let mut hash = Sha256::new_with_prefix(chain);
        row.with_text(4, lasting.unwrap_or(&body).into()).hash(5, &mut hash);
        chain = hash.finalize().into();
        if seq == since {
            then = Some(hex(&chain));
        }
        let body = serde_json::from_str(&body).map_err(|error| Violation(format!("entry {seq}: {error}")))?;
        log.push(LoggedEntry { seq, at, kind, body, seal });
        Ok(())
    })?;
    Ok((log, chain, then))
}

/// The items of a queue, by number.
fn items(db: &mut Db, queue: i64) -> CheckResult<Vec<Item>> {
    let sql = "SELECT n, key, seq, arrived, scores, tags, audit, due, closed_seq FROM items WHERE queue = ?1 ORDER BY n";
    // Many items have the same tags.
    let mut known: HashMap<String, Arc<BTreeMap<String, String>>> = HashMap::new();
    let mut items = Vec::new();
    db.each(sql, queue, |row| {
        let text = row.text(5)?;
        let tags = if let Some(tags) = known.get(&text) {
            tags.clone()
        } else {
            let tags: Arc<BTreeMap<_, _>> = Arc::new(serde_json::from_str(&text).unwrap_or_default());
            if known.len() < 10_000 {
                known.insert(text, tags.clone());
            }
            tags
        };
        items.push(Item {
            n: row.number(0)?,
            key: row.text_if_any(1)?,
            seq: row.number(2)?,
            arrived: row.int(3)?,
            scores: row.doubles(4)?,
            tags,
            random_check: row.real_if_any(6)?,
            due: row.int_if_any(7)?,
            closed: row.number_if_any(8)?,
        });
        Ok(())
    })?;
    Ok(items)
}

/// The picks of a queue's claims, by entry.
fn picks(db: &mut Db, queue: i64) -> CheckResult<HashMap<u64, Vec<ClaimLine>>> {
    let mut picks: HashMap<u64, Vec<ClaimLine>> = HashMap::new();
    let sql = "SELECT seq, item, slot, reviewer, until, model, value, probability, explored FROM claims WHERE queue = ?1 ORDER BY seq, i";
    for (seq, pick) in db.all(sql, queue, |row| {
        let pick = ClaimLine {
            item: row.number(1)?,
            slot: row.int(2)?,
            reviewer: row.text(3)?,
            until: row.int(4)?,
            model: row.number(5)?,
            value: row.real(6)?,
            probability: row.real(7)?,
            explored: row.int(8)? != 0,
        };
        Ok((row.number(0)?, pick))
    })? {
        picks.entry(seq).or_default().push(pick);
    }
    Ok(picks)
}

impl QueueRecords {
    pub(super) fn read(
        db: &mut Db,
        tables: i64,
        of: QueueHeader,
        since: &VerifyFrom,
    ) -> CheckResult<QueueRecords> {
        let QueueHeader { id: queue, name, head, at, sealed } = of;
        let earlier = match since {
            VerifyFrom::Report(proof) if proof.ok => {
                proof.queues.iter().find(|checked| checked.queue == name && checked.not_checked == 0)
            }
            _ => None,
        };
        let since = match since {
            VerifyFrom::Beginning => 0,
            VerifyFrom::Entry(seq) => *seq,
            VerifyFrom::Report(_) => earlier.map_or(0, |checked| checked.entries),
        };
        let (mut log, chain, then) = log(db, queue, since)?;
        let other_log = earlier
            .filter(|checked| Some(&checked.log) != then.as_ref() && checked.entries > 0)
            .map(|_| format!("the log up to entry {since} differs from the one in the earlier report"));
        let shown = payloads::of(db, queue, tables, &mut log)?;
        let items = items(db, queue)?;
        let (mut late, mut late_of): (HashMap<u64, Vec<_>>, HashMap<u64, Vec<_>>) = Default::default();
        let sql = "SELECT seq, n, scores FROM rescored WHERE queue = ?1 ORDER BY seq, n";
        for (seq, n, scores) in
            db.all(sql, queue, |row| Ok((row.number(0)?, row.number(1)?, row.doubles(2)?)))?
        {
            let scores = scores.unwrap_or_default();
            late.entry(seq).or_default().push((n, scores.clone()));
            late_of.entry(n).or_default().push((seq, scores));
        }
        let picks = picks(db, queue)?;
        let verdicts = verdicts(db, queue)?;
        let sql = "SELECT item, slot, reviewer, until, claim, probability, explored FROM leases WHERE queue = ?1 ORDER BY item, slot";
        let leases = db.all(sql, queue, |row| {
            let lease = ReplayedLease {
                slot: row.int(1)?,
                reviewer: row.text(2)?,
                until: row.int(3)?,
                claim: row.number(4)?,
                probability: row.real(5)?,
                explored: row.int(6)? != 0,
            };
            Ok((row.number(0)?, lease))
        })?;
        let sql = "SELECT item, seq, reviewer, reason FROM skips WHERE queue = ?1 ORDER BY item, seq";
        let skips =
            db.all(sql, queue, |row| Ok((row.number(0)?, row.number(1)?, row.text(2)?, row.text(3)?)))?;
        let sql = "SELECT seq, state, sha256 FROM checkpoints WHERE queue = ?1 ORDER BY seq";
        let checkpoints = db.all(sql, queue, |row| Ok((row.number(0)?, row.bytes(1)?, row.bytes(2)?)))?;
        let setups =
            log.iter().filter(|entry| entry.kind == "create" || entry.kind == "configure").map(|entry| {
                let config = entry.body["config"].clone();
                let evaluators = serde_json::from_value(config["evaluators"].clone()).map_err(told)?;
                let policy = config["policy"].as_str().unwrap_or_default().to_string();
                Ok(QueueSetup { seq: entry.seq, evaluators, policy, config })
            });
        let setups = setups.collect::<CheckResult<Vec<QueueSetup>>>()?;
        // Entries after a sealed one need a seal, even if the queue's row was changed.
        let first =
            log.iter().find(|entry| entry.seal != SealState::None).map_or(head + 1, |entry| entry.seq);
        let (sealed_said, sealed_from) = (sealed, sealed.unwrap_or(first).min(first));
        let sealed = seals::of_rows(db, queue, &log)?;
        Ok(QueueRecords {
            name,
            head,
            at,
            tables,
            sealed_from,
            sealed_said,
            log,
            items,
            late,
            late_of,
            picks,
            verdicts,
            leases,
            skips,
            checkpoints,
            setups,
            sealed,
            shown,
            digest: hex(&chain),
            since,
            proved_before: earlier.is_some(),
            other_log,
        })
    }

    /// The tags of an item.
    pub(super) fn tags(&self, n: u64) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        (n as usize).checked_sub(1).and_then(|at| self.items.get(at)).map_or(&NONE, |item| &*item.tags)
    }

    /// A verdict by its entry and position.
    pub(super) fn verdict(&self, (seq, i): (u64, u64)) -> Option<&LoggedVerdict> {
        self.verdicts.get(&seq)?.iter().find(|verdict| verdict.i == i)
    }

    /// The fault of an item's random-check draw, which depends on its id, the queue's secret
    /// and the rate. None if nothing is, or if the item was erased.
    pub(super) fn wrong_draw(&self, item: &Item) -> Option<String> {
        let secret = self.log.first()?.body["secret"].as_u64()?;
        let rate = self.setups[self.setup_before(item.seq)].config["audit_rate"].as_f64().unwrap_or(0.0);
        let share = hash_number(secret, hash_text(item.key.as_ref()?)) as f64 / 2_f64.powi(64);
        let drawn = (share < rate).then_some(rate);
        (drawn != item.random_check).then(|| {
            format!(
                "item {}: its draw for a random check gives {drawn:?}, but its row says {:?}",
                item.n, item.random_check
            )
        })
    }

    /// The position of the setup in force when an entry was written.
    pub(super) fn setup_before(&self, seq: u64) -> usize {
        self.setups.iter().rposition(|setup| setup.seq < seq).unwrap_or(0)
    }

    /// The position of the setup after an entry.
    pub(super) fn setup_at(&self, seq: u64) -> usize {
        self.setups.iter().rposition(|setup| setup.seq <= seq).unwrap_or(0)
    }

    /// A row of scores moved to a later setup: evaluators that stay keep their score, and new ones
    /// get NaN.
    pub(super) fn moved(&self, row: &[f64], from: usize, to: usize) -> Vec<f64> {
        let mut row = row.to_vec();
        for step in from..to {
            let (old, new) =
                (self.setups[step].evaluators.as_slice(), self.setups[step + 1].evaluators.as_slice());
            if old != new {
                row = new
                    .iter()
                    .map(|seat| {
                        let at = old.iter().position(|other| other == seat);
                        at.and_then(|at| row.get(at)).copied().unwrap_or(f64::NAN)
                    })
                    .collect();
            }
        }
        row
    }

    /// Whether an entry records that an evaluator scores an item for the first time. None for
    /// entries of earlier programs, which do not record this.
    pub(super) fn newly(&self, seq: u64, n: u64) -> Option<bool> {
        let entry = (seq as usize).checked_sub(1).and_then(|at| self.log.get(at));
        let ranges = entry.and_then(|entry| entry.body["newly"].as_array())?;
        let at = ranges.partition_point(|stretch| stretch[1].as_u64() < Some(n));
        Some(ranges.get(at).is_some_and(|stretch| stretch[0].as_u64() <= Some(n)))
    }

    /// The scores of an item after an entry, and the position of the setup in which they were
    /// written.
    pub(super) fn scores_at(&self, n: u64, seq: u64) -> Option<(Vec<f64>, usize)> {
        let item = self.items.get(usize::try_from(n.checked_sub(1)?).ok()?)?;
        let late = self.late_of.get(&n).and_then(|list| list.iter().rev().find(|(at, _)| *at <= seq));
        match late {
            Some((at, scores)) => Some((scores.clone(), self.setup_before(*at))),
            None => Some((item.scores.clone()?, self.setup_before(item.seq))),
        }
    }
}
