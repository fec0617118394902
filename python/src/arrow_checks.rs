//! Validation of Arrow arrays that other libraries hand over, before they become arrays of ours.
//!
//! The Arrow C interface passes pointers, and the arrays made from them trust what they are given.
//! Text is not checked, and offsets are followed wherever they lead. Each array is therefore
//! checked once. Afterwards all text is UTF-8, under missing cells too. Every offset, dictionary
//! key and view points inside its array. Only the rows asked for are checked and kept; of a
//! dictionary, all values.
//!
//! The true size of foreign memory cannot be checked: the interface does not transmit it.
//! Reference: the Arrow columnar format, <https://arrow.apache.org/docs/format/Columnar.html>.

use arrow_array::builder::StringViewBuilder;
use arrow_array::{Array, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType};

/// Why an array was refused.
pub(crate) enum ArrayFault {
    /// Text that is not UTF-8, with its row, counted from 0 among the rows checked. There is no row
    /// for text inside lists, structs or dictionaries.
    NotText(Option<usize>),
    /// Impossible lengths, offsets or dictionary keys, with the reason.
    Malformed(String),
}

impl From<ArrowError> for ArrayFault {
    fn from(error: ArrowError) -> ArrayFault {
        ArrayFault::Malformed(error.to_string())
    }
}

/// `rows` rows of an array from row `from` on, checked and ready for `make_array`.
///
/// Arrow allows any bytes under a missing cell. If some are not UTF-8, the column is copied without
/// them, because `value(row)` of a string array returns a `&str` for missing cells too.
pub(crate) fn checked(array: &ArrayData, from: usize, rows: usize) -> Result<ArrayData, ArrayFault> {
    array.validate()?;
    checked_rows(array, from, rows)
}

/// Checks rows of an array whose lengths and buffers `validate` has approved.
fn checked_rows(array: &ArrayData, from: usize, rows: usize) -> Result<ArrayData, ArrayFault> {
    if from.checked_add(rows).is_none_or(|end| end > array.len()) {
        let found = array.len();
        return Err(ArrayFault::Malformed(format!(
            "{found} rows where rows {from} to {from} + {rows} are expected"
        )));
    }
    if !array.child_data().is_empty() {
        return nested(array, from, rows);
    }
    let part = array.slice(from, rows);
    match part.data_type() {
        DataType::Utf8 => text::<i32>(part),
        DataType::LargeUtf8 => text::<i64>(part),
        DataType::Utf8View => text_views(part),
        _ => {
            part.validate_values()?;
            Ok(part)
        }
    }
}

/// Checks rows of an array with child arrays. Children of structs, lists and maps are cut to the
/// rows in use. Their result begins at offset 0, because not all code handles slices of slices
/// right. Children of other arrays, such as dictionaries, stay whole.
fn nested(array: &ArrayData, from: usize, rows: usize) -> Result<ArrayData, ArrayFault> {
    let first = array.offset() + from;
    let nulls = array.nulls().map(|nulls| nulls.slice(from, rows));
    let made = array.clone().into_builder().len(rows).nulls(nulls);
    let made = match array.data_type() {
        DataType::Struct(_) => made.offset(0).child_data(children(array, |_| (first, rows))?),
        DataType::FixedSizeList(_, width) => {
            let width = usize::try_from(*width).unwrap_or(0);
            made.offset(0).child_data(children(array, |_| (first * width, rows * width))?)
        }
        DataType::List(_) | DataType::Map(..) => {
            let (offsets, from, cells) = list_offsets::<i32>(&array.slice(from, rows))?;
            made.offset(0).buffers(vec![offsets]).child_data(children(array, |_| (from, cells))?)
        }
        DataType::LargeList(_) => {
            let (offsets, from, cells) = list_offsets::<i64>(&array.slice(from, rows))?;
            made.offset(0).buffers(vec![offsets]).child_data(children(array, |_| (from, cells))?)
        }
        _ => made.offset(first).child_data(children(array, |child| (0, child.len()))?),
    };
    // Checks offsets, keys and missing cells at this level; the children were checked above.
    Ok(made.build()?)
}

/// The child arrays, each checked and cut to the rows (first, count) that `reached` names.
fn children(
    array: &ArrayData,
    reached: impl Fn(&ArrayData) -> (usize, usize),
) -> Result<Vec<ArrayData>, ArrayFault> {
    let checked = array.child_data().iter().map(|child| {
        let (from, rows) = reached(child);
        checked_rows(child, from, rows).map_err(|fault| match fault {
            ArrayFault::NotText(_) => ArrayFault::NotText(None),
            other @ ArrayFault::Malformed(_) => other,
        })
    });
    checked.collect()
}

/// The offsets of lists counted from the first cell in use, the number of that cell, and the number
/// of cells in use.
fn list_offsets<O: OffsetSizeTrait>(lists: &ArrayData) -> Result<(Buffer, usize, usize), ArrayFault> {
    lists.validate_values()?;
    if lists.is_empty() {
        return Ok((Buffer::from_vec(vec![O::default()]), 0, 0));
    }
    let offsets = &lists.buffer::<O>(0)[..=lists.len()];
    let (first, last) = (offsets[0].as_usize(), offsets[lists.len()].as_usize());
    let counted = offsets.iter().map(|at| O::usize_as(at.as_usize() - first)).collect::<Vec<O>>();
    Ok((Buffer::from_vec(counted), first, last - first))
}

/// A column of text with offsets, if every cell is UTF-8.
fn text<O: OffsetSizeTrait>(part: ArrayData) -> Result<ArrayData, ArrayFault> {
    if part.is_empty() {
        return Ok(part);
    }
    let offsets = &part.buffer::<O>(0)[..=part.len()];
    if !offsets.is_sorted() {
        return Err(ArrayFault::Malformed("offsets of text that go back".into()));
    }
    let bytes = part.buffers()[1].as_slice();
    let (first, last) = (offsets[0].as_usize(), offsets[part.len()].as_usize());
    if first > last || last > bytes.len() {
        return Err(ArrayFault::Malformed("offsets of text beyond its bytes".into()));
    }
    // All cells are tried at once, because nearly all columns are plain ASCII.
    if let Ok(whole) = str::from_utf8(&bytes[first..last])
        && (whole.is_ascii() || offsets.iter().all(|at| whole.is_char_boundary(at.as_usize() - first)))
    {
        return Ok(part);
    }
    // If all cells that are present are UTF-8, the column is copied, with nothing under missing
    // cells.
    let cell = |row: usize| {
        let bytes = &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()];
        let text = part.is_valid(row).then(|| str::from_utf8(bytes)).transpose();
        text.map_err(|_| ArrayFault::NotText(Some(row)))
    };
    let clean: GenericStringArray<O> = (0..part.len()).map(cell).collect::<Result<_, _>>()?;
    Ok(clean.into_data())
}

/// A column of text views (short text beside its length, longer text in one of several buffers), if
/// every cell is UTF-8.
fn text_views(part: ArrayData) -> Result<ArrayData, ArrayFault> {
    let Err(error) = part.validate_values() else { return Ok(part) };
    // Some cell is at fault. If only missing cells are, the column is copied without their bytes.
    let mut clean = StringViewBuilder::with_capacity(part.len());
    for (row, &view) in part.buffer::<u128>(0)[..part.len()].iter().enumerate() {
        if part.is_null(row) {
            clean.append_null();
            continue;
        }
        let (inline, view) = (view.to_le_bytes(), ByteView::from(view));
        let bytes = if view.length <= MAX_INLINE_VIEW_LEN {
            inline.get(4..4 + view.length as usize)
        } else {
            let from = view.offset as usize;
            let buffer = part.buffers().get(1 + view.buffer_index as usize);
            buffer.and_then(|buffer| buffer.get(from..from.checked_add(view.length as usize)?))
        };
        let Some(bytes) = bytes else { return Err(error.into()) };
        clean.append_value(str::from_utf8(bytes).map_err(|_| ArrayFault::NotText(Some(row)))?);
    }
    Ok(clean.finish().into_data())
}
