//! Quantiles of Student's t distribution.

use crate::normal;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Above this many degrees of freedom, an expansion around the normal quantile replaces the finite
/// sums.
const MANY: f64 = 200.0;

/// The quantile of Student's t at `p`. Degrees of freedom are rounded to an integer of at least 1.
///
/// ```
/// use jurybox::toolbox::student_quantile;
/// assert!((student_quantile(0.975, 3.0) - 3.182_446_305).abs() < 1e-8);
/// assert!((student_quantile(0.025, 3.0) + 3.182_446_305).abs() < 1e-8);
/// assert!((student_quantile(0.975, 1e12) - 1.959_963_985).abs() < 1e-8); // the normal
/// ```
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let freedom = freedom.round().max(1.0);
    if p < 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    if freedom > MANY {
        return expansion(normal::quantile(p), freedom);
    }
    // With t = tan(angle) * sqrt(freedom), the probability increases with the angle, and bisection
    // finds the quantile.
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f64::midpoint(1.0, central(middle, freedom as u32)) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).tan() * freedom.sqrt()
}

/// The factor from a standard error to a 95% interval: the quantile at 0.975.
///
/// ```
/// assert!((jurybox::toolbox::student_95(2) - 4.302_652_73).abs() < 1e-8);
/// ```
pub fn student_95(freedom: usize) -> f64 {
    student_quantile(0.975, freedom as f64)
}

/// The normal deviate with about the same tail probability as t (Wallace 1959). It is accurate even
/// where the distribution functions round to 1. The sign of t is dropped.
pub(crate) fn as_normal_deviate(t: f64, freedom: f64) -> f64 {
    (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * (freedom * (t * t / freedom).ln_1p()).sqrt()
}

/// The probability of Student's t between -t and t for t = tan(angle) * sqrt(freedom), by finite
/// sums (Abramowitz and Stegun 26.7.3, 26.7.4).
fn central(angle: f64, freedom: u32) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if odd { cos } else { 1.0 }, 0.0);
    for k in 0..freedom / 2 {
        sum += term;
        let k = f64::from(2 * k);
        term *= cos * cos * if odd { (k + 2.0) / (k + 3.0) } else { (k + 1.0) / (k + 2.0) };
    }
    if odd { (angle + sin * sum) * FRAC_2_PI } else { sin * sum }
}

/// The quantile of Student's t with `n` degrees of freedom by expansion around the normal quantile
/// `z` (Abramowitz and Stegun 26.7.5).
fn expansion(z: f64, n: f64) -> f64 {
    let s = z * z;
    let first = (s + 1.0) / 4.0;
    let second = ((5.0 * s + 16.0) * s + 3.0) / 96.0;
    let third = (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0;
    let fourth = ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0;
    z * (1.0 + (first + (second + (third + fourth / n) / n) / n) / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.975, 1.0, 12.706_204_7),
            (0.975, 5.0, 2.570_581_8),
            (0.975, 30.0, 2.042_272_5),
            (0.975, 1000.0, 1.962_339_1),
            (0.9975, 19.0, 3.173_724_5),
            (0.995, 4.0, 4.604_094_9),
            (0.75, 1.0, 1.0),
            (0.5, 7.0, 0.0),
        ];
        for (p, freedom, value) in table {
            assert!((student_quantile(p, freedom) - value).abs() < 1e-7, "{p} {freedom}");
        }
    }

    #[test]
    fn the_expansion_takes_over_where_it_agrees_with_the_sums() {
        for p in [0.6, 0.9, 0.975, 0.999, 0.999_99] {
            let t = expansion(normal::quantile(p), MANY);
            let exact = student_quantile(p, MANY);
            assert!((t / exact - 1.0).abs() < 1e-8, "{p}: {t} {exact}");
        }
    }

    #[test]
    fn a_deviate_is_as_unlikely_as_its_t() {
        for freedom in [5.0, 40.0, 180.0] {
            let z = as_normal_deviate(student_quantile(0.999, freedom), freedom);
            assert!((normal::cdf(z) - 0.999).abs() < 1e-4, "{freedom}: {z}");
        }
    }
}
