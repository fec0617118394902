//! Standard scores (z-scores), and means over the scores that are present.

/// The mean of the values that are not missing; NaN if all are.
///
/// ```
/// use jurybox::toolbox::mean_of_present;
/// assert_eq!(mean_of_present([1.0, f64::NAN, 3.0]), 2.0);
/// assert!(mean_of_present([f64::NAN]).is_nan());
/// ```
pub fn mean_of_present(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = sum_of_present(values);
    sum / count
}

/// The sum and the count of the values that are not missing.
pub(crate) fn sum_of_present(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        if !value.is_nan() {
            sum += value;
            count += 1.0;
        }
    }
    (sum, count)
}

/// Mean and standard deviation of each evaluator's scores so far, for z-scores. Missing scores are
/// skipped.
///
/// ```
/// use jurybox::toolbox::Standard;
///
/// let mut standard = Standard::new(2);
/// standard.observe(&[1.0, 7.0, 3.0, 7.0, f64::NAN, 7.0]);
/// assert!((standard.of(0, 3.0) - 0.5_f64.sqrt()).abs() < 1e-12);
/// assert_eq!(standard.of(1, 9.0), 0.0); // an evaluator that never varies says nothing
/// assert!(standard.of(0, f64::NAN).is_nan());
/// assert_eq!(standard.row_mean(&[2.0, f64::NAN]), 0.0);
/// ```
#[derive(Debug, Clone)]
pub struct Standard {
    count: Vec<f64>,
    mean: Vec<f64>,
    /// Sums of squared deviations from the mean, by Welford's update, which avoids cancellation.
    square: Vec<f64>,
}

impl Standard {
    /// Statistics of `width` evaluators without any row.
    pub fn new(width: usize) -> Standard {
        Standard { count: vec![0.0; width], mean: vec![0.0; width], square: vec![0.0; width] }
    }

    /// Adds rows of scores, row by row; NaN is missing.
    pub fn observe(&mut self, rows: &[f64]) {
        for row in rows.chunks_exact(self.mean.len().max(1)) {
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                self.count[j] += 1.0;
                let off = x - self.mean[j];
                self.mean[j] += off / self.count[j];
                self.square[j] += off * (x - self.mean[j]);
            }
        }
    }

    /// The mean of an evaluator's scores; 0 before the first.
    pub fn mean(&self, evaluator: usize) -> f64 {
        self.mean[evaluator]
    }

    /// One over the standard deviation; 0 if the scores do not vary or are fewer than two.
    pub fn per_unit(&self, evaluator: usize) -> f64 {
        let deviation = (self.square[evaluator] / (self.count[evaluator] - 1.0)).sqrt();
        if deviation > 0.0 { 1.0 / deviation } else { 0.0 }
    }

    /// The z-score: the score in standard deviations from the evaluator's mean. It is 0 if the
    /// evaluator's scores do not vary, and NaN if the score is missing.
    pub fn of(&self, evaluator: usize, score: f64) -> f64 {
        (score - self.mean[evaluator]) * self.per_unit(evaluator)
    }

    /// The mean of a row's present z-scores; NaN if all are missing.
    pub fn row_mean(&self, row: &[f64]) -> f64 {
        mean_of_present(row.iter().enumerate().map(|(j, &score)| self.of(j, score)))
    }
}
