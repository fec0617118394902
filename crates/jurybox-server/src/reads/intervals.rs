//! Clopper-Pearson intervals for shares (Clopper and Pearson, Biometrika 26, 1934). They contain
//! the true share with at least the stated probability, for every share and sample size.

/// The error probability at each end, so that the interval has a confidence of 95%.
pub(super) const EACH_END: f64 = 0.025;

/// The 95% interval for a mean of values in 0 to 1, if `n` independent values have a mean between
/// `low` and `high`.
///
/// For values 0 and 1 it is the Clopper-Pearson interval. Values in between vary less, so the
/// interval is usually wider than necessary for them.
pub(super) fn bounds(low: f64, high: f64, n: f64) -> (f64, f64) {
    let (fewest, most) = (low * n, high * n);
    let at_least = if fewest > 0.0 { quantile(EACH_END, fewest, n - fewest + 1.0) } else { 0.0 };
    let at_most = if most < n { quantile(1.0 - EACH_END, most + 1.0, n - most) } else { 1.0 };
    // Rounding must not put an end between `low` and `high`.
    (at_least.min(low), at_most.max(high))
}

/// The quantile of the beta distribution with parameters `a` and `b`, by bisection.
fn quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle, a, b) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The distribution function of the beta distribution with parameters `a` and `b`.
fn below(x: f64, a: f64, b: f64) -> f64 {
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The continued fraction converges fast for small x. For large x, the symmetric case is used.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 26.5.8), by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let away = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut all) = (1.0, d);
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = all;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            all *= c * d;
        }
        if (all - before).abs() <= 1e-14 * all.abs() {
            break;
        }
    }
    all
}

/// The logarithm of the gamma function for positive numbers: Stirling's series, after the
/// recurrence has raised the number to at least 15.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 15.0 {
        shift += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series =
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_known_values() {
        // Shares 0 and 1 have a closed form. 1 of 10 and 50 of 100 are known values, and the last
        // case is the normal approximation.
        let (low, high) = bounds(0.0, 0.0, 100.0);
        assert!(low == 0.0 && (high - (1.0 - 0.025_f64.powf(0.01))).abs() < 1e-12, "{high}");
        let (low, high) = bounds(1.0, 1.0, 7.0);
        assert!(high == 1.0 && (low - 0.025_f64.powf(1.0 / 7.0)).abs() < 1e-12, "{low}");
        let (low, high) = bounds(0.1, 0.1, 10.0);
        assert!((low - 0.002_528_58).abs() < 1e-7 && (high - 0.445_016).abs() < 1e-6, "{low} {high}");
        let (low, high) = bounds(0.5, 0.5, 100.0);
        assert!((low - 0.398_321).abs() < 1e-6 && (high - 0.601_679).abs() < 1e-6, "{low} {high}");
        let (low, high) = bounds(0.5, 0.5, 1e8);
        assert!((low - 0.499_902).abs() < 1e-6 && (high - 0.500_098).abs() < 1e-6, "{low} {high}");
    }
}
