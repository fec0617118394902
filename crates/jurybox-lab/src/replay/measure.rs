//! From what was earned to figures with intervals.
//!
//! The best share is a ratio of sums: what a player earned above a random pick, over what the best possible picks would
//! have earned above it, each summed over all runs. A mean of the runs' own ratios would give a run in which there was
//! little to find as much say as one with much. The interval is that of a ratio, linearised: with `d_u = gain_u - share *
//! possible_u` of each unit u, it is Student's t times the standard error of the sum of the d, over the sum of the possible.
//! Differences between two players are differences of gains over the same sum, unit by unit.
//!
//! Two players who earned the same in every unit leave no spread to measure, but other rows could still part them: one row
//! picked otherwise moves the figure by about the rewards' standard deviation over what could be gained, the size of a jump
//! that none of the units has met. Their interval is as wide as such jumps can make it.

use super::course::Offered;
use super::play::Played;
use jurybox::Interval;
use jurybox::toolbox::student_95;

/// Units below which no interval is given: from two or three, a spread is a guess.
const LEAST_UNITS: usize = 4;

/// What an interval is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Runs,
    Rounds,
    Folds,
}

impl Over {
    /// Whether the units stand for rows that are not in the file. Runs are draws of the rows that are.
    fn are_of_other_rows(self) -> bool {
        self != Over::Runs
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Over::Runs => "runs",
            Over::Rounds => "rounds",
            Over::Folds => "folds",
        }
    }

    /// What an interval over these covers, and what it does not.
    pub(crate) fn covers(self) -> &'static str {
        match self {
            Over::Runs => "over runs: the draws of rows and their order, not other files",
            Over::Rounds => "over rounds: other rounds like these, if one round does not depend on another",
            Over::Folds => {
                "over folds: other rows like these, roughly, because folds share what they learn from"
            }
        }
    }
}

/// A ratio of sums with its interval, from units in one or several groups. Several groups are repetitions on the same rows:
/// they make the ratio steadier, but each of them is as uncertain as the other, so that their variances are averaged.
///
/// `jump` is what one row more or less moves the numerator by, for where nothing above the line differs from zero; 0 where
/// that is exact.
pub(crate) fn ratio(groups: &[Vec<(f64, f64)>], jump: f64) -> Option<Interval> {
    let sum =
        |units: &[(f64, f64)]| units.iter().fold((0.0, 0.0), |sum, unit| (sum.0 + unit.0, sum.1 + unit.1));
    let total =
        groups.iter().map(|units| sum(units)).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let mean = total.0 / total.1;
    if total.1 <= 0.0 || !mean.is_finite() {
        return None;
    }
    let smallest = groups.iter().map(Vec::len).min().unwrap_or(0);
    if smallest < LEAST_UNITS {
        return Some(Interval::around(mean, f64::INFINITY));
    }
    let t = student_95(smallest - 1);
    if groups.iter().flatten().all(|unit| unit.0 == 0.0) {
        // The reach t^2 b / 2 + sqrt(t^2 V + t^4 b^2 / 4) of jumps of size b around a figure of variance V, at V = 0.
        let size = jump * groups.len() as f64 / total.1;
        return Some(Interval::around(mean, t * t * size));
    }
    let variance = groups.iter().map(|units| {
        let (n, below) = (units.len() as f64, sum(units).1);
        // The d of a group add up to zero but for what the group differs from the others.
        let off: Vec<f64> = units.iter().map(|unit| unit.0 - mean * unit.1).collect();
        let centre = off.iter().sum::<f64>() / n;
        n / (n - 1.0) * off.iter().map(|d| (d - centre).powi(2)).sum::<f64>() / (below * below)
    });
    let variance = variance.sum::<f64>() / groups.len() as f64;
    let half_width = t * variance.sqrt();
    // What is the same in every unit is exact; what is left of it by rounding is nothing.
    let size =
        groups.iter().flatten().map(|unit| unit.0.abs() + (mean * unit.1).abs()).sum::<f64>() / total.1;
    Some(Interval::around(mean, if half_width > 1e-12 * size { half_width } else { 0.0 }))
}

/// Sums of one quantity, run by run and label by label.
pub(crate) struct Sums {
    /// For each run, the sum up to each label, beginning with none.
    runs: Vec<Vec<f64>>,
}

impl Sums {
    pub(crate) fn of<'a>(runs: impl Iterator<Item = &'a [f64]>) -> Sums {
        let up_to = |values: &[f64]| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend(values.iter().map(|value| {
                sum += value;
                sum
            }));
            sums
        };
        Sums { runs: runs.map(up_to).collect() }
    }

    pub(crate) fn of_played(played: &[Played]) -> Sums {
        Sums::of(played.iter().map(|run| &run.rewards[..]))
    }

    /// The sum over all runs.
    pub(crate) fn total(&self, labels: usize) -> f64 {
        self.runs.iter().map(|run| run[labels]).sum()
    }

    /// The sums of each unit within the first labels, unit by unit.
    fn units(&self, over: Over, offered: &[Offered], labels: usize) -> Vec<Vec<f64>> {
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
            Over::Runs => vec![self.runs.iter().map(|run| run[labels]).collect()],
            Over::Rounds => {
                let all: Vec<Vec<f64>> =
                    (0..self.runs.len()).map(|run| cut(run, &offered[run].rounds)).collect();
                let rounds = all.first().map_or(0, Vec::len);
                vec![(0..rounds).map(|round| all.iter().map(|run| run[round]).sum()).collect()]
            }
            Over::Folds => (0..self.runs.len()).map(|run| cut(run, &offered[run].stages)).collect(),
        }
    }
}

/// All that figures are made from.
pub(crate) struct Measures<'a> {
    pub(crate) over: Over,
    pub(crate) offered: &'a [Offered],
    pub(crate) uniform: Sums,
    pub(crate) best: Sums,
    pub(crate) picks: Sums,
    /// The standard deviation of the rewards, where the intervals are of other rows; else 0.
    jump: f64,
}

impl<'a> Measures<'a> {
    pub(crate) fn new(over: Over, offered: &'a [Offered], rewards: &[f64]) -> Measures<'a> {
        let n = rewards.len() as f64;
        let mean = rewards.iter().sum::<f64>() / n;
        let spread = (rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / n).sqrt();
        let ones: Vec<Vec<f64>> = offered.iter().map(|run| vec![1.0; run.uniform.len()]).collect();
        Measures {
            over,
            offered,
            uniform: Sums::of(offered.iter().map(|run| &run.uniform[..])),
            best: Sums::of(offered.iter().map(|run| &run.best[..])),
            picks: Sums::of(ones.iter().map(|run| &run[..])),
            jump: if over.are_of_other_rows() { spread } else { 0.0 },
        }
    }

    fn paired(
        &self,
        above: (&Sums, &Sums),
        below: (&Sums, Option<&Sums>),
        labels: usize,
        jump: f64,
    ) -> Option<Interval> {
        let units = |sums: &Sums| sums.units(self.over, self.offered, labels);
        let (a, b, c, d) = (units(above.0), units(above.1), units(below.0), below.1.map(units));
        let groups: Vec<Vec<(f64, f64)>> = (0..a.len())
            .map(|g| {
                let unit = |u: usize| {
                    let (most, least) = (c[g][u], d.as_ref().map_or(0.0, |d| d[g][u]));
                    // What is left of two equal sums by rounding is nothing.
                    let nothing = most - least <= 1e-12 * (most.abs() + least.abs());
                    let more = a[g][u] - b[g][u];
                    let equal = more.abs() <= 1e-12 * (a[g][u].abs() + b[g][u].abs());
                    (if equal { 0.0 } else { more }, if nothing { 0.0 } else { most - least })
                };
                (0..a[g].len()).map(unit).collect()
            })
            .collect();
        ratio(&groups, jump)
    }

    /// `(reward - uniform) / (best possible - uniform)` after so many labels; None where there is nothing to gain.
    pub(crate) fn best_share(&self, earned: &Sums, labels: usize) -> Option<Interval> {
        self.paired((earned, &self.uniform), (&self.best, Some(&self.uniform)), labels, 0.0)
    }

    /// The best share of one minus that of another, unit by unit.
    pub(crate) fn difference(&self, one: &Sums, other: &Sums, labels: usize) -> Option<Interval> {
        self.paired((one, other), (&self.best, Some(&self.uniform)), labels, self.jump)
    }

    /// What a pick was worth.
    pub(crate) fn reward_per_pick(&self, earned: &Sums, labels: usize) -> Interval {
        let nothing = Sums { runs: earned.runs.iter().map(|run| vec![0.0; run.len()]).collect() };
        let estimate = self.paired((earned, &nothing), (&self.picks, None), labels, 0.0);
        estimate.unwrap_or(Interval::around(f64::NAN, f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_equal_denominators_is_a_mean_with_students_interval() {
        let units = vec![(1.0, 2.0), (2.0, 2.0), (6.0, 2.0), (4.0, 2.0)];
        let (found, expected) = (ratio(&[units], 0.0).unwrap(), Interval::of(&[0.5, 1.0, 3.0, 2.0]));
        assert!((found.mean - expected.mean).abs() < 1e-12);
        assert!((found.half_width() - expected.half_width()).abs() < 1e-12);
    }

    #[test]
    fn repetitions_do_not_narrow_an_interval_over_rows() {
        let units = vec![(1.0, 2.0), (2.0, 3.0), (6.0, 4.0), (5.0, 4.0)];
        let (once, thrice) =
            (ratio(std::slice::from_ref(&units), 0.0).unwrap(), ratio(&vec![units.clone(); 3], 0.0).unwrap());
        assert!(
            (once.half_width() - thrice.half_width()).abs() < 1e-12
                && (once.mean - thrice.mean).abs() < 1e-12
        );
    }

    #[test]
    fn nothing_to_gain_is_no_share_and_few_units_no_interval() {
        assert_eq!(ratio(&[vec![(0.0, 0.0), (0.0, 0.0)]], 0.0), None);
        for few in [vec![(1.0, 2.0)], vec![(0.0, 2.0), (3.0, 4.0)], vec![(0.0, 2.0), (2.0, 2.0), (1.0, 2.0)]]
        {
            assert_eq!(ratio(&[few], 0.0).unwrap(), Interval::around(0.5, f64::INFINITY));
        }
    }

    #[test]
    fn what_is_equal_but_for_rounding_is_exact() {
        let units = vec![(0.1 + 0.2, 1.0), (0.3, 1.0), (0.3, 1.0), (0.3, 1.0), (0.3, 1.0)];
        assert_eq!(ratio(&[units], 0.0).unwrap().half_width(), 0.0);
    }

    #[test]
    fn nothing_met_is_not_nothing_possible() {
        let zeros = vec![(0.0, 4.0); 5];
        let t = student_95(4);
        // One row of spread 2 of the 20 that could be gained; repetitions do not change that.
        for groups in [vec![zeros.clone()], vec![zeros.clone(); 3]] {
            let found = ratio(&groups, 2.0).unwrap();
            assert!(found.mean == 0.0 && (found.half_width() - t * t * 0.1).abs() < 1e-12, "{found:?}");
            assert_eq!(ratio(&groups, 0.0).unwrap().half_width(), 0.0);
        }
        // A spread that was met is Student's, as ever.
        let met = vec![(1.0, 4.0), (0.0, 4.0), (0.0, 4.0), (0.0, 4.0)];
        assert_eq!(ratio(std::slice::from_ref(&met), 2.0), ratio(&[met], 0.0));
    }
}
