//! Tests of the coverage of a replay's intervals.

use super::*;

/// Shares of intervals that hold the mean over many runs on the same file, and of those that hold
/// the mean over all files.
fn coverage(protocol: Protocol, files: u64, runs: usize, many: usize) -> (f64, f64) {
    let ask = |runs: usize, seed: u64| ReplayOptions { runs, seed, ..options(protocol, &["average"]) };
    let mut truths = Vec::new();
    let mut found = Vec::new();
    for file in 0..files {
        let log = world(150, 0.7, 5000 + file);
        let few = run(&log, &ask(runs, 1));
        let lots = run(&log, &ask(many, 2));
        found.push(share(&few, "ridge"));
        truths.push(share(&lots, "ridge").mean);
    }
    let world_truth = truths.iter().sum::<f64>() / truths.len() as f64;
    let holds = |truth: &dyn Fn(usize) -> f64| {
        let held = (0..found.len()).filter(|&at| found[at].low <= truth(at) && truth(at) <= found[at].high);
        held.count() as f64 / found.len() as f64
    };
    (holds(&|at| truths[at]), holds(&|_| world_truth))
}

/// Intervals over runs hold the mean over draws and orders of the same file. Intervals over folds
/// hold the mean over files, if less often than in 95 of 100 cases.
#[test]
fn intervals_over_runs_cover_draws_and_order() {
    let ask = |runs: usize, seed: u64| ReplayOptions {
        runs,
        seed,
        rounds: Some(6),
        ..options(Protocol::Reuse, &["average"])
    };
    let held = (0..40).filter(|file| {
        let log = world(150, 0.7, 5000 + file);
        let (few, lots) = (share(&run(&log, &ask(10, 1)), "ridge"), share(&run(&log, &ask(100, 2)), "ridge"));
        few.low <= lots.mean && lots.mean <= few.high
    });
    // 95% of 40 files are 38; fewer than 34 happen about once in 300 such tests (binomial).
    assert!(held.count() >= 34);
    let (_, world) = coverage(Protocol::Folds(5), 40, 1, 4);
    assert!(world >= 0.80, "{world}");
}

/// Over many files from `make`, for each entrant: its name; the coverage (share of intervals that
/// hold the mean over files) of the best share and of the difference to the first policy; and the
/// mean width of the difference's intervals over the width of the exact one. Leaves out the first
/// policy, `uniform`, `best` and the best single evaluator.
fn over_files(
    files: u64,
    make: &dyn Fn(u64) -> ReviewLog,
    ask: &ReplayOptions,
) -> Vec<(String, [f64; 2], f64)> {
    let outcomes: Vec<ReplayOutcome> = (0..files).map(|file| run(&make(file), ask)).collect();
    let names: Vec<String> = outcomes[0].policies[1..]
        .iter()
        .chain(&outcomes[0].references)
        .map(|line| line.name.clone())
        .filter(|name| !name.starts_with("best") && name != "uniform")
        .collect();
    let held = |of: &dyn Fn(&ReplayOutcome) -> Interval| {
        let all: Vec<Interval> = outcomes.iter().map(of).collect();
        let mean = all.iter().map(|one| one.mean).sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|one| (one.mean - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64;
        let inside = all.iter().filter(|one| one.low <= mean && mean <= one.high).count();
        let width = all.iter().map(Interval::half_width).sum::<f64>() / all.len() as f64;
        (inside as f64 / all.len() as f64, width / (1.96 * square.sqrt()))
    };
    let of = |name: String| {
        let shares = held(&|outcome| share(outcome, &name)).0;
        let (differences, wide) = held(&|outcome| outcome.line(&name).unwrap().difference_to_first.unwrap());
        (name, [shares, differences], wide)
    };
    names.into_iter().map(of).collect()
}

/// Four scores and a reward per row. One reward in `one_in` is 1, the others are 0.
fn yes_or_no(rows: usize, one_in: f64, signal: f64, seed: u64) -> ReviewLog {
    let mut log = world(rows, signal, seed);
    let mut sorted = log.rewards.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = sorted[rows - (rows as f64 / one_in) as usize];
    log.rewards.iter_mut().for_each(|r| *r = f64::from(u8::from(*r >= cut)));
    log
}

/// Intervals of shares and of differences in a pool hold their means over files.
#[test]
fn differences_in_a_pool_are_those_of_other_files() {
    let ask = options(Protocol::Pool { budget: 20 }, &["adaptive", "lin-ucb"]);
    for (name, [shares, differences], wide) in over_files(40, &|file| world(150, 0.7, 5000 + file), &ask) {
        // 95% of 40 files are 38; fewer than 34 happen about once in 300 such tests (binomial).
        assert!(shares >= 0.85 && differences >= 0.85, "{name}: {shares} {differences}");
        assert!(wide < 2.5, "{name}: {wide} times as wide as it need be");
    }
}

/// Prints a table of `experiments/results/replay.md`: `cargo test --release -p jurybox-lab
/// table_over_files -- --ignored --nocapture`.
#[test]
#[ignore = "a table for people, minutes of work"]
fn table_over_files() {
    type Make<'a> = &'a dyn Fn(u64) -> ReviewLog;
    let policies = ["adaptive", "esag", "greedy", "lin-ucb"];
    let pool = |budget| Protocol::Pool { budget };
    let worlds: [(&str, Make<'_>, ReplayOptions); 4] = [
        (
            "numbers, 150 rows, 20 labels of a pool",
            &|file| world(150, 0.7, 5000 + file),
            options(pool(20), &policies),
        ),
        (
            "one yes in 8, 300 rows, 60 labels of a pool",
            &|file| yes_or_no(300, 8.0, 1.0, 6000 + file),
            options(pool(60), &policies),
        ),
        (
            "one yes in 3, 400 rows, 100 labels of a pool",
            &|file| yes_or_no(400, 3.0, 0.5, 7000 + file),
            ReplayOptions { k: 10, ..options(pool(100), &policies) },
        ),
        (
            "one yes in 8, 400 rows, rounds of 50",
            &|file| yes_or_no(400, 8.0, 1.0, 8000 + file),
            options(Protocol::Rounds, &policies),
        ),
    ];
    eprintln!(
        "| files | line | best share | minus adaptive | its width over the exact one |\n|---|---|---|---|---|"
    );
    for (title, make, ask) in worlds {
        for (name, [shares, differences], wide) in over_files(100, make, &ask) {
            eprintln!("| {title} | {name} | {shares:.2} | {differences:.2} | {wide:.2} |");
        }
    }
}

/// Prints a table of `experiments/results/replay.md`: `cargo test --release -p jurybox-lab
/// coverage_table -- --ignored --nocapture`.
#[test]
#[ignore = "a table for people, minutes of work"]
fn coverage_table() {
    eprintln!("| protocol | runs | holds this file's mean | holds the mean over files |\n|---|---|---|---|");
    for (name, protocol, runs, many) in [
        ("pool, 20 labels", Protocol::Pool { budget: 20 }, 10, 150),
        ("rounds of 50", Protocol::Rounds, 10, 150),
        ("5 folds", Protocol::Folds(5), 1, 15),
        ("5 folds", Protocol::Folds(5), 3, 15),
    ] {
        let (file, world) = coverage(protocol, 200, runs, many);
        eprintln!("| {name} | {runs} | {file:.3} | {world:.3} |");
    }
}

#[test]
fn few_rows_of_the_rarer_reward_are_a_warning() {
    let mut log = world(300, 1.0, 15);
    log.rewards.iter_mut().for_each(|r| *r = f64::from(*r > 1.9));
    let ask = ReplayOptions { runs: 1, ..options(Protocol::Folds(5), &["average"]) };
    assert!(run(&log, &ask).warnings.iter().any(|w| w.contains("rarer") && w.contains("87 to 100 of 100")));
    let plain = run(&world(300, 1.0, 15), &ask);
    assert!(!plain.warnings.iter().any(|w| w.contains("rarer")));
    // Two folds are fewer units than an interval needs.
    let two = run(&log, &ReplayOptions { runs: 1, ..options(Protocol::Folds(2), &["average"]) });
    assert!(two.policies[0].best_share.unwrap().half_width().is_infinite());
}

/// Files on which nearly every pick is right: few folds have a miss, and intervals must allow for
/// one. With 60 intervals of 95%, it happens less than once in 1,000 tests that 50 or fewer hold
/// the truth (binomial).
#[test]
fn shares_near_one_are_not_exact() {
    let yes_no = |file: u64| {
        let mut log = world(200, 0.8, 9000 + file);
        log.rewards.iter_mut().for_each(|r| *r = f64::from(u8::from(*r > 0.0)));
        log
    };
    let ask = |k: usize| ReplayOptions { runs: 1, k, ..options(Protocol::Folds(5), &["average"]) };
    for k in [1, 2] {
        let found: Vec<Interval> =
            (0..60).map(|file| share(&run(&yes_no(file), &ask(k)), "average")).collect();
        let truth = found.iter().map(|share| share.mean).sum::<f64>() / 60.0;
        let exact = found.iter().filter(|share| share.mean == 1.0).count();
        assert!(exact > 20 && truth > 0.8 && truth < 1.0, "the files are unsuited: {exact} {truth}");
        let held = found.iter().filter(|share| share.low <= truth && truth <= share.high).count();
        assert!(held > 50, "{k}: {held} of 60 hold {truth}");
        assert!(found.iter().all(|share| share.half_width() > 0.0));
    }
}
