//! The truncated normal distribution: exact sampling (Robert 1995), mean and variance.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::{PI, SQRT_2};

/// N(`mean`, `sd`^2) conditioned on lying between `low` and `high`.
///
/// Sampled by rejection with a proposal that suits the interval (C. P. Robert, *Simulation of
/// truncated normal variables*, 1995). A draw takes a few proposals on average, whether the
/// interval is wide, narrow, or far out in the tail.
///
/// ```
/// use jurybox_lab::TruncatedNormal;
/// use rand::SeedableRng;
///
/// // The paper's rewards: N(0, 1) cut to [0, 20]; their mean is that of |N(0, 1)|.
/// let rewards = TruncatedNormal { mean: 0.0, sd: 1.0, low: 0.0, high: 20.0 };
/// assert!((rewards.expectation() - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-12);
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// assert!((0.0..=20.0).contains(&rewards.sample(&mut rng)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TruncatedNormal {
    /// Mean before truncation.
    pub mean: f64,
    /// Standard deviation before truncation.
    pub sd: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end, above `low`.
    pub high: f64,
}

impl TruncatedNormal {
    /// Draws one value.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let (a, b) = ((self.low - self.mean) / self.sd, (self.high - self.mean) / self.sd);
        self.mean + self.sd * standard(a, b, rng)
    }

    /// The mean after truncation.
    pub fn expectation(&self) -> f64 {
        let (a, b, mass) = self.standardised();
        self.mean + self.sd * (density(a) - density(b)) / mass
    }

    /// The variance after truncation.
    pub fn variance(&self) -> f64 {
        let (a, b, mass) = self.standardised();
        let edge = |x: f64| if x.is_finite() { x * density(x) } else { 0.0 };
        let shift = (density(a) - density(b)) / mass;
        self.sd * self.sd * (1.0 + (edge(a) - edge(b)) / mass - shift * shift)
    }

    fn standardised(&self) -> (f64, f64, f64) {
        let (a, b) = ((self.low - self.mean) / self.sd, (self.high - self.mean) / self.sd);
        // Above zero upper tails are subtracted, else lower tails, which loses fewer digits.
        let mass = if a > 0.0 { above(a) - above(b) } else { above(-b) - above(-a) };
        (a, b, mass)
    }
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

fn above(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// A draw from N(0, 1) conditioned on lying between `a` and `b`.
#[inline]
pub(crate) fn standard<R: Rng + ?Sized>(a: f64, b: f64, rng: &mut R) -> f64 {
    if b < 0.0 { -not_below(-b, -a, rng) } else { not_below(a, b, rng) }
}

/// A draw from N(0, 1) between `a` and `b`, where `b` is at least zero.
#[inline]
fn not_below<R: Rng + ?Sized>(a: f64, b: f64, rng: &mut R) -> f64 {
    // In an interval around the mode that is wider than sqrt(2 pi), a normal proposal is accepted
    // more often than a uniform one.
    if a <= 0.0 && b - a > 2.5 {
        return loop {
            let x: f64 = StandardNormal.sample(rng);
            if x >= a && x <= b {
                break x;
            }
        };
    }
    if a > 0.0 && a * (b - a) > 1.0 {
        return tail(a, b, rng);
    }
    // The uniform proposal x is accepted with the normal density at x over that at the mode.
    let mode = a.max(0.0);
    loop {
        // One random word gives both the proposal (53 bits) and the first 11 bits of the number
        // that decides on acceptance. These 11 bits mostly settle it, as exp(-drop) >= 1 - drop.
        let word: u64 = rng.random();
        let x = a + (b - a) * ((word >> 11) as f64 * 2.0_f64.powi(-53));
        let drop = 0.5 * (x * x - mode * mode);
        let most = ((word & 0x7ff) + 1) as f64 / 2048.0;
        if most <= 1.0 - drop || most - rng.random::<f64>() / 2048.0 <= (-drop).exp() {
            return x;
        }
    }
}

/// A draw far in the tail, for `a` > 0: the proposal is `a` plus an exponential draw with Robert's
/// optimal rate.
fn tail<R: Rng + ?Sized>(a: f64, b: f64, rng: &mut R) -> f64 {
    let rate = 0.5 * (a + (a * a + 4.0).sqrt());
    loop {
        let x = a - (1.0 - rng.random::<f64>()).ln() / rate;
        let off = x - rate;
        if x <= b && rng.random::<f64>() <= (-0.5 * off * off).exp() {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn samples_have_the_mean_and_variance_of_the_closed_forms() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        // Covers every proposal: normal, uniform around and beside the mode, exponential in both
        // tails.
        for (low, high) in
            [(-1.0, 3.0), (0.0, 20.0), (-0.2, 0.1), (0.5, 1.0), (2.0, 9.0), (-7.0, -3.0), (1.5, 1.6)]
        {
            let law = TruncatedNormal { mean: 0.3, sd: 1.7, low: 0.3 + 1.7 * low, high: 0.3 + 1.7 * high };
            let n = 200_000;
            let draws: Vec<f64> = (0..n).map(|_| law.sample(&mut rng)).collect();
            assert!(draws.iter().all(|x| (law.low..=law.high).contains(x)));
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n - 1);
            let error = (law.variance() / f64::from(n)).sqrt();
            assert!((mean - law.expectation()).abs() < 5.0 * error, "[{low}, {high}] mean {mean}");
            // The kurtosis of a truncated normal is at most that of the exponential, 9.
            let error = law.variance() * (8.0 / f64::from(n)).sqrt();
            assert!((variance - law.variance()).abs() < 5.0 * error, "[{low}, {high}] variance {variance}");
        }
    }

    #[test]
    fn known_closed_forms() {
        let half = TruncatedNormal { mean: 0.0, sd: 2.0, low: 0.0, high: f64::INFINITY };
        assert!((half.expectation() - 2.0 * (2.0 / PI).sqrt()).abs() < 1e-12);
        assert!((half.variance() - 4.0 * (1.0 - 2.0 / PI)).abs() < 1e-12);
        // A narrow interval is nearly uniform.
        let narrow = TruncatedNormal { mean: 0.0, sd: 1e3, low: 0.0, high: 1.0 };
        assert!((narrow.expectation() - 0.5).abs() < 1e-6);
        assert!((narrow.variance() - 1.0 / 12.0).abs() < 1e-6);
    }
}
