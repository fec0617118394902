//! Requests for columns in a pass, and the batches of rows that come back.

use crate::cell_number::{Notation, ParsedCell};
use crate::error::{Error, RowPosition};
use crate::id;
use crate::number_column::NumberColumn;
use crate::odd_cells::ColumnTally;
use jurybox::toolbox::{code_of, hash_number, hash_text};
use jurybox::{Form, Reviewer};
use std::path::Path;

/// The use of a column in a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnUse {
    /// Not read.
    Skip,
    /// The score of an evaluator, times 1 or -1.
    Score { evaluator: usize, sign: f64 },
    /// The group of a row, as a code in the place of an evaluator's score.
    Group { evaluator: usize },
    /// The reward, times 1 or -1.
    Reward { sign: f64 },
    /// The probability with which the item was picked.
    Probability,
    /// Text by which rows are grouped: a round, a group or an id.
    Key,
    /// One of the columns that identify the item.
    Id,
    /// The reviewer who gave the verdict.
    Reviewer,
    /// A column that was empty in the rows looked at, and so is not an evaluator. A value further
    /// down raises a warning.
    Watch,
}

impl ColumnUse {
    pub(crate) fn is_score_of(self, wanted: usize) -> bool {
        matches!(self, ColumnUse::Score { evaluator, .. } | ColumnUse::Group { evaluator } if evaluator == wanted)
    }
}

/// The use of each column of one source, in the source's order.
#[derive(Debug, Clone)]
pub(crate) struct ScanPlan {
    pub(crate) uses: Vec<ColumnUse>,
    pub(crate) names: Vec<String>,
    /// Notation of each column's cells.
    pub(crate) notations: Vec<Notation>,
    pub(crate) evaluators: usize,
    /// The name of the verdicts column, which may hold words.
    pub(crate) rewards: Option<String>,
    /// Whether whole rows are requested: their positions in the text, or every column.
    pub(crate) records: bool,
    /// Requested uses for which the source has no column; their cells are missing in every row.
    pub(crate) lacking: Vec<ColumnUse>,
    /// Form by which the value of a row is summed from its scores while they are read.
    pub(crate) form: Option<Form>,
}

impl ScanPlan {
    /// The form and the evaluator of a score column, if values are requested.
    pub(crate) fn term(&self, column: usize) -> Option<(&Form, usize)> {
        match (&self.form, self.uses[column]) {
            (Some(form), ColumnUse::Score { evaluator, .. }) => Some((form, evaluator)),
            _ => None,
        }
    }

    /// An empty tally for each column.
    pub(crate) fn tallies(&self) -> Vec<ColumnTally> {
        vec![ColumnTally::default(); self.uses.len()]
    }

    /// Whether any number means "missing".
    pub(crate) fn has_missing_numbers(&self) -> bool {
        self.notations.iter().any(|notation| notation.na.has_numbers())
    }

    /// Whether an evaluator other than a context has no column in the source.
    pub(crate) fn lacks_a_score(&self) -> bool {
        self.lacking.iter().any(|what| matches!(what, ColumnUse::Score { .. }))
    }

    /// Errors if a batch lacks requested parts. Without this check, a loop over missing keys would
    /// silently do nothing.
    pub(crate) fn check(&self, path: &Path, batch: &Batch) -> Result<(), Error> {
        let asked = |wanted: fn(&ColumnUse) -> bool| self.uses.iter().chain(&self.lacking).any(wanted);
        let counts = [
            ("keys", asked(|what| *what == ColumnUse::Key), batch.keys.len()),
            ("rewards", asked(|what| matches!(what, ColumnUse::Reward { .. })), batch.rewards.len()),
            ("probabilities", asked(|what| *what == ColumnUse::Probability), batch.probabilities.len()),
            ("reviewers", asked(|what| *what == ColumnUse::Reviewer), batch.reviewers.len()),
        ];
        let short = |&(_, asked, count): &(&str, bool, usize)| asked && count != batch.rows;
        match counts.into_iter().find(short) {
            None => Ok(()),
            Some((what, _, count)) => {
                Err(Error::Incomplete { path: path.into(), what, count, rows: batch.rows })
            }
        }
    }

    /// Fills in the parts for which the source has no column. Scores are filled in while cells are
    /// read.
    pub(crate) fn complete(&self, batch: &mut Batch) {
        if self.uses.iter().chain(&self.lacking).any(|what| *what == ColumnUse::Id) {
            batch.ids.resize(batch.rows, 0);
        }
        for what in &self.lacking {
            match what {
                ColumnUse::Reward { .. } => batch.rewards = vec![f64::NAN; batch.rows],
                ColumnUse::Probability => batch.probabilities = vec![f64::NAN; batch.rows],
                ColumnUse::Key => batch.keys = vec![Box::from(""); batch.rows],
                ColumnUse::Reviewer => batch.reviewers = vec![Box::from(""); batch.rows],
                ColumnUse::Score { .. }
                | ColumnUse::Group { .. }
                | ColumnUse::Id
                | ColumnUse::Skip
                | ColumnUse::Watch => {}
            }
        }
    }
}

/// The code of the group that a cell names, as used in context columns; NaN for an empty cell.
///
/// ```
/// assert_eq!(jurybox_files::group(" 7.0 "), jurybox_files::group("7"));
/// assert_ne!(jurybox_files::group("de"), jurybox_files::group("fr"));
/// assert!(jurybox_files::group("").is_nan());
/// ```
pub fn group(cell: &str) -> f64 {
    let name = id::of(cell);
    if name.is_empty() { f64::NAN } else { code_of(&name) as f64 }
}

/// The reviewer that a cell names; `None` for an empty cell.
///
/// ```
/// assert_eq!(jurybox_files::reviewer(" 7.0 "), jurybox_files::reviewer("7"));
/// assert_ne!(jurybox_files::reviewer("ann"), jurybox_files::reviewer("bob"));
/// assert!(jurybox_files::reviewer(" ").is_none());
/// ```
pub fn reviewer(cell: &str) -> Option<Reviewer> {
    let name = id::of(cell);
    (!name.is_empty()).then(|| Reviewer::named(&name))
}

/// Parsed rows, with scores stored by row or by column, NaN where missing.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) rows: usize,
    pub(crate) evaluators: usize,
    pub(crate) scores: BatchLayout,
    /// The value of each row, if computed while reading; NaN where a score is missing.
    pub(crate) values: Vec<f64>,
    pub(crate) rewards: Vec<f64>,
    pub(crate) probabilities: Vec<f64>,
    pub(crate) keys: Vec<Box<str>>,
    pub(crate) reviewers: Vec<Box<str>>,
    /// A hash of each row's item; 0 where no cell identifies it.
    pub(crate) ids: Vec<u64>,
    /// Counts of missing and odd cells, by column of the source. Empty if there are none.
    pub(crate) tallies: Vec<ColumnTally>,
    /// Keys of JSON objects that are not columns, each with its first position, up to a limit.
    pub(crate) late: Vec<(String, RowPosition)>,
    /// Whether line positions in the batch count from the start of the unit.
    pub(crate) starts_lines: bool,
    /// The start of each row's record in the text of the part, followed by the end of the last one.
    pub(crate) starts: Vec<usize>,
}

/// Scores by row or by column.
#[derive(Debug)]
pub(crate) enum BatchLayout {
    Rows(Vec<f64>),
    Columns(Vec<NumberColumn>),
}

impl Default for BatchLayout {
    fn default() -> Self {
        BatchLayout::Rows(Vec::new())
    }
}

impl Batch {
    pub(crate) fn new(plan: &ScanPlan, layout: BatchLayout) -> Self {
        Batch { evaluators: plan.evaluators, scores: layout, ..Batch::default() }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The scores, row by row. Scores that are stored by column are transposed first.
    pub fn scores(&mut self) -> &[f64] {
        if let BatchLayout::Columns(_) = &self.scores {
            let mut rows = Vec::with_capacity(self.rows * self.evaluators);
            self.push_rows(&mut rows);
            self.scores = BatchLayout::Rows(rows);
        }
        match &self.scores {
            BatchLayout::Rows(rows) => rows,
            BatchLayout::Columns(_) => &[],
        }
    }

    /// Appends the scores to `out`, row by row.
    pub(crate) fn push_rows(&self, out: &mut Vec<f64>) {
        match &self.scores {
            BatchLayout::Rows(rows) => out.extend_from_slice(rows),
            BatchLayout::Columns(columns) => {
                let begin = out.len();
                out.resize(begin + self.rows * self.evaluators, 0.0);
                for (at, tile) in out[begin..].chunks_mut(TILE_ROWS * self.evaluators).enumerate() {
                    for (j, column) in columns.iter().enumerate() {
                        column.spread(at * TILE_ROWS, &mut tile[j..], self.evaluators);
                    }
                }
            }
        }
    }

    /// Moves the scores out of the batch, row by row.
    pub(crate) fn take_scores(&mut self) -> Vec<f64> {
        self.scores();
        match std::mem::take(&mut self.scores) {
            BatchLayout::Rows(rows) => rows,
            BatchLayout::Columns(_) => Vec::new(),
        }
    }

    /// The score of one row by one evaluator.
    pub fn score(&self, row: usize, evaluator: usize) -> f64 {
        match &self.scores {
            BatchLayout::Rows(rows) => rows[row * self.evaluators + evaluator],
            BatchLayout::Columns(columns) => columns[evaluator].get(row),
        }
    }

    /// Adds an id cell to a row's item hash. The hashes of several id columns are summed, so that
    /// their order does not matter.
    pub(crate) fn name(&mut self, row: usize, column: &str, cell: &str) {
        let id = id::of(cell);
        if id.is_empty() {
            return;
        }
        self.ids.resize(self.ids.len().max(row + 1), 0);
        self.ids[row] = self.ids[row].wrapping_add(hash_number(hash_text(column), hash_text(&id)).max(1));
    }

    /// The item of each row as a hash of its id; 0 where no id is given. Two different ids collide
    /// with a chance of about 2^-64. Empty unless ids were requested.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The reward of each row, NaN where missing; empty unless rewards were requested.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// The logged probability of each row, NaN where missing; empty unless requested.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The round, group or id of each row; empty unless requested.
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// The name of each row's reviewer, empty where none is named; an empty slice unless reviewers
    /// were requested.
    pub fn reviewers(&self) -> &[Box<str>] {
        &self.reviewers
    }

    /// Appends the reviewer of the next row.
    pub(crate) fn reviewed_by(&mut self, cell: &str) {
        self.reviewers.push(id::of(cell).into());
    }

    /// The value of each row under `form`, NaN where a score is missing. Uses the values computed
    /// while reading, if there are any.
    pub(crate) fn values(&mut self, form: &Form, out: &mut Vec<f64>) {
        out.clear();
        if self.values.len() == self.rows {
            std::mem::swap(out, &mut self.values);
            return;
        }
        let mut sums = Vec::new();
        begin_sums(&mut sums, form, self.rows, 0.0);
        match &self.scores {
            BatchLayout::Rows(rows) => {
                for (at, tile) in rows.chunks(TILE_ROWS * self.evaluators).enumerate() {
                    for evaluator in 0..self.evaluators {
                        let scores = tile.chunks_exact(self.evaluators).map(|row| row[evaluator]);
                        form.add(evaluator, scores, &mut sums[form.lane(evaluator)][at * TILE_ROWS..]);
                    }
                }
            }
            BatchLayout::Columns(columns) => {
                for (evaluator, column) in columns.iter().enumerate() {
                    column.add_to(form, evaluator, &mut sums[form.lane(evaluator)]);
                }
            }
        }
        form.finish(&mut sums);
        std::mem::swap(out, &mut sums[0]);
    }

    /// The scores of the given rows, row by row; replaces the content of `out`.
    pub(crate) fn gather(&self, rows: &[usize], out: &mut Vec<f64>) {
        out.clear();
        match &self.scores {
            BatchLayout::Rows(all) => {
                rows.iter()
                    .for_each(|row| out.extend_from_slice(&all[row * self.evaluators..][..self.evaluators]));
            }
            BatchLayout::Columns(columns) => {
                out.resize(rows.len() * self.evaluators, 0.0);
                for (j, column) in columns.iter().enumerate().filter(|_| !rows.is_empty()) {
                    column.gather(rows, &mut out[j..], self.evaluators);
                }
            }
        }
    }
}

/// Resets the running sums of `rows` rows to `begin`, reusing memory. A form has several sums per
/// row, its lanes; each lane is one vector.
pub(crate) fn begin_sums(sums: &mut Vec<Vec<f64>>, form: &Form, rows: usize, begin: f64) {
    sums.resize_with(form.lanes(), Vec::new);
    for lane in sums {
        lane.clear();
        lane.resize(rows, begin);
    }
}

/// Rows transposed at a time, so that they stay in the cache while every column is written.
const TILE_ROWS: usize = 256;

/// The error for a cell that is not a usable number.
#[cold]
pub(crate) fn bad_number(
    path: &Path,
    place: RowPosition,
    column: &str,
    cell: ParsedCell,
    text: &[u8],
) -> Error {
    let (path, column, value) = (path.to_path_buf(), column.to_string(), shown(text));
    if cell == ParsedCell::Unusable {
        Error::Infinite { path, place, column, value }
    } else {
        Error::NotANumber { path, place, column, value }
    }
}

/// The start of a cell, at most 60 characters, for messages.
pub(crate) fn shown(text: &[u8]) -> String {
    const MOST: usize = 60;
    // A character has at most four bytes.
    let head = &text.trim_ascii()[..text.trim_ascii().len().min(4 * MOST)];
    let all = String::from_utf8_lossy(head);
    let mut value: String = all.chars().take(MOST).collect();
    if value.len() < all.len() || head.len() < text.trim_ascii().len() {
        value.push('…');
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_without_requested_keys_are_refused() {
        let plan = ScanPlan {
            uses: vec![ColumnUse::Score { evaluator: 0, sign: 1.0 }, ColumnUse::Key],
            names: vec!["a".into(), "g".into()],
            notations: vec![Notation::default(); 2],
            evaluators: 1,
            rewards: None,
            records: false,
            lacking: Vec::new(),
            form: None,
        };
        let mut batch = Batch { rows: 2, evaluators: 1, ..Batch::default() };
        let error = plan.check(Path::new("k.parquet"), &batch).unwrap_err();
        assert_eq!(error.to_string(), "k.parquet: 2 rows came with 0 keys: this is a defect of the reader");
        batch.keys = vec!["1".into(), "2".into()];
        assert!(plan.check(Path::new("k.parquet"), &batch).is_ok());
    }
}
