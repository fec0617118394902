//! Arrow arrays, as Parquet gives them: as numbers, as text, as JSON.

use crate::number::{self, Cell};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// Whether a column of this type can hold scores.
pub(crate) fn is_numeric(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(data_type, DataType::Decimal128(..) | DataType::Boolean)
}

/// Whether every value of this type is a number of ours exactly.
pub(crate) fn fits_a_number(data_type: &DataType) -> bool {
    use DataType::{Float32, Float64, Int8, Int16, Int32, UInt8, UInt16, UInt32};
    matches!(data_type, Float32 | Float64 | Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32)
}

/// Numbers back as an array of the type they came from; NaN = missing.
pub(crate) fn of_numbers(data_type: &DataType, values: &[f64]) -> ArrayRef {
    fn array<T: ArrowPrimitiveType>(values: &[f64], f: impl Fn(f64) -> T::Native) -> ArrayRef {
        let cells = values.iter().map(|&v| (!v.is_nan()).then(|| f(v)));
        Arc::new(cells.collect::<arrow_array::PrimitiveArray<T>>())
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

/// The numbers of an array, NaN where missing; or the row of one that cannot be used.
pub(crate) fn numbers(array: &ArrayRef) -> Result<Vec<f64>, (usize, Cell, String)> {
    let values = match array.data_type() {
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            if array.null_count() == 0 { array.values().to_vec() } else { with_nulls(array, |v| v) }
        }
        DataType::Float32 => with_nulls(array.as_primitive::<Float32Type>(), f64::from),
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
        DataType::Decimal128(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            with_nulls(array.as_primitive::<Decimal128Type>(), |v| v as f64 / unit)
        }
        // Text that holds numbers, or does not.
        _ => {
            let mut values = Vec::with_capacity(array.len());
            for row in 0..array.len() {
                let cell = text(array, row).unwrap_or_default();
                match number::parse(cell.as_bytes()) {
                    Cell::Number(value) => values.push(value),
                    Cell::Missing => values.push(f64::NAN),
                    bad => return Err((row, bad, cell)),
                }
            }
            values
        }
    };
    // Counted without stopping, so that the compiler may compare several at a time.
    let unusable = values.iter().map(|v| u64::from(v.abs() > number::LIMIT)).sum::<u64>();
    if unusable > 0
        && let Some(row) = values.iter().position(|v| v.abs() > number::LIMIT)
    {
        return Err((row, Cell::Unusable, values[row].to_string()));
    }
    Ok(values)
}

fn with_nulls<T: ArrowPrimitiveType>(
    array: &arrow_array::PrimitiveArray<T>,
    f: impl Fn(T::Native) -> f64,
) -> Vec<f64> {
    if array.null_count() == 0 {
        return array.values().iter().map(|&v| f(v)).collect();
    }
    array.iter().map(|v| v.map_or(f64::NAN, &f)).collect()
}

/// A cell as text, `None` where it is missing.
pub(crate) fn text(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Float64 => shortest(array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row)),
        DataType::Float16 => array.as_primitive::<Float16Type>().value(row).to_string(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).to_string(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).to_string(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Date32 => date(i64::from(array.as_primitive::<Date32Type>().value(row))),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Timestamp(unit, zone) => {
            let (value, per_second) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => {
                    (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000)
                }
                TimeUnit::Nanosecond => {
                    (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000)
                }
            };
            timestamp(value, per_second) + if zone.is_some() { "Z" } else { "" }
        }
        DataType::Binary => hexadecimal(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => hexadecimal(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => hexadecimal(array.as_binary_view().value(row)),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return text(dictionary.values(), dictionary.normalized_keys()[row]);
        }
        // A list or a structure has no one text; Parquet output carries it whole.
        _ => {
            let data = array.slice(row, 1).to_data();
            format!("<{}>", data.data_type())
        }
    })
}

/// The shortest text that reads back as the same number.
pub(crate) fn shortest(value: f64) -> String {
    if value.is_nan() { String::new() } else { format!("{value:?}") }
}

/// A cell as JSON text.
pub(crate) fn json(array: &ArrayRef, row: usize) -> String {
    let as_written = array.data_type().is_integer()
        || array.data_type().is_floating()
        || *array.data_type() == DataType::Boolean;
    match text(array, row) {
        None => "null".into(),
        Some(text) if as_written && !text.to_ascii_lowercase().contains(['n', 'i']) => text,
        Some(text) if *array.data_type() == DataType::Boolean => text,
        // Not a number and infinity cannot be written as numbers in JSON.
        Some(text) if as_written && text.is_empty() => "null".into(),
        Some(text) => serde_json::Value::String(text).to_string(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Days since 1970-01-01 as a date (proleptic Gregorian calendar).
fn date(days: i64) -> String {
    // Years are counted from March, so that the day that comes and goes is the last of its year.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn timestamp(value: i64, per_second: i64) -> String {
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let mut text = format!("{}T{:02}:{:02}:{:02}", date(days), second / 3600, second / 60 % 60, second % 60);
    if fraction > 0 {
        let digits = per_second.ilog10() as usize;
        text += format!(".{fraction:0digits$}").trim_end_matches('0');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_the_calendars() {
        for (days, says) in
            [(0, "1970-01-01"), (-1, "1969-12-31"), (19_782, "2024-02-29"), (11_016, "2000-02-29")]
        {
            assert_eq!(date(days), says);
        }
        assert_eq!(timestamp(1_700_000_000_250, 1000), "2023-11-14T22:13:20.25");
        assert_eq!(timestamp(-1, 1), "1969-12-31T23:59:59");
    }
}
