//! Random access to the scores of a table in memory, which shares its arrays where possible.

use crate::number_column::NumberColumn;
use crate::scan_plan::{Batch, BatchLayout};
use crate::table::Table;

/// Scores of rows, NaN where missing.
///
/// Doubles and floats without nulls are shared with a table in memory. Other numbers are copied as
/// doubles.
///
/// ```
/// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
/// use jurybox_files::{ScoreView, Roles, Table, ScanRequest};
/// use std::sync::Arc;
///
/// let column = |scale: f64| -> ArrayRef {
///     Arc::new(Float64Array::from_iter_values((0..20_000).map(|row| scale * f64::from(row))))
/// };
/// let (spam, abuse) = (column(1.0), column(0.5));
/// let batch = RecordBatch::try_from_iter([("spam", spam), ("abuse", abuse)])?;
/// let roles = Roles { evaluators: vec!["spam".into(), "abuse".into()], ..Roles::default() };
/// let table = Table::from_batches(vec![batch], &roles)?;
/// let mut scores = ScoreView::default();
/// table.scan(
///     ScanRequest::default(),
///     |mut part| Ok(part.batch.take_score_view()),
///     |_, part| Ok(scores.append(part)),
/// )?;
/// let mut row = Vec::new();
/// scores.push_row(12_345, &mut row);
/// assert!(table.is_in_memory());
/// assert_eq!((scores.rows(), row), (20_000, vec![12_345.0, 6_172.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ScoreView {
    /// The number of the first row of each batch.
    firsts: Vec<usize>,
    /// By batch, the scores of each evaluator.
    batches: Vec<Vec<NumberColumn>>,
    rows: usize,
}

impl ScoreView {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the following rows.
    pub fn append(&mut self, next: ScoreView) {
        self.firsts.extend(next.firsts.into_iter().map(|first| self.rows + first));
        self.batches.extend(next.batches);
        self.rows += next.rows;
    }

    /// Removes the column of an evaluator and returns a copy of it.
    ///
    /// ```
    /// use jurybox_files::ScoreView;
    /// assert!(ScoreView::default().take_column(0).is_empty());
    /// ```
    pub fn take_column(&mut self, evaluator: usize) -> Vec<f64> {
        let mut column = Vec::with_capacity(self.rows);
        let ends = self.firsts.iter().skip(1).copied().chain([self.rows]);
        for ((&first, end), batch) in self.firsts.iter().zip(ends).zip(&mut self.batches) {
            let numbers = batch.remove(evaluator);
            column.extend((0..end - first).map(|place| numbers.get(place)));
        }
        column
    }

    /// Appends the scores of a row to `out`.
    pub fn push_row(&self, row: usize, out: &mut Vec<f64>) {
        let at = self.firsts.partition_point(|&first| first <= row).saturating_sub(1);
        let place = row - self.firsts[at];
        out.extend(self.batches[at].iter().map(|numbers| numbers.get(place)));
    }
}

impl Batch {
    /// Moves the scores out of the batch. Arrays of a table in memory are shared.
    pub fn take_score_view(&mut self) -> ScoreView {
        let columns = match std::mem::take(&mut self.scores) {
            BatchLayout::Columns(columns) => columns,
            BatchLayout::Rows(rows) => {
                let column = |j: usize| rows.iter().skip(j).step_by(self.evaluators).copied().collect();
                (0..self.evaluators).map(|j| NumberColumn::Own(column(j))).collect()
            }
        };
        ScoreView { firsts: vec![0], batches: vec![columns], rows: self.rows }
    }
}

impl Table {
    /// Whether all rows stay in memory, so that a [`ScoreView`] shares their scores.
    pub fn is_in_memory(&self) -> bool {
        self.sources.iter().all(|source| source.is_in_memory())
    }
}
