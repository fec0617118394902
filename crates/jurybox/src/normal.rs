//! The standard normal distribution: distribution function, density and quantile, to about machine
//! precision.

use std::f64::consts::{PI, SQRT_2};

/// Phi(x): the probability that a standard normal variable is below `x`.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// The density at `x`.
pub(crate) fn pdf(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// The quantile: the x with Phi(x) = p. Minus infinity for p <= 0, infinity for p >= 1.
///
/// A rational approximation (Acklam 2003, relative error about 1e-9), then one Halley step on the
/// distribution function.
pub(crate) fn quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return if p <= 0.0 {
            f64::NEG_INFINITY
        } else if p >= 1.0 {
            f64::INFINITY
        } else {
            f64::NAN
        };
    }
    // The upper half by symmetry: 1 - p is exact there.
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    let x = rational_start(p);
    let error = (cdf(x) - p) / pdf(x);
    x - error / (1.0 + 0.5 * x * error)
}

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

fn rational_start(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    if p < 0.024_25 {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(q, &C) / polynomial(q, &D)
    } else {
        let q = p - 0.5;
        let r = q * q;
        q * polynomial(r, &A) / polynomial(r, &B)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for i in 1..4000 {
            let x = -8.0 + 16.0 * f64::from(i) / 4000.0;
            let p = cdf(x);
            // Near 1 the distribution function has lost digits, so p close to 1 is left out.
            if p < 0.999_999 {
                assert!((quantile(p) - x).abs() < 1e-9 * (1.0 + x.abs()), "{x} {}", quantile(p));
            }
        }
        assert_eq!(quantile(0.5), 0.0);
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0), f64::INFINITY);
    }

    #[test]
    fn known_values() {
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-13);
        assert!((cdf(1.0) - 0.841_344_746_068_543).abs() < 1e-14);
        assert!((quantile(1e-300) + 37.047_096_299_361_2).abs() < 1e-8);
    }
}
