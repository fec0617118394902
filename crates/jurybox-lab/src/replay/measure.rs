//! The figures of a replay with their intervals: ratio estimators over runs, half-samples, rounds
//! or folds. A *label* is a pick with its reward.
//!
//! **Best share.** `(reward - uniform) / (best - uniform)`: rewards of the picks, of random picks
//! (uniform), and of the best possible picks, each summed over all runs. For each unit u let
//! `gain_u` be its part of the numerator and `possible_u` its part of the denominator. Let
//! `d_u = gain_u - share * possible_u`. Half the linearised interval is Student's t times the
//! standard error of the sum of d, over the sum of `possible`. Differences of two entrants use the
//! differences of their gains.
//!
//! **Other files.** Runs on one file do not show how another file of such rows would have come out.
//! The file is therefore split into random halves, several times, and each half is replayed. If the
//! `d` of two halves differ by `D`, their mean has the variance `D^2 / 4` (random half-samples:
//! Wolter, *Introduction to Variance Estimation*, ch. 3). The variance over runs is added, so that
//! intervals are too wide if runs differ more by their order than by their rows.
//!
//! **Few misses.** An entrant whose few picks were all hits shows no spread, yet on other rows a
//! pick could miss. The intervals are therefore widened by the largest influence of one pick; for n
//! hits of n picks the lower end is that of Wilson's score interval. Two entrants with equal gains
//! in every unit are not certain to be equal on other rows. Their difference has an interval that
//! follows from the standard deviation of the rewards.

use super::run::RunResult;
use super::schedule::{RUNS_OF_A_HALF, RewardBaselines};
use crate::max_influence::MaxInfluence;
use jurybox::Interval;
use jurybox::toolbox::student_95;

/// The 97.5% quantile of the normal law.
const Z: f64 = 1.959_963_984_540_054;
/// Least number of units for an interval, because two or three show too little of the spread.
pub(super) const LEAST_UNITS: usize = 4;

/// The unit that an interval is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntervalUnit {
    Runs,
    /// Rows, whose spread half-samples show, and runs.
    Rows,
    Rounds,
    Folds,
}

impl IntervalUnit {
    /// Whether the interval allows for rows that are not in the file. Runs only redraw and reorder
    /// the rows of the file.
    fn generalizes_to_other_rows(self) -> bool {
        self != IntervalUnit::Runs
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            IntervalUnit::Runs => "runs",
            IntervalUnit::Rows => "rows and runs",
            IntervalUnit::Rounds => "rounds",
            IntervalUnit::Folds => "folds",
        }
    }

    /// What the interval covers, as a phrase for reports.
    pub(crate) fn covers(self) -> &'static str {
        match self {
            IntervalUnit::Runs => "over runs: draws and orders of these rows, not other files",
            IntervalUnit::Rows => {
                "over rows and runs: other files of as many rows like these, estimated from halves \
                 of this one; too wide if runs on the same rows differ much"
            }
            IntervalUnit::Rounds => {
                "over rounds: other rounds like these, if rounds are independent, which a \
                 learner's are not quite"
            }
            IntervalUnit::Folds => {
                "over folds: other rows like these, roughly, because folds share what they learn from"
            }
        }
    }
}

/// A ratio of sums with its variance.
struct RatioEstimate {
    mean: f64,
    /// Variance of the ratio; infinite from fewer than [`LEAST_UNITS`] units.
    variance: f64,
    /// Student's t for the number of units, or of splits into halves.
    t: f64,
    /// Whether the numerators of all units are zero.
    nothing: bool,
}

impl RatioEstimate {
    /// From (numerator, denominator) pairs, one per unit, in one or more groups. None if the
    /// denominators sum to zero or less.
    ///
    /// Groups are repetitions on the same rows. Repetition does not make the estimate more certain,
    /// so that the variances of the groups are averaged.
    fn of(groups: &[Vec<(f64, f64)>]) -> Option<RatioEstimate> {
        let sum = |units: &[(f64, f64)]| {
            units.iter().fold((0.0, 0.0), |sum, unit| (sum.0 + unit.0, sum.1 + unit.1))
        };
        let total =
            groups.iter().map(|units| sum(units)).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let mean = total.0 / total.1;
        if total.1 <= 0.0 || !mean.is_finite() {
            return None;
        }
        let nothing = groups.iter().flatten().all(|unit| unit.0 == 0.0);
        let smallest = groups.iter().map(Vec::len).min().unwrap_or(0);
        if smallest < LEAST_UNITS {
            return Some(RatioEstimate { mean, variance: f64::INFINITY, t: 1.0, nothing });
        }
        let t = student_95(smallest - 1);
        let variance = groups.iter().map(|units| {
            let (n, below) = (units.len() as f64, sum(units).1);
            // The d of one group need not sum to zero, so that they are centred.
            let off: Vec<f64> = units.iter().map(|unit| unit.0 - mean * unit.1).collect();
            let centre = off.iter().sum::<f64>() / n;
            n / (n - 1.0) * off.iter().map(|d| (d - centre).powi(2)).sum::<f64>() / (below * below)
        });
        let variance = variance.sum::<f64>() / groups.len() as f64;
        // Units that are equal up to rounding show no spread.
        let size =
            groups.iter().flatten().map(|unit| unit.0.abs() + (mean * unit.1).abs()).sum::<f64>() / total.1;
        let spread = t * variance.sqrt() > 1e-12 * size;
        Some(RatioEstimate { mean, variance: if spread { variance } else { 0.0 }, t, nothing })
    }

    /// Adds the variance over rows, from halves, to the variance over runs. Each half has a
    /// numerator and a denominator, summed over its runs; the two halves of a split are neighbours.
    fn over_files(mut self, halves: &[(f64, f64)]) -> RatioEstimate {
        let below = halves.iter().map(|half| half.1).sum::<f64>() / halves.len() as f64;
        let off = |half: (f64, f64)| half.0 - self.mean * half.1;
        let squares = halves.chunks_exact(2).map(|two| (off(two[0]) - off(two[1])).powi(2) / 4.0);
        let splits = halves.len() / 2;
        let rows = squares.sum::<f64>() / (splits as f64 * below * below);
        // If there is nothing to gain in the halves, they say nothing of the variance over rows.
        self.variance = if rows.is_finite() { self.variance + rows } else { f64::INFINITY };
        self.nothing &= halves.iter().all(|half| half.0 == 0.0);
        self.t = student_95(splits);
        self
    }

    /// Student's interval.
    fn student(&self) -> Interval {
        Interval::around(self.mean, self.t * self.variance.sqrt())
    }

    /// An interval that also allows for one pick with another reward, which would change the ratio
    /// by `max_influence`. Student's interval if `max_influence` is 0 or the variance is infinite.
    ///
    /// For influence b and variance V let `s = b^3 / (V + b^2)`. Half the width is
    /// `h + sqrt(t^2 V + h^2)`, where `h = z^2 s / 2 / (1 + z^2 / n)` for n picks and the normal
    /// quantile z. If V is 0 and b is 1 / n, the lower end is that of the score interval of n hits
    /// of n.
    fn score_interval(&self, max_influence: f64, picks: f64) -> Interval {
        if max_influence <= 0.0 || !self.variance.is_finite() {
            return self.student();
        }
        let size = max_influence.powi(3) / (self.variance + max_influence * max_influence);
        let square = Z * Z;
        let half = 0.5 * square * size / (1.0 + square / picks);
        Interval::around(self.mean, half + (self.t * self.variance.sqrt()).hypot(half))
    }
}

/// Cumulative sums of one quantity over the labels of each run.
pub(crate) struct CumulativeSums {
    /// For each run, the sum up to each label; the first entry is 0.
    runs: Vec<Vec<f64>>,
    /// Cumulative sums of each run on a half of the rows; empty without halves.
    halves: Vec<Vec<f64>>,
    /// Whether these are the rewards of picks that could have been others; false for expectations
    /// and for the best possible picks.
    picked: bool,
}

impl CumulativeSums {
    /// From the values of each label, for `runs` runs on all rows and then for runs on halves.
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a [f64]>, runs: usize) -> CumulativeSums {
        let up_to = |values: &[f64]| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend(values.iter().map(|value| {
                sum += value;
                sum
            }));
            sums
        };
        let mut all: Vec<Vec<f64>> = values.map(up_to).collect();
        let halves = all.split_off(runs.min(all.len()));
        CumulativeSums { runs: all, halves, picked: false }
    }

    /// The rewards of an entrant. Set `uncertain` unless its picks are the best by construction.
    pub(crate) fn of_played(played: &[RunResult], runs: usize, uncertain: bool) -> CumulativeSums {
        CumulativeSums {
            picked: uncertain,
            ..CumulativeSums::of(played.iter().map(|run| &run.rewards[..]), runs)
        }
    }

    /// The sum of each half over its runs, up to a share of the half's labels. The share is
    /// `labels` over the number of labels in a run on all rows.
    fn of_halves(&self, labels: usize) -> Vec<f64> {
        let of_run = self.runs.first().map_or(0, |run| run.len() - 1).max(1);
        let up_to = |run: &Vec<f64>| {
            let of_half = run.len() - 1;
            run[(labels * of_half).div_ceil(of_run).min(of_half)]
        };
        self.halves.chunks(RUNS_OF_A_HALF).map(|runs| runs.iter().map(up_to).sum()).collect()
    }

    /// The sum over all runs of the first `labels` labels.
    pub(crate) fn total(&self, labels: usize) -> f64 {
        self.runs.iter().map(|run| run[labels]).sum()
    }

    /// The sum of each unit within the first `labels` labels, in groups as in
    /// [`RatioEstimate::of`].
    fn units(&self, over: IntervalUnit, baselines: &[RewardBaselines], labels: usize) -> Vec<Vec<f64>> {
        let cut = |run: usize, ends: &[usize]| -> Vec<f64> {
            let (mut sums, mut start) = (Vec::new(), 0);
            for end in ends.iter().map(|&end| end.min(labels)) {
                if end > start {
                    sums.push(self.runs[run][end] - self.runs[run][start]);
                }
                start = end;
            }
            sums
        };
        match over {
            IntervalUnit::Runs | IntervalUnit::Rows => {
                vec![self.runs.iter().map(|run| run[labels]).collect()]
            }
            IntervalUnit::Rounds => {
                let all: Vec<Vec<f64>> =
                    (0..self.runs.len()).map(|run| cut(run, &baselines[run].rounds)).collect();
                let rounds = all.first().map_or(0, Vec::len);
                vec![(0..rounds).map(|round| all.iter().map(|run| run[round]).sum()).collect()]
            }
            IntervalUnit::Folds => (0..self.runs.len()).map(|run| cut(run, &baselines[run].stages)).collect(),
        }
    }
}

/// The sums that all figures of a replay are made from.
pub(crate) struct ReplayMeasures<'a> {
    pub(crate) over: IntervalUnit,
    /// The baselines of the runs on all rows.
    pub(crate) baselines: &'a [RewardBaselines],
    pub(crate) uniform: CumulativeSums,
    pub(crate) best: CumulativeSums,
    pub(crate) picks: CumulativeSums,
    /// Standard deviation of the rewards.
    spread: f64,
    /// The least and the greatest reward.
    ends: (f64, f64),
}

impl<'a> ReplayMeasures<'a> {
    /// From the baselines of `runs` runs on all rows, followed by those of runs on halves.
    pub(crate) fn new(
        over: IntervalUnit,
        baselines: &'a [RewardBaselines],
        runs: usize,
        rewards: &[f64],
    ) -> ReplayMeasures<'a> {
        let n = rewards.len() as f64;
        let mean = rewards.iter().sum::<f64>() / n;
        let spread = (rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / n).sqrt();
        let ones: Vec<Vec<f64>> = baselines.iter().map(|run| vec![1.0; run.uniform.len()]).collect();
        ReplayMeasures {
            over,
            baselines: &baselines[..runs],
            uniform: CumulativeSums::of(baselines.iter().map(|run| &run.uniform[..]), runs),
            best: CumulativeSums::of(baselines.iter().map(|run| &run.best[..]), runs),
            picks: CumulativeSums::of(ones.iter().map(|run| &run[..]), runs),
            spread,
            ends: rewards.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &reward| {
                (low.min(reward), high.max(reward))
            }),
        }
    }

    fn paired(
        &self,
        above: (&CumulativeSums, &CumulativeSums),
        below: (&CumulativeSums, Option<&CumulativeSums>),
        labels: usize,
    ) -> Option<RatioEstimate> {
        let paired = |sums: &dyn Fn(&CumulativeSums) -> Vec<f64>| -> Vec<(f64, f64)> {
            let (a, b, c, d) = (sums(above.0), sums(above.1), sums(below.0), below.1.map(sums));
            let unit = |u: usize| {
                let (most, least) = (c[u], d.as_ref().map_or(0.0, |d| d[u]));
                // Equal up to rounding: nothing can be gained.
                let nothing = most - least <= 1e-12 * (most.abs() + least.abs());
                let more = a[u] - b[u];
                let equal = more.abs() <= 1e-12 * (a[u].abs() + b[u].abs());
                (if equal { 0.0 } else { more }, if nothing { 0.0 } else { most - least })
            };
            (0..a.len()).map(unit).collect()
        };
        let units = |sums: &CumulativeSums| sums.units(self.over, self.baselines, labels);
        let groups: Vec<Vec<(f64, f64)>> =
            (0..units(above.0).len()).map(|group| paired(&|sums| units(sums).swap_remove(group))).collect();
        let ratio = RatioEstimate::of(&groups)?;
        let of_files = self.over == IntervalUnit::Rows;
        Some(if of_files { ratio.over_files(&paired(&|sums| sums.of_halves(labels))) } else { ratio })
    }

    /// The largest change of an entrant's reward sum by one pick with another reward. 0 if the
    /// picks are certain or the interval does not allow for other rows.
    fn max_influence(&self, earned: &CumulativeSums, labels: usize) -> f64 {
        if !earned.picked || !self.over.generalizes_to_other_rows() {
            return 0.0;
        }
        let rewards =
            || earned.runs.iter().flat_map(|run| run[..=labels].windows(2).map(|two| two[1] - two[0]));
        let mean = earned.total(labels) / (labels * earned.runs.len()) as f64;
        let ends = (mean - self.ends.0, self.ends.1 - mean);
        let MaxInfluence { down, up } =
            MaxInfluence::of(std::iter::once((1.0, 1.0)), rewards().map(|r| r - mean), ends);
        down.max(up)
    }

    /// The gain of the best possible picks over random ones, per run.
    fn possible(&self, labels: usize) -> f64 {
        (self.best.total(labels) - self.uniform.total(labels)) / self.baselines.len() as f64
    }

    /// `(reward - uniform) / (best possible - uniform)` over the first `labels` labels. None if
    /// nothing can be gained.
    pub(crate) fn best_share(&self, earned: &CumulativeSums, labels: usize) -> Option<Interval> {
        let share = self.paired((earned, &self.uniform), (&self.best, Some(&self.uniform)), labels)?;
        Some(share.score_interval(self.max_influence(earned, labels) / self.possible(labels), labels as f64))
    }

    /// The difference of two best shares, paired by unit.
    pub(crate) fn difference(
        &self,
        one: &CumulativeSums,
        other: &CumulativeSums,
        labels: usize,
    ) -> Option<Interval> {
        let difference = self.paired((one, other), (&self.best, Some(&self.uniform)), labels)?;
        if difference.nothing && difference.variance == 0.0 && self.over.generalizes_to_other_rows() {
            // Half the width, t^2 b / 2 + sqrt(t^2 V + t^4 b^2 / 4), is t^2 b for V = 0. Here b is
            // the rewards' standard deviation over `possible`.
            let reach = difference.t * difference.t * self.spread / self.possible(labels);
            return Some(Interval::around(difference.mean, reach));
        }
        let max_influence = self.max_influence(one, labels).max(self.max_influence(other, labels));
        Some(difference.score_interval(max_influence / self.possible(labels), labels as f64))
    }

    /// The mean reward of the first `labels` picks.
    pub(crate) fn reward_per_pick(&self, earned: &CumulativeSums, labels: usize) -> Interval {
        let zeros = |all: &[Vec<f64>]| all.iter().map(|run| vec![0.0; run.len()]).collect();
        let nothing =
            CumulativeSums { runs: zeros(&earned.runs), halves: zeros(&earned.halves), picked: false };
        let worth = self.paired((earned, &nothing), (&self.picks, None), labels);
        worth.map_or(Interval::around(f64::NAN, f64::INFINITY), |worth| {
            worth.score_interval(self.max_influence(earned, labels) / labels as f64, labels as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's interval of a ratio.
    fn ratio(groups: &[Vec<(f64, f64)>]) -> Option<Interval> {
        RatioEstimate::of(groups).map(|ratio| ratio.student())
    }

    #[test]
    fn a_ratio_of_equal_denominators_is_a_mean_with_students_interval() {
        let units = vec![(1.0, 2.0), (2.0, 2.0), (6.0, 2.0), (4.0, 2.0)];
        let (found, expected) = (ratio(&[units]).unwrap(), Interval::of(&[0.5, 1.0, 3.0, 2.0]));
        assert!((found.mean - expected.mean).abs() < 1e-12);
        assert!((found.half_width() - expected.half_width()).abs() < 1e-12);
    }

    #[test]
    fn repetitions_do_not_narrow_an_interval_over_rows() {
        let units = vec![(1.0, 2.0), (2.0, 3.0), (6.0, 4.0), (5.0, 4.0)];
        let (once, thrice) =
            (ratio(std::slice::from_ref(&units)).unwrap(), ratio(&vec![units.clone(); 3]).unwrap());
        assert!(
            (once.half_width() - thrice.half_width()).abs() < 1e-12
                && (once.mean - thrice.mean).abs() < 1e-12
        );
    }

    #[test]
    fn nothing_to_gain_is_no_share_and_few_units_no_interval() {
        assert_eq!(ratio(&[vec![(0.0, 0.0), (0.0, 0.0)]]), None);
        for few in [vec![(1.0, 2.0)], vec![(0.0, 2.0), (3.0, 4.0)], vec![(0.0, 2.0), (2.0, 2.0), (1.0, 2.0)]]
        {
            assert_eq!(ratio(&[few]).unwrap(), Interval::around(0.5, f64::INFINITY));
        }
    }

    #[test]
    fn what_is_equal_but_for_rounding_is_exact() {
        let units = vec![(0.1 + 0.2, 1.0), (0.3, 1.0), (0.3, 1.0), (0.3, 1.0), (0.3, 1.0)];
        assert_eq!(ratio(&[units]).unwrap().half_width(), 0.0);
    }

    /// Five hits of five picks: the lower end is Wilson's.
    #[test]
    fn all_right_has_the_interval_of_a_count() {
        let found = RatioEstimate::of(&[vec![(1.0, 1.0); 5]]).unwrap().score_interval(1.0 / 5.0, 5.0);
        assert!((found.low - 5.0 / (5.0 + Z * Z)).abs() < 1e-12, "{found:?}");
        // Repetitions do not narrow it. If the influence is 0, the interval has no width.
        let thrice = RatioEstimate::of(&vec![vec![(1.0, 1.0); 5]; 3]).unwrap();
        assert_eq!(thrice.score_interval(1.0 / 5.0, 5.0), found);
        assert_eq!(thrice.score_interval(0.0, 5.0), Interval::around(1.0, 0.0));
    }

    /// If the data have a wide spread, the interval is wider than Student's by less than 1%.
    #[test]
    fn what_was_met_is_students() {
        let met: Vec<(f64, f64)> = (0..50).map(|i| (f64::from(i % 7), 4.0)).collect();
        let ratio = RatioEstimate::of(&[met]).unwrap();
        let (counted, student) = (ratio.score_interval(1.0 / 200.0, 50.0), ratio.student());
        assert!(counted.half_width() / student.half_width() < 1.01, "{counted:?} {student:?}");
    }
}
