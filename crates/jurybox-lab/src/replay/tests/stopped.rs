//! Tests of stopping a replay or an off-policy estimate.

use super::*;
use crate::offpolicy::off_policy;
use jurybox_files::{Progress, Roles, Table};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A table of 100 rounds of ten rows, which stops the work at its first report on runs. If
/// `logged`, it has probabilities, and half of the rows have no reward.
fn impatient(dir: &tempfile::TempDir, logged: bool) -> Table {
    let path = dir.path().join("log.csv");
    let mut text = String::from("round,good,noise,verdict,p\n");
    for row in 0..1000 {
        let verdict = if logged && row % 2 == 1 { String::new() } else { (row % 17).to_string() };
        writeln!(text, "r{},{},{},{verdict},0.5", row / 10, row % 17, row % 5).unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let column = |name: &str| Some(name.to_string());
    let roles = Roles {
        reward: column("verdict"),
        probability: column("p").filter(|_| logged),
        key: column("round"),
        ignore: if logged { vec![] } else { vec!["p".into()] },
        ..Roles::default()
    };
    let enough = Arc::new(AtomicBool::new(false));
    let say = enough.clone();
    Table::open(&[path], &roles, false).unwrap().with_threads(1).stop_when(enough).on_progress(move |now| {
        if let Progress::Runs { .. } = now {
            say.store(true, Ordering::Relaxed);
        }
    })
}

#[test]
fn replays_and_estimates_end_when_somebody_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let ask = ReplayOptions {
        k: 2,
        runs: 2,
        policies: ["average", "esag", "lin-ucb"].map(|name| name.parse().unwrap()).into(),
        ..ReplayOptions::default()
    };
    let is_stopped = |error| matches!(error, Error::Table(jurybox_files::Error::Stopped));
    assert!(is_stopped(replay(&impatient(&dir, false), &ask).unwrap_err()));
    assert!(is_stopped(off_policy(&impatient(&dir, true), &ask).unwrap_err()));
}
