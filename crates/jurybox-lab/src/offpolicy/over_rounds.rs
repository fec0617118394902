//! A figure over rounds, with what each round moves it by.
//!
//! All estimates here are ratios of sums over rounds, or sums of such ratios. To first order such a figure is its value
//! plus a sum of one number a round, and those numbers are all that an interval, or a difference of two figures over the
//! same rounds, needs. Picks within a round hang together (one draw, one hour, one reviewer), so the round is the unit.

use jurybox::Interval;
use jurybox::toolbox::student_95;

/// A value and the first-order influence of each round on it. The influences sum to zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OverRounds {
    pub(crate) value: f64,
    influence: Vec<f64>,
}

impl OverRounds {
    /// `sum numerator / sum denominator` over rounds, linearised; None where the denominators sum to nothing.
    pub(crate) fn ratio(numerators: &[f64], denominators: &[f64]) -> Option<OverRounds> {
        let total: f64 = denominators.iter().sum();
        let value = numerators.iter().sum::<f64>() / total;
        let influence = numerators.iter().zip(denominators).map(|(n, d)| (n - value * d) / total).collect();
        (total > 0.0).then_some(OverRounds { value, influence })
    }

    /// The sum of two figures over the same rounds.
    pub(crate) fn plus(&self, other: &OverRounds) -> OverRounds {
        self.with(other, 1.0)
    }

    /// The difference of two figures over the same rounds: paired, so far sharper than two intervals.
    pub(crate) fn minus(&self, other: &OverRounds) -> OverRounds {
        self.with(other, -1.0)
    }

    fn with(&self, other: &OverRounds, sign: f64) -> OverRounds {
        let influence = self.influence.iter().zip(&other.influence).map(|(a, b)| a + sign * b).collect();
        OverRounds { value: self.value + sign * other.value, influence }
    }

    /// The value with Student's interval over rounds; infinitely wide from a single round.
    pub(crate) fn estimate(&self) -> Interval {
        let rounds = self.influence.len();
        if rounds < 2 {
            return Interval::around(self.value, f64::INFINITY);
        }
        let square: f64 = self.influence.iter().map(|i| i * i).sum();
        let n = rounds as f64;
        let half_width = student_95(rounds - 1) * (square * n / (n - 1.0)).sqrt();
        Interval::around(self.value, half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With equal denominators a ratio is a mean, and its interval the mean's.
    #[test]
    fn a_ratio_of_equal_rounds_is_a_mean() {
        let values = [1.0, 4.0, 2.0, 8.0, 5.0];
        let figure = OverRounds::ratio(&values.map(|v| 3.0 * v), &[3.0; 5]).unwrap().estimate();
        let mean = Interval::of(&values);
        assert!((figure.mean - mean.mean).abs() < 1e-12);
        assert!((figure.half_width() - mean.half_width()).abs() < 1e-12);
    }

    /// The linearised error of a ratio against the jackknife, which knows no calculus.
    #[test]
    fn a_ratio_has_the_error_of_the_jackknife() {
        let numerators: Vec<f64> = (0..200).map(|t| f64::from(t * 37 % 101) / 10.0).collect();
        let denominators: Vec<f64> = (0..200).map(|t| 1.0 + f64::from(t * 53 % 89) / 40.0).collect();
        let whole = OverRounds::ratio(&numerators, &denominators).unwrap().estimate();
        let (n, d) = (numerators.iter().sum::<f64>(), denominators.iter().sum::<f64>());
        let left_out: Vec<f64> =
            numerators.iter().zip(&denominators).map(|(a, b)| (n - a) / (d - b)).collect();
        let mean = left_out.iter().sum::<f64>() / 200.0;
        let variance = left_out.iter().map(|x| (x - mean).powi(2)).sum::<f64>() * 199.0 / 200.0;
        assert!((whole.half_width() / (student_95(199) * variance.sqrt()) - 1.0).abs() < 0.01);
    }

    #[test]
    fn nothing_to_divide_by_is_no_figure() {
        assert_eq!(OverRounds::ratio(&[0.0, 0.0], &[0.0, 0.0]), None);
    }
}
