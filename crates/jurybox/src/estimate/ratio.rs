//! The ratio estimator of the gains in EvalBasedUCB (Alg. 4 of "Top K Ranking for Multi-Armed
//! Bandit with Noisy Evaluations"): the sum of the picked items' scores over the sum of rewards.

use super::{MOST_COUNTED, Statistic, add_all, are_sums, is_sum, is_sum_of_squares, selected};
use serde::{Deserialize, Serialize};

/// `alpha_j = sum g^-1(phi_j) / sum r`, over the examples that evaluator j scored. Here g is the
/// link, phi_j the score and r the reward.
///
/// ```
/// use jurybox::estimate::Ratio;
///
/// let mut ratio = Ratio::new(2);
/// ratio.learn(&[1.0, 4.0], 2.0);
/// ratio.learn(&[2.0, f64::NAN], 1.0);
/// assert_eq!(ratio.alpha(), [1.0, 2.0]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    examples: u64,
    scores: Vec<f64>,
    rewards: Vec<f64>,
    reward: f64,
    reward_square: f64,
}

impl Ratio {
    /// An estimate without examples.
    pub fn new(evaluators: usize) -> Self {
        Ratio {
            examples: 0,
            scores: vec![0.0; evaluators],
            rewards: vec![0.0; evaluators],
            reward: 0.0,
            reward_square: 0.0,
        }
    }

    /// Adds one item's scores on the scale of g^-1 (NaN = missing) and its reward.
    pub fn learn(&mut self, scores: &[f64], reward: f64) {
        self.examples += 1;
        self.reward += reward;
        self.reward_square += reward * reward;
        for (j, &x) in scores.iter().enumerate() {
            if !x.is_nan() {
                self.scores[j] += x;
                self.rewards[j] += reward;
            }
        }
    }

    /// The estimates of alpha; zero where the rewards sum to zero.
    pub fn alpha(&self) -> Vec<f64> {
        let mut alpha = Vec::new();
        self.alpha_into(&mut alpha);
        alpha
    }

    pub(crate) fn alpha_into(&self, alpha: &mut Vec<f64>) {
        alpha.clear();
        alpha.extend(self.scores.iter().zip(&self.rewards).map(|(s, r)| if *r == 0.0 { 0.0 } else { s / r }));
    }

    /// The number of examples.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// The sum of the rewards of all examples.
    pub fn reward(&self) -> f64 {
        self.reward
    }

    /// Mean and variance of the rewards; zeros for fewer than two examples.
    pub(crate) fn reward_law(&self) -> (f64, f64) {
        let n = self.examples as f64;
        if self.examples < 2 {
            return (0.0, 0.0);
        }
        (self.reward / n, (self.reward_square - self.reward * self.reward / n) / (n - 1.0))
    }
}

impl Statistic for Ratio {
    fn merge(&mut self, other: &Self) {
        self.examples = self.examples.saturating_add(other.examples);
        self.reward += other.reward;
        self.reward_square += other.reward_square;
        add_all(&mut self.scores, &other.scores);
        add_all(&mut self.rewards, &other.rewards);
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        Ratio {
            scores: selected(&self.scores, columns, 0.0),
            rewards: selected(&self.rewards, columns, 0.0),
            ..self.clone()
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.examples <= MOST_COUNTED
            && are_sums(&self.scores, evaluators)
            && are_sums(&self.rewards, evaluators)
            && is_sum(self.reward)
            && is_sum_of_squares(self.reward_square)
    }
}
