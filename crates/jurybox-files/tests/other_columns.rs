//! Other columns of a Parquet file in the output: unchanged in Parquet, as JSON or text elsewhere.

use arrow_array::builder::Float64Builder;
use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationMillisecondArray,
    Float32Array, Float64Array, Int64Array, RecordBatch, StringArray, StructArray, Time32MillisecondArray,
    TimestampMicrosecondArray, UInt64Array,
};
use jurybox_files::{Format, RankOptions, Ranker, Roles, Table, rank, score_all};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Three rows. In the last one, everything but the score is missing.
fn batch() -> RecordBatch {
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.append_value([Some("a \"b\""), None]);
    tags.append_value(Vec::<Option<&str>>::new());
    tags.append_null();
    let mut counts = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
    counts.keys().append_value("x,y");
    counts.values().append_value(1.5);
    counts.append(true).unwrap();
    counts.append(true).unwrap();
    counts.append(false).unwrap();
    let mut label: StringDictionaryBuilder<Int8Type> = StringDictionaryBuilder::new();
    label.append_value("spam");
    label.append_value("ham");
    label.append_null();
    let about: ArrayRef = Arc::new(StructArray::from(vec![
        (
            Arc::new(arrow_schema::Field::new("lang", arrow_schema::DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("en"), None, None])) as ArrayRef,
        ),
        (
            Arc::new(arrow_schema::Field::new("length", arrow_schema::DataType::Float32, true)),
            Arc::new(Float32Array::from(vec![Some(0.5), Some(f32::NAN), None])) as ArrayRef,
        ),
    ]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("score_a", Arc::new(Float64Array::from(vec![3.0, 2.0, 1.0]))),
        ("tags", Arc::new(tags.finish())),
        ("about", about),
        ("counts", Arc::new(counts.finish())),
        ("label", Arc::new(label.finish())),
        (
            "seen",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(1_700_000_000_250_000), Some(-1), None])
                    .with_timezone("UTC"),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(19_782), Some(0), None]))),
        ("hour", Arc::new(Time32MillisecondArray::from(vec![Some(3_600_500), Some(0), None]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(12_345), Some(-5), None])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        ("hash", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00\xff"), Some(b""), None]))),
        ("took", Arc::new(DurationMillisecondArray::from(vec![Some(1_500), Some(-1), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("big", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(1), None]))),
        ("id", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(7), None]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn table(folder: &Path) -> Table {
    let path = folder.join("in.parquet");
    let batch = batch();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let roles = Roles { evaluators: vec!["score_a".into()], ..Roles::default() };
    Table::open(&[path], &roles, false).unwrap()
}

/// Two files with these rows: one is written by a ranking, the other while every row is scored.
fn written(folder: &Path, name: &str) -> [PathBuf; 2] {
    let table = table(folder);
    let ranker = Ranker::Weights(vec![1.0]);
    let [ranked, all] = ["ranked", "all"].map(|way| folder.join(format!("{way}-{name}")));
    let ranking = rank(&table, &ranker, RankOptions { k: 3, ..RankOptions::default() }).unwrap();
    ranking.write(&table, &ranked, Format::Csv).unwrap();
    score_all(&table, &ranker, &all, Format::Csv).unwrap();
    [ranked, all]
}

#[test]
fn into_json_lines_as_json() {
    let dir = tempfile::tempdir().unwrap();
    for path in written(dir.path(), "out.jsonl") {
        let text = std::fs::read_to_string(path).unwrap();
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cells = |row: usize| -> Vec<&serde_json::Value> {
            let names = [
                "tags", "about", "counts", "label", "seen", "day", "hour", "price", "hash", "took", "flag",
                "big", "id",
            ];
            names.iter().map(|name| &rows[row][*name]).collect()
        };
        let first = serde_json::json!([
            ["a \"b\"", null], {"lang": "en", "length": 0.5}, {"x,y": 1.5}, "spam", "2023-11-14T22:13:20.25Z", "2024-02-29",
            "01:00:00.5", "123.45", "00ff", "PT1.5S", true, u64::MAX, i64::MIN
        ]);
        assert_eq!(serde_json::json!(cells(0)), first);
        let second = serde_json::json!([
            [], {"lang": null, "length": null}, {}, "ham", "1969-12-31T23:59:59.999999Z", "1970-01-01", "00:00:00", "-0.05",
            "", "PT-0.001S", false, 1, 7
        ]);
        assert_eq!(serde_json::json!(cells(1)), second);
        let nested_nulls = serde_json::json!({"lang": null, "length": null});
        let last: Vec<bool> =
            cells(2).into_iter().map(|cell| cell.is_null() || *cell == nested_nulls).collect();
        assert!(last.iter().all(|missing| *missing), "{:?}", cells(2));
    }
}

#[test]
fn into_csv_as_text() {
    let dir = tempfile::tempdir().unwrap();
    for path in written(dir.path(), "out.csv") {
        let text = std::fs::read_to_string(path).unwrap();
        let first = r#","[""a \""b\"""",null]","{""lang"":""en"",""length"":0.5}","{""x,y"":1.5}",spam,2023-11-14T22:13:20.25Z,2024-02-29,01:00:00.5,123.45,00ff,PT1.5S,true,18446744073709551615,-9223372036854775808"#;
        assert!(text.lines().nth(1).unwrap().ends_with(first), "{text}");
        assert!(text.lines().nth(3).unwrap().ends_with(",,,,,,,,"), "{text}");
    }
}

#[test]
fn into_parquet_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    for path in written(dir.path(), "out.parquet") {
        let file = std::fs::File::open(path).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let out = reader.next().unwrap().unwrap();
        let input = batch();
        for (about, column) in input.schema().fields().iter().zip(input.columns()) {
            assert_eq!(out.column_by_name(about.name()).unwrap(), column, "{}", about.name());
        }
    }
}
