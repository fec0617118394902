//! The mode of a logistic regression's posterior, by Newton's method, and the normal law that
//! touches it there.
//!
//! The answers enter as a parabola that touches their log-likelihood somewhere. Under a normal
//! prior the law of the weights is then normal too, without another look at the rows: so one
//! parabola serves several priors, as long as their modes lie near enough to where it touches.

use super::table::{LANES, Lanes, Stretch, Table, total};
use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};

/// Newton's method ends when no weight moves by more than this, since the next step would move it
/// by about the square; or after so many steps.
const SETTLED: f64 = 0.03;
const MOST_STEPS: usize = 30;
/// Factors are multiplied up to about here.
const LARGE: f64 = 1e250; // four more of them are still a number

/// What is known of the weights beforehand.
pub(super) struct Prior {
    pub(super) mean: Vec<f64>,
    pub(super) precision: Symmetric,
    /// ln of the determinant of the precision.
    pub(super) log_det: f64,
}

/// The parabola that touches the negative log-likelihood of the answers at some weights.
#[derive(Clone)]
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

/// A negative log-likelihood that is added up.
struct Loss {
    sum: f64,
    /// One logarithm for many factors between 1 and 2.
    product: f64,
}

impl Default for Loss {
    fn default() -> Self {
        Loss { sum: 0.0, product: 1.0 }
    }
}

impl Loss {
    /// Four rows: their log-odds, how often each was seen, whether the answer was a yes, and e to
    /// the minus size of the log-odds.
    #[inline]
    fn add(&mut self, odds: &Lanes, counts: &Lanes, yes: &Lanes, small: &Lanes) {
        for lane in 0..LANES {
            let (odds, count) = (odds[lane], counts[lane]);
            let towards = if yes[lane] > 0.0 { odds } else { -odds };
            self.sum += count * (-towards).max(0.0);
            if count == 1.0 {
                self.product *= 1.0 + small[lane];
            } else {
                self.sum += count * small[lane].ln_1p();
            }
        }
        if self.product > LARGE {
            self.sum += self.product.ln();
            self.product = 1.0;
        }
    }

    fn total(self) -> f64 {
        self.sum + self.product.ln()
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
        let order = table.order();
        let (mut loss, mut gradient) = (Loss::default(), vec![[0.0; LANES]; order]);
        let mut curvature = Symmetric::zeros(order);
        let (mut odds, mut scaled) = (Vec::new(), Vec::new());
        let (mut push, mut root) = (Vec::new(), Vec::new());
        let mut answers = yes.chunks(Stretch::ROWS);
        for stretch in table.stretches() {
            stretch.times(&at, &mut odds);
            for room in [&mut push, &mut root] {
                room.clear();
                room.reserve(stretch.counts.len());
            }
            let mut answers = answers.next().unwrap_or_default().chunks(LANES);
            for (odds, counts) in odds.iter().zip(stretch.counts) {
                let mut yes = [0.0; LANES];
                yes.iter_mut()
                    .zip(answers.next().unwrap_or_default())
                    .for_each(|(yes, is)| *yes = f64::from(*is));
                let small = odds.map(|odds| (-odds.abs()).exp());
                loss.add(odds, counts, &yes, &small);
                let p = |lane: usize| if odds[lane] > 0.0 { 1.0 } else { small[lane] } / (1.0 + small[lane]);
                push.push(std::array::from_fn(|lane| counts[lane] * (p(lane) - yes[lane])));
                let root_of = |lane: usize| (counts[lane] * small[lane]).sqrt() / (1.0 + small[lane]);
                root.push(std::array::from_fn(root_of));
            }
            stretch.add_rows(&push, &mut gradient);
            stretch.add_products(&root, &mut scaled, &mut curvature);
        }
        Parabola { at, loss: loss.total(), gradient: gradient.iter().map(total).collect(), curvature }
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

impl Law {
    pub(super) fn covariance(&self) -> Symmetric {
        let order = self.mean.len();
        let mut covariance = Symmetric::zeros(order);
        let mut inverse = Vec::new();
        self.factor.inverse_factor(&mut inverse);
        let mut rest = &inverse[..];
        for i in 0..order {
            let (row, below) = rest.split_at(i + 1);
            covariance.add_outer(row);
            rest = below;
        }
        covariance
    }
}

/// The law at the mode, and the parabola that touches near it.
pub(super) fn climb(table: &Table, yes: &[bool], prior: &Prior, start: Parabola) -> (Law, Parabola) {
    let mut here = start;
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
