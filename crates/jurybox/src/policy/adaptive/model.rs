//! The fitted model: from a state's statistics to a value for each item.
//!
//! Three sets of features compete: standardised scores, normal scores, both. The evidence weighs them.
//!
//! Moments of the standardised scores are known from *every* label; those of the normal scores, whose scale is still
//! being learnt, only from the sample of labelled rows. The two are joined as in two-phase sampling (see [`two_phase`]):
//! a straight line is learnt from all labels, the bend from the sample, each with the precision it has.

use super::landscape::Landscape;
use super::regression::{Regression, log_sum};
use super::uncertainty::Uncertainty;
use crate::estimate::{Joint, SampledRow};
use crate::matrix::{Cholesky, Symmetric};
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
        let features = 2 * width;
        let sampled = moments_of(&landscape, labelled.clone());
        let linear = linear_moments(&landscape, labelled, complete);
        let moments = if linear.weight() > sampled.weight() { two_phase(&linear, &sampled) } else { sampled };
        let plain = landscape.directions();
        let both: Vec<Vec<f64>> =
            plain.iter().map(|d| d.iter().chain(d).map(|x| 0.5 * x).collect()).collect();
        let sets: [(Vec<usize>, &[Vec<f64>]); 3] = [
            ((0..width).collect(), &plain),
            ((width..features).collect(), &plain),
            ((0..features).collect(), &both),
        ];
        let fits = sets.map(|(keep, directions)| {
            let regression = Regression::fit(&moments, &keep, directions);
            (keep, regression)
        });
        let total = log_sum(fits.iter().map(|(_, fit)| fit.evidence));
        let mut model = Model {
            landscape,
            weights: vec![0.0; features],
            intercept: 0.0,
            labels: moments.weight(),
            centre: (0..features).map(|i| moments.mean(i)).collect(),
            draws: Vec::new(),
            parts: Vec::with_capacity(3),
            tables: Vec::new(),
        };
        for (keep, regression) in fits {
            let share = (regression.evidence - total).exp();
            if share < LEAST_SHARE {
                continue;
            }
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
        let bent = self.weights[width + j] * scale.signum();
        let value = |x: f64, score: f64| straight * (x - landscape.centre[j]) + bent * score;
        // Piece i holds from knot i - 1 to knot i, as value at x = 0 and slope.
        let first = score.first().copied().unwrap_or(0.0);
        table.value.push(value(0.0, first));
        table.slope.push(straight);
        for i in 0..at.len() {
            table.at.push(at[i]);
            let slope = match at.get(i + 1) {
                Some(next) => straight + bent * (score[i + 1] - score[i]) / (next - at[i]),
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
            let mut features = Vec::with_capacity(2 * width);
            out.extend(scores.rows().map(|row| self.value(row, &mut features)));
            return;
        }
        if self.tables.is_empty() {
            let landscape = &self.landscape;
            let weights: Vec<f64> = (0..width).map(|j| self.weights[j] * landscape.scale[j]).collect();
            let shift: f64 = weights.iter().zip(&landscape.centre).map(|(w, c)| w * c).sum();
            crate::kernel::dot_rows(scores.values(), &weights, out);
            out.iter_mut().for_each(|value| *value += self.intercept - shift);
            return;
        }
        out.extend(scores.rows().map(|row| {
            self.intercept + row.iter().zip(&self.tables).map(|(&x, table)| table.at(x)).sum::<f64>()
        }));
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
            features.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>()
        }));
    }

    /// The variance of the value that missing scores leave, under the one-factor model.
    pub(crate) fn unseen(&self, row: &[f64]) -> f64 {
        let (landscape, width) = (&self.landscape, self.landscape.width());
        let (mut precision, mut own, mut common) = (1.0, 0.0, 0.0);
        for (j, x) in row.iter().enumerate() {
            let weight = self.weights[j] + self.weights[width + j];
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
        self.intercept + features.iter().zip(&self.weights).map(|(x, w)| x * w).sum::<f64>()
    }
}

impl Table {
    #[inline]
    fn at(&self, x: f64) -> f64 {
        let piece = self.at.partition_point(|&knot| knot <= x);
        self.value[piece] + self.slope[piece] * x
    }
}

/// Moments of the sampled rows' features and rewards.
fn moments_of<'a>(landscape: &Landscape, labelled: impl Iterator<Item = SampledRow<'a>>) -> Joint {
    let width = landscape.width();
    let mut joint = Joint::new(2 * width + 1);
    let mut features = Vec::with_capacity(2 * width + 1);
    for row in labelled {
        landscape.features(&row.values[..width], &mut features);
        features.push(row.values[width]);
        joint.add(&features, row.count as f64);
    }
    joint
}

/// Moments of the standardised scores and rewards: every complete row, and the incomplete ones of the sample.
fn linear_moments<'a>(
    landscape: &Landscape,
    labelled: impl Iterator<Item = SampledRow<'a>>,
    complete: &Joint,
) -> Joint {
    let width = landscape.width();
    let (mut shift, mut scale) = (landscape.centre.clone(), landscape.scale.clone());
    shift.push(0.0);
    scale.push(1.0);
    let mut joint = complete.standardised(&shift, &scale);
    let mut features = Vec::with_capacity(2 * width + 1);
    for row in labelled.filter(|row| row.values[..width].iter().any(|x| x.is_nan())) {
        landscape.features(&row.values[..width], &mut features);
        features.truncate(width);
        features.push(row.values[width]);
        joint.add(&features, row.count as f64);
    }
    joint
}

/// Moments of all features as if from every label, given those of the linear ones from every label and those of all from
/// a sample.
///
/// On the sample, the curved features n are split into what is linear in the straight ones z and a rest: n = C z + e with
/// e uncorrelated with z. What is known of z and y then carries over through C with its full precision, and only e, the
/// bend itself, is known as well as the sample knows it, and counts for no more rows than that.
fn two_phase(linear: &Joint, sampled: &Joint) -> Joint {
    let width = linear.columns() - 1;
    let (y, y_sampled) = (width, 2 * width);
    let mut straight = Symmetric::zeros(width);
    for i in 0..width {
        for j in 0..=i {
            straight.set(i, j, sampled.spread(i, j));
        }
    }
    let mut factor = Cholesky::default();
    if !factor.factor(&straight, 1e-9 * sampled.weight().max(1.0)) {
        return sampled.clone();
    }
    // Row a of C: curved feature a on the straight ones.
    let share: Vec<Vec<f64>> = (0..width)
        .map(|a| {
            let mut row: Vec<f64> = (0..width).map(|j| sampled.spread(width + a, j)).collect();
            factor.solve(&mut row);
            row
        })
        .collect();
    let through = |row: &[f64], of: &dyn Fn(usize) -> f64| -> f64 {
        row.iter().enumerate().map(|(j, c)| c * of(j)).sum()
    };
    let mut mean: Vec<f64> = (0..=2 * width).map(|i| if i < width { linear.mean(i) } else { 0.0 }).collect();
    let mut spread = Symmetric::zeros(2 * width + 1);
    for i in 0..width {
        for j in 0..=i {
            spread.set(i, j, linear.spread(i, j));
        }
        spread.set(y_sampled, i, linear.spread(y, i));
    }
    spread.set(y_sampled, y_sampled, linear.spread(y, y));
    mean[y_sampled] = linear.mean(y);
    for (a, row) in share.iter().enumerate() {
        mean[width + a] = sampled.mean(width + a) + through(row, &|j| linear.mean(j) - sampled.mean(j));
        for i in 0..width {
            spread.set(width + a, i, through(row, &|j| linear.spread(j, i)));
        }
        let bend = sampled.spread(width + a, y_sampled) - through(row, &|j| sampled.spread(j, y_sampled));
        spread.set(y_sampled, width + a, through(row, &|j| linear.spread(j, y)) + bend);
        for (b, other) in share[..=a].iter().enumerate() {
            let line = through(row, &|i| through(other, &|j| linear.spread(i, j)));
            let rest = sampled.spread(width + a, width + b)
                - through(row, &|j| sampled.spread(j, width + b))
                - through(other, &|j| sampled.spread(j, width + a))
                + through(row, &|i| through(other, &|j| sampled.spread(i, j)));
            spread.set(width + a, width + b, line + if a == b { rest.max(0.0) } else { rest });
        }
    }
    Joint::from_parts(linear.weight(), mean, spread)
}
