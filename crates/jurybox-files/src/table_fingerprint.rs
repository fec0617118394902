//! Names for the rows of a table by what is in them, whatever their order and however they are written.
//!
//! A table that was sorted, saved again by a spreadsheet, or given its columns in another order is the same rows: whoever has learnt
//! from them, or picked from them, has done so.

use crate::scan_plan::reviewer;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::id;
use crate::item_hash::ItemHash;
use crate::state_memory::MOST_VERDICTS;
use crate::table::{Table, ScanRequest};
use crate::join_verdicts::ItemList;
use jurybox::{Evaluators, Reviewer};
use std::collections::HashSet;

/// How names by rows begin.
pub(crate) const BY_ROWS: &str = "rows-";

/// Names for the rows of a table.
///
/// ```
/// use jurybox_files::{TableFingerprint, Roles, Table};
///
/// let dir = tempfile::tempdir()?;
/// let by_post = Roles { key: Some("post".into()), reward: Some("verdict".into()), ..Roles::default() };
/// let content = |name: &str, text: &str| {
///     let path = dir.path().join(name);
///     std::fs::write(&path, text)?;
///     Ok::<_, Box<dyn std::error::Error>>(TableFingerprint::of(&Table::open(&[path], &by_post, true)?)?)
/// };
/// let rows = content("a.csv", "post,spam,verdict\np1,0.9,1\np2,0.2,0\n")?;
/// assert_eq!(rows, content("b.csv", "verdict;spam;post\r\n0;0,2;p2\r\n1;0,9; p1\r\n")?);
/// let other = content("c.csv", "post,spam,verdict\np1,0.9,1\np2,0.2,1\n")?;
/// assert!(other.scores == rows.scores && other.rewards != rows.rewards);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFingerprint {
    /// By ids and scores.
    pub scores: String,
    /// By ids, scores and rewards; that of the scores where there are none.
    pub rewards: String,
}

impl TableFingerprint {
    /// The names of a table's rows. Its key is the id of its items.
    pub fn of(table: &Table) -> Result<TableFingerprint, Error> {
        Ok(RowScan::at(table, None)?.content)
    }
}

/// Which verdicts of a table are known already.
#[derive(Clone, Copy)]
pub(crate) struct KnownVerdicts<'a> {
    /// Items by their ids, and their verdicts by all that is in their rows.
    pub(crate) items: &'a HashSet<ItemHash>,
    /// Whether the reward is turned round: what is remembered of it is the direction in which high is good.
    pub(crate) turned: bool,
}

/// What a look at the rows of a table shows.
pub(crate) struct RowScan {
    pub(crate) content: TableFingerprint,
    pub(crate) rows: u64,
    /// What the verdicts will be known by.
    pub(crate) verdicts: Vec<ItemHash>,
    /// The rows whose verdicts are known: the same id, scores, reward and reviewer.
    pub(crate) known: HashSet<u64>,
    /// Rows of which nothing but the id is known.
    pub(crate) known_ids: ItemList,
}

impl RowScan {
    /// Looks at the rows of a table; at their verdicts where it is said which are known.
    pub(crate) fn at(table: &Table, verdicts: Option<KnownVerdicts<'_>>) -> Result<RowScan, Error> {
        let evaluators = table.taken().evaluators();
        let width = evaluators.len();
        let rewarded = table.taken().reward().is_some();
        let verdicts = verdicts.filter(|_| rewarded);
        let none = RowHasher::of(evaluators);
        let (mut scores, mut rewards) = (none.clone(), none.clone());
        let (mut found, mut known, mut known_ids) = (Vec::new(), HashSet::new(), ItemList::default());
        let rows = table.scan(
            ScanRequest { key: true, reward: rewarded, reviewer: verdicts.is_some(), ..ScanRequest::default() },
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
                // No more than the last of them will be remembered.
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

/// Rows as they are added, in any order.
#[derive(Clone)]
pub(crate) struct RowHasher {
    /// The columns in the order of the evaluators' names.
    columns: Vec<usize>,
    head: Fingerprint,
    rows: u64,
    sum: u64,
}

impl RowHasher {
    pub(crate) fn of(evaluators: &Evaluators) -> RowHasher {
        let names: Vec<&str> = evaluators.names().collect();
        let mut columns: Vec<usize> = (0..names.len()).collect();
        columns.sort_by_key(|&column| names[column]);
        let mut head = Fingerprint::new();
        columns.iter().for_each(|&column| head.text(names[column]));
        RowHasher { columns, head, rows: 0, sum: 0 }
    }

    pub(crate) fn add(&mut self, id: &str, scores: &[f64], reward: Option<f64>) {
        let mut row = Fingerprint::new();
        row.text(&id::of(id));
        self.columns.iter().for_each(|&column| row.number(scores[column]));
        reward.into_iter().for_each(|reward| row.number(reward));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row.value());
    }

    /// What the verdict on a row is known by: everything in it. The reward is in the direction in which high is good.
    pub(crate) fn verdict(&self, id: &str, scores: &[f64], reward: f64, by: Option<Reviewer>) -> ItemHash {
        let mut name = Fingerprint::new();
        name.text(&id::of(id));
        // Minus zero is zero.
        self.columns.iter().for_each(|&column| name.number(scores[column] + 0.0));
        name.number(reward + 0.0);
        name.bytes(&by.map_or(u64::MAX, Reviewer::code).to_le_bytes());
        ItemHash::named(&name)
    }

    /// The rows of another.
    pub(crate) fn join(&mut self, more: &RowHasher) {
        self.rows += more.rows;
        self.sum = self.sum.wrapping_add(more.sum);
    }

    /// The name; it is no other kind of fingerprint.
    pub(crate) fn name(mut self) -> String {
        self.head.bytes(&self.rows.to_le_bytes());
        self.head.bytes(&self.sum.to_le_bytes());
        format!("{BY_ROWS}{:016x}", self.head.value())
    }
}
