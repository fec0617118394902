//! Tests of the options of a replay, and of refused ones.

use super::*;
use jurybox::Spec;
use rand::RngExt;

#[test]
fn a_policy_named_twice_appears_once_and_replaces_a_reference_of_its_name() {
    let log = world(100, 1.0, 6);
    let outcome = run(&log, &options(Protocol::Rounds, &["average", "adaptive", "average", "uniform"]));
    let names = |lines: &[ReplayLine]| lines.iter().map(|line| line.name.clone()).collect::<Vec<_>>();
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
            let (outcome, _) = replayed(&log, &ask, threads, RunProgress::NOBODY).unwrap();
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
    let mut jury = jury_for(&Spec::new("adaptive"), &log, 1).unwrap();
    let row = [1.0, 0.0, 0.0, 0.0];
    jury.learn(&[jurybox::Example { scores: &row, reward: 1.0, receipt: None }], 0).unwrap();
    ask.states = vec![("state(a)".into(), jury)];
    let outcome = run(&log, &ask);
    // Fixed weights that are zero for all but one evaluator rank as that evaluator does.
    let (weighed, single) = (share(&outcome, "weights(e0=1)"), share(&outcome, "best-single(e0)"));
    assert_eq!(weighed, single);
    assert!(outcome.policies.iter().any(|line| line.name == "state(a)"));
    let other = jury_for(
        &Spec::new("adaptive"),
        &ReviewLog { evaluators: jurybox::Evaluators::new(["x"]).unwrap(), ..log.clone() },
        1,
    )
    .unwrap();
    ask.states = vec![("state(b)".into(), other)];
    let error = replayed(&log, &ask, 1, RunProgress::NOBODY).unwrap_err().to_string();
    assert!(error.contains("state = state(b)") && error.contains('x'), "{error}");
}

/// A state may have any name; the references and the policies keep theirs.
#[test]
fn a_state_does_not_displace_a_reference_of_its_name() {
    let log = world(200, 1.0, 9);
    let jury = jury_for(&Spec::new("average"), &log, 1).unwrap();
    let names = ["best", "uniform", "average", "lin-ucb", "mine"];
    let mut ask = options(Protocol::Pool { budget: 20 }, &["average", "lin-ucb"]);
    ask.states = names.map(|name| (name.into(), jury.clone())).to_vec();
    let outcome = run(&log, &ask);
    let policies: Vec<&str> = outcome.policies.iter().map(|line| line.name.as_str()).collect();
    let shown = ["state(best)", "state(uniform)", "state(average)", "state(lin-ucb)", "mine"];
    assert_eq!(policies, [&["average", "lin-ucb"][..], &shown].concat());
    for name in ["best", "uniform"] {
        assert!(outcome.references.iter().any(|line| line.name == name), "{name}");
    }
    assert_eq!(share(&outcome, "best").mean, 1.0);
}

#[test]
fn more_rounds_than_rows_are_a_warning() {
    let log = world(120, 1.0, 10);
    let ask = ReplayOptions { rounds: Some(500), ..options(Protocol::Rounds, &["average"]) };
    let outcome = run(&log, &ask);
    assert_eq!((outcome.rounds, outcome.labels), (2, 10));
    assert!(outcome.warnings.iter().any(|w| w.contains("500 rounds were asked for, the file has 2")));
    let over = run(&log, &options(Protocol::Pool { budget: 500 }, &["average"]));
    assert_eq!(over.labels, 96);
    assert!(over.warnings.iter().any(|w| w.contains("budget of 500")));
    // All rows of the pool are picked: nothing can be gained.
    assert_eq!(over.policies[0].best_share, None);
}

#[test]
fn the_files_own_rounds_come_in_their_order_and_stay_together() {
    let mut log = world(100, 1.0, 11);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut rounds: Vec<Vec<usize>> = vec![Vec::new(); 12];
    (0..100).for_each(|row| rounds[rng.random_range(0..12)].push(row));
    log.rounds = rounds.clone();
    let ask = options(Protocol::Rounds, &["average"]);
    assert_eq!(RowSchedule::of(&log, &ask, 3).stages, [schedule::ScheduleStage::Rounds(rounds.clone())]);
    assert_eq!(run(&log, &ask).ci95_over, "rounds");
    for stage in RowSchedule::of(&log, &options(Protocol::Folds(4), &["average"]), 0).stages {
        let schedule::ScheduleStage::Fold { rest, rounds: shown } = stage else { panic!("a fold") };
        assert!(shown.iter().all(|rows| rounds.contains(rows)));
        assert_eq!(rest.len() + shown.concat().len(), 100);
        assert!(shown.concat().iter().all(|row| !rest.contains(row)));
    }
    let error = replayed(&log, &options(Protocol::Pool { budget: 5 }, &["average"]), 1, RunProgress::NOBODY);
    assert!(error.unwrap_err().to_string().contains("a pool has no rounds"));
}

#[test]
fn an_inverted_column_and_an_evaluator_of_low_direction_are_the_same() {
    let plain = world(300, 1.0, 7);
    let low = |j: usize| if j == 0 { jurybox::Evaluator::low("e0") } else { format!("e{j}").into() };
    // `said` declares that low scores of the first evaluator are good; `bare` has the column as in
    // the file.
    let said = ReviewLog { evaluators: jurybox::Evaluators::new((0..4).map(low)).unwrap(), ..plain.clone() };
    let mut bare = plain;
    bare.scores.iter_mut().step_by(4).for_each(|x| *x = -*x);
    for policy in ["adaptive", "lin-ucb"] {
        let told = format!("{policy}(inverted=[0])");
        let protocol = Protocol::Pool { budget: 60 };
        let by = |log: &ReviewLog, policy: &str| share(&run(log, &options(protocol, &[policy])), policy);
        assert_eq!(by(&bare, &told), by(&said, policy), "{policy}");
    }
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
        let error = replayed(&log, &ask, 1, RunProgress::NOBODY).unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("at most"), "{error}");
    }
    let names = ["x".repeat(70_000), "b".into(), "c".into(), "d".into()];
    let long = ReviewLog { evaluators: jurybox::Evaluators::new(names).unwrap(), ..log };
    let mut ask = options(Protocol::Rounds, &["average"]);
    ask.weights = Some(vec![1.0, 0.0, 0.0, 0.0]);
    assert!(run(&long, &ask).to_table().contains("xxx…"));
}
