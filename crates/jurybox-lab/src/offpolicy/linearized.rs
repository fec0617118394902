//! Linearised estimates over rounds: a value, and the first-order influence of each round on it.
//!
//! An estimate is a ratio of sums over rounds (the ratio estimator), or a sum or difference of such
//! estimates. Errors follow from the influences (Taylor linearisation, or delta method). Picks
//! within a round depend on each other (one draw, one hour, one reviewer), so that the unit is the
//! round. For rare rewards, intervals also depend on the largest influence of a single row.

use crate::max_influence::MaxInfluence;
use jurybox::Interval;
use jurybox::toolbox::student_95;

/// Number of unseen rows, each of the largest influence, that are added when the interval is
/// computed (a pseudo-count). The number was chosen by the coverage of rare rewards, as told in
/// `experiments/results/off-policy.md`.
const UNMET: f64 = 1.0;
/// Largest relative difference of numbers that are equal up to rounding.
const ROUNDING: f64 = 1e-12;

/// A value, and the influence of each round on it. The influences of a ratio sum to zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearizedEstimate {
    pub(crate) value: f64,
    influence: Vec<f64>,
    /// Largest influence of a single row. If None, the interval is Student's.
    max_influence: Option<MaxInfluence>,
}

impl LinearizedEstimate {
    /// `sum numerator / sum denominator` over rounds. None unless the denominators sum to a
    /// positive number.
    pub(crate) fn ratio(numerators: &[f64], denominators: &[f64]) -> Option<LinearizedEstimate> {
        let total: f64 = denominators.iter().sum();
        let value = numerators.iter().sum::<f64>() / total;
        let influence = numerators.iter().zip(denominators).map(|(n, d)| (n - value * d) / total).collect();
        (total > 0.0).then_some(LinearizedEstimate { value, influence, max_influence: None })
    }

    /// The estimate with an interval that allows for one unseen row of this influence.
    pub(crate) fn with_max_influence(self, max_influence: MaxInfluence) -> LinearizedEstimate {
        LinearizedEstimate { max_influence: Some(max_influence), ..self }
    }

    /// The sum of two estimates over the same rounds.
    pub(crate) fn plus(&self, other: &LinearizedEstimate) -> LinearizedEstimate {
        self.with(other, 1.0)
    }

    /// The difference of two estimates over the same rounds, paired by round. If value and
    /// influences are equal up to rounding and not all influences are zero, the difference is
    /// exactly zero and its interval has no width.
    pub(crate) fn minus(&self, other: &LinearizedEstimate) -> LinearizedEstimate {
        let difference = self.with(other, -1.0);
        let size = |influence: &[f64]| influence.iter().fold(0.0, |most: f64, i| most.max(i.abs()));
        let most = size(&self.influence);
        let same = size(&difference.influence) <= ROUNDING * most
            && difference.value.abs() <= ROUNDING * self.value.abs().max(other.value.abs());
        if most > 0.0 && same {
            return LinearizedEstimate {
                value: 0.0,
                influence: vec![0.0; self.influence.len()],
                max_influence: None,
            };
        }
        difference
    }

    fn with(&self, other: &LinearizedEstimate, sign: f64) -> LinearizedEstimate {
        let influence = self.influence.iter().zip(&other.influence).map(|(a, b)| a + sign * b).collect();
        let negated =
            |max_influence: MaxInfluence| if sign < 0.0 { max_influence.negated() } else { max_influence };
        let max_influence = match (self.max_influence, other.max_influence) {
            (Some(own), Some(other)) => Some(own.with(negated(other))),
            (own, other) => own.or(other.map(negated)),
        };
        LinearizedEstimate { value: self.value + sign * other.value, influence, max_influence }
    }

    /// The value with its 95% interval.
    ///
    /// Without `max_influence` the interval is Student's. With it, each side has the length
    /// `h + sqrt(t^2 V + h^2)` with `h = t^2 b / 2`, as in the score interval of a compound Poisson
    /// mean. V is the variance of the value, t Student's quantile, and `b = (m + j^3) / (V + j^2)`.
    /// Here j is the largest influence of a row towards that side, and m the sum of the cubed
    /// influences of the rounds. For the lower side the sign of m is reversed. A negative m counts
    /// as zero.
    ///
    /// The interval is infinite from a single round. It is also infinite if `max_influence` is
    /// given but it and the influences of all rounds are zero up to rounding.
    pub(crate) fn estimate(&self) -> Interval {
        let student = self.student();
        let Some(max_influence) = self.max_influence else {
            return Interval::around(self.value, student);
        };
        if student.is_infinite()
            || student.max(max_influence.down).max(max_influence.up) <= ROUNDING * self.value.abs()
        {
            return Interval::around(self.value, f64::INFINITY);
        }
        let t = student_95(self.influence.len() - 1);
        let variance = (student / t).powi(2);
        let skewness: f64 = self.influence.iter().map(|i| i.powi(3)).sum();
        let reach = |sign: f64, max_influence: f64| {
            let unmet = UNMET * max_influence * max_influence;
            let size = ((sign * skewness).max(0.0) + unmet * max_influence) / (variance + unmet);
            let half = 0.5 * t * t * if size.is_finite() { size } else { 0.0 };
            half + student.hypot(half)
        };
        Interval {
            mean: self.value,
            low: self.value - reach(-1.0, max_influence.down),
            high: self.value + reach(1.0, max_influence.up),
        }
    }

    /// Half the width of Student's interval over rounds; infinite from fewer than two.
    pub(crate) fn student(&self) -> f64 {
        let rounds = self.influence.len();
        if rounds < 2 {
            return f64::INFINITY;
        }
        let square: f64 = self.influence.iter().map(|i| i * i).sum();
        let n = rounds as f64;
        student_95(rounds - 1) * (square * n / (n - 1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With equal denominators a ratio is a mean, and its interval is Student's interval of a mean.
    #[test]
    fn a_ratio_of_equal_rounds_is_a_mean() {
        let values = [1.0, 4.0, 2.0, 8.0, 5.0];
        let figure = LinearizedEstimate::ratio(&values.map(|v| 3.0 * v), &[3.0; 5]).unwrap().estimate();
        let mean = Interval::of(&values);
        assert!((figure.mean - mean.mean).abs() < 1e-12);
        assert!((figure.half_width() - mean.half_width()).abs() < 1e-12);
    }

    /// The linearised error of a ratio is within 1% of the jackknife's.
    #[test]
    fn a_ratio_has_the_error_of_the_jackknife() {
        let numerators: Vec<f64> = (0..200).map(|t| f64::from(t * 37 % 101) / 10.0).collect();
        let denominators: Vec<f64> = (0..200).map(|t| 1.0 + f64::from(t * 53 % 89) / 40.0).collect();
        let whole = LinearizedEstimate::ratio(&numerators, &denominators).unwrap().estimate();
        let (n, d) = (numerators.iter().sum::<f64>(), denominators.iter().sum::<f64>());
        let left_out: Vec<f64> =
            numerators.iter().zip(&denominators).map(|(a, b)| (n - a) / (d - b)).collect();
        let mean = left_out.iter().sum::<f64>() / 200.0;
        let variance = left_out.iter().map(|x| (x - mean).powi(2)).sum::<f64>() * 199.0 / 200.0;
        assert!((whole.half_width() / (student_95(199) * variance.sqrt()) - 1.0).abs() < 0.01);
    }

    #[test]
    fn nothing_to_divide_by_is_no_figure() {
        assert_eq!(LinearizedEstimate::ratio(&[0.0, 0.0], &[0.0, 0.0]), None);
    }

    /// 1,000 rounds without a reward: the upper end is t^2 / 1000. Wilson's for 0 of 1,000 is this
    /// over 1 + t^2 / 1000.
    #[test]
    fn nothing_found_is_not_nothing_there() {
        let max_influence = MaxInfluence { down: 0.0, up: 1e-3 };
        let none = LinearizedEstimate::ratio(&[0.0; 1000], &[1.0; 1000])
            .unwrap()
            .with_max_influence(max_influence)
            .estimate();
        assert_eq!((none.mean, none.low), (0.0, 0.0));
        assert!((none.high - student_95(999).powi(2) / 1000.0).abs() < 1e-9, "{none:?}");
        // If no row can have any influence, the interval is infinitely wide.
        let unknown = LinearizedEstimate::ratio(&[3.0; 9], &[1.0; 9])
            .unwrap()
            .with_max_influence(MaxInfluence { down: 0.0, up: 0.0 });
        assert_eq!(unknown.estimate(), Interval::around(3.0, f64::INFINITY));
    }

    /// Ten of 1,000 rounds have a reward of 1: the upper end is that of the score interval of a
    /// Poisson count of ten, within 1%.
    #[test]
    fn rare_rewards_have_the_interval_of_a_count() {
        let values: Vec<f64> = (0..1000).map(|t| f64::from(u8::from(t % 100 == 0))).collect();
        let max_influence = MaxInfluence { down: 0.0, up: 1e-3 };
        let found = LinearizedEstimate::ratio(&values, &[1.0; 1000])
            .unwrap()
            .with_max_influence(max_influence)
            .estimate();
        let square = student_95(999).powi(2);
        let by_hand = (10.0 + square / 2.0 + (square * 10.0 + square * square / 4.0).sqrt()) / 1000.0;
        assert!((found.high / by_hand - 1.0).abs() < 0.01, "{found:?} {by_hand}");
    }

    #[test]
    fn the_same_figure_twice_differs_by_nothing() {
        let figure = LinearizedEstimate::ratio(&[0.1, 0.3, 0.7], &[1.0; 3]).unwrap();
        let same = LinearizedEstimate::ratio(&[0.1 + 1e-17, 0.3, 0.7 - 1e-16], &[1.0; 3]).unwrap();
        assert_eq!(figure.minus(&same).estimate(), Interval::around(0.0, 0.0));
    }
}
