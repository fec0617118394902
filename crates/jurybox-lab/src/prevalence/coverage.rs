//! Tests of the coverage of prevalence intervals, on simulated tables with known truth.
//!
//! `cargo test --release -p jurybox-lab --lib prevalence::coverage -- --ignored --nocapture` prints
//! tables of `experiments/results/prevalence.md`.

use super::errors::GoldenVerdict;
use super::estimate::{PrevalenceEstimate, Row};
use super::rows::Segment;
use super::tests::UNIT;
use super::{ErrorRates, Predictions, PrevalenceLine, PrevalenceOptions, prevalence};
use crate::reward_range::RewardRange;
use jurybox::Interval;
use jurybox_files::{Roles, Table};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::fmt::Write;

/// The distribution of rewards, given a standard normal z.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RewardKind {
    /// 1 with probability 1 / (1 + exp(c - 2z)), else 0. The number is c.
    Yes(f64),
    /// 0.5 + 0.15 (z + noise), clamped to 0 and 1, with standard normal noise.
    Between,
    /// exp(z + noise - 0.5), with standard normal noise; the range of rewards is not declared.
    Uneven,
}

/// How rows are selected for review.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SamplingDesign {
    /// With equal probabilities.
    Equal,
    /// With probabilities that rise with z.
    Rising,
    /// The rows with the highest z for certain, as half of the reviews; the others with equal
    /// probabilities.
    Top,
}

struct SimulatedTable {
    kind: RewardKind,
    design: SamplingDesign,
    rows: usize,
    looks: usize,
}

/// The rows of a simulated table, and the mean of all their rewards.
fn live(world: &SimulatedTable, rng: &mut ChaCha8Rng) -> (Vec<Row>, f64) {
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    let z: Vec<f64> = (0..world.rows).map(|_| normal()).collect();
    let noise: Vec<f64> = (0..world.rows).map(|_| normal()).collect();
    let looks = world.looks as f64;
    let mut order: Vec<f64> = z.clone();
    order.sort_by(f64::total_cmp);
    let bar = order[world.rows - world.looks / 2];
    let total: f64 = z.iter().map(|z| z.exp()).sum();
    let mut sum = 0.0;
    let rows = z.iter().zip(&noise).map(|(&z, &noise)| {
        let (prediction, reward) = match world.kind {
            RewardKind::Yes(c) => {
                let chance = 1.0 / (1.0 + (c - 2.0 * z).exp());
                (chance, f64::from(u8::from(rng.random::<f64>() < chance)))
            }
            RewardKind::Between => (0.5 + 0.15 * z, (0.5 + 0.15 * (z + noise)).clamp(0.0, 1.0)),
            RewardKind::Uneven => (z.exp(), (z + noise - 0.5).exp()),
        };
        let probability = match world.design {
            SamplingDesign::Equal => looks / world.rows as f64,
            SamplingDesign::Rising => (looks * z.exp() / total).min(1.0),
            SamplingDesign::Top if z >= bar => 1.0,
            SamplingDesign::Top => 0.5 * looks / (world.rows as f64 - 0.5 * looks),
        };
        sum += reward;
        let seen = rng.random::<f64>() < probability;
        Row { reward: if seen { reward } else { f64::NAN }, probability, prediction, ..Row::default() }
    });
    let rows: Vec<Row> = rows.collect();
    (rows, sum / world.rows as f64)
}

/// Over many tables: the share of intervals that hold the truth, the share for the normal
/// approximation, and the mean widths of both. Last comes the share of intervals that are called
/// reliable.
fn held(world: &SimulatedTable, worlds: u64) -> (f64, f64, f64, f64, f64) {
    let (mut own, mut normal, mut widths, mut reliable, mut count) = (0.0, 0.0, (0.0, 0.0), 0.0, 0.0);
    for seed in 0..worlds {
        let (rows, truth) = live(world, &mut ChaCha8Rng::seed_from_u64(seed));
        let rewards: Vec<f64> = rows.iter().map(|row| row.reward).collect();
        let range =
            if world.kind == RewardKind::Uneven { RewardRange::of(&rewards, None).unwrap() } else { UNIT };
        let Some(found) = PrevalenceEstimate::of(&rows, range) else { continue };
        let (low, high) = found.normal();
        count += 1.0;
        reliable += f64::from(u8::from(range.known || found.enough_labels));
        own += f64::from(u8::from(found.interval.low <= truth && truth <= found.interval.high));
        normal += f64::from(u8::from(low <= truth && truth <= high));
        widths = (widths.0 + found.interval.high - found.interval.low, widths.1 + high - low);
    }
    (own / count, normal / count, widths.0 / count, widths.1 / count, reliable / count)
}

const RARE: RewardKind = RewardKind::Yes(6.3);
const SOME: RewardKind = RewardKind::Yes(4.2);
const HALF: RewardKind = RewardKind::Yes(0.0);

/// 95% of 300 tables are 285; fewer than 274 happen about once in 400 tests (binomial).
#[test]
fn intervals_hold_the_mean_of_all_rows() {
    for kind in [RARE, SOME, HALF, RewardKind::Between] {
        for design in [SamplingDesign::Equal, SamplingDesign::Rising, SamplingDesign::Top] {
            for looks in [20, 100] {
                let (own, ..) = held(&SimulatedTable { kind, design, rows: 1000, looks }, 300);
                assert!(own >= 274.0 / 300.0, "{kind:?} {design:?} {looks}: {own}");
            }
        }
    }
}

/// The interval of very uneven rewards of unknown range is rarely called reliable; that of rewards
/// of known range always is.
#[test]
fn uneven_rewards_of_no_known_range_are_not_trusted() {
    let (.., reliable) = held(
        &SimulatedTable { kind: RewardKind::Uneven, design: SamplingDesign::Equal, rows: 1000, looks: 60 },
        200,
    );
    assert!(reliable < 0.15, "{reliable}");
    let (.., reliable) = held(
        &SimulatedTable { kind: RewardKind::Between, design: SamplingDesign::Equal, rows: 1000, looks: 60 },
        50,
    );
    assert!(reliable == 1.0, "{reliable}");
}

/// Intervals by group hold the truth if the predictions are by juries that learn out of fold.
#[test]
fn juries_that_learn_out_of_fold_leave_the_intervals_honest() {
    let (mut held, mut count, mut narrower) = (0, 0, 0.0);
    for seed in 0..60 {
        let (text, truths) = file(seed);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("month.csv");
        std::fs::write(&path, text).unwrap();
        let column = |name: &str| Some(name.to_string());
        let roles = Roles {
            reward: column("verdict"),
            probability: column("p"),
            ignore: vec!["language".into()],
            ..Roles::default()
        };
        let table = Table::open(&[path], &roles, false).unwrap();
        let options = PrevalenceOptions { by: column("language"), ..PrevalenceOptions::default() };
        let found = prevalence(&table, &options).unwrap();
        for (line, truth) in found.lines.iter().zip(truths) {
            held += usize::from(line.low.unwrap() <= truth && truth <= line.high.unwrap());
            count += 1;
        }
        let blind = Predictions::CrossFitted("average".parse().unwrap());
        let blind =
            prevalence(&table, &PrevalenceOptions { predictions: blind, ..PrevalenceOptions::default() });
        let blind = blind.unwrap().all;
        narrower += found.all.standard_error.unwrap() / blind.standard_error.unwrap() / 60.0;
    }
    // 95% of 180 are 171; fewer than 162 happen about once in 550 tests (binomial).
    assert!(held >= 162, "{held} of {count}");
    // A third of the 900 rows is reviewed. No jury reduces the error that the choice of the 900
    // rows brings.
    assert!(narrower < 0.9, "{narrower}");
}

/// 900 rows in three languages, about 300 of them reviewed, more often with high scores; and the
/// mean reward of all rows of each language.
fn file(seed: u64) -> (String, [f64; 3]) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::from("language,a,b,verdict,p\n");
    let mut sums = [0.0; 3];
    for i in 0..900 {
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let (z, a, b) = (normal(), normal(), normal());
        let (a, b) = (z + 0.4 * a, z + 0.7 * b);
        let group = i % 3;
        let chance = 1.0 / (1.0 + (1.0 + group as f64 - 3.0 * z).exp());
        let harmful = f64::from(u8::from(rng.random::<f64>() < chance));
        sums[group] += harmful / 300.0;
        let p = if a > 0.5 { 0.6 } else { 0.2 };
        let verdict = if rng.random::<f64>() < p { harmful.to_string() } else { String::new() };
        let _ = writeln!(text, "{},{a},{b},{verdict},{p}", ["de", "en", "fr"][group]);
    }
    (text, sums)
}

/// Rows in threads of different moods, and the mean of all their rewards. If `are_whole`, all rows
/// of a thread are reviewed or none; otherwise each row is drawn by itself.
fn threads(count: usize, base: f64, are_whole: bool, rng: &mut ChaCha8Rng) -> (Vec<Row>, f64) {
    let mut rows = Vec::new();
    let mut sum = 0.0;
    for thread in 0..count {
        let mood: f64 = StandardNormal.sample(rng);
        // Most threads are short and some are long: 1 to 32 rows, 9.1 on average.
        let size = 1 << [0, 0, 1, 2, 3, 4, 5][rng.random_range(0..7)];
        let probability = if are_whole { 0.25 } else { 0.3 };
        let is_drawn = rng.random::<f64>() < probability;
        for _ in 0..size {
            let noise: f64 = StandardNormal.sample(rng);
            let chance = 1.0 / (1.0 + (base - 2.0 * mood).exp());
            let reward = f64::from(u8::from(rng.random::<f64>() < chance));
            let seen = if are_whole { is_drawn } else { rng.random::<f64>() < probability };
            sum += reward;
            rows.push(Row {
                reward: if seen { reward } else { f64::NAN },
                probability,
                prediction: (chance + 0.1 * noise).clamp(0.0, 1.0),
                item: Some(thread),
                ..Row::default()
            });
        }
    }
    let all = rows.len() as f64;
    (rows, sum / all)
}

/// Shares of intervals that hold the mean, by threads and as if rows were independent, and the mean
/// width of the intervals by threads.
///
/// The mean to hold is that of the rows themselves if whole threads are drawn, else that of the
/// distribution that the rows are drawn from.
fn held_by_threads(count: usize, base: f64, are_whole: bool, worlds: u64) -> (f64, f64, f64) {
    let (mut by_thread, mut by_row, mut width, mut all) = (0.0, 0.0, 0.0, 0.0);
    // The mean of the distribution, from a hundred thousand threads.
    let like_these = threads(100_000, base, are_whole, &mut ChaCha8Rng::seed_from_u64(u64::MAX)).1;
    for seed in 0..worlds {
        let (rows, truth) = threads(count, base, are_whole, &mut ChaCha8Rng::seed_from_u64(seed));
        let truth = if are_whole { truth } else { like_these };
        let alone: Vec<Row> = rows.iter().map(|row| Row { item: None, ..*row }).collect();
        let (Some(own), Some(alone)) =
            (PrevalenceEstimate::of(&rows, UNIT), PrevalenceEstimate::of(&alone, UNIT))
        else {
            continue;
        };
        let holds = |found: &PrevalenceEstimate| {
            f64::from(u8::from(found.interval.low <= truth && truth <= found.interval.high))
        };
        by_thread += holds(&own);
        by_row += holds(&alone);
        width += own.interval.high - own.interval.low;
        all += 1.0;
    }
    (by_thread / all, by_row / all, width / all)
}

/// 95% of 300 tables are 285; fewer than 274 happen about once in 400 tests (binomial).
#[test]
fn intervals_hold_where_rows_of_a_thread_are_alike() {
    for (threads, base) in [(40, 0.0), (200, 0.0), (200, 4.0), (600, 6.3)] {
        for are_whole in [true, false] {
            let (by_thread, by_row, _) = held_by_threads(threads, base, are_whole, 300);
            assert!(
                by_thread >= 274.0 / 300.0,
                "{threads} {base} {are_whole}: {by_thread}, by rows {by_row}"
            );
        }
    }
}

/// Reviewers with known error rates, who judge rows drawn at random and golden items.
struct ErringReviewers {
    rate: f64,
    false_positive_rate: f64,
    false_negative_rate: f64,
    looks: usize,
    golden: usize,
}

/// Shares of intervals that hold the true rate, corrected and uncorrected; the mean corrected rate;
/// and the mean width of the corrected intervals.
fn held_with_errors(world: &ErringReviewers, worlds: u64) -> (f64, f64, f64, f64) {
    let (mut held, mut uncorrected, mut mean, mut width) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..worlds {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut yes = |chance: f64| rng.random::<f64>() < chance;
        let mut called = |is_yes: bool| {
            let chance = if is_yes { 1.0 - world.false_negative_rate } else { world.false_positive_rate };
            (is_yes, f64::from(u8::from(yes(chance))))
        };
        let golden: Vec<GoldenVerdict> = (0..2 * world.golden)
            .map(|at| called(at % 2 == 0))
            .map(|(right, reward)| GoldenVerdict {
                right: f64::from(u8::from(right)),
                reward,
                reviewer: None,
            })
            .collect();
        // The true share of yes is exactly the rate; the reviewed rows are a random tenth.
        let count = 10 * world.looks;
        let harmful = (world.rate * count as f64).round() as usize;
        let calls: Vec<f64> = (0..count).map(|at| called(at < harmful).1).collect();
        let rows: Vec<Row> = calls
            .into_iter()
            .map(|call| Row {
                reward: if yes(0.1) { call } else { f64::NAN },
                probability: 0.1,
                ..Row::default()
            })
            .collect();
        let Some(found) = PrevalenceEstimate::of(&rows, UNIT) else { continue };
        let shares = [(None, 1.0)].into();
        let (errors, _) = ErrorRates::of(&golden, &shares).unwrap();
        let holds = |found: &Interval| found.low <= world.rate && world.rate <= found.high;
        let unknown = Interval { mean: 0.5, low: 0.0, high: 1.0 };
        let corrected = errors.corrected(found.interval).unwrap_or(unknown);
        held += f64::from(u8::from(holds(&corrected)));
        uncorrected += f64::from(u8::from(holds(&found.interval)));
        mean += corrected.mean;
        width += corrected.high - corrected.low;
    }
    let all = worlds as f64;
    (held / all, uncorrected / all, mean / all, width / all)
}

/// 95% of 300 tables are 285; fewer than 274 happen about once in 400 tests (binomial).
#[test]
fn intervals_hold_the_true_rate_where_people_err() {
    for rate in [0.0, 0.004, 0.05, 0.4] {
        for (false_positive_rate, false_negative_rate) in [(0.03, 0.1), (0.002, 0.3), (0.2, 0.05)] {
            for (looks, golden) in [(200, 40), (2000, 200)] {
                let world = ErringReviewers { rate, false_positive_rate, false_negative_rate, looks, golden };
                let (held, uncorrected, ..) = held_with_errors(&world, 300);
                assert!(
                    held >= 274.0 / 300.0,
                    "{rate} {false_positive_rate} {false_negative_rate} {looks} {golden}: {held}, \
                     as called {uncorrected}"
                );
            }
        }
    }
}

/// Verdicts "yes" are late with probability `late`, and "no" never. Shares of intervals that hold
/// the mean, if outstanding verdicts are known as such, and if they are not.
fn held_with_late_verdicts(late: f64, worlds: u64) -> (f64, f64) {
    let (mut known, mut unknown) = (0.0, 0.0);
    for seed in 0..worlds {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let (rows, truth) =
            live(&SimulatedTable { kind: SOME, design: SamplingDesign::Equal, rows: 2000, looks: 400 }, rng);
        let late: Vec<Row> = rows
            .into_iter()
            .map(|row| {
                let is_late = row.reward == 1.0 && rng.random::<f64>() < late;
                Row { reward: if is_late { f64::NAN } else { row.reward }, outstanding: is_late, ..row }
            })
            .collect();
        let unsaid: Vec<Row> = late.iter().map(|row| Row { outstanding: false, ..*row }).collect();
        let holds = |rows: &[Row]| {
            let line = PrevalenceLine::of(Segment::default(), rows, UNIT, None);
            f64::from(u8::from(line.low.unwrap() <= truth && truth <= line.high.unwrap()))
        };
        known += holds(&late);
        unknown += holds(&unsaid);
    }
    (known / worlds as f64, unknown / worlds as f64)
}

/// 95% of 300 tables are 285; fewer than 274 happen about once in 400 tests (binomial).
#[test]
fn intervals_hold_whatever_late_verdicts_will_be() {
    for late in [0.1, 0.4] {
        let (known, unknown) = held_with_late_verdicts(late, 300);
        assert!(known >= 274.0 / 300.0, "{late}: {known}, unknown {unknown}");
    }
}

/// Prints figures of coverage with threads, errors and late verdicts.
#[test]
#[ignore = "prints a table; a minute in release"]
#[expect(clippy::print_stdout, reason = "a table to look at")]
fn table_of_threads_errors_and_late_verdicts() {
    for (count, base) in [(20, 0.0), (40, 0.0), (200, 0.0), (40, 4.0), (200, 4.0), (600, 6.3)] {
        for are_whole in [true, false] {
            let (by_thread, by_row, width) = held_by_threads(count, base, are_whole, 1000);
            println!(
                "threads {count} {base} whole {are_whole}: {by_thread:.3}, by rows {by_row:.3}; \
                 width {width:.3}"
            );
        }
    }
    for rate in [0.0, 0.004, 0.05, 0.4] {
        for (false_positive_rate, false_negative_rate) in [(0.03, 0.1), (0.002, 0.3), (0.2, 0.05)] {
            for (looks, golden) in [(200, 20), (200, 200), (2000, 40), (2000, 400)] {
                let world = ErringReviewers { rate, false_positive_rate, false_negative_rate, looks, golden };
                let (held, uncorrected, mean, width) = held_with_errors(&world, 1000);
                println!(
                    "rate {rate} errs {false_positive_rate} {false_negative_rate} looks {looks} golden {golden}: {held:.3}, as called {uncorrected:.3}; \
                     mean {mean:.4} width {width:.4}"
                );
            }
        }
    }
    for late in [0.05, 0.1, 0.2, 0.4] {
        println!("late {late}: {:?}", held_with_late_verdicts(late, 1000));
    }
}

/// Prints the table of coverage by rewards, number of reviews and sampling design.
#[test]
#[ignore = "prints the book's table; a minute in release"]
#[expect(clippy::print_stdout, reason = "a table to look at")]
fn table_of_the_book() {
    println!("| rewards | looked at | by | holds the truth | a normal law's | width | normal | reliable |");
    println!("|---|---|---|---|---|---|---|---|");
    for kind in [RARE, SOME, HALF, RewardKind::Between, RewardKind::Uneven] {
        for looks in [20, 60, 200, 1000] {
            for design in [SamplingDesign::Equal, SamplingDesign::Rising, SamplingDesign::Top] {
                let (own, normal, width, narrow, reliable) =
                    held(&SimulatedTable { kind, design, rows: 4000, looks }, 1000);
                println!(
                    "| {kind:?} | {looks} | {design:?} | **{:.1}%** | {:.1}% | {width:.3} | \
                     {narrow:.3} | {:.0}% |",
                    100.0 * own,
                    100.0 * normal,
                    100.0 * reliable
                );
            }
        }
    }
}
