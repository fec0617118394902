//! Three readings of each evaluator in each round, which show a change of the evaluator without
//! labels.
//!
//! - *Spread*: the logarithm of the variance of its scores within the round.
//! - *Agreement*: Fisher's z of the correlation, within the round, between its scores and the mean
//!   of the other evaluators' standardised scores.
//! - *Varying*: whether its scores differ at all. If not, there is no reading of spread and
//!   agreement.
//!
//! Spread and agreement do not depend on the evaluator's offset or on how good the round's items
//! are overall. A new noise level changes both, new units change spread, and an evaluator that
//! fails or changes direction changes agreement. Both are corrected for the bias of small rounds
//! under normal scores, so that rounds may vary in size. Of a large round every n-th item is used.

use super::{Statistic, add_all, are_counts, are_sums, are_sums_of_squares, is_count};
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// Readings per evaluator.
pub(crate) const READINGS: usize = 3;

/// For each evaluator and reading: the number of rounds with a reading, the sum, and the sum of
/// squares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pulse {
    /// Rounds that were observed, with or without readings.
    rounds: f64,
    count: Vec<f64>,
    sum: Vec<f64>,
    square: Vec<f64>,
}

/// Number, mean and variance of one reading over several rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Readings {
    pub(crate) rounds: f64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

/// Evaluators with fewer scores than this in a round have no reading.
const LEAST_SCORES: f64 = 5.0;
/// At most this many items of a round are used; more would hardly make a reading more precise.
const MOST_ITEMS: usize = 1024;

impl Pulse {
    pub(crate) fn new(evaluators: usize) -> Self {
        let none = vec![0.0; READINGS * evaluators];
        Pulse { rounds: 0.0, count: none.clone(), sum: none.clone(), square: none }
    }

    /// Adds the readings of a round.
    pub(crate) fn observe(&mut self, scores: &Scores<'_>) {
        self.rounds += 1.0;
        let width = scores.evaluators();
        let step = scores.items().div_ceil(MOST_ITEMS).max(1);
        let (mut count, mut mean, mut spread) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        if scores.is_complete() {
            // Complete rounds need no check for missing scores, so all evaluators of a row are
            // updated together.
            let mut rows = 0.0;
            for row in scores.rows().step_by(step) {
                rows += 1.0;
                for ((&x, mean), spread) in row.iter().zip(&mut mean).zip(&mut spread) {
                    let delta = x - *mean;
                    *mean += delta / rows;
                    *spread += delta * (x - *mean);
                }
            }
            count.fill(rows);
        } else {
            for row in scores.rows().step_by(step) {
                for (j, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                    count[j] += 1.0;
                    let delta = x - mean[j];
                    mean[j] += delta / count[j];
                    spread[j] += delta * (x - mean[j]);
                }
            }
        }
        let usable = |j: usize| count[j] >= LEAST_SCORES && spread[j] > 1e-18 * count[j] * mean[j] * mean[j];
        let scale: Vec<f64> =
            (0..width).map(|j| if usable(j) { (count[j] / spread[j]).sqrt() } else { 0.0 }).collect();
        // Per evaluator: the sum of its standardised score times the mean of the others in the same
        // row, and the sum of the squares of this mean.
        let (mut product, mut others) = (vec![0.0; width], vec![0.0; width]);
        let all_usable = scores.is_complete() && width > 1 && scale.iter().all(|scale| *scale > 0.0);
        let mut own = vec![0.0; width];
        for row in scores.rows().step_by(step) {
            if all_usable {
                let standard =
                    row.iter().zip(mean.iter().zip(&scale)).map(|(x, (mean, scale))| (x - mean) * scale);
                own.iter_mut().zip(standard).for_each(|(own, x)| *own = x);
                let sum = own.iter().fold(0.0, |sum, x| sum + x);
                for ((own, product), others) in own.iter().zip(&mut product).zip(&mut others) {
                    let rest = (sum - own) / (width as f64 - 1.0);
                    *product += own * rest;
                    *others += rest * rest;
                }
                continue;
            }
            let (mut sum, mut present) = (0.0, 0.0);
            for (j, &x) in row.iter().enumerate().filter(|(j, x)| !x.is_nan() && scale[*j] > 0.0) {
                sum += (x - mean[j]) * scale[j];
                present += 1.0;
            }
            if present < 2.0 {
                continue;
            }
            for (j, &x) in row.iter().enumerate().filter(|(j, x)| !x.is_nan() && scale[*j] > 0.0) {
                let own = (x - mean[j]) * scale[j];
                let rest = (sum - own) / (present - 1.0);
                product[j] += own * rest;
                others[j] += rest * rest;
            }
        }
        for j in (0..width).filter(|&j| count[j] >= LEAST_SCORES) {
            self.take(j, 2, f64::from(u8::from(usable(j))));
        }
        for j in (0..width).filter(|&j| usable(j)) {
            let freedom = count[j] - 1.0;
            self.take(j, 0, (spread[j] / freedom).ln() + shortfall(freedom));
            if others[j] > 0.0 {
                let correlation = (product[j] / (others[j] * count[j]).sqrt()).clamp(-0.999_999, 0.999_999);
                self.take(j, 1, correlation.atanh() - correlation / (2.0 * freedom));
            }
        }
    }

    fn take(&mut self, evaluator: usize, reading: usize, value: f64) {
        let at = READINGS * evaluator + reading;
        self.count[at] += 1.0;
        self.sum[at] += value;
        self.square[at] += value * value;
    }

    /// The number of rounds observed.
    pub(crate) fn rounds(&self) -> f64 {
        self.rounds
    }

    pub(crate) fn of(&self, evaluator: usize, reading: usize) -> Readings {
        let at = READINGS * evaluator + reading;
        let rounds = self.count[at];
        if rounds < 1.0 {
            return Readings::default();
        }
        let mean = self.sum[at] / rounds;
        Readings { rounds, mean, variance: (self.square[at] / rounds - mean * mean).max(0.0) }
    }
}

/// ln(x) - digamma(x) for x = freedom / 2, by its asymptotic series. For normal data the log of a
/// sample variance lies this far below the log of the true variance on average.
fn shortfall(freedom: f64) -> f64 {
    let x = freedom / 2.0;
    (0.5 + (1.0 / 12.0 - 1.0 / (120.0 * x * x)) / x) / x
}

impl Statistic for Pulse {
    fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        add_all(&mut self.count, &other.count);
        add_all(&mut self.sum, &other.sum);
        add_all(&mut self.square, &other.square);
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let mut out = Pulse { rounds: self.rounds, ..Pulse::new(columns.len()) };
        for (to, from) in columns.iter().enumerate().filter_map(|(to, from)| Some((to, (*from)?))) {
            for reading in 0..READINGS {
                let (to, from) = (READINGS * to + reading, READINGS * from + reading);
                out.count[to] = self.count[from];
                out.sum[to] = self.sum[from];
                out.square[to] = self.square[from];
            }
        }
        out
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        let len = READINGS * evaluators;
        is_count(self.rounds)
            && are_counts(&self.count, len)
            && are_sums(&self.sum, len)
            && are_sums_of_squares(&self.square, len)
    }
}
