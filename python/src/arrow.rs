//! Conversion between Arrow and Python: streams in capsules, and numpy columns as Arrow arrays.
//! Columns of numbers are not copied.
#![expect(unsafe_code, reason = "the C interface is made of pointers; each use says why it is sound")]

use crate::errors::{Result, not_text, refused};
use crate::stream::ArrowStream;
use arrow_array::builder::{ArrayBuilder, LargeStringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchIterator};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytesMethods, PyCapsule, PyList, PyString};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// The batches as an Arrow stream in a PyCapsule.
pub(crate) fn stream(
    py: Python<'_>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let batches = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    // The capsule drops the stream, which releases itself unless a consumer has taken it.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
}

/// The batches in the Arrow IPC format followed by a checksum, for pickling.
pub(crate) fn to_bytes(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let written = || -> std::result::Result<Vec<u8>, ArrowError> {
        let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
        for batch in batches {
            writer.write(batch)?;
        }
        let mut bytes = writer.into_inner()?;
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        Ok(bytes)
    };
    written().map_err(|e| refused("arrow", &format!("these rows cannot be written: {e}")))
}

/// Reads the bytes that `to_bytes` wrote; refuses damaged ones.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    // The checksum is verified first, because the reader would allocate any length that damaged
    // bytes name.
    let whole =
        bytes.split_last_chunk::<8>().filter(|(rows, sum)| checksum(rows) == u64::from_le_bytes(**sum));
    let Some((bytes, _)) = whole else {
        return Err(refused("arrow", "these rows are damaged"));
    };
    let read = || -> std::result::Result<_, ArrowError> {
        let reader = StreamReader::try_new(bytes, None)?;
        Ok((reader.schema(), reader.collect::<std::result::Result<Vec<_>, _>>()?))
    };
    read().map_err(|e| refused("arrow", &format!("these rows are damaged: {e}")))
}

/// The 64-bit FNV-1a hash (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A column that Python hands over, as an Arrow array. It is a numpy array with an optional mask of
/// missing cells, a list of strings, or an Arrow table with one column. Large columns of strings
/// come as a series of lists, which need not exist at the same time.
pub(crate) fn column(values: &Bound<'_, PyAny>, missing: Option<&Bound<'_, PyAny>>) -> Result<ArrayRef> {
    if let Ok(list) = values.cast::<PyList>() {
        let mut text = LargeStringBuilder::new();
        add_text(&mut text, list)?;
        return Ok(Arc::new(text.finish()));
    }
    if !values.is_instance_of::<PyUntypedArray>() {
        return if values.hasattr("__arrow_c_stream__")? { in_one_piece(values) } else { pieces(values) };
    }
    let present = match missing {
        None => None,
        Some(mask) => {
            let mask = mask.cast::<PyArray1<bool>>().map_err(PyErr::from)?.readonly();
            let mask = mask.as_array();
            Some(NullBuffer::new(mask.iter().map(|missing| !missing).collect::<BooleanBuffer>()))
        }
    };
    if let Ok(array) = values.cast::<PyArray1<bool>>() {
        let flags: BooleanBuffer = array.readonly().as_array().iter().copied().collect();
        return Ok(Arc::new(BooleanArray::new(flags, present)));
    }
    macro_rules! of {
        ($($native:ty => $arrow:ty),*) => {
            $(if let Ok(array) = values.cast::<PyArray1<$native>>() {
                return primitive::<$native, $arrow>(array, present);
            })*
        };
    }
    of!(f64 => Float64Type, f32 => Float32Type, i64 => Int64Type, i32 => Int32Type, i16 => Int16Type, i8 => Int8Type,
        u64 => UInt64Type, u32 => UInt32Type, u16 => UInt16Type, u8 => UInt8Type);
    let kind = values.get_type();
    Err(refused("arrow", &format!("a column of {kind} cannot be read")))
}

/// The only column of an Arrow table that consists of one batch.
fn in_one_piece(table: &Bound<'_, PyAny>) -> Result<ArrayRef> {
    let batches = ArrowStream::of(table)?.collect::<std::result::Result<Vec<_>, _>>();
    match &batches.map_err(jurybox_files::Error::from)?[..] {
        [batch] if batch.num_columns() == 1 => Ok(batch.column(0).clone()),
        _ => Err(refused("arrow", "a column must be contiguous")),
    }
}

/// A text column from a series of lists. Space is reserved once, by the length of the first list's
/// texts, because growing would leave unused memory behind.
fn pieces(values: &Bound<'_, PyAny>) -> Result<ArrayRef> {
    let (rows, mut text) = (values.len()?, None);
    for piece in values.try_iter()? {
        let piece = piece?;
        let piece = piece.cast::<PyList>().map_err(PyErr::from)?;
        let text = text.get_or_insert_with(|| {
            let long: usize = piece.iter().map(|cell| cell.len().unwrap_or(0)).sum();
            LargeStringBuilder::with_capacity(rows, rows * (long + long / 4) / piece.len().max(1))
        });
        add_text(text, piece)?;
    }
    Ok(Arc::new(text.unwrap_or_default().finish()))
}

/// Appends cells to a text column; None is a missing cell.
fn add_text(text: &mut LargeStringBuilder, cells: &Bound<'_, PyList>) -> Result<()> {
    for cell in cells {
        if cell.is_none() {
            text.append_null();
            continue;
        }
        // Encoded into a temporary copy: a Python string that is asked for its UTF-8 keeps it, and
        // the caller's memory would grow.
        let bytes = cell.cast::<PyString>().map_err(PyErr::from)?.encode_utf8();
        let bytes = bytes.map_err(|_| not_text(text.len() + 1))?;
        text.append_value(String::from_utf8_lossy(bytes.as_bytes()));
    }
    Ok(())
}

/// The scores of a numpy array in place; None if it is empty, not aligned, or not stored row by
/// row.
pub(crate) fn in_place(array: &Bound<'_, PyArray2<f64>>) -> Option<ScalarBuffer<f64>> {
    let pointer = NonNull::new(array.data().cast::<u8>())?;
    if !array.is_c_contiguous() || !array.data().is_aligned() || array.is_empty() {
        return None;
    }
    let owner = Arc::new(AssertUnwindSafe(array.clone().unbind()));
    // SAFETY: the array is contiguous from `pointer` on (checked above), and `owner` keeps its
    // memory for as long as the buffer. The caller (`arrays.rs`) passes only arrays that are
    // read-only, down to the array that owns the memory.
    let buffer = unsafe { Buffer::from_custom_allocation(pointer, array.len() * size_of::<f64>(), owner) };
    Some(ScalarBuffer::new(buffer, 0, array.len()))
}

fn primitive<N: Element + ArrowNativeType, T: ArrowPrimitiveType<Native = N>>(
    array: &Bound<'_, PyArray1<N>>,
    present: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let (rows, data) = (array.len(), array.data());
    if !array.is_c_contiguous() || !data.is_aligned() {
        return Err(refused("arrow", "a column must be contiguous"));
    }
    if present.as_ref().is_some_and(|present| present.len() != rows) {
        return Err(refused("arrow", "a column and its mask of missing cells differ in length"));
    }
    let Some(pointer) = NonNull::new(data.cast::<u8>()).filter(|_| rows > 0) else {
        return Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(std::iter::empty())));
    };
    let owner = Arc::new(AssertUnwindSafe(array.clone().unbind()));
    // SAFETY: the array has `rows` contiguous, aligned values from `pointer` on (checked above),
    // and `owner` keeps its memory for as long as the buffer. A thread that writes to it during the
    // call may change the numbers read; every bit pattern is a number.
    let buffer = unsafe { Buffer::from_custom_allocation(pointer, rows * size_of::<N>(), owner) };
    Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(buffer, 0, rows), present)))
}
