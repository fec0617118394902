//! Rewards with heavy tails: losses in money, counts, verdicts with gross errors.
//!
//! Least squares listens to squares, and where a few rewards are larger than all others together, it hears only those. Such
//! rewards are cut to within four times the deviation from the median that nine in ten stay within: 6.6 standard
//! deviations of a normal law, so that rewards with ordinary tails are never touched. Cut they are only where that takes
//! away a good part of the variance, which is what makes tails heavy.

/// The share of rewards whose deviations set the scale, and how far beyond it a reward may go.
const SHARE: f64 = 0.9;
const REACH: f64 = 4.0;
/// Tails are heavy where cutting leaves less than this share of the variance.
const LEFT: f64 = 0.8;

/// The range that rewards, each with its count, are cut to; none where tails are not heavy.
pub(super) fn range(rewards: impl Iterator<Item = (f64, f64)> + Clone) -> Option<(f64, f64)> {
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
    let (low, high) = (median - REACH * scale, median + REACH * scale);
    let (mut cut_mean, mut cut_square) = (0.0, 0.0);
    for (reward, count) in rewards {
        let deviation = reward.clamp(low, high) - median;
        cut_mean += deviation * (count / total);
        cut_square += deviation * deviation * (count / total);
    }
    (cut_square - cut_mean * cut_mean < LEFT * variance).then_some((low, high))
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
    use crate::normal;

    fn range_of(law: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
        range((0..1000).map(|i| (law((f64::from(i) + 0.5) / 1000.0), 1.0)))
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
        assert_eq!(range(rewards.into_iter()), range(copies));
        assert_eq!(range(std::iter::empty()), None);
    }
}
