//! Tests of contexts: only juries whose weights differ by group are shown them.

use super::*;
use crate::replay::row_groups::RowGroups;
use jurybox::{Evaluator, Evaluators, Jury};

/// Rows of two groups: one evaluator is informative in one group, the other one in the other.
fn two_groups(rows: usize) -> ReviewLog {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut log = ReviewLog::of(Evaluators::new(["a", "b"]).unwrap());
    let mut groups = Vec::new();
    for row in 0..rows {
        let scores = [normal(&mut rng), normal(&mut rng)];
        log.rewards.push(scores[row % 2] + 0.1 * normal(&mut rng));
        log.scores.extend(scores);
        groups.push([7.0, 8.0][row % 2]);
    }
    let seated = Evaluators::new(["a".into(), Evaluator::context("language"), "b".into()]).unwrap();
    log.groups = Some(RowGroups::new(seated, groups));
    log
}

fn without_groups(log: &ReviewLog) -> ReviewLog {
    ReviewLog { groups: None, ..log.clone() }
}

#[test]
fn weights_by_group_find_more_and_others_do_not_see_the_groups() {
    let log = two_groups(1200);
    for protocol in [Protocol::Rounds, Protocol::Pool { budget: 150 }, Protocol::Folds(4)] {
        let options = ReplayOptions { runs: 4, ..options(protocol, &["adaptive", "lin-ucb", "greedy"]) };
        let (with, without) = (run(&log, &options), run(&without_groups(&log), &options));
        let more = share(&with, "adaptive").mean - share(&without, "adaptive").mean;
        assert!(more > 0.1, "{protocol:?}: {more}");
        let references = ["average", "z-mean", "rank-mean", "ridge", "logistic", "hindsight"];
        for name in ["lin-ucb", "greedy"].iter().chain(&references) {
            assert_eq!(share(&with, name), share(&without, name), "{protocol:?} {name}");
        }
        let said = |outcome: &ReplayOutcome| {
            outcome.warnings.iter().any(|line| line.contains("language is not shown"))
        };
        assert!(said(&with) && !said(&without), "{:?}", with.warnings);
    }
}

#[test]
fn states_play_with_the_groups_that_they_know() {
    let log = two_groups(600);
    let grouped = Jury::new(&"adaptive".parse().unwrap(), log.with_contexts().clone()).unwrap();
    let plain = Jury::new(&"adaptive".parse().unwrap(), log.evaluators.clone()).unwrap();
    let states = vec![("grouped".into(), grouped), ("plain".into(), plain)];
    let options = ReplayOptions { runs: 4, states, ..options(Protocol::Rounds, &["average"]) };
    let outcome = run(&log, &options);
    assert!(share(&outcome, "grouped").mean > share(&outcome, "plain").mean + 0.1);
    let other =
        Jury::new(&"adaptive".parse().unwrap(), Evaluators::new(["a", "language", "b"]).unwrap()).unwrap();
    let options = ReplayOptions { states: vec![("other".into(), other)], ..options };
    let refused = replayed(&log, &options, 1, RunProgress::NOBODY).unwrap_err().to_string();
    assert!(refused.contains("it was learnt over the evaluators a, language, b"), "{refused}");
}
