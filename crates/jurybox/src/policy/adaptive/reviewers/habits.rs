//! How one reviewer judges: how severely, how far by what is expected, and with how much noise.

use super::GRAIN;
use super::pooled::Estimate;
use crate::normal;
use crate::toolbox::Interval;

/// A verdict counts for at most so many of the middle reviewer's.
const MOST_WEIGHT: f64 = 2.0;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Habits {
    pub(super) verdicts: f64,
    /// What was expected of the items judged, less the centre.
    pub(super) place: f64,
    pub(super) severity: Estimate,
    pub(super) slope: Estimate,
    /// ln of the variance beside the middle reviewer's.
    pub(super) noise: Estimate,
    /// The same as these verdicts alone have it.
    pub(super) noise_alone: Alone,
}

/// Between what and what a number is, and the variance of either.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Alone {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) variance: f64,
}

impl Habits {
    /// How far the verdicts are above what is expected of items at a place.
    pub(super) fn above(&self, place: f64) -> f64 {
        self.severity.mean + (self.slope.mean - 1.0) * place
    }

    /// What a verdict tells, beside one of the middle reviewer.
    pub(super) fn telling(&self) -> f64 {
        self.slope.mean.max(0.0).powi(2) * (-self.noise.mean).exp()
    }

    pub(super) fn weight(&self) -> f64 {
        (self.telling().min(MOST_WEIGHT) / GRAIN).round() * GRAIN
    }

    /// Standard deviation over slope: the noise of what the verdict tells. The interval is that of
    /// these verdicts alone, widened to hold what leans on others.
    pub(super) fn noise_beside_the_middle(&self, level: f64) -> Interval {
        let reach = normal::quantile(0.5 + 0.5 * level);
        let (noise, slope) = (self.noise_alone, self.slope);
        let at =
            |noise: f64, slope: f64| if slope > 0.0 { (0.5 * noise).exp() / slope } else { f64::INFINITY };
        let mean = at(self.noise.mean, slope.mean);
        if !noise.variance.is_finite() {
            return Interval { mean, low: 0.0, high: f64::INFINITY };
        }
        let (off_noise, off_slope) =
            (0.5 * noise.variance.sqrt(), slope.variance.sqrt() / slope.mean.max(GRAIN));
        // Shares of one reach, as far as each of the two is not known.
        let both = off_noise.hypot(off_slope).max(f64::MIN_POSITIVE);
        let (by_noise, by_slope) =
            (reach * 2.0 * off_noise * off_noise / both, reach * slope.variance.sqrt() * off_slope / both);
        let low = at(noise.low - by_noise, slope.mean + by_slope);
        let high = at(noise.high + by_noise, slope.mean - by_slope);
        Interval { mean, low: low.min(mean), high: high.max(mean) }
    }
}
