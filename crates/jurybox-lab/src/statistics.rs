//! 95% intervals in JSON documents, slopes of log-log curves, and growth exponents of sums.

use jurybox::Interval;
use serde::{Serialize, Serializer};

/// An interval in a JSON document: `{"mean": x, "ci95": h}` for x ± h; h is null if infinite, as
/// from a single run.
#[derive(Serialize)]
pub(crate) struct Ci95 {
    mean: f64,
    ci95: Option<f64>,
}

impl From<Interval> for Ci95 {
    fn from(interval: Interval) -> Ci95 {
        let half_width = interval.half_width();
        Ci95 { mean: interval.mean, ci95: half_width.is_finite().then_some(half_width) }
    }
}

/// Serialises an interval.
pub(crate) fn ci95<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    Ci95::from(*interval).serialize(serializer)
}

/// Serialises an interval, or null.
#[expect(clippy::ref_option, reason = "the shape that serde asks for")]
pub(crate) fn ci95_if_any<S: Serializer>(
    interval: &Option<Interval>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    interval.map(Ci95::from).serialize(serializer)
}

/// Least-squares slope of ln y on ln x, over the points with x > 0 and y > 0. None unless two of
/// them have different x.
///
/// ```
/// let curve = [(10.0, 100.0), (100.0, 1000.0 * 10_f64.sqrt()), (1000.0, 100_000.0)];
/// assert!((jurybox_lab::log_slope(curve).unwrap() - 1.5).abs() < 1e-12);
/// ```
pub fn log_slope(points: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.into_iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let spread: f64 = logs.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let shared: f64 = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    (logs.len() > 1 && spread > 0.0).then(|| shared / spread)
}

/// The exponent p of sums `a + b t^p` that grow with t. Each pair is one run's growth over a
/// doubling of t and over the next doubling.
///
/// The constant a cancels. The interval is the jackknife's over runs. None from fewer than two
/// runs, or if the exponent of all runs, or of all but any one run, is not finite.
///
/// ```
/// // Two runs of 100 + 3 t^(1/2), seen at t = 100, 200 and 400.
/// let run = (3.0 * (200_f64.sqrt() - 10.0), 3.0 * (20.0 - 200_f64.sqrt()));
/// let exponent = jurybox_lab::growth_exponent(&[run, run]).unwrap();
/// assert!((exponent.mean - 0.5).abs() < 1e-12);
/// ```
pub fn growth_exponent(growth: &[(f64, f64)]) -> Option<Interval> {
    let n = growth.len() as f64;
    let (first, second) = growth.iter().fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    let exponent = |first: f64, second: f64| (second / first).log2();
    let whole = exponent(first, second);
    let pseudo: Vec<f64> =
        growth.iter().map(|run| n * whole - (n - 1.0) * exponent(first - run.0, second - run.1)).collect();
    let estimate = Interval::around(whole, Interval::of(&pseudo).half_width());
    (growth.len() > 1 && whole.is_finite() && estimate.half_width().is_finite()).then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_run_has_no_interval() {
        let json = serde_json::to_string(&Ci95::from(Interval::of(&[3.0]))).unwrap();
        assert_eq!(json, r#"{"mean":3.0,"ci95":null}"#);
        assert!(!Interval::of(&[3.0]).above(0.0));
    }
}
