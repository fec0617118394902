//! Context: weights that differ by group (a language, a queue), as far as the labels say so.
//!
//! What all groups share is fitted first, and as if there were none. What it leaves of the rewards
//! is then read group by group:
//!
//! ```text
//! reward - expected = a_g + <b_g, z> + noise,   a_g ~ N(0, s^2 p^2),   b_g ~ N(0, s^2 q^2 I)
//! ```
//!
//! z being the standardised scores and s the noise. The scales p and q are shared by the groups of
//! one context, and averaged over by evidence on a grid that begins with 0: no difference at all,
//! half of the prior. A group of few labels is drawn to what is shared, and one that was never
//! labelled is valued by it. Several contexts add up, each read from what the others leave.
//!
//! It takes single rows, and so rests on the sample. Beyond [`MOST_SLOPES`] evaluators groups
//! differ by a_g alone: a fit is not left to cost the cube of them for every group.

use super::model::Model;
use crate::estimate::SampledRow;
use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};
use crate::toolbox::Interval;
use std::collections::BTreeMap;

/// The scales of the constant and of the slopes, in units of the noise.
const CONSTANTS: [f64; 4] = [0.0, 0.1, 0.4, 1.5];
const SLOPES: [f64; 5] = [0.0, 0.05, 0.2, 0.7, 2.0];
/// The prior probability that groups do not differ.
const ALIKE: f64 = 0.5;
/// Contexts are read anew so many times, each from what the others leave.
const SWEEPS: usize = 3;
const MOST_SLOPES: usize = 32;

/// What groups add to the value of an item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    contexts: Vec<Context>,
    /// The least and the greatest reward, where values are to stay between them.
    ends: Option<(f64, f64)>,
}

/// The groups of one column.
#[derive(Debug, Clone)]
struct Context {
    column: usize,
    /// By the bits of the group's number: a constant, then what one standard deviation of each
    /// score adds.
    each: BTreeMap<u64, Vec<f64>>,
}

/// The labels of a group, each times the root of what it counts for: a one and the scores, and what
/// is left of the reward.
#[derive(Default)]
struct Labels {
    rows: Vec<f64>,
    left: Vec<f64>,
}

/// The products that its weights are known by. Whichever are fewer: a group of an id, of one label,
/// is one number.
enum Products {
    /// Of a one and the scores with each other, and with what is left.
    OfScores(Symmetric, Vec<f64>),
    /// Of the labels with each other, by their ones and by their scores.
    OfLabels(Symmetric, Symmetric, Labels),
}

impl Groups {
    /// From a fit of what is shared, and labelled rows (scores, then the reward) whose groups stand
    /// in these columns.
    pub(super) fn of<'a>(
        model: &Model,
        columns: &[usize],
        labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
    ) -> Self {
        if columns.is_empty() {
            return Groups::default();
        }
        let width = model.landscape.width();
        let order = if width > MOST_SLOPES { 1 } else { width + 1 };
        let mut rows = Vec::new();
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (row, expected) in labelled.clone().zip(model.expected(labelled)) {
            let reward = row.values[width];
            (least, greatest) = (least.min(reward), greatest.max(reward));
            let mut x = vec![1.0; 1];
            x.extend(place(model, &row.values[..width]));
            x.truncate(order);
            rows.push((x, row, reward - expected));
        }
        let levels = model.levels.is_some() && least < greatest;
        let none = |&column: &usize| Context { column, each: BTreeMap::new() };
        let mut groups = Groups {
            contexts: columns.iter().map(none).collect(),
            ends: levels.then_some((least, greatest)),
        };
        let count: f64 = rows.iter().map(|(_, row, _)| row.weight).sum();
        let sweeps = if columns.len() > 1 { SWEEPS } else { 1 };
        for _ in 0..sweeps {
            for at in 0..columns.len() {
                groups.contexts[at].each.clear();
                let mut of_groups: BTreeMap<u64, Labels> = BTreeMap::new();
                let mut squares = 0.0;
                for (x, row, off) in &rows {
                    let left = off - groups.added(x, row.values);
                    squares += row.weight * left * left;
                    let code = row.values[columns[at]];
                    if code.is_nan() {
                        continue;
                    }
                    of_groups.entry(key(code)).or_default().add(x, left, row.weight);
                }
                if squares > 0.0 && squares.is_finite() && of_groups.len() > 1 {
                    let products = of_groups.into_iter().map(|(code, labels)| (code, labels.products(order)));
                    groups.contexts[at].each = differing(&products.collect(), squares, count, order);
                }
            }
        }
        groups
    }

    /// What the groups of a row add to its value; `x` is a one, then its standardised scores.
    fn added(&self, x: &[f64], row: &[f64]) -> f64 {
        let one = |context: &Context| {
            context
                .each
                .get(&key(row[context.column]))
                .map_or(0.0, |weights| dot(weights, &x[..weights.len()]))
        };
        self.contexts.iter().map(one).sum()
    }

    /// What the groups of an item add to its value, wherever rewards end.
    pub(super) fn shift(&self, model: &Model, row: &[f64]) -> f64 {
        if self.is_none() {
            return 0.0;
        }
        let mut x = vec![1.0];
        x.extend(place(model, row));
        self.added(&x, row)
    }

    pub(super) fn is_none(&self) -> bool {
        self.contexts.iter().all(|context| context.each.is_empty())
    }

    /// The value of an item, given that by what is shared.
    pub(super) fn value(&self, model: &Model, row: &[f64], shared: f64) -> f64 {
        let known = |context: &Context| context.each.contains_key(&key(row[context.column]));
        if !self.contexts.iter().any(known) {
            return shared;
        }
        let mut x = vec![1.0];
        x.extend(place(model, row));
        let value = shared + self.added(&x, row);
        self.ends.map_or(value, |(least, greatest)| value.clamp(least.min(shared), greatest.max(shared)))
    }

    /// Where the reward of an item will lie, given where it would by what is shared: as far further
    /// on as its value is, and where rewards have levels, from one of them to another.
    pub(super) fn moved(&self, model: &Model, row: &[f64], shared: Interval) -> Interval {
        let mean = self.value(model, row, shared.mean);
        let by = mean - shared.mean;
        if by == 0.0 {
            return shared;
        }
        let (mut low, mut high) = model.spread().at_levels(shared.low + by, shared.high + by);
        if let Some((least, greatest)) = self.ends {
            (low, high) = (low.max(least.min(shared.low)), high.min(greatest.max(shared.high)));
        }
        Interval { mean, low: low.min(mean), high: high.max(mean) }
    }

    /// What one standard deviation of each score adds for a group, beside what it adds for all;
    /// none where the group is not known.
    pub(super) fn slopes(&self, column: usize, code: f64) -> Option<&[f64]> {
        let context = self.contexts.iter().find(|context| context.column == column)?;
        context.each.get(&key(code)).map(|weights| &weights[1..])
    }

    /// The same of the constant.
    pub(super) fn constant(&self, column: usize, code: f64) -> Option<f64> {
        let context = self.contexts.iter().find(|context| context.column == column)?;
        context.each.get(&key(code)).map(|weights| weights[0])
    }

    /// Adds to what evaluators add to the value of an item: slopes to theirs, constants to the
    /// contexts themselves, and to the first of these what keeping between the ends takes away.
    pub(super) fn explain(&self, model: &Model, row: &[f64], shared: f64, each: &mut [f64]) {
        let place: Vec<f64> = place(model, row);
        let mut sum = 0.0;
        for context in &self.contexts {
            let Some(weights) = context.each.get(&key(row[context.column])) else { continue };
            each[context.column] += weights[0];
            sum += weights[0];
            for ((each, weight), z) in each.iter_mut().zip(&weights[1..]).zip(&place) {
                *each += weight * z;
                sum += weight * z;
            }
        }
        if let Some(first) = self.contexts.first() {
            each[first.column] += self.value(model, row, shared) - shared - sum;
        }
    }
}

/// The standardised scores of a row; those of contexts, and of evaluators that never vary, are 0.
fn place(model: &Model, row: &[f64]) -> Vec<f64> {
    let width = row.len();
    let (mut plain, mut ranked) = (vec![0.0; width], vec![0.0; width]);
    model.landscape.place(row, &mut plain, &mut ranked);
    plain
}

struct Fit {
    weights: Vec<f64>,
    /// The squares that they explain, for a constant times the noise.
    explained: f64,
    log_determinant: f64,
}

impl Labels {
    fn add(&mut self, x: &[f64], left: f64, weight: f64) {
        let root = weight.sqrt();
        self.rows.extend(x.iter().map(|x| root * x));
        self.left.push(root * left);
    }

    fn products(self, order: usize) -> Products {
        let labels = self.left.len();
        if labels >= order {
            let (mut products, mut left) = (Symmetric::zeros(order), vec![0.0; order]);
            products.add_outers(&self.rows);
            for (row, own) in self.rows.chunks_exact(order).zip(&self.left) {
                left.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * own);
            }
            return Products::OfScores(products, left);
        }
        let (mut ones, mut scores) = (Symmetric::zeros(labels), Symmetric::zeros(labels));
        ones.add_inners(&self.rows, order, 0..1);
        scores.add_inners(&self.rows, order, 1..order);
        Products::OfLabels(ones, scores, self)
    }
}

impl Products {
    /// The weights of a group given the scales, in which the noise cancels out.
    fn fit(&self, scales: (f64, f64)) -> Option<Fit> {
        match self {
            Products::OfScores(products, left) => Self::fit_by_scores(products, left, scales),
            Products::OfLabels(ones, scores, labels) => Self::fit_by_labels(ones, scores, labels, scales),
        }
    }

    fn fit_by_scores(products: &Symmetric, left: &[f64], (constant, slope): (f64, f64)) -> Option<Fit> {
        let order = left.len();
        // In units of the prior: I + D P D, with D the scales and P the products.
        let scale = |i: usize| if i == 0 { constant } else { slope };
        let mut matrix = Symmetric::zeros(order);
        for i in 0..order {
            for j in 0..=i {
                matrix.set(i, j, f64::from(u8::from(i == j)) + scale(i) * scale(j) * products.get(i, j));
            }
        }
        let mut factor = Cholesky::default();
        if !factor.factor(&matrix, 0.0) {
            return None;
        }
        let mut weights: Vec<f64> = left.iter().enumerate().map(|(i, left)| scale(i) * left).collect();
        factor.solve(&mut weights);
        weights.iter_mut().enumerate().for_each(|(i, weight)| *weight *= scale(i));
        Some(Fit { explained: dot(&weights, left), weights, log_determinant: factor.log_determinant() })
    }

    /// The same from the other side: with X the labels' rows, D^2 X^T (I + X D^2 X^T)^-1 times what
    /// is left of them.
    fn fit_by_labels(
        ones: &Symmetric,
        scores: &Symmetric,
        labels: &Labels,
        (constant, slope): (f64, f64),
    ) -> Option<Fit> {
        let count = labels.left.len();
        let (constant2, slope2) = (constant * constant, slope * slope);
        let mut matrix = Symmetric::zeros(count);
        for i in 0..count {
            for j in 0..=i {
                let own = f64::from(u8::from(i == j));
                matrix.set(i, j, own + constant2 * ones.get(i, j) + slope2 * scores.get(i, j));
            }
        }
        let mut factor = Cholesky::default();
        if !factor.factor(&matrix, 0.0) {
            return None;
        }
        let mut solved = labels.left.clone();
        factor.solve(&mut solved);
        let order = labels.rows.len() / count;
        let mut weights = vec![0.0; order];
        for (row, solved) in labels.rows.chunks_exact(order).zip(&solved) {
            weights.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * solved);
        }
        weights[0] *= constant2;
        weights[1..].iter_mut().for_each(|weight| *weight *= slope2);
        let explained =
            labels.rows.chunks_exact(order).zip(&labels.left).map(|(row, left)| left * dot(row, &weights));
        Some(Fit { explained: explained.sum(), weights, log_determinant: factor.log_determinant() })
    }
}

/// The weights of each group, averaged over the scales by evidence, the noise integrated out; none
/// where that groups differ is too unlikely to be told.
fn differing(
    of_groups: &BTreeMap<u64, Products>,
    squares: f64,
    count: f64,
    order: usize,
) -> BTreeMap<u64, Vec<f64>> {
    let slopes = if order > 1 { &SLOPES[..] } else { &SLOPES[..1] };
    let scales: Vec<(f64, f64)> =
        CONSTANTS.iter().flat_map(|&constant| slopes.iter().map(move |&slope| (constant, slope))).collect();
    let other = (1.0 - ALIKE) / (scales.len() - 1) as f64;
    let mut fits: Vec<(f64, Vec<Vec<f64>>)> = Vec::new();
    for &scale in &scales[1..] {
        let each: Option<Vec<Fit>> = of_groups.values().map(|products| products.fit(scale)).collect();
        let Some(each) = each else { continue };
        let explained: f64 = each.iter().map(|fit| fit.explained).sum();
        let log_determinant: f64 = each.iter().map(|fit| fit.log_determinant).sum();
        let left = ((squares - explained) / squares).max(f64::EPSILON);
        let evidence = other.ln() - 0.5 * (log_determinant + count * left.ln());
        fits.push((evidence, each.into_iter().map(|fit| fit.weights).collect()));
    }
    let most = fits.iter().map(|fit| fit.0).fold(ALIKE.ln(), f64::max);
    let alike = (ALIKE.ln() - most).exp();
    let total = alike + fits.iter().map(|fit| (fit.0 - most).exp()).sum::<f64>();
    if alike / total > 1.0 - LEAST_SHARE {
        return BTreeMap::new();
    }
    let mean = |at: usize| {
        let mut weights = vec![0.0; order];
        for (evidence, each) in &fits {
            let share = (evidence - most).exp() / total;
            weights.iter_mut().zip(&each[at]).for_each(|(sum, weight)| *sum += share * weight);
        }
        weights
    };
    of_groups.keys().enumerate().map(|(at, &code)| (code, mean(at))).collect()
}

/// Differences that the evidence gives less than this are left out.
const LEAST_SHARE: f64 = 0.05;

/// What a group's number is known by; the two zeros are one, and so are all that are none.
pub(super) fn key(code: f64) -> u64 {
    if code.is_nan() { u64::MAX } else { (code + 0.0).to_bits() }
}
