//! Tests of the figures of a replay.

use super::*;

#[test]
fn uniform_is_the_mean_and_best_is_one_by_construction() {
    let log = world(200, 0.5, 3);
    let outcome = run(&log, &options(Protocol::Pool { budget: 40 }, &["average"]));
    let uniform = outcome.line("uniform").unwrap();
    // The mean of the pools. Each has 160 of the 200 rows.
    let means = (0..20).map(|run| {
        let schedule::ScheduleStage::Pool { rows, .. } =
            &RowSchedule::of(&log, &options(Protocol::Pool { budget: 40 }, &[]), run).stages[0]
        else {
            panic!("a pool")
        };
        assert_eq!(rows.len(), 160);
        rows.iter().map(|&row| log.rewards[row]).sum::<f64>() / 160.0
    });
    let expected = means.sum::<f64>() / 20.0;
    assert!((uniform.reward_per_pick.mean - expected).abs() < 1e-12);
    assert_eq!(uniform.best_share.unwrap().mean, 0.0);
    for protocol in [Protocol::Pool { budget: 40 }, Protocol::Rounds, Protocol::Folds(4), Protocol::Reuse] {
        let ask = ReplayOptions { runs: 4, rounds: Some(4), ..options(protocol, &["average"]) };
        let outcome = run(&log, &ask);
        let best = share(&outcome, "best");
        assert!((best.mean - 1.0).abs() < 1e-12 && best.half_width() < 1e-9, "{protocol:?}: {best:?}");
        let all = outcome.policies.iter().chain(&outcome.references);
        assert!(all.clone().all(|line| line.best_share.unwrap().mean <= 1.0 + 1e-12), "{protocol:?}");
    }
}

#[test]
fn learning_pays_where_there_is_something_to_learn() {
    let log = world(600, 1.0, 5);
    let outcome = run(&log, &options(Protocol::Pool { budget: 60 }, &["adaptive", "average"]));
    let adaptive = share(&outcome, "adaptive");
    assert!(adaptive.low > 0.4 && adaptive.high < 1.0, "{adaptive:?}");
    let at: Vec<usize> = outcome.policies[0].best_share_at.keys().copied().collect();
    assert_eq!(at, [20, 60]);
    assert_eq!(outcome.policies[0].best_share_at[&60], adaptive);
    // The difference is that of the shares, and more precise than their two intervals together.
    let average = outcome.line("average").unwrap();
    let difference = average.difference_to_first.unwrap();
    assert!((difference.mean - (average.best_share.unwrap().mean - adaptive.mean)).abs() < 1e-12);
    assert_eq!(outcome.policies[0].difference_to_first, None);
    assert!(difference.half_width() < average.best_share.unwrap().half_width() + adaptive.half_width());
    // The first evaluator has at least twice the signal of any other.
    assert!(outcome.line("best-single(e0)").is_some());
    assert_eq!(outcome.references.iter().filter(|line| line.name.starts_with("best-single")).count(), 1);
}

/// At each number of labels, no single evaluator is better than the one shown as the best.
#[test]
fn the_best_single_evaluator_is_chosen_at_each_mark() {
    let log = world(300, 0.3, 12);
    let outcome =
        run(&log, &ReplayOptions { runs: 4, ..options(Protocol::Pool { budget: 200 }, &["average"]) });
    let best = outcome.references.iter().find(|line| line.name.starts_with("best-single")).unwrap();
    for j in 0..4 {
        let weights = Some((0..4).map(|i| f64::from(u8::from(i == j))).collect());
        let ask = ReplayOptions { runs: 4, weights, ..options(Protocol::Pool { budget: 200 }, &["average"]) };
        let outcome = run(&log, &ask);
        let alone = outcome.policies.iter().find(|line| line.name.starts_with("weights")).unwrap();
        for mark in [20, 60, 200] {
            assert!(alone.best_share_at[&mark].mean <= best.best_share_at[&mark].mean, "e{j} at {mark}");
        }
    }
    assert!(outcome.to_table().contains(") in hindsight"));
}

/// One row in forty has a high reward. A fold with many of these must not rank its rows too low.
#[test]
fn hindsight_differs_from_run_to_run_and_is_not_below_what_it_should_be() {
    let mut shares = Vec::new();
    for seed in 0..12 {
        let mut log = world(400, 1.0, 900 + seed);
        log.rewards.iter_mut().for_each(|r| *r = f64::from(*r > 1.96));
        let ask = ReplayOptions { runs: 4, ..options(Protocol::Pool { budget: 20 }, &["average"]) };
        let outcome = run(&log, &ask);
        shares.push(share(&outcome, "hindsight").mean - share(&outcome, "z-mean").mean);
    }
    let mean = Interval::of(&shares);
    assert!(mean.high > 0.0, "{mean:?}");
    let log = world(100, 1.0, 1);
    let ask = options(Protocol::Rounds, &["average"]);
    let hindsight = entrants(&log, &ask, 1).unwrap().into_iter().find(|entrant| entrant.name == "hindsight");
    let schedule = RowSchedule::of(&log, &ask, 0);
    let known = |run: usize| hindsight.as_ref().unwrap().hindsight_values(&log, &ask, &schedule, run);
    assert_eq!(known(0), known(0));
    assert_ne!(known(0), known(1));
}

#[test]
fn the_reason_why_there_is_nothing_to_gain_is_the_true_one() {
    let log = world(100, 1.0, 13);
    let said = |log: &ReviewLog, ask: &ReplayOptions| run(log, ask).warnings.join("; ");
    let over = said(&log, &options(Protocol::Pool { budget: 500 }, &["average"]));
    assert!(over.contains("as large as the pool") && !over.contains("equal"), "{over}");
    let single = ReviewLog { rounds: (0..100).map(|row| vec![row]).collect(), ..log.clone() };
    let alone = said(&single, &options(Protocol::Rounds, &["average"]));
    assert!(alone.contains("no round has more rows") && !alone.contains("equal"), "{alone}");
    let flat = ReviewLog { rewards: vec![1.0; 100], ..log };
    assert!(said(&flat, &options(Protocol::Rounds, &["average"])).contains("all rewards are equal"));
}

/// With a budget as large as the pool, all entrants earn the same, and no evaluator is named.
#[test]
fn no_single_evaluator_is_the_best_where_all_is_picked() {
    let log = world(50, 0.5, 3);
    let ask = ReplayOptions { runs: 4, ..options(Protocol::Pool { budget: 40 }, &["adaptive"]) };
    let outcome = run(&log, &ask);
    assert!(outcome.line("best-single").is_some());
    assert!(!outcome.to_table().contains("best-single("), "{}", outcome.to_table());
}

/// The difference of two policies with the same picks is zero and marked, but its interval has a
/// width.
#[test]
fn same_picks_are_called_so_and_are_not_certain_of_other_rows() {
    let log = world(100, 0.5, 3);
    let weights = Some(vec![1.0; 4]);
    let ask = ReplayOptions { runs: 1, weights, ..options(Protocol::Folds(5), &["average", "adaptive"]) };
    let outcome = run(&log, &ask);
    let same = outcome.policies.iter().find(|line| line.name.starts_with("weights")).unwrap();
    let difference = same.difference_to_first.unwrap();
    assert!(same.same_picks_as_first && difference.mean == 0.0 && difference.half_width() > 0.0);
    assert!(!outcome.policies[0].same_picks_as_first && !outcome.line("best").unwrap().same_picks_as_first);
    assert!(outcome.to_table().contains("same picks"));
    // The reference `best` stays exact, and a fixed policy gets no warning about learning.
    assert!(share(&outcome, "best").half_width() < 1e-9);
    assert!(
        outcome.warnings.iter().all(|warning| !warning.contains("its own picks")),
        "{:?}",
        outcome.warnings
    );
    let explorer = run(&log, &ReplayOptions { runs: 1, ..options(Protocol::Folds(5), &["eps-greedy"]) });
    assert!(explorer.warnings.iter().any(|warning| warning.contains("its own picks")));
}

#[test]
fn equal_rewards_get_no_warning_of_many_values() {
    let mut log = world(60, 0.5, 3);
    log.rewards.fill(1.0);
    let outcome = run(&log, &ReplayOptions { runs: 4, ..options(Protocol::Rounds, &["average"]) });
    assert!(outcome.warnings.iter().all(|warning| !warning.contains("two values")), "{:?}", outcome.warnings);
}
