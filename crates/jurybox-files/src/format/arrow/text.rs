//! Conversion of Arrow cells to text and JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use std::sync::Arc;

/// Reads the value of a row from an array of this primitive type.
macro_rules! primitive {
    ($array:expr, $row:expr, $type:ty) => {
        $array.as_primitive::<$type>().value($row)
    };
}

/// A cell as text; `None` if null, and empty text for NaN. Numbers read back as the same value.
/// Times are in ISO 8601, bytes in hexadecimal, lists and structures in JSON.
pub(crate) fn text(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Null => return None,
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Float64 => shortest(primitive!(array, row, Float64Type)),
        DataType::Float32 => match primitive!(array, row, Float32Type) {
            value if value.is_nan() => String::new(),
            value => format!("{value:?}"),
        },
        DataType::Float16 => match primitive!(array, row, Float16Type) {
            value if value.is_nan() => String::new(),
            value => value.to_string(),
        },
        DataType::Int8 => primitive!(array, row, Int8Type).to_string(),
        DataType::Int16 => primitive!(array, row, Int16Type).to_string(),
        DataType::Int32 => primitive!(array, row, Int32Type).to_string(),
        DataType::Int64 => primitive!(array, row, Int64Type).to_string(),
        DataType::UInt8 => primitive!(array, row, UInt8Type).to_string(),
        DataType::UInt16 => primitive!(array, row, UInt16Type).to_string(),
        DataType::UInt32 => primitive!(array, row, UInt32Type).to_string(),
        DataType::UInt64 => primitive!(array, row, UInt64Type).to_string(),
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value_as_string(row),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        DataType::Date32 => date(i64::from(primitive!(array, row, Date32Type))),
        DataType::Date64 => date(primitive!(array, row, Date64Type).div_euclid(86_400_000)),
        DataType::Time32(TimeUnit::Second) => time(primitive!(array, row, Time32SecondType).into(), 1),
        DataType::Time32(_) => time(primitive!(array, row, Time32MillisecondType).into(), 1_000),
        DataType::Time64(TimeUnit::Microsecond) => {
            time(primitive!(array, row, Time64MicrosecondType), 1_000_000)
        }
        DataType::Time64(_) => time(primitive!(array, row, Time64NanosecondType), 1_000_000_000),
        DataType::Timestamp(unit, zone) => {
            let (value, per_second) = match unit {
                TimeUnit::Second => (primitive!(array, row, TimestampSecondType), 1),
                TimeUnit::Millisecond => (primitive!(array, row, TimestampMillisecondType), 1_000),
                TimeUnit::Microsecond => (primitive!(array, row, TimestampMicrosecondType), 1_000_000),
                TimeUnit::Nanosecond => (primitive!(array, row, TimestampNanosecondType), 1_000_000_000),
            };
            timestamp(value, per_second) + if zone.is_some() { "Z" } else { "" }
        }
        DataType::Duration(unit) => {
            let (value, per_second) = match unit {
                TimeUnit::Second => (primitive!(array, row, DurationSecondType), 1),
                TimeUnit::Millisecond => (primitive!(array, row, DurationMillisecondType), 1_000),
                TimeUnit::Microsecond => (primitive!(array, row, DurationMicrosecondType), 1_000_000),
                TimeUnit::Nanosecond => (primitive!(array, row, DurationNanosecondType), 1_000_000_000),
            };
            duration(0, 0, value, per_second)
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            duration(primitive!(array, row, IntervalYearMonthType), 0, 0, 1)
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let span = primitive!(array, row, IntervalDayTimeType);
            duration(0, span.days, span.milliseconds.into(), 1_000)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let span = primitive!(array, row, IntervalMonthDayNanoType);
            duration(span.months, span.days, span.nanoseconds, 1_000_000_000)
        }
        DataType::Binary => hexadecimal(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => hexadecimal(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => hexadecimal(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => hexadecimal(array.as_fixed_size_binary().value(row)),
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) | DataType::Union(..) => {
            let (values, at) = looked_up(array, row);
            return text(&values, at);
        }
        // `json` must name each of these types. If it left one to `text`, the two would call each
        // other forever.
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Struct(_)
        | DataType::Map(..) => json(array, row),
    })
}

/// All cells of an array as a text array.
pub(crate) fn as_text(array: &dyn Array) -> ArrayRef {
    Arc::new((0..array.len()).map(|row| text(array, row)).collect::<StringArray>())
}

/// Calls `each` with the row and text of every cell, empty where missing. Cells of text arrays are
/// not copied, and each value of a dictionary is converted once.
pub(super) fn each_text<E>(
    array: &ArrayRef,
    mut each: impl FnMut(usize, &str) -> Result<(), E>,
) -> Result<(), E> {
    let mut all = |cells: &mut dyn Iterator<Item = Option<&str>>| -> Result<(), E> {
        cells.enumerate().try_for_each(|(row, cell)| each(row, cell.unwrap_or_default()))
    };
    match array.data_type() {
        DataType::Utf8 => all(&mut array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => all(&mut array.as_string::<i64>().iter()),
        DataType::Utf8View => all(&mut array.as_string_view().iter()),
        DataType::Dictionary(..) if !array.as_any_dictionary().values().is_empty() => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            let texts: Vec<Option<String>> = (0..values.len()).map(|at| text(values, at)).collect();
            let keys = dictionary.normalized_keys();
            let cell = |(row, key): (usize, usize)| texts[key].as_deref().filter(|_| array.is_valid(row));
            all(&mut keys.into_iter().enumerate().map(cell))
        }
        _ => (0..array.len()).try_for_each(|row| each(row, &text(array, row).unwrap_or_default())),
    }
}

/// An array that holds the value of this row of a dictionary, run-end or union array, and the
/// value's index in it.
pub(super) fn looked_up(array: &dyn Array, row: usize) -> (ArrayRef, usize) {
    match array.data_type() {
        DataType::RunEndEncoded(ends, _) => {
            let at = match ends.data_type() {
                DataType::Int16 => array.as_run::<Int16Type>().get_physical_index(row),
                DataType::Int32 => array.as_run::<Int32Type>().get_physical_index(row),
                _ => array.as_run::<Int64Type>().get_physical_index(row),
            };
            (array.as_any_ree().values().clone(), at)
        }
        DataType::Union(..) => (array.as_union().value(row), 0),
        _ => {
            let one = array.slice(row, 1);
            let dictionary = one.as_any_dictionary();
            (dictionary.values().clone(), dictionary.normalized_keys()[0])
        }
    }
}

/// A cell as a key for grouping and joining; `None` for null, and empty text for NaN. Whole floats
/// become whole numbers (`7.0` is `7`), because libraries turn whole-number columns with gaps into
/// floats.
///
/// Errors with the value of a float whose magnitude is at least 2^53 in `Float64`, 2^24 in
/// `Float32`, or 2^11 in `Float16`. Such floats do not represent each whole number.
pub(crate) fn key(array: &dyn Array, row: usize) -> Result<Option<String>, f64> {
    if array.is_null(row) {
        return Ok(None);
    }
    // Bits of the mantissa, including the implicit leading bit.
    let (value, digits) = match array.data_type() {
        DataType::Float64 => (primitive!(array, row, Float64Type), 53),
        DataType::Float32 => (primitive!(array, row, Float32Type).into(), 24),
        DataType::Float16 => (primitive!(array, row, Float16Type).into(), 11),
        _ => return Ok(text(array, row)),
    };
    if value.abs() >= (1_u64 << digits) as f64 {
        return Err(value);
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number within the range")]
    Ok(if value.fract() == 0.0 { Some((value as i64).to_string()) } else { text(array, row) })
}

/// A number as text that reads back as the same number; empty for NaN.
pub(crate) fn shortest(value: f64) -> String {
    if value.is_nan() { String::new() } else { format!("{value:?}") }
}

/// A cell of an array as JSON text.
///
/// ```
/// use arrow_array::Float64Array;
/// let scores = Float64Array::from(vec![Some(0.5), None]);
/// assert_eq!(jurybox_files::cell_json(&scores, 0), "0.5");
/// assert_eq!(jurybox_files::cell_json(&scores, 1), "null");
/// ```
pub fn json(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "null".into();
    }
    let list = |items: ArrayRef| {
        let items: Vec<String> = (0..items.len()).map(|item| json(&items, item)).collect();
        format!("[{}]", items.join(","))
    };
    let field = |name: &str, value: String| format!("{}:{value}", serde_json::Value::from(name));
    match array.data_type() {
        DataType::List(_) => list(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(row)),
        DataType::ListView(_) => list(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => list(array.as_list_view::<i64>().value(row)),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let fields: Vec<String> =
                columns.map(|(about, column)| field(about.name(), json(column, row))).collect();
            format!("{{{}}}", fields.join(","))
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let fields: Vec<String> = (0..entries.len())
                .map(|at| field(&text(keys, at).unwrap_or_default(), json(values, at)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) | DataType::Union(..) => {
            let (values, at) = looked_up(array, row);
            json(&values, at)
        }
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        kind if kind.is_integer() || kind.is_floating() => match text(array, row) {
            None => "null".into(),
            // JSON has no numbers for NaN and infinity.
            Some(text) if text.is_empty() => "null".into(),
            Some(text) if text.contains("inf") => serde_json::Value::String(text).to_string(),
            Some(text) => text,
        },
        _ => text(array, row).map_or("null".into(), |text| serde_json::Value::String(text).to_string()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A date as `YYYY-MM-DD`, from days since 1970-01-01.
pub(crate) fn date(days: i64) -> String {
    let (year, month, day) = crate::date_of(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn timestamp(value: i64, per_second: i64) -> String {
    let day = 86_400 * per_second;
    format!("{}T{}", date(value.div_euclid(day)), time(value.rem_euclid(day), per_second))
}

/// An ISO 8601 duration: months, days, and `value / per_second` seconds.
fn duration(months: i32, days: i32, value: i64, per_second: i64) -> String {
    let part = |count: i32, unit: char| if count == 0 { String::new() } else { format!("{count}{unit}") };
    let calendar = part(months, 'M') + &part(days, 'D');
    if value == 0 && !calendar.is_empty() {
        return format!("P{calendar}");
    }
    let sign = if value < 0 { "-" } else { "" };
    let (value, per_second) = (value.unsigned_abs(), per_second.unsigned_abs());
    format!("P{calendar}T{sign}{}{}S", value / per_second, fraction(value % per_second, per_second))
}

/// The fraction `parts / per_second` of a second as a decimal point and digits; empty for zero.
pub(crate) fn fraction(parts: u64, per_second: u64) -> String {
    let digits = per_second.ilog10() as usize;
    if parts == 0 { String::new() } else { format!(".{parts:0digits$}").trim_end_matches('0').into() }
}

/// A time of day as `HH:MM:SS`, with decimals if it is not a whole second.
fn time(value: i64, per_second: i64) -> String {
    let (second, parts) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let fraction = fraction(parts.unsigned_abs(), per_second.unsigned_abs());
    format!("{:02}:{:02}:{:02}{fraction}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_iso_8601() {
        for (days, says) in
            [(0, "1970-01-01"), (-1, "1969-12-31"), (19_782, "2024-02-29"), (11_016, "2000-02-29")]
        {
            assert_eq!(date(days), says);
        }
        assert_eq!(timestamp(1_700_000_000_250, 1000), "2023-11-14T22:13:20.25");
        assert_eq!(timestamp(-1, 1), "1969-12-31T23:59:59");
        for (span, says) in [
            (duration(0, 0, 90_500, 1_000), "PT90.5S"),
            (duration(0, 0, -1, 1_000_000), "PT-0.000001S"),
            (duration(14, -2, 0, 1), "P14M-2D"),
            (duration(1, 0, i64::MIN, 1), "P1MT-9223372036854775808S"),
            (duration(0, 0, 0, 1), "PT0S"),
        ] {
            assert_eq!(span, says);
        }
    }
}
