//! Tests that no reward leaks into the picks: by a repeated row, a copy, or another row of an item.

use super::*;

/// With uninformative scores, an entrant that beats random picks has seen the answers.
///
/// Within one file, scores and rewards are related by chance, and intervals over runs do not allow
/// for that. So the mean over many small files must be 0 within its interval over files.
#[test]
fn noise_teaches_nothing_unless_rows_come_back() {
    let protocols = [Protocol::Pool { budget: 60 }, Protocol::Rounds, Protocol::Folds(5)];
    for protocol in protocols {
        let files: Vec<ReplayOutcome> = (0..30)
            .map(|seed| {
                let ask = ReplayOptions { runs: 2, ..options(protocol, &LEARNERS) };
                run(&world(300, 0.0, 1000 + seed), &ask)
            })
            .collect();
        for name in LEARNERS.into_iter().chain(["ridge", "logistic", "hindsight", "average", "z-mean"]) {
            let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
            let mean = Interval::of(&shares);
            // Eight tests per protocol: 99.9% intervals, because one of eight at 95% would often
            // fail by chance.
            let wide = 1.75 * mean.half_width();
            assert!(mean.mean.abs() < wide && wide < 0.15, "{protocol:?}, {name}: {mean:?}");
        }
    }
    let ask =
        ReplayOptions { rounds: Some(100), items: 20, k: 2, runs: 2, ..options(Protocol::Reuse, &LEARNERS) };
    let files: Vec<ReplayOutcome> = (0..20).map(|seed| run(&world(40, 0.0, 2000 + seed), &ask)).collect();
    for name in ["adaptive", "ridge", "logistic"] {
        let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
        let leaked = Interval::of(&shares);
        assert!(leaked.low > 0.15, "{name} knows rows that come back: {leaked:?}");
    }
    let before = files[0].policies[0].labelled_before.unwrap();
    assert!(before > 0.8 && files[0].warnings.iter().any(|w| w.contains("rows come back")), "{before}");
}

#[test]
fn no_row_is_reviewed_twice_and_every_pick_is_listed() {
    let log = world(230, 0.5, 4);
    for protocol in [Protocol::Pool { budget: 47 }, Protocol::Rounds, Protocol::Folds(4)] {
        let mut ask =
            ReplayOptions { runs: 2, picks: Some("kept".into()), ..options(protocol, &["adaptive"]) };
        ask.k = 3;
        let (outcome, chosen) = replayed(&log, &ask, 1, RunProgress::NOBODY).unwrap();
        for (_, _, picks) in &chosen {
            let mut rows: Vec<usize> = picks.iter().map(|pick| pick.row).collect();
            assert_eq!(rows.len(), outcome.labels, "{protocol:?}");
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), outcome.labels, "{protocol:?}: a row was picked twice");
        }
    }
}

/// The log with every row repeated `times` times.
fn copied(log: &ReviewLog, times: usize) -> ReviewLog {
    let rows = || (0..log.rows() * times).map(|at| at % log.rows());
    ReviewLog {
        scores: rows().flat_map(|row| log.row(row).to_vec()).collect(),
        rewards: rows().map(|row| log.rewards[row]).collect(),
        ..log.clone()
    }
}

/// Copies of a row in other folds must not reveal its reward.
#[test]
fn copies_of_rows_do_not_leak_into_folds() {
    let ask = ReplayOptions { runs: 1, items: 0, k: 30, ..options(Protocol::Folds(5), &["adaptive"]) };
    let files: Vec<ReplayOutcome> =
        (0..8).map(|seed| run(&copied(&world(60, 0.0, 700 + seed), 10), &ask)).collect();
    for name in ["adaptive", "ridge", "hindsight"] {
        let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
        let mean = Interval::of(&shares);
        assert!(mean.mean.abs() < 1.75 * mean.half_width() && mean.mean < 0.2, "{name}: {mean:?}");
    }
    assert_eq!(files[0].duplicate_scores, 600);
    assert!(files[0].to_table().contains("600 of 600 rows have the same scores"));
    let log = copied(&world(60, 0.0, 1), 10);
    for stage in RowSchedule::of(&log, &ask, 0).stages {
        let schedule::ScheduleStage::Fold { rest, rounds } = stage else { panic!("a fold") };
        let shown = rounds.concat();
        assert_eq!((rest.len(), shown.len()), (480, 120));
        assert!(rest.iter().all(|row| shown.iter().all(|other| row % 60 != other % 60)));
    }
}

#[test]
fn duplicates_are_counted_in_every_protocol_and_coarse_scores_can_still_be_folded() {
    let mut log = world(200, 1.0, 21);
    let one = log.row(3).to_vec();
    log.scores[40 * 4..41 * 4].copy_from_slice(&one);
    for protocol in [Protocol::Pool { budget: 20 }, Protocol::Rounds, Protocol::Folds(4), Protocol::Reuse] {
        let ask = ReplayOptions { runs: 1, rounds: Some(3), ..options(protocol, &["average"]) };
        let outcome = run(&log, &ask);
        assert_eq!(outcome.duplicate_scores, 2);
        assert!(outcome.to_table().contains("2 of 200 rows have the same scores"), "{protocol:?}");
        assert!(
            !outcome.warnings.iter().any(|w| w.contains("same scores")),
            "two of two hundred are no warning"
        );
        let many = run(&copied(&log, 2), &ask);
        assert!(
            many.warnings.iter().any(|w| w.contains("400 of 400 rows have the same scores")),
            "{:?}",
            many.warnings
        );
    }
    // Binary scores, those of the first evaluator constant, make eight different rows at most.
    log.scores.iter_mut().for_each(|x| *x = f64::from(*x > 0.5));
    log.scores.iter_mut().step_by(4).for_each(|x| *x = -0.0);
    let ask = ReplayOptions { runs: 3, ..options(Protocol::Folds(7), &["adaptive"]) };
    assert!(run(&log, &ask).policies[0].best_share.is_some());
    log.rounds = (0..20).map(|round| (10 * round..10 * round + 10).collect()).collect();
    assert!(run(&log, &ask).policies[0].best_share.is_some());
}

#[test]
fn the_files_own_rounds_do_not_learn_from_duplicates_of_the_fold() {
    let mut log = copied(&world(60, 0.0, 22), 2);
    log.rounds = (0..12).map(|round| (10 * round..10 * round + 10).collect()).collect();
    for stage in RowSchedule::of(&log, &options(Protocol::Folds(4), &["average"]), 0).stages {
        let schedule::ScheduleStage::Fold { rest, rounds } = stage else { panic!("a fold") };
        assert!(rest.iter().all(|row| rounds.concat().iter().all(|other| row % 60 != other % 60)));
        assert!(rest.len() >= 60);
    }
}

/// Every row `times` times with a little noise on the scores, so that rows of one id differ. With
/// `rounds`, each round has all items.
fn scored_again(log: &ReviewLog, times: usize, rounds: bool) -> ReviewLog {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut again = copied(log, times);
    again.scores.iter_mut().for_each(|x| *x += 0.001 * normal(&mut rng));
    again.items =
        ItemIndex::of(&(0..again.rows()).map(|row| 1 + (row % log.rows()) as u64).collect::<Vec<_>>());
    if rounds {
        again.rounds =
            (0..times).map(|round| (round * log.rows()..(round + 1) * log.rows()).collect()).collect();
    }
    again
}

/// Scores are uninformative and items repeated: an entrant that beats random picks has seen
/// answers.
#[test]
fn an_item_that_is_scored_again_leaks_no_reward() {
    for (protocol, rounds) in [
        (Protocol::Folds(5), false),
        (Protocol::Folds(5), true),
        (Protocol::Rounds, false),
        (Protocol::Rounds, true),
        (Protocol::Pool { budget: 20 }, false),
    ] {
        let ask = ReplayOptions { runs: 1, items: 20, ..options(protocol, &["adaptive"]) };
        let files: Vec<ReplayOutcome> =
            (0..30).map(|seed| run(&scored_again(&world(60, 0.0, 300 + seed), 10, rounds), &ask)).collect();
        for name in ["adaptive", "ridge", "hindsight"] {
            let shares: Vec<f64> = files.iter().map(|outcome| share(outcome, name).mean).collect();
            let mean = Interval::of(&shares);
            let wide = 1.75 * mean.half_width();
            assert!(mean.mean.abs() < wide && wide < 0.25, "{protocol:?}, {rounds}, {name}: {mean:?}");
        }
        assert_eq!((files[0].duplicate_scores, files[0].repeated_items), (0, 60));
        assert!(files[0].warnings.iter().any(|w| w.starts_with("60 items have several rows")));
    }
}

#[test]
fn a_run_shows_an_item_once_and_a_fold_has_all_of_its_rows() {
    let log = scored_again(&world(60, 0.0, 5), 4, true);
    let own = run(&log, &options(Protocol::Rounds, &["average"]));
    assert_eq!((own.rounds, own.labels), (1, 5), "all items are in the first round");
    let log = ReviewLog { rounds: Vec::new(), ..log };
    let item = |row: usize| row % 60;
    for (protocol, shown) in [(Protocol::Rounds, 60), (Protocol::Pool { budget: 30 }, 48)] {
        let ask = ReplayOptions { items: 30, ..options(protocol, &["average"]) };
        let mut rows: Vec<usize> = match &RowSchedule::of(&log, &ask, 3).stages[0] {
            schedule::ScheduleStage::Pool { rows, .. } => rows.clone(),
            schedule::ScheduleStage::Rounds(rounds) | schedule::ScheduleStage::Fold { rounds, .. } => {
                rounds.concat()
            }
        };
        assert!(rows.iter().any(|&row| row >= 60), "any of an item's rows may stand for it");
        rows.iter_mut().for_each(|row| *row = item(*row));
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), shown, "{protocol:?}");
    }
    for stage in RowSchedule::of(&log, &options(Protocol::Folds(7), &["average"]), 0).stages {
        let schedule::ScheduleStage::Fold { rest, rounds } = stage else { panic!("a fold") };
        let shown = rounds.concat();
        assert!(rest.iter().all(|row| shown.iter().all(|other| item(*row) != item(*other))));
    }
    let few = scored_again(&world(3, 0.0, 5), 40, false);
    let refused =
        replayed(&few, &options(Protocol::Folds(5), &["average"]), 1, RunProgress::NOBODY).unwrap_err();
    assert!(refused.to_string().contains("there are only 3"), "{refused}");
}

/// Ids that no two rows share do not change the outcome at all.
#[test]
fn ids_that_do_not_repeat_change_nothing() {
    let log = world(200, 0.5, 6);
    let named = ReviewLog { items: ItemIndex::of(&(1..=200).collect::<Vec<u64>>()), ..log.clone() };
    for protocol in [Protocol::Pool { budget: 20 }, Protocol::Rounds, Protocol::Folds(4)] {
        let ask = ReplayOptions { runs: 2, ..options(protocol, &["adaptive"]) };
        let document = |log: &ReviewLog| serde_json::to_string(&run(log, &ask)).unwrap();
        assert_eq!(document(&log), document(&named), "{protocol:?}");
    }
}
