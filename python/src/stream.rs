//! Reading Arrow streams of other libraries; each column is checked (`arrow_checks.rs`) before it
//! becomes an array.
#![expect(unsafe_code, reason = "the C interface is made of pointers; each use says why it is sound")]

use crate::arrow_checks::{self, ArrayFault};
use crate::errors::{Result, refused};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, StringArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use jurybox_files::Error;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::iter::repeat_n;
use std::sync::Arc;

/// The name of an in-memory table in messages.
const NAME: &str = "table in memory";
/// Text in place of the cells of a damaged column.
const NO_SCORE: &str = "no score";

/// An Arrow stream, read batch by batch.
pub(crate) struct ArrowStream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    /// Rows in the batches read so far.
    rows: u64,
}

impl ArrowStream {
    /// The stream of an object with `__arrow_c_stream__`.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> Result<ArrowStream> {
        let capsule = given.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast::<PyCapsule>().map_err(PyErr::from)?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: the PyCapsule interface of Arrow requires a capsule of this name to hold an
        // ArrowArrayStream. `from_raw` moves it out and leaves it marked as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
        ArrowStream::new(stream).map_err(|e| refused("arrow", &format!("this stream cannot be read: {e}")))
    }

    fn new(mut stream: FFI_ArrowArrayStream) -> std::result::Result<ArrowStream, ArrowError> {
        let Some(get_schema) = stream.get_schema.filter(|_| stream.release.is_some()) else {
            return Err(ArrowError::CDataInterface("the stream has been read already".into()));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: `release` is set (checked above), so the stream is live, and the interface
        // defines this call to fill in `schema`.
        if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
            return Err(last_error(&mut stream));
        }
        Ok(ArrowStream { schema: Arc::new(Schema::try_from(&schema)?), stream, rows: 0 })
    }

    /// The next batch, not yet checked.
    fn next_unchecked(&mut self) -> Option<std::result::Result<ArrayData, ArrowError>> {
        let get_next = self.stream.get_next?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is live, as `new` has checked, and the interface defines this call to
        // fill in `array`.
        if unsafe { get_next(&raw mut self.stream, &raw mut array) } != 0 {
            return Some(Err(last_error(&mut self.stream)));
        }
        if array.is_released() {
            return None;
        }
        let kind = DataType::Struct(self.schema.fields().clone());
        // SAFETY: the interface requires buffers to be as long as lengths and last offsets say.
        // `arrow_checks` validates these before anything is read through them.
        Some(unsafe { from_ffi_and_data_type(array, kind) })
    }

    /// All batches, for deciding which columns to read. A damaged column is replaced by text that
    /// is not a score, so that it is not chosen. If it is read all the same, it is refused then.
    pub(crate) fn first_batches(mut self) -> std::result::Result<Vec<RecordBatch>, Error> {
        let (mut found, mut unsound) = (Vec::new(), vec![false; self.schema.fields().len()]);
        while let Some(columns) = self.next_unchecked() {
            let columns = columns?;
            let made: Vec<Option<ArrayRef>> =
                checked(&columns).map(|column| column.ok().map(make_array)).collect();
            made.iter().zip(&mut unsound).for_each(|(column, unsound)| *unsound |= column.is_none());
            found.push((made, columns.len()));
        }
        let fields = self.schema.fields().iter().zip(&unsound).map(|(field, unsound)| {
            let kind = if *unsound { DataType::Utf8 } else { field.data_type().clone() };
            Field::new(field.name(), kind, true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        if found.is_empty() {
            return Ok(vec![RecordBatch::new_empty(schema)]);
        }
        let shown = found.into_iter().map(|(columns, rows)| {
            let shown = columns.into_iter().zip(&unsound).map(|(column, unsound)| {
                let no_scores =
                    || -> ArrayRef { Arc::new(StringArray::from_iter_values(repeat_n(NO_SCORE, rows))) };
                column.filter(|_| !unsound).unwrap_or_else(no_scores)
            });
            batch(&schema, shown.collect(), rows)
        });
        Ok(shown.collect::<std::result::Result<_, _>>()?)
    }

    /// The error for a damaged column, with the row counted from the beginning of the stream.
    fn refused(&self, column: &str, unsound: ArrayFault) -> ArrowError {
        let (path, column) = (NAME.into(), column.to_string());
        let error = match unsound {
            ArrayFault::NotText(row) => {
                Error::NotText { path, column, row: row.map(|row| self.rows + row as u64 + 1) }
            }
            ArrayFault::Malformed(reason) => {
                Error::Arrow { path, reason: format!("column `{column}`: {reason}") }
            }
        };
        ArrowError::ExternalError(Box::new(error))
    }
}

impl Iterator for ArrowStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let made = self.next_unchecked()?.and_then(|columns| {
            let made = checked(&columns).zip(self.schema.fields()).map(|(column, field)| {
                column.map(make_array).map_err(|unsound| self.refused(field.name(), unsound))
            });
            batch(&self.schema, made.collect::<std::result::Result<_, _>>()?, columns.len())
        });
        if let Ok(made) = &made {
            self.rows += made.num_rows() as u64;
        }
        Some(made)
    }
}

/// The columns of a batch, each checked.
fn checked(batch: &ArrayData) -> impl Iterator<Item = std::result::Result<ArrayData, ArrayFault>> {
    batch.child_data().iter().map(|column| arrow_checks::checked(column, batch.offset(), batch.len()))
}

impl RecordBatchReader for ArrowStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

fn batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> std::result::Result<RecordBatch, ArrowError> {
    let counted = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &counted)
}

/// The stream's own description of why its last call failed.
fn last_error(stream: &mut FFI_ArrowArrayStream) -> ArrowError {
    let said = stream.get_last_error.and_then(|get_last_error| {
        // SAFETY: the stream is live; the interface defines the result as null or text that ends
        // with 0 and lasts until the next call.
        let said = unsafe { get_last_error(stream) };
        (!said.is_null()).then(|| unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned())
    });
    ArrowError::CDataInterface(said.unwrap_or_else(|| "it failed without a message".into()))
}
