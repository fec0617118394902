//! The running mean of all scores seen, chosen or not: what ESAG learns (Alg. 2, Lemma "error alpha linear").

use super::{Statistic, finite};
use crate::kernel;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// Count, mean and spread of each evaluator's scores.
///
/// ```
/// use jurybox::{Scores, estimate::Mean};
///
/// let mut mean = Mean::new(2);
/// mean.observe(&Scores::new(&[1.0, 10.0, 3.0, f64::NAN], 2)?);
/// assert_eq!(mean.means(), [2.0, 10.0]);
/// assert_eq!(mean.count(1), 1); // a missing score is not a zero
/// assert_eq!(mean.variance(0), Some(2.0));
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    count: Vec<u64>,
    mean: Vec<f64>,
    /// Sum of squared deviations from the mean.
    spread: Vec<f64>,
    /// Room for one round's sums.
    #[serde(skip)]
    round: (Vec<f64>, Vec<f64>),
}

impl Mean {
    /// Nothing seen yet.
    pub fn new(evaluators: usize) -> Self {
        Mean {
            count: vec![0; evaluators],
            mean: vec![0.0; evaluators],
            spread: vec![0.0; evaluators],
            round: (Vec::new(), Vec::new()),
        }
    }

    /// Takes in every score of a round.
    pub fn observe(&mut self, scores: &Scores<'_>) {
        if scores.items() == 0 {
            return;
        }
        if !scores.is_complete() {
            for row in scores.rows() {
                for (j, &x) in row.iter().enumerate() {
                    if !x.is_nan() {
                        self.absorb(j, 1, x, 0.0);
                    }
                }
            }
            return;
        }
        // The sums are taken around the present mean, so that a large offset costs no digits.
        if self.count.iter().all(|&n| n == 0) {
            self.mean.copy_from_slice(scores.row(0));
        }
        let (mut sum, mut square) = std::mem::take(&mut self.round);
        for buffer in [&mut sum, &mut square] {
            buffer.clear();
            buffer.resize(self.mean.len(), 0.0);
        }
        kernel::shifted_moments(scores.values(), &self.mean, &mut sum, &mut square);
        let n = scores.items() as u64;
        for j in 0..self.mean.len() {
            self.count[j] += n;
            let step = sum[j] / self.count[j] as f64;
            self.mean[j] += step;
            self.spread[j] += (square[j] - sum[j] * step).max(0.0);
        }
        self.round = (sum, square);
    }

    /// Adds `count` scores of evaluator `j` with that mean and spread (Chan, Golub and LeVeque's update).
    fn absorb(&mut self, j: usize, count: u64, mean: f64, spread: f64) {
        if count == 0 {
            return;
        }
        let total = self.count[j] + count;
        let delta = mean - self.mean[j];
        let share = count as f64 / total as f64;
        self.spread[j] += spread + delta * delta * self.count[j] as f64 * share;
        self.mean[j] += delta * share;
        self.count[j] = total;
    }

    /// The mean of each evaluator's scores; zero before its first.
    pub fn means(&self) -> &[f64] {
        &self.mean
    }

    /// How many scores evaluator `j` has given.
    pub fn count(&self, j: usize) -> u64 {
        self.count[j]
    }

    /// The unbiased variance of evaluator `j`'s scores, from two scores on.
    pub fn variance(&self, j: usize) -> Option<f64> {
        (self.count[j] >= 2).then(|| self.spread[j] / (self.count[j] - 1) as f64)
    }
}

impl Statistic for Mean {
    fn merge(&mut self, other: &Self) {
        for j in 0..self.mean.len() {
            self.absorb(j, other.count[j], other.mean[j], other.spread[j]);
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.count.len() == evaluators
            && finite(&self.mean, evaluators)
            && finite(&self.spread, evaluators)
            && self.spread.iter().all(|&s| s >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_plain_mean_and_variance_even_far_from_zero() {
        let mut mean = Mean::new(1);
        let values: Vec<f64> = (0..1000).map(|i| 1e9 + f64::from(i % 7)).collect();
        for round in values.chunks(10) {
            mean.observe(&Scores::new(round, 1).unwrap());
        }
        let plain = values.iter().map(|v| v - 1e9).sum::<f64>() / 1000.0;
        let variance = values.iter().map(|v| (v - 1e9 - plain).powi(2)).sum::<f64>() / 999.0;
        assert!((mean.means()[0] - 1e9 - plain).abs() < 1e-6);
        assert!((mean.variance(0).unwrap() - variance).abs() < 1e-6);
    }

    #[test]
    fn an_empty_round_changes_nothing() {
        let mut mean = Mean::new(2);
        mean.observe(&Scores::new(&[], 2).unwrap());
        assert_eq!(mean, Mean::new(2));
        assert_eq!(mean.variance(0), None);
    }
}
