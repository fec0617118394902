//! Replays of the real data sets, skipped where these are absent.

#[path = "../../jurybox-files/tests/sets/mod.rs"]
mod sets;

use jurybox_lab::{Protocol, ReplayOptions, replay};
use sets::{each, table};

#[test]
fn in_a_pool_learning_pays_and_best_is_the_most() {
    each(|set, path| {
        let options = ReplayOptions {
            protocol: Protocol::Pool { budget: 200 },
            runs: 2,
            policies: vec!["adaptive".parse().unwrap()],
            ..ReplayOptions::default()
        };
        let outcome = replay(&table(set, path, None), &options).unwrap();
        assert_eq!(
            (outcome.rows as u64, outcome.method, outcome.labels),
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
        // The translations have 38 language pairs; all other files have 40 rounds or more.
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
