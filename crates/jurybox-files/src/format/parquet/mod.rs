//! Parquet: only the requested columns are read, one range of rows within a row group at a time.

mod column_strip;
mod detect;
mod fetch;
mod page_memory;
mod pages;
mod panics;
mod positioned_file;
mod row_range;
mod write;

pub use panics::panic_is_caught;

use super::arrow;
use super::{
    BatchCallback, Format, FormatInfo, OutputColumns, RowRange, RowRequest, RowSource, UnitReader, WorkUnit,
};
use crate::error::Error;
use crate::input::InputFile;
use crate::output_rows::{OutputColumn, OutputRows};
use crate::roles::ColumnInfo;
use crate::scan::ScanPart;
use crate::scan_plan::ScanPlan;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::file::reader::Length;
use page_memory::PageMemory;
use panics::{broken, guarded, unreadable};
use positioned_file::PositionedFile;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const ABOUT: FormatInfo = FormatInfo {
    endings: &["parquet", "pq"],
    begins: |text| text.starts_with(b"PAR1"),
    // A stream must be copied to disk first: the metadata is at the end of the file.
    streams: false,
    open: |input| Ok(Box::new(Parquet::open(input)?)),
    create: |aside, _| Ok(Box::new(write::ParquetSink::new(aside))),
};

/// A Parquet file.
#[derive(Debug)]
struct Parquet {
    input: InputFile,
    file: PositionedFile,
    metadata: ArrowReaderMetadata,
    columns: Vec<ColumnInfo>,
}

impl Parquet {
    fn open(input: InputFile) -> Result<Parquet, Error> {
        let path = &input.path;
        let file = PositionedFile::new(input.file()?).map_err(|e| input.reading(e))?;
        if file.len() == 0 {
            return Err(Error::Empty { path: path.clone() });
        }
        let metadata = guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))
            .map_err(|e| unreadable(path, &file, &e))?;
        if metadata.metadata().file_metadata().num_rows() == 0 {
            let columns = metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
            return Err(Error::NoRows { path: path.clone(), columns });
        }
        let mut columns = arrow::columns(path, metadata.schema())?;
        let from = row_range::ParquetInput { path, file: &file, metadata: &metadata };
        detect::look(&mut columns, &from, &input.reading.notation());
        Ok(Parquet { input, file, metadata, columns })
    }

    /// The columns that can be restored from the kept scores, each with its evaluator's position.
    fn kept_as_scores(&self, show: &OutputColumns<'_>) -> Vec<(usize, usize)> {
        let fields = self.metadata.schema().fields().iter().enumerate();
        let kept = fields.filter(|(_, field)| arrow::fits_a_number(field.data_type()));
        let evaluator = |name: &String| show.roles.read_as(name);
        kept.filter_map(|(column, field)| Some((column, evaluator(field.name())?))).collect()
    }
}

impl RowSource for Parquet {
    fn path(&self) -> &Path {
        &self.input.path
    }

    fn format(&self) -> Format {
        Format::Parquet
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn size(&self) -> Option<u64> {
        self.input.size
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        self.input.check_unchanged()
    }

    fn fingerprint(&self) -> Result<Option<String>, Error> {
        self.input.fingerprint()
    }

    fn units(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn UnitReader + '_>, Error> {
        let list = row_range::row_ranges(&self.metadata, self.input.size).into_iter();
        Ok(Box::new(ParquetUnits { list, bytes: bytes.clone() }))
    }

    fn rows(&self) -> Option<u64> {
        // Summed over the row groups, because the total in the file may be wrong.
        let groups = self.metadata.metadata().row_groups().iter();
        groups
            .map(|group| u64::try_from(group.num_rows()).ok())
            .try_fold(0, |sum: u64, rows| sum.checked_add(rows?))
    }

    fn units_of_rows(
        &self,
        rows: &[Range<u64>],
        bytes: &Arc<AtomicU64>,
    ) -> Result<Box<dyn UnitReader + '_>, Error> {
        let list = row_range::selected_ranges(&self.metadata, rows).into_iter();
        Ok(Box::new(ParquetUnits { list, bytes: bytes.clone() }))
    }

    fn lines(&self, unit: &WorkUnit) -> u64 {
        unit.range.rows as u64
    }

    fn parse(&self, unit: &mut WorkUnit, plan: &ScanPlan, each: &mut BatchCallback<'_>) -> Result<(), Error> {
        let from = row_range::ParquetInput { path: self.path(), file: &self.file, metadata: &self.metadata };
        from.read(unit.range, plan, unit.cache.of::<PageMemory>(), each)
    }

    fn whole_rows(&self, part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        let gone = || broken(self.path(), &"rows disappeared while the table was read");
        Ok(arrow::output_rows(part.arrays.as_ref().ok_or_else(gone)?, show))
    }

    /// Reads the rows, except for columns that can be restored from the kept scores.
    fn fetch(&self, rows: &[RowRequest<'_>], show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        let without = rows.iter().any(|row| row.scores.is_empty());
        let kept = if without { Vec::new() } else { self.kept_as_scores(show) };
        let others = |column: usize| kept.iter().all(|(at, _)| *at != column);
        let columns: Vec<usize> = (0..self.columns.len()).filter(|&column| others(column)).collect();
        let mut numbers: Vec<u64> = rows.iter().map(|row| row.row).collect();
        numbers.sort_unstable();
        let from = row_range::ParquetInput { path: self.path(), file: &self.file, metadata: &self.metadata };
        let arrays = fetch::rows(&from, &columns, &numbers, show.threads)?;
        self.check_unchanged()?;
        let place = |row: &RowRequest<'_>| numbers.binary_search(&row.row).unwrap_or(0) as u64;
        let order: Vec<u64> = rows.iter().map(place).collect();
        let taken = arrow::reordered(&arrays, &order).map_err(|e| broken(self.path(), &e))?;
        let mut output = arrow::output_rows(&taken, show);
        for (column, evaluator) in kept {
            let score = |row: &RowRequest<'_>| row.scores.get(evaluator).copied().unwrap_or(f64::NAN);
            let values: Vec<f64> = rows.iter().map(score).collect();
            let field = self.metadata.schema().field(column);
            output.set(field.name(), OutputColumn::Array(arrow::of_numbers(field.data_type(), &values)));
        }
        Ok(output)
    }
}

/// The units of a pass, in order.
struct ParquetUnits {
    list: std::vec::IntoIter<RowRange>,
    bytes: Arc<AtomicU64>,
}

impl UnitReader for ParquetUnits {
    fn next(&mut self, unit: &mut WorkUnit) -> Result<bool, Error> {
        let Some(range) = self.list.next() else { return Ok(false) };
        unit.range = range;
        self.bytes.fetch_add(range.bytes, Ordering::Relaxed);
        Ok(true)
    }
}
