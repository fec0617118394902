//! Parquet: telling the columns, and reading stretches of row groups, only the columns asked for.

use crate::arrow;
use crate::ask::{Ask, Batch, Layout, Use, bad_number};
use crate::error::{Error, Place};
use crate::numbers::Numbers;
use crate::pages::Pages;
use crate::positioned::Positioned;
use crate::roles::Found;
use crate::shelf::Shelf;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

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
    /// Its share of the file's bytes.
    bytes: u64,
}

impl Stretch {
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    pub(crate) fn rows(self) -> usize {
        self.rows
    }
}

/// Reads the footer.
pub(crate) fn open(path: &Path, file: &Positioned) -> Result<ArrowReaderMetadata, Error> {
    if file.len() == 0 {
        return Err(Error::Empty { path: path.into() });
    }
    guarded(|| ArrowReaderMetadata::load(file, ArrowReaderOptions::new()))
        .map_err(|e| unreadable(path, file, &e))
}

/// Some damage makes the Parquet reader panic where it should refuse; to us that is an error like any other.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("it is damaged".into()));
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged);
    GUARDED.set(before);
    result
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, now, would be the Parquet reader's answer to a damaged file, which becomes an error: a
/// program's panic hook need not speak of it.
///
/// ```
/// let speak = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !jurybox_files::panic_is_caught() {
///         speak(panic);
///     }
/// }));
/// assert!(!jurybox_files::panic_is_caught());
/// ```
pub fn panic_is_caught() -> bool {
    GUARDED.get()
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
pub(crate) fn stretches(metadata: &ArrowReaderMetadata, size: Option<u64>) -> Vec<Stretch> {
    let mut list = Vec::new();
    let (all, size) = (metadata.metadata().file_metadata().num_rows().max(1) as f64, size.unwrap_or(0));
    // Up to the end of a row, so that the shares add up to the file.
    let until = |row: usize| (size as f64 * (row as f64 / all)).round() as u64;
    let mut first = 0;
    for (group, about) in metadata.metadata().row_groups().iter().enumerate() {
        let rows = usize::try_from(about.num_rows()).unwrap_or(0);
        // A row group a little over the size is not worth a second start.
        let pieces = (rows / STRETCH).max(1);
        for piece in 0..pieces {
            let (start, end) = (rows * piece / pieces, rows * (piece + 1) / pieces);
            if end > start {
                let bytes = until(first + end) - until(first + start);
                list.push(Stretch { group, start, rows: end - start, bytes });
            }
        }
        first += rows;
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
    shelf: &mut Shelf,
    mut each: impl FnMut(Batch, Option<RecordBatch>) -> Result<(), Error>,
) -> Result<(), Error> {
    let whole = metadata.metadata().row_group(stretch.group).num_rows() as usize == stretch.rows;
    let selection = (!whole).then(|| {
        RowSelection::from(vec![RowSelector::skip(stretch.start), RowSelector::select(stretch.rows)])
    });
    let wanted: Vec<usize> =
        (0..ask.uses.len()).filter(|&column| ask.records || ask.uses[column] != Use::Skip).collect();
    let mut row = 0;
    if !ask.records
        && let Some(pages) =
            guarded(|| pages(file, metadata, stretch, &wanted, ask)).map_err(|e| broken(path, &e))?
    {
        return from_pages(path, pages, stretch, ask, shelf, each);
    }
    let reader = guarded(|| reader(file, metadata, &wanted, vec![stretch.group], selection, BATCH));
    let mut reader = reader.map_err(|e| broken(path, &e))?;
    let mut next = || guarded(|| Ok(reader.next().transpose()?)).map_err(|e| broken(path, &e));
    while let Some(arrays) = next()? {
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

/// The pages of the wanted columns, each with its column, if all of them can be read as they are.
///
/// Evaluators come in their own order: sums add up in the order in which the other formats add them.
fn pages(
    file: &Positioned,
    metadata: &ArrowReaderMetadata,
    stretch: Stretch,
    wanted: &[usize],
    ask: &Ask,
) -> Result<Option<Vec<(usize, Pages)>>, ParquetError> {
    let mut columns = wanted.to_vec();
    columns.sort_by_key(|&column| match ask.uses[column] {
        Use::Score { evaluator, .. } => evaluator,
        _ => usize::MAX,
    });
    let (file, rows) = (Arc::new(file.clone()), (stretch.start, stretch.rows));
    let open = |column: usize| {
        let pages = Pages::open(&file, metadata, stretch.group, column, rows)?;
        Ok(pages.map(|pages| (column, pages)))
    };
    columns.into_iter().map(open).collect()
}

/// The numbers of a column over a stretch, part after part, and how much of the first part has been used.
struct Strip {
    column: usize,
    parts: VecDeque<Numbers>,
    used: usize,
}

/// Reads a stretch from the pages themselves, column after column. Batches end where a page of any column ends.
fn from_pages(
    path: &Path,
    pages: Vec<(usize, Pages)>,
    stretch: Stretch,
    ask: &Ask,
    shelf: &mut Shelf,
    mut each: impl FnMut(Batch, Option<RecordBatch>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut sums = vec![0.0; if ask.weights.is_some() { stretch.rows } else { 0 }];
    let mut strips = Vec::new();
    for (column, mut pages) in pages {
        let (mut row, mut parts) = (0, VecDeque::new());
        while let Some(part) = guarded(|| pages.next(shelf)).map_err(|e| broken(path, &e))? {
            // Added up and checked while the page is still in the cache.
            let bad = match ask.weight(column) {
                Some(weight) => part.add_to(&mut sums[row..], weight),
                None => part.unusable(),
            };
            if let Some(bad) = bad {
                return Err(infinite(path, &ask.names[column], row + bad, part.get(bad)));
            }
            row += part.len();
            parts.push_back(part);
        }
        strips.push(Strip { column, parts, used: 0 });
    }
    let mut row = 0;
    while row < stretch.rows {
        let ready = |strip: &Strip| strip.parts.front().map_or(0, |part| part.len() - strip.used);
        let rows = strips.iter().map(ready).fold(BATCH.min(stretch.rows - row), usize::min);
        if rows == 0 {
            return Err(broken(path, &"a column ends before its rows do"));
        }
        let mut batch = Batch { rows, evaluators: ask.evaluators, ..Batch::default() };
        let mut scores = vec![Numbers::default(); ask.evaluators];
        for strip in &mut strips {
            let Some(part) = strip.parts.front() else { continue };
            let numbers = part.slice(strip.used, strip.used + rows);
            strip.used += rows;
            if strip.used == part.len() {
                strip.parts.pop_front();
                strip.used = 0;
            }
            place(numbers, ask.uses[strip.column], &mut scores, &mut batch);
        }
        batch.scores = Layout::Columns(scores);
        batch.sums = sums.get(row..row + rows).unwrap_or_default().to_vec();
        row += rows;
        each(batch, None)?;
    }
    Ok(())
}

fn infinite(path: &Path, column: &str, row: usize, value: f64) -> Error {
    let (path, column, value) = (path.to_path_buf(), column.to_string(), value.to_string());
    Error::Infinite { path, place: Place::Row(row as u64 + 1), column, value }
}

/// Puts the numbers of a column where they are wanted.
fn place(numbers: Numbers, what: Use, scores: &mut [Numbers], batch: &mut Batch) {
    match what {
        Use::Score { evaluator, sign } => scores[evaluator] = numbers.signed(sign),
        Use::Reward { sign } => batch.rewards = numbers.signed(sign).into_vec(),
        Use::Probability => batch.probabilities = numbers.into_vec(),
        Use::Skip | Use::Key => {}
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
    let mut scores = vec![Numbers::default(); ask.evaluators];
    let mut batch = Batch { rows: arrays.num_rows(), evaluators: ask.evaluators, ..Batch::default() };
    for (array, &column) in arrays.columns().iter().zip(wanted) {
        let (name, what) = (&ask.names[column], ask.uses[column]);
        match what {
            Use::Skip => {}
            Use::Key => {
                batch.keys =
                    (0..batch.rows).map(|row| arrow::text(array, row).unwrap_or_default().into()).collect();
            }
            Use::Score { .. } | Use::Reward { .. } | Use::Probability => {
                let numbers = arrow::numbers(array).map_err(|(row, cell, shown)| {
                    bad_number(path, Place::Row(row as u64 + 1), name, cell, shown.as_bytes())
                })?;
                let numbers = Numbers::Own(numbers);
                if let Some(row) = numbers.unusable() {
                    return Err(infinite(path, name, row, numbers.get(row)));
                }
                place(numbers, what, &mut scores, &mut batch);
            }
        }
    }
    batch.scores = Layout::Columns(scores);
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
