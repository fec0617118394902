//! Key columns of many Parquet types: rounds, picks and joins give the same as from CSV.

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use jurybox::Jury;
use jurybox_files::{
    Error, Format, LearnOptions, OutputLayout, PickOptions, RankOptions, Ranker, Roles, RowInput,
    ScanRequest, State, Table, VerdictOptions, choose, learn_rows, learn_verdicts, rank,
};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: u8 = 12;

/// Key columns of several types, with their keys as CSV has them.
fn kinds(keys: &[u8]) -> Vec<(&'static str, ArrayRef, Vec<String>)> {
    let whole = || keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let halves = || keys.iter().map(|key| format!("{key}.5")).collect::<Vec<_>>();
    let days = || keys.iter().map(|key| format!("1970-01-{:02}", key + 1)).collect();
    macro_rules! of {
        ($array:ty, $native:ty) => {
            Arc::new(<$array>::from_iter_values(keys.iter().map(|&key| <$native>::from(key)))) as ArrayRef
        };
    }
    vec![
        ("int8", Arc::new(Int8Array::from_iter_values(keys.iter().map(|&key| key.cast_signed()))), whole()),
        ("int16", of!(Int16Array, i16), whole()),
        ("int32", of!(Int32Array, i32), whole()),
        ("int64", of!(Int64Array, i64), whole()),
        ("uint8", of!(UInt8Array, u8), whole()),
        ("uint16", of!(UInt16Array, u16), whole()),
        ("uint32", of!(UInt32Array, u32), whole()),
        ("uint64", of!(UInt64Array, u64), whole()),
        (
            "float",
            Arc::new(Float32Array::from_iter_values(keys.iter().map(|&k| f32::from(k) + 0.5))),
            halves(),
        ),
        (
            "double",
            Arc::new(Float64Array::from_iter_values(keys.iter().map(|&k| f64::from(k) + 0.5))),
            halves(),
        ),
        ("text", Arc::new(StringArray::from_iter_values(whole())), whole()),
        ("date", Arc::new(Date32Array::from_iter_values(keys.iter().map(|&k| i32::from(k)))), days()),
    ]
}

fn score(row: u8, evaluator: u8) -> f64 {
    f64::from((row * 7 + evaluator * 5 + row * evaluator) % 13) / 16.0
}

/// Equal rows as Parquet, with and without a dictionary, and as CSV. Columns are a key, two
/// evaluators and a verdict.
fn files(dir: &Path, key: &ArrayRef, text: &[String]) -> [PathBuf; 3] {
    let rows = || 0..text.len() as u8;
    let numbers = |evaluator| {
        Arc::new(Float64Array::from_iter_values(rows().map(|row| score(row, evaluator)))) as ArrayRef
    };
    let verdict = Arc::new(Float64Array::from_iter_values(rows().map(|row| f64::from(row % 2)))) as ArrayRef;
    let columns = [("g", key.clone()), ("a", numbers(0)), ("b", numbers(1)), ("v", verdict)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let files = ["dictionary.parquet", "plain.parquet", "rows.csv"].map(|name| dir.join(name));
    for (path, dictionary) in files.iter().zip([true, false]) {
        let how = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
        let file = std::fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(how)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    let mut csv = String::from("g,a,b,v\n");
    for (row, key) in rows().zip(text) {
        writeln!(csv, "{key},{},{},{}", score(row, 0), score(row, 1), row % 2).unwrap();
    }
    std::fs::write(&files[2], csv).unwrap();
    files
}

fn state() -> State {
    let evaluators = jurybox::Evaluators::new(["a", "b"]).unwrap();
    State::from(Jury::new(&"lin-ucb".parse().unwrap(), evaluators).unwrap())
}

fn open(path: &Path, ignore: &[&str]) -> Table {
    let ignore = ignore.iter().map(ToString::to_string).collect();
    let roles = Roles { key: Some("g".into()), ignore, ..Roles::default() };
    Table::open(&[path.to_path_buf()], &roles, true).unwrap()
}

/// The two best rows of each group, with their values.
fn of_groups(path: &Path) -> String {
    let options = RankOptions { k: 2, grouped: true, ..RankOptions::default() };
    let ranking = rank(&open(path, &["v"]), &Ranker::Weights(vec![0.5, 0.25]), options).unwrap();
    let winners = ranking.winners().iter().map(|winner| (winner.row, winner.score.to_bits()));
    format!("{:?}", winners.collect::<Vec<_>>())
}

/// The counts and the state after learning rows in rounds, with their rewards.
fn of_rounds(path: &Path) -> String {
    let roles = Roles { key: Some("g".into()), reward: Some("v".into()), ..Roles::default() };
    let how = LearnOptions { roles, ..LearnOptions::default() };
    let lesson =
        learn_rows(Some(&state()), RowInput::Files(vec![path.into()]), &how, &mut ()).unwrap().unwrap();
    let seen = lesson.state.jury.seen();
    assert_eq!((seen.items, seen.used), (u64::from(ROWS), u64::from(ROWS)), "{}", path.display());
    format!("{:?} {:?}", lesson.taught, lesson.state.jury.to_bytes())
}

/// Picks by id, and the state learnt from the verdicts on them.
fn of_ids(path: &Path, verdicts: &Path) -> String {
    let table = open(path, &["v"]);
    let mut state = state();
    let picking = choose(&table, &mut state, PickOptions { k: 5, ..PickOptions::default() }).unwrap();
    let out = path.with_file_name("picks.csv");
    picking.write(&table, &out, OutputLayout { format: Format::Csv, safe_csv: false }, false).unwrap();
    let how = VerdictOptions { id: "g".into(), reward: "v".into(), ..VerdictOptions::default() };
    let files = |path: &Path| RowInput::Files(vec![path.into()]);
    let back = learn_verdicts(&state, files(&out), files(verdicts), &how, &mut ()).unwrap().unwrap();
    assert_eq!((back.back.verdicts, back.back.used), (u64::from(ROWS), 5), "{}", verdicts.display());
    format!("{:?} {:?} {:?}", picking.picks, back.back, back.state.jury.to_bytes())
}

#[test]
fn a_key_of_any_type_behaves_as_in_csv() {
    let groups: Vec<u8> = (0..ROWS).map(|row| row / 4).collect();
    let ids: Vec<u8> = (0..ROWS).map(|row| row + 3).collect();
    for ((kind, groups, group_texts), (_, ids, id_texts)) in kinds(&groups).into_iter().zip(kinds(&ids)) {
        let dir = tempfile::tempdir().unwrap();
        let [dictionary, plain, csv] = files(dir.path(), &groups, &group_texts);
        for file in [&dictionary, &plain] {
            assert_eq!(of_groups(file), of_groups(&csv), "{kind}, groups, {}", file.display());
            assert_eq!(of_rounds(file), of_rounds(&csv), "{kind}, rounds, {}", file.display());
        }
        assert_eq!(open(&plain, &["v"]).roles().evaluators().to_string(), "a, b", "{kind}");
        let dir = tempfile::tempdir().unwrap();
        let [dictionary, plain, csv] = files(dir.path(), &ids, &id_texts);
        for file in [&dictionary, &plain] {
            assert_eq!(of_ids(file, &csv), of_ids(&csv, &csv), "{kind}, ids, {}", file.display());
            assert_eq!(of_ids(&csv, file), of_ids(&csv, &csv), "{kind}, ids of verdicts, {}", file.display());
        }
    }
}

/// The error of picking rows by these ids.
fn refused(path: &Path) -> Error {
    choose(&open(path, &["v"]), &mut state(), PickOptions { k: 5, ..PickOptions::default() }).unwrap_err()
}

#[test]
fn ids_beyond_the_precision_of_a_float_are_refused() {
    let near = |limit: f64| move |row: u8| limit + 2.0 * f64::from(row) - 16.0;
    let (doubles, floats) = (near(9_007_199_254_740_992.0), near(16_777_216.0));
    let rows = || 0..ROWS;
    for (kind, key, text) in [
        (
            "double",
            Arc::new(Float64Array::from_iter_values(rows().map(doubles))) as ArrayRef,
            rows().map(|row| format!("{:.1}", doubles(row))).collect::<Vec<_>>(),
        ),
        (
            "float",
            Arc::new(Float32Array::from_iter_values(rows().map(|row| floats(row) as f32))),
            rows().map(|row| format!("{:.0}", floats(row))).collect(),
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let [dictionary, plain, csv] = files(dir.path(), &key, &text);
        for file in [&dictionary, &plain, &csv] {
            if kind == "float" && file == &csv {
                continue; // in CSV, these digits are ordinary ids
            }
            let error = refused(file);
            assert_eq!(error.code(), "rounded-id", "{kind}: {error}");
            assert!(error.to_string().contains("row 9: the id "), "{kind}, {}: {error}", file.display());
            // The ids are refused also where they only identify the items of rows.
            let roles = Roles { id: vec!["g".into()], ..Roles::default() };
            let table = Table::open(std::slice::from_ref(file), &roles, true).unwrap();
            let read =
                table.scan(ScanRequest { ids: true, ..ScanRequest::default() }, |_| Ok(()), |_, ()| Ok(()));
            assert_eq!(read.unwrap_err().code(), "rounded-id", "{kind}, {}", file.display());
        }
    }
    // Integers of this size are ordinary ids.
    let dir = tempfile::tempdir().unwrap();
    let key = Arc::new(Int64Array::from_iter_values(rows().map(|row| 9_007_199_254_740_993 + i64::from(row))))
        as ArrayRef;
    let text: Vec<String> = rows().map(|row| (9_007_199_254_740_993 + i64::from(row)).to_string()).collect();
    let [_, plain, csv] = files(dir.path(), &key, &text);
    assert_eq!(of_ids(&plain, &csv), of_ids(&csv, &plain));
}

#[test]
fn a_boolean_key_groups_as_in_csv() {
    let truths: Vec<bool> = (0..ROWS).map(|row| row % 3 == 0).collect();
    let texts: Vec<String> = truths.iter().map(ToString::to_string).collect();
    let dir = tempfile::tempdir().unwrap();
    let key = Arc::new(BooleanArray::from(truths)) as ArrayRef;
    let [dictionary, plain, csv] = files(dir.path(), &key, &texts);
    for file in [&dictionary, &plain] {
        assert_eq!(of_groups(file), of_groups(&csv), "groups, {}", file.display());
    }
}
