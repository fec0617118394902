//! The true parameters of simulated evaluators, drawn once per run; they may drift.

use crate::setting::Setting;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The true parameters of every evaluator in one round, one entry per evaluator.
///
/// ```
/// use jurybox_lab::{Setting, SimulatedQueue};
/// let queue = SimulatedQueue::new(&Setting::default(), 1, 0);
/// assert!(queue.truth().alpha.iter().all(|a| (0.5..=1.5).contains(a)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Gains, before scores are multiplied by the unit.
    pub alpha: Vec<f64>,
    /// Noise levels, before scores are multiplied by the unit.
    pub sigma: Vec<f64>,
    /// Offsets inside the link.
    pub intercept: Vec<f64>,
    /// Factors from scores to reported scores.
    pub unit: Vec<f64>,
    /// Exponents: evaluator j scores r^power.
    pub power: Vec<f64>,
}

impl Truth {
    pub(crate) fn draw(setting: &Setting, rng: &mut ChaCha8Rng) -> Truth {
        let (n, extensions) = (setting.evaluators, &setting.extensions);
        let noise = 1.0 / setting.ratio;
        let mut within = |low: f64, high: f64| -> Vec<f64> {
            (0..n).map(|_| low + (high - low) * rng.random::<f64>()).collect()
        };
        let mut alpha = within(0.5, 1.5);
        let sigma = within(0.5 * noise, 1.5 * noise);
        let intercept = within(-extensions.intercepts, extensions.intercepts);
        let unit = within(-extensions.units, extensions.units).into_iter().map(|u| 10_f64.powf(u)).collect();
        let power = within(-extensions.curvature, extensions.curvature).into_iter().map(f64::exp).collect();
        // The first evaluators stand for any, because gains are independent and identically
        // distributed.
        alpha[..extensions.useless].fill(0.0);
        alpha[extensions.useless..extensions.useless + extensions.inverted].iter_mut().for_each(|a| *a = -*a);
        Truth { alpha, sigma, intercept, unit, power }
    }

    /// Gains and noise levels between those of this truth (`share` 0) and those in reversed order
    /// (`share` 1). The other parameters stay.
    pub(crate) fn towards_mirror(&self, share: f64) -> Truth {
        let mix = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(values.iter().rev()).map(|(a, b)| (1.0 - share) * a + share * b).collect()
        };
        Truth { alpha: mix(&self.alpha), sigma: mix(&self.sigma), ..self.clone() }
    }

    /// Noise levels in the units of the reported scores, for policies with the option `sigma`.
    pub fn reported_sigma(&self) -> Vec<f64> {
        self.sigma.iter().zip(&self.unit).map(|(s, u)| s * u).collect()
    }

    /// Gains in the units of the reported scores, for policies with the option `alpha`.
    pub fn reported_alpha(&self) -> Vec<f64> {
        self.alpha.iter().zip(&self.unit).map(|(a, u)| a * u).collect()
    }
}
