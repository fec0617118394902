//! What is wanted of each row, and the batch in which it comes.

use crate::error::{Error, Place};
use crate::id;
use crate::number::{Cell, Notation};
use crate::numbers::Numbers;
use crate::tally::Tally;
use jurybox::toolbox::{code_of, hash_number, hash_text};
use jurybox::{Form, Reviewer};
use std::path::Path;

/// What a column is for, in a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// Not looked at.
    Skip,
    /// The score of an evaluator, times 1 or -1.
    Score { evaluator: usize, sign: f64 },
    /// The name of a group, in the place of an evaluator's score: its code.
    Group { evaluator: usize },
    /// The reward, times 1 or -1.
    Reward { sign: f64 },
    /// The probability with which the item was picked.
    Probability,
    /// Text by which rows are put together: a round or a group.
    Key,
    /// One of the columns that name the item.
    Id,
    /// Who gave the verdict.
    Reviewer,
    /// Nothing was in it where it was looked at, and so it is no evaluator: whether something comes later is to be told.
    Watch,
}

impl Use {
    pub(crate) fn is_score_of(self, wanted: usize) -> bool {
        matches!(self, Use::Score { evaluator, .. } | Use::Group { evaluator } if evaluator == wanted)
    }
}

/// What each column of one source is for, in the source's order.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) uses: Vec<Use>,
    pub(crate) names: Vec<String>,
    /// How the cells of each column are written.
    pub(crate) notations: Vec<Notation>,
    pub(crate) evaluators: usize,
    /// The column of verdicts, in which words may stand.
    pub(crate) rewards: Option<String>,
    /// Whether whole rows are wanted: the place of each in the text, or every column.
    pub(crate) records: bool,
    /// What is wanted that this source has no column for: then it is missing in every row.
    pub(crate) lacking: Vec<Use>,
    /// How the values of rows add up over their scores, where they are wanted: cheapest while the scores are read.
    pub(crate) form: Option<Form>,
}

impl Ask {
    /// What the scores of a column add to the values, where these are wanted.
    pub(crate) fn term(&self, column: usize) -> Option<(&Form, usize)> {
        match (&self.form, self.uses[column]) {
            (Some(form), Use::Score { evaluator, .. }) => Some((form, evaluator)),
            _ => None,
        }
    }

    /// A tally for each column.
    pub(crate) fn tallies(&self) -> Vec<Tally> {
        vec![Tally::default(); self.uses.len()]
    }

    /// Whether a number that a file stores may mean that there is none.
    pub(crate) fn has_missing_numbers(&self) -> bool {
        self.notations.iter().any(|notation| notation.na.has_numbers())
    }

    /// Whether an evaluator has no column here.
    pub(crate) fn lacks_a_score(&self) -> bool {
        self.lacking.iter().any(|what| matches!(what, Use::Score { .. }))
    }

    /// Refuses rows that came without what was asked for: whoever goes over keys would go over nothing, and say nothing.
    pub(crate) fn check(&self, path: &Path, batch: &Batch) -> Result<(), Error> {
        let asked = |wanted: fn(&Use) -> bool| self.uses.iter().chain(&self.lacking).any(wanted);
        let counts = [
            ("keys", asked(|what| *what == Use::Key), batch.keys.len()),
            ("rewards", asked(|what| matches!(what, Use::Reward { .. })), batch.rewards.len()),
            ("probabilities", asked(|what| *what == Use::Probability), batch.probabilities.len()),
            ("reviewers", asked(|what| *what == Use::Reviewer), batch.reviewers.len()),
        ];
        let short = |&(_, asked, count): &(&str, bool, usize)| asked && count != batch.rows;
        match counts.into_iter().find(short) {
            None => Ok(()),
            Some((what, _, count)) => {
                Err(Error::Incomplete { path: path.into(), what, count, rows: batch.rows })
            }
        }
    }

    /// Fills in what a source has no column for. (Scores are missing until a cell is read.)
    pub(crate) fn complete(&self, batch: &mut Batch) {
        if self.uses.iter().chain(&self.lacking).any(|what| *what == Use::Id) {
            batch.ids.resize(batch.rows, 0);
        }
        for what in &self.lacking {
            match what {
                Use::Reward { .. } => batch.rewards = vec![f64::NAN; batch.rows],
                Use::Probability => batch.probabilities = vec![f64::NAN; batch.rows],
                Use::Key => batch.keys = vec![Box::from(""); batch.rows],
                Use::Reviewer => batch.reviewers = vec![Box::from(""); batch.rows],
                Use::Score { .. } | Use::Group { .. } | Use::Id | Use::Skip | Use::Watch => {}
            }
        }
    }
}

/// The number of the group that a cell names, as a column of contexts has it; NaN where it names none.
///
/// ```
/// assert_eq!(jurybox_files::group(" 7.0 "), jurybox_files::group("7"));
/// assert!(jurybox_files::group("de") != jurybox_files::group("fr") && jurybox_files::group("").is_nan());
/// ```
pub fn group(cell: &str) -> f64 {
    let name = id::of(cell);
    if name.is_empty() { f64::NAN } else { code_of(&name) as f64 }
}

/// Who goes by the name in a cell, as a column of reviewers has it; nobody where there is none.
///
/// ```
/// assert_eq!(jurybox_files::reviewer(" 7.0 "), jurybox_files::reviewer("7"));
/// assert!(jurybox_files::reviewer("ann") != jurybox_files::reviewer("bob") && jurybox_files::reviewer(" ").is_none());
/// ```
pub fn reviewer(cell: &str) -> Option<Reviewer> {
    let name = id::of(cell);
    (!name.is_empty()).then(|| Reviewer::named(&name))
}

/// Rows as a scan hands them over: scores row after row or column after column, NaN where missing.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) rows: usize,
    pub(crate) evaluators: usize,
    pub(crate) scores: Layout,
    /// The value of each row, where it was made while reading; NaN where a score is missing.
    pub(crate) values: Vec<f64>,
    pub(crate) rewards: Vec<f64>,
    pub(crate) probabilities: Vec<f64>,
    pub(crate) keys: Vec<Box<str>>,
    pub(crate) reviewers: Vec<Box<str>>,
    /// Which item each row is about, as a number; 0 where nothing names it.
    pub(crate) ids: Vec<u64>,
    /// By column of the source: cells that are no numbers. Empty where there can be none.
    pub(crate) tallies: Vec<Tally>,
    /// Keys of a text that are no columns, and where each first stands; a few of them.
    pub(crate) late: Vec<(String, Place)>,
    /// Whether places in it are counted from the beginning of the unit.
    pub(crate) starts_lines: bool,
    /// Where each row's record begins in the block, and where the last one ends.
    pub(crate) starts: Vec<usize>,
}

#[derive(Debug)]
pub(crate) enum Layout {
    Rows(Vec<f64>),
    Columns(Vec<Numbers>),
}

impl Default for Layout {
    fn default() -> Self {
        Layout::Rows(Vec::new())
    }
}

impl Batch {
    pub(crate) fn new(ask: &Ask, layout: Layout) -> Self {
        Batch { evaluators: ask.evaluators, scores: layout, ..Batch::default() }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The scores, row after row; turned on their side first where the file stores columns.
    pub fn scores(&mut self) -> &[f64] {
        if let Layout::Columns(_) = &self.scores {
            let mut rows = Vec::with_capacity(self.rows * self.evaluators);
            self.push_rows(&mut rows);
            self.scores = Layout::Rows(rows);
        }
        match &self.scores {
            Layout::Rows(rows) => rows,
            Layout::Columns(_) => &[],
        }
    }

    /// The same, appended.
    pub(crate) fn push_rows(&self, out: &mut Vec<f64>) {
        match &self.scores {
            Layout::Rows(rows) => out.extend_from_slice(rows),
            Layout::Columns(columns) => {
                let begin = out.len();
                out.resize(begin + self.rows * self.evaluators, 0.0);
                for (at, stretch) in out[begin..].chunks_mut(STRETCH * self.evaluators).enumerate() {
                    for (j, column) in columns.iter().enumerate() {
                        column.spread(at * STRETCH, &mut stretch[j..], self.evaluators);
                    }
                }
            }
        }
    }

    /// The same, taken out.
    pub(crate) fn take_scores(&mut self) -> Vec<f64> {
        self.scores();
        match std::mem::take(&mut self.scores) {
            Layout::Rows(rows) => rows,
            Layout::Columns(_) => Vec::new(),
        }
    }

    /// The score of one row by one evaluator.
    pub fn score(&self, row: usize, evaluator: usize) -> f64 {
        match &self.scores {
            Layout::Rows(rows) => rows[row * self.evaluators + evaluator],
            Layout::Columns(columns) => columns[evaluator].get(row),
        }
    }

    /// Takes in a cell that names the item of a row. The columns that name it add up, in whatever order they come.
    pub(crate) fn name(&mut self, row: usize, column: &str, cell: &str) {
        let id = id::of(cell);
        if id.is_empty() {
            return;
        }
        self.ids.resize(self.ids.len().max(row + 1), 0);
        self.ids[row] = self.ids[row].wrapping_add(hash_number(hash_text(column), hash_text(&id)).max(1));
    }

    /// Which item each row is about, as a number that rows of the same id share and others do not, but for one chance in 2^64; 0 where
    /// nothing names it. Empty where no ids were asked for.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The reward of each row, NaN where there is none; empty where no reward was asked for.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// The logged probability of each row, NaN where there is none; empty where it was not asked for.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The round or group of each row; empty where it was not asked for.
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// The name of who gave the verdict of each row, empty where nobody is named; empty where it
    /// was not asked for.
    pub fn reviewers(&self) -> &[Box<str>] {
        &self.reviewers
    }

    /// Takes in a cell that names the reviewer of the next row.
    pub(crate) fn reviewed_by(&mut self, cell: &str) {
        self.reviewers.push(id::of(cell).into());
    }

    /// The value of each row, by the form that the scan was told; NaN where a score is missing.
    pub(crate) fn values(&mut self, form: &Form, out: &mut Vec<f64>) {
        out.clear();
        if self.values.len() == self.rows {
            std::mem::swap(out, &mut self.values);
            return;
        }
        let mut sums = Vec::new();
        begin_sums(&mut sums, form, self.rows, 0.0);
        match &self.scores {
            Layout::Rows(rows) => {
                for (at, stretch) in rows.chunks(STRETCH * self.evaluators).enumerate() {
                    for evaluator in 0..self.evaluators {
                        let scores = stretch.chunks_exact(self.evaluators).map(|row| row[evaluator]);
                        form.add(evaluator, scores, &mut sums[form.lane(evaluator)][at * STRETCH..]);
                    }
                }
            }
            Layout::Columns(columns) => {
                for (evaluator, column) in columns.iter().enumerate() {
                    column.add_to(form, evaluator, &mut sums[form.lane(evaluator)]);
                }
            }
        }
        form.finish(&mut sums);
        std::mem::swap(out, &mut sums[0]);
    }

    /// The scores of some rows, one row behind the other, instead of what `out` held.
    pub(crate) fn gather(&self, rows: &[usize], out: &mut Vec<f64>) {
        out.clear();
        match &self.scores {
            Layout::Rows(all) => {
                rows.iter()
                    .for_each(|row| out.extend_from_slice(&all[row * self.evaluators..][..self.evaluators]));
            }
            Layout::Columns(columns) => {
                out.resize(rows.len() * self.evaluators, 0.0);
                for (j, column) in columns.iter().enumerate().filter(|_| !rows.is_empty()) {
                    column.gather(rows, &mut out[j..], self.evaluators);
                }
            }
        }
    }
}

/// Makes the running sums of so many rows, lane by lane, of memory that is used again: each at `begin`.
pub(crate) fn begin_sums(sums: &mut Vec<Vec<f64>>, form: &Form, rows: usize, begin: f64) {
    sums.resize_with(form.lanes(), Vec::new);
    for lane in sums {
        lane.clear();
        lane.resize(rows, begin);
    }
}

/// Rows laid down at a time: they stay in the cache while every column writes its part.
const STRETCH: usize = 256;

#[cold]
pub(crate) fn bad_number(path: &Path, place: Place, column: &str, cell: Cell, text: &[u8]) -> Error {
    let (path, column, value) = (path.to_path_buf(), column.to_string(), shown(text));
    if cell == Cell::Unusable {
        Error::Infinite { path, place, column, value }
    } else {
        Error::NotANumber { path, place, column, value }
    }
}

/// A cell as messages show it: the beginning of it, where it is long.
pub(crate) fn shown(text: &[u8]) -> String {
    const MOST: usize = 60;
    // Four bytes are the most that a character has.
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
    fn rows_without_the_keys_that_were_asked_for_are_refused() {
        let ask = Ask {
            uses: vec![Use::Score { evaluator: 0, sign: 1.0 }, Use::Key],
            names: vec!["a".into(), "g".into()],
            notations: vec![Notation::default(); 2],
            evaluators: 1,
            rewards: None,
            records: false,
            lacking: Vec::new(),
            form: None,
        };
        let mut batch = Batch { rows: 2, evaluators: 1, ..Batch::default() };
        let error = ask.check(Path::new("k.parquet"), &batch).unwrap_err();
        assert_eq!(error.to_string(), "k.parquet: 2 rows came with 0 keys: this is a defect of the reader");
        batch.keys = vec!["1".into(), "2".into()];
        assert!(ask.check(Path::new("k.parquet"), &batch).is_ok());
    }
}
