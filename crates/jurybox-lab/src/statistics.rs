//! Means with 95% intervals over runs, and slopes of curves on log-log axes.

use serde::{Serialize, Serializer};

/// A mean over runs with its 95% confidence interval (Student's t).
///
/// ```
/// use jurybox_lab::Estimate;
/// let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
/// assert_eq!(estimate.mean, 2.0);
/// assert!((estimate.half_width - 4.302_652_7 / 3_f64.sqrt()).abs() < 1e-3);
/// assert!(estimate.above(-1.0) && !estimate.above(0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; infinite from a single run.
    pub half_width: f64,
}

impl Estimate {
    /// The mean of independent values.
    pub fn of(values: &[f64]) -> Estimate {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let half_width = match values.len() {
            0 | 1 => f64::INFINITY,
            count => student_95(count - 1) * (square / (n - 1.0) / n).sqrt(),
        };
        Estimate { mean, half_width }
    }

    /// The mean of differences, run by run: policies meet the same data, so this is far sharper than two means.
    pub fn of_differences(a: &[f64], b: &[f64]) -> Estimate {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Estimate::of(&differences)
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether the whole interval is above a value.
    pub fn above(&self, value: f64) -> bool {
        self.low() > value
    }

    /// Whether the whole interval is below a value.
    pub fn below(&self, value: f64) -> bool {
        self.high() < value
    }
}

/// `{"mean": x, "ci95": h}`: the interval is x ± h; null from a single run.
impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form {
            mean: f64,
            ci95: Option<f64>,
        }
        let ci95 = self.half_width.is_finite().then_some(self.half_width);
        Form { mean: self.mean, ci95 }.serialize(serializer)
    }
}

/// The 97.5% quantile of Student's t: a table up to 30 degrees of freedom, then its expansion around the normal.
pub(crate) fn student_95(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788,
        2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639,
        2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
    ];
    if freedom <= TABLE.len() {
        return TABLE[freedom - 1];
    }
    let (z, n) = (1.959_963_984_540_054_f64, freedom as f64);
    z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
}

/// Least-squares slope of ln y on ln x, over points where both are positive; None with fewer than two.
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

/// The exponent p of growing sums `a + b t^p`, from what they grew by over one doubling of t and over the next, run by run.
///
/// Whatever was lost at first (a) cancels, so a line after a costly start is still seen as a line. None where the sums did
/// not grow. The interval is the jackknife's.
///
/// ```
/// // Two runs of 100 + 3 t^(1/2), seen at t = 100, 200 and 400.
/// let run = (3.0 * (200_f64.sqrt() - 10.0), 3.0 * (20.0 - 200_f64.sqrt()));
/// let exponent = jurybox_lab::growth_exponent(&[run, run]).unwrap();
/// assert!((exponent.mean - 0.5).abs() < 1e-12);
/// ```
pub fn growth_exponent(growth: &[(f64, f64)]) -> Option<Estimate> {
    let n = growth.len() as f64;
    let (first, second) = growth.iter().fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    let exponent = |first: f64, second: f64| (second / first).log2();
    let whole = exponent(first, second);
    let pseudo: Vec<f64> =
        growth.iter().map(|run| n * whole - (n - 1.0) * exponent(first - run.0, second - run.1)).collect();
    let estimate = Estimate { mean: whole, ..Estimate::of(&pseudo) };
    (growth.len() > 1 && whole.is_finite() && estimate.half_width.is_finite()).then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_meets_its_table_and_the_normal() {
        // The expansion at 31 continues the table at 30, and ends at the normal.
        assert!((student_95(31) - 2.0395).abs() < 1e-3);
        assert!((student_95(79) - 1.9905).abs() < 1e-3);
        assert!((student_95(1_000_000) - 1.959_964).abs() < 1e-5);
    }

    #[test]
    fn a_single_run_has_no_interval() {
        let json = serde_json::to_string(&Estimate::of(&[3.0])).unwrap();
        assert_eq!(json, r#"{"mean":3.0,"ci95":null}"#);
        assert!(!Estimate::of(&[3.0]).above(0.0));
    }
}
