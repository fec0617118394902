//! The fitted model: from a state's statistics to a value for each item.
//!
//! Sets of features compete: standardised scores, normal scores, both, and with `curve=spline`
//! bends of the normal scores too; where scores are missing, all of these, and which ones are
//! missing. The evidence weighs them.
//!
//! Moments of the standardised scores are known from *every* label; those of the normal scores,
//! whose scale is still being learnt, only from the sample of labelled rows. The two are joined as
//! in two-phase sampling (see [`phases`]): a straight line is learnt from all labels, the bend from
//! the sample, each with the precision it has.

mod lines;
mod marks;
mod tables;
mod trial;

use self::lines::Lines;
use super::groups::Groups;
use super::kept::{Kept, LateSpread};
use super::landscape::{self, Landscape};
use super::least_squares::LeastSquares;
use super::levels::Levels;
use super::phases::{self, UNCUT};
use super::reviewers::Reviewers;
use super::silence::Silence;
use super::spread::Spread;
use super::tails;
use super::trees::Trees;
use super::uncertainty::Uncertainty;
use crate::estimate::{Joint, SampledRow};
use crate::form::Form;
use crate::kernel::{dot, dot_rows};
use crate::scores::Scores;
use crate::toolbox::Interval;
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) landscape: Landscape,
    /// Which missing scores are read as 0 in the rows that it is shown.
    pub(super) silence: Silence,
    /// Whether all rewards of the labels that are known row by row are the same.
    pub(crate) alike: bool,
    /// Labels fitted to.
    pub(crate) labels: f64,
    /// Those that are known row by row.
    kept: Arc<Kept>,
    /// The moments of all complete ones, where these tell more.
    complete: Option<Joint>,
    /// By straight lines and bends; worked out when first asked for, since rewards of few levels
    /// may go by levels alone.
    lines: OnceLock<Lines>,
    /// What the labels say without any prior, the same.
    alone: OnceLock<LeastSquares>,
    /// How far rewards are off.
    spread: LateSpread,
    /// Other weights to choose by, drawn from the posterior; none unless asked for.
    draws: Vec<Vec<f64>>,
    /// Where rewards have few levels, what the value goes by.
    pub(super) levels: Option<Levels>,
    /// Who judged, where verdicts say so.
    pub(super) reviewers: Reviewers,
    /// What groups of items add to it.
    pub(super) groups: Groups,
    /// What depends on several scores at once, where the labels show that something does.
    pub(super) trees: Option<Trees>,
    /// What rewards were cut to.
    pub(super) range: (f64, f64),
}

impl Model {
    /// Fits labelled rows (scores, then the reward) of the sample, and the moments of all complete
    /// labelled rows.
    pub(crate) fn fit(mut landscape: Landscape, kept: &Arc<Kept>, complete: &Joint) -> Self {
        landscape.blanks_tell = false; // whatever an earlier fit found
        let (width, rows) = (landscape.width(), kept.rows());
        let of_rows: f64 = rows.clone().map(|row| row.weight).sum();
        let incomplete = rows.clone().filter(|row| row.values[..width].iter().any(|x| x.is_nan()));
        let known = complete.weight() + incomplete.map(|row| row.weight).sum::<f64>();
        // Moments of every label cannot be cut after the fact: where rewards are, all of the fit
        // rests on the sample.
        let range = tails::range(&landscape, &rows);
        let tell_more = range.is_none() && known > of_rows;
        let mut model = Model {
            landscape,
            silence: Silence::default(),
            alike: false,
            labels: if tell_more { known } else { of_rows },
            kept: Arc::clone(kept),
            complete: tell_more.then(|| complete.clone()),
            lines: OnceLock::new(),
            alone: OnceLock::new(),
            spread: LateSpread::around(kept, None),
            draws: Vec::new(),
            levels: None,
            reviewers: Reviewers::default(),
            groups: Groups::default(),
            trees: None,
            range: range.unwrap_or(UNCUT),
        };
        model.landscape.blanks_tell = !model.landscape.blanks.is_empty() && model.lines().blanks_tell;
        model
    }

    /// Straight lines and bends.
    pub(super) fn lines(&self) -> &Lines {
        let fit = || Lines::fit(&self.landscape, &self.kept, self.range, self.complete.as_ref());
        self.lines.get_or_init(fit)
    }

    /// What the labels say without any prior.
    fn alone(&self) -> &LeastSquares {
        self.alone.get_or_init(|| {
            let rows = phases::sampled(&self.landscape, self.landscape.width(), self.kept.rows(), UNCUT);
            match &self.complete {
                Some(all) => LeastSquares::of(&phases::linear(&self.landscape, self.kept.rows(), all), &rows),
                None => LeastSquares::of(&rows.joint(), &rows),
            }
        })
    }

    /// Has the value go by levels too, where the rewards of labelled rows (scores, then the reward)
    /// are levels.
    pub(super) fn fit_levels<'a>(
        &mut self,
        labelled: &Arc<Kept>,
        unlabelled: impl Iterator<Item = SampledRow<'a>>,
    ) {
        self.levels = Levels::fit(self, labelled, unlabelled);
    }

    /// Has trees see what lines and bends leave of the rewards of labelled rows (scores, then the
    /// reward), where these go by them at all.
    pub(super) fn fit_trees(&mut self, kept: &Arc<Kept>) {
        let labelled = kept.rows();
        let weighed = self.levels.as_ref().is_some_and(|levels| levels.may_be_weighed(labelled.len()));
        if self.levels.as_ref().is_some_and(Levels::is_all) && !weighed {
            return;
        }
        let by_lines = self.expected(labelled.clone());
        let width = self.landscape.width();
        let of_groups = labelled.clone().map(|row| self.groups.shift(self, &row.values[..width]));
        let expected: Vec<f64> = by_lines.iter().zip(of_groups).map(|(line, shift)| line + shift).collect();
        let (trees, of_trees) = Trees::fit(&self.landscape, labelled, &expected, self.range).unzip();
        let of_trees = of_trees.unwrap_or_else(|| vec![0.0; expected.len()]);
        if weighed && !self.weigh_levels(kept, &expected, &of_trees) {
            return;
        }
        if trees.is_some() {
            // How far rewards are off is that of what all groups share, by lines, bends and trees
            // that have not seen them.
            let unseen = by_lines.iter().zip(&of_trees).map(|(line, more)| line + more).collect();
            self.spread = LateSpread::around(kept, Some(unseen));
        }
        self.trees = trees;
    }

    /// How far rewards are off.
    pub(super) fn spread(&self) -> &Spread {
        self.spread.of(self)
    }

    /// Has it be read off other labelled rows, by what is expected of them now.
    pub(super) fn expect_around(&mut self, labelled: &Arc<Kept>) {
        let width = self.landscape.width();
        let lines = self.expected_by_lines(labelled.rows());
        let each = lines.iter().zip(labelled.rows());
        let values = each.map(|(line, row)| self.groups.value(self, &row.values[..width], *line)).collect();
        self.spread = LateSpread::around(labelled, Some(values));
    }

    /// The expected reward of each item.
    pub(crate) fn values(&self, scores: &Scores<'_>, out: &mut Vec<f64>) {
        self.shared_values(scores, out);
        if !self.groups.is_none() {
            let each = out.iter_mut().zip(scores.rows());
            each.for_each(|(value, row)| *value = self.groups.value(self, row, *value));
        }
    }

    /// The same by what all groups share.
    pub(super) fn shared_values(&self, scores: &Scores<'_>, out: &mut Vec<f64>) {
        match &self.levels {
            Some(levels) if levels.is_all() => {
                out.clear();
                out.resize(scores.items(), 0.0);
            }
            _ => self.line_values(scores, out),
        }
        if let Some(levels) = &self.levels {
            levels.values(&self.landscape, scores, out);
        }
    }

    /// The value of each item by straight lines and bends, and by trees where these see more.
    fn line_values(&self, scores: &Scores<'_>, out: &mut Vec<f64>) {
        self.sums(scores, out);
        if let Some(trees) = &self.trees {
            trees.add(&self.landscape, scores, out);
        }
    }

    /// The value of each item by straight lines and bends alone.
    fn sums(&self, scores: &Scores<'_>, out: &mut Vec<f64>) {
        out.clear();
        let lines = self.lines();
        if let Some(tables) = &lines.tables {
            return tables.values(lines.intercept, scores, out);
        }
        let (base, weights) = self.straight();
        dot_rows(scores.values(), &weights, out);
        out.iter_mut().for_each(|value| *value += base);
        if !scores.is_complete() {
            // A row with a gap has come out as NaN.
            let gaps = out.iter_mut().zip(scores.rows()).filter(|(value, _)| value.is_nan());
            gaps.for_each(|(value, row)| *value = lines.intercept + self.linear_with_gaps(row));
        }
    }

    /// What is expected of labelled rows (scores, then the reward) by straight lines and bends, and
    /// trees.
    pub(super) fn expected<'a>(&self, labelled: impl Iterator<Item = SampledRow<'a>>) -> Vec<f64> {
        self.of_rows(labelled, Self::line_values)
    }

    /// The same without trees.
    pub(super) fn expected_by_lines<'a>(&self, labelled: impl Iterator<Item = SampledRow<'a>>) -> Vec<f64> {
        self.of_rows(labelled, Self::sums)
    }

    fn of_rows<'a>(
        &self,
        labelled: impl Iterator<Item = SampledRow<'a>>,
        value: impl Fn(&Self, &Scores<'_>, &mut Vec<f64>),
    ) -> Vec<f64> {
        let width = self.landscape.width();
        let (mut scores, mut values) = (Vec::new(), Vec::new());
        labelled.for_each(|row| scores.extend_from_slice(&row.values[..width]));
        let complete = scores.iter().all(|score| !score.is_nan());
        value(self, &Scores::trusted(&scores, width, complete), &mut values);
        values
    }

    /// How the value of a complete row adds up over its scores, where it does.
    pub(crate) fn form(&self) -> Option<Form> {
        let adds_up = self.levels.is_none() && self.groups.is_none() && self.trees.is_none();
        adds_up.then(|| self.line_form())
    }

    fn line_form(&self) -> Form {
        let lines = self.lines();
        if let Some(tables) = &lines.tables {
            return Form::curved(tables.clone()).on_line(lines.intercept, 1.0);
        }
        let (base, weights) = self.straight();
        Form::dots(&weights).on_line(base, 1.0)
    }

    /// Where the value is linear in the scores: what it is where they are all 0, and what a unit of
    /// each adds to it.
    fn straight(&self) -> (f64, Vec<f64>) {
        let (landscape, lines) = (&self.landscape, self.lines());
        let weights = lines.weights.iter().zip(&landscape.scale).map(|(weight, scale)| weight * scale);
        let weights: Vec<f64> = weights.collect();
        (lines.intercept - dot(&weights, &landscape.centre), weights)
    }

    /// The straight part of a row's value, its missing scores replaced by what the present ones
    /// lead to expect.
    fn linear_with_gaps(&self, row: &[f64]) -> f64 {
        let (landscape, weights) = (&self.landscape, &self.lines().weights);
        let (mut sum, mut missing, mut precision, mut factor) = (0.0, 0.0, 1.0, 0.0);
        for (j, &x) in row.iter().enumerate() {
            if x.is_nan() {
                missing += weights[j] * landscape.loading[j];
            } else if landscape.scale[j] != 0.0 {
                let standard = (x - landscape.centre[j]) * landscape.scale[j];
                let share = landscape.loading[j] / landscape.noise[j];
                precision += share * landscape.loading[j];
                factor += share * standard;
                sum += weights[j] * standard;
            }
        }
        sum + missing * factor / precision + self.blank_weights(row).sum::<f64>()
    }

    /// What it adds to the value that scores are missing, for each of them.
    pub(super) fn blank_weights(&self, row: &[f64]) -> impl Iterator<Item = f64> {
        let blanks = self.landscape.blanks.iter().zip(&self.lines().weights[self.landscape.in_blocks()..]);
        blanks.filter(|(blank, _)| row[blank.evaluator].is_nan()).map(|(blank, weight)| blank.size * weight)
    }

    /// The mean effect of an evaluator on the value, per standard deviation of its score.
    pub(crate) fn slope(&self, j: usize) -> f64 {
        self.effect(j).map(|(feature, share)| share * self.lines().weights[feature]).sum()
    }

    /// Each evaluator's weight, and what it lies within at a level by the labels alone; the weight
    /// itself is never without.
    pub(crate) fn weight_intervals(&self, level: f64) -> Vec<Interval> {
        let alone = self.alone();
        let one = |j: usize| {
            let scale = self.landscape.scale[j];
            let mean = scale * self.slope(j);
            match alone.interval(j, level) {
                (low, high) if scale > 0.0 && low.is_finite() => {
                    Interval { mean, low: mean.min(scale * low), high: mean.max(scale * high) }
                }
                _ => Interval::around(mean, f64::INFINITY),
            }
        };
        (0..self.landscape.width()).map(one).collect()
    }

    /// The features of an evaluator, each with its mean slope in normal score.
    pub(crate) fn effect(&self, j: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
        let width = self.landscape.width();
        (0..self.landscape.blocks).map(move |block| (block * width + j, landscape::mean_slope(block)))
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
            self.groups.value(self, row, dot(&features, weights))
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
        let trees = self.trees.as_ref().map_or(0.0, |trees| trees.value(&self.landscape, row));
        let lines = self.lines();
        lines.intercept + dot(features, &lines.weights) + trees
    }
}
