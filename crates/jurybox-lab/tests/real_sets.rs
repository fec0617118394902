//! The real data sets, where they are: beside the workspace, in `../shared/data`. Where they are not, this says so.

use jurybox_files::{Roles, Table};
use jurybox_lab::{Protocol, ReplayOptions, replay};
use std::path::{Path, PathBuf};

/// A data set: its file, rows, which column is what, and how to replay it.
struct Set {
    file: &'static str,
    rows: u64,
    reward: &'static str,
    ignore: &'static [&'static str],
    /// Every evaluator and the reward upside down: the worst first.
    worst_first: bool,
    /// The column of rounds, as the README names it.
    round: &'static str,
}

const SETS: [Set; 4] = [
    Set {
        file: "content-review.csv",
        rows: 5710,
        reward: "offensiveness_score",
        ignore: &[],
        worst_first: false,
        round: "post_id",
    },
    Set {
        file: "precipitation.csv",
        rows: 4043,
        reward: "observations",
        ignore: &["latitude"],
        worst_first: false,
        round: "dates",
    },
    Set {
        file: "temperature.csv.gz",
        rows: 36_826,
        reward: "observation",
        ignore: &["latitude", "longitude", "elevation"],
        worst_first: false,
        round: "date",
    },
    Set {
        file: "translation-quality.csv.gz",
        rows: 45_565,
        reward: "score_mean",
        ignore: &["seg", "n_ann"],
        worst_first: true,
        round: "lp",
    },
];

fn present(set: &Set) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(set.file);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
    }
    path.exists().then_some(path)
}

/// The table of a set as its README describes it.
fn table(set: &Set, path: &Path, key: Option<&str>) -> Table {
    let mut roles = Roles {
        reward: Some(set.reward.into()),
        key: key.map(Into::into),
        ignore: set.ignore.iter().map(|&name| name.into()).collect(),
        ..Roles::default()
    };
    if key.is_none() {
        roles.ignore.push(set.round.into());
    }
    if set.worst_first {
        let plain = Table::open(&[path.into()], &roles, false).unwrap();
        roles.invert = plain.taken().evaluators().names().map(Into::into).collect();
        roles.invert.push(set.reward.into());
    }
    Table::open(&[path.into()], &roles, true).unwrap()
}

/// Runs a check on every set that is there.
fn each(check: impl Fn(&Set, &Path)) {
    for set in &SETS {
        if let Some(path) = present(set) {
            check(set, &path);
        }
    }
}

#[test]
fn in_a_pool_learning_pays_and_nobody_beats_the_best() {
    each(|set, path| {
        let options = ReplayOptions {
            protocol: Protocol::Pool { budget: 200 },
            runs: 2,
            policies: vec!["adaptive".parse().unwrap()],
            ..ReplayOptions::default()
        };
        let outcome = replay(&table(set, path, None), &options).unwrap();
        assert_eq!(
            (outcome.rows as u64, outcome.how, outcome.labels),
            (set.rows, "replayed", 200),
            "{}",
            set.file
        );
        let share = outcome.policies[0].best_share.unwrap().mean;
        assert!(share > 0.25 && share <= 1.0, "{}: {share}", set.file);
        assert_eq!(outcome.line("best").unwrap().best_share.unwrap().mean, 1.0, "{}", set.file);
    });
}

#[test]
fn own_rounds_are_those_of_the_column() {
    each(|set, path| {
        let options = ReplayOptions {
            k: 2,
            rounds: Some(40),
            runs: 1,
            policies: vec!["average".parse().unwrap()],
            ..ReplayOptions::default()
        };
        let outcome = replay(&table(set, path, Some(set.round)), &options).unwrap();
        // 371 threads, 57 and more days, 38 language pairs: as many as there are, up to what was asked for.
        let there = if set.file.starts_with("translation") { 38 } else { 40 };
        assert_eq!(outcome.rounds, there, "{}", set.file);
        assert_eq!(
            outcome.warnings.iter().any(|w| w.contains("rounds were asked for")),
            there < 40,
            "{}",
            set.file
        );
        assert!(outcome.items * 2.0 < set.rows as f64, "{}", set.file);
    });
}
