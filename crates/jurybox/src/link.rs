//! The link g of the evaluation model: a score is g(alpha_j * r) plus noise (Assumptions 3 and 4 of the paper).
//!
//! Policies rank by g^-1 of the scores. Noise can push a score out of the range of g, where g^-1 is infinite, so scores
//! are first clamped a hair ([`Link::HAIR`]) inside it; how many were is counted and shown, because many clamped scores
//! mean that the link does not fit the data.

use crate::normal;
use serde::{Deserialize, Serialize};

/// A known, increasing link function g.
///
/// ```
/// use jurybox::Link;
///
/// let link = Link::Logistic;
/// assert_eq!(link.apply(0.0), 0.5);
/// assert!((link.inverse(link.apply(1.3)) - 1.3).abs() < 1e-12);
/// assert!((link.derivative(0.0) - 0.25).abs() < 1e-12);
/// assert!(link.clamps(1.2) && !link.clamps(0.7));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// g(x) = x: the linear setting.
    #[default]
    Identity,
    /// g(x) = 1 / (1 + exp(-x)).
    Logistic,
    /// g(x) = Phi(x), the standard normal distribution function.
    Probit,
}

impl Link {
    /// How far inside (0, 1) a score is moved before the inverse of a bounded link is taken.
    pub const HAIR: f64 = 1e-6;

    /// All links, in the order of their definition.
    pub const ALL: [Link; 3] = [Link::Identity, Link::Logistic, Link::Probit];

    /// g(x).
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Link::Identity => x,
            Link::Logistic => logistic(x),
            Link::Probit => normal::cdf(x),
        }
    }

    /// g'(x).
    pub fn derivative(self, x: f64) -> f64 {
        self.apply_with_derivative(x).1
    }

    /// g(x) and g'(x) for little more than the price of one.
    pub(crate) fn apply_with_derivative(self, x: f64) -> (f64, f64) {
        match self {
            Link::Identity => (x, 1.0),
            Link::Logistic => {
                let g = logistic(x);
                // 1 - g is exact enough for a slope: where g has rounded to 1, the slope is below 1e-16.
                (g, g * (1.0 - g))
            }
            Link::Probit => (normal::cdf(x), normal::pdf(x)),
        }
    }

    /// g^-1 of a score, clamped first where the range of g is bounded. A missing score (NaN) stays missing.
    pub fn inverse(self, score: f64) -> f64 {
        match self {
            Link::Identity => score,
            Link::Logistic => {
                let p = score.clamp(Self::HAIR, 1.0 - Self::HAIR);
                (p / (1.0 - p)).ln()
            }
            Link::Probit => normal::quantile(score.clamp(Self::HAIR, 1.0 - Self::HAIR)),
        }
    }

    /// Whether [`inverse`](Self::inverse) has to clamp this score. A missing score is not clamped.
    #[expect(clippy::manual_range_contains, reason = "a range would call NaN outside")]
    pub fn clamps(self, score: f64) -> bool {
        self != Link::Identity && (score < Self::HAIR || score > 1.0 - Self::HAIR)
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes_apply_and_derivative_is_the_slope() {
        for link in Link::ALL {
            for i in -40..=40 {
                let x = f64::from(i) / 10.0;
                assert!((link.inverse(link.apply(x)) - x).abs() < 1e-8, "{link:?} {x}");
                let h = 1e-5;
                let slope = (link.apply(x + h) - link.apply(x - h)) / (2.0 * h);
                assert!((link.derivative(x) - slope).abs() < 1e-8, "{link:?} {x}");
            }
        }
    }

    #[test]
    fn scores_out_of_range_are_clamped_to_finite_values_and_missing_stays_missing() {
        for link in [Link::Logistic, Link::Probit] {
            for score in [-3.0, 0.0, 1.0, 7.5] {
                assert!(link.clamps(score));
                assert!(link.inverse(score).is_finite());
            }
            assert!(link.inverse(f64::NAN).is_nan() && !link.clamps(f64::NAN));
            assert_eq!(link.inverse(-5.0), link.inverse(0.0));
        }
        assert!(!Link::Identity.clamps(-5.0));
        assert!((Link::Logistic.apply(-800.0)).abs() < 1e-300);
        assert_eq!(Link::Logistic.derivative(800.0), 0.0);
    }
}
