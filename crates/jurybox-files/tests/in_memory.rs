//! Tables in memory: every result is bitwise that of the same rows in a file, however the rows are
//! split into batches.

use arrow_array::builder::{PrimitiveDictionaryBuilder, StringDictionaryBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float64Type, Int8Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float16Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use jurybox_files::{
    Error, Format, RankOptions, Ranker, Roles, ScanRequest, Table, new_jury, rank, report, score_all, teach,
};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: usize = 30_000;

/// An hour as the round, two columns of doubles (one with gaps), one of whole numbers, and a
/// verdict on every third row.
fn batch() -> RecordBatch {
    let mixed =
        |row: usize, by: u64| ((row as u64 + by).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / 2e16;
    let column = |by: u64| (0..ROWS).map(move |row| mixed(row, by));
    let truth: Vec<f64> = column(1).collect();
    let spam: Float64Array = column(2).zip(&truth).map(|(noise, truth)| Some(truth + 0.3 * noise)).collect();
    let gaps = column(3).zip(&truth).enumerate();
    let abuse: Float64Array =
        gaps.map(|(row, (noise, truth))| (row % 11 != 3).then_some(2.0 * truth - noise)).collect();
    let reports: Int64Array = (0..ROWS).map(|row| i64::try_from(row * 7919 % 13).ok()).collect();
    let verdict: Float64Array =
        truth.iter().enumerate().map(|(row, truth)| (row % 3 == 0).then_some(truth.min(1.0))).collect();
    let hour: StringArray = (0..ROWS).map(|row| Some(format!("hour {}", row / 1000))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("hour", Arc::new(hour)),
        ("spam", Arc::new(spam)),
        ("abuse", Arc::new(abuse)),
        ("reports", Arc::new(reports)),
        ("verdict", Arc::new(verdict)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn chunks(batch: &RecordBatch, count: usize) -> Vec<RecordBatch> {
    let rows = batch.num_rows();
    let cut = |at: usize| rows * at * at / (count * count);
    (0..count).map(|at| batch.slice(cut(at), cut(at + 1) - cut(at))).collect()
}

fn parquet(folder: &Path, batch: &RecordBatch) -> PathBuf {
    let path = folder.join("rows.parquet");
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(9_999)).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    path
}

fn roles(key: bool) -> Roles {
    Roles {
        reward: Some("verdict".into()),
        key: key.then(|| "hour".into()),
        ignore: if key { vec![] } else { vec!["hour".into()] },
        ..Roles::default()
    }
}

/// The rows as CSV, in which doubles read back exactly.
fn csv(folder: &Path, batch: &RecordBatch) -> PathBuf {
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let cell = |array: &dyn Array, row: usize| {
        let any = array.as_any();
        if array.is_null(row) {
            String::new()
        } else if let Some(doubles) = any.downcast_ref::<Float64Array>() {
            format!("{:?}", doubles.value(row))
        } else if let Some(integers) = any.downcast_ref::<Int64Array>() {
            integers.value(row).to_string()
        } else {
            any.downcast_ref::<StringArray>().unwrap().value(row).to_string()
        }
    };
    let mut text = names.join(",") + "\n";
    for row in 0..batch.num_rows() {
        let cells: Vec<String> = batch.columns().iter().map(|array| cell(array, row)).collect();
        let _ = writeln!(text, "{}", cells.join(","));
    }
    let path = folder.join("rows.csv");
    std::fs::write(&path, text).unwrap();
    path
}

/// Equal rows as CSV and Parquet, in 1, 7, 100 and 30,000 batches, and from streams, with
/// several numbers of threads.
fn tables(folder: &Path, roles: &Roles) -> Vec<(&'static str, Table)> {
    let batch = batch();
    let (csv, parquet) = (csv(folder, &batch), parquet(folder, &batch));
    let open = |path: PathBuf| Table::open(&[path], roles, true).unwrap();
    let cut = |count: usize| Table::from_batches(chunks(&batch, count), roles).unwrap();
    let stream = |count: usize, again: bool| {
        let list: Vec<_> = chunks(&batch, count).into_iter().map(Ok).collect();
        Table::from_stream(RecordBatchIterator::new(list, batch.schema()), roles, again).unwrap()
    };
    vec![
        ("CSV", open(csv)),
        ("Parquet", open(parquet).with_threads(3)),
        ("1 chunk", cut(1)),
        ("7 chunks", cut(7).with_threads(3)),
        ("100 chunks", cut(100).with_threads(1)),
        ("a chunk a row", cut(ROWS)),
        ("a stream that is kept", stream(50, true)),
        ("a stream", stream(9, false).with_threads(3)),
    ]
}

/// Asserts that `of` returns the same for every table.
fn same<T: PartialEq>(roles: &Roles, of: impl Fn(&Table, &Path) -> T) {
    let dir = tempfile::tempdir().unwrap();
    let mut first = None;
    for (name, table) in tables(dir.path(), roles) {
        let found = of(&table, dir.path());
        match &first {
            None => first = Some(found),
            Some(first) => assert!(*first == found, "{name} differs from the CSV file"),
        }
    }
}

fn learnt(policy: &str) -> jurybox::Jury {
    let table = Table::from_batches(vec![batch().slice(0, 3000)], &roles(false)).unwrap();
    let mut jury = new_jury(&policy.parse().unwrap(), table.roles().evaluators()).unwrap();
    teach(&table, &mut jury, 0).unwrap();
    jury
}

#[test]
fn rankings_are_bitwise_the_same() {
    let judges = [
        Ranker::Weights(vec![0.7, 0.2, -0.01]),
        Ranker::jury(&learnt("adaptive")),
        Ranker::jury(&learnt("lin-ucb")),
    ];
    for (ranker, explain, grouped) in
        [(0, false, false), (0, true, false), (1, false, false), (1, true, true), (2, true, false)]
    {
        let options = RankOptions { k: 70, min_reward: None, seed: 3, explain, grouped };
        same(&roles(grouped), |table, folder| {
            let ranking = rank(table, &judges[ranker], options).unwrap();
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            let winners: Vec<_> = ranking
                .winners()
                .iter()
                .map(|w| {
                    (
                        w.row,
                        w.rank,
                        w.score.to_bits(),
                        w.group.clone(),
                        w.contributions.as_ref().map(|why| bits(&why.each)),
                    )
                })
                .collect();
            // The whole rows of the winners are compared too, as text.
            let out = folder.join("out.csv");
            ranking.write(table, &out, Format::Csv).unwrap();
            (ranking.rows(), winners, std::fs::read_to_string(out).unwrap())
        });
    }
}

#[test]
fn every_row_is_scored_the_same() {
    let ranker = Ranker::jury(&learnt("esag"));
    same(&roles(false), |table, folder| {
        let out = folder.join("out.csv");
        score_all(table, &ranker, &out, Format::Csv).unwrap();
        std::fs::read_to_string(out).unwrap()
    });
}

#[test]
fn learnt_states_are_the_same() {
    for (policy, key) in [
        ("adaptive", false),
        ("adaptive(forget=true)", true),
        ("esag", false),
        ("lin-ucb", false),
        ("exp4p", true),
    ] {
        same(&roles(key), |table, _| {
            let mut jury = new_jury(&policy.parse().unwrap(), table.roles().evaluators()).unwrap();
            let taught = teach(table, &mut jury, 0).unwrap();
            (taught, jury.to_json())
        });
    }
}

#[test]
fn reports_are_the_same() {
    same(&roles(false), |table, _| {
        let mut report = report(table, None).unwrap();
        report.files.clear();
        serde_json::to_string(&report).unwrap()
    });
}

/// Columns of many numeric types are read exactly, with their nulls, from memory and from Parquet.
#[test]
fn every_numeric_type_is_read_as_numbers() {
    let mut dictionary: PrimitiveDictionaryBuilder<Int8Type, Float64Type> = PrimitiveDictionaryBuilder::new();
    [Some(0.5), None, Some(0.25), Some(0.5)].into_iter().for_each(|value| dictionary.append_option(value));
    let mut words: StringDictionaryBuilder<Int8Type> = StringDictionaryBuilder::new();
    [Some("1.5"), Some("NA"), None, Some("1.5")].into_iter().for_each(|value| words.append_option(value));
    let half = <Float16Type as ArrowPrimitiveType>::Native::from_f32;
    let decimal = |values: Vec<Option<i128>>, scale| {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap()) as ArrayRef
    };
    let columns: Vec<(&str, ArrayRef, [f64; 4])> = vec![
        (
            "i32",
            Arc::new(Int32Array::from(vec![Some(-3), None, Some(7), Some(0)])),
            [-3.0, f64::NAN, 7.0, 0.0],
        ),
        (
            "u64",
            Arc::new(UInt64Array::from(vec![Some(1 << 60), None, Some(7), Some(0)])),
            [2_f64.powi(60), f64::NAN, 7.0, 0.0],
        ),
        (
            "f16",
            Arc::new(Float16Array::from(vec![half(0.5), half(-2.0), half(f32::NAN), half(1.0)])),
            [0.5, -2.0, f64::NAN, 1.0],
        ),
        (
            "f32",
            Arc::new(Float32Array::from(vec![0.1, f32::NAN, 2.0, 3.0])),
            [f64::from(0.1_f32), f64::NAN, 2.0, 3.0],
        ),
        (
            "f32 nulls",
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(2.0), None])),
            [f64::from(0.1_f32), f64::NAN, 2.0, f64::NAN],
        ),
        (
            "bool",
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)])),
            [1.0, 0.0, f64::NAN, 1.0],
        ),
        ("price", decimal(vec![Some(12_345), Some(-5), None, Some(10)], 2), [123.45, -0.05, f64::NAN, 0.1]),
        // 27 digits and 26 decimals: a division of two doubles would round twice.
        (
            "long",
            decimal(vec![Some(123_456_789_012_345_678_901_234_567), None, Some(3), None], 26),
            [1.234_567_890_123_456_8, f64::NAN, 3e-26, f64::NAN],
        ),
        ("dictionary", Arc::new(dictionary.finish()), [0.5, f64::NAN, 0.25, 0.5]),
        ("words", Arc::new(words.finish()), [1.5, f64::NAN, f64::NAN, 1.5]),
    ];
    let schema = columns.iter().map(|(name, array, _)| (*name, array.clone(), true));
    let batch = RecordBatch::try_from_iter_with_nullable(schema).unwrap();
    let names: Vec<String> = columns.iter().map(|(name, ..)| (*name).into()).collect();
    // All columns become evaluators by rule, even the words, which hold numbers.
    let told = Table::from_batches(vec![batch.clone()], &Roles::default()).unwrap();
    assert!(told.roles().evaluators().names().eq(names.iter().map(|name| name.as_ref() as &str)));
    let roles = Roles { evaluators: names, ..Roles::default() };
    let dir = tempfile::tempdir().unwrap();
    let file = Table::open(&[parquet(dir.path(), &batch)], &roles, false).unwrap();
    for table in [
        file,
        Table::from_batches(chunks(&batch, 1), &roles).unwrap(),
        Table::from_batches(chunks(&batch, 4), &roles).unwrap(),
    ] {
        let mut read: Vec<f64> = Vec::new();
        let scores = |mut part: jurybox_files::ScanPart<'_>| Ok(part.batch.scores().to_vec());
        table
            .scan(ScanRequest::default(), scores, |_, scores| {
                read.extend(scores);
                Ok(())
            })
            .unwrap();
        for (at, (name, _, expected)) in columns.iter().enumerate() {
            for (row, wanted) in expected.iter().enumerate() {
                let found = read[row * columns.len() + at];
                assert!(
                    found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan()),
                    "{name}, row {row}: {found} instead of {wanted}"
                );
            }
        }
    }
}

#[test]
fn unusable_cells_are_reported_with_their_row() {
    let batch = batch();
    let double = |row: usize, value: f64| {
        let values = (0..1000).map(|at| if at == row { value } else { 1.0 });
        RecordBatch::try_from_iter([("a", Arc::new(Float64Array::from_iter_values(values)) as ArrayRef)])
            .unwrap()
    };
    for (cut, weights) in [(1, None), (1, Some(1.0)), (30, None), (30, Some(1.0))] {
        let table = Table::from_batches(chunks(&double(778, f64::INFINITY), cut), &Roles::default()).unwrap();
        let error = match weights {
            None => table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap_err(),
            Some(weight) => {
                let options = RankOptions { k: 1, ..RankOptions::default() };
                rank(&table, &Ranker::Weights(vec![weight]), options).unwrap_err()
            }
        };
        assert_eq!(error.code(), "unusable-number");
        assert!(error.to_string().starts_with("table in memory, row 779, column `a`: inf"), "{error}");
    }
    let word = Roles { evaluators: vec!["hour".into()], ..Roles::default() };
    let table = Table::from_batches(chunks(&batch, 3), &word).unwrap();
    let error = table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (
            "odd-cells",
            "table in memory, column `hour`: 30000 of 30000 cells are not numbers, more than one in twenty: `hour 0` (row 1), \
             `hour 1` (row 1001), `hour 2` (row 2001)"
        )
    );
    // No batches, a batch without rows, batches with different columns, and a repeated name.
    let code =
        |batches: Vec<RecordBatch>| Table::from_batches(batches, &Roles::default()).unwrap_err().code();
    assert_eq!(code(vec![]), "no-rows");
    assert_eq!(code(vec![batch.slice(0, 0)]), "no-rows");
    assert_eq!(code(vec![batch.clone(), double(0, 0.0)]), "arrow");
    let twice = [("a", double(0, 0.0).column(0).clone()), ("a", double(0, 0.0).column(0).clone())];
    assert_eq!(code(vec![RecordBatch::try_from_iter(twice).unwrap()]), "duplicate-column");
}

/// The second reading of a stream is an error, and so is a failure of the stream.
#[test]
fn a_stream_is_read_once() {
    let batch = batch();
    let stream = RecordBatchIterator::new(vec![Ok(batch.clone())], batch.schema());
    let table = Table::from_stream(stream, &roles(false), false).unwrap();
    let count = || table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()));
    assert_eq!(count().unwrap(), ROWS as u64);
    assert!(matches!(count().unwrap_err(), Error::ReadOnce { .. }));
    let broken = arrow_schema::ArrowError::ComputeError("the other side hung up".into());
    let stream = RecordBatchIterator::new(vec![Ok(batch.clone()), Err(broken)], batch.schema());
    let table = Table::from_stream(stream, &roles(false), false).unwrap();
    let error = table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap_err();
    assert!(error.to_string().contains("the other side hung up"), "{error}");
}
