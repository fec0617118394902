//! Tests policy `adaptive` where the reward has an interaction (a product) of two scores: trees
//! learn it, straight lines do not.

mod support;

use jurybox::options::Fraction;
use jurybox::{Example, Jury};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use support::*;

const J: usize = 5;

/// Rows of five scores, uniform between -1 and 1, and their rewards. A reward is `together` times
/// the product of the first two scores, plus the last score, plus noise.
fn items(seed: u64, count: usize, together: f64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut table, mut rewards) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let row: [f64; J] = std::array::from_fn(|_| 2.0 * rng.random::<f64>() - 1.0);
        let noise: f64 = StandardNormal.sample(&mut rng);
        rewards.push(together * row[0] * row[1] + row[4] + 0.25 * noise);
        table.extend(row);
    }
    (table, rewards)
}

/// A jury that was shown 1,500 items and told the rewards of the first `labels`.
fn taught(spec: &str, labels: usize, together: f64) -> Jury {
    let mut jury = jury_of(&spec.parse().unwrap(), J);
    let (table, rewards) = items(1, 1500, together);
    jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
    for (row, &reward) in table.chunks_exact(J).zip(&rewards).take(labels) {
        jury.learn(&[Example { scores: row, reward, receipt: None }], 0).unwrap();
    }
    jury
}

/// The share of the rewards' variance that the values do not explain (1 - R^2), on new items.
fn unexplained(jury: &Jury, together: f64) -> f64 {
    let (table, rewards) = items(2, 2000, together);
    let fitted = jury.fit();
    let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
    let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
    let squares = |off: &dyn Fn(usize) -> f64| (0..rewards.len()).map(|i| off(i).powi(2)).sum::<f64>();
    squares(&|i| rewards[i] - values[i]) / squares(&|i| rewards[i] - mean)
}

#[test]
fn what_depends_on_two_evaluators_at_once_is_learnt() {
    let (sums, trees) = (taught("adaptive(trees=false)", 500, 3.0), taught("adaptive", 500, 3.0));
    let (by_sums, by_trees) = (unexplained(&sums, 3.0), unexplained(&trees, 3.0));
    // Of the rewards' variance, the product is 72%, the last score 24% and the noise 4%.
    assert!(by_sums > 0.7 && by_trees < 0.3, "{by_sums} {by_trees}");
    assert!(sums.fit().form().is_some() && trees.fit().form().is_none());
}

#[test]
fn where_nothing_does_values_are_those_of_lines_to_the_last_bit() {
    let table = items(3, 300, 0.0).0;
    for labels in [50, 200, 1200] {
        let [sums, trees] = ["adaptive(trees=false)", "adaptive"].map(|spec| taught(spec, labels, 0.0).fit());
        let values = |of: &jurybox::Fitted| of.values(&of.scores(&table).unwrap()).unwrap();
        assert_eq!(values(&sums), values(&trees), "{labels}");
        assert!(trees.form().is_some());
    }
}

#[test]
fn contributions_sum_to_the_value_and_a_missing_score_adds_nothing() {
    let fitted = taught("adaptive", 500, 3.0).fit();
    assert!(fitted.form().is_none());
    let mut table = items(4, 200, 3.0).0;
    table.iter_mut().step_by(7).for_each(|x| *x = f64::NAN);
    table[..J].fill(f64::NAN);
    let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
    for (row, value) in table.chunks_exact(J).zip(values) {
        let why = fitted.contributions(row).unwrap().unwrap();
        assert!((why.value() - value).abs() < 1e-9, "{row:?}: {why:?} {value}");
        assert!(row.iter().zip(&why.each).all(|(x, adds)| !x.is_nan() || *adds == 0.0), "{row:?} {why:?}");
        // The row alone has the same value.
        assert_eq!(fitted.values(&fitted.scores(row).unwrap()).unwrap(), [value]);
    }
    // The product is shared by its two evaluators; evaluators without effect contribute little.
    let why = fitted.contributions(&[0.8, 0.8, 0.8, 0.8, 0.0]).unwrap().unwrap();
    assert!(why.each[0] > 0.4 && why.each[1] > 0.4, "{why:?}");
    assert!(why.each[2].abs() < 0.25 && why.each[3].abs() < 0.25, "{why:?}");
}

#[test]
fn the_same_labels_give_the_same_trees_in_any_order_and_after_reading_them_back() {
    let whole = taught("adaptive", 400, 3.0);
    let table = items(5, 100, 3.0).0;
    let values = |jury: &Jury| {
        let fitted = jury.fit();
        fitted.values(&fitted.scores(&table).unwrap()).unwrap()
    };
    assert_eq!(values(&Jury::from_json(&whole.to_json()).unwrap()), values(&whole));
    let mut backwards = jury_of(&"adaptive".parse().unwrap(), J);
    let (shown, rewards) = items(1, 1500, 3.0);
    backwards.observe(&backwards.scores(&shown).unwrap(), 0).unwrap();
    for (row, &reward) in shown.chunks_exact(J).zip(&rewards).take(400).collect::<Vec<_>>().into_iter().rev()
    {
        backwards.learn(&[Example { scores: row, reward, receipt: None }], 0).unwrap();
    }
    for (a, b) in values(&whole).iter().zip(values(&backwards)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

/// About 90% of the intervals hold the reward, and trees make them at least a fifth narrower.
#[test]
fn intervals_hold_the_reward_and_are_the_narrower_for_what_trees_see() {
    let (table, rewards) = items(6, 3000, 3.0);
    let level = Fraction::try_from(0.9).unwrap();
    let [sums, trees] = ["adaptive(trees=false)", "adaptive"].map(|spec| {
        let fitted = taught(spec, 500, 3.0).fit();
        let intervals = fitted.predict(&fitted.scores(&table).unwrap(), level).unwrap().unwrap();
        let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
        assert!(intervals.iter().zip(&values).all(|(interval, value)| (interval.mean - value).abs() < 1e-9));
        let held =
            intervals.iter().zip(&rewards).filter(|(of, reward)| of.low <= **reward && **reward <= of.high);
        let width = intervals.iter().map(|of| of.high - of.low).sum::<f64>() / rewards.len() as f64;
        (held.count() as f64 / rewards.len() as f64, width)
    });
    // Among 3,000 items the share that hold has a standard error of 0.005.
    assert!((0.87..=0.93).contains(&trees.0), "{trees:?}");
    assert!(trees.1 < 0.8 * sums.1, "{trees:?} {sums:?}");
}
