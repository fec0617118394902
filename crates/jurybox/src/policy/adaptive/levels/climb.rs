//! The mode of a logistic regression's posterior, by Newton's method, and the normal law that touches it there.
//!
//! The answers enter as a parabola that touches their log-likelihood somewhere. Under a normal prior the law of the weights is then
//! normal too, without another look at the rows: so one parabola serves several priors, as long as their modes lie near enough to
//! where it touches.

use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};

/// Newton's method ends when no weight moves by more than this, since the next step would move it by about the square; or after so
/// many steps.
const SETTLED: f64 = 0.03;
const MOST_STEPS: usize = 30;
/// Factors are multiplied up to about here.
const LARGE: f64 = 1e250;

/// Rows to fit to, `order` numbers each: a one, the features, and zeros where there are fewer. Each has a count.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) order: usize,
    pub(super) rows: Vec<f64>,
    pub(super) counts: Vec<f64>,
}

/// What is known of the weights beforehand.
pub(super) struct Prior {
    pub(super) mean: Vec<f64>,
    pub(super) precision: Symmetric,
    /// ln of the determinant of the precision.
    pub(super) log_det: f64,
}

/// The parabola that touches the negative log-likelihood of the answers at some weights.
pub(super) struct Parabola {
    at: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    curvature: Symmetric,
}

/// The normal law of the weights by a prior and a parabola.
pub(super) struct Law {
    pub(super) mean: Vec<f64>,
    /// Of the precision.
    pub(super) factor: Cholesky,
    /// Log marginal likelihood.
    pub(super) evidence: f64,
    /// How far the mean is from where the parabola touches: the most that any weight differs.
    pub(super) away: f64,
}

impl Table {
    pub(super) fn add(&mut self, row: &[f64], count: f64) {
        self.rows.extend_from_slice(row);
        self.counts.push(count);
    }

    /// The first rows.
    pub(super) fn first(&self, rows: usize) -> Table {
        Table {
            order: self.order,
            rows: self.rows[..rows * self.order].to_vec(),
            counts: self.counts[..rows].to_vec(),
        }
    }
}

impl Prior {
    fn loss(&self, at: &[f64]) -> f64 {
        let off: Vec<f64> = at.iter().zip(&self.mean).map(|(w, c)| w - c).collect();
        0.5 * self.precision.form(&off)
    }
}

impl Parabola {
    /// Touches at these weights.
    pub(super) fn of(table: &Table, yes: &[bool], at: Vec<f64>) -> Self {
        let order = table.order;
        let (mut loss, mut gradient) = (0.0, vec![0.0; order]);
        let mut scaled = Vec::with_capacity(table.rows.len());
        // One logarithm for many factors between 1 and 2.
        let mut product = 1.0;
        for ((row, &count), &yes) in table.rows.chunks_exact(order).zip(&table.counts).zip(yes) {
            let odds = dot(row, &at);
            let small = (-odds.abs()).exp();
            let towards = if yes { odds } else { -odds };
            loss += count * (-towards).max(0.0);
            if count == 1.0 {
                product *= 1.0 + small;
                if product > LARGE {
                    loss += product.ln();
                    product = 1.0;
                }
            } else {
                loss += count * small.ln_1p();
            }
            let p = if odds > 0.0 { 1.0 } else { small } / (1.0 + small);
            let push = count * (p - f64::from(yes));
            gradient.iter_mut().zip(row).for_each(|(sum, x)| *sum += push * x);
            let root = (count * small).sqrt() / (1.0 + small);
            scaled.extend(row.iter().map(|x| root * x));
        }
        loss += product.ln();
        let mut curvature = Symmetric::zeros(order);
        curvature.add_outers(&scaled);
        Parabola { at, loss, gradient, curvature }
    }

    /// The law of the weights under a prior.
    pub(super) fn with(&self, prior: &Prior) -> Law {
        let off: Vec<f64> = self.at.iter().zip(&prior.mean).map(|(w, c)| w - c).collect();
        let pull = prior.precision.times(&off);
        let loss = self.loss + 0.5 * dot(&off, &pull);
        let mut precision = prior.precision.clone();
        precision.add(&self.curvature);
        let mut factor = Cholesky::default();
        if !factor.factor(&precision, 0.0) {
            // Features beyond all measure: nothing can be learnt from them.
            factor.factor(&prior.precision, 0.0);
            return Law { mean: prior.mean.clone(), factor, evidence: -loss, away: 0.0 };
        }
        let slope: Vec<f64> = self.gradient.iter().zip(&pull).map(|(a, b)| a + b).collect();
        let mut step = slope.clone();
        factor.solve(&mut step);
        let lowest = loss - 0.5 * dot(&slope, &step);
        Law {
            mean: self.at.iter().zip(&step).map(|(w, s)| w - s).collect(),
            evidence: 0.5 * (prior.log_det - factor.log_determinant()) - lowest,
            away: step.iter().fold(0.0, |most, s| s.abs().max(most)),
            factor,
        }
    }
}

/// The law at the mode, and the parabola that touches near it.
pub(super) fn climb(table: &Table, yes: &[bool], prior: &Prior, start: &[f64]) -> (Law, Parabola) {
    let mut here = Parabola::of(table, yes, start.to_vec());
    let mut law = here.with(prior);
    for _ in 1..MOST_STEPS {
        if law.away <= SETTLED {
            break;
        }
        let before = here.loss + prior.loss(&here.at);
        let mut next = Parabola::of(table, yes, law.mean.clone());
        let mut away = law.away;
        while next.loss + prior.loss(&next.at) > before && away > SETTLED {
            // Too far: halfway back. The loss is convex, so that it must be less in the end.
            away *= 0.5;
            let halfway = here.at.iter().zip(&next.at).map(|(a, b)| f64::midpoint(*a, *b)).collect();
            next = Parabola::of(table, yes, halfway);
        }
        law = next.with(prior);
        here = next;
    }
    (law, here)
}
