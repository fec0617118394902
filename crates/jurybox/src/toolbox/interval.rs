//! An estimate with its interval.

use super::student_95;
use serde::Serialize;

/// An estimate with its interval.
///
/// ```
/// use jurybox::Interval;
///
/// let weight = Interval { mean: 0.4, low: 0.1, high: 0.7 };
/// assert!(weight.above(0.0) && !weight.below(0.5));
///
/// let runs = Interval::of(&[1.0, 2.0, 3.0]); // Student's, 95%
/// assert_eq!(runs.mean, 2.0);
/// assert!((runs.half_width() - 4.302_652_73 / 3_f64.sqrt()).abs() < 1e-8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// A symmetric interval.
    ///
    /// ```
    /// assert_eq!(jurybox::Interval::around(2.0, 0.5).high, 2.5);
    /// ```
    pub fn around(mean: f64, half_width: f64) -> Interval {
        Interval { mean, low: mean - half_width, high: mean + half_width }
    }

    /// The mean of independent values with its 95% interval by Student's t. Infinitely wide for
    /// fewer than two values.
    pub fn of(values: &[f64]) -> Interval {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let half_width = match values.len() {
            0 | 1 => f64::INFINITY,
            count => student_95(count - 1) * (square / (n - 1.0) / n).sqrt(),
        };
        Interval::around(mean, half_width)
    }

    /// The mean of paired differences with its 95% interval. Narrower than a comparison of two
    /// means where the pairs are positively correlated, as for measurements on the same data.
    ///
    /// ```
    /// let lead = jurybox::Interval::of_differences(&[2.0, 7.0, 5.0], &[1.0, 6.0, 4.0]);
    /// assert_eq!((lead.mean, lead.half_width()), (1.0, 0.0));
    /// ```
    pub fn of_differences(a: &[f64], b: &[f64]) -> Interval {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Interval::of(&differences)
    }

    /// Half the width.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    /// Whether the whole interval is above a value.
    pub fn above(&self, value: f64) -> bool {
        self.low > value
    }

    /// Whether the whole interval is below a value.
    pub fn below(&self, value: f64) -> bool {
        self.high < value
    }

    /// The interval times a factor, as for a change of units. A negative factor swaps the ends.
    ///
    /// ```
    /// let turned = jurybox::Interval { mean: 0.4, low: 0.1, high: 0.7 }.times(-1.0);
    /// assert_eq!((turned.low, turned.high), (-0.7, -0.1));
    /// ```
    #[must_use]
    pub fn times(self, factor: f64) -> Interval {
        let (a, b) = (factor * self.low, factor * self.high);
        Interval { mean: factor * self.mean, low: a.min(b), high: a.max(b) }
    }

    /// The interval shifted by a constant.
    ///
    /// ```
    /// assert_eq!(jurybox::Interval::around(2.0, 0.5).plus(-1.0).low, 0.5);
    /// ```
    #[must_use]
    pub fn plus(self, shift: f64) -> Interval {
        Interval { mean: self.mean + shift, low: self.low + shift, high: self.high + shift }
    }
}
