//! Spearman's rank correlation with the reward, for columns with heavy tails (Spearman 1904).
//!
//! With heavy tails, a few large values dominate an ordinary correlation, and its interval is too
//! narrow. Ranks have no tails; tied values have their mean rank. The interval is a grouped
//! jackknife: all rows are ranked anew without each group (Efron 1982, ch. 3).

use super::gather::{GROUPS, ReportData, RowSample};
use super::jackknife::{FISHER, around};
use jurybox::Interval;

/// The kurtosis above which intervals are too narrow, by simulation. A normal distribution has 3.
const HEAVY: f64 = 10.0;
/// Minimum number of rows without the most frequent reward for a correlation among them.
const FEW: usize = 20;

/// The columns with heavy tails.
pub(super) struct HeavyTails {
    pub(super) scores: Vec<bool>,
    pub(super) reward: bool,
}

impl HeavyTails {
    /// The heavy-tailed columns of the sample. Columns of at most two values have no tails; the
    /// count of the rarer of two rewards is checked elsewhere.
    pub(super) fn of(data: &ReportData) -> HeavyTails {
        let sample = &data.sample;
        let heavy = |j: usize| {
            let column: Vec<f64> = sample.rows().map(|row| row[j]).collect();
            !are_two(&column) && kurtosis(&column) > HEAVY
        };
        HeavyTails {
            scores: (0..sample.width).map(heavy).collect(),
            reward: data.outcomes.two().is_none() && kurtosis(&sample.rewards) > HEAVY,
        }
    }

    /// Whether the correlation of an evaluator with the reward is a rank correlation.
    pub(super) fn rank_correlation(&self, evaluator: usize) -> bool {
        self.reward || self.scores.get(evaluator).is_some_and(|&heavy| heavy)
    }
}

/// Whether there are at most two distinct values, missing ones aside.
fn are_two(values: &[f64]) -> bool {
    let known = || values.iter().filter(|x| !x.is_nan());
    let Some(first) = known().next() else { return true };
    let Some(second) = known().find(|x| *x != first) else { return true };
    known().all(|x| x == first || x == second)
}

/// The kurtosis of the values that are not missing.
fn kurtosis(values: &[f64]) -> f64 {
    let known = || values.iter().filter(|x| !x.is_nan());
    let count = known().count() as f64;
    let mean = known().sum::<f64>() / count;
    let moment = |power| known().map(|x| (x - mean).powi(power)).sum::<f64>() / count;
    moment(4) / moment(2).powi(2)
}

/// The rank correlation of an evaluator with the reward in the sample. Its interval is one of
/// `family` intervals that hold together. `None` if the correlation is undefined for all rows, or
/// without one of the groups.
pub(super) fn correlation(sample: &RowSample, evaluator: usize, family: usize) -> Option<Interval> {
    among(sample, evaluator, family, |_| true)
}

/// The rank correlation among the rows whose reward is not the most frequent one, such as amounts
/// other than 0. `None` if there are fewer than [`FEW`] such rows.
pub(super) fn correlation_of_the_rest(
    sample: &RowSample,
    evaluator: usize,
    family: usize,
) -> Option<Interval> {
    let (most, _) = most_frequent(&sample.rewards)?;
    let rest = sample.rewards.iter().filter(|reward| !reward.is_nan() && **reward != most).count();
    if rest < FEW { None } else { among(sample, evaluator, family, |reward| reward != most) }
}

/// The most frequent reward, and its share of all rewards.
pub(super) fn most_frequent(rewards: &[f64]) -> Option<(f64, f64)> {
    let mut known: Vec<f64> =
        rewards.iter().filter(|reward| !reward.is_nan()).map(|reward| reward + 0.0).collect();
    known.sort_unstable_by(f64::total_cmp);
    let longest = known.chunk_by(|a, b| a == b).max_by_key(|run| run.len())?;
    Some((longest[0], longest.len() as f64 / known.len() as f64))
}

/// The rank correlation among the rows whose reward passes `counts`.
fn among(
    sample: &RowSample,
    evaluator: usize,
    family: usize,
    counts: impl Fn(f64) -> bool,
) -> Option<Interval> {
    let rows = sample.rows().zip(&sample.rewards).enumerate();
    let pairs: Vec<ScorePair> = rows
        .map(|(at, (row, &reward))| ScorePair { of: [row[evaluator], reward], group: at % GROUPS })
        .filter(|pair| pair.of.iter().all(|x| !x.is_nan()) && counts(pair.of[1]))
        .collect();
    let order = [0, 1].map(|side| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_unstable_by(|&a, &b| pairs[a].of[side].total_cmp(&pairs[b].of[side]));
        order
    });
    let mut ranks = [vec![0.0; pairs.len()], vec![0.0; pairs.len()]];
    let mut of = |without: usize| {
        for side in [0, 1] {
            rank(&pairs, &order[side], side, without, &mut ranks[side]);
        }
        spearman(&pairs, &ranks, without)
    };
    let whole = of(GROUPS);
    let filled = (0..GROUPS).filter(|&group| pairs.iter().any(|pair| pair.group == group));
    let without: Vec<f64> = filled.map(&mut of).collect();
    around(whole, &without, family, FISHER)
}

/// A score and a reward, with their jackknife group.
struct ScorePair {
    of: [f64; 2],
    group: usize,
}

/// Computes the ranks of one side without the group `without`; tied values have their mean rank.
fn rank(pairs: &[ScorePair], order: &[usize], side: usize, without: usize, ranks: &mut [f64]) {
    let mut before = 0.0;
    for equal in order.chunk_by(|&a, &b| pairs[a].of[side] == pairs[b].of[side]) {
        let count = equal.iter().filter(|&&at| pairs[at].group != without).count() as f64;
        equal.iter().for_each(|&at| ranks[at] = before + 0.5 * (count - 1.0));
        before += count;
    }
}

/// The correlation of ranks without the group `without`; NaN if one side is constant.
fn spearman(pairs: &[ScorePair], ranks: &[Vec<f64>; 2], without: usize) -> f64 {
    let there = || (0..pairs.len()).filter(|&at| pairs[at].group != without);
    let count = there().count() as f64;
    // Ranks from 0 have this mean, with or without ties.
    let mean = 0.5 * (count - 1.0);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for at in there() {
        let (x, y) = (ranks[0][at] - mean, ranks[1][at] - mean);
        (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y);
    }
    (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected ranks, with ties and without a group, were computed by hand.
    #[test]
    fn ties_have_their_mean_rank() {
        let pair = |x: f64, y: f64, group: usize| ScorePair { of: [x, y], group };
        let pairs = [pair(5.0, 1.0, 0), pair(1.0, 1.0, 1), pair(5.0, 9.0, 0), pair(2.0, 4.0, 2)];
        let mut ranks = [vec![0.0; 4], vec![0.0; 4]];
        rank(&pairs, &[1, 3, 0, 2], 0, GROUPS, &mut ranks[0]);
        rank(&pairs, &[0, 1, 3, 2], 1, GROUPS, &mut ranks[1]);
        assert_eq!(ranks, [vec![2.5, 0.0, 2.5, 1.0], vec![0.5, 0.5, 3.0, 2.0]]);
        // Around the mean 1.5: x is 1, -1.5, 1, -0.5 and y is -1, -1, 1.5, 0.5.
        assert!((spearman(&pairs, &ranks, GROUPS) - 1.75 / 4.5).abs() < 1e-12);
        rank(&pairs, &[1, 3, 0, 2], 0, 1, &mut ranks[0]);
        assert_eq!((ranks[0][0], ranks[0][3]), (1.5, 0.0));
    }
}
