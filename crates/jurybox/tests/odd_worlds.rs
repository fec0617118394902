//! Tests policy `adaptive` in unusual worlds. For example, labels are far from all observed items,
//! evaluators point the wrong way, or reviewers mostly judge one group.

mod support;

use jurybox::options::Fraction;
use jurybox::{Diagnostic, Evaluator, Evaluators, Example, Jury, Reviewer, Spec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::normal;

fn jury(evaluators: impl IntoIterator<Item = Evaluator>) -> Jury {
    Jury::new(&Spec::new("adaptive"), Evaluators::new(evaluators).unwrap()).unwrap()
}

/// Observes all rows as one round, and learns their rewards with the names of their reviewers.
fn show(jury: &mut Jury, rows: &[[f64; 3]], rewards: &[f64], names: &[Option<Reviewer>]) {
    jury.observe(&jury.scores(rows.as_flattened()).unwrap(), 0).unwrap();
    let examples: Vec<Example<'_>> = rows
        .iter()
        .zip(rewards)
        .map(|(row, &reward)| Example { scores: row, reward, receipt: None })
        .collect();
    jury.learn_by(&examples, names, 0).unwrap();
}

/// A label may come for an item that was never observed, with scores far beyond all others.
#[test]
fn a_verdict_on_an_item_far_from_all_that_was_seen_does_no_harm() {
    for far in [1e12, 1e40, 1e60, 1e80, 1e100, -1e100] {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut jury = jury(["a", "b"].map(Evaluator::from));
        let rows: Vec<[f64; 2]> = (0..128).map(|_| [normal(&mut rng), normal(&mut rng)]).collect();
        for (at, round) in rows.chunks(16).enumerate() {
            jury.observe(&jury.scores(round.as_flattened()).unwrap(), at as u64).unwrap();
        }
        let rewards: Vec<f64> = rows.iter().map(|row| row[0] + 0.3 * normal(&mut rng)).collect();
        for (i, (row, &reward)) in rows.iter().zip(&rewards).enumerate() {
            jury.learn(&[Example { scores: row, reward, receipt: None }], (i / 16) as u64).unwrap();
        }
        let expected = jury.fit().values(&jury.scores(rows.as_flattened()).unwrap()).unwrap();
        jury.learn(&[Example { scores: &[far, 5.0], reward: 1.0, receipt: None }], 8).unwrap();
        let fitted = jury.fit();
        let values = fitted.values(&jury.scores(rows.as_flattened()).unwrap()).unwrap();
        for (value, expected) in values.iter().zip(&expected) {
            assert!((value - expected).abs() < 1e-9, "{far}: {value} {expected}");
        }
        assert!(fitted.values(&jury.scores(&[far, 5.0]).unwrap()).unwrap()[0].is_finite());
        let read = Jury::from_bytes(&jury.to_bytes()).unwrap();
        assert_eq!(read.fit().values(&read.scores(rows.as_flattened()).unwrap()).unwrap(), values);
    }
}

/// Evaluators point the wrong way, and one reviewer's rewards are 20 higher. At least two of the
/// three reviewers still count, and items with low scores rank first.
#[test]
fn reviewers_who_follow_no_expectation_count_all_the_same() {
    for seed in 0..8 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = jury(["a", "b", "c"].map(Evaluator::from));
        let (mut rows, mut rewards, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..100 {
            let (worth, who) = (normal(&mut rng), rng.random_range(0..3));
            rows.push([0; 3].map(|_| worth + 0.3 * normal(&mut rng)));
            rewards.push(-worth + 20.0 * f64::from(u8::from(who == 1)) + 0.3 * normal(&mut rng));
            names.push(Some(Reviewer::named(["ann", "bob", "cyd"][who])));
        }
        show(&mut jury, &rows, &rewards, &names);
        let fitted = jury.fit();
        let standings = fitted.reviewers(Fraction::try_from(0.95).unwrap());
        let counted = standings.iter().filter(|standing| standing.weight > 0.5).count();
        assert!(counted >= 2, "{seed}: {standings:?}");
        let values = fitted.values(&jury.scores(&[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]).unwrap()).unwrap();
        assert!(values[0] > values[1], "{seed}: {values:?}");
    }
}

/// Rewards are 3 higher in one language, and each reviewer mostly judges one language: the
/// difference is not taken for severity.
#[test]
fn what_a_group_explains_is_no_severity() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let columns_kept = ["a", "b"].map(Evaluator::from).into_iter().chain([Evaluator::context("language")]);
    let mut jury = jury(columns_kept);
    let (mut rows, mut rewards, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..600 {
        let (worth, language) = (normal(&mut rng), f64::from(rng.random_range(0..2_u8)));
        let own = rng.random_bool(0.8) == (language == 1.0);
        rows.push([worth + 0.5 * normal(&mut rng), worth + 0.5 * normal(&mut rng), language]);
        rewards.push(worth + 3.0 * language + 0.3 * normal(&mut rng));
        names.push(Some(Reviewer::named(if own { "ann" } else { "bob" })));
    }
    show(&mut jury, &rows, &rewards, &names);
    let fitted = jury.fit();
    let values = fitted.values(&jury.scores(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
    assert!((values[1] - values[0] - 3.0).abs() < 0.3, "{values:?}");
    for standing in fitted.reviewers(Fraction::try_from(0.95).unwrap()) {
        assert!(standing.severity.mean.abs() < 0.3, "{standing:?}");
    }
}

/// A yes/no column beside constant ones makes collinear features; values must stay finite.
#[test]
fn columns_of_which_one_follows_from_another_leave_values_numbers() {
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = jury(["flag", "a", "b", "c"].map(Evaluator::from));
        for at in 0..60 {
            let worths: Vec<f64> = (0..9).map(|_| normal(&mut rng)).collect();
            let flag =
                |worth: &f64, rng: &mut ChaCha8Rng| f64::from(u8::from(worth + 0.7 * normal(rng) > 1.0));
            let rows: Vec<[f64; 4]> =
                worths.iter().map(|worth| [flag(worth, &mut rng), 3.7, 3.7, 3.7]).collect();
            jury.observe(&jury.scores(rows.as_flattened()).unwrap(), at).unwrap();
            for (row, worth) in rows.iter().zip(&worths).take(2) {
                let reward = worth + normal(&mut rng);
                jury.learn(&[Example { scores: row, reward, receipt: None }], at).unwrap();
            }
            let values = jury.fit().values(&jury.scores(rows.as_flattened()).unwrap()).unwrap();
            assert!(values.iter().all(|value| value.is_finite()), "{seed} {at}: {values:?}");
        }
    }
}

/// If all verdicts are equal, no reviewer can be distinguished, and names change no value.
#[test]
fn verdicts_that_are_all_the_same_tell_no_reviewer_from_another() {
    for (seed, reward) in (0..20).flat_map(|seed| [0.0, 1.0, 7.5, 0.1].map(|reward| (seed, reward))) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = jury(["a", "b", "c"].map(Evaluator::from));
        let mut row = || {
            let worth = normal(&mut rng);
            [0; 3].map(|_| worth + normal(&mut rng))
        };
        let rows: Vec<[f64; 3]> = (0..50).map(|_| row()).collect();
        let names =
            (0..50).map(|_| Some(Reviewer::named(["ann", "bob", "cyd", "dee"][rng.random_range(0..4)])));
        let mut unnamed = jury.clone();
        show(&mut jury, &rows, &[reward; 50], &names.collect::<Vec<_>>());
        show(&mut unnamed, &rows, &[reward; 50], &[None; 50]);
        let standings = jury.fit().reviewers(Fraction::try_from(0.9).unwrap());
        assert!(standings.is_empty(), "{seed} {reward}: {standings:?}");
        let values = |jury: &Jury| jury.fit().values(&jury.scores(rows.as_flattened()).unwrap()).unwrap();
        let apart =
            values(&jury).iter().zip(values(&unnamed)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-9, "{seed} {reward}: {apart}");
    }
}

/// One of five reviewers gives all items about the same reward, and judges all of the best items:
/// the intervals of these must stay wide.
#[test]
fn intervals_do_not_close_where_a_reviewer_counts_for_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut jury = jury(["a", "b", "c"].map(Evaluator::from));
    let (mut rows, mut rewards, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..600 {
        let worth = normal(&mut rng);
        let row = [0; 3].map(|_| worth + 0.5 * normal(&mut rng));
        let mean = row.iter().sum::<f64>() / 3.0;
        let dull = mean > 1.0 || at % 10 == 0;
        let off = 0.3 * (1.0 + 2.0 * mean.abs()) * normal(&mut rng);
        rows.push(row);
        rewards.push(if dull { 0.3 * normal(&mut rng) } else { worth + off });
        names.push(Some(Reviewer::named(if dull { "eve" } else { ["ann", "bob", "cyd", "dee"][at % 4] })));
    }
    show(&mut jury, &rows, &rewards, &names);
    let fitted = jury.fit();
    let standings = fitted.reviewers(Fraction::try_from(0.9).unwrap());
    assert!(standings.iter().any(|standing| standing.weight == 0.0), "{standings:?}");
    let scores = jury.scores(&[2.0, 2.0, 2.0, 3.0, 3.0, 3.0]).unwrap();
    for interval in fitted.predict(&scores, Fraction::try_from(0.9).unwrap()).unwrap().unwrap() {
        // The noise of the others is 0.9 at a mean score of 1, the highest that they judge: a 90%
        // interval is about 3 wide.
        assert!(interval.high - interval.low > 2.0, "{interval:?}");
    }
}

/// As groups, NaN of either sign is the same, and so are 0 and -0: juries that differ in these
/// alone have the same bytes.
#[test]
fn what_is_no_number_and_nought_are_each_one_group_before_and_after_a_save() {
    let nans = [f64::NAN, -f64::NAN];
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let evaluators = ["a".into(), "b".into(), Evaluator::context("group")];
    let (mut one, mut other) = (jury(evaluators.clone()), jury(evaluators));
    for at in 0..200_u64 {
        let rows: Vec<[f64; 3]> = (0..20)
            .map(|i| {
                let worth = normal(&mut rng);
                let group = if i % 3 == 0 { nans[usize::from(at >= 100)] } else { [0.0, -0.0][i % 2] };
                [worth + normal(&mut rng), worth + normal(&mut rng), group]
            })
            .collect();
        let turned = |row: &[f64; 3]| [row[0], row[1], if row[2] == 0.0 { 0.0 } else { f64::NAN }];
        let plain: Vec<[f64; 3]> = rows.iter().map(turned).collect();
        for (jury, rows) in [(&mut one, &rows), (&mut other, &plain)] {
            jury.observe(&jury.scores(rows.as_flattened()).unwrap(), at).unwrap();
            for row in &rows[..2] {
                jury.learn(&[Example { scores: row, reward: row[0], receipt: None }], at).unwrap();
            }
        }
    }
    assert_eq!(one.to_bytes(), other.to_bytes());
    let read = Jury::from_bytes(&one.to_bytes()).unwrap();
    assert_eq!(read.fit().weights(), one.fit().weights());
    assert_eq!(read.fit().alarms(), one.fit().alarms());
}

/// Rewards unrelated to the scores correlate negatively with them in about half of the worlds: that
/// must raise no diagnostic.
#[test]
fn noise_does_not_point_the_wrong_way() {
    let mut warned = 0;
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = jury(["a", "b", "c"].map(Evaluator::from));
        let rows: Vec<[f64; 3]> = (0..400).map(|_| [0; 3].map(|_| normal(&mut rng))).collect();
        let rewards: Vec<f64> = (0..400).map(|_| normal(&mut rng)).collect();
        show(&mut jury, &rows, &rewards, &[None; 400]);
        warned += jury.fit().diagnostics().len();
    }
    assert_eq!(warned, 0);
    // Evaluators that do point the wrong way are reported, even if most of the reward is noise.
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut jury = jury(["a", "b", "c"].map(Evaluator::from));
    let rows: Vec<[f64; 3]> = (0..400).map(|_| [0; 3].map(|_| normal(&mut rng))).collect();
    let rewards: Vec<f64> = rows.iter().map(|row| 3.0 * normal(&mut rng) - row.iter().sum::<f64>()).collect();
    show(&mut jury, &rows, &rewards, &[None; 400]);
    assert!(
        matches!(jury.fit().diagnostics(), [Diagnostic::WrongWay { labels: 400 }]),
        "{:?}",
        jury.fit().diagnostics()
    );
    // One label on an item far from all others does not change that.
    jury.learn(&[Example { scores: &[1e12; 3], reward: 0.0, receipt: None }], 0).unwrap();
    assert!(
        matches!(jury.fit().diagnostics(), [Diagnostic::WrongWay { .. }]),
        "{:?}",
        jury.fit().diagnostics()
    );
}

/// The first evaluator's scores are all close to 0 or 1, so that cuts of trees are crowded there:
/// contributions still sum to the value.
#[test]
fn cuts_of_one_evaluator_may_be_crowded_beside_those_of_others() {
    for seed in 0..120_u64 {
        let width = 5 + (seed % 2) as usize;
        let cut = [0.2, 0.4, 0.6, 0.8, -0.4, -0.6][(seed % 6) as usize];
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = Jury::new(&Spec::new("adaptive"), Evaluators::numbered(width).unwrap()).unwrap();
        let mut row = || {
            let mut row: Vec<f64> = (0..width).map(|_| normal(&mut rng)).collect();
            row[0] = f64::from(u8::from(row[0] > cut)) + 1e-4 * rng.random::<f64>();
            row
        };
        let rows: Vec<Vec<f64>> = (0..900).map(|_| row()).collect();
        let table = rows.concat();
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        for scores in &rows {
            let reward = f64::from(u8::from(rng.random::<f64>() < 0.5));
            jury.learn(&[Example { scores, reward, receipt: None }], 0).unwrap();
        }
        let fitted = jury.fit();
        let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
        for (row, value) in rows.iter().zip(values).step_by(50) {
            assert!((fitted.contributions(row).unwrap().unwrap().value() - value).abs() < 1e-9, "{seed}");
        }
    }
}

/// An evaluator changes after 6,000 rounds, when few items of the sample are newer than the change:
/// values of items must still differ.
#[test]
fn after_a_change_in_an_old_jury_values_differ() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut jury = Jury::new(&Spec::new("adaptive"), Evaluators::numbered(4).unwrap()).unwrap();
    let mut told = 0;
    for at in 0..6060 {
        let noise = |j: usize| if j == 1 && at >= 6000 { 6.0 } else { 0.8 };
        let worths: Vec<f64> = (0..20).map(|_| normal(&mut rng)).collect();
        let table: Vec<f64> = worths
            .iter()
            .flat_map(|worth| [0, 1, 2, 3].map(|j| worth + noise(j) * normal(&mut rng)))
            .collect();
        jury.observe(&jury.scores(&table).unwrap(), at).unwrap();
        let fitted = if at >= 6010 && at % 5 == 0 { jury.fit() } else { continue };
        told += usize::from(!fitted.alarms().is_empty());
        let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
        assert!(values.iter().any(|value| (value - values[0]).abs() > 1e-6), "{at}: {values:?}");
    }
    assert!(told > 5, "{told}");
}

/// There are more yes/no labels than the sample holds: values must stay between 0 and 1.
#[test]
fn what_is_expected_of_yes_and_no_is_between_them_however_many_labels_there_are() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut jury = jury(["a", "b", "c"].map(Evaluator::from));
    let worths: Vec<f64> = (0..4000).map(|_| normal(&mut rng)).collect();
    let rows: Vec<[f64; 3]> =
        worths.iter().map(|worth| [0; 3].map(|_| worth + 0.4 * normal(&mut rng))).collect();
    let rewards: Vec<f64> = worths.iter().map(|worth| f64::from(u8::from(*worth > 0.5))).collect();
    show(&mut jury, &rows, &rewards, &vec![None; 4000]);
    let fitted = jury.fit();
    let table = [[9.0; 3], [-9.0; 3], [100.0, 1.0, 1.0], [2.0; 3], [-100.0, -1.0, f64::NAN], [0.4; 3]];
    let scores = fitted.scores(table.as_flattened()).unwrap();
    for (row, value) in table.iter().zip(fitted.values(&scores).unwrap()) {
        assert!((0.0..=1.0).contains(&value), "{row:?}: {value}");
        let why = fitted.contributions(row).unwrap().unwrap();
        assert!((why.value() - value).abs() < 1e-9, "{row:?}: {why:?} {value}");
    }
}
