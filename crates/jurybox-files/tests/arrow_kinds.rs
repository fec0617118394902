//! Columns of most Arrow types, alone and nested, in every output format.

use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, LargeListBuilder, LargeListViewBuilder, ListBuilder, ListViewBuilder,
    MapBuilder, StringBuilder,
};
use arrow_array::types::{
    ArrowPrimitiveType, Decimal256Type, Float16Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalDayTime, IntervalMonthDayNano, RunEndIndexType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, DurationNanosecondArray,
    FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, LargeBinaryArray,
    LargeStringArray, ListArray, NullArray, PrimitiveArray, RecordBatch, RunArray, StringArray,
    StringViewArray, StructArray, Time32SecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array, UnionArray,
};
use arrow_schema::{DataType, Field, IntervalUnit, UnionFields};
use jurybox_files::{Format, RankOptions, Ranker, Roles, Table, rank};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::sync::Arc;

const ROWS: usize = 4;

type Native<T> = <T as ArrowPrimitiveType>::Native;

/// Lists of each of Arrow's list types, with a single 7 in every row.
macro_rules! lists {
    ($($builder:expr),*) => { vec![$({
        let mut list = $builder;
        for _ in 0..ROWS {
            list.values().append_value(7);
            list.append(true);
        }
        (Arc::new(list.finish()) as ArrayRef, "[7]")
    }),*] };
}

fn union(dense: bool) -> ArrayRef {
    let fields = UnionFields::try_new(
        vec![0, 1],
        vec![Field::new("number", DataType::Int64, true), Field::new("text", DataType::Utf8, true)],
    )
    .unwrap();
    let children: Vec<ArrayRef> = if dense {
        vec![Arc::new(Int64Array::from(vec![7])), Arc::new(StringArray::from(vec!["x"]))]
    } else {
        vec![Arc::new(Int64Array::from(vec![7; ROWS])), Arc::new(StringArray::from(vec!["x"; ROWS]))]
    };
    let offsets = dense.then(|| vec![0_i32; ROWS].into());
    Arc::new(UnionArray::try_new(fields, vec![0_i8; ROWS].into(), offsets, children).unwrap())
}

fn runs<T: RunEndIndexType>(values: &dyn Array) -> ArrayRef
where
    T::Native: TryFrom<i64>,
    <T::Native as TryFrom<i64>>::Error: std::fmt::Debug,
{
    let ends = [1, 3, 4].map(|end| T::Native::try_from(end).unwrap());
    Arc::new(RunArray::<T>::try_new(&PrimitiveArray::from_iter_values(ends), &values.slice(0, 3)).unwrap())
}

/// Columns of most types, each with the same value in all rows, and the value's text in CSV.
fn kinds() -> Vec<(ArrayRef, &'static str)> {
    let map = {
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for _ in 0..ROWS {
            map.keys().append_value("a");
            map.values().append_value(7);
            map.append(true).unwrap();
        }
        map.finish()
    };
    let mut all: Vec<(ArrayRef, &'static str)> = vec![
        (Arc::new(NullArray::new(ROWS)), ""),
        (Arc::new(BooleanArray::from(vec![true; ROWS])), "true"),
        (Arc::new(Int8Array::from(vec![7; ROWS])), "7"),
        (Arc::new(Int16Array::from(vec![7; ROWS])), "7"),
        (Arc::new(Int32Array::from(vec![7; ROWS])), "7"),
        (Arc::new(Int64Array::from(vec![7; ROWS])), "7"),
        (Arc::new(UInt8Array::from(vec![7; ROWS])), "7"),
        (Arc::new(UInt16Array::from(vec![7; ROWS])), "7"),
        (Arc::new(UInt32Array::from(vec![7; ROWS])), "7"),
        (Arc::new(UInt64Array::from(vec![7; ROWS])), "7"),
        (Arc::new(Float16Array::from(vec![Native::<Float16Type>::from_f32(7.0); ROWS])), "7"),
        (Arc::new(Float32Array::from(vec![7.0; ROWS])), "7.0"),
        (Arc::new(Float64Array::from(vec![7.0; ROWS])), "7.0"),
        (Arc::new(Decimal32Array::from(vec![70; ROWS]).with_precision_and_scale(5, 1).unwrap()), "7.0"),
        (Arc::new(Decimal64Array::from(vec![70; ROWS]).with_precision_and_scale(12, 1).unwrap()), "7.0"),
        (Arc::new(Decimal128Array::from(vec![70; ROWS]).with_precision_and_scale(20, 1).unwrap()), "7.0"),
        (
            Arc::new(
                Decimal256Array::from_iter_values([Native::<Decimal256Type>::from_i128(70); ROWS])
                    .with_precision_and_scale(50, 1)
                    .unwrap(),
            ),
            "7.0",
        ),
        (Arc::new(Date32Array::from(vec![7; ROWS])), "1970-01-08"),
        (Arc::new(Date64Array::from(vec![7 * 86_400_000; ROWS])), "1970-01-08"),
        (Arc::new(Time32SecondArray::from(vec![7; ROWS])), "00:00:07"),
        (Arc::new(Time64NanosecondArray::from(vec![7; ROWS])), "00:00:00.000000007"),
        (Arc::new(TimestampMicrosecondArray::from(vec![7; ROWS])), "1970-01-01T00:00:00.000007"),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![7; ROWS]).with_timezone("Mars/Phobos")),
            "1970-01-01T00:00:00.000007Z",
        ),
        (Arc::new(DurationNanosecondArray::from(vec![7; ROWS])), "PT0.000000007S"),
        (Arc::new(IntervalYearMonthArray::from(vec![7; ROWS])), "P7M"),
        (Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(7, 0); ROWS])), "P7D"),
        (Arc::new(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(7, 0, 0); ROWS])), "P7M"),
        (Arc::new(StringArray::from(vec!["x"; ROWS])), "x"),
        (Arc::new(LargeStringArray::from(vec!["x"; ROWS])), "x"),
        (Arc::new(StringViewArray::from(vec!["x"; ROWS])), "x"),
        (Arc::new(BinaryArray::from(vec![b"x".as_slice(); ROWS])), "78"),
        (Arc::new(LargeBinaryArray::from(vec![b"x".as_slice(); ROWS])), "78"),
        (Arc::new(BinaryViewArray::from(vec![b"x".as_slice(); ROWS])), "78"),
        (Arc::new(FixedSizeBinaryArray::try_from_iter([b"x"; ROWS].into_iter()).unwrap()), "78"),
        (Arc::new(map), "{\"a\":7}"),
        (Arc::new(StructArray::new_empty_fields(ROWS, None)), "{}"),
        (union(false), "7"),
        (union(true), "7"),
        (runs::<Int16Type>(&Float64Array::from(vec![7.0; 3])), "7.0"),
        (runs::<Int32Type>(&StringArray::from(vec!["x"; 3])), "x"),
        (runs::<Int64Type>(&Int8Array::from(vec![None::<i8>; 3])), ""),
    ];
    all.extend(lists![
        ListBuilder::new(Int32Builder::new()),
        LargeListBuilder::new(Int32Builder::new()),
        ListViewBuilder::new(Int32Builder::new()),
        LargeListViewBuilder::new(Int32Builder::new()),
        FixedSizeListBuilder::new(Int32Builder::new(), 1)
    ]);
    all
}

/// The column within a structure, a list and a union. Also as a dictionary, unless it is one, and
/// run-end encoded, unless it is so already.
fn inside(array: &ArrayRef) -> Vec<ArrayRef> {
    let field = Arc::new(Field::new("in", array.data_type().clone(), true));
    let structure = StructArray::try_new(vec![field.clone()].into(), vec![array.clone()], None).unwrap();
    let ones = ListArray::from_iter_primitive::<Int8Type, _, _>([Some([Some(1)]); ROWS]);
    let list = ListArray::try_new(field.clone(), ones.offsets().clone(), array.clone(), None).unwrap();
    let keys = Int8Array::from_iter_values(0..ROWS as i8);
    let union = UnionFields::try_new(vec![0], vec![field.as_ref().clone()]).unwrap();
    let union = UnionArray::try_new(union, vec![0_i8; ROWS].into(), None, vec![array.clone()]).unwrap();
    let mut all: Vec<ArrayRef> = vec![Arc::new(structure), Arc::new(list), Arc::new(union)];
    if !matches!(array.data_type(), DataType::Dictionary(..)) {
        all.push(Arc::new(DictionaryArray::<Int8Type>::try_new(keys, array.clone()).unwrap()));
    }
    if !matches!(array.data_type(), DataType::RunEndEncoded(..)) {
        all.push(runs::<Int32Type>(array));
    }
    all
}

/// The last cell of a column as text in CSV and as JSON, and the column's type in Parquet.
fn written(column: &ArrayRef) -> (String, serde_json::Value, DataType) {
    let kind = column.data_type().clone();
    let spam: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0]));
    let columns = [("column", column.clone(), true), ("spam", spam, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    // Two batches, so that rows are joined and reordered.
    let roles = Roles { evaluators: vec!["spam".into()], ..Roles::default() };
    let table = Table::from_batches(vec![batch.slice(0, 1), batch.slice(1, ROWS - 1)], &roles).unwrap();
    let three = RankOptions { k: 3, ..RankOptions::default() };
    let ranking = rank(&table, &Ranker::Weights(vec![1.0]), three).unwrap();
    assert_eq!(ranking.to_batches(&table).unwrap()[0].column_by_name("column").unwrap().data_type(), &kind);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, format) in
        [("a.csv", Format::Csv), ("a.jsonl", Format::JsonLines), ("a.parquet", Format::Parquet)]
    {
        ranking.write(&table, &path(name), format).unwrap_or_else(|e| panic!("{kind} as {name}: {e}"));
    }
    let csv = std::fs::read_to_string(path("a.csv")).unwrap();
    let last = csv.lines().last().unwrap();
    let cell = last.strip_prefix("3,2.0,").and_then(|rest| rest.strip_suffix(",2.0"));
    let cell = cell.unwrap_or_else(|| panic!("{kind}: {last}")).trim_matches('"').replace("\"\"", "\"");
    let lines = std::fs::read_to_string(path("a.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let file = std::fs::File::open(path("a.parquet")).unwrap();
    let file = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let back = file.schema().field_with_name("column").unwrap().data_type().clone();
    assert_eq!(file.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3, "{kind}");
    (cell, line["column"].clone(), back)
}

#[test]
fn every_type_is_written_as_its_value() {
    for (column, says) in kinds() {
        let (cell, json, back) = written(&column);
        assert_eq!(cell, says, "{}", column.data_type());
        match json {
            serde_json::Value::Null => assert_eq!(says, ""),
            serde_json::Value::String(text) => assert_eq!(text, says),
            other => assert_eq!(other.to_string(), says),
        }
        let is_text = back == DataType::Utf8
            && !matches!(column.data_type(), DataType::Utf8 | DataType::RunEndEncoded(..));
        let unknown_to_parquet = matches!(
            column.data_type(),
            DataType::Union(..) | DataType::Interval(IntervalUnit::MonthDayNano)
        ) || matches!(column.data_type(), DataType::Struct(fields) if fields.is_empty());
        assert_eq!(is_text, unknown_to_parquet, "{} came back as {back}", column.data_type());
    }
}

#[test]
fn every_nested_type_is_written_as_its_value() {
    for (column, says) in kinds() {
        let (_, alone, _) = written(&column);
        for outer in inside(&column) {
            let (cell, json, _) = written(&outer);
            let inner = match outer.data_type() {
                DataType::Struct(_) => json["in"].clone(),
                DataType::List(_) => json[0].clone(),
                _ => {
                    assert_eq!(cell, says, "{}", outer.data_type());
                    json
                }
            };
            assert_eq!(inner, alone, "{}", outer.data_type());
        }
    }
}

/// Run-end encoded scores are ranked like other scores, and gaps are missing.
#[test]
fn run_end_encoded_scores_are_numbers() {
    let scores = runs::<Int32Type>(&Float64Array::from(vec![Some(0.5), None, Some(2.0)]));
    let name: ArrayRef = Arc::new(StringArray::from(vec!["p", "q", "r", "s"]));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("post", name, true), ("spam", scores, true)]).unwrap();
    let table = Table::from_batches(vec![batch], &Roles::default()).unwrap();
    assert_eq!(table.roles().evaluators().names().collect::<Vec<_>>(), ["spam"]);
    let ranking =
        rank(&table, &Ranker::Weights(vec![1.0]), RankOptions { k: 2, ..RankOptions::default() }).unwrap();
    let winners: Vec<(u64, f64)> =
        ranking.winners().iter().map(|winner| (winner.row, winner.score)).collect();
    assert_eq!(winners, [(3, 2.0), (0, 0.5)]);
}
