//! The report on repeated items: its intervals treat items, not rows, as independent.

use jurybox_files::{Format, Report, Roles, Table, report};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;

/// Items with scores independent of their rewards. Each is repeated `times` times, with scores that
/// hardly differ.
fn noise(items: usize, times: usize, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::from("item,a,b,c,verdict\n");
    let all: Vec<([f64; 3], u8)> =
        (0..items).map(|_| (rng.random(), u8::from(rng.random::<f64>() < 0.4))).collect();
    for _ in 0..times {
        for (item, (scores, verdict)) in all.iter().enumerate() {
            let [a, b, c] = scores.map(|x| x + 0.001 * rng.random::<f64>());
            let _ = writeln!(text, "p{item},{a},{b},{c},{verdict}");
        }
    }
    text
}

fn made(text: &str, id: &[&str]) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scores.csv");
    std::fs::write(&path, text).unwrap();
    let id = id.iter().map(|&name| name.into()).collect();
    let roles = Roles { reward: Some("verdict".into()), id, ..Roles::default() };
    let mut made = report(&Table::open(&[path], &roles, false).unwrap(), None).unwrap();
    made.files.clear();
    made
}

#[test]
fn rows_of_one_item_count_as_one_observation() {
    let (mut sure, mut sure_of_rows) = (0, 0);
    for seed in 0..40 {
        let text = noise(127, 8, seed);
        let finds = |report: &Report| {
            let apart = |about: &jurybox_files::EvaluatorReport| {
                about.correlation.is_some_and(|found| found.low > 0.0 || found.high < 0.0)
            };
            usize::from(report.evaluators.iter().any(apart))
        };
        let named = made(&text, &["item"]);
        sure += finds(&named);
        sure_of_rows += finds(&made(&text, &[]));
        assert_eq!((named.repeated_items, named.sampled, named.rows), (127, 127, 1016));
        assert!(
            named.warnings.iter().any(|w| w.starts_with("127 items have several rows")),
            "{:?}",
            named.warnings
        );
    }
    // 5% of the reports, or two of forty, are expected to find something. More than seven would do
    // so in fewer than one of 1,000 tests.
    assert!(sure <= 7, "{sure} of 40 reports find something in noise");
    assert!(sure_of_rows > 20, "without ids, few reports find something: {sure_of_rows} of 40");
}

#[test]
fn ids_that_do_not_repeat_change_nothing() {
    let text = noise(300, 1, 5);
    let document = |id: &[&str]| serde_json::to_string(&made(&text, id)).unwrap();
    assert_eq!(document(&["item"]), document(&[]));
}

/// Items are counted alike in every format and for one and two threads.
#[test]
fn item_counts_are_the_same_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("a.csv");
    std::fs::write(&csv, noise(300, 3, 6)).unwrap();
    let roles = Roles { reward: Some("verdict".into()), id: vec!["item".into()], ..Roles::default() };
    let open = |path: &std::path::Path| Table::open(&[path.to_path_buf()], &roles, false).unwrap();
    let document = |table: &Table| {
        let mut made = report(table, None).unwrap();
        made.files.clear();
        serde_json::to_string(&made).unwrap()
    };
    let expected = document(&open(&csv).with_threads(1));
    assert!(expected.contains("\"repeated_items\":300"), "{expected}");
    let ranking = jurybox_files::rank(
        &open(&csv),
        &jurybox_files::Ranker::Weights(vec![1.0; 3]),
        jurybox_files::RankOptions { k: 900, ..jurybox_files::RankOptions::default() },
    )
    .unwrap();
    let mut others = Vec::new();
    for (name, format) in
        [("b.csv", Format::Csv), ("b.jsonl", Format::JsonLines), ("b.parquet", Format::Parquet)]
    {
        let path = dir.path().join(name);
        ranking.write(&open(&csv), &path, format).unwrap();
        others.push(document(&open(&path).with_threads(2)));
    }
    assert!(others.iter().all(|other| *other == others[0]), "{others:?}");
    assert!(others[0].contains("\"repeated_items\":300"));
}
