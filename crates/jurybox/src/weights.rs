//! The oracle's inverse-variance weights, and the values of items by them.

use crate::contributions::Contributions;
use crate::kernel;
use crate::scores::Scores;

/// Inverse-variance weights as in Lemmas 1 and 2 of "Top K Ranking for Multi-Armed Bandit with
/// Noisy Evaluations", and values of items by them.
///
/// The weights are `w_j = (alpha_j / sigma_j^2) / sum_l (alpha_l / sigma_l)^2`. The value of an
/// item is the posterior mean of its reward given its present scores, under a flat or a normal
/// prior. With all scores and a flat prior it is `<w, x>`, x being g^-1 of the scores for link g.
///
/// ```
/// use jurybox::{Scores, Weights};
///
/// let weights = Weights::oracle(&[1.0, 2.0], &[1.0, 1.0])?;
/// assert_eq!(weights.as_slice(), [0.2, 0.4]);
/// let mut values = Vec::new();
/// weights.values(&Scores::new(&[1.0, 2.0, f64::NAN, 3.0], 2)?, &mut values);
/// assert!((values[0] - 1.0).abs() < 1e-12);
/// assert!((values[1] - 3.0 / 2.0).abs() < 1e-12); // by the one evaluator that saw the item
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weights {
    w: Vec<f64>,
    information: Vec<f64>,
    prior: NormalPrior,
}

/// A normal prior of the reward. Precision, the inverse variance, is 0 for the flat prior.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct NormalPrior {
    pub(crate) mean: f64,
    pub(crate) precision: f64,
}

impl NormalPrior {
    /// The prior with this mean and variance; flat unless the variance is positive and its inverse
    /// finite.
    pub(crate) fn normal(mean: f64, variance: f64) -> NormalPrior {
        let precision = 1.0 / variance;
        if variance > 0.0 && precision.is_finite() {
            NormalPrior { mean, precision }
        } else {
            NormalPrior::default()
        }
    }
}

impl Weights {
    /// The weights of the oracle, which knows the gain and the noise of every evaluator.
    pub fn oracle(alpha: &[f64], sigma: &[f64]) -> Result<Weights, crate::Error> {
        crate::oracle::check(alpha, sigma)?;
        let mut weights = Weights::default();
        weights.set(alpha, sigma, NormalPrior::default());
        Ok(weights)
    }

    /// Sets the weights for `alpha` and `sigma`, reusing memory. All are zero if no evaluator has
    /// information.
    pub(crate) fn set(&mut self, alpha: &[f64], sigma: &[f64], prior: NormalPrior) {
        // Larger ratios could not be squared, and no ranking needs them.
        self.w.clear();
        self.w.extend(alpha.iter().zip(sigma).map(|(a, s)| (a / s).clamp(-1e150, 1e150)));
        self.information.clear();
        self.information.extend(self.w.iter().map(|ratio| ratio * ratio));
        let total: f64 = self.information.iter().sum();
        for (w, s) in self.w.iter_mut().zip(sigma) {
            *w = if total > 0.0 { *w / (s * total) } else { 0.0 };
        }
        self.prior = prior;
    }

    /// Contributions to the value of an item whose scores are on the scale of g^-1.
    pub(crate) fn contributions(&self, row: &[f64]) -> Contributions {
        let total: f64 = self.information.iter().sum();
        let none = || vec![0.0; row.len()];
        let terms = || row.iter().zip(&self.w).map(|(x, w)| if x.is_nan() { 0.0 } else { w * x });
        if total <= 0.0 {
            return Contributions { base: 0.0, each: none() };
        }
        let spoke = row.iter().zip(&self.information).filter(|(x, _)| !x.is_nan());
        let precision = self.prior.precision + spoke.map(|(_, information)| information).sum::<f64>();
        if precision <= 0.0 {
            return Contributions { base: f64::NEG_INFINITY, each: none() };
        }
        Contributions {
            base: self.prior.precision * self.prior.mean / precision,
            each: terms().map(|term| total * term / precision).collect(),
        }
    }

    /// The weights, one per evaluator.
    pub fn as_slice(&self) -> &[f64] {
        &self.w
    }

    /// Base and slope that turn `<w, x>` into the value of a complete item; none if `<w, x>` is the
    /// value.
    pub(crate) fn line(&self) -> Option<(f64, f64)> {
        let total: f64 = self.information.iter().sum();
        let NormalPrior { mean, precision } = self.prior;
        (total > 0.0 && precision > 0.0)
            .then(|| (precision * mean / (precision + total), total / (precision + total)))
    }

    /// The values of a round whose scores are on the scale of g^-1, for link g. An item's value
    /// does not depend on which scores of other items are missing.
    pub fn values(&self, scores: &Scores<'_>, out: &mut Vec<f64>) {
        kernel::dot_rows(scores.values(), &self.w, out);
        if let Some((base, slope)) = self.line() {
            out.iter_mut().for_each(|value| *value = base + slope * *value);
        }
        if scores.is_complete() {
            return;
        }
        let total: f64 = self.information.iter().sum();
        let NormalPrior { mean, precision } = self.prior;
        if total <= 0.0 {
            // No evaluator has a weight: all items tie, even those without scores.
            out.fill(0.0);
            return;
        }
        for (value, row) in out.iter_mut().zip(scores.rows()).filter(|(value, _)| value.is_nan()) {
            let (mut sum, mut present) = (0.0, 0.0);
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                sum += self.w[j] * x;
                present += self.information[j];
            }
            let evidence = precision * mean + total * sum;
            let precision = precision + present;
            *value = if precision > 0.0 { evidence / precision } else { f64::NEG_INFINITY };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prior_pulls_thin_evidence_towards_it() {
        let mut weights = Weights::default();
        weights.set(&[1.0, 1.0], &[1.0, 1.0], NormalPrior::normal(0.5, 1.0));
        let mut values = Vec::new();
        let table = [2.0, f64::NAN, f64::NAN, f64::NAN, 2.0, 2.0];
        weights.values(&Scores::new(&table, 2).unwrap(), &mut values);
        // Closed form: (mean/var + sum alpha x/sigma^2) / (1/var + sum alpha^2/sigma^2).
        assert_eq!(values, [f64::midpoint(0.5, 2.0), 0.5, (0.5 + 4.0) / 3.0]);
        // Each row alone has the same value as in the round.
        for (row, value) in table.chunks(2).zip(&values) {
            let mut alone = Vec::new();
            weights.values(&Scores::new(row, 2).unwrap(), &mut alone);
            assert_eq!(alone, [*value]);
        }
    }
}
