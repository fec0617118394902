//! A yes/no question, answered by a line: logistic regression with a prior that leans on a
//! direction.
//!
//! ```text
//! log-odds = a + <beta, x>,   a ~ N(-3, 2),   beta ~ N(1.5 d, tau^2 I + d d^T)
//! ```
//!
//! d was found without labels: before the first one the ranking is that of d, and labels move it as
//! far as they speak. How far single weights may stray (tau) is averaged over by the evidence, in
//! Laplace's approximation.

use super::super::regression::log_sum;
use super::climb::{Law, Parabola, Prior, climb};
use super::table::Table;
use crate::kernel::dot;
use crate::matrix::{Quadratic, Symmetric};
use std::cell::OnceCell;

/// How far single weights may stray from the direction, the middle one first: the others start
/// where it ended.
const TAUS: [f64; 3] = [0.6, 0.3, 1.2];
/// The same where many know a little each, and none stands out. Each counts as `h / (h + MET)` of
/// one of the others, h being the labels that give the rarer answer: while all are noes, nothing
/// says that the direction is right.
const CLOSE: [f64; 2] = [0.1, 0.03];
const MET: f64 = 3.0;
/// The prior of the intercept: what is looked for is rare.
const INTERCEPT: f64 = -3.0;
const INTERCEPT_VARIANCE: f64 = 2.0;
/// The prior strength along the direction.
const STRENGTH: f64 = 1.5;
/// Where there are far more rows than this, the first so many, a fair sample, say where to start.
const FEW_ROWS: usize = 128;
/// A parabola serves another tau where no weight is further than this from where it touches.
const NEAR: f64 = 0.1;
/// A direction whose evidence seems further behind than this is not looked at more closely: by a
/// parabola that serves it, or by one that does not.
const BEHIND: f64 = 1.0;
const FAR_BEHIND: f64 = 20.0;
/// pi / 8: the expectation of a logistic function of a normal variable is nearly one of its mean
/// over sqrt(1 + this s^2).
const FLATTENING: f64 = 0.392_699_081_698_724_2;

/// A fitted line: posterior mean and covariance of intercept and weights.
#[derive(Debug, Clone)]
pub(super) struct Logistic {
    /// The intercept, then a weight for each evaluator.
    mean: Vec<f64>,
    covariance: Symmetric,
    /// The same, for the variance of many items' log-odds.
    variance: Quadratic,
}

impl Logistic {
    /// Fits a line that leans on the direction, or on its opposite where the answers, against the
    /// odds of `reversed` to one, make that the likelier one.
    pub(super) fn fit(table: &Table, yes: &[bool], direction: &[f64], reversed: f64) -> (Self, bool) {
        let opposite: Vec<f64> = direction.iter().map(|d| -d).collect();
        let ahead = First::climb(table, yes, direction, None);
        let back = leaning(&opposite, TAUS[0]);
        let enough = ahead.law.evidence - reversed.ln();
        let seems = ahead.touching.with(&back);
        let behind = if seems.away <= NEAR { BEHIND } else { FAR_BEHIND };
        if seems.evidence > enough - behind {
            let back = First::of(table, yes, &back, ahead.at_mode().clone());
            if back.law.evidence > enough {
                return (back.stray(&opposite), true);
            }
        }
        (ahead.stray(direction), false)
    }

    /// Fits a line that leans on the direction; a line that is like it says where to start.
    pub(super) fn along(table: &Table, yes: &[bool], direction: &[f64], like: Option<&Logistic>) -> Self {
        First::climb(table, yes, direction, like).stray(direction)
    }

    /// One normal law for several, each with its share of the evidence.
    fn average(laws: &[&Law]) -> Self {
        let order = laws[0].mean.len();
        let evidence = log_sum(laws.iter().map(|law| law.evidence));
        let shares: Vec<f64> = laws.iter().map(|law| (law.evidence - evidence).exp()).collect();
        let mut mean = vec![0.0; order];
        for (law, share) in laws.iter().zip(&shares) {
            mean.iter_mut().zip(&law.mean).for_each(|(sum, w)| *sum += share * w);
        }
        let mut covariance = Symmetric::zeros(order);
        for (law, share) in laws.iter().zip(&shares) {
            let within = law.covariance();
            for i in 0..order {
                for j in 0..=i {
                    let apart = (law.mean[i] - mean[i]) * (law.mean[j] - mean[j]);
                    let entry = covariance.get(i, j) + share * (within.get(i, j) + apart);
                    covariance.set(i, j, entry);
                }
            }
        }
        let variance = Quadratic::of(&covariance);
        Logistic { mean, covariance, variance }
    }

    /// The log-odds of a yes, flattened as far as the line is not known there; `x` begins with a
    /// one.
    #[inline]
    pub(super) fn log_odds(&self, x: &[f64]) -> f64 {
        dot(&self.mean, x) / self.flattening(x)
    }

    /// What log-odds are divided by.
    #[inline]
    fn flattening(&self, x: &[f64]) -> f64 {
        (1.0 + FLATTENING * self.variance.at(x)).sqrt()
    }

    /// What each evaluator adds to the log-odds beyond those of the item with every score at its
    /// mean.
    ///
    /// With e the line and D its flattening, `e/D - e0/D0 = (e - e0)/D + e0 (1/D - 1/D0)`. The
    /// first is a sum over evaluators, and so is D^2 - D0^2, by which the second is shared out.
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

/// The law of the first tau, from which the others start.
struct First<'a> {
    table: &'a Table,
    yes: &'a [bool],
    law: Law,
    /// The parabola behind the law, and one that touches at its mode: several priors start there,
    /// or none.
    touching: Parabola,
    at_mode: OnceCell<Parabola>,
}

impl<'a> First<'a> {
    fn climb(table: &'a Table, yes: &'a [bool], direction: &[f64], like: Option<&Logistic>) -> Self {
        let prior = leaning(direction, TAUS[0]);
        let start = match like {
            Some(like) => like.mean.clone(),
            None if table.len() > 4 * FEW_ROWS => {
                let (few, yes) = (table.first(FEW_ROWS), &yes[..FEW_ROWS]);
                climb(&few, yes, &prior, Parabola::of(&few, yes, prior.mean.clone())).0.mean
            }
            None => prior.mean.clone(),
        };
        Self::of(table, yes, &prior, Parabola::of(table, yes, start))
    }

    fn of(table: &'a Table, yes: &'a [bool], prior: &Prior, start: Parabola) -> Self {
        let (law, touching) = climb(table, yes, prior, start);
        First { table, yes, law, touching, at_mode: OnceCell::new() }
    }

    fn at_mode(&self) -> &Parabola {
        self.at_mode.get_or_init(|| Parabola::of(self.table, self.yes, self.law.mean.clone()))
    }

    /// Averages over all tau.
    fn stray(&self, direction: &[f64]) -> Logistic {
        let with = |tau: f64| {
            let prior = leaning(direction, tau);
            let law = self.touching.with(&prior);
            if law.away <= NEAR { law } else { climb(self.table, self.yes, &prior, self.at_mode().clone()).0 }
        };
        let mut others: Vec<Law> = TAUS[1..].iter().map(|&tau| with(tau)).collect();
        let rarer = self.table.rarer(self.yes);
        if rarer > 0.0 {
            let share = (rarer / (rarer + MET)).ln();
            others.extend(CLOSE.map(with).map(|law| Law { evidence: law.evidence + share, ..law }));
        }
        let laws: Vec<&Law> = std::iter::once(&self.law).chain(&others).collect();
        Logistic::average(&laws)
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
        let (mut table, mut yes) = (Table::new(3), Vec::new());
        for at in 0..rows {
            let row = [1.0, 4.0 * uniform(at, 1) - 2.0, 4.0 * uniform(at, 2) - 2.0];
            yes.push(uniform(at, 3) < logistic(dot(&row, &line)));
            table.add(&row, 1.0);
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
        let fit = Logistic::along(&Table::new(3), &[], &[0.6, 0.8], None);
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
