//! How sure the model is: of each weight, and of each item's reward.

use super::model::Model;
use crate::matrix::{Cholesky, Symmetric};
use crate::normal;
use crate::toolbox::{GOLDEN, Interval, scatter};

/// Second moments of what is not known.
#[derive(Debug, Clone)]
pub(crate) struct Uncertainty {
    /// Posterior covariance of the weights of all features, row by row.
    covariance: Vec<f64>,
    /// Variance of the reward around its expectation.
    noise: f64,
}

impl Uncertainty {
    pub(crate) fn of(model: &Model) -> Self {
        let n = model.weights.len();
        let (mut covariance, mut noise) = (vec![0.0; n * n], 0.0);
        for part in &model.parts {
            let own = part.regression.covariance();
            let m = part.keep.len();
            let mut off: Vec<f64> = model.weights.iter().map(|w| -w).collect();
            for (a, i) in part.keep.clone().enumerate() {
                off[i] += part.regression.weights[a];
                for (b, j) in part.keep.clone().enumerate() {
                    covariance[i * n + j] += part.share * own[a * m + b];
                }
            }
            for i in 0..n {
                for j in 0..n {
                    covariance[i * n + j] += part.share * off[i] * off[j];
                }
            }
            noise += part.share * part.regression.noise;
        }
        Uncertainty { covariance, noise }
    }

    /// Each evaluator's effect on the expected reward per unit of its score, averaged over its scores.
    pub(crate) fn weights(&self, model: &Model, level: f64) -> Vec<Interval> {
        let n = model.weights.len();
        (0..model.landscape.width())
            .map(|j| {
                let scale = model.landscape.scale[j];
                let mut variance = 0.0;
                for (i, a) in model.effect(j) {
                    for (k, b) in model.effect(j) {
                        variance += a * b * self.covariance[i * n + k];
                    }
                }
                interval(scale * model.slope(j), scale * scale * variance, level)
            })
            .collect()
    }

    /// Where the reward of an item will lie.
    pub(crate) fn predict(&self, model: &Model, row: &[f64], level: f64) -> Interval {
        let mut features = Vec::new();
        let mean = model.value(row, &mut features);
        let n = features.len();
        let off: Vec<f64> = features.iter().zip(&model.centre).map(|(x, c)| x - c).collect();
        let mut variance = self.noise * (1.0 + 1.0 / model.labels.max(1.0)) + model.unseen(row);
        for i in 0..n {
            for j in 0..n {
                variance += off[i] * self.covariance[i * n + j] * off[j];
            }
        }
        let by_lines = interval(mean, variance, level);
        match &model.levels {
            Some(levels) => levels.predict(&model.landscape, row, &by_lines, level),
            None => by_lines,
        }
    }

    /// Weights drawn from the posterior, taken as normal: the same ones every time for the same model.
    pub(crate) fn draws(&self, model: &Model, count: usize) -> Vec<Vec<f64>> {
        let n = model.weights.len();
        let mut matrix = Symmetric::zeros(n);
        let mut trace = 0.0;
        for i in 0..n {
            trace += self.covariance[i * n + i];
            for j in 0..=i {
                matrix.set(i, j, self.covariance[i * n + j]);
            }
        }
        let mut factor = Cholesky::default();
        if !factor.factor(&matrix, 1e-9 * trace + 1e-300) {
            return vec![model.weights.clone(); count];
        }
        let mut seed = GOLDEN;
        let mut deviate = || {
            seed = seed.wrapping_add(GOLDEN);
            normal::quantile(((scatter(seed) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64)
        };
        (0..count)
            .map(|_| {
                let noise: Vec<f64> = (0..n).map(|_| deviate()).collect();
                let mut draw = factor.times(&noise);
                crate::estimate::add_all(&mut draw, &model.weights);
                draw
            })
            .collect()
    }
}

/// The middle `level` of a normal law.
fn interval(mean: f64, variance: f64, level: f64) -> Interval {
    Interval::around(mean, normal::quantile(0.5 + 0.5 * level) * variance.max(0.0).sqrt())
}
