//! A table read once from a stream of record batches, which are not kept.

use super::{NAME, parse, row_bytes, same_columns, whole};
use crate::cell_number::Notation;
use crate::detect::ROWS;
use crate::error::Error;
use crate::format::{
    BatchCallback, Format, OutputColumns, RowRequest, RowSource, StoredRow, UnitReader, WorkUnit, arrow,
};
use crate::output_rows::OutputRows;
use crate::roles::ColumnInfo;
use crate::scan::ScanPart;
use crate::scan_plan::ScanPlan;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type BatchReader = Box<dyn RecordBatchReader + Send>;

/// A stream of record batches, for a single pass.
pub(crate) struct BatchStream {
    reader: Mutex<Option<BatchReader>>,
    schema: SchemaRef,
    columns: Vec<ColumnInfo>,
}

impl BatchStream {
    /// Reads the first batches to detect the column kinds. The pass starts with these batches.
    pub(crate) fn new(mut reader: BatchReader, notation: &Notation) -> Result<BatchStream, Error> {
        let schema = reader.schema();
        let mut columns = arrow::columns(Path::new(NAME), &schema)?;
        let (mut first, mut rows) = (Vec::new(), 0);
        while rows < ROWS {
            let Some(batch) = reader.next() else { break };
            let batch = batch.map_err(Error::from)?;
            same_columns(&schema, &batch.schema(), first.len())?;
            rows += batch.num_rows();
            first.push(batch);
        }
        arrow::look(&mut columns, first.iter(), notation);
        let all = first.into_iter().map(Ok).chain(reader);
        let reader: BatchReader = Box::new(RecordBatchIterator::new(all, schema.clone()));
        Ok(BatchStream { reader: Mutex::new(Some(reader)), schema, columns })
    }

    /// Reads all batches of a stream into memory.
    pub(crate) fn collect(stream: impl RecordBatchReader) -> Result<Vec<RecordBatch>, Error> {
        stream.map(|batch| batch.map_err(Error::from)).collect()
    }
}

impl fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl RowSource for BatchStream {
    fn path(&self) -> &Path {
        Path::new(NAME)
    }

    fn format(&self) -> Format {
        Format::Parquet
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn size(&self) -> Option<u64> {
        None
    }

    /// False, because the stream is gone after the pass.
    fn is_seekable(&self) -> bool {
        false
    }

    fn units(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn UnitReader + '_>, Error> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = reader.ok_or_else(|| Error::ReadOnce { path: NAME.into() })?;
        Ok(Box::new(StreamUnits {
            reader,
            schema: &self.schema,
            batches: 0,
            held: None,
            bytes: bytes.clone(),
        }))
    }

    fn lines(&self, unit: &WorkUnit) -> u64 {
        unit.arrays.as_ref().map_or(0, |arrays| arrays.num_rows() as u64)
    }

    fn parse(&self, unit: &mut WorkUnit, plan: &ScanPlan, each: &mut BatchCallback<'_>) -> Result<(), Error> {
        let Some(arrays) = unit.arrays.take() else { return Ok(()) };
        let rows = arrays.num_rows();
        parse(self.path(), &[(&arrays, 0, rows)], rows, plan, each)
    }

    fn whole_rows(&self, part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        whole(part, show)
    }

    fn fetch(&self, rows: &[RowRequest<'_>], show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        let kept: Vec<&RecordBatch> = rows
            .iter()
            .filter_map(|row| match row.record {
                StoredRow::Row(row) => Some(row),
                StoredRow::None | StoredRow::Text(_) => None,
            })
            .collect();
        let together = arrow_select::concat::concat_batches(&self.schema, kept).map_err(Error::from)?;
        Ok(arrow::output_rows(&together, show))
    }
}

/// The units of a pass over a stream: its batches, with large ones split.
struct StreamUnits<'a> {
    reader: BatchReader,
    schema: &'a SchemaRef,
    batches: usize,
    held: Option<RecordBatch>,
    bytes: Arc<AtomicU64>,
}

impl UnitReader for StreamUnits<'_> {
    fn next(&mut self, unit: &mut WorkUnit) -> Result<bool, Error> {
        while self.held.is_none() {
            let Some(batch) = self.reader.next() else { return Ok(false) };
            let batch = batch.map_err(Error::from)?;
            same_columns(self.schema, &batch.schema(), self.batches)?;
            self.batches += 1;
            let bytes = row_bytes(self.schema) * batch.num_rows() as u64;
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.held = Some(batch).filter(|batch| batch.num_rows() > 0);
        }
        unit.arrays = self.held.take().map(|batch| {
            let rows = batch.num_rows().min(super::BATCH);
            if rows < batch.num_rows() {
                self.held = Some(batch.slice(rows, batch.num_rows() - rows));
            }
            batch.slice(0, rows)
        });
        Ok(true)
    }
}
