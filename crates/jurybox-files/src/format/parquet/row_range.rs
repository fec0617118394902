//! Units of a Parquet file: cutting row groups into ranges of rows, and reading one range.

use super::column_strip;
use super::detect;
use super::page_memory::PageMemory;
use super::pages::PageNumbers;
use super::panics::{broken, guarded};
use super::positioned_file::PositionedFile;
use crate::error::Error;
use crate::format::{BatchCallback, ParsedBatch, RowRange, arrow};
use crate::scan_plan::{ColumnUse, ScanPlan};
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use ::parquet::errors::ParquetError;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Minimum number of rows per unit of a pass over the whole file, unless the row group is smaller.
const RANGE_ROWS: usize = 1 << 17;
/// Maximum number of rows decoded at a time, so that their columns stay in the cache.
pub(super) const BATCH: usize = 1 << 13;

/// Cuts the whole file into units; each gets a share of the file's `size` in bytes.
pub(super) fn row_ranges(metadata: &ArrowReaderMetadata, size: Option<u64>) -> Vec<RowRange> {
    let mut list = Vec::new();
    let (all, size) = (metadata.metadata().file_metadata().num_rows().max(1) as f64, size.unwrap_or(0));
    // The bytes of all rows before `row`, so that the units' shares add up to the file's size.
    let until = |row: usize| (size as f64 * (row as f64 / all)).round() as u64;
    let mut first = 0;
    for (group, about) in metadata.metadata().row_groups().iter().enumerate() {
        let rows = usize::try_from(about.num_rows()).unwrap_or(0);
        // A row group of less than twice the minimum stays whole.
        let pieces = (rows / RANGE_ROWS).max(1);
        for piece in 0..pieces {
            let (start, end) = (rows * piece / pieces, rows * (piece + 1) / pieces);
            if end > start {
                let bytes = until(first + end) - until(first + start);
                list.push(RowRange { row_group: group, start, rows: end - start, bytes });
            }
        }
        first += rows;
    }
    list
}

/// Cuts the given row ranges where row groups end; each part is a unit.
pub(super) fn selected_ranges(metadata: &ArrowReaderMetadata, wanted: &[Range<u64>]) -> Vec<RowRange> {
    let (mut list, mut first) = (Vec::new(), 0_u64);
    for (group, about) in metadata.metadata().row_groups().iter().enumerate() {
        let end = first + u64::try_from(about.num_rows()).unwrap_or(0);
        for rows in wanted {
            let (from, to) = (rows.start.max(first), rows.end.min(end));
            if to > from {
                let (start, rows) = ((from - first) as usize, (to - from) as usize);
                list.push(RowRange { row_group: group, start, rows, bytes: 0 });
            }
        }
        first = end;
    }
    list
}

/// An open Parquet file.
#[derive(Clone, Copy)]
pub(super) struct ParquetInput<'a> {
    pub(super) path: &'a Path,
    pub(super) file: &'a PositionedFile,
    pub(super) metadata: &'a ArrowReaderMetadata,
}

impl ParquetInput<'_> {
    /// Reads a unit and passes each batch to `each`, with its arrays if records were requested.
    pub(super) fn read(
        &self,
        range: RowRange,
        plan: &ScanPlan,
        memory: &mut PageMemory,
        each: &mut BatchCallback<'_>,
    ) -> Result<(), Error> {
        let path = self.path;
        let group = self.metadata.metadata().row_group(range.row_group);
        let selection = (group.num_rows() as usize != range.rows).then(|| {
            RowSelection::from(vec![RowSelector::skip(range.start), RowSelector::select(range.rows)])
        });
        let mut wanted = arrow::wanted(plan);
        if !plan.records {
            // A column that is only watched for late values need not be read if its statistics show
            // no value.
            wanted.retain(|&column| {
                plan.uses[column] != ColumnUse::Watch || !detect::is_empty(self.metadata, group, column)
            });
        }
        if !plan.records
            && !plan.has_missing_numbers()
            && let Some(pages) = guarded(|| self.pages(range, &wanted, plan)).map_err(|e| broken(path, &e))?
        {
            return column_strip::read(path, pages, range, plan, memory, each);
        }
        let reader = guarded(|| self.reader(&wanted, range.row_group, selection));
        let mut reader = reader.map_err(|e| broken(path, &e))?;
        let mut next = || guarded(|| Ok(reader.next().transpose()?)).map_err(|e| broken(path, &e));
        let mut row = 0;
        while let Some(arrays) = next()? {
            let piece = |at: usize| vec![arrays.column(at).clone()];
            let batch =
                arrow::batch(path, arrays.num_rows(), &wanted, plan, piece).map_err(|e| e.moved_down(row))?;
            row += batch.rows as u64;
            each(ParsedBatch { batch, text: &[], arrays: plan.records.then_some(arrays) })?;
        }
        if row == range.rows as u64 {
            Ok(())
        } else {
            Err(broken(path, &format!("{} rows were expected and {row} found", range.rows)))
        }
    }

    /// The pages of the requested columns, or `None` unless all of these can be decoded directly.
    ///
    /// Scores come in the jury's order of evaluators, so that sums round as they do in other
    /// formats.
    fn pages(
        &self,
        range: RowRange,
        wanted: &[usize],
        plan: &ScanPlan,
    ) -> Result<Option<Vec<(usize, PageNumbers)>>, ParquetError> {
        // Pages give numbers, but keys, ids and the like are text even if numbers are stored.
        if wanted.iter().any(|&column| {
            matches!(
                plan.uses[column],
                ColumnUse::Key
                    | ColumnUse::Id
                    | ColumnUse::Group { .. }
                    | ColumnUse::Reviewer
                    | ColumnUse::Watch
            )
        }) {
            return Ok(None);
        }
        let mut columns = wanted.to_vec();
        columns.sort_by_key(|&column| match plan.uses[column] {
            ColumnUse::Score { evaluator, .. } => evaluator,
            _ => usize::MAX,
        });
        let (file, rows) = (Arc::new(self.file.clone()), (range.start, range.rows));
        let open = |column: usize| {
            let pages = PageNumbers::open(&file, self.metadata, range.row_group, column, rows)?;
            Ok(pages.map(|pages| (column, pages)))
        };
        columns.into_iter().map(open).collect()
    }

    /// A reader for some columns of a row group, with all of its rows or a selection.
    pub(super) fn reader(
        &self,
        columns: &[usize],
        group: usize,
        selection: Option<RowSelection>,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![group])
                .with_batch_size(BATCH);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        builder.build()
    }
}
