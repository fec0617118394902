//! A yes/no question, answered by a line: logistic regression with a prior that leans on a direction.
//!
//! ```text
//! log-odds = a + <beta, x>,   a ~ N(-3, 2),   beta ~ N(1.5 d, tau^2 I + d d^T)
//! ```
//!
//! d was found without labels: before the first one the ranking is that of d, and labels move it as far as they speak. How far
//! single weights may stray (tau) is averaged over by the evidence, in Laplace's approximation.

use super::super::regression::log_sum;
use super::climb::{Law, Parabola, Prior, Table, climb};
use crate::kernel::dot;
use crate::matrix::Symmetric;

/// How far single weights may stray from the direction, the middle one first: the others start where it ended.
const TAUS: [f64; 3] = [0.6, 0.3, 1.2];
/// The prior of the intercept: what is looked for is rare.
const INTERCEPT: f64 = -3.0;
const INTERCEPT_VARIANCE: f64 = 2.0;
/// The prior strength along the direction.
const STRENGTH: f64 = 1.5;
/// Where there are far more rows than this, the first so many, a fair sample, say where to start.
const FEW_ROWS: usize = 128;
/// A parabola serves another tau where no weight is further than this from where it touches.
const NEAR: f64 = 0.1;
/// A direction whose evidence seems further behind than this is not looked at more closely.
const FAR_BEHIND: f64 = 20.0;
/// pi / 8: the expectation of a logistic function of a normal variable is nearly one of its mean over sqrt(1 + this s^2).
const FLATTENING: f64 = 0.392_699_081_698_724_2;

/// A fitted line: posterior mean and covariance of intercept and weights.
#[derive(Debug, Clone)]
pub(super) struct Logistic {
    /// The intercept, then a weight for each evaluator.
    mean: Vec<f64>,
    covariance: Symmetric,
    /// Log marginal likelihood.
    pub(super) evidence: f64,
}

impl Logistic {
    /// Fits a line that leans on the direction, or on its opposite where the answers, against the odds of `reversed` to one, make
    /// that the likelier one.
    pub(super) fn fit(table: &Table, yes: &[bool], direction: &[f64], reversed: f64) -> (Self, bool) {
        let opposite: Vec<f64> = direction.iter().map(|d| -d).collect();
        let (ahead, touching) = Self::first(table, yes, direction, None);
        let back = leaning(&opposite, TAUS[0]);
        let enough = ahead.evidence - reversed.ln();
        if touching.with(&back).evidence > enough - FAR_BEHIND {
            let (back, touching) = climb(table, yes, &back, &ahead.mean);
            if back.evidence > enough {
                return (Self::stray(table, yes, &opposite, &back, &touching), true);
            }
        }
        (Self::stray(table, yes, direction, &ahead, &touching), false)
    }

    /// Fits a line that leans on the direction; a line that is like it says where to start.
    pub(super) fn along(table: &Table, yes: &[bool], direction: &[f64], like: Option<&Logistic>) -> Self {
        let (first, touching) = Self::first(table, yes, direction, like);
        Self::stray(table, yes, direction, &first, &touching)
    }

    fn first(table: &Table, yes: &[bool], direction: &[f64], like: Option<&Logistic>) -> (Law, Parabola) {
        let prior = leaning(direction, TAUS[0]);
        let start = match like {
            Some(like) => like.mean.clone(),
            None if table.counts.len() > 4 * FEW_ROWS => {
                climb(&table.first(FEW_ROWS), &yes[..FEW_ROWS], &prior, &prior.mean).0.mean
            }
            None => prior.mean.clone(),
        };
        climb(table, yes, &prior, &start)
    }

    /// Averages over all tau, given the law for the first and the parabola behind it.
    fn stray(table: &Table, yes: &[bool], direction: &[f64], first: &Law, touching: &Parabola) -> Self {
        let mut fits = vec![Self::of(first)];
        for &tau in &TAUS[1..] {
            let prior = leaning(direction, tau);
            let law = touching.with(&prior);
            let law = if law.away <= NEAR { law } else { climb(table, yes, &prior, &first.mean).0 };
            fits.push(Self::of(&law));
        }
        Self::average(&fits)
    }

    fn of(law: &Law) -> Self {
        let order = law.mean.len();
        let mut covariance = Symmetric::zeros(order);
        let mut inverse = Vec::new();
        law.factor.inverse_factor(&mut inverse);
        let mut rest = &inverse[..];
        for i in 0..order {
            let (row, below) = rest.split_at(i + 1);
            covariance.add_outer(row);
            rest = below;
        }
        Logistic { mean: law.mean.clone(), covariance, evidence: law.evidence }
    }

    /// One normal law for several, each with its share of the evidence.
    fn average(fits: &[Logistic]) -> Self {
        let order = fits[0].mean.len();
        let evidence = log_sum(fits.iter().map(|fit| fit.evidence));
        let shares: Vec<f64> = fits.iter().map(|fit| (fit.evidence - evidence).exp()).collect();
        let mut mean = vec![0.0; order];
        for (fit, share) in fits.iter().zip(&shares) {
            mean.iter_mut().zip(&fit.mean).for_each(|(sum, w)| *sum += share * w);
        }
        let mut covariance = Symmetric::zeros(order);
        for (fit, share) in fits.iter().zip(&shares) {
            for i in 0..order {
                for j in 0..=i {
                    let apart = (fit.mean[i] - mean[i]) * (fit.mean[j] - mean[j]);
                    let entry = covariance.get(i, j) + share * (fit.covariance.get(i, j) + apart);
                    covariance.set(i, j, entry);
                }
            }
        }
        Logistic { mean, covariance, evidence: evidence - (fits.len() as f64).ln() }
    }

    /// The log-odds of a yes, flattened as far as the line is not known there; `x` begins with a one.
    #[inline]
    pub(super) fn log_odds(&self, x: &[f64]) -> f64 {
        dot(&self.mean, x) / self.flattening(x)
    }

    /// What log-odds are divided by.
    #[inline]
    fn flattening(&self, x: &[f64]) -> f64 {
        (1.0 + FLATTENING * self.covariance.form(x)).sqrt()
    }

    /// What each evaluator adds to the log-odds beyond those of the item with every score at its mean.
    ///
    /// With e the line and D its flattening, `e/D - e0/D0 = (e - e0)/D + e0 (1/D - 1/D0)`. The first is a sum over evaluators, and
    /// so is D^2 - D0^2, by which the second is shared out.
    pub(super) fn explain(&self, x: &[f64], each: &mut [f64]) {
        let mut origin = vec![0.0; x.len()];
        origin[0] = 1.0;
        let (here, there) = (self.flattening(x), self.flattening(&origin));
        let per_square = -self.mean[0] * FLATTENING / (here * there * (here + there));
        let image = self.covariance.times(x);
        let from_one = self.covariance.times(&origin);
        for j in 1..=each.len() {
            let square = x[j] * (image[j] + from_one[j]);
            each[j - 1] += self.mean[j] * x[j] / here + per_square * square;
        }
    }
}

/// The prior that leans on a direction.
fn leaning(direction: &[f64], tau: f64) -> Prior {
    let (tau2, length2) = (tau * tau, dot(direction, direction));
    let mut precision = Symmetric::zeros(direction.len() + 1);
    precision.set(0, 0, 1.0 / INTERCEPT_VARIANCE);
    for (i, a) in direction.iter().enumerate() {
        for (j, b) in direction[..=i].iter().enumerate() {
            let own = f64::from(i == j);
            precision.set(i + 1, j + 1, (own - a * b / (tau2 + length2)) / tau2);
        }
    }
    let log_det = direction.len() as f64 * tau2.ln() + (1.0 + length2 / tau2).ln() + INTERCEPT_VARIANCE.ln();
    let mean = std::iter::once(INTERCEPT).chain(direction.iter().map(|d| STRENGTH * d)).collect();
    Prior { mean, precision, log_det: -log_det }
}

/// 1 / (1 + e^-x).
pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolbox::hash_number;

    /// Rows of two features, and answers by a line.
    fn asked(rows: u64, line: [f64; 3]) -> (Table, Vec<bool>) {
        let uniform = |at: u64, which: u64| (hash_number(which, at) >> 11) as f64 / (1_u64 << 53) as f64;
        let (mut table, mut yes) = (Table { order: 3, ..Table::default() }, Vec::new());
        for at in 0..rows {
            let row = [1.0, 4.0 * uniform(at, 1) - 2.0, 4.0 * uniform(at, 2) - 2.0];
            yes.push(uniform(at, 3) < logistic(dot(&row, &line)));
            table.rows.extend(row);
            table.counts.push(1.0);
        }
        (table, yes)
    }

    #[test]
    fn many_answers_find_the_line_whatever_it_leans_on() {
        let line = [-1.0, 1.2, -0.6];
        let (table, yes) = asked(20_000, line);
        for direction in [[0.7, 0.7], [-0.7, -0.7]] {
            let fit = Logistic::along(&table, &yes, &direction, None);
            for (found, told) in fit.mean.iter().zip(line) {
                // Four standard errors: the information of a row is some 0.15 times its squares.
                assert!((found - told).abs() < 0.08, "{:?}", fit.mean);
            }
        }
    }

    #[test]
    fn without_answers_the_ranking_is_that_of_the_direction() {
        let fit = Logistic::along(&Table { order: 3, ..Table::default() }, &[], &[0.6, 0.8], None);
        assert!((fit.mean[0] - INTERCEPT).abs() < 1e-9);
        assert!((fit.mean[1] / fit.mean[2] - 0.75).abs() < 1e-9, "{:?}", fit.mean);
    }

    #[test]
    fn a_direction_is_turned_round_by_answers_and_not_without() {
        let direction = [0.7, 0.7];
        let turned = |line: [f64; 3], rows: u64| {
            let (table, yes) = asked(rows, line);
            Logistic::fit(&table, &yes, &direction, 1.0 / 9.0).1
        };
        assert!(turned([-1.0, -1.5, -1.5], 60));
        assert!(!turned([-1.0, 1.5, 1.5], 60));
        assert!(!turned([-1.0, -1.5, -1.5], 1));
    }

    #[test]
    fn what_evaluators_add_is_the_difference_to_the_middling_item() {
        let (table, yes) = asked(50, [-1.0, 2.0, 0.0]);
        let fit = Logistic::along(&table, &yes, &[0.7, 0.7], None);
        for x in [[1.0, 1.5, -0.5], [1.0, -3.0, 0.1], [1.0, 0.0, 0.0]] {
            let mut each = [0.0; 2];
            fit.explain(&x, &mut each);
            let difference = fit.log_odds(&x) - fit.log_odds(&[1.0, 0.0, 0.0]);
            assert!((each[0] + each[1] - difference).abs() < 1e-12, "{each:?} {difference}");
        }
    }
}
