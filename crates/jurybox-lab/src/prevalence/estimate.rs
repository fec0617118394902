//! The estimate of the mean reward of all rows: PPI++ with unequal probabilities.
//!
//! PPI++ is prediction-powered inference with a fitted weight of the predictions (Angelopoulos,
//! Duchi and Zrnic 2023). If rows were reviewed with unequal probabilities, rewards are weighted by
//! one over the probability (Hájek's estimator).

use super::jackknife::{by_item, jackknife};
use crate::max_influence::MaxInfluence;
use crate::reward_range::RewardRange;
use jurybox::Interval;
use jurybox::toolbox::student_quantile;

/// A row of the table.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    /// NaN if there is no verdict.
    pub(super) reward: f64,
    pub(super) probability: f64,
    pub(super) prediction: f64,
    /// The row's item, if the table has items of several rows; else None.
    pub(super) item: Option<usize>,
    /// Whether the row was picked but has no verdict yet.
    pub(super) outstanding: bool,
}

/// The mean reward of all rows, with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PrevalenceEstimate {
    /// 95% interval, which allows for rewards rarer than those in the sample.
    pub(super) interval: Interval,
    /// Standard error of the mean.
    pub(super) standard_error: f64,
    /// Weight of the predictions, PPI++'s lambda: 0 ignores them.
    pub(super) lambda: f64,
    /// Kish's effective sample size: number of rewards of equal weight with as much information, or
    /// of items, if items have several rows.
    pub(super) effective_labels: f64,
    /// Whether the sample is large enough for a normal approximation, given the skewness.
    pub(super) enough_labels: bool,
}

impl PrevalenceEstimate {
    /// The interval by a normal approximation, which is `ppi_mean_ci` of `ppi-python` if all
    /// probabilities are equal. It is not reported, because it too rarely holds the mean of rare
    /// rewards.
    #[cfg(test)]
    pub(super) fn normal(&self) -> (f64, f64) {
        let half = 1.959_963_984_540_054 * self.standard_error;
        (self.interval.mean - half, self.interval.mean + half)
    }

    /// None from fewer than two rewards, or if one item has all rewards.
    ///
    /// The estimate is `s * mean of all predictions + weighted mean of (reward - s * prediction)`,
    /// with weights in proportion to one over the probability. PPI++'s lambda is the slope s times
    /// the share of unreviewed rows. With equal probabilities lambda, mean and standard error are
    /// those of PPI++, with the unreviewed rows as the second sample.
    ///
    /// If items have several rows, variances are over items, because rows of an item may be alike.
    pub(super) fn of(rows: &[Row], range: RewardRange) -> Option<PrevalenceEstimate> {
        let labelled: Vec<Row> = rows.iter().copied().filter(|row| !row.reward.is_nan()).collect();
        if labelled.len() < 2 {
            return None;
        }
        let (all, others) = (rows.len() as f64, (rows.len() - labelled.len()) as f64);
        let total: f64 = labelled.iter().map(|row| 1.0 / row.probability).sum();
        let weights: Vec<f64> = labelled.iter().map(|row| 1.0 / row.probability / total).collect();
        let equal = are_equal(rows);
        let slope = if others > 0.0 { slope(rows, &labelled, &weights, equal) } else { 0.0 };
        // PPI++ clamps lambda, which is the slope times the share of unreviewed rows, to 0 to 1.
        let slope = slope.clamp(0.0, all / others.max(1.0));
        let off = |row: &Row| row.reward - slope * row.prediction;
        let centre: f64 = labelled.iter().zip(&weights).map(|(row, weight)| weight * off(row)).sum();
        let predicted = rows.iter().map(|row| row.prediction).sum::<f64>() / all;
        let mean = slope * predicted + centre;
        let of_all = |row: &Row| slope * (row.prediction - predicted) / all;
        let own = |(row, weight): (&Row, &f64)| of_all(row) + weight * (off(row) - centre);
        let mut with: Vec<f64> = labelled.iter().zip(&weights).map(own).collect();
        let mut without: Vec<f64> = rows.iter().filter(|row| row.reward.is_nan()).map(of_all).collect();
        if equal {
            // As in PPI++, reviewed and unreviewed rows are centred at their own means.
            centred(&mut with);
            centred(&mut without);
        }
        let mut variance: f64 = with.iter().chain(&without).map(|term| term * term).sum();
        let surprises: Vec<f64> = labelled.iter().map(|row| off(row) - centre).collect();
        let max_influence = max_influence(&labelled, &weights, &surprises, slope, centre, range);
        let mut terms: Vec<(f64, f64)> = weights.into_iter().zip(surprises).collect();
        let mut alike = 1.0;
        if let Some(items) = by_item(rows, off) {
            variance = jackknife(&items, slope)?;
            let known = items.iter().filter(|item| item.weight > 0.0);
            let of_items = known.map(|item| (item.weight / total, item.off / item.weight - centre)).collect();
            let of_rows = std::mem::replace(&mut terms, of_items);
            alike = design_effect(variance, &of_rows, &terms);
        }
        let effective_labels = 1.0 / squares(&terms, |weight, _| weight);
        let t = student_quantile(0.975, (effective_labels - 1.0).max(1.0));
        let reach = |max_influence: f64| {
            let half = 0.5 * t * t * max_influence * alike;
            half + (t * t * variance + half * half).sqrt()
        };
        let (mut low, mut high) = (mean - reach(max_influence.down), mean + reach(max_influence.up));
        if range.known {
            (low, high) = (low.clamp(range.low, range.high), high.clamp(range.low, range.high));
        }
        Some(PrevalenceEstimate {
            interval: Interval { mean, low, high },
            standard_error: variance.sqrt(),
            lambda: slope * others / all,
            effective_labels,
            enough_labels: is_settled(
                &terms.iter().map(|(weight, surprise)| weight * surprise),
                effective_labels,
            ),
        })
    }
}

/// The sum of the squares of `of`, over pairs of a weight and a surprise (the distance of a reward
/// from the expected one).
fn squares(terms: &[(f64, f64)], of: fn(f64, f64) -> f64) -> f64 {
    terms.iter().map(|&(weight, surprise)| of(weight, surprise).powi(2)).sum()
}

/// The design effect: how much the variance grows because rows of an item are alike, at least 1. It
/// is the ratio of the variance over items to that over rows. If the latter is zero, rows of an
/// item are taken to be equal.
fn design_effect(variance: f64, of_rows: &[(f64, f64)], of_items: &[(f64, f64)]) -> f64 {
    let apart = squares(of_rows, |weight, surprise| weight * surprise);
    let effect = if apart > 0.0 {
        variance / apart
    } else {
        squares(of_items, |weight, _| weight) / squares(of_rows, |weight, _| weight)
    };
    effect.max(1.0)
}

/// Whether all known probabilities are equal.
fn are_equal(rows: &[Row]) -> bool {
    let mut said = rows.iter().map(|row| row.probability).filter(|p| !p.is_nan());
    said.next().is_none_or(|first| said.all(|p| p == first))
}

/// The slope of the predictions that minimises the variance, before clamping.
fn slope(rows: &[Row], labelled: &[Row], weights: &[f64], equal: bool) -> f64 {
    // Squared weights, because the variance of the estimate has them.
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    let mean = |of: &dyn Fn(&Row) -> f64| -> f64 {
        labelled.iter().zip(weights).map(|(row, weight)| weight * of(row)).sum()
    };
    let (reward, prediction) = (mean(&|row| row.reward), mean(&|row| row.prediction));
    let moment = |of: &dyn Fn(&Row) -> f64| -> f64 {
        labelled.iter().zip(weights).map(|(row, weight)| weight * weight * of(row)).sum::<f64>() / squares
    };
    let covariance = moment(&|row| (row.reward - reward) * (row.prediction - prediction));
    let variance = if equal {
        let all = rows.len() as f64;
        let mean = rows.iter().map(|row| row.prediction).sum::<f64>() / all;
        rows.iter().map(|row| (row.prediction - mean).powi(2)).sum::<f64>() / (all - 1.0)
    } else {
        moment(&|row| (row.prediction - prediction).powi(2))
    };
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

fn centred(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}

/// The largest influence of one row that was not reviewed, by [`MaxInfluence::of`]: the weight of a
/// row times the distance of a possible reward from the expected one.
fn max_influence(
    labelled: &[Row],
    weights: &[f64],
    surprises: &[f64],
    slope: f64,
    centre: f64,
    range: RewardRange,
) -> MaxInfluence {
    let expected = || labelled.iter().map(|row| slope * row.prediction + centre);
    let (least, most) =
        (expected().fold(f64::INFINITY, f64::min), expected().fold(f64::NEG_INFINITY, f64::max));
    let ends = ((most - range.low).max(0.0), (range.high - least).max(0.0));
    MaxInfluence::of(weights.iter().map(|weight| (1.0, *weight)), surprises.iter().copied(), ends)
}

/// Cochran's rule for a normal approximation, as amended by Sugden, Smith and Jones (2000): the
/// effective sample size is at least 28 + 25 times the squared skewness. False if all terms are
/// zero.
fn is_settled(terms: &(impl Iterator<Item = f64> + Clone), effective_labels: f64) -> bool {
    let moment = |power: i32| terms.clone().map(|term| term.powi(power)).sum::<f64>();
    let count = terms.clone().count() as f64;
    let skewness = (moment(3) / count) / (moment(2) / count).powf(1.5);
    effective_labels >= 28.0 + 25.0 * skewness * skewness
}
