//! Tests of missing scores: those missing for a reason are informative, rows with gaps are ranked
//! fairly, and rules may write nothing instead of 0.
//!
//! `cargo test --release -p jurybox --test missing -- --ignored --nocapture` prints a table.
//! `WORLDS` is the number of worlds.

mod support;

use jurybox::options::Fraction;
use jurybox::{Evaluator, Evaluators, Example, Jury};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{jury_of, normal};

/// Items of a round.
const ITEMS: usize = 60;
/// Items of a round that are judged.
const K: usize = 5;
const J: usize = 6;
const GAINS: [f64; J] = [1.0, 0.8, 0.8, 0.6, 0.4, 0.0];

/// Which scores are missing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gaps {
    None,
    /// Each score with probability 0.4.
    Chance,
    /// The lower a score, the likelier; about four in ten in all.
    Low,
    /// Those of the first evaluator mostly where the reward is high. Those of the others with
    /// probability 0.1.
    TimeOut,
}

/// An item: its reward (a number, or yes in 5 of 100 items) and its scores.
fn item(gaps: Gaps, yes_or_no: bool, rng: &mut ChaCha8Rng) -> (f64, Vec<f64>) {
    let common = normal(rng);
    let scores = GAINS.iter().enumerate().map(|(j, gain)| {
        let score = gain * common + 0.8 * normal(rng);
        let missing = match (gaps, j) {
            (Gaps::None, _) => 0.0,
            (Gaps::Chance, _) => 0.4,
            (Gaps::Low, _) => 1.0 / (1.0 + (1.5 * score + 0.5).exp()),
            (Gaps::TimeOut, 0) => {
                if common > 1.0 {
                    0.8
                } else {
                    0.05
                }
            }
            (Gaps::TimeOut, _) => 0.1,
        };
        if rng.random::<f64>() < missing { f64::NAN } else { score }
    });
    let scores = scores.collect();
    (if yes_or_no { f64::from(u8::from(common > 1.645)) } else { common }, scores)
}

/// The mean reward per pick between each number of labels and the number before it.
fn earned(spec: &str, gaps: Gaps, yes_or_no: bool, labels: &[usize], seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut jury = jury_of(&spec.parse().unwrap(), J);
    let (mut known, mut round) = (0, 0);
    let mut means = Vec::new();
    for &labels in labels {
        let (mut sum, mut count) = (0.0, 0.0);
        while known < labels {
            let items: Vec<(f64, Vec<f64>)> = (0..ITEMS).map(|_| item(gaps, yes_or_no, &mut rng)).collect();
            let table: Vec<f64> = items.iter().flat_map(|(_, scores)| scores).copied().collect();
            let mut ties = ChaCha8Rng::seed_from_u64(round);
            let picks = jury.round(&jury.scores(&table).unwrap(), round, K, &mut ties).unwrap();
            for (reward, scores) in picks.iter().map(|pick| &items[pick.item]) {
                jury.learn(&[Example { scores, reward: *reward, receipt: None }], round).unwrap();
                sum += reward;
                count += 1.0;
            }
            known += K;
            round += 1;
        }
        means.push(sum / count);
    }
    means
}

#[test]
#[ignore = "minutes; prints a table"]
#[expect(clippy::print_stdout, reason = "the table is for people")]
fn the_table() {
    let worlds = std::env::var("WORLDS").ok().and_then(|worlds| worlds.parse().ok()).unwrap_or(50);
    let labels = [20, 60, 200, 1000, 3000];
    for (spec, yes_or_no) in [("adaptive", false), ("adaptive", true), ("adaptive(levels=true)", true)] {
        for gaps in [Gaps::None, Gaps::Chance, Gaps::Low, Gaps::TimeOut] {
            let runs: Vec<Vec<f64>> =
                (0..worlds).map(|seed| earned(spec, gaps, yes_or_no, &labels, seed)).collect();
            let rewards = if yes_or_no { "yes or no" } else { "numbers" };
            print!("{spec:22} {rewards:10} {:8}", format!("{gaps:?}"));
            for at in 0..labels.len() {
                let of: Vec<f64> = runs.iter().map(|run| run[at]).collect();
                let mean = jurybox::Interval::of(&of);
                print!(" | {:.4} +- {:.4}", mean.mean, mean.high - mean.mean);
            }
            println!();
        }
    }
}

/// The mean reward per pick from 200 to 1000 labels, over four worlds.
fn later(spec: &str, gaps: Gaps, yes_or_no: bool) -> f64 {
    (0..4).map(|seed| earned(spec, gaps, yes_or_no, &[200, 1000], seed)[1]).sum::<f64>() / 4.0
}

#[test]
fn a_score_that_is_missing_for_a_reason_tells() {
    // The first evaluator mostly gives no score where the reward is high; that costs less than 2.5%
    // of the reward.
    let (all_there, timed_out) =
        (later("adaptive", Gaps::None, false), later("adaptive", Gaps::TimeOut, false));
    assert!(timed_out > 0.975 * all_there, "{timed_out} of {all_there}");
}

#[test]
fn rows_with_gaps_are_ranked_fairly_beside_complete_ones() {
    // The first 1,000 rows are complete, the other 2,000 have gaps. Of the best 300, about two
    // thirds have gaps, or fewer because less is known of such rows.
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut items: Vec<(f64, Vec<f64>)> = (0..1000).map(|_| item(Gaps::None, false, &mut rng)).collect();
    items.extend((0..2000).map(|_| item(Gaps::Chance, false, &mut rng)));
    let table: Vec<f64> = items.iter().flat_map(|(_, scores)| scores).copied().collect();
    for spec in support::specs(J) {
        // Left out are policies whose values are random or ranks among the rows, and an oracle of
        // another world. So are policies that learn from explored picks alone, and those with a
        // link.
        if ["uniform", "rand", "exp4p", "oracle", "eps-greedy"].contains(&spec.name())
            || spec.name().starts_with("glm-")
        {
            continue;
        }
        let mut jury = jury_of(&spec, J);
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        for (reward, scores) in items.iter().step_by(15) {
            jury.learn(&[Example { scores, reward: *reward, receipt: None }], 0).unwrap();
        }
        let fitted = jury.fit();
        let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        let with_gaps = order[..300].iter().filter(|&&at| at >= 1000).count();
        assert!((90..240).contains(&with_gaps), "{spec}: {with_gaps} of 300");
    }
}

/// A jury of two rules and a classifier after 120 items and `labels` labels, and the scores of
/// these items. The rules write 1 and 3 where they fire and `silence` elsewhere; the classifier has
/// gaps.
fn with_rules(silence: f64, labels: u32) -> (Jury, Vec<f64>) {
    let evaluators = [Evaluator::from("links"), Evaluator::low("trusted"), Evaluator::from("spam")];
    let mut jury = Jury::new(&"adaptive".parse().unwrap(), Evaluators::new(evaluators).unwrap()).unwrap();
    let fires = |fires: bool, value: f64| if fires { value } else { silence };
    let row = |i: u32| {
        let spam = if i % 11 == 5 { f64::NAN } else { f64::from(i * 37 % 101) / 100.0 };
        [fires(i % 4 == 1, 1.0), fires(i % 7 == 2, 3.0), spam]
    };
    let table: Vec<f64> = (0..120).flat_map(row).collect();
    jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
    for i in 0..labels {
        let reward = f64::from(u8::from(i % 4 == 1 && i % 7 != 2)) + 0.3 * f64::from(i * 37 % 101) / 100.0;
        jury.learn(&[Example { scores: &row(i), reward, receipt: None }], 0).unwrap();
    }
    (jury, table)
}

#[test]
fn a_rule_that_writes_one_or_nothing_counts_as_one_that_writes_zero() {
    for labels in [0, 10, 60, 120] {
        let ((silent, rows), (plain, zeros)) = (with_rules(f64::NAN, labels), with_rules(0.0, labels));
        let (silent, plain) = (silent.fit(), plain.fit());
        let values = silent.values(&silent.scores(&rows).unwrap()).unwrap();
        let expected = plain.values(&plain.scores(&zeros).unwrap()).unwrap();
        // New items, because rounding may change intervals at the extremes of the labelled items.
        let level = Fraction::try_from(0.9).unwrap();
        let fresh = |silence: f64| [silence, silence, 0.4567, 1.0, silence, 0.7031, silence, 3.0, 0.2219];
        let found = silent.predict(&silent.scores(&fresh(f64::NAN)).unwrap(), level).unwrap().unwrap();
        let as_zero = plain.predict(&plain.scores(&fresh(0.0)).unwrap(), level).unwrap().unwrap();
        // Before the first label intervals are unbounded.
        let close = |a: f64, b: f64| a.total_cmp(&b).is_eq() || (a - b).abs() < 1e-9;
        for (found, expected) in found.iter().zip(&as_zero) {
            assert!(
                close(found.low, expected.low) && close(found.high, expected.high),
                "{found:?} {expected:?}"
            );
        }
        for at in 0..values.len() {
            // Both juries sample the same rows, but in different orders, so that sums round
            // differently.
            assert!(
                (values[at] - expected[at]).abs() < 1e-9,
                "{labels}, {at}: {} {}",
                values[at],
                expected[at]
            );
            let why = silent.contributions(&rows[3 * at..3 * at + 3]).unwrap().unwrap();
            let sum = why.base + why.each.iter().sum::<f64>();
            assert!((sum - values[at]).abs() < 1e-9, "{labels}, {at}: {sum} {}", values[at]);
        }
        // A state that was saved and read gives the same values.
        let (jury, rows) = with_rules(f64::NAN, labels);
        let again = Jury::from_bytes(&jury.to_bytes()).unwrap().fit();
        assert_eq!(again.values(&again.scores(&rows).unwrap()).unwrap(), values);
    }
}

#[test]
fn an_item_on_which_all_rules_fire_comes_first_and_one_without_any_last() {
    let n = f64::NAN;
    let table = [1.0, n, n, n, 1.0, n, 1.0, 1.0, 1.0, n, n, n, n, n, 1.0, 1.0, n, n, n, 1.0, n, n, n, n];
    let values = |spec: &str, table: &[f64]| {
        let mut jury = jury_of(&spec.parse().unwrap(), 3);
        jury.observe(&jury.scores(table).unwrap(), 0).unwrap();
        let fitted = jury.fit();
        fitted.values(&fitted.scores(table).unwrap()).unwrap()
    };
    for spec in ["adaptive", "adaptive(curve=linear)", "adaptive(forget=false)"] {
        let values = values(spec, &table);
        let (mut order, first) = ((0..8).collect::<Vec<usize>>(), values[2]);
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        assert_eq!(order[0], 2, "{spec}: {values:?}");
        assert!(values[order[1]] < first && values[order[5]] > values[3], "{spec}: {values:?}");
        assert_eq!(values[3], values[7], "{spec}");
    }
    // Evaluators that only give 0, or the same score to every item, carry no information. A rule
    // beside them still does.
    let zeros = table.map(|x| if x == 1.0 { 0.0 } else { x });
    assert!(values("adaptive", &zeros).iter().all(|value| *value == 0.0));
    let always: Vec<f64> = table[..8].iter().flat_map(|x| [*x, 5.0, 0.0]).collect();
    assert!(values("adaptive", &always).iter().any(|value| *value != 0.0));
}

#[test]
fn a_rule_that_gives_a_second_score_is_read_as_any_other() {
    let (mut jury, rows) = with_rules(f64::NAN, 60);
    let by_silence = jury.fit().values(&jury.scores(&rows).unwrap()).unwrap();
    jury.observe(&jury.scores(&[0.0, f64::NAN, 0.5, f64::NAN, 2.0, 0.5]).unwrap(), 1).unwrap();
    let fitted = jury.fit();
    let values = fitted.values(&fitted.scores(&rows).unwrap()).unwrap();
    assert!(values.iter().zip(&by_silence).any(|(a, b)| (a - b).abs() > 1e-3));
    // After a second score, a missing score contributes nothing again.
    let why = fitted.contributions(&[f64::NAN, f64::NAN, 0.9]).unwrap().unwrap();
    assert_eq!((why.each[0], why.each[1]), (0.0, 0.0));
}
