//! The link g of the evaluation model: a score is g(alpha_j * r) plus noise, for gain alpha_j and
//! reward r. These are Assumptions 3 and 4 of "Top K Ranking for Multi-Armed Bandit with Noisy
//! Evaluations".
//!
//! Policies rank by g^-1 of the scores. Noise can push a score out of the range of g, so scores are
//! first clamped to a distance of [`Link::HAIR`] inside it. The number of clamped scores is
//! reported: if there are many, the link does not fit the data.

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
    /// The distance from 0 and 1 to which a score is clamped before the inverse of a bounded link.
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

    /// Replaces each number x by g(x). For the logistic link two are computed at a time, within
    /// 3e-16 of [`apply`](Self::apply).
    ///
    /// ```
    /// let mut x = [0.0, 1.3, -40.0, 2.0, 0.7];
    /// jurybox::Link::Logistic.apply_to_each(&mut x);
    /// assert!(x[0] == 0.5 && (x[4] - jurybox::Link::Logistic.apply(0.7)).abs() < 1e-15);
    /// ```
    pub fn apply_to_each(self, x: &mut [f64]) {
        if self != Link::Logistic {
            return x.iter_mut().for_each(|x| *x = self.apply(*x));
        }
        for chunk in x.chunks_mut(2) {
            let mut pair = [0.0; 2];
            pair[..chunk.len()].copy_from_slice(chunk);
            chunk.copy_from_slice(&logistic_of_many(pair)[..chunk.len()]);
        }
    }

    /// g'(x).
    pub fn derivative(self, x: f64) -> f64 {
        self.derivatives([x])[1][0]
    }

    /// g and its first three derivatives at several points; they cost little more than g alone.
    pub(crate) fn derivatives<const N: usize>(self, x: [f64; N]) -> [[f64; N]; 4] {
        match self {
            Link::Identity => [x, [1.0; N], [0.0; N], [0.0; N]],
            Link::Logistic => {
                let near_zero = x.iter().all(|x| x.abs() < NEAR_ZERO);
                let g = if near_zero { x.map(logistic_near_zero) } else { logistic_of_many(x) };
                // 1 - g is exact enough for a slope: where g rounds to 1, the slope is about 1e-16
                // or less.
                let slope = g.map(|g| g * (1.0 - g));
                let second = std::array::from_fn(|i| slope[i] * (1.0 - 2.0 * g[i]));
                [g, slope, second, slope.map(|slope| slope * (1.0 - 6.0 * slope))]
            }
            Link::Probit => {
                let slope = x.map(normal::pdf);
                let second = std::array::from_fn(|i| -x[i] * slope[i]);
                [x.map(normal::cdf), slope, second, std::array::from_fn(|i| (x[i] * x[i] - 1.0) * slope[i])]
            }
        }
    }

    /// The coefficients of x, x^3, ..., x^17 in the Taylor series of g at 0. Besides g(0) the
    /// series has odd terms only. Within [-1/2, 1/2] the truncation error is below 1e-14 of the
    /// first term.
    pub(crate) fn odd_series(self) -> [f64; 9] {
        match self {
            Link::Identity => [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            // 1/2 + tanh(x / 2) / 2.
            Link::Logistic => [
                1.0 / 4.0,
                -1.0 / 48.0,
                1.0 / 480.0,
                -17.0 / 80_640.0,
                31.0 / 1_451_520.0,
                -691.0 / 319_334_400.0,
                5461.0 / 24_908_083_200.0,
                -929_569.0 / 41_845_579_776_000.0,
                3_202_291.0 / 1_422_749_712_384_000.0,
            ],
            // The integral of the density, term by term.
            Link::Probit => {
                let mut term = normal::pdf(0.0);
                std::array::from_fn(|k| {
                    if k > 0 {
                        term *= -0.5 / k as f64;
                    }
                    term / (2 * k + 1) as f64
                })
            }
        }
    }

    /// A number k that bounds derivatives: anywhere in `[-x, x]`, the n-th derivative is at most
    /// `k^(n-1)` times the first in magnitude, for n up to four.
    pub(crate) fn bend(self, x: f64) -> f64 {
        match self {
            Link::Identity => 0.0,
            Link::Logistic => 1.0,
            Link::Probit => 1.0 + x.abs(),
        }
    }

    /// g^-1 of a score, clamped first if the range of g is bounded. A missing score (NaN) stays
    /// missing.
    pub fn inverse(self, score: f64) -> f64 {
        match self {
            Link::Identity => score,
            Link::Logistic => logit(score),
            Link::Probit => normal::quantile(score.clamp(Self::HAIR, 1.0 - Self::HAIR)),
        }
    }

    /// Appends [`inverse`](Self::inverse) of each score to `out`; the loop for the logistic link
    /// can be vectorised.
    pub(crate) fn inverse_into(self, scores: &[f64], out: &mut Vec<f64>) {
        match self {
            Link::Logistic => out.extend(scores.iter().map(|&score| logit(score))),
            other => out.extend(scores.iter().map(|&score| other.inverse(score))),
        }
    }

    /// Calls `f` with each element of `places` and the inverse of its score. The loop for the
    /// logistic link can be vectorised.
    #[inline]
    pub(crate) fn for_each_inverse<T>(self, scores: &[f64], places: &mut [T], f: impl Fn(&mut T, f64)) {
        let pairs = places.iter_mut().zip(scores);
        match self {
            Link::Logistic => pairs.for_each(|(place, &score)| f(place, logit(score))),
            other => pairs.for_each(|(place, &score)| f(place, other.inverse(score))),
        }
    }

    /// Whether [`inverse`](Self::inverse) has to clamp this score. A missing score is not clamped.
    #[expect(clippy::manual_range_contains, reason = "a range would call NaN outside")]
    pub fn clamps(self, score: f64) -> bool {
        self != Link::Identity && (score < Self::HAIR || score > 1.0 - Self::HAIR)
    }
}

/// ln(p / (1 - p)) of a score clamped into (0, 1); NaN stays NaN.
///
/// The logarithm is written out without calls and branches, so that a loop over scores runs in
/// vector registers. It is within 4e-16 of the standard library's, relative to 1 plus its
/// magnitude.
#[inline]
fn logit(score: f64) -> f64 {
    let p = score.clamp(Link::HAIR, 1.0 - Link::HAIR);
    let odds = p / (1.0 - p);
    // odds = 2^k m with m in [sqrt(1/2), sqrt(2)). ln m = 2 artanh s with s = (m - 1) / (m + 1) and
    // |s| < 0.172.
    let bits = odds.to_bits();
    let high = ((bits >> 32) as u32).wrapping_sub(0x3fe6_a09e);
    let exponent = high.cast_signed() >> 20;
    let m = f64::from_bits(bits.wrapping_sub(u64::from(exponent.cast_unsigned()) << 52));
    let s = (m - 1.0) / (m + 1.0);
    // Pairs of terms can be computed in parallel.
    let z = s * s;
    let (z2, pair) = (z * z, |odd: f64| 1.0 / odd + z * (1.0 / (odd + 2.0)));
    let z4 = z2 * z2;
    let series = (pair(3.0) + z2 * pair(7.0)) + z4 * ((pair(11.0) + z2 * pair(15.0)) + z4 * pair(19.0));
    // 0 * score is NaN for a missing score, which stays missing.
    f64::from(exponent) * std::f64::consts::LN_2 + (2.0 * s + 2.0 * s * z * series) + 0.0 * score
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The logistic function at several points without calls and branches, so that they are computed
/// side by side. Within 3e-16 of [`logistic`].
#[inline]
fn logistic_of_many<const N: usize>(x: [f64; N]) -> [f64; N] {
    // exp(-x) = 2^k exp(r) with |r| <= ln(2)/2. Adding 1.5 * 2^52 rounds to an integer and leaves
    // it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8; // its low bits are zero: its product with k is exact
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// 1 / n!: the next term is below 2e-16.
    const FACTORIALS: [f64; 13] = {
        let mut inverse = [1.0; 13];
        let mut n = 1;
        while n < 13 {
            inverse[n] = inverse[n - 1] / n as f64;
            n += 1;
        }
        inverse
    };
    x.map(|x| {
        let x = (-x).clamp(-700.0, 700.0);
        let rounded = x * std::f64::consts::LOG2_E + ROUND;
        let k = rounded - ROUND;
        let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
        // Pairs of terms can be computed in parallel.
        let (r2, pair) = (r * r, |n: usize| FACTORIALS[n] + r * FACTORIALS[n + 1]);
        let (r4, four) = (r2 * r2, |n: usize| pair(n) + r2 * pair(n + 2));
        let series = (four(0) + r4 * four(4)) + (r4 * r4) * (four(8) + r4 * FACTORIALS[12]);
        let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
        1.0 / (1.0 + power * series)
    })
}

/// Up to here the truncation error of [`logistic_near_zero`] is below 1e-18.
const NEAR_ZERO: f64 = 1.0 / 32.0;

fn logistic_near_zero(x: f64) -> f64 {
    let z = x * x;
    0.5 + x * (1.0 / 4.0 - z * (1.0 / 48.0 - z * (1.0 / 480.0 - z * (17.0 / 80_640.0))))
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
    fn derivatives_are_those_of_each_other_and_bend_bounds_them() {
        for link in Link::ALL {
            for i in -60..=60 {
                let (x, h) = (f64::from(i) / 15.0, 1e-5);
                let [here, above, below] = [x, x + h, x - h].map(|x| link.derivatives([x]).map(|[d]| d));
                assert!((here[0] - link.apply(x)).abs() < 1e-15, "{link:?} {x}");
                let beside = link.derivatives([x, 2.0]).map(|[d, _]| d);
                assert!(here.iter().zip(beside).all(|(a, b)| (a - b).abs() < 1e-15), "{link:?} {x}");
                let mut bound = here[1];
                for order in 1..4 {
                    let slope = (above[order - 1] - below[order - 1]) / (2.0 * h);
                    assert!((here[order] - slope).abs() < 1e-8, "{link:?} {x} {order}");
                    assert!(here[order].abs() <= bound + 1e-15, "{link:?} {x} {order}");
                    bound *= link.bend(x);
                }
                let fourth = (above[3] - below[3]) / (2.0 * h);
                assert!(fourth.abs() <= bound + 1e-8, "{link:?} {x}");
            }
        }
    }

    #[test]
    fn the_odd_series_is_the_link_within_a_half() {
        for link in Link::ALL {
            for i in -50..=50 {
                let x = f64::from(i) / 100.0;
                let series = link.odd_series().iter().rev().fold(0.0, |sum, c| sum * x * x + c);
                let exact = link.apply(x) - link.apply(0.0);
                let first = (x * link.odd_series()[0]).abs();
                let off = (x * series - exact).abs();
                assert!(off < 1e-14 * first + 2.0 * f64::EPSILON, "{link:?} {x}: {off}");
            }
        }
    }

    #[test]
    fn near_zero_the_series_is_the_logistic() {
        for i in -1000..=1000 {
            let x = f64::from(i) / 1000.0 * NEAR_ZERO;
            assert!((logistic_near_zero(x) - logistic(x)).abs() <= f64::EPSILON / 2.0, "{x}");
        }
    }

    #[test]
    fn the_written_out_logistic_is_the_logistic() {
        for i in -200_000..=200_000 {
            let x = f64::from(i) / 4000.0;
            let [found, far] = logistic_of_many([x, 20.0 * x]);
            assert!((found - logistic(x)).abs() <= 3e-16, "{x}: {found} {}", logistic(x));
            assert!((far - logistic(20.0 * x)).abs() <= 3e-16, "{}: {far}", 20.0 * x);
        }
        assert_eq!(logistic_of_many([f64::INFINITY, 0.0]), [1.0, 0.5]);
        assert!(logistic_of_many([f64::NEG_INFINITY])[0] < 1e-300);
    }

    #[test]
    fn the_written_out_logarithm_is_the_logarithm() {
        for i in 1..100_000 {
            let p = f64::from(i) / 100_000.0;
            let exact = (p / (1.0 - p)).ln();
            let close = (Link::Logistic.inverse(p) - exact).abs() <= 4e-16 * (1.0 + exact.abs());
            assert!(close, "{p}: {} {exact}", Link::Logistic.inverse(p));
        }
        for p in [0.0_f64, 1e-7, 1e-6, 1.0 - 1e-6, 1.0] {
            let q = p.clamp(Link::HAIR, 1.0 - Link::HAIR);
            assert!((Link::Logistic.inverse(p) - (q / (1.0 - q)).ln()).abs() < 1e-14, "{p}");
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
