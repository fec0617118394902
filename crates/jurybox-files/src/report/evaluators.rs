//! Gains, noise, weights and error correlations of evaluators, from moments.
//!
//! Weights are coefficients of a linear regression of the reward on the scores. Without rewards, a
//! one-factor model is fitted to the scores.

use super::copies::CopyGroups;
use super::few_rows::depends_on_few_rows;
use super::gather::{GROUPS, ReportData};
use super::jackknife::{FISHER, IDENTITY, jackknife, merged};
use super::rank_correlation::{self, HeavyTails};
use super::{Advice, Basis, EvaluatorReport, Relation};
use crate::linear::inverse;
use jurybox::Interval;
use jurybox::estimate::{Factor, Moments};

/// Variance inflation factor from which on a column has no weight. The other evaluators then nearly
/// determine it.
const MOST_INFLATED: f64 = 1000.0;
/// Minimum share of noise in the variance of an evaluator. Below it, the one-factor model is at the
/// border of its parameters, where intervals mean nothing.
const BORDER: f64 = 1e-3;

/// The reports of all evaluators, the correlations of their errors, and the basis of both.
pub(super) fn evaluators(
    data: &ReportData,
    names: &[String],
) -> (Vec<EvaluatorReport>, Vec<Vec<f64>>, Basis) {
    let width = names.len();
    let scores = merged(&data.scores, GROUPS);
    let labels = merged(&data.labels, GROUPS);
    let rewarded = labels.count(width, width) >= 3.0 && variance(&labels, width) > 0.0;
    let copies = CopyGroups::among(&scores, width);
    let factor = Factor::fit(&scores.of(&copies.representatives)).ok();
    // The standardised loading of an evaluator on the factor.
    let share = |j: usize| {
        let (factor, (place, sign)) = (factor.as_ref()?, copies.place[j]?);
        known(sign * factor.loadings()[place] / variance(&scores, copies.representatives[place]).sqrt())
    };
    let mut list: Vec<EvaluatorReport> = Vec::new();
    for (j, name) in names.iter().enumerate() {
        let mut about = EvaluatorReport {
            name: name.clone(),
            advice: Advice::Undecided,
            coverage: data.scored[j] / (data.rows.max(1)) as f64,
            missing_is_zero: data.scored[j] < scores.count(j, j),
            mean: scores.mean(j),
            deviation: variance(&scores, j).sqrt(),
            gain: None,
            offset: None,
            noise: None,
            weight: None,
            correlation: None,
            rank_correlation: false,
            relation: Relation::Unknown,
            nonlinear: false,
            sign: copies.place[j].map_or(1.0, |(_, sign)| sign),
            copies: copies.others(j).into_iter().map(|i| names[i].clone()).collect(),
            curve: Vec::new(),
        };
        if rewarded {
            let (of_reward, of_score) = (variance(&labels, width), variance(&labels, j));
            let gain = labels.covariance(j, width).unwrap_or(f64::NAN) / of_reward;
            about.gain = known(gain);
            about.offset = known(labels.mean(j) - gain * labels.mean(width));
            about.noise = known((of_score - gain * gain * of_reward).max(0.0).sqrt());
        } else if let Some(share) = share(j) {
            about.gain = Some(share * about.deviation);
            about.offset = known(scores.mean(j));
            about.noise = Some((1.0 - share * share).max(0.0).sqrt() * about.deviation);
        }
        list.push(about);
    }
    intervals(data, &copies, rewarded, &mut list);
    let share = |j: usize| share(j).unwrap_or(0.0);
    let errors = (0..width).map(|i| {
        (0..width)
            .map(|j| {
                if i == j {
                    1.0
                } else if rewarded {
                    partial(&labels, i, j, correlation(&labels, i, width), correlation(&labels, j, width))
                } else {
                    partial(&scores, i, j, share(i), share(j))
                }
            })
            .collect()
    });
    let from = match () {
        () if rewarded => Basis::Rewards,
        () if factor.is_some() => Basis::Scores,
        () if data.labelled > 2 => Basis::EqualRewards,
        () => Basis::FewRewards,
    };
    (list, errors.collect(), from)
}

/// Adds weights, correlations and relations with their intervals to `list`.
fn intervals(data: &ReportData, copies: &CopyGroups, rewarded: bool, list: &mut [EvaluatorReport]) {
    let representatives = &copies.representatives;
    let of = |groups: &[Moments], columns: &[usize]| -> Vec<Moments> {
        groups.iter().map(|group| group.of(columns)).collect()
    };
    let (weights, correlations) = if rewarded {
        let columns: Vec<usize> = representatives.iter().copied().chain([list.len()]).collect();
        let labels = of(&data.labels, &columns);
        (
            jackknife(&labels, regression, IDENTITY).map(|weights| without_few_rows(&labels, weights)),
            jackknife(&labels, |moments| Some(correlations_with_last(moments)), FISHER),
        )
    } else {
        (jackknife(&of(&data.scores, representatives), one_factor, IDENTITY), None)
    };
    let tails = HeavyTails::of(data);
    let family = correlations.iter().flatten().flatten().count();
    for (j, (about, place)) in list.iter_mut().zip(&copies.place).enumerate() {
        let Some((place, sign)) = *place else { continue };
        let mine = |list: &Option<Vec<Option<Interval>>>| Some(list.as_ref()?[place]?.times(sign));
        about.weight = mine(&weights);
        about.correlation = mine(&correlations);
        about.rank_correlation = about.correlation.is_some() && tails.rank_correlation(j);
        if about.rank_correlation {
            about.correlation = rank_correlation::correlation(&data.sample, j, family);
        }
        about.relation = if about.rank_correlation {
            // With heavy tails, the interval of the weight is too narrow.
            Relation::of(about.correlation)
        } else if rewarded {
            Relation::of_both(about.correlation, about.weight)
        } else {
            Relation::of(about.weight)
        };
    }
}

impl Relation {
    /// The relation that one interval shows.
    fn of(estimate: Option<Interval>) -> Relation {
        match estimate {
            None => Relation::Unknown,
            Some(estimate) if estimate.low > 0.0 => Relation::With,
            Some(estimate) if estimate.high < 0.0 => Relation::Against,
            Some(_) => Relation::NotSeen,
        }
    }

    /// The relation that the correlation shows or, if it shows none, the weight.
    fn of_both(correlation: Option<Interval>, weight: Option<Interval>) -> Relation {
        match (Relation::of(correlation), Relation::of(weight)) {
            (Relation::NotSeen, Relation::With | Relation::Against) => Relation::BesideOthers,
            (alone, _) => alone,
        }
    }
}

/// A finite value, or `None`.
fn known(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn variance(moments: &Moments, j: usize) -> f64 {
    moments.covariance(j, j).unwrap_or(f64::NAN)
}

pub(super) fn correlation(moments: &Moments, i: usize, j: usize) -> f64 {
    let scale = (variance(moments, i) * variance(moments, j)).sqrt();
    (moments.covariance(i, j).unwrap_or(f64::NAN) / scale).clamp(-1.0, 1.0)
}

/// The partial correlation of two columns, given their correlations with a third. NaN if one of
/// them is determined by the third.
fn partial(moments: &Moments, i: usize, j: usize, with_i: f64, with_j: f64) -> f64 {
    let left = ((1.0 - with_i * with_i) * (1.0 - with_j * with_j)).sqrt();
    if left < 1e-9 {
        return f64::NAN;
    }
    ((correlation(moments, i, j) - with_i * with_j) / left).clamp(-1.0, 1.0)
}

/// The correlation of every column with the last one.
fn correlations_with_last(moments: &Moments) -> Vec<f64> {
    let width = moments.evaluators() - 1;
    (0..width).map(|j| correlation(moments, j, width)).collect()
}

/// The coefficients of a linear regression of the last column, the reward, on the standardised
/// other columns. NaN for a column that is constant or nearly determined by the others. `None` if
/// there are too few rows.
fn regression(moments: &Moments) -> Option<Vec<f64>> {
    let width = moments.evaluators() - 1;
    // A regression on too few rows fits them exactly.
    if moments.count(width, width) < (varying(moments).len() + 3) as f64 {
        return None;
    }
    let scale = variance(moments, width).sqrt();
    let mut weights = vec![f64::NAN; width];
    for (i, row) in unique_parts(moments)? {
        weights[i] = scale
            * row
                .iter()
                .map(|&(j, factor)| {
                    let with = correlation(moments, j, width);
                    factor * if with.is_nan() { 0.0 } else { with }
                })
                .sum::<f64>();
    }
    Some(weights)
}

/// The columns that vary, without the last one.
fn varying(moments: &Moments) -> Vec<usize> {
    (0..moments.evaluators() - 1).filter(|&j| variance(moments, j) > 0.0).collect()
}

/// For each column that the others do not nearly determine: its unique part, the residual of a
/// regression on the others. The part is a sum over columns, given by their factors, in standard
/// deviations and up to a common factor.
type UniqueParts = Vec<(usize, Vec<(usize, f64)>)>;

/// The unique parts of all columns but the last: rows of the inverse correlation matrix.
fn unique_parts(moments: &Moments) -> Option<UniqueParts> {
    let varies = varying(moments);
    let n = varies.len();
    let mut matrix = vec![0.0; n * n];
    for (a, &i) in varies.iter().enumerate() {
        for (b, &j) in varies.iter().enumerate() {
            // A small ridge keeps the matrix invertible; copies show in their variance inflation.
            let value = if i == j { 1.0 + 1e-6 } else { correlation(moments, i, j) };
            matrix[a * n + b] = if value.is_nan() { 0.0 } else { value };
        }
    }
    let inverse = inverse(&matrix, n)?;
    // With missing scores, the matrix may not be positive definite, and the inflation negative.
    let known = (0..n).filter(|a| (0.0..MOST_INFLATED).contains(&inverse[a * n + a]));
    let row = |a: usize| varies.iter().copied().zip(inverse[a * n..].iter().copied()).collect();
    Some(known.map(|a| (varies[a], row(a))).collect())
}

/// Sets weights that depend on a few rows to `None`.
fn without_few_rows(groups: &[Moments], mut weights: Vec<Option<Interval>>) -> Vec<Option<Interval>> {
    let all = merged(groups, groups.len());
    for (i, row) in unique_parts(&all).into_iter().flatten() {
        let mut factors = vec![0.0; weights.len()];
        row.iter().for_each(|&(j, factor)| factors[j] = factor / variance(&all, j).sqrt());
        if depends_on_few_rows(groups, &all, &factors) {
            weights[i] = None;
        }
    }
    weights
}

/// Bartlett's weights of standardised scores for the factor of the one-factor model (Bartlett
/// 1937), scaled so that the weighted loadings sum to 1.
///
/// `None` if the model does not fit, and at the border of its parameters, where one evaluator
/// equals the factor.
fn one_factor(moments: &Moments) -> Option<Vec<f64>> {
    let factor = Factor::fit(moments).ok()?;
    let share: Vec<f64> = (0..moments.evaluators())
        .map(|j| factor.loadings()[j] / variance(moments, j).sqrt())
        .map(|l| if l.is_finite() { l } else { 0.0 })
        .collect();
    if share.iter().any(|l| 1.0 - l * l < BORDER) {
        return None;
    }
    let total: f64 = share.iter().map(|&l| l * l / (1.0 - l * l)).sum();
    Some(share.iter().map(|&l| l / (1.0 - l * l) / total).collect())
}

/// The effective number of evaluators with independent errors, among the ones related to the reward
/// (without rewards: to each other). It is their number squared over the sum of squared error
/// correlations, each of an evaluator with itself included.
///
/// `None` if fewer than two are related, or if an error correlation is unknown.
pub(super) fn effective(errors: &[Vec<f64>], evaluators: &[EvaluatorReport]) -> Option<f64> {
    let related: Vec<usize> = (0..evaluators.len()).filter(|&j| evaluators[j].is_related()).collect();
    let pairs = related.iter().flat_map(|&i| related.iter().map(move |&j| (i, j)));
    let sum: f64 = pairs.map(|(i, j)| errors[i][j].powi(2)).sum();
    let count = related.len() as f64;
    (count > 1.0 && sum > 0.0).then(|| count * count / sum)
}

impl EvaluatorReport {
    /// Whether it is related to the reward beyond chance; without rewards, to the other evaluators.
    pub(super) fn is_related(&self) -> bool {
        matches!(self.relation, Relation::With | Relation::Against | Relation::BesideOthers)
    }
}
