//! Content hashes of a table's rows, independent of row order, column order and format.
//!
//! A table that was sorted, or saved again by a spreadsheet, has the same hash, so that rows are
//! neither learnt from nor picked twice.

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::id;
use crate::item_hash::ItemHash;
use crate::join_verdicts::ItemList;
use crate::scan_plan::reviewer;
use crate::state_memory::MOST_VERDICTS;
use crate::table::{ScanRequest, Table};
use jurybox::{Evaluators, Reviewer};
use std::collections::HashSet;

/// Prefix of hashes of rows; hashes of files have none.
pub(crate) const BY_ROWS: &str = "rows-";

/// Content hashes of a table's rows.
///
/// ```
/// use jurybox_files::{TableFingerprint, Roles, Table};
///
/// let dir = tempfile::tempdir()?;
/// let (key, reward) = (Some("post".into()), Some("verdict".into()));
/// let by_post = Roles { key, reward, ..Roles::default() };
/// let content = |name: &str, text: &str| {
///     let path = dir.path().join(name);
///     std::fs::write(&path, text)?;
///     let table = Table::open(&[path], &by_post, true)?;
///     Ok::<_, Box<dyn std::error::Error>>(TableFingerprint::of(&table)?)
/// };
/// let rows = content("a.csv", "post,spam,verdict\np1,0.9,1\np2,0.2,0\n")?;
/// assert_eq!(rows, content("b.csv", "verdict;spam;post\r\n0;0,2;p2\r\n1;0,9; p1\r\n")?);
/// let other = content("c.csv", "post,spam,verdict\np1,0.9,1\np2,0.2,1\n")?;
/// assert!(other.scores == rows.scores && other.rewards != rows.rewards);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFingerprint {
    /// The hash of evaluators, ids and scores.
    pub scores: String,
    /// The hash of evaluators, ids, scores and rewards; equal to `scores` without a reward column.
    pub rewards: String,
}

impl TableFingerprint {
    /// Computes the hashes. The table's key must be the id of its items.
    pub fn of(table: &Table) -> Result<TableFingerprint, Error> {
        Ok(RowScan::of(table, None)?.content)
    }
}

/// The verdicts that a state has learnt already.
#[derive(Clone, Copy)]
pub(crate) struct KnownVerdicts<'a> {
    /// Hashes of items' ids, and of verdicts with their whole rows.
    pub(crate) items: &'a HashSet<ItemHash>,
    /// Whether low rewards are good. Such rewards are negated before they are hashed.
    pub(crate) turned: bool,
}

/// The result of hashing a table's rows.
pub(crate) struct RowScan {
    pub(crate) content: TableFingerprint,
    pub(crate) rows: u64,
    /// Hashes of items and verdicts, in pairs, for the state to remember: the last ones.
    pub(crate) verdicts: Vec<ItemHash>,
    /// Numbers of the rows, within their files, whose verdict was learnt before: same id, scores,
    /// reward and reviewer.
    pub(crate) known: HashSet<u64>,
    /// Rows whose id is known, but with other scores, another reward or another reviewer.
    pub(crate) known_ids: ItemList,
}

impl RowScan {
    /// Scans a table. Verdicts are hashed and compared only if `verdicts` is given and the table
    /// has a reward column.
    pub(crate) fn of(table: &Table, verdicts: Option<KnownVerdicts<'_>>) -> Result<RowScan, Error> {
        let evaluators = table.roles().evaluators();
        let width = evaluators.len();
        let rewarded = table.roles().reward().is_some();
        let verdicts = verdicts.filter(|_| rewarded);
        let none = RowHasher::of(evaluators);
        let (mut scores, mut rewards) = (none.clone(), none.clone());
        let (mut found, mut known, mut known_ids) = (Vec::new(), HashSet::new(), ItemList::default());
        let rows = table.scan(
            ScanRequest {
                key: true,
                reward: rewarded,
                reviewer: verdicts.is_some(),
                ..ScanRequest::default()
            },
            |mut part| {
                let (mut scores, mut rewards) = (none.clone(), none.clone());
                let values = part.batch.take_scores();
                let mut judged: Vec<(usize, Box<str>, [ItemHash; 2])> = Vec::new();
                for (row, id) in part.batch.keys.iter().enumerate() {
                    let values = &values[row * width..(row + 1) * width];
                    let reward = part.batch.rewards.get(row).copied();
                    scores.add(id, values, None);
                    rewards.add(id, values, reward);
                    let given = reward.filter(|reward| !reward.is_nan() && !id.trim().is_empty());
                    if let (Some(KnownVerdicts { turned, .. }), Some(reward)) = (verdicts, given) {
                        let reward = if turned { -reward } else { reward };
                        let by = part.batch.reviewers.get(row).and_then(|name| reviewer(name));
                        let id: Box<str> = id::of(id).into();
                        let names = [ItemHash::of(&id), none.verdict(&id, values, reward, by)];
                        judged.push((row, id, names));
                    }
                }
                Ok((scores, rewards, judged))
            },
            |at, (by_scores, by_rewards, judged)| {
                scores.join(&by_scores);
                rewards.join(&by_rewards);
                for (row, id, [item, verdict]) in judged {
                    let knows = |name| verdicts.is_some_and(|verdicts| verdicts.items.contains(&name));
                    if knows(verdict) {
                        known.insert(at.row_in_file + row as u64);
                    } else if knows(item) {
                        known_ids.push(&id);
                    }
                    found.extend([item, verdict]);
                }
                // A state remembers only the last verdicts.
                if found.len() > 4 * MOST_VERDICTS {
                    found.drain(..found.len() - 2 * MOST_VERDICTS);
                }
                Ok(())
            },
        )?;
        let content = TableFingerprint { scores: scores.name(), rewards: rewards.name() };
        Ok(RowScan { content, rows, verdicts: found, known, known_ids })
    }
}

/// An order-independent hash of rows: the sum of their hashes.
#[derive(Clone)]
pub(crate) struct RowHasher {
    /// Columns in the order of the evaluators' names.
    columns: Vec<usize>,
    head: Fingerprint,
    rows: u64,
    sum: u64,
}

impl RowHasher {
    /// An empty hash of rows scored by these evaluators.
    pub(crate) fn of(evaluators: &Evaluators) -> RowHasher {
        let names: Vec<&str> = evaluators.names().collect();
        let mut columns: Vec<usize> = (0..names.len()).collect();
        columns.sort_by_key(|&column| names[column]);
        let mut head = Fingerprint::new();
        columns.iter().for_each(|&column| head.text(names[column]));
        RowHasher { columns, head, rows: 0, sum: 0 }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, id: &str, scores: &[f64], reward: Option<f64>) {
        let mut row = Fingerprint::new();
        row.text(&id::of(id));
        self.columns.iter().for_each(|&column| row.number(scores[column]));
        reward.into_iter().for_each(|reward| row.number(reward));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row.value());
    }

    /// The hash of the verdict on a row, from its id, scores, reviewer and reward, where high
    /// rewards are good.
    pub(crate) fn verdict(&self, id: &str, scores: &[f64], reward: f64, by: Option<Reviewer>) -> ItemHash {
        let mut name = Fingerprint::new();
        name.text(&id::of(id));
        // Adding zero turns -0.0 into 0.0.
        self.columns.iter().for_each(|&column| name.number(scores[column] + 0.0));
        name.number(reward + 0.0);
        name.bytes(&by.map_or(u64::MAX, Reviewer::code).to_le_bytes());
        ItemHash::named(&name)
    }

    /// Adds the rows of another hash.
    pub(crate) fn join(&mut self, more: &RowHasher) {
        self.rows += more.rows;
        self.sum = self.sum.wrapping_add(more.sum);
    }

    /// The hash as text, with the prefix of row hashes.
    pub(crate) fn name(mut self) -> String {
        self.head.bytes(&self.rows.to_le_bytes());
        self.head.bytes(&self.sum.to_le_bytes());
        format!("{BY_ROWS}{:016x}", self.head.value())
    }
}
