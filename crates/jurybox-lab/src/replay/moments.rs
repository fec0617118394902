//! Mean and spread of each evaluator's scores, over what has been seen so far.

/// Running moments of each evaluator; missing scores are left out.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    count: Vec<f64>,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Moments {
    pub(crate) fn new(width: usize) -> Moments {
        Moments { count: vec![0.0; width], mean: vec![0.0; width], square: vec![0.0; width] }
    }

    /// Takes in rows of scores.
    pub(crate) fn observe(&mut self, scores: &[f64]) {
        for row in scores.chunks_exact(self.mean.len()) {
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                self.count[j] += 1.0;
                let off = x - self.mean[j];
                self.mean[j] += off / self.count[j];
                self.square[j] += off * (x - self.mean[j]);
            }
        }
    }

    /// A score in standard deviations from its evaluator's mean: 0 where it is missing, or where nothing varies.
    pub(crate) fn standard(&self, evaluator: usize, score: f64) -> f64 {
        let unit = self.per_unit(evaluator);
        if score.is_nan() || unit == 0.0 { 0.0 } else { (score - self.mean[evaluator]) * unit }
    }

    /// One over the standard deviation; 0 where nothing varies.
    pub(crate) fn per_unit(&self, evaluator: usize) -> f64 {
        let deviation = (self.square[evaluator] / (self.count[evaluator] - 1.0)).sqrt();
        if deviation > 0.0 { 1.0 / deviation } else { 0.0 }
    }

    pub(crate) fn mean(&self, evaluator: usize) -> f64 {
        self.mean[evaluator]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_scores_and_constant_evaluators_stand_at_the_mean() {
        let mut moments = Moments::new(3);
        moments.observe(&[1.0, 7.0, f64::NAN, 3.0, 7.0, f64::NAN]);
        assert!((moments.standard(0, 3.0) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(moments.standard(0, f64::NAN), 0.0);
        assert_eq!((moments.standard(1, 9.0), moments.standard(2, 4.0)), (0.0, 0.0));
    }
}
