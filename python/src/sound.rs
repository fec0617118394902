//! Whether arrays that others made are what they say they are.
//!
//! The C interface hands over pointers and takes them on trust, and so do the arrays that are made of them: text is not looked at, and
//! offsets are followed wherever they lead. Here every array is checked once, before it is made: after it text is UTF-8, and what points
//! somewhere points to something that is there. Of a part of a longer array only that part is looked at.
//!
//! What cannot be known is how long somebody's memory is: the interface does not say.

#![expect(
    unsafe_code,
    reason = "what is not checked yet can be cut in no other way; each use says why it is sound"
)]

use arrow_data::{ArrayData, ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType};

/// What is wrong with an array.
pub(crate) enum Unsound {
    /// Text that is none, in a row counted from 0, where the text is the column itself.
    NotText(Option<usize>),
    /// Lengths, offsets or numbers that cannot be.
    Malformed(String),
}

impl From<ArrowError> for Unsound {
    fn from(error: ArrowError) -> Unsound {
        Unsound::Malformed(error.to_string())
    }
}

/// Some rows of an array, if they are what they say, ready to be made an array of ours.
pub(crate) fn sound(array: &ArrayData, from: usize, rows: usize) -> Result<ArrayData, Unsound> {
    array.validate()?;
    let sound = settled(&part(array, from, rows)?)?;
    cells(&sound)?;
    Ok(sound)
}

/// Some rows of an array.
fn part(array: &ArrayData, from: usize, rows: usize) -> Result<ArrayData, Unsound> {
    if from.checked_add(rows).is_none_or(|end| end > array.len()) {
        return Err(Unsound::Malformed(format!(
            "{} rows where there should be {rows} from {from} on",
            array.len()
        )));
    }
    let nulls = array.nulls().map(|nulls| nulls.slice(from, rows));
    let made = array.clone().into_builder().offset(array.offset() + from).len(rows).nulls(nulls);
    // SAFETY: rows that are there, by buffers that are as long as they were; what they hold is for the caller to check.
    Ok(unsafe { made.build_unchecked() })
}

/// The same rows, in arrays inside of which none begins later than its outer one: slices of slices are not taken right (or at all) by
/// those who make arrays of them.
fn settled(array: &ArrayData) -> Result<ArrayData, Unsound> {
    let times = match array.data_type() {
        DataType::Struct(_) => 1,
        DataType::FixedSizeList(_, times) => usize::try_from(*times).unwrap_or(0),
        _ if array.child_data().is_empty() => return Ok(array.clone()),
        _ => 0,
    };
    let inside = array.child_data().iter().map(|inside| match times {
        0 => settled(inside),
        times => settled(&part(inside, array.offset() * times, array.len() * times)?),
    });
    let made = array.clone().into_builder().child_data(inside.collect::<Result<_, _>>()?);
    let made = if times == 0 { made } else { made.offset(0) };
    // SAFETY: as of `part`. What has only rows inside has no buffers of its own that an offset would be of, and its nulls are counted
    // from its first row.
    Ok(unsafe { made.build_unchecked() })
}

/// Refuses cells that are not what they say, and those of the arrays inside.
fn cells(array: &ArrayData) -> Result<(), Unsound> {
    array.validate_nulls()?;
    match array.data_type() {
        DataType::Utf8 => text::<i32>(array),
        DataType::LargeUtf8 => text::<i64>(array),
        DataType::Utf8View => views(array),
        kind => {
            array.validate_values()?;
            let reached = |inside: &ArrayData| match kind {
                DataType::List(_) | DataType::Map(..) => between::<i32>(array),
                DataType::LargeList(_) => between::<i64>(array),
                _ => (0, inside.len()),
            };
            array.child_data().iter().try_for_each(|inside| {
                let (from, rows) = reached(inside);
                match cells(&part(inside, from, rows)?) {
                    Err(Unsound::NotText(_)) => Err(Unsound::NotText(None)),
                    other => other,
                }
            })
        }
    }
}

/// The first of what offsets point to, and how many there are.
fn between<T: Offset>(array: &ArrayData) -> (usize, usize) {
    let Some(offsets) = offsets::<T>(array) else { return (0, 0) };
    let (first, last) = (offsets[0].place(), offsets[offsets.len() - 1].place());
    (first, last - first)
}

/// The offsets of the rows of an array, one more than there are rows; none where there are none.
fn offsets<T: Offset>(array: &ArrayData) -> Option<&[T]> {
    (array.len() > 0).then(|| &array.buffer::<T>(0)[..=array.len()])
}

/// A number of bytes or rows, 32 or 64 bits wide.
trait Offset: arrow_buffer::ArrowNativeType + Ord {
    fn place(self) -> usize {
        self.as_usize()
    }
}
impl Offset for i32 {}
impl Offset for i64 {}

/// Text one after the other. What `validate` has seen: the first offset is not below 0, and the last within the bytes.
fn text<T: Offset>(array: &ArrayData) -> Result<(), Unsound> {
    let Some(offsets) = offsets::<T>(array) else { return Ok(()) };
    if !offsets.is_sorted() {
        return Err(Unsound::Malformed("offsets of text that go back".into()));
    }
    let bytes = array.buffers()[1].as_slice();
    let (first, last) = (offsets[0].place(), offsets[array.len()].place());
    // All at once: nearly always it is text, and nearly as often plain ASCII.
    if let Ok(whole) = str::from_utf8(&bytes[first..last])
        && (whole.is_ascii() || offsets.iter().all(|at| whole.is_char_boundary(at.place() - first)))
    {
        return Ok(());
    }
    // What lies below a missing cell is nobody's.
    let not_text = |row: &usize| {
        array.is_valid(*row)
            && str::from_utf8(&bytes[offsets[*row].place()..offsets[*row + 1].place()]).is_err()
    };
    match (0..array.len()).find(not_text) {
        Some(row) => Err(Unsound::NotText(Some(row))),
        None => Ok(()),
    }
}

/// Text that is short and beside its length, or in one of several buffers.
fn views(array: &ArrayData) -> Result<(), Unsound> {
    let Err(error) = array.validate_values() else { return Ok(()) };
    let views = &array.buffer::<u128>(0)[..array.len()];
    let not_text = |row: &usize| {
        let (view, inline) = (ByteView::from(views[*row]), views[*row].to_le_bytes());
        let bytes = if view.length <= MAX_INLINE_VIEW_LEN {
            inline.get(4..4 + view.length as usize)
        } else {
            let from = view.offset as usize;
            let buffer = array.buffers().get(1 + view.buffer_index as usize);
            buffer.and_then(|buffer| buffer.get(from..from.checked_add(view.length as usize)?))
        };
        array.is_valid(*row) && bytes.is_some_and(|bytes| str::from_utf8(bytes).is_err())
    };
    match (0..array.len()).find(not_text) {
        Some(row) => Err(Unsound::NotText(Some(row))),
        None => Err(error.into()),
    }
}
