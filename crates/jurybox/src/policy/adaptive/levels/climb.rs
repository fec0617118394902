//! The mode of a logistic regression's posterior, by Newton's method, and the normal law that touches it there.
//!
//! The answers enter as a parabola that touches their log-likelihood somewhere. Under a normal prior the law of the weights is then
//! normal too, without another look at the rows: so one parabola serves several priors, as long as their modes lie near enough to
//! where it touches.

use crate::kernel::{Width, by_fours, dot};
use crate::matrix::{Cholesky, Symmetric};

/// Newton's method ends when no weight moves by more than this, since the next step would move it by about the square; or after so
/// many steps.
const SETTLED: f64 = 0.03;
const MOST_STEPS: usize = 30;
/// Factors are multiplied up to about here.
const LARGE: f64 = 1e250; // four more of them are still a number

/// So many rows lie side by side, number by number.
const LANES: usize = 4;
type Lanes = [f64; LANES];
/// So many fours of rows, times what they weigh, stay in the cache.
const STRETCH: usize = 64;

/// Rows to fit to, `order` numbers each: a one, the features, and zeros where there are fewer. Each has a count.
#[derive(Debug, Clone)]
pub(super) struct Table {
    order: usize,
    len: usize,
    /// The first number of four rows, their second, and so on; then the next four. Behind the last row are zeros, of which none counts.
    rows: Vec<Lanes>,
    counts: Vec<Lanes>,
}

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

impl Table {
    pub(super) fn new(order: usize) -> Self {
        Table { order, len: 0, rows: Vec::new(), counts: Vec::new() }
    }

    pub(super) fn add(&mut self, row: &[f64], count: f64) {
        let lane = self.len % LANES;
        if lane == 0 {
            self.rows.resize(self.rows.len() + self.order, [0.0; LANES]);
            self.counts.push([0.0; LANES]);
        }
        let (start, last) = (self.rows.len() - self.order, self.counts.len() - 1);
        self.rows[start..].iter_mut().zip(row).for_each(|(lanes, x)| lanes[lane] = *x);
        self.counts[last][lane] = count;
        self.len += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = f64> {
        self.counts.as_flattened()[..self.len].iter().copied()
    }

    /// What the rows of the rarer answer count for.
    pub(super) fn rarer(&self, yes: &[bool]) -> f64 {
        let labels: f64 = self.counts().sum();
        let yeses: f64 = self.counts().zip(yes).filter(|(_, yes)| **yes).map(|(count, _)| count).sum();
        yeses.min(labels - yeses)
    }

    /// The first rows, a multiple of four.
    pub(super) fn first(&self, rows: usize) -> Table {
        let fours = rows / LANES;
        Table {
            order: self.order,
            len: fours * LANES,
            rows: self.rows[..fours * self.order].to_vec(),
            counts: self.counts[..fours].to_vec(),
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
        by_fours!(table.order, |width| Self::touching(width, table, yes, at))
    }

    #[expect(clippy::inline_always, reason = "the constant width must reach the loops")]
    #[inline(always)]
    fn touching<W: Width>(width: W, table: &Table, yes: &[bool], at: Vec<f64>) -> Self {
        let order = width.get();
        let (mut loss, mut gradient) = (0.0, vec![[0.0; LANES]; order]);
        let mut curvature = Symmetric::zeros(order);
        let mut scaled = Vec::with_capacity(STRETCH * order);
        // One logarithm for many factors between 1 and 2.
        let mut product = 1.0;
        let mut answers = yes.chunks(LANES);
        for (rows, counts) in table.rows.chunks(STRETCH * order).zip(table.counts.chunks(STRETCH)) {
            scaled.clear();
            for (rows, counts) in rows.chunks_exact(order).zip(counts) {
                let mut odds = [0.0; LANES];
                for (row, w) in rows.iter().zip(&at) {
                    (0..LANES).for_each(|lane| odds[lane] += row[lane] * w);
                }
                let (mut push, mut root) = ([0.0; LANES], [0.0; LANES]);
                for (lane, &yes) in answers.next().unwrap_or_default().iter().enumerate() {
                    let (odds, count) = (odds[lane], counts[lane]);
                    let small = (-odds.abs()).exp();
                    let towards = if yes { odds } else { -odds };
                    loss += count * (-towards).max(0.0);
                    if count == 1.0 {
                        product *= 1.0 + small;
                    } else {
                        loss += count * small.ln_1p();
                    }
                    let p = if odds > 0.0 { 1.0 } else { small } / (1.0 + small);
                    push[lane] = count * (p - f64::from(yes));
                    root[lane] = (count * small).sqrt() / (1.0 + small);
                }
                if product > LARGE {
                    loss += product.ln();
                    product = 1.0;
                }
                for (sum, row) in gradient.iter_mut().zip(rows) {
                    (0..LANES).for_each(|lane| sum[lane] += push[lane] * row[lane]);
                }
                let times = |row: &Lanes| -> Lanes { std::array::from_fn(|lane| root[lane] * row[lane]) };
                scaled.extend(rows.iter().map(times));
            }
            add_products(width, &scaled, &mut curvature);
        }
        loss += product.ln();
        Parabola { at, loss, gradient: gradient.iter().map(total).collect(), curvature }
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

/// Adds the products of all pairs of numbers of each row, two by two of them at a time: so many running sums stay in registers.
#[expect(clippy::inline_always, reason = "the constant width must reach the loops")]
#[inline(always)]
fn add_products<W: Width>(width: W, rows: &[Lanes], into: &mut Symmetric) {
    let order = width.get();
    for i in (0..order).step_by(2) {
        for j in (0..=i).step_by(2) {
            let (below, right) = ((i + 1).min(order - 1), (j + 1).min(order - 1));
            let mut sums = [[0.0; LANES]; 4];
            for row in rows.chunks_exact(order) {
                let (a, b) = ([&row[i], &row[below]], [&row[j], &row[right]]);
                for lane in 0..LANES {
                    sums[0][lane] += a[0][lane] * b[0][lane];
                    sums[1][lane] += a[0][lane] * b[1][lane];
                    sums[2][lane] += a[1][lane] * b[0][lane];
                    sums[3][lane] += a[1][lane] * b[1][lane];
                }
            }
            let mut add = |i: usize, j: usize, sum: &Lanes| into.set(i, j, into.get(i, j) + total(sum));
            add(i, j, &sums[0]);
            if j < i {
                add(i, right, &sums[1]);
            }
            if below > i {
                add(below, j, &sums[2]);
                add(below, right, &sums[3]);
            }
        }
    }
}

fn total(lanes: &Lanes) -> f64 {
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
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
