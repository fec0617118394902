//! Reading numbers from Arrow arrays, and writing them back.

use super::text::{each_text, looked_up};
use crate::cell_number::{Notation, ParsedCell};
use crate::error::Error;
use crate::number_column::NumberColumn;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use std::sync::Arc;

/// Whether cells of this type are stored as numbers, or as true and false.
pub(crate) fn is_numeric(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_numeric(values),
        DataType::RunEndEncoded(_, values) => is_numeric(values.data_type()),
        other => {
            other.is_integer() || other.is_floating() || other.is_decimal() || *other == DataType::Boolean
        }
    }
}

/// Whether a column of this type holds text.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::RunEndEncoded(_, values) => is_text(values.data_type()),
        other => other.is_string(),
    }
}

/// Whether [`of_numbers`] restores every value of this type except NaN from `f64`.
pub(crate) fn fits_a_number(data_type: &DataType) -> bool {
    use DataType::{Float32, Float64, Int8, Int16, Int32, UInt8, UInt16, UInt32};
    matches!(data_type, Float32 | Float64 | Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32)
}

/// Converts numbers to an array of one of the types of [`fits_a_number`], or of doubles. NaN
/// becomes null.
pub(crate) fn of_numbers(data_type: &DataType, values: &[f64]) -> ArrayRef {
    fn array<T: ArrowPrimitiveType>(values: &[f64], f: impl Fn(f64) -> T::Native) -> ArrayRef {
        let cells = values.iter().map(|&v| (!v.is_nan()).then(|| f(v)));
        Arc::new(cells.collect::<PrimitiveArray<T>>())
    }
    match data_type {
        DataType::Float32 => array::<Float32Type>(values, |v| v as f32),
        DataType::Int8 => array::<Int8Type>(values, |v| v as i8),
        DataType::Int16 => array::<Int16Type>(values, |v| v as i16),
        DataType::Int32 => array::<Int32Type>(values, |v| v as i32),
        DataType::UInt8 => array::<UInt8Type>(values, |v| v as u8),
        DataType::UInt16 => array::<UInt16Type>(values, |v| v as u16),
        DataType::UInt32 => array::<UInt32Type>(values, |v| v as u32),
        _ => array::<Float64Type>(values, |v| v),
    }
}

/// Callback for a cell that is read from text. It receives the row, the parsed cell and the text,
/// and returns the number.
pub(super) type TextHandler<'a> = dyn FnMut(usize, ParsedCell, &str) -> Result<f64, Error> + 'a;

/// The numbers of an array, NaN where missing. Doubles and floats are not copied, unless there are
/// nulls or some numbers mean "missing".
pub(super) fn numbers(
    array: &ArrayRef,
    notation: &Notation,
    take: &mut TextHandler<'_>,
) -> Result<NumberColumn, Error> {
    if !is_numeric(array.data_type()) {
        return Ok(NumberColumn::Own(cell_by_cell(array, notation, take)?));
    }
    let stored = stored(array, take)?;
    if !notation.na.has_numbers() {
        return Ok(stored);
    }
    let given = |value: f64| if notation.na.is_missing(value) { f64::NAN } else { value };
    Ok(NumberColumn::Own(stored.into_vec().into_iter().map(given).collect()))
}

/// The numbers of an array with a numeric type, without regard to numbers that mean "missing".
fn stored(array: &ArrayRef, take: &mut TextHandler<'_>) -> Result<NumberColumn, Error> {
    Ok(NumberColumn::Own(match array.data_type() {
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            if array.null_count() == 0 {
                return Ok(NumberColumn::Array64(array.clone()));
            }
            with_nulls(array, |v| v)
        }
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            if array.null_count() == 0 {
                return Ok(NumberColumn::Array32(array.clone()));
            }
            with_nulls(array, f64::from)
        }
        DataType::Float16 => with_nulls(array.as_primitive::<Float16Type>(), f64::from),
        DataType::Int8 => with_nulls(array.as_primitive::<Int8Type>(), f64::from),
        DataType::Int16 => with_nulls(array.as_primitive::<Int16Type>(), f64::from),
        DataType::Int32 => with_nulls(array.as_primitive::<Int32Type>(), f64::from),
        DataType::Int64 => with_nulls(array.as_primitive::<Int64Type>(), |v| v as f64),
        DataType::UInt8 => with_nulls(array.as_primitive::<UInt8Type>(), f64::from),
        DataType::UInt16 => with_nulls(array.as_primitive::<UInt16Type>(), f64::from),
        DataType::UInt32 => with_nulls(array.as_primitive::<UInt32Type>(), f64::from),
        DataType::UInt64 => with_nulls(array.as_primitive::<UInt64Type>(), |v| v as f64),
        DataType::Boolean => {
            array.as_boolean().iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v)))).collect()
        }
        DataType::Decimal128(_, scale @ 0..=22) if exactly_divided(array) => {
            let unit = 10_f64.powi(i32::from(*scale));
            with_nulls(array.as_primitive::<Decimal128Type>(), |v| v as f64 / unit)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                return Ok(NumberColumn::missing(array.len()));
            }
            let keys = dictionary.normalized_keys();
            let values = stored(dictionary.values(), take)?;
            let of = |row: usize| if array.is_null(row) { f64::NAN } else { values.get(keys[row]) };
            (0..array.len()).map(of).collect()
        }
        DataType::RunEndEncoded(..) => {
            let values = stored(array.as_any_ree().values(), take)?;
            (0..array.len()).map(|row| values.get(looked_up(array, row).1)).collect()
        }
        // Other decimals, such as those too long for one exact division, are read from their text.
        _ => cell_by_cell(array, &Notation::default(), take)?,
    }))
}

/// Reads the numbers of an array from the text of each cell.
fn cell_by_cell(
    array: &ArrayRef,
    notation: &Notation,
    take: &mut TextHandler<'_>,
) -> Result<Vec<f64>, Error> {
    let mut values = Vec::with_capacity(array.len());
    each_text(array, |row, cell| {
        values.push(take(row, notation.read(cell.as_bytes()), cell)?);
        Ok::<(), Error>(())
    })?;
    Ok(values)
}

/// Whether every decimal of an array, without its point, fits the 53 bits of a double. A division
/// by 10^22 or less then rounds once, and gives the number that is read from the decimal's text.
fn exactly_divided(array: &ArrayRef) -> bool {
    const EXACT: i128 = 1 << 53;
    let array = array.as_primitive::<Decimal128Type>();
    array.values().iter().all(|v| (-EXACT..=EXACT).contains(v))
}

fn with_nulls<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, f: impl Fn(T::Native) -> f64) -> Vec<f64> {
    if array.null_count() == 0 {
        return array.values().iter().map(|&v| f(v)).collect();
    }
    array.iter().map(|v| v.map_or(f64::NAN, &f)).collect()
}
