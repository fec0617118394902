//! The rows as they are, read in one sweep and understood anew: nothing here is shared with those who wrote them.

use super::{Lease, Problem};
use jurybox::Evaluators;
use jurybox::toolbox::{hash_number, hash_text};
use rusqlite::{Connection, Row};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// An entry of the log.
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) body: Value,
}

/// An item as it came.
pub(super) struct Item {
    pub(super) n: u64,
    /// None once erased.
    pub(super) key: Option<String>,
    pub(super) seq: u64,
    pub(super) arrived: i64,
    /// None once erased.
    pub(super) scores: Option<Vec<f64>>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) audit: Option<f64>,
    pub(super) due: Option<i64>,
    pub(super) closed: Option<u64>,
}

/// One line of a claim.
pub(super) struct Pick {
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
pub(super) struct Verdict {
    pub(super) seq: u64,
    pub(super) i: u64,
    pub(super) item: u64,
    pub(super) slot: i64,
    pub(super) reviewer: String,
    pub(super) source: String,
    pub(super) reward: f64,
    pub(super) replaces: Option<(u64, u64)>,
    pub(super) replaced_by: Option<u64>,
    pub(super) decides: Option<f64>,
    pub(super) probability: f64,
    pub(super) explored: bool,
    pub(super) stands_from: i64,
    pub(super) claim: Option<u64>,
}

/// Who sat from which entry on, under which policy, and with which patience.
pub(super) struct Setup {
    pub(super) seq: u64,
    pub(super) evaluators: Evaluators,
    pub(super) policy: String,
    pub(super) config: Value,
}

/// A queue, all of it.
pub(super) struct Records {
    pub(super) name: String,
    pub(super) head: u64,
    /// The time of the last entry, as the queue's row has it.
    pub(super) at: i64,
    pub(super) log: Vec<Entry>,
    pub(super) items: Vec<Item>,
    pub(super) late: HashMap<u64, Vec<(u64, Vec<f64>)>>,
    pub(super) late_of: HashMap<u64, Vec<(u64, Vec<f64>)>>,
    pub(super) picks: HashMap<u64, Vec<Pick>>,
    pub(super) verdicts: HashMap<u64, Vec<Verdict>>,
    pub(super) leases: Vec<(u64, Lease)>,
    pub(super) skips: Vec<(u64, u64, String)>,
    /// Entry, state and hash of each.
    pub(super) checkpoints: Vec<(u64, Vec<u8>, Vec<u8>)>,
    pub(super) setups: Vec<Setup>,
}

pub(super) type Found<T> = Result<T, Problem>;

fn told(error: impl std::fmt::Display) -> Problem {
    Problem(error.to_string())
}

fn all<T>(
    db: &Connection,
    sql: &str,
    queue: i64,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Found<Vec<T>> {
    let mut statement = db.prepare(sql).map_err(told)?;
    let rows = statement.query_map([queue], |row| read(row)).map_err(told)?;
    rows.collect::<rusqlite::Result<_>>().map_err(told)
}

fn doubles(bytes: Option<Vec<u8>>) -> Option<Vec<f64>> {
    let bytes = bytes?;
    Some(bytes.chunks(8).map(|eight| eight.try_into().map_or(f64::NAN, f64::from_le_bytes)).collect())
}

/// A queue's row.
pub(super) struct QueueRow {
    id: i64,
    name: String,
    head: u64,
    at: i64,
}

/// The queues of a database.
pub(super) fn queues(db: &Connection) -> Found<Vec<QueueRow>> {
    all(db, "SELECT id, name, head, at FROM queues WHERE id > ?1 ORDER BY id", 0, |row| {
        Ok(QueueRow { id: row.get(0)?, name: row.get(1)?, head: row.get(2)?, at: row.get(3)? })
    })
}

impl Records {
    pub(super) fn read(db: &Connection, of: QueueRow) -> Found<Records> {
        let QueueRow { id: queue, name, head, at } = of;
        let log =
            all(db, "SELECT seq, at, kind, body FROM log WHERE queue = ?1 ORDER BY seq", queue, |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?))
            })?;
        let log = log.into_iter().map(|(seq, at, kind, body)| {
            let body =
                serde_json::from_str(&body).map_err(|error| Problem(format!("entry {seq}: {error}")))?;
            Ok(Entry { seq, at, kind, body })
        });
        let log = log.collect::<Found<Vec<Entry>>>()?;
        let sql = "SELECT n, key, seq, arrived, scores, tags, audit, due, closed_seq FROM items WHERE queue = ?1 ORDER BY n";
        let items = all(db, sql, queue, |row| {
            let tags: String = row.get(5)?;
            Ok(Item {
                n: row.get(0)?,
                key: row.get(1)?,
                seq: row.get(2)?,
                arrived: row.get(3)?,
                scores: doubles(row.get(4)?),
                tags: serde_json::from_str(&tags).unwrap_or_default(),
                audit: row.get(6)?,
                due: row.get(7)?,
                closed: row.get(8)?,
            })
        })?;
        let (mut late, mut late_of): (HashMap<u64, Vec<_>>, HashMap<u64, Vec<_>>) = Default::default();
        let sql = "SELECT seq, n, scores FROM rescored WHERE queue = ?1 ORDER BY seq, n";
        for (seq, n, scores) in all(db, sql, queue, |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?, doubles(row.get(2)?)))
        })? {
            let scores = scores.unwrap_or_default();
            late.entry(seq).or_default().push((n, scores.clone()));
            late_of.entry(n).or_default().push((seq, scores));
        }
        let mut picks: HashMap<u64, Vec<Pick>> = HashMap::new();
        let sql = "SELECT seq, item, slot, reviewer, until, model, value, probability, explored FROM claims WHERE queue = ?1 ORDER BY seq, i";
        for (seq, pick) in all(db, sql, queue, |row| {
            let pick = Pick {
                item: row.get(1)?,
                slot: row.get(2)?,
                reviewer: row.get(3)?,
                until: row.get(4)?,
                model: row.get(5)?,
                value: row.get(6)?,
                probability: row.get(7)?,
                explored: row.get(8)?,
            };
            Ok((row.get::<_, u64>(0)?, pick))
        })? {
            picks.entry(seq).or_default().push(pick);
        }
        let mut verdicts: HashMap<u64, Vec<Verdict>> = HashMap::new();
        let sql = "SELECT seq, i, item, slot, reviewer, source, reward, supersedes_seq, supersedes_i, superseded_by, decides, probability, explored, stands_from, claim FROM verdicts WHERE queue = ?1 ORDER BY seq, i";
        for verdict in all(db, sql, queue, |row| {
            let replaces: (Option<u64>, Option<u64>) = (row.get(7)?, row.get(8)?);
            Ok(Verdict {
                seq: row.get(0)?,
                i: row.get(1)?,
                item: row.get(2)?,
                slot: row.get(3)?,
                reviewer: row.get(4)?,
                source: row.get(5)?,
                reward: row.get(6)?,
                replaces: replaces.0.zip(replaces.1),
                replaced_by: row.get(9)?,
                decides: row.get(10)?,
                probability: row.get(11)?,
                explored: row.get(12)?,
                stands_from: row.get(13)?,
                claim: row.get(14)?,
            })
        })? {
            verdicts.entry(verdict.seq).or_default().push(verdict);
        }
        let sql = "SELECT item, slot, reviewer, until, claim, probability, explored FROM leases WHERE queue = ?1 ORDER BY item, slot";
        let leases = all(db, sql, queue, |row| {
            let lease = Lease {
                slot: row.get(1)?,
                reviewer: row.get(2)?,
                until: row.get(3)?,
                claim: row.get(4)?,
                probability: row.get(5)?,
                explored: row.get(6)?,
            };
            Ok((row.get(0)?, lease))
        })?;
        let sql = "SELECT item, seq, reviewer FROM skips WHERE queue = ?1 ORDER BY item, seq";
        let skips = all(db, sql, queue, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let sql = "SELECT seq, state, sha256 FROM checkpoints WHERE queue = ?1 ORDER BY seq";
        let checkpoints = all(db, sql, queue, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let setups =
            log.iter().filter(|entry| entry.kind == "create" || entry.kind == "configure").map(|entry| {
                let config = entry.body["config"].clone();
                let evaluators = serde_json::from_value(config["evaluators"].clone()).map_err(told)?;
                let policy = config["policy"].as_str().unwrap_or_default().to_string();
                Ok(Setup { seq: entry.seq, evaluators, policy, config })
            });
        let setups = setups.collect::<Found<Vec<Setup>>>()?;
        Ok(Records {
            name,
            head,
            at,
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
        })
    }

    /// A verdict by its entry and its place there.
    pub(super) fn verdict(&self, (seq, i): (u64, u64)) -> Option<&Verdict> {
        self.verdicts.get(&seq)?.iter().find(|verdict| verdict.i == i)
    }

    /// The probability with which an item was drawn for an audit, if it was: a matter of its id, the queue's secret and the rate.
    /// Nothing where it was erased, and its id with it.
    pub(super) fn audit_of(&self, item: &Item) -> Option<Option<f64>> {
        let secret = self.log.first()?.body["secret"].as_u64()?;
        let rate = self.setups[self.setup_before(item.seq)].config["audit_rate"].as_f64().unwrap_or(0.0);
        let drawn = hash_number(secret, hash_text(item.key.as_ref()?)) as f64 / 2_f64.powi(64);
        Some((drawn < rate).then_some(rate))
    }

    /// The set-up that an entry was written under: the last one before it.
    pub(super) fn setup_before(&self, seq: u64) -> usize {
        self.setups.iter().rposition(|setup| setup.seq < seq).unwrap_or(0)
    }

    /// The set-up as known at an entry: that entry counts.
    pub(super) fn setup_at(&self, seq: u64) -> usize {
        self.setups.iter().rposition(|setup| setup.seq <= seq).unwrap_or(0)
    }

    /// A row moved through set-ups: a score stays while its evaluator sits.
    pub(super) fn moved(&self, row: &[f64], from: usize, to: usize) -> Vec<f64> {
        let mut row = row.to_vec();
        for step in from..to {
            let (old, new) =
                (self.setups[step].evaluators.as_slice(), self.setups[step + 1].evaluators.as_slice());
            if old != new {
                row = new
                    .iter()
                    .map(|seat| old.iter().position(|o| o == seat).map_or(f64::NAN, |at| row[at]))
                    .collect();
            }
        }
        row
    }

    /// The scores that an item had when an entry was written, and under which set-up they were.
    pub(super) fn scores_at(&self, n: u64, seq: u64) -> Option<(Vec<f64>, usize)> {
        let item = self.items.get(usize::try_from(n.checked_sub(1)?).ok()?)?;
        let late = self.late_of.get(&n).and_then(|list| list.iter().rev().find(|(at, _)| *at <= seq));
        match late {
            Some((at, scores)) => Some((scores.clone(), self.setup_before(*at))),
            None => Some((item.scores.clone()?, self.setup_before(item.seq))),
        }
    }
}
