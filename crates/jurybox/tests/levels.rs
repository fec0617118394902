//! Tests policy `adaptive` with ordinal rewards, which have few distinct values: yes and no, or
//! marks.

mod support;

use jurybox::options::Fraction;
use jurybox::{Evaluator, Evaluators, Example, Jury, Spec, TopK};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 4;

/// Yes (1) if a reward is above 1.5, else no (0).
fn yes_or_no(reward: f64) -> f64 {
    f64::from(reward > 1.5)
}

/// The mark from 1 to 5 of a reward of at least 0.
fn mark(reward: f64) -> f64 {
    (1.0 + 2.0 * reward).floor().min(5.0)
}

/// A jury that has played `rounds` rounds with ordinal rewards, and the log of these.
fn played(level: fn(f64) -> f64, rounds: usize, missing: f64) -> (Jury, Vec<Logged>) {
    let mut jury = jury_of(&"adaptive".parse().unwrap(), J);
    let log = play(&mut jury, level, rounds, missing);
    (jury, log)
}

fn play(jury: &mut Jury, level: fn(f64) -> f64, rounds: usize, missing: f64) -> Vec<Logged> {
    let (mut world, mut rng) = (World::new(4, J, missing), ChaCha8Rng::seed_from_u64(2));
    (0..rounds as u64)
        .map(|at| {
            let (rewards, scores) = world.round(30);
            let picks = jury.round(&jury.scores(&scores).unwrap(), at, 4, &mut rng).unwrap();
            let rewards = rewards.into_iter().map(level).collect();
            let logged = Logged { at, scores, rewards, picks };
            learn(jury, &logged);
            logged
        })
        .collect()
}

#[test]
fn contributions_sum_to_the_value_and_a_missing_score_adds_nothing() {
    for level in [yes_or_no, mark] {
        let (jury, _) = played(level, 40, 0.2);
        let (fitted, mut table) = (jury.fit(), World::new(8, J, 0.3).round(60).1);
        assert!(fitted.form().is_none(), "values for ordinal rewards are no sums");
        table[..J].fill(f64::NAN);
        let scores = fitted.scores(&table).unwrap();
        for (row, value) in table.chunks_exact(J).zip(fitted.values(&scores).unwrap()) {
            let why = fitted.contributions(row).unwrap().unwrap();
            assert!((why.value() - value).abs() < 1e-9, "{row:?}: {why:?} {value}");
            assert!(row.iter().zip(&why.each).all(|(x, adds)| !x.is_nan() || *adds == 0.0));
        }
        // All rows have the same base.
        let bases: Vec<f64> =
            table.chunks_exact(J).map(|row| fitted.contributions(row).unwrap().unwrap().base).collect();
        assert!(bases.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-12));
    }
}

#[test]
fn values_are_probabilities_or_expected_marks_and_intervals_hold_them() {
    for (level, low, high) in [(yes_or_no as fn(f64) -> f64, 0.0, 1.0), (mark, 1.0, 5.0)] {
        let (jury, _) = played(level, 60, 0.0);
        let table = World::new(9, J, 0.1).round(300).1;
        let fitted = jury.fit();
        let scores = fitted.scores(&table).unwrap();
        let values = fitted.values(&scores).unwrap();
        let predicted = fitted.predict(&scores, Fraction::try_from(0.9).unwrap()).unwrap().unwrap();
        for (value, interval) in values.iter().zip(&predicted) {
            assert!((low..=high).contains(value) && (value - interval.mean).abs() < 1e-12);
            assert!(low <= interval.low && interval.low <= *value);
            assert!(*value <= interval.high && interval.high <= high);
        }
    }
}

#[test]
fn an_interval_for_yes_or_no_holds_the_answer_over_all_items() {
    let (jury, _) = played(yes_or_no, 60, 0.0);
    let (rewards, table) = World::new(9, J, 0.1).round(3000);
    let fitted = jury.fit();
    let predicted =
        fitted.predict(&fitted.scores(&table).unwrap(), Fraction::try_from(0.9).unwrap()).unwrap().unwrap();
    let holds = predicted.iter().zip(rewards).filter(|(interval, reward)| {
        interval.low <= yes_or_no(*reward) && yes_or_no(*reward) <= interval.high
    });
    // An interval holds one answer or both, so that intervals hold more than 90% of the answers.
    let share = holds.count() as f64 / 3000.0;
    assert!(share > 0.9, "{share}");
}

#[test]
fn merged_halves_pick_the_same_and_saved_juries_have_the_same_values_to_the_last_bit() {
    for level in [yes_or_no, mark] {
        let (whole, log) = played(level, 30, 0.1);
        let part = |keep: &dyn Fn(u64) -> bool| {
            let mut jury = jury_of(&"adaptive".parse().unwrap(), J);
            log.iter().filter(|logged| keep(logged.at)).for_each(|logged| {
                observe(&mut jury, logged);
                learn(&mut jury, logged);
            });
            jury
        };
        let mut merged = part(&|at| at % 3 == 0);
        merged.merge(&part(&|at| at % 3 != 0)).unwrap();
        assert_eq!(picks_after(&merged, 3), picks_after(&whole, 3));
        let read = Jury::from_json(&whole.to_json()).unwrap();
        let table = World::new(8, J, 0.3).round(60).1;
        let values = |jury: &Jury| -> Vec<u64> {
            let fitted = jury.fit();
            let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
            values.into_iter().map(f64::to_bits).collect()
        };
        assert_eq!(values(&read), values(&whole));
        // Rows have the same values alone as together.
        let fitted = whole.fit();
        let alone =
            table.chunks(J).map(|row| fitted.values(&fitted.scores(row).unwrap()).unwrap()[0].to_bits());
        assert_eq!(alone.collect::<Vec<_>>(), values(&whole));
    }
}

#[test]
fn the_unit_of_marks_is_the_unit_of_values() {
    let (plain, log) = played(mark, 30, 0.0);
    let mut scaled = jury_of(&"adaptive".parse().unwrap(), J);
    for logged in &log {
        let rewards = logged.rewards.iter().map(|r| 1024.0 * r - 64.0).collect();
        let logged = Logged { rewards, ..logged.clone() };
        observe(&mut scaled, &logged);
        learn(&mut scaled, &logged);
    }
    let table = World::new(8, J, 0.0).round(60).1;
    let values = |jury: &Jury| jury.fit().values(&jury.scores(&table).unwrap()).unwrap();
    for (plain, scaled) in values(&plain).iter().zip(values(&scaled)) {
        assert!((1024.0 * plain - 64.0 - scaled).abs() < 1e-6 * scaled.abs(), "{plain} {scaled}");
    }
}

/// The sum of the rewards of `labels` items that a jury picks from `rows`, five at a time and each
/// at most once.
fn found(spec: &str, rows: &[(Vec<f64>, f64)], labels: usize) -> f64 {
    let width = rows[0].0.len();
    let mut jury = Jury::new(&spec.parse().unwrap(), Evaluators::numbered(width).unwrap()).unwrap();
    let table: Vec<f64> = rows.iter().flat_map(|row| row.0.clone()).collect();
    jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
    let (mut left, mut sum) = (rows.to_vec(), 0.0);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..labels / 5 {
        let table: Vec<f64> = left.iter().flat_map(|row| row.0.clone()).collect();
        let fitted = jury.fit();
        let picks = fitted.choose(&fitted.scores(&table).unwrap(), 5, &mut rng).unwrap();
        let mut items: Vec<usize> = picks.iter().map(|pick| pick.item).collect();
        items.sort_unstable();
        for item in items.into_iter().rev() {
            let (scores, reward) = left.swap_remove(item);
            sum += reward;
            jury.learn(&[Example { scores: &scores, reward, receipt: None }], 0).unwrap();
        }
    }
    sum
}

#[test]
fn a_jury_that_points_the_wrong_way_is_turned_round() {
    let mut world = World::new(3, J, 0.0);
    // Five evaluators score quality, and the reward is 1 for the 16% of items of low quality.
    let rows: Vec<(Vec<f64>, f64)> = (0..1500)
        .map(|_| {
            let quality = world.normal();
            ((0..5).map(|_| quality + 0.8 * world.normal()).collect(), f64::from(quality < -1.0))
        })
        .collect();
    assert_eq!(found("adaptive(levels=false)", &rows, 200), 0.0);
    let turned = found("adaptive", &rows, 200);
    assert!(turned > 90.0, "{turned}");
}

/// Only one of forty evaluators is informative: the reward is 1 where its score is above 1.3.
#[test]
fn a_wide_jury_has_levels_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let rows: Vec<(Vec<f64>, f64)> = (0..1000)
        .map(|_| {
            let row: Vec<f64> = (0..40).map(|_| normal(&mut rng)).collect();
            let reward = f64::from(row[7] > 1.3);
            (row, reward)
        })
        .collect();
    // A tenth of the rows are a yes: random picks find about 20 in 200 labels.
    let found = found("adaptive", &rows, 200);
    assert!(found > 60.0, "{found}");
    let mut jury = jury_of(&"adaptive".parse().unwrap(), 40);
    for (row, reward) in &rows[..300] {
        jury.learn(&[Example { scores: row, reward: *reward, receipt: None }], 0).unwrap();
    }
    let table: Vec<f64> = rows[300..].iter().flat_map(|row| row.0.clone()).collect();
    let values = jury.fit().values(&jury.scores(&table).unwrap()).unwrap();
    assert!(values.iter().all(|value| (0.0..=1.0).contains(value)), "they are probabilities");
}

#[test]
fn labels_that_are_all_zero_move_the_ranking() {
    let mut jury = jury_of(&"adaptive".parse().unwrap(), 2);
    let table: Vec<f64> = (0..400).map(|i| f64::from(i * 7919 % 400)).collect();
    jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
    let row = [[390.0, 200.0], [200.0, 390.0]].concat();
    let lead = |jury: &Jury| {
        let values = jury.fit().values(&jury.scores(&row).unwrap()).unwrap();
        values[0] - values[1]
    };
    let before = lead(&jury);
    // Ten items that the first evaluator scores highly have reward 0.
    for score in 380..390 {
        jury.learn(&[Example { scores: &[f64::from(score), 210.0], reward: 0.0, receipt: None }], 0).unwrap();
    }
    assert!(lead(&jury) < before - 0.05, "{before} {}", lead(&jury));
}

/// Twenty equally weak evaluators: sixty labels say little about each, and must not make the
/// ranking much worse.
#[test]
fn labels_do_not_undo_what_many_say_together() {
    let (mut before, mut after) = (0.0, 0.0);
    for seed in 0..30 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut item = || {
            let worth = normal(&mut rng);
            (f64::from(worth > 0.9), (0..20).map(|_| worth + 4.0 * normal(&mut rng)).collect::<Vec<f64>>())
        };
        let (rewards, rows): (Vec<f64>, Vec<Vec<f64>>) = (0..800).map(|_| item()).unzip();
        let (table, unseen) = (rows.concat(), rows[200..].concat());
        let mut jury = jury_of(&"adaptive".parse().unwrap(), 20);
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        let found = |jury: &Jury| {
            let values = jury.fit().values(&jury.scores(&unseen).unwrap()).unwrap();
            TopK::of(&values, 30).iter().map(|&item| rewards[200 + item]).sum::<f64>()
        };
        before += found(&jury);
        for (row, &reward) in rows.iter().zip(&rewards).take(60) {
            jury.learn(&[Example { scores: row, reward, receipt: None }], 0).unwrap();
        }
        after += found(&jury);
    }
    assert!(after > 0.94 * before, "{before} {after}");
}

/// Four flags and a context: many rows have the same scores. Each tree is fitted to a part of the
/// labels; labels with the same scores must not all go to the same trees.
#[test]
fn labels_with_the_same_scores_are_seen_by_different_trees() {
    use rand::RngExt;
    let either = |row: &[f64]| if (row[0] > 0.5) == (row[1] > 0.5) { 0.1 } else { 0.7 };
    let (mut squares, mut cells) = (0.0, 0.0);
    for seed in 0..8 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut flag = |share: f64| f64::from(u8::from(rng.random::<f64>() < share));
        let labels: Vec<([f64; 5], f64)> = (0..1000)
            .map(|at| {
                let row = [flag(0.4), flag(0.4), flag(0.4), flag(0.4), f64::from(at % 40)];
                (row, flag(either(&row)))
            })
            .collect();
        let names = ["a".into(), "b".into(), "c".into(), "d".into(), Evaluator::context("queue")];
        let mut jury = Jury::new(&Spec::default(), Evaluators::new(names).unwrap()).unwrap();
        let table: Vec<f64> = labels.iter().flat_map(|(row, _)| *row).collect();
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        let examples: Vec<Example<'_>> = labels
            .iter()
            .map(|(row, reward)| Example { scores: row, reward: *reward, receipt: None })
            .collect();
        jury.learn(&examples, 0).unwrap();
        let every: Vec<f64> = (0..16_u32)
            .flat_map(|cell| (0..5).map(move |j| if j == 4 { f64::NAN } else { f64::from(cell >> j & 1) }))
            .collect();
        let values = jury.fit().values(&jury.scores(&every).unwrap()).unwrap();
        for (cell, value) in every.chunks_exact(5).zip(values) {
            squares += (value - either(cell)).powi(2);
            cells += 1.0;
        }
    }
    let error = (squares / cells).sqrt();
    assert!(error < 0.2, "{error}");
}
