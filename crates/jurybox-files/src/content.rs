//! Names for the rows of a table by what is in them, whatever their order and however they are written.
//!
//! A table that was sorted, saved again by a spreadsheet, or given its columns in another order is the same rows: whoever has learnt
//! from them, or picked from them, has done so.

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::id;
use crate::table::{Table, Want};
use jurybox::Evaluators;

/// How names by rows begin.
pub(crate) const BY_ROWS: &str = "rows-";

/// Names for the rows of a table.
///
/// ```
/// use jurybox_files::{Content, Roles, Table};
///
/// let dir = tempfile::tempdir()?;
/// let by_post = Roles { key: Some("post".into()), reward: Some("verdict".into()), ..Roles::default() };
/// let content = |name: &str, text: &str| {
///     let path = dir.path().join(name);
///     std::fs::write(&path, text)?;
///     Ok::<_, Box<dyn std::error::Error>>(Content::of(&Table::open(&[path], &by_post, true)?)?)
/// };
/// let rows = content("a.csv", "post,spam,verdict\np1,0.9,1\np2,0.2,0\n")?;
/// assert_eq!(rows, content("b.csv", "verdict;spam;post\r\n0;0,2;p2\r\n1;0,9; p1\r\n")?);
/// let other = content("c.csv", "post,spam,verdict\np1,0.9,1\np2,0.2,1\n")?;
/// assert!(other.scores == rows.scores && other.rewards != rows.rewards);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// By ids and scores.
    pub scores: String,
    /// By ids, scores and rewards; that of the scores where there are none.
    pub rewards: String,
}

impl Content {
    /// The names of a table's rows. Its key is the id of its items.
    pub fn of(table: &Table) -> Result<Content, Error> {
        let evaluators = table.taken().evaluators();
        let rewarded = table.taken().reward().is_some();
        let none = Rows::of(evaluators);
        let (mut scores, mut rewards) = (none.clone(), none.clone());
        table.scan(
            Want { key: true, reward: rewarded, ..Want::default() },
            |mut part| {
                let (mut scores, mut rewards) = (none.clone(), none.clone());
                let values = part.batch.take_scores();
                for (row, id) in part.batch.keys.iter().enumerate() {
                    let values = &values[row * evaluators.len()..(row + 1) * evaluators.len()];
                    scores.add(id, values, None);
                    rewards.add(id, values, part.batch.rewards.get(row).copied());
                }
                Ok((scores, rewards))
            },
            |_, (by_scores, by_rewards)| {
                scores.join(&by_scores);
                rewards.join(&by_rewards);
                Ok(())
            },
        )?;
        Ok(Content { scores: scores.name(), rewards: rewards.name() })
    }
}

/// Rows as they are added, in any order.
#[derive(Clone)]
pub(crate) struct Rows {
    /// The columns in the order of the evaluators' names.
    columns: Vec<usize>,
    head: Fingerprint,
    rows: u64,
    sum: u64,
}

impl Rows {
    pub(crate) fn of(evaluators: &Evaluators) -> Rows {
        let names: Vec<&str> = evaluators.names().collect();
        let mut columns: Vec<usize> = (0..names.len()).collect();
        columns.sort_by_key(|&column| names[column]);
        let mut head = Fingerprint::new();
        columns.iter().for_each(|&column| head.text(names[column]));
        Rows { columns, head, rows: 0, sum: 0 }
    }

    pub(crate) fn add(&mut self, id: &str, scores: &[f64], reward: Option<f64>) {
        let mut row = Fingerprint::new();
        row.text(&id::of(id));
        self.columns.iter().for_each(|&column| row.number(scores[column]));
        reward.into_iter().for_each(|reward| row.number(reward));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row.value());
    }

    /// The rows of another.
    pub(crate) fn join(&mut self, more: &Rows) {
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
