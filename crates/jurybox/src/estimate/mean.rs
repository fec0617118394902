//! The running mean of all scores, whether their items were picked or not. `esag` uses it (Alg. 2
//! of "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations", Lemma "error alpha linear").

use super::{Statistic, are_means, are_whole_counts, selected};
use crate::kernel;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// Count and mean of each evaluator's scores.
///
/// ```
/// use jurybox::{Scores, estimate::Mean};
///
/// let mut mean = Mean::new(2);
/// mean.observe(&Scores::new(&[1.0, 10.0, 3.0, f64::NAN], 2)?);
/// assert_eq!(mean.means(), [2.0, 10.0]);
/// assert_eq!(mean.count(1), 1); // a missing score is not a zero
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    count: Vec<u64>,
    mean: Vec<f64>,
    /// A buffer for one round's sums.
    #[serde(skip)]
    sum: Vec<f64>,
}

impl Mean {
    /// Means of no scores.
    pub fn new(evaluators: usize) -> Self {
        Mean { count: vec![0; evaluators], mean: vec![0.0; evaluators], sum: Vec::new() }
    }

    /// Adds all scores of a round.
    pub fn observe(&mut self, scores: &Scores<'_>) {
        if !scores.is_complete() {
            for row in scores.rows() {
                for (j, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                    self.absorb(j, 1, x);
                }
            }
            return;
        }
        self.sum.clear();
        self.sum.resize(self.mean.len(), 0.0);
        kernel::column_sums(scores.values(), &mut self.sum);
        let items = scores.items() as u64;
        // Evaluators with equal counts share one division.
        let (mut total, mut share) = (0, 0.0);
        for j in 0..self.mean.len() {
            self.count[j] += items;
            if self.count[j] != total {
                total = self.count[j];
                share = 1.0 / total as f64;
            }
            self.mean[j] += (self.sum[j] - items as f64 * self.mean[j]) * share;
        }
    }

    /// Adds `count` scores of evaluator `j` with this mean.
    fn absorb(&mut self, j: usize, count: u64, mean: f64) {
        if count > 0 {
            self.count[j] = self.count[j].saturating_add(count);
            self.mean[j] += (mean - self.mean[j]) * (count as f64 / self.count[j] as f64);
        }
    }

    /// The mean of each evaluator's scores; zero before the first.
    pub fn means(&self) -> &[f64] {
        &self.mean
    }

    /// The number of scores of evaluator `j`.
    pub fn count(&self, j: usize) -> u64 {
        self.count[j]
    }
}

impl Statistic for Mean {
    fn merge(&mut self, other: &Self) {
        for j in 0..self.mean.len() {
            self.absorb(j, other.count[j], other.mean[j]);
        }
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        Mean {
            count: selected(&self.count, columns, 0),
            mean: selected(&self.mean, columns, 0.0),
            sum: Vec::new(),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        are_whole_counts(&self.count, evaluators) && are_means(&self.mean, evaluators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_plain_mean_even_far_from_zero() {
        let mut mean = Mean::new(1);
        let values: Vec<f64> = (0..1000).map(|i| 1e9 + f64::from(i % 7)).collect();
        for round in values.chunks(10) {
            mean.observe(&Scores::new(round, 1).unwrap());
        }
        let plain = values.iter().map(|v| v - 1e9).sum::<f64>() / 1000.0;
        assert!((mean.means()[0] - 1e9 - plain).abs() < 1e-6);
    }

    #[test]
    fn an_empty_round_changes_nothing() {
        let mut mean = Mean::new(2);
        mean.observe(&Scores::new(&[], 2).unwrap());
        assert_eq!(mean.means(), [0.0, 0.0]);
        assert_eq!(mean.count(0), 0);
    }
}
