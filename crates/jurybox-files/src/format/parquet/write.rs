//! Parquet output, compressed with zstd.

use crate::error::Error;
use crate::format::arrow::as_text;
use crate::output_rows::OutputRows;
use crate::write::{PendingFile, TableSink};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, IntervalUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of rows held in memory after which a row group is written out.
const LARGEST: usize = 64 << 20;

/// The writer of Parquet tables.
pub(super) struct ParquetSink {
    path: PathBuf,
    /// The output file. The writer takes it over with the first rows, which determine the column
    /// types.
    aside: Option<PendingFile>,
    writer: Option<ArrowWriter<PendingFile>>,
}

impl ParquetSink {
    pub(super) fn new(aside: PendingFile) -> Self {
        ParquetSink { path: aside.path().into(), aside: Some(aside), writer: None }
    }
}

impl TableSink for ParquetSink {
    fn write(&mut self, output: &OutputRows) -> Result<(), Error> {
        let refused = |e: ParquetError| failed(&self.path, e);
        let arrays = output
            .batch()
            .and_then(|batch| with_supported_types(&batch))
            .map_err(|e| Error::Parquet { path: self.path.clone(), reason: e.to_string() })?;
        if let Some(aside) = self.aside.take() {
            let level = ZstdLevel::try_new(3).map_err(refused)?;
            let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
            let begun = ArrowWriter::try_new(aside, arrays.schema(), Some(properties));
            self.writer = Some(begun.map_err(refused)?);
        }
        match &mut self.writer {
            Some(writer) => {
                writer.write(&arrays).map_err(refused)?;
                // A row group is held in memory until it is flushed, and rows with long texts are
                // large.
                if writer.in_progress_size() >= LARGEST { writer.flush().map_err(refused) } else { Ok(()) }
            }
            None => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        match self.writer {
            Some(writer) => writer.into_inner().map_err(|e| failed(&self.path, e))?.finish(),
            None => Ok(()),
        }
    }
}

/// Converts columns that the Parquet writer cannot store, or common readers cannot read, to text.
fn with_supported_types(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    if batch.columns().iter().all(|array| is_supported(array.data_type())) {
        return Ok(batch.clone());
    }
    let of = |array: &ArrayRef| if is_supported(array.data_type()) { array.clone() } else { as_text(array) };
    let arrays: Vec<ArrayRef> = batch.columns().iter().map(of).collect();
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name());
    RecordBatch::try_from_iter_with_nullable(names.zip(arrays).map(|(name, array)| (name, array, true)))
}

/// Whether a column of this type is written as it is.
fn is_supported(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(..) | DataType::Interval(IntervalUnit::MonthDayNano) => false,
        DataType::Dictionary(_, values) => is_supported_dictionary(values),
        DataType::RunEndEncoded(_, values) => {
            let values = values.data_type();
            *values != DataType::Null && !values.is_nested() && is_supported(values)
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _) => is_supported(field.data_type()),
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| is_supported(field.data_type()))
        }
        _ => true,
    }
}

/// Whether common Parquet readers can read a dictionary of these values, so that it is written as
/// it is.
fn is_supported_dictionary(values: &DataType) -> bool {
    use DataType::{
        Binary, Decimal128, Decimal256, FixedSizeBinary, Float16, Interval, LargeBinary, LargeUtf8, Utf8,
    };
    match values {
        Utf8 | LargeUtf8 | Binary | LargeBinary | FixedSizeBinary(_) => true,
        Float16 | Interval(_) | Decimal128(..) | Decimal256(..) => false,
        other => other.is_primitive(),
    }
}

/// Converts a Parquet error to one of this crate, with the operating system's error if there is
/// one.
fn failed(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => Error::io(path, "write", *cause),
            Err(cause) => Error::Io { path: path.into(), doing: "write", source: io::Error::other(cause) },
        },
        other => Error::Io { path: path.into(), doing: "write", source: io::Error::other(other) },
    }
}
