//! Conversion of record batches whose columns differ in type to one schema.

use super::numbers::{is_text, numbers};
use super::text::text;
use crate::cell_number::{Notation, ParsedCell};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray,
    UInt64Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use std::sync::Arc;

/// Converts batches with the same columns, by name and order, to one schema.
///
/// Types are combined two at a time, in the order of the batches. Two integer types become 64-bit
/// integers, but text if one is signed and the other is `UInt64`. Two float types become doubles,
/// as do floats with integers. Timestamps of one zone take the finer unit, dictionaries count as
/// their values, and nulls fit every type. Any other mixture becomes text. Only the types decide,
/// never the rows.
///
/// ```
/// use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
/// use std::sync::Arc;
///
/// let whole: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
/// let broken: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
/// let first = RecordBatch::try_from_iter([("spam", whole)])?;
/// let second = RecordBatch::try_from_iter([("spam", broken.clone())])?;
/// let batches = jurybox_files::of_one_type(vec![first, second])?;
/// assert_eq!(batches[0].schema(), batches[1].schema());
/// assert_eq!(batches[0].column(0).data_type(), broken.data_type());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of_one_type(batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, ArrowError> {
    let Some(first) = batches.first().map(RecordBatch::schema) else { return Ok(batches) };
    let mut types: Vec<DataType> = first.fields().iter().map(|field| field.data_type().clone()).collect();
    for batch in &batches {
        for (wide, field) in types.iter_mut().zip(batch.schema_ref().fields()) {
            if wide != field.data_type() {
                *wide = wider(wide, field.data_type());
            }
        }
    }
    let named = |(field, wide): (&Arc<Field>, &DataType)| Field::new(field.name(), wide.clone(), true);
    let schema = Arc::new(Schema::new(first.fields().iter().zip(&types).map(named).collect::<Vec<_>>()));
    let one = |batch: RecordBatch| {
        let columns = batch.columns().iter().zip(&types).map(|(array, wide)| cast(array, wide)).collect();
        let counted = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema.clone(), columns, &counted)
    };
    batches.into_iter().map(one).collect()
}

/// The common type of two types, as [`of_one_type`] describes it.
fn wider(one: &DataType, other: &DataType) -> DataType {
    use DataType::{Dictionary, Float64, Int64, Null, Timestamp, UInt64, Utf8};
    match (one, other) {
        (one, other) if one == other => one.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => wider(values, other),
        (one, other) if one.is_unsigned_integer() && other.is_unsigned_integer() => UInt64,
        // 64 unsigned bits hold larger numbers than 64 signed ones.
        (UInt64, other) | (other, UInt64) if other.is_integer() => Utf8,
        (one, other) if one.is_integer() && other.is_integer() => Int64,
        (one, other)
            if (one.is_floating() || one.is_integer()) && (other.is_floating() || other.is_integer()) =>
        {
            Float64
        }
        (Timestamp(one, zone), Timestamp(other, same)) if zone == same => {
            Timestamp(if per_second(*one) > per_second(*other) { *one } else { *other }, zone.clone())
        }
        _ => Utf8,
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Converts an array to a common type.
fn cast(array: &ArrayRef, wide: &DataType) -> ArrayRef {
    let parsed = |row: usize| text(array, row);
    match wide {
        same if same == array.data_type() => array.clone(),
        _ if *array.data_type() == DataType::Null => new_null_array(wide, array.len()),
        DataType::Int64 => {
            Arc::new((0..array.len()).map(|row| parsed(row)?.parse().ok()).collect::<Int64Array>())
        }
        DataType::UInt64 => {
            Arc::new((0..array.len()).map(|row| parsed(row)?.parse().ok()).collect::<UInt64Array>())
        }
        DataType::Float64 => {
            let value = |cell| if let ParsedCell::Number(value) = cell { value } else { f64::NAN };
            let values = numbers(array, &Notation::default(), &mut |_, cell, _| Ok(value(cell)));
            let values = values.map(crate::number_column::NumberColumn::into_vec).unwrap_or_default();
            let cells =
                values.into_iter().enumerate().map(|(row, value)| array.is_valid(row).then_some(value));
            Arc::new(cells.collect::<Float64Array>())
        }
        DataType::Timestamp(unit, zone) => cast_timestamps(array, *unit, zone.clone()),
        _ => {
            // Empty cells of a text column stay empty text. In other types, empty text stands for
            // NaN and becomes missing.
            let kept = is_text(array.data_type());
            let cell = |row| parsed(row).filter(|text| kept || !text.is_empty());
            Arc::new((0..array.len()).map(cell).collect::<StringArray>())
        }
    }
}

/// Converts timestamps to another unit; values that overflow become missing.
fn cast_timestamps(array: &ArrayRef, unit: TimeUnit, zone: Option<Arc<str>>) -> ArrayRef {
    let DataType::Timestamp(from, _) = array.data_type() else { return array.clone() };
    let times = per_second(unit) / per_second(*from);
    let value = |row: usize| {
        let value = match from {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
        };
        value.checked_mul(times).filter(|_| array.is_valid(row))
    };
    let values = (0..array.len()).map(value);
    match unit {
        TimeUnit::Second => {
            Arc::new(values.collect::<PrimitiveArray<TimestampSecondType>>().with_timezone_opt(zone))
        }
        TimeUnit::Millisecond => {
            Arc::new(values.collect::<PrimitiveArray<TimestampMillisecondType>>().with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(values.collect::<PrimitiveArray<TimestampMicrosecondType>>().with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(values.collect::<PrimitiveArray<TimestampNanosecondType>>().with_timezone_opt(zone))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        BooleanArray, Date32Array, Int8Array, LargeStringArray, NullArray, TimestampMillisecondArray,
        TimestampNanosecondArray,
    };

    fn both(one: impl Array + 'static, other: impl Array + 'static) -> (DataType, Vec<Option<String>>) {
        let (one, other): (ArrayRef, ArrayRef) = (Arc::new(one), Arc::new(other));
        let batch = |array: &ArrayRef| {
            RecordBatch::try_from_iter_with_nullable([("a", array.clone(), true)]).unwrap()
        };
        let cells = |batches: &[RecordBatch]| -> Vec<Option<String>> {
            batches
                .iter()
                .flat_map(|batch| (0..batch.num_rows()).map(|row| text(batch.column(0), row)))
                .collect()
        };
        let there = of_one_type(vec![batch(&one), batch(&other)]).unwrap();
        let back = of_one_type(vec![batch(&other), batch(&one)]).unwrap();
        assert_eq!(there[0].schema(), there[1].schema());
        assert_eq!(there[0].schema(), back[0].schema(), "in either order");
        (there[0].schema().field(0).data_type().clone(), cells(&there))
    }

    #[test]
    fn a_column_of_two_types_gets_one_that_holds_both() {
        let whole = || Int64Array::from(vec![Some(3), None]);
        let some = |cells: &[&str]| cells.iter().map(|cell| Some((*cell).to_string())).collect::<Vec<_>>();
        let (kind, cells) = both(whole(), Float64Array::from(vec![0.5]));
        assert_eq!((kind, cells), (DataType::Float64, vec![Some("3.0".into()), None, Some("0.5".into())]));
        let (kind, _) = both(whole(), Int8Array::from(vec![1]));
        assert_eq!(kind, DataType::Int64);
        let (kind, cells) = both(whole(), UInt64Array::from(vec![u64::MAX]));
        assert_eq!((kind, &cells[2]), (DataType::Utf8, &Some(u64::MAX.to_string())));
        let (kind, cells) = both(StringArray::from(vec!["a"]), LargeStringArray::from(vec!["b"]));
        assert_eq!((kind, cells), (DataType::Utf8, some(&["a", "b"])));
        let (kind, cells) = both(whole(), NullArray::new(1));
        assert_eq!((kind, cells), (DataType::Int64, vec![Some("3".into()), None, None]));
        let (kind, cells) =
            both(TimestampMillisecondArray::from(vec![1_500]), TimestampNanosecondArray::from(vec![7]));
        assert_eq!(kind, DataType::Timestamp(TimeUnit::Nanosecond, None));
        assert_eq!(cells, some(&["1970-01-01T00:00:01.5", "1970-01-01T00:00:00.000000007"]));
        let (kind, cells) = both(Date32Array::from(vec![1]), BooleanArray::from(vec![true]));
        assert_eq!((kind, cells), (DataType::Utf8, some(&["1970-01-02", "true"])));
    }
}
