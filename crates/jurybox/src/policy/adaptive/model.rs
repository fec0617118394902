//! The fitted model: from a state's statistics to a value for each item.
//!
//! Sets of features compete: standardised scores, normal scores, both, and with `curve=spline` bends of the normal
//! scores too. The evidence weighs them.
//!
//! Moments of the standardised scores are known from *every* label; those of the normal scores, whose scale is still
//! being learnt, only from the sample of labelled rows. The two are joined as in two-phase sampling (see [`phases`]):
//! a straight line is learnt from all labels, the bend from the sample, each with the precision it has.

use super::landscape::{self, Landscape};
use super::phases;
use super::regression::{Regression, log_sum};
use super::tails;
use super::uncertainty::Uncertainty;
use crate::estimate::{Joint, SampledRow};
use crate::kernel::{dot, dot_rows};
use crate::scores::Scores;

/// A feature set that the evidence gives less than this is left out.
const LEAST_SHARE: f64 = 1e-3;

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) landscape: Landscape,
    /// Weight of each feature, in units of the reward.
    pub(crate) weights: Vec<f64>,
    /// Expected reward where every feature is 0.
    pub(crate) intercept: f64,
    /// Labels fitted to, and the mean of each feature over them.
    pub(crate) labels: f64,
    pub(crate) centre: Vec<f64>,
    pub(super) parts: Vec<Part>,
    /// Other weights to choose by, drawn from the posterior; none unless asked for.
    draws: Vec<Vec<f64>>,
    tables: Vec<Table>,
}

/// One feature set's share of the answer.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) share: f64,
    pub(super) keep: Vec<usize>,
    pub(super) regression: Regression,
}

/// Evaluator j's contribution to the value, as a piecewise linear function of its score.
#[derive(Debug, Clone, Default)]
struct Table {
    at: Vec<f64>,
    value: Vec<f64>,
    slope: Vec<f64>,
}

impl Model {
    /// Fits labelled rows (scores, then the reward) of the sample, and the moments of all complete labelled rows.
    pub(crate) fn fit<'a>(
        landscape: Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
        complete: &Joint,
    ) -> Self {
        let width = landscape.width();
        if let Some(range) = tails::range(labelled.clone().map(|row| (row.values[width], row.count as f64))) {
            // Moments of every label cannot be cut after the fact: all of the fit rests on the sample.
            let moments = phases::sampled(&landscape, labelled, range);
            return Self::of(landscape, &moments);
        }
        let sampled = phases::sampled(&landscape, labelled.clone(), (f64::NEG_INFINITY, f64::INFINITY));
        let linear = phases::linear(&landscape, labelled, complete);
        let more = linear.weight() > sampled.weight();
        let moments = if more { phases::joined(&linear, &sampled) } else { sampled };
        Self::of(landscape, &moments)
    }

    fn of(landscape: Landscape, moments: &Joint) -> Self {
        let width = landscape.width();
        let features = landscape.features_len();
        let plain = landscape.directions();
        let both = |len: usize| -> Vec<Vec<f64>> {
            let spread = |d: &Vec<f64>| {
                (0..len).map(|i| if i < 2 * width { 0.5 * d[i % width] } else { 0.0 }).collect()
            };
            plain.iter().map(spread).collect()
        };
        let mut sets: Vec<(Vec<usize>, Vec<Vec<f64>>)> = vec![((0..width).collect(), plain.clone())];
        if features > width {
            sets.push(((width..2 * width).collect(), plain.clone()));
            sets.push(((0..2 * width).collect(), both(2 * width)));
        }
        if features > 2 * width {
            sets.push(((0..features).collect(), both(features)));
        }
        let mut fits: Vec<(Vec<usize>, Regression)> = sets
            .into_iter()
            .map(|(keep, directions)| {
                let regression = Regression::fit(moments, &keep, &directions);
                (keep, regression)
            })
            .collect();
        let total = log_sum(fits.iter().map(|(_, fit)| fit.evidence));
        fits.retain(|(_, fit)| (fit.evidence - total).exp() >= LEAST_SHARE);
        let total = log_sum(fits.iter().map(|(_, fit)| fit.evidence));
        let mut model = Model {
            landscape,
            weights: vec![0.0; features],
            intercept: 0.0,
            labels: moments.weight(),
            centre: (0..features).map(|i| moments.mean(i)).collect(),
            draws: Vec::new(),
            parts: Vec::with_capacity(fits.len()),
            tables: Vec::new(),
        };
        for (keep, regression) in fits {
            let share = (regression.evidence - total).exp();
            let mut centre = moments.mean(moments.columns() - 1);
            for (&feature, w) in keep.iter().zip(&regression.weights) {
                model.weights[feature] += share * w;
                centre -= w * moments.mean(feature);
            }
            model.intercept += share * centre;
            model.parts.push(Part { share, keep, regression });
        }
        model.tabulate();
        model
    }

    fn tabulate(&mut self) {
        let width = self.landscape.width();
        let largest = self.weights.iter().fold(0.0_f64, |m, w| m.max(w.abs()));
        let curved = self.weights[width..].iter().any(|w| w.abs() > 1e-6 * largest);
        self.tables = if curved { (0..width).map(|j| self.table(j)).collect() } else { Vec::new() };
    }

    /// The pieces between knots, and the straight line beyond the last ones.
    fn table(&self, j: usize) -> Table {
        let landscape = &self.landscape;
        let (scale, width) = (landscape.scale[j], landscape.width());
        let mut table = Table::default();
        if scale == 0.0 {
            return Table { at: vec![], value: vec![0.0], slope: vec![0.0] };
        }
        let (at, score) = landscape.curves[j].knots();
        let straight = self.weights[j] * scale;
        let bends = self.weights.len() / width - 1;
        let bent = |score: f64| -> f64 {
            let score = score * scale.signum();
            (0..bends).map(|bend| self.weights[(bend + 1) * width + j] * landscape::bend(score, bend)).sum()
        };
        let value = |x: f64, score: f64| straight * (x - landscape.centre[j]) + bent(score);
        // Piece i holds from knot i - 1 to knot i, as value at x = 0 and slope.
        let first = score.first().copied().unwrap_or(0.0);
        table.value.push(value(0.0, first));
        table.slope.push(straight);
        for i in 0..at.len() {
            table.at.push(at[i]);
            let slope = match at.get(i + 1) {
                Some(next) => straight + (bent(score[i + 1]) - bent(score[i])) / (next - at[i]),
                None => straight,
            };
            table.slope.push(slope);
            table.value.push(value(at[i], score[i]) - slope * at[i]);
        }
        table
    }

    /// The expected reward of each item.
    pub(crate) fn values(&self, scores: &Scores<'_>, out: &mut Vec<f64>) {
        out.clear();
        let width = self.landscape.width();
        if !scores.is_complete() {
            let mut features = Vec::with_capacity(self.weights.len());
            out.extend(scores.rows().map(|row| self.value(row, &mut features)));
            return;
        }
        if self.tables.is_empty() {
            let landscape = &self.landscape;
            let weights: Vec<f64> = (0..width).map(|j| self.weights[j] * landscape.scale[j]).collect();
            let shift = dot(&weights, &landscape.centre);
            dot_rows(scores.values(), &weights, out);
            out.iter_mut().for_each(|value| *value += self.intercept - shift);
            return;
        }
        out.extend(scores.rows().map(|row| {
            self.intercept + row.iter().zip(&self.tables).map(|(&x, table)| table.at(x)).sum::<f64>()
        }));
    }

    /// The mean effect of an evaluator on the value, per standard deviation of its score.
    pub(crate) fn slope(&self, j: usize) -> f64 {
        self.effect(j).map(|(feature, share)| share * self.weights[feature]).sum()
    }

    /// The features of an evaluator, each with its mean slope in normal score.
    pub(crate) fn effect(&self, j: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
        let width = self.landscape.width();
        (0..self.weights.len() / width).map(move |block| (block * width + j, landscape::mean_slope(block)))
    }

    /// Draws weights to choose by.
    pub(crate) fn draw(&mut self, count: usize) {
        self.draws = Uncertainty::of(self).draws(self, count);
    }

    /// How many sets of weights there are to choose by: one, or the draws.
    pub(crate) fn members(&self) -> usize {
        self.draws.len().max(1)
    }

    /// The value of each item under one set of weights.
    pub(crate) fn values_of(&self, member: usize, scores: &Scores<'_>, out: &mut Vec<f64>) {
        let Some(weights) = self.draws.get(member) else {
            return self.values(scores, out);
        };
        let mut features = Vec::with_capacity(weights.len());
        out.clear();
        out.extend(scores.rows().map(|row| {
            self.landscape.features(row, &mut features);
            dot(&features, weights)
        }));
    }

    /// The variance of the value that missing scores leave, under the one-factor model.
    pub(crate) fn unseen(&self, row: &[f64]) -> f64 {
        let landscape = &self.landscape;
        let (mut precision, mut own, mut common) = (1.0, 0.0, 0.0);
        for (j, x) in row.iter().enumerate() {
            let weight = self.slope(j);
            if x.is_nan() {
                own += weight * weight * landscape.noise[j];
                common += weight * landscape.loading[j];
            } else {
                precision += landscape.loading[j] * landscape.loading[j] / landscape.noise[j];
            }
        }
        own + common * common / precision
    }

    pub(super) fn value(&self, row: &[f64], features: &mut Vec<f64>) -> f64 {
        self.landscape.features(row, features);
        self.intercept + dot(features, &self.weights)
    }
}

impl Table {
    #[inline]
    fn at(&self, x: f64) -> f64 {
        let piece = self.at.partition_point(|&knot| knot <= x);
        self.value[piece] + self.slope[piece] * x
    }
}
