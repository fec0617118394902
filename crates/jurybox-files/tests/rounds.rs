//! A round of learning is a file, or a run of rows with the same value in the round column. It does
//! not depend on the batches in which a file is read.

use jurybox::Jury;
use jurybox_files::{Format, Ranker, Roles, Table, new_jury, score_all, teach};
use std::fmt::Write;
use std::path::PathBuf;

const ROWS: usize = 60_000;

/// Three megabytes of rows as CSV, JSON lines and Parquet, with 1000 rows per day. They are read in
/// several blocks and batches.
fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut text = String::from("day,a,b,verdict\n");
    for row in 0..ROWS {
        let (a, b) = ((row * 7919 % 1000) as f64 / 1000.0, (row * 104_729 % 997) as f64 / 997.0);
        let _ = writeln!(text, "day {},{a},{b},{}", row / 1000, 0.6 * a + 0.3 * b);
    }
    let csv = folder.join("scores.csv");
    std::fs::write(&csv, text).unwrap();
    let table = Table::open(std::slice::from_ref(&csv), &roles(None), false).unwrap();
    let ranker = Ranker::Weights(vec![0.0; 2]);
    let others = ["scores.jsonl", "scores.parquet"].map(|name| folder.join(name));
    for path in &others {
        score_all(&table, &ranker, path, Format::Csv).unwrap();
    }
    [vec![csv], others.to_vec()].concat()
}

fn roles(key: Option<&str>) -> Roles {
    Roles {
        evaluators: vec!["a".into(), "b".into()],
        reward: Some("verdict".into()),
        key: key.map(Into::into),
        ..Roles::default()
    }
}

fn learnt(paths: &[PathBuf], policy: &str, key: Option<&str>, threads: usize) -> Jury {
    let table = Table::open(paths, &roles(key), false).unwrap().with_threads(threads);
    let mut jury = new_jury(&policy.parse().unwrap(), table.roles().evaluators()).unwrap();
    let taught = teach(&table, &mut jury, 0).unwrap();
    assert_eq!(taught.rounds, jury.seen().rounds);
    jury
}

#[test]
fn a_file_is_a_round_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let files = files(dir.path());
    for path in &files {
        for threads in [1, 3] {
            let seen = learnt(std::slice::from_ref(path), "adaptive", None, threads).seen();
            assert_eq!(
                (seen.rounds, seen.items, seen.used),
                (1, ROWS as u64, ROWS as u64),
                "{}",
                path.display()
            );
        }
    }
    assert_eq!(learnt(&vec![files[0].clone(); 3], "adaptive", None, 2).seen().rounds, 3);
}

#[test]
fn rounds_of_a_column_are_learnt_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let files = files(dir.path());
    // This policy forgets, so that its state depends on the order and number of rounds.
    let forgetful = "adaptive(forget=true)";
    let states: Vec<String> = files
        .iter()
        .map(|path| {
            let jury = learnt(std::slice::from_ref(path), forgetful, Some("day"), 2);
            assert_eq!(jury.seen().rounds, ROWS as u64 / 1000);
            jury.to_json()
        })
        .collect();
    assert!(states[1] == states[0] && states[2] == states[0], "the state depends on the format");
}
