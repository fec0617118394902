//! How sure the model is of each item's reward.

use super::model::Model;
use crate::matrix::{Cholesky, Symmetric};
use crate::normal;
use crate::toolbox::{GOLDEN, Interval, scatter, student_quantile};

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

    /// How many standard deviations an interval reaches: the noise is known no better than from so many rewards. One by itself says
    /// nothing of how far they lie apart, and nor do several that are all the same.
    pub(crate) fn reach(&self, model: &Model, level: f64) -> f64 {
        if model.labels < 2.0 || self.noise <= 0.0 {
            return f64::INFINITY;
        }
        student_quantile(0.5 + 0.5 * level, model.labels - 1.0)
    }

    /// Where the reward of an item will lie at a level, as many standard deviations to both sides as that reaches.
    pub(crate) fn predict(&self, model: &Model, row: &[f64], level: f64, reach: f64) -> Interval {
        let mut features = Vec::new();
        let mean = model.value(row, &mut features);
        let n = features.len();
        let off: Vec<f64> = features.iter().zip(&model.centre).map(|(x, c)| x - c).collect();
        if reach == f64::INFINITY {
            return Interval::around(mean, reach);
        }
        let mut variance = self.noise * (model.spread.at(mean) + 1.0 / model.labels) + model.unseen(row);
        variance += model.spread.beyond(mean).powi(2);
        for i in 0..n {
            for j in 0..n {
                variance += off[i] * self.covariance[i * n + j] * off[j];
            }
        }
        let by_lines = Interval::around(mean, reach * variance.max(0.0).sqrt());
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
