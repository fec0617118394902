//! Tables in memory: Arrow record batches, either all at hand or from a stream.
//!
//! Large batches are split; small batches of a table at hand are joined. Only requested columns are
//! read. Doubles and floats without nulls are usually not copied.

mod stream;

pub(crate) use stream::BatchStream;

use super::arrow;
use super::{
    BatchCallback, Format, OutputColumns, ParsedBatch, RowRange, RowRequest, RowSource, UnitReader, WorkUnit,
};
use crate::cell_number::Notation;
use crate::error::Error;
use crate::output_rows::OutputRows;
use crate::roles::ColumnInfo;
use crate::scan::ScanPart;
use crate::scan_plan::ScanPlan;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The path that messages show for a table in memory.
pub(crate) const NAME: &str = "table in memory";

/// Maximum number of rows per unit of work.
const UNIT_ROWS: usize = 1 << 16;

/// Maximum number of rows per batch, so that its columns stay in the cache while they are used.
const BATCH: usize = 1 << 13;

/// A table whose record batches are all at hand.
#[derive(Debug)]
pub(crate) struct MemoryTable {
    batches: Vec<RecordBatch>,
    /// The number of each batch's first row, followed by the total number of rows.
    firsts: Vec<usize>,
    columns: Vec<ColumnInfo>,
    /// Approximate bytes per row, for progress.
    width: u64,
    /// The name shown in messages.
    path: PathBuf,
}

impl MemoryTable {
    pub(crate) fn new(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<MemoryTable, Error> {
        let columns = arrow::columns(Path::new(NAME), schema)?;
        let mut firsts = vec![0];
        for (at, batch) in batches.iter().enumerate() {
            same_columns(schema, &batch.schema(), at)?;
            firsts.push(firsts[at] + batch.num_rows());
        }
        if firsts[batches.len()] == 0 {
            let columns = columns.into_iter().map(|found| found.name).collect();
            return Err(Error::NoRows { path: NAME.into(), columns });
        }
        Ok(MemoryTable { batches, firsts, columns, width: row_bytes(schema), path: NAME.into() })
    }

    /// Detects the column kinds from the first cells, not from the types alone.
    pub(crate) fn looked_at(mut self, notation: &Notation) -> MemoryTable {
        arrow::look(&mut self.columns, self.batches.iter(), notation);
        self
    }

    /// Sets the path shown in messages, for a table that was read from a file.
    pub(crate) fn called(self, path: &Path) -> MemoryTable {
        MemoryTable { path: path.into(), ..self }
    }

    /// The rows from `start` on, up to `rows` of them, as pieces of the table's batches. A piece is
    /// a batch, the number of its first row in that batch, and a number of rows.
    fn pieces(&self, start: usize, rows: usize) -> Vec<(&RecordBatch, usize, usize)> {
        let end = start + rows;
        // The last batch that starts at or before row `start` contains that row. Earlier batches
        // with the same start are empty.
        let mut at = self.firsts.partition_point(|&first| first <= start).saturating_sub(1);
        let (mut row, mut pieces) = (start, Vec::new());
        while row < end && at < self.batches.len() {
            let until = end.min(self.firsts[at + 1]);
            if until > row {
                pieces.push((&self.batches[at], row - self.firsts[at], until - row));
            }
            (row, at) = (until.max(row), at + 1);
        }
        pieces
    }
}

impl RowSource for MemoryTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn format(&self) -> Format {
        Format::Parquet
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn size(&self) -> Option<u64> {
        Some(self.width * self.firsts[self.batches.len()] as u64)
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn units(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn UnitReader + '_>, Error> {
        let rows = self.firsts[self.batches.len()];
        Ok(Box::new(MemoryUnits { rows, next: 0, width: self.width, bytes: bytes.clone() }))
    }

    fn rows(&self) -> Option<u64> {
        Some(self.firsts[self.batches.len()] as u64)
    }

    fn units_of_rows(
        &self,
        rows: &[Range<u64>],
        _bytes: &Arc<AtomicU64>,
    ) -> Result<Box<dyn UnitReader + '_>, Error> {
        Ok(Box::new(SelectedRanges(rows.iter().rev().cloned().collect())))
    }

    fn lines(&self, unit: &WorkUnit) -> u64 {
        unit.range.rows as u64
    }

    fn parse(&self, unit: &mut WorkUnit, plan: &ScanPlan, each: &mut BatchCallback<'_>) -> Result<(), Error> {
        let RowRange { start, rows, .. } = unit.range;
        let mut row = 0;
        // If the first piece has at least half of `BATCH` rows, it is parsed alone, without a copy.
        // Otherwise it is joined with the pieces that follow.
        while row < rows {
            let mut pieces = self.pieces(start + row, BATCH.min(rows - row));
            if pieces[0].2 >= BATCH / 2 {
                pieces.truncate(1);
            }
            let count: usize = pieces.iter().map(|piece| piece.2).sum();
            parse(&self.path, &pieces, count, plan, each).map_err(|e| e.moved_down(row as u64))?;
            row += count;
        }
        Ok(())
    }

    fn whole_rows(&self, part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        whole(part, show)
    }

    fn fetch(&self, rows: &[RowRequest<'_>], show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        let one = |row: &RowRequest<'_>| {
            let at = self.firsts.partition_point(|&first| first <= row.row as usize).saturating_sub(1);
            (at, row.row as usize - self.firsts[at])
        };
        let places: Vec<(usize, usize)> = rows.iter().map(one).collect();
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let taken =
            arrow_select::interleave::interleave_record_batch(&batches, &places).map_err(Error::from)?;
        Ok(arrow::output_rows(&taken, show))
    }
}

/// Approximate bytes per row, for progress.
fn row_bytes(schema: &SchemaRef) -> u64 {
    8 * schema.fields().len() as u64
}

/// Joins pieces of record batches and parses them as one batch.
fn parse(
    path: &Path,
    pieces: &[(&RecordBatch, usize, usize)],
    rows: usize,
    plan: &ScanPlan,
    each: &mut BatchCallback<'_>,
) -> Result<(), Error> {
    let wanted = arrow::wanted(plan);
    let column = |at: usize| {
        pieces.iter().map(|(batch, start, rows)| batch.column(wanted[at]).slice(*start, *rows)).collect()
    };
    let batch = arrow::batch(path, rows, &wanted, plan, column)?;
    let arrays = if plan.records {
        let slices: Vec<RecordBatch> =
            pieces.iter().map(|(batch, start, rows)| batch.slice(*start, *rows)).collect();
        Some(match &slices[..] {
            [one] => one.clone(),
            several => {
                arrow_select::concat::concat_batches(&several[0].schema(), several).map_err(Error::from)?
            }
        })
    } else {
        None
    };
    each(ParsedBatch { batch, text: &[], arrays })
}

fn whole(part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
    let gone =
        || Error::from(ArrowError::InvalidArgumentError("rows disappeared while the table was read".into()));
    Ok(arrow::output_rows(part.arrays.as_ref().ok_or_else(gone)?, show))
}

/// Errors unless a batch has the column names and types of the schema, in the same order.
/// Nullability and metadata may differ.
fn same_columns(schema: &SchemaRef, other: &SchemaRef, at: usize) -> Result<(), Error> {
    let about = |schema: &SchemaRef| {
        let fields = schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone()));
        fields.collect::<Vec<_>>()
    };
    if Arc::ptr_eq(schema, other) || about(schema) == about(other) {
        return Ok(());
    }
    let reason = format!("batch {} has other columns than the first", at + 1);
    Err(Error::Arrow { path: NAME.into(), reason })
}

/// The units of a pass over selected row ranges. The ranges are in reverse order, so that the next
/// one is taken from the end of the list.
struct SelectedRanges(Vec<Range<u64>>);

impl UnitReader for SelectedRanges {
    fn next(&mut self, unit: &mut WorkUnit) -> Result<bool, Error> {
        let Some(rows) = self.0.pop() else { return Ok(false) };
        unit.range = RowRange {
            row_group: 0,
            start: rows.start as usize,
            rows: (rows.end - rows.start) as usize,
            bytes: 0,
        };
        Ok(true)
    }
}

/// The units of a pass over the whole table, in order.
struct MemoryUnits {
    rows: usize,
    next: usize,
    width: u64,
    bytes: Arc<AtomicU64>,
}

impl UnitReader for MemoryUnits {
    fn next(&mut self, unit: &mut WorkUnit) -> Result<bool, Error> {
        let rows = UNIT_ROWS.min(self.rows - self.next);
        unit.range = RowRange { row_group: 0, start: self.next, rows, bytes: self.width * rows as u64 };
        self.next += rows;
        self.bytes.fetch_add(unit.range.bytes, Ordering::Relaxed);
        Ok(rows > 0)
    }
}
