//! Tests the intervals of the weights of rules that fire in few labelled rows: they hold the true
//! weight, or are unbounded.

mod support;

use jurybox::options::Fraction;
use jurybox::{Example, Interval};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use support::{jury_of, normal};

/// How rewards and scores come about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum World {
    /// Rewards are yes in 8% of the items; three rules seldom fire.
    Rules,
    /// Rewards are numbers, which two evaluators see. A rule fires in 1.5% of the items, whose
    /// rewards are three times as noisy.
    BesideNumbers,
    /// As `BesideNumbers`, but rewards are yes or no; a yes is likelier where the expected number
    /// is higher.
    BesideYes,
}

/// An item: its scores, the expected reward given these, and the reward.
fn item(world: World, rng: &mut ChaCha8Rng) -> ([f64; 3], f64, f64) {
    if world == World::Rules {
        let (of_yes, of_no) = ([0.6, 0.3, 0.05], [0.03, 0.02, 0.02]);
        let yes = rng.random_bool(0.08);
        let scores =
            [0, 1, 2].map(|j| f64::from(u8::from(rng.random_bool(if yes { of_yes[j] } else { of_no[j] }))));
        let odds = (0..3).fold(0.08 / 0.92, |odds, j| {
            odds * if scores[j] == 1.0 { of_yes[j] / of_no[j] } else { (1.0 - of_yes[j]) / (1.0 - of_no[j]) }
        });
        return (scores, odds / (1.0 + odds), f64::from(u8::from(yes)));
    }
    let worth = normal(rng);
    let fires = f64::from(u8::from(rng.random_bool(0.015)));
    let scores = [worth + normal(rng), worth + normal(rng), fires];
    let mean = (scores[0] + scores[1]) / 3.0 + fires;
    let off = normal(rng) * if fires > 0.0 { 1.5 } else { 0.5 };
    if world == World::BesideNumbers {
        return (scores, mean, mean + off);
    }
    let share = 1.0 / (1.0 + (-3.0 * (mean - 1.0)).exp());
    (scores, share, f64::from(u8::from(rng.random_bool(share))))
}

/// The true weights: least-squares weights of the expected rewards of these items. None if the
/// scores are collinear.
fn least_squares(rows: &[([f64; 3], f64, f64)]) -> Option<Vec<f64>> {
    let mut x = DMatrix::from_fn(rows.len(), 3, |i, j| rows[i].0[j]);
    x.column_iter_mut().for_each(|mut column| column.add_scalar_mut(-column.mean()));
    let inverse = (x.transpose() * &x).try_inverse()?;
    let y = DVector::from_iterator(rows.len(), rows.iter().map(|row| row.1));
    Some((inverse * x.transpose() * y).iter().copied().collect())
}

/// Counts of the rules' 95% intervals by the number of labelled rows in which the rule fires. The
/// counts are: all, holding the true weight, unbounded, and excluding zero.
fn fared(world: World, labels: usize, worlds: u64) -> BTreeMap<usize, [usize; 4]> {
    let mut fared: BTreeMap<usize, [usize; 4]> = BTreeMap::new();
    for seed in 0..worlds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rows: Vec<([f64; 3], f64, f64)> = (0..1500).map(|_| item(world, &mut rng)).collect();
        let table: Vec<f64> = rows.iter().flat_map(|row| row.0).collect();
        let mut jury = jury_of(&"adaptive".parse().unwrap(), 3);
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        let labelled = &rows[..labels];
        for (scores, _, reward) in labelled {
            jury.learn(&[Example { scores, reward: *reward, receipt: None }], 0).unwrap();
        }
        let Some(truth) = least_squares(labelled) else { continue };
        let told: Vec<Interval> = jury.fit().weight_intervals(Fraction::try_from(0.95).unwrap()).unwrap();
        for j in if world == World::Rules { 0..3 } else { 2..3 } {
            let fires = labelled.iter().filter(|row| row.0[j] == 1.0).count();
            let sum = fared.entry(fires).or_default();
            sum[0] += 1;
            sum[1] += usize::from(told[j].low <= truth[j] && truth[j] <= told[j].high);
            sum[2] += usize::from(told[j].high.is_infinite());
            sum[3] += usize::from(told[j].low > 0.0 || told[j].high < 0.0);
        }
    }
    fared
}

#[test]
fn what_a_few_rows_alone_tell_has_no_ends() {
    let most = |of: usize, cases: usize| of as f64 >= 0.85 * cases as f64;
    for (world, labels) in [(World::Rules, 40), (World::Rules, 160), (World::BesideNumbers, 160)] {
        for (fires, [cases, held, endless, away]) in fared(world, labels, 100) {
            let about =
                format!("{world:?} fires in {fires}: {held} of {cases}, {endless} without ends, {away} away");
            assert!(cases < 20 || most(held, cases), "{about}");
            assert!(fires > 3 || cases < 20 || most(endless, cases) && 20 * away <= cases, "{about}");
            assert!(fires < 6 || endless == 0, "{about}");
        }
    }
}

#[test]
#[ignore = "a table"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table() {
    println!(
        "world, labels, the rule fires in: of 95% intervals so many hold | without ends | away from nought (cases)"
    );
    for world in [World::Rules, World::BesideNumbers, World::BesideYes] {
        for labels in [10, 20, 40, 100, 160] {
            for (fires, [cases, held, endless, away]) in fared(world, labels, 400) {
                let share = |of: usize| of as f64 / cases as f64;
                println!(
                    "{world:?} {labels} {fires}: {:.2} | {:.2} | {:.2} ({cases})",
                    share(held),
                    share(endless),
                    share(away)
                );
            }
        }
    }
}
