//! The fuzz targets.

use jurybox::rand::SeedableRng;
use jurybox::{Evaluators, Example, Jury, Spec};
use jurybox_files::{
    Decimal, Error, Format, LongFormat, Ranker, ReadOptions, Roles, ScanRequest, State, Table, score_all,
};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// Reading options, selected by the length of the file.
fn reading(case: &[u8]) -> ReadOptions {
    let long = || LongFormat { item: "post".into(), judge: "judge".into(), grade: "spam".into() };
    match case.len() % 6 {
        0 => ReadOptions { decimal: Decimal::Comma, ..ReadOptions::default() },
        1 => {
            ReadOptions { header: Some(false), na: vec!["-99".into(), "x".into()], ..ReadOptions::default() }
        }
        2 => ReadOptions { long: Some(long()), ..ReadOptions::default() },
        _ => ReadOptions::default(),
    }
}

/// The number of rows of a table and the bits of all its scores, or the error.
fn scan(path: &Path, reading: &ReadOptions, threads: usize) -> Result<(u64, Vec<u64>), Error> {
    let table = Table::open_as(&[path.into()], reading, &Roles::default(), false)?.with_threads(threads);
    let mut bits = Vec::new();
    let rows = table.scan(
        ScanRequest::default(),
        |mut part| Ok(part.batch.scores().iter().map(|score| score.to_bits()).collect::<Vec<_>>()),
        |_, scores| {
            bits.extend(scores);
            Ok(())
        },
    )?;
    assert_eq!(bits.len() as u64, rows * table.roles().evaluators().len() as u64);
    Ok((rows, bits))
}

/// One and three threads read the same table or give the same error. Each output has all rows.
pub(crate) fn table(case: &[u8], name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("x.{name}"));
    std::fs::write(&path, case).unwrap();
    let reading = reading(case);
    let told = |result: Result<(u64, Vec<u64>), Error>| result.map_err(|error| error.to_string());
    let one = told(scan(&path, &reading, 1));
    assert_eq!(one, told(scan(&path, &reading, 3)));
    let Ok((rows, _)) = one else { return };
    let table = Table::open_as(std::slice::from_ref(&path), &reading, &Roles::default(), false).unwrap();
    let weights = Ranker::Weights(vec![1.0; table.roles().evaluators().len()]);
    for format in [Format::Csv, Format::JsonLines, Format::Parquet] {
        let out = dir.path().join("out");
        if let Err(error) = score_all(&table, &weights, &out, format) {
            // Whole rows have columns that the scan did not read, and these may be damaged in a
            // Parquet file.
            assert_eq!(error.code(), "parquet", "{error}");
            return;
        }
        let again = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let roles = Roles { evaluators: vec!["score".into()], ..Roles::default() };
        // A column `score` of the file itself would be read instead, and need not hold numbers.
        if !table.columns().iter().any(|column| column == "score") {
            let table = Table::open_as(&[out], &again, &roles, false).unwrap();
            assert_eq!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap(), rows);
        }
    }
}

/// Parquet files made from those tables that can be read.
pub(crate) fn parquet_files(tables: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.csv"), dir.path().join("x.parquet"));
    let convert = |text: &Vec<u8>| {
        std::fs::write(&from, text).unwrap();
        let table = Table::open(std::slice::from_ref(&from), &Roles::default(), false).ok()?;
        let ranker = Ranker::Weights(vec![1.0; table.roles().evaluators().len()]);
        score_all(&table, &ranker, &to, Format::Parquet).ok()?;
        std::fs::read(&to).ok()
    };
    tables.iter().filter_map(convert).collect()
}

/// If a spec can be parsed and makes a jury, it reads back from its text, and the jury from its
/// JSON.
pub(crate) fn spec(case: &[u8]) {
    let Ok(spec) = String::from_utf8_lossy(case).parse::<Spec>() else { return };
    if let Ok(jury) = Jury::new(&spec, Evaluators::numbered(2).unwrap()) {
        assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
        assert_eq!(Jury::from_json(&jury.to_json()).unwrap().to_json(), jury.to_json());
        let _ = jury.fit();
    }
}

/// States of several policies, after some learning.
pub(crate) fn states() -> Vec<Vec<u8>> {
    let learnt = |name: &&str| {
        let spec: Spec = name.parse().unwrap();
        let mut jury = Jury::new(&spec, Evaluators::new(["spam", "abuse"]).unwrap()).unwrap();
        use_it(&mut jury);
        jury.to_json().into_bytes()
    };
    ["adaptive", "esag", "lin-ucb", "eval-ucb", "exp4p", "eps-greedy(eps=0.1)", "average"]
        .iter()
        .map(learnt)
        .collect()
}

/// A state that can be read is written as it was read. After learning it still can be read.
pub(crate) fn state(case: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.json");
    std::fs::write(&path, case).unwrap();
    let Ok(mut state) = State::read(&path) else { return };
    state.write(&path).unwrap();
    assert_eq!(State::read(&path).unwrap().jury.to_json(), state.jury.to_json());
    if state.jury.evaluators().len() <= 100 {
        use_it(&mut state.jury);
        // A full state cannot be written, and the file then stays as it was.
        let _ = state.write(&path);
        State::read(&path).unwrap();
    }
}

/// Lets a jury observe four items, choose two, and learn a reward of 1 for the first pick.
fn use_it(jury: &mut Jury) {
    let width = jury.evaluators().len();
    let values: Vec<f64> = (0..4 * width).map(|at| (at * 7 % 5) as f64 / 4.0).collect();
    let at = jury.seen().next_time();
    let Ok(scores) = jury.scores(&values) else { return };
    if jury.observe(&scores, at).is_err() {
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let Ok(picks) = jury.fit().choose(&scores, 2, &mut rng) else { return };
    let pick = &picks[0];
    let row = &values[pick.item * width..(pick.item + 1) * width];
    let _ = jury.learn(&[Example { scores: row, reward: 1.0, receipt: Some(&pick.receipt) }], at);
}
