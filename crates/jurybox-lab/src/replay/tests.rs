//! What a replay must not do, and what must hold by construction.

use super::*;
use jurybox::Interval;
use jurybox::Spec;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Rows of four evaluators: scores are `signal * reward + noise`, rewards normal.
fn world(rows: usize, signal: f64, seed: u64) -> Log {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rewards: Vec<f64> = (0..rows).map(|_| normal(&mut rng)).collect();
    let mut scores = Vec::new();
    for reward in &rewards {
        for j in 0..4_u8 {
            scores.push(signal * reward / f64::from(1 + j) + normal(&mut rng));
        }
    }
    let evaluators = jurybox::Evaluators::new((0..4).map(|j| format!("e{j}"))).unwrap();
    Log { evaluators, scores, rewards, probabilities: Vec::new(), rounds: Vec::new() }
}

fn options(protocol: Protocol, policies: &[&str]) -> ReplayOptions {
    ReplayOptions {
        protocol,
        items: 50,
        k: 5,
        runs: 20,
        policies: policies.iter().map(|name| name.parse().unwrap()).collect(),
        ..ReplayOptions::default()
    }
}

fn run(log: &Log, options: &ReplayOptions) -> Outcome {
    replayed(log, options, 2, &|_, _| {}, &|| false).unwrap().0
}

fn share(outcome: &Outcome, name: &str) -> Interval {
    outcome.line(name).unwrap().best_share.unwrap()
}

const LEARNERS: [&str; 3] = ["adaptive", "lin-ucb", "greedy"];

/// Scores that know nothing: whoever beats a random pick has been shown the answer.
///
/// Within one file, chance relations between scores and rewards are real, and intervals over runs do not cover them. So the
/// question is put to many small files: the mean over files must be 0 within its interval over files.
#[test]
fn nobody_learns_anything_from_noise_unless_rows_come_back() {
    let protocols = [Protocol::Pool { budget: 60 }, Protocol::Rounds, Protocol::Folds(5)];
    for protocol in protocols {
        let files: Vec<Outcome> = (0..30)
            .map(|seed| {
                let ask = ReplayOptions { runs: 2, ..options(protocol, &LEARNERS) };
                run(&world(300, 0.0, 1000 + seed), &ask)
            })
            .collect();
        for name in LEARNERS.into_iter().chain(["ridge", "logistic", "hindsight", "average", "z-mean"]) {
            let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
            let mean = Interval::of(&shares);
            // Ten such questions a protocol: an interval of 95% would fail by chance every other time. 99.9%.
            let wide = 1.75 * mean.half_width();
            assert!(mean.mean.abs() < wide && wide < 0.15, "{protocol:?}, {name}: {mean:?}");
        }
    }
    let ask =
        ReplayOptions { rounds: Some(100), items: 20, k: 2, runs: 2, ..options(Protocol::Reuse, &LEARNERS) };
    let files: Vec<Outcome> = (0..20).map(|seed| run(&world(40, 0.0, 2000 + seed), &ask)).collect();
    for name in ["adaptive", "ridge", "logistic"] {
        let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
        let leaked = Interval::of(&shares);
        assert!(leaked.low > 0.15, "{name} knows rows that come back: {leaked:?}");
    }
    let before = files[0].policies[0].labelled_before.unwrap();
    assert!(before > 0.8 && files[0].warnings.iter().any(|w| w.contains("rows come back")), "{before}");
}

#[test]
fn uniform_is_the_mean_and_best_is_one_by_construction() {
    let log = world(200, 0.5, 3);
    let outcome = run(&log, &options(Protocol::Pool { budget: 40 }, &["average"]));
    let uniform = outcome.line("uniform").unwrap();
    // The mean over pools of 160 of 200 rows, exactly.
    let means = (0..20).map(|run| {
        let course::Stage::Pool { rows, .. } =
            &Course::of(&log, &options(Protocol::Pool { budget: 40 }, &[]), run).stages[0]
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
fn no_row_is_looked_at_twice_and_every_pick_is_told_of() {
    let log = world(230, 0.5, 4);
    for protocol in [Protocol::Pool { budget: 47 }, Protocol::Rounds, Protocol::Folds(4)] {
        let mut ask =
            ReplayOptions { runs: 2, picks: Some("kept".into()), ..options(protocol, &["adaptive"]) };
        ask.k = 3;
        let (outcome, chosen) = replayed(&log, &ask, 1, &|_, _| {}, &|| false).unwrap();
        for (_, _, picks) in &chosen {
            let mut rows: Vec<usize> = picks.iter().map(|pick| pick.row).collect();
            assert_eq!(rows.len(), outcome.labels, "{protocol:?}");
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), outcome.labels, "{protocol:?}: a row was picked twice");
        }
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
    // The difference is that of the shares, and sharper than the two intervals together.
    let average = outcome.line("average").unwrap();
    let difference = average.difference_to_first.unwrap();
    assert!((difference.mean - (average.best_share.unwrap().mean - adaptive.mean)).abs() < 1e-12);
    assert_eq!(outcome.policies[0].difference_to_first, None);
    assert!(difference.half_width() < average.best_share.unwrap().half_width() + adaptive.half_width());
    // One evaluator alone: the first has twice the signal of any other.
    assert!(outcome.line("best-single(e0)").is_some());
    assert_eq!(outcome.references.iter().filter(|line| line.name.starts_with("best-single")).count(), 1);
}

#[test]
fn a_policy_named_twice_appears_once_and_replaces_a_reference_of_its_name() {
    let log = world(100, 1.0, 6);
    let outcome = run(&log, &options(Protocol::Rounds, &["average", "adaptive", "average", "uniform"]));
    let names = |lines: &[Line]| lines.iter().map(|line| line.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&outcome.policies), ["average", "adaptive", "uniform"]);
    let mut all = [names(&outcome.policies), names(&outcome.references)].concat();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn nothing_depends_on_threads() {
    let log = world(150, 1.0, 8);
    for protocol in [Protocol::Pool { budget: 30 }, Protocol::Rounds, Protocol::Folds(3), Protocol::Reuse] {
        let ask =
            ReplayOptions { runs: 3, rounds: Some(3), ..options(protocol, &["adaptive", "eps-greedy-all"]) };
        let text = |threads: usize| {
            let (outcome, _) = replayed(&log, &ask, threads, &|_, _| {}, &|| false).unwrap();
            serde_json::to_string(&outcome).unwrap()
        };
        assert_eq!(text(1), text(5), "{protocol:?}");
    }
}

#[test]
fn states_and_weights_enter() {
    let log = world(200, 1.0, 9);
    let mut ask = options(Protocol::Pool { budget: 20 }, &["adaptive"]);
    ask.weights = Some(vec![1.0, 0.0, 0.0, 0.0]);
    let mut jury = seat(&Spec::new("adaptive"), &log, 1).unwrap();
    let row = [1.0, 0.0, 0.0, 0.0];
    jury.learn(&[jurybox::Example { scores: &row, reward: 1.0, receipt: None }], 0).unwrap();
    ask.states = vec![("state(a)".into(), jury)];
    let outcome = run(&log, &ask);
    // Weight on the first evaluator alone is that evaluator alone.
    let (weighed, single) = (share(&outcome, "weights(e0=1)"), share(&outcome, "best-single(e0)"));
    assert_eq!(weighed, single);
    assert!(outcome.policies.iter().any(|line| line.name == "state(a)"));
    let other = seat(
        &Spec::new("adaptive"),
        &Log { evaluators: jurybox::Evaluators::new(["x"]).unwrap(), ..log.clone() },
        1,
    )
    .unwrap();
    ask.states = vec![("state(b)".into(), other)];
    let error = replayed(&log, &ask, 1, &|_, _| {}, &|| false).unwrap_err().to_string();
    assert!(error.contains("state = state(b)") && error.contains('x'), "{error}");
}

#[test]
fn more_rounds_than_rows_are_said_to_be_too_many() {
    let log = world(120, 1.0, 10);
    let ask = ReplayOptions { rounds: Some(500), ..options(Protocol::Rounds, &["average"]) };
    let outcome = run(&log, &ask);
    assert_eq!((outcome.rounds, outcome.labels), (2, 10));
    assert!(outcome.warnings.iter().any(|w| w.contains("500 rounds were asked for, the file has 2")));
    let over = run(&log, &options(Protocol::Pool { budget: 500 }, &["average"]));
    assert_eq!(over.labels, 96);
    assert!(over.warnings.iter().any(|w| w.contains("budget of 500")));
    // All that the pool holds was picked: there was nothing to gain.
    assert_eq!(over.policies[0].best_share, None);
}

/// How often the interval of a small replay holds what very many runs on the same file give, and what other files of the
/// same world give on average.
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

/// Intervals over runs hold what they are said to hold: the mean over draws and order on this file.
#[test]
fn intervals_over_runs_cover_draws_and_order() {
    let (file, _) = coverage(Protocol::Pool { budget: 20 }, 40, 10, 100);
    // 40 files at 95%: 38 are expected, fewer than 34 come once in three hundred such tests.
    assert!(file >= 0.85, "{file}");
    let (_, world) = coverage(Protocol::Folds(5), 40, 1, 4);
    assert!(world >= 0.80, "{world}");
}

/// The table of the book: `cargo test --release -p jurybox-lab coverage_table -- --ignored --nocapture`.
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
fn the_files_own_rounds_come_in_their_order_and_stay_together() {
    let mut log = world(100, 1.0, 11);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut rounds: Vec<Vec<usize>> = vec![Vec::new(); 12];
    (0..100).for_each(|row| rounds[rng.random_range(0..12)].push(row));
    log.rounds = rounds.clone();
    let ask = options(Protocol::Rounds, &["average"]);
    assert_eq!(Course::of(&log, &ask, 3).stages, [course::Stage::Rounds(rounds.clone())]);
    assert_eq!(run(&log, &ask).ci95_over, "rounds");
    for stage in Course::of(&log, &options(Protocol::Folds(4), &["average"]), 0).stages {
        let course::Stage::Fold { rest, rounds: shown } = stage else { panic!("a fold") };
        assert!(shown.iter().all(|rows| rounds.contains(rows)));
        assert_eq!(rest.len() + shown.concat().len(), 100);
        assert!(shown.concat().iter().all(|row| !rest.contains(row)));
    }
    let error =
        replayed(&log, &options(Protocol::Pool { budget: 5 }, &["average"]), 1, &|_, _| {}, &|| false);
    assert!(error.unwrap_err().to_string().contains("a pool has no rounds"));
}

#[test]
fn an_inverted_column_and_an_evaluator_of_low_direction_are_the_same() {
    let plain = world(300, 1.0, 7);
    let low = |j: usize| if j == 0 { jurybox::Evaluator::low("e0") } else { format!("e{j}").into() };
    // One log says that the first column points low, and holds it upright; the other has it as the file would.
    let said = Log { evaluators: jurybox::Evaluators::new((0..4).map(low)).unwrap(), ..plain.clone() };
    let mut bare = plain;
    bare.scores.iter_mut().step_by(4).for_each(|x| *x = -*x);
    for policy in ["adaptive", "lin-ucb"] {
        let told = format!("{policy}(inverted=[0])");
        let protocol = Protocol::Pool { budget: 60 };
        let by = |log: &Log, policy: &str| share(&run(log, &options(protocol, &[policy])), policy);
        assert_eq!(by(&bare, &told), by(&said, policy), "{policy}");
    }
}

/// Every row so many times.
fn copied(log: &Log, times: usize) -> Log {
    let rows = || (0..log.rows() * times).map(|at| at % log.rows());
    Log {
        scores: rows().flat_map(|row| log.row(row)).copied().collect(),
        rewards: rows().map(|row| log.rewards[row]).collect(),
        ..log.clone()
    }
}

/// A copy of a row in another fold would tell its reward.
#[test]
fn copies_of_rows_do_not_leak_into_folds() {
    let ask = ReplayOptions { runs: 1, items: 0, k: 30, ..options(Protocol::Folds(5), &["adaptive"]) };
    let files: Vec<Outcome> =
        (0..8).map(|seed| run(&copied(&world(60, 0.0, 700 + seed), 10), &ask)).collect();
    for name in ["adaptive", "ridge", "hindsight"] {
        let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
        let mean = Interval::of(&shares);
        assert!(mean.mean.abs() < 1.75 * mean.half_width() && mean.mean < 0.2, "{name}: {mean:?}");
    }
    assert_eq!(files[0].twins, 600);
    assert!(files[0].to_table().contains("600 of 600 rows have a twin with the same scores"));
    let log = copied(&world(60, 0.0, 1), 10);
    for stage in Course::of(&log, &ask, 0).stages {
        let course::Stage::Fold { rest, rounds } = stage else { panic!("a fold") };
        let shown = rounds.concat();
        assert_eq!((rest.len(), shown.len()), (480, 120));
        assert!(rest.iter().all(|row| shown.iter().all(|other| row % 60 != other % 60)));
    }
}

#[test]
fn twins_are_counted_in_every_protocol_and_coarse_scores_can_still_be_folded() {
    let mut log = world(200, 1.0, 21);
    let one = log.row(3).to_vec();
    log.scores[40 * 4..41 * 4].copy_from_slice(&one);
    for protocol in [Protocol::Pool { budget: 20 }, Protocol::Rounds, Protocol::Folds(4), Protocol::Reuse] {
        let ask = ReplayOptions { runs: 1, rounds: Some(3), ..options(protocol, &["average"]) };
        let outcome = run(&log, &ask);
        assert_eq!(outcome.twins, 2);
        assert!(outcome.to_table().contains("2 of 200 rows have a twin"), "{protocol:?}");
        assert!(!outcome.warnings.iter().any(|w| w.contains("twin")), "two of two hundred are no warning");
        let many = run(&copied(&log, 2), &ask);
        assert!(
            many.warnings.iter().any(|w| w.contains("400 of 400 rows have a twin")),
            "{:?}",
            many.warnings
        );
    }
    // Yes or no from every evaluator, and one of them the same for all: sixteen kinds of rows, seven folds.
    log.scores.iter_mut().for_each(|x| *x = f64::from(*x > 0.5));
    log.scores.iter_mut().step_by(4).for_each(|x| *x = -0.0);
    let ask = ReplayOptions { runs: 3, ..options(Protocol::Folds(7), &["adaptive"]) };
    assert!(run(&log, &ask).policies[0].best_share.is_some());
    log.rounds = (0..20).map(|round| (10 * round..10 * round + 10).collect()).collect();
    assert!(run(&log, &ask).policies[0].best_share.is_some());
}

#[test]
fn the_files_own_rounds_do_not_learn_from_twins_of_the_fold() {
    let mut log = copied(&world(60, 0.0, 22), 2);
    log.rounds = (0..12).map(|round| (10 * round..10 * round + 10).collect()).collect();
    for stage in Course::of(&log, &options(Protocol::Folds(4), &["average"]), 0).stages {
        let course::Stage::Fold { rest, rounds } = stage else { panic!("a fold") };
        assert!(rest.iter().all(|row| rounds.concat().iter().all(|other| row % 60 != other % 60)));
        assert!(rest.len() >= 60);
    }
}

/// The best evaluator after 20 labels is another than after all.
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

/// A yes in forty: what a fold holds of them must not decide how its rows rank against those of other folds.
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
    let course = Course::of(&log, &ask, 0);
    let known = |run: usize| hindsight.as_ref().unwrap().knows_beforehand(&log, &ask, &course, run);
    assert_eq!(known(0), known(0));
    assert_ne!(known(0), known(1));
}

#[test]
fn the_reason_why_there_is_nothing_to_gain_is_the_true_one() {
    let log = world(100, 1.0, 13);
    let said = |log: &Log, ask: &ReplayOptions| run(log, ask).warnings.join("; ");
    let over = said(&log, &options(Protocol::Pool { budget: 500 }, &["average"]));
    assert!(over.contains("as large as the pool") && !over.contains("equal"), "{over}");
    let single = Log { rounds: (0..100).map(|row| vec![row]).collect(), ..log.clone() };
    let alone = said(&single, &options(Protocol::Rounds, &["average"]));
    assert!(alone.contains("no round has more rows") && !alone.contains("equal"), "{alone}");
    let flat = Log { rewards: vec![1.0; 100], ..log };
    assert!(said(&flat, &options(Protocol::Rounds, &["average"])).contains("all rewards are equal"));
}

#[test]
fn what_cannot_be_played_or_shown_is_refused_or_shortened() {
    let log = world(100, 1.0, 14);
    for (ask, named) in [
        (ReplayOptions { runs: usize::MAX, ..options(Protocol::Rounds, &["average"]) }, "runs = "),
        (
            ReplayOptions { runs: 1_000_000_000, ..options(Protocol::Rounds, &["average"]) },
            "runs = 1000000000",
        ),
        (ReplayOptions { rounds: Some(usize::MAX), ..options(Protocol::Reuse, &["average"]) }, "rounds = "),
        (ReplayOptions { rounds: Some(1 << 40), ..options(Protocol::Reuse, &["average"]) }, "rounds = "),
    ] {
        let error = replayed(&log, &ask, 1, &|_, _| {}, &|| false).unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("at most"), "{error}");
    }
    let names = ["x".repeat(70_000), "b".into(), "c".into(), "d".into()];
    let long = Log { evaluators: jurybox::Evaluators::new(names).unwrap(), ..log };
    let mut ask = options(Protocol::Rounds, &["average"]);
    ask.weights = Some(vec![1.0, 0.0, 0.0, 0.0]);
    assert!(run(&long, &ask).to_table().contains("xxx…"));
}

#[test]
fn few_of_the_rarer_reward_are_said_to_narrow_intervals_over_folds() {
    let mut log = world(300, 1.0, 15);
    log.rewards.iter_mut().for_each(|r| *r = f64::from(*r > 1.9));
    let ask = ReplayOptions { runs: 1, ..options(Protocol::Folds(5), &["average"]) };
    assert!(run(&log, &ask).warnings.iter().any(|w| w.contains("rarer") && w.contains("66 to 88 of 100")));
    let plain = run(&world(300, 1.0, 15), &ask);
    assert!(!plain.warnings.iter().any(|w| w.contains("rarer")));
    // Two folds are two units: no interval.
    let two = run(&log, &ReplayOptions { runs: 1, ..options(Protocol::Folds(2), &["average"]) });
    assert!(two.policies[0].best_share.unwrap().half_width().is_infinite());
}
