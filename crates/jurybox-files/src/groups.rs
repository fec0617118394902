//! Parquet: telling the columns, and reading stretches of row groups, only the columns asked for.

use crate::arrow;
use crate::ask::{Ask, Batch, Layout, Use, number_for};
use crate::error::{Error, Place};
use crate::positioned::Positioned;
use crate::roles::Found;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::path::Path;

/// Rows that one thread reads at a stretch.
const STRETCH: usize = 1 << 17;
/// Rows that are decoded at a time: their columns stay in the cache while they are used.
const BATCH: usize = 1 << 13;

/// A stretch of rows within one row group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    group: usize,
    start: usize,
    rows: usize,
}

impl Stretch {
    pub(crate) fn rows(self) -> usize {
        self.rows
    }
}

/// Reads the footer.
pub(crate) fn open(path: &Path, file: &Positioned) -> Result<ArrowReaderMetadata, Error> {
    if file.len() == 0 {
        return Err(Error::Empty { path: path.into() });
    }
    ArrowReaderMetadata::load(file, ArrowReaderOptions::new()).map_err(|e| unreadable(path, file, &e))
}

/// What a failed read means: without its closing mark, a file that begins as Parquet was cut off.
fn unreadable(path: &Path, file: &Positioned, error: &ParquetError) -> Error {
    let mark = |at: u64| file.get_bytes(at, 4).ok().is_some_and(|bytes| *bytes == *b"PAR1");
    if mark(0) && !mark(file.len().saturating_sub(4)) {
        return Error::Truncated { path: path.into(), what: "the Parquet file" };
    }
    broken(path, error)
}

pub(crate) fn broken(path: &Path, error: &impl ToString) -> Error {
    Error::Parquet { path: path.into(), reason: error.to_string() }
}

/// The columns of a file.
pub(crate) fn columns(path: &Path, schema: &SchemaRef) -> Result<Vec<Found>, Error> {
    let mut found: Vec<Found> = Vec::new();
    for (second, field) in schema.fields().iter().enumerate() {
        if let Some(first) = found.iter().position(|other| other.name == *field.name()) {
            let (first, second) = (first + 1, second + 1);
            return Err(Error::DuplicateColumn {
                path: path.into(),
                column: field.name().clone(),
                first,
                second,
            });
        }
        let numeric = Some(arrow::is_numeric(field.data_type()));
        found.push(Found { name: field.name().clone(), numeric });
    }
    Ok(found)
}

/// The whole file, cut into stretches.
pub(crate) fn stretches(metadata: &ArrowReaderMetadata) -> Vec<Stretch> {
    let mut list = Vec::new();
    for (group, about) in metadata.metadata().row_groups().iter().enumerate() {
        let rows = usize::try_from(about.num_rows()).unwrap_or(0);
        // A row group a little over the size is not worth a second start.
        let pieces = (rows / STRETCH).max(1);
        for piece in 0..pieces {
            let (start, end) = (rows * piece / pieces, rows * (piece + 1) / pieces);
            if end > start {
                list.push(Stretch { group, start, rows: end - start });
            }
        }
    }
    list
}

/// Reads a stretch: `each` gets batch after batch, with the arrays where every column is wanted.
pub(crate) fn read(
    path: &Path,
    file: &Positioned,
    metadata: &ArrowReaderMetadata,
    stretch: Stretch,
    ask: &Ask,
    mut each: impl FnMut(Batch, Option<RecordBatch>) -> Result<(), Error>,
) -> Result<(), Error> {
    let whole = metadata.metadata().row_group(stretch.group).num_rows() as usize == stretch.rows;
    let selection = (!whole).then(|| {
        RowSelection::from(vec![RowSelector::skip(stretch.start), RowSelector::select(stretch.rows)])
    });
    let wanted: Vec<usize> =
        (0..ask.uses.len()).filter(|&column| ask.records || ask.uses[column] != Use::Skip).collect();
    let mut row = 0;
    let reader = reader(file, metadata, &wanted, vec![stretch.group], selection, BATCH);
    for arrays in reader.map_err(|e| broken(path, &e))? {
        let arrays = arrays.map_err(|e| broken(path, &e))?;
        let batch = batch(path, &arrays, &wanted, ask).map_err(|e| e.moved_down(row))?;
        row += batch.rows as u64;
        each(batch, ask.records.then_some(arrays))?;
    }
    if row == stretch.rows as u64 {
        Ok(())
    } else {
        Err(broken(path, &format!("{} rows were announced and {row} found", stretch.rows)))
    }
}

fn reader(
    file: &Positioned,
    metadata: &ArrowReaderMetadata,
    columns: &[usize],
    groups: Vec<usize>,
    selection: Option<RowSelection>,
    batch: usize,
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone())
        .with_projection(mask)
        .with_row_groups(groups)
        .with_batch_size(batch);
    if let Some(selection) = selection {
        builder = builder.with_row_selection(selection);
    }
    builder.build()
}

/// Arrays become numbers and keys.
fn batch(path: &Path, arrays: &RecordBatch, wanted: &[usize], ask: &Ask) -> Result<Batch, Error> {
    let mut columns = vec![Vec::new(); ask.evaluators];
    let mut batch = Batch { rows: arrays.num_rows(), evaluators: ask.evaluators, ..Batch::default() };
    for (array, &column) in arrays.columns().iter().zip(wanted) {
        let numbers = |sign: f64| {
            let mut values = arrow::numbers(array).map_err(|(row, cell, shown)| {
                let place = Place::Row(row as u64 + 1);
                match number_for(path, place, &ask.names[column], cell, shown.as_bytes()) {
                    Err(error) => error,
                    Ok(_) => broken(path, &"a number that is none"),
                }
            })?;
            if sign < 0.0 {
                values.iter_mut().for_each(|v| *v = -*v);
            }
            Ok::<_, Error>(values)
        };
        match ask.uses[column] {
            Use::Skip => {}
            Use::Score { evaluator, sign } => columns[evaluator] = numbers(sign)?,
            Use::Reward { sign } => batch.rewards = numbers(sign)?,
            Use::Probability => batch.probabilities = numbers(1.0)?,
            Use::Key => {
                batch.keys =
                    (0..batch.rows).map(|row| arrow::text(array, row).unwrap_or_default().into()).collect();
            }
        }
    }
    batch.scores = Layout::Columns(columns);
    Ok(batch)
}

/// Some columns of some rows, in the order of the rows, which must ascend; row groups are read by several threads.
pub(crate) fn rows(
    path: &Path,
    file: &Positioned,
    metadata: &ArrowReaderMetadata,
    columns: &[usize],
    rows: &[u64],
    threads: usize,
) -> Result<Vec<RecordBatch>, Error> {
    let (mut wanted, mut first, mut left) = (Vec::new(), 0_u64, rows);
    for (group, about) in metadata.metadata().row_groups().iter().enumerate() {
        let end = first + u64::try_from(about.num_rows()).unwrap_or(0);
        let (here, rest) = left.split_at(left.partition_point(|&row| row < end));
        left = rest;
        if !here.is_empty() {
            let mut selectors = Vec::with_capacity(2 * here.len());
            let mut at = first;
            for &row in here {
                selectors.push(RowSelector::skip((row - at) as usize));
                selectors.push(RowSelector::select(1));
                at = row + 1;
            }
            selectors.retain(|selector| selector.row_count > 0);
            wanted.push((group, RowSelection::from(selectors)));
        }
        first = end;
    }
    let fetch = |(group, selection): &(usize, RowSelection)| {
        let reader = reader(file, metadata, columns, vec![*group], Some(selection.clone()), BATCH);
        let batches: Result<Vec<_>, _> = reader.map_err(|e| broken(path, &e))?.collect();
        batches.map_err(|e| broken(path, &e))
    };
    let share = wanted.len().div_ceil(threads.max(1)).max(1);
    let fetched = std::thread::scope(|scope| {
        let fetch = &fetch;
        let workers: Vec<_> = wanted
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(fetch).collect::<Result<Vec<_>, Error>>()))
            .collect();
        let joined = workers.into_iter().map(|worker| {
            worker.join().unwrap_or_else(|_| Err(broken(path, &"a thread that was reading it stopped")))
        });
        joined.collect::<Result<Vec<_>, Error>>()
    })?;
    let batches: Vec<RecordBatch> = fetched.into_iter().flatten().flatten().collect();
    let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if found == rows.len() {
        Ok(batches)
    } else {
        Err(broken(path, &format!("{} rows were asked for and {found} found", rows.len())))
    }
}

/// Rows picked out of several batches, in that order.
pub(crate) fn reordered(path: &Path, batches: &[RecordBatch], order: &[u64]) -> Result<RecordBatch, Error> {
    let failed = |e: arrow_schema::ArrowError| broken(path, &e);
    let Some(first) = batches.first() else {
        return Err(broken(path, &"rows that were there are gone"));
    };
    let whole = arrow_select::concat::concat_batches(&first.schema(), batches).map_err(failed)?;
    arrow_select::take::take_record_batch(&whole, &arrow_array::UInt64Array::from(order.to_vec()))
        .map_err(failed)
}
