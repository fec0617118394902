//! Reading a unit of a Parquet file column by column from its pages, and assembling batches of
//! rows.

use super::page_memory::PageMemory;
use super::pages::PageNumbers;
use super::panics::{broken, guarded};
use super::row_range::BATCH;
use crate::error::Error;
use crate::format::arrow::infinite;
use crate::format::{BatchCallback, ParsedBatch, RowRange};
use crate::number_column::NumberColumn;
use crate::odd_cells::ColumnTally;
use crate::scan_plan::{Batch, BatchLayout, ColumnUse, ScanPlan, begin_sums};
use std::collections::VecDeque;
use std::path::Path;

/// The numbers of one column over a unit, in parts. `used` counts the rows of the first part that
/// are in batches already.
struct ColumnStrip {
    column: usize,
    parts: VecDeque<NumberColumn>,
    used: usize,
}

/// Reads a unit column by column from its pages. A batch ends where a page of any column ends, or
/// after [`BATCH`] rows.
pub(super) fn read(
    path: &Path,
    pages: Vec<(usize, PageNumbers)>,
    range: RowRange,
    plan: &ScanPlan,
    memory: &mut PageMemory,
    each: &mut BatchCallback<'_>,
) -> Result<(), Error> {
    let mut sums = std::mem::take(&mut memory.sums);
    if let Some(form) = &plan.form {
        // If an evaluator has no column, the sums start as NaN: the value of every row is missing.
        let begin = if plan.lacks_a_score() { f64::NAN } else { 0.0 };
        begin_sums(&mut sums, form, range.rows, begin);
    }
    let mut strips = Vec::new();
    for (column, mut pages) in pages {
        let (mut row, mut parts) = (0, VecDeque::new());
        while let Some(part) = guarded(|| pages.next(memory)).map_err(|e| broken(path, &e))? {
            // Summed and checked at once, while the page is in the cache.
            let bad = match plan.term(column) {
                Some((form, evaluator)) => {
                    part.add_to(form, evaluator, &mut sums[form.lane(evaluator)][row..])
                }
                None => part.unusable(),
            };
            if let Some(bad) = bad {
                return Err(infinite(path, &plan.names[column], row + bad, part.get(bad)));
            }
            row += part.len();
            parts.push_back(part);
        }
        strips.push(ColumnStrip { column, parts, used: 0 });
    }
    if let Some(form) = &plan.form {
        form.finish(&mut sums);
    }
    let values = sums.first().filter(|_| plan.form.is_some()).map(Vec::as_slice).unwrap_or_default();
    let mut row = 0;
    while row < range.rows {
        let ready = |strip: &ColumnStrip| strip.parts.front().map_or(0, |part| part.len() - strip.used);
        let rows = strips.iter().map(ready).fold(BATCH.min(range.rows - row), usize::min);
        if rows == 0 {
            return Err(broken(path, &"a column ends before its rows do"));
        }
        let mut batch = Batch { rows, evaluators: plan.evaluators, ..Batch::default() };
        let mut scores: Vec<Option<NumberColumn>> = vec![None; plan.evaluators];
        for strip in &mut strips {
            let Some(part) = strip.parts.front() else { continue };
            let numbers = part.slice(strip.used, strip.used + rows);
            strip.used += rows;
            if strip.used == part.len() {
                strip.parts.pop_front();
                strip.used = 0;
            }
            if numbers.is_missing() {
                batch.tallies.resize(plan.uses.len(), ColumnTally::default());
                batch.tallies[strip.column].missing = rows as u64;
            }
            place(numbers, plan.uses[strip.column], &mut scores, &mut batch);
        }
        let column = |numbers: Option<NumberColumn>| numbers.unwrap_or_else(|| NumberColumn::missing(rows));
        batch.scores = BatchLayout::Columns(scores.into_iter().map(column).collect());
        batch.values = values.get(row..row + rows).unwrap_or_default().to_vec();
        row += rows;
        each(ParsedBatch { batch, text: &[], arrays: None })?;
    }
    memory.sums = sums;
    Ok(())
}

/// Stores the numbers of a column in the batch, by the column's use.
fn place(numbers: NumberColumn, what: ColumnUse, scores: &mut [Option<NumberColumn>], batch: &mut Batch) {
    match what {
        ColumnUse::Score { evaluator, sign } => scores[evaluator] = Some(numbers.signed(sign)),
        ColumnUse::Reward { sign } => batch.rewards = numbers.signed(sign).into_vec(),
        ColumnUse::Probability => batch.probabilities = numbers.into_vec(),
        // Unreachable: columns to skip are not read here, and `ParquetInput::pages` leaves units
        // with a column of the other uses to the Arrow reader.
        ColumnUse::Skip
        | ColumnUse::Group { .. }
        | ColumnUse::Key
        | ColumnUse::Id
        | ColumnUse::Reviewer
        | ColumnUse::Watch => {}
    }
}
