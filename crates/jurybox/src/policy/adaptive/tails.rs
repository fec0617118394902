//! Rewards with heavy tails: losses in money, counts, verdicts with gross errors.
//!
//! Least squares listens to squares, and where a few rewards are larger than all others together,
//! it hears only those. Such rewards are cut to within four times the deviation from the median
//! that nine in ten stay within: 6.6 standard deviations of a normal law, so that rewards with
//! ordinary tails are never touched. Cut they are only where that takes away a good part of the
//! variance, which is what makes tails heavy.
//!
//! A reward that is far out may be an error, and then the scores know nothing of it; or it is what
//! matters most, as severe harm among much that is mild, and then they tell. So the cut is set
//! twice as far out as long as the labels beyond it have other scores than those within, and not
//! merely more of what goes with the reward there, more than chance would have it: it loosens as
//! labels grow, on each side by itself.

use super::landscape::Landscape;
use crate::estimate::SampledRow;
use crate::kernel::dot;
use crate::normal;

/// The share of rewards whose deviations set the scale, and how far beyond it a reward may go.
const SHARE: f64 = 0.9;
const REACH: f64 = 4.0;
/// Tails are heavy where cutting leaves less than this share of the variance.
const LEFT: f64 = 0.8;
/// The risk that errors pass for something that the scores tell, and the fewest rewards that can: a
/// fit is not left to fewer.
const RISK: f64 = 0.001;
const LEAST_TOLD: f64 = 5.0;

/// The range that the rewards of labelled rows (scores, then the reward) are cut to; none where
/// tails are not heavy.
pub(super) fn range<'a>(
    landscape: &Landscape,
    labelled: &(impl Iterator<Item = SampledRow<'a>> + Clone),
) -> Option<(f64, f64)> {
    let width = landscape.width();
    let rewards = labelled.clone().map(|row| (row.values[width], row.weight));
    heavy(&rewards, |low, high| told(landscape, labelled.clone(), low, high))
}

/// The same by rewards, each with its count. `told` says whether the scores tell which rewards are
/// below and which are above a range.
fn heavy(
    rewards: &(impl Iterator<Item = (f64, f64)> + Clone),
    told: impl Fn(f64, f64) -> (bool, bool),
) -> Option<(f64, f64)> {
    let (mut total, mut mean) = (0.0, 0.0);
    for (reward, count) in rewards.clone() {
        total += count;
        mean += (reward - mean) * (count / total);
    }
    let (mut variance, mut farthest) = (0.0, 0.0_f64);
    for (reward, count) in rewards.clone() {
        let square = (reward - mean).powi(2);
        variance += square * (count / total);
        farthest = farthest.max(square);
    }
    // The common case, without sorting: nothing is far out.
    if farthest <= 12.0 * variance {
        return None;
    }
    let median = quantile(rewards.clone().collect(), 0.5);
    let scale =
        quantile(rewards.clone().map(|(reward, count)| ((reward - median).abs(), count)).collect(), SHARE);
    if scale <= 0.0 {
        return None; // hits among many equal rewards are not tails
    }
    let (mut low, mut high) = (median - REACH * scale, median + REACH * scale);
    loop {
        let (mut cut_mean, mut cut_square) = (0.0, 0.0);
        for (reward, count) in rewards.clone() {
            let deviation = reward.clamp(low, high) - median;
            cut_mean += deviation * (count / total);
            cut_square += deviation * deviation * (count / total);
        }
        if cut_square - cut_mean * cut_mean >= LEFT * variance {
            return None;
        }
        match told(low, high) {
            (false, false) => return Some((low, high)),
            (below, above) => {
                low = if below { 2.0 * low - median } else { low };
                high = if above { 2.0 * high - median } else { high };
            }
        }
    }
}

/// Whether the labels with rewards below and above a range have other scores than those within, by
/// some evaluator, and not merely more of what goes with the reward within: that has a say without
/// them.
fn told<'a>(
    landscape: &Landscape,
    labelled: impl Iterator<Item = SampledRow<'a>>,
    low: f64,
    high: f64,
) -> (bool, bool) {
    let width = landscape.width();
    // Below, within and above: how many, and the sums of each one's normal scores; over all their
    // squares, and within the products with the reward.
    let (mut counts, mut sums) = ([0.0; 3], vec![[0.0; 3]; width]);
    let (mut squares, mut products, mut rewards) = (vec![0.0; width], vec![0.0; width], 0.0);
    let (mut plain, mut ranked) = (vec![0.0; width], vec![0.0; width]);
    for row in labelled {
        let (reward, count) = (row.values[width], row.weight);
        let side = usize::from(reward >= low) + usize::from(reward > high);
        let within = if side == 1 { count * reward } else { 0.0 };
        landscape.place(&row.values[..width], &mut plain, &mut ranked);
        counts[side] += count;
        rewards += within;
        for (j, x) in ranked.iter().enumerate() {
            sums[j][side] += count * x;
            squares[j] += count * x * x;
            products[j] += within * x;
        }
    }
    let total: f64 = counts.iter().sum();
    let goes_with: Vec<f64> =
        products.iter().zip(&sums).map(|(product, sums)| product - rewards * sums[1] / counts[1]).collect();
    let limit = -normal::quantile(RISK / (2 * width) as f64);
    let is_told = |side: usize| {
        if counts[side] < LEAST_TOLD {
            return false;
        }
        let differ: Vec<f64> =
            sums.iter().map(|sums| sums[side] / counts[side] - sums[1] / counts[1]).collect();
        let more = dot(&differ, &goes_with) / dot(&goes_with, &goes_with).max(f64::MIN_POSITIVE);
        (0..width).any(|j| {
            let mean = sums[j].iter().sum::<f64>() / total;
            let variance = squares[j] / total - mean * mean;
            let error = (variance * (1.0 / counts[side] + 1.0 / counts[1])).sqrt();
            (differ[j] - more * goes_with[j]).abs() > limit * error
        })
    };
    (is_told(0), is_told(2))
}

/// The least of the numbers that has this share of the counts at or below it.
fn quantile(mut numbers: Vec<(f64, f64)>, share: f64) -> f64 {
    numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut left = share * numbers.iter().map(|(_, count)| count).sum::<f64>();
    for &(number, count) in &numbers {
        left -= count;
        if left <= 0.0 {
            return number;
        }
    }
    numbers.last().map_or(0.0, |&(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range_of(law: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
        heavy(&(0..1000).map(|i| (law((f64::from(i) + 0.5) / 1000.0), 1.0)), |_, _| (false, false))
    }

    #[test]
    fn ordinary_tails_are_left_alone_and_heavy_ones_cut() {
        assert_eq!(range_of(normal::quantile), None);
        assert_eq!(range_of(|u| u), None);
        assert_eq!(range_of(|u| -(1.0 - u).ln()), None);
        assert_eq!(range_of(|u| if u > 0.97 { 1.0 } else { 0.0 }), None);
        let (low, high) = range_of(|u| (1.0 - u).powf(-1.0 / 1.1)).unwrap(); // Pareto
        let median = 0.5_f64.powf(-1.0 / 1.1);
        assert!(high < 40.0 && (f64::midpoint(low, high) - median).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn a_count_is_a_number_of_copies() {
        let rewards = [(0.0, 3.0), (1.0, 2.0), (-1.0, 2.0), (2.0, 2.0), (1e6, 1.0)];
        let copies =
            rewards.iter().flat_map(|&(reward, count)| (0..count as usize).map(move |_| (reward, 1.0)));
        let untold = |_, _| (false, false);
        assert_eq!(heavy(&rewards.into_iter(), untold), heavy(&copies, untold));
        assert_eq!(heavy(&std::iter::empty(), untold), None);
    }

    #[test]
    fn a_side_is_let_out_as_far_as_the_scores_tell() {
        let rewards = || (0..200).map(|i| (if i % 20 == 0 { 100.0 } else { f64::from(i % 7 - 3) }, 1.0));
        assert_eq!(heavy(&rewards(), |_, _| (false, false)), Some((-12.0, 12.0)));
        assert_eq!(heavy(&rewards(), |_, _| (false, true)), None); // the variance is back
        let untold_from_30_on = |_, high: f64| (false, high < 30.0);
        assert_eq!(heavy(&rewards(), untold_from_30_on), Some((-12.0, 48.0)));
    }
}
