//! The evaluators of a world as they truly are: drawn once per run, known to the oracle alone.

use crate::setting::Setting;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// What there is to know about every evaluator, at one time.
///
/// ```
/// use jurybox_lab::{Setting, SimulatedQueue};
/// let world = SimulatedQueue::new(&Setting::default(), 1, 0);
/// assert!(world.truth().alpha.iter().all(|a| (0.5..=1.5).contains(a)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Gains, in reward units.
    pub alpha: Vec<f64>,
    /// Noise levels, in the same.
    pub sigma: Vec<f64>,
    /// Offsets inside the link.
    pub intercept: Vec<f64>,
    /// Units of the reported scores.
    pub unit: Vec<f64>,
    /// Evaluator j sees r^power.
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
        // Alphas are independent: which evaluators are useless or inverted need not be drawn too.
        alpha[..extensions.useless].fill(0.0);
        alpha[extensions.useless..extensions.useless + extensions.inverted].iter_mut().for_each(|a| *a = -*a);
        Truth { alpha, sigma, intercept, unit, power }
    }

    /// These evaluators on the way to their mirror image: the first becomes the last.
    pub(crate) fn towards_mirror(&self, share: f64) -> Truth {
        let mix = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(values.iter().rev()).map(|(a, b)| (1.0 - share) * a + share * b).collect()
        };
        Truth { alpha: mix(&self.alpha), sigma: mix(&self.sigma), ..self.clone() }
    }

    /// Noise levels in the units of the scores: what a policy that is told sigma is told.
    pub fn told_sigma(&self) -> Vec<f64> {
        self.sigma.iter().zip(&self.unit).map(|(s, u)| s * u).collect()
    }

    /// Gains in the units of the scores: what an estimate is compared with.
    pub fn told_alpha(&self) -> Vec<f64> {
        self.alpha.iter().zip(&self.unit).map(|(a, u)| a * u).collect()
    }
}
