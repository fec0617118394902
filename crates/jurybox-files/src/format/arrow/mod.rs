//! Conversion of Arrow arrays, from Parquet or memory, to batches of numbers, text and JSON.

mod detect;
mod numbers;
mod text;
mod widen;

pub(crate) use detect::{is_looked_at, look};
use numbers::is_numeric;
pub(crate) use numbers::{fits_a_number, of_numbers};
pub use text::json;
pub(crate) use text::{as_text, date, fraction, shortest, text};
use text::{each_text, key};
pub use widen::of_one_type;

use super::{OutputColumns, distinct};
use crate::error::{Error, RowPosition};
use crate::number_column::NumberColumn;
use crate::odd_cells::ColumnTally;
use crate::output_rows::{OutputColumn, OutputRows};
use crate::roles::{ColumnInfo, ColumnKind};
use crate::scan_plan::{Batch, BatchLayout, ColumnUse, ScanPlan, begin_sums, group};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use std::path::Path;

/// The columns of a schema, each a number or text by its type. Errors on duplicate names.
pub(crate) fn columns(path: &Path, schema: &Schema) -> Result<Vec<ColumnInfo>, Error> {
    distinct(path, schema.fields().iter().map(|field| field.name().as_str()))?;
    let found = |field: &arrow_schema::Field| ColumnInfo {
        data_type: Some(field.data_type().clone()),
        ..ColumnInfo::new(
            field.name().clone(),
            if is_numeric(field.data_type()) { ColumnKind::Number } else { ColumnKind::Text },
        )
    };
    Ok(schema.fields().iter().map(|field| found(field)).collect())
}

/// Indices of the columns that a pass has to read.
pub(crate) fn wanted(plan: &ScanPlan) -> Vec<usize> {
    (0..plan.uses.len()).filter(|&column| plan.records || plan.uses[column] != ColumnUse::Skip).collect()
}

/// Converts arrays to a batch. `pieces(i)` returns the arrays of column `wanted[i]`, whose rows
/// follow one another.
pub(crate) fn batch(
    path: &Path,
    rows: usize,
    wanted: &[usize],
    plan: &ScanPlan,
    pieces: impl Fn(usize) -> Vec<ArrayRef>,
) -> Result<Batch, Error> {
    let mut batch = Batch { rows, evaluators: plan.evaluators, tallies: plan.tallies(), ..Batch::default() };
    let mut scores = vec![None; plan.evaluators];
    for (at, &column) in wanted.iter().enumerate() {
        match plan.uses[column] {
            ColumnUse::Skip => {}
            ColumnUse::Watch => watch(path, &pieces(at), plan, column, &mut batch.tallies[column])?,
            ColumnUse::Key => {
                each_key(path, &plan.names[column], &pieces(at), |_, key| batch.keys.push(key.into()))?;
            }
            ColumnUse::Group { evaluator } => {
                let mut codes = Vec::with_capacity(rows);
                each_key(path, &plan.names[column], &pieces(at), |_, name| codes.push(group(&name)))?;
                scores[evaluator] = Some(NumberColumn::Own(codes));
            }
            ColumnUse::Reviewer => {
                each_key(path, &plan.names[column], &pieces(at), |_, name| batch.reviewed_by(&name))?;
            }
            ColumnUse::Id => {
                each_key(path, &plan.names[column], &pieces(at), |row, key| {
                    batch.name(row, &plan.names[column], &key);
                })?;
            }
            ColumnUse::Score { evaluator, sign } => {
                let numbers = read(path, &pieces(at), plan, column, &mut batch.tallies[column])?;
                scores[evaluator] = Some(numbers.signed(sign));
            }
            ColumnUse::Reward { sign } => {
                let numbers = read(path, &pieces(at), plan, column, &mut batch.tallies[column])?;
                batch.rewards = checked(path, &plan.names[column], numbers)?.signed(sign).into_vec();
            }
            ColumnUse::Probability => {
                let numbers = read(path, &pieces(at), plan, column, &mut batch.tallies[column])?;
                batch.probabilities = checked(path, &plan.names[column], numbers)?.into_vec();
            }
        }
    }
    // Evaluators are added in the jury's order, so that sums round as they do in other formats.
    let mut sums = Vec::new();
    if let Some(form) = &plan.form {
        begin_sums(&mut sums, form, rows, 0.0);
    }
    let mut columns = Vec::with_capacity(plan.evaluators);
    for (evaluator, numbers) in scores.into_iter().enumerate() {
        let numbers = numbers.unwrap_or_else(|| NumberColumn::missing(rows));
        let bad = match &plan.form {
            Some(form) => numbers.add_to(form, evaluator, &mut sums[form.lane(evaluator)]),
            None => numbers.unusable(),
        };
        if let Some(row) = bad {
            let column = plan.uses.iter().position(|what| what.is_score_of(evaluator)).unwrap_or(0);
            // The error shows the value as stored: the sign that was applied above is undone.
            let sign = if let ColumnUse::Score { sign, .. } = plan.uses[column] { sign } else { 1.0 };
            return Err(infinite(path, &plan.names[column], row, numbers.get(row) * sign));
        }
        columns.push(numbers);
    }
    batch.scores = BatchLayout::Columns(columns);
    if let Some(form) = &plan.form {
        form.finish(&mut sums);
    }
    batch.values = sums.into_iter().next().unwrap_or_default();
    Ok(batch)
}

/// Reads the numbers of a column, NaN where missing.
fn read(
    path: &Path,
    pieces: &[ArrayRef],
    plan: &ScanPlan,
    column: usize,
    tally: &mut ColumnTally,
) -> Result<NumberColumn, Error> {
    let mut before = 0;
    let mut all: Option<Vec<f64>> = None;
    for array in pieces {
        let found = numbers::numbers(array, &plan.notations[column], &mut |row, cell, text| {
            let place = RowPosition::Row((before + row) as u64 + 1);
            tally.take(path, place, plan, column, cell, text.as_bytes())
        })?;
        // Here, missing cells of a numeric array are counted only if all of its cells are missing.
        if is_numeric(array.data_type()) && found.is_missing() {
            tally.missing += found.len() as u64;
        }
        if pieces.len() == 1 {
            return Ok(found);
        }
        before += array.len();
        all.get_or_insert_default().extend(found.into_vec());
    }
    Ok(NumberColumn::Own(all.unwrap_or_default()))
}

/// Calls `each` with the row and the text of every cell in a column of keys. Errors on floats too
/// large to represent each whole number.
fn each_key(
    path: &Path,
    column: &str,
    pieces: &[ArrayRef],
    mut each: impl FnMut(usize, String),
) -> Result<(), Error> {
    let rows = pieces.iter().flat_map(|array| (0..array.len()).map(move |row| key(array, row)));
    for (row, key) in rows.enumerate() {
        let key = key.map_err(|value| Error::RoundedId {
            path: path.into(),
            place: RowPosition::Row(row as u64 + 1),
            column: column.into(),
            value: value.to_string(),
        })?;
        each(row, key.unwrap_or_default());
    }
    Ok(())
}

/// The code of the group that each cell names, as in a context column; NaN for empty cells.
///
/// ```
/// use arrow_array::{ArrayRef, Int64Array, StringArray};
/// use std::sync::Arc;
///
/// let text: ArrayRef = Arc::new(StringArray::from(vec![Some("7"), None]));
/// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
/// let of = |array| jurybox_files::group_codes("queue", array);
/// assert_eq!(of(&text)?[0], of(&numbers)?[0]);
/// assert!(of(&text)?[1].is_nan());
/// # Ok::<(), jurybox_files::Error>(())
/// ```
pub fn group_codes(column: &str, array: &ArrayRef) -> Result<Vec<f64>, Error> {
    let mut codes = Vec::with_capacity(array.len());
    let path = Path::new(super::memory::NAME);
    each_key(path, column, std::slice::from_ref(array), |_, name| codes.push(group(&name)))?;
    Ok(codes)
}

/// Counts the values in a column that had none in the rows used for detection.
fn watch(
    path: &Path,
    pieces: &[ArrayRef],
    plan: &ScanPlan,
    column: usize,
    tally: &mut ColumnTally,
) -> Result<(), Error> {
    let mut before = 0;
    for array in pieces {
        if array.logical_null_count() < array.len() {
            each_text(array, |row, text| {
                let place = RowPosition::Row((before + row) as u64 + 1);
                let cell = plan.notations[column].read(text.as_bytes());
                tally.take(path, place, plan, column, cell, text.as_bytes()).map(|_| ())
            })?;
        }
        before += array.len();
    }
    Ok(())
}

fn checked(path: &Path, name: &str, numbers: NumberColumn) -> Result<NumberColumn, Error> {
    match numbers.unusable() {
        Some(row) => Err(infinite(path, name, row, numbers.get(row))),
        None => Ok(numbers),
    }
}

pub(crate) fn infinite(path: &Path, column: &str, row: usize, value: f64) -> Error {
    let (path, column, value) = (path.to_path_buf(), column.to_string(), value.to_string());
    Error::Infinite { path, place: RowPosition::Row(row as u64 + 1), column, value }
}

/// The rows of a record batch as the columns of `show`.
pub(crate) fn output_rows(arrays: &RecordBatch, show: &OutputColumns<'_>) -> OutputRows {
    OutputRows::new(arrays.num_rows(), show, |name| {
        arrays.column_by_name(name).cloned().map(OutputColumn::Array)
    })
}

/// The rows of several batches in the given order. Row numbers count over all batches together.
pub(crate) fn reordered(batches: &[RecordBatch], order: &[u64]) -> Result<RecordBatch, ArrowError> {
    let Some(first) = batches.first() else {
        return Err(ArrowError::InvalidArgumentError("rows disappeared while the table was read".into()));
    };
    let whole = arrow_select::concat::concat_batches(&first.schema(), batches)?;
    arrow_select::take::take_record_batch(&whole, &arrow_array::UInt64Array::from(order.to_vec()))
}
