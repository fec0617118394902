//! From moments to gains, noise, weights and redundancy.

use super::copies::CopyGroups;
use super::few_rows::rest_on_few;
use super::gather::{GROUPS, ReportData};
use super::jackknife::{CORRELATION, STRAIGHT, jackknife, merged};
use super::rank_correlation::{self, HeavyTails};
use super::{Advice, EvaluatorReport, Relation};
use crate::linear::inverse;
use jurybox::Interval;
use jurybox::estimate::{Factor, Moments};

/// By how much the others may inflate the variance of a weight: beyond, they determine the evaluator all but wholly.
const MOST_INFLATED: f64 = 1000.0;
/// The least share of noise under which the one-factor model is at its border, where its intervals mean nothing.
const BORDER: f64 = 1e-3;

/// What is said of every evaluator, the correlations of their errors, and where both come from.
pub(super) fn evaluators(
    gathered: &ReportData,
    names: &[String],
) -> (Vec<EvaluatorReport>, Vec<Vec<f64>>, &'static str) {
    let width = names.len();
    let scores = merged(&gathered.scores, GROUPS);
    let labels = merged(&gathered.labels, GROUPS);
    let rewarded = labels.count(width, width) >= 3.0 && variance(&labels, width) > 0.0;
    let copies = CopyGroups::among(&scores, width);
    let factor = Factor::fit(&scores.of(&copies.speakers)).ok();
    // What an evaluator shares with the others: its loading in its own standard deviations.
    let share = |j: usize| {
        let (factor, (place, sign)) = (factor.as_ref()?, copies.place[j]?);
        known(sign * factor.loadings()[place] / variance(&scores, copies.speakers[place]).sqrt())
    };
    let mut list: Vec<EvaluatorReport> = Vec::new();
    for (j, name) in names.iter().enumerate() {
        let mut about = EvaluatorReport {
            name: name.clone(),
            advice: Advice::Undecided,
            coverage: gathered.scored[j] / (gathered.rows.max(1)) as f64,
            silence_is_read: gathered.scored[j] < scores.count(j, j),
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
    intervals(gathered, &copies, rewarded, &mut list);
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
        () if rewarded => "rewards",
        () if factor.is_some() => "scores alone, by the one-factor model",
        () if gathered.labelled > 2 => {
            "nothing: all rewards are the same, and the scores do not move together enough to tell signal from noise"
        }
        () => {
            "nothing: too few rewards, and the scores do not move together enough to tell signal from noise"
        }
    };
    (list, errors.collect(), from)
}

/// Weights and correlations with their intervals, and what these say.
fn intervals(gathered: &ReportData, copies: &CopyGroups, rewarded: bool, list: &mut [EvaluatorReport]) {
    let speakers = &copies.speakers;
    let of = |groups: &[Moments], columns: &[usize]| -> Vec<Moments> {
        groups.iter().map(|group| group.of(columns)).collect()
    };
    let (weights, correlations) = if rewarded {
        let columns: Vec<usize> = speakers.iter().copied().chain([list.len()]).collect();
        let labels = of(&gathered.labels, &columns);
        (
            jackknife(&labels, regression, STRAIGHT).map(|weights| told_by_many(&labels, weights)),
            jackknife(&labels, |moments| Some(with_the_last(moments)), CORRELATION),
        )
    } else {
        (jackknife(&of(&gathered.scores, speakers), one_factor, STRAIGHT), None)
    };
    let tails = HeavyTails::of(gathered);
    let family = correlations.iter().flatten().flatten().count();
    for (j, (about, place)) in list.iter_mut().zip(&copies.place).enumerate() {
        let Some((place, sign)) = *place else { continue };
        let mine = |list: &Option<Vec<Option<Interval>>>| Some(list.as_ref()?[place]?.times(sign));
        about.weight = mine(&weights);
        about.correlation = mine(&correlations);
        about.rank_correlation = about.correlation.is_some() && tails.rank_correlation(j);
        if about.rank_correlation {
            about.correlation = rank_correlation::correlation(&gathered.sample, j, family);
        }
        about.relation = if about.rank_correlation {
            // A weight is made of values, and its interval too narrow.
            Relation::of(about.correlation)
        } else if rewarded {
            Relation::of_both(about.correlation, about.weight)
        } else {
            Relation::of(about.weight)
        };
    }
}

impl Relation {
    /// What one interval says.
    fn of(estimate: Option<Interval>) -> Relation {
        match estimate {
            None => Relation::Unknown,
            Some(estimate) if estimate.low > 0.0 => Relation::With,
            Some(estimate) if estimate.high < 0.0 => Relation::Against,
            Some(_) => Relation::NotSeen,
        }
    }

    /// What the interval of the correlation says, and where it says nothing that of the weight.
    fn of_both(correlation: Option<Interval>, weight: Option<Interval>) -> Relation {
        match (Relation::of(correlation), Relation::of(weight)) {
            (Relation::NotSeen, Relation::With | Relation::Against) => Relation::BesideOthers,
            (alone, _) => alone,
        }
    }
}

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

/// The correlation of what two columns say beyond what they share with a third; unknown where one says nothing beyond it.
fn partial(moments: &Moments, i: usize, j: usize, with_i: f64, with_j: f64) -> f64 {
    let left = ((1.0 - with_i * with_i) * (1.0 - with_j * with_j)).sqrt();
    if left < 1e-9 {
        return f64::NAN;
    }
    ((correlation(moments, i, j) - with_i * with_j) / left).clamp(-1.0, 1.0)
}

/// The correlation of every column with the last.
fn with_the_last(moments: &Moments) -> Vec<f64> {
    let width = moments.evaluators() - 1;
    (0..width).map(|j| correlation(moments, j, width)).collect()
}

/// Coefficients of the reward (the last column) on the other columns, each in its own standard deviations. NaN for a
/// column that never varies here, or that the others all but determine.
fn regression(moments: &Moments) -> Option<Vec<f64>> {
    let width = moments.evaluators() - 1;
    // As many rows as columns would be fitted exactly, whatever they say.
    if moments.count(width, width) < (varying(moments).len() + 3) as f64 {
        return None;
    }
    let scale = variance(moments, width).sqrt();
    let mut weights = vec![f64::NAN; width];
    for (i, row) in beyond_the_others(moments)? {
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

/// The columns but the last that vary.
fn varying(moments: &Moments) -> Vec<usize> {
    (0..moments.evaluators() - 1).filter(|&j| variance(moments, j) > 0.0).collect()
}

/// Of each column but the last that others do not all but determine: by what all columns, in their own standard deviations, are multiplied in what
/// it has of its own, up to a factor.
type UniqueParts = Vec<(usize, Vec<(usize, f64)>)>;

fn beyond_the_others(moments: &Moments) -> Option<UniqueParts> {
    let varies = varying(moments);
    let n = varies.len();
    let mut matrix = vec![0.0; n * n];
    for (a, &i) in varies.iter().enumerate() {
        for (b, &j) in varies.iter().enumerate() {
            // A hair more than one on the diagonal: columns that determine each other are told by their inflation.
            let value = if i == j { 1.0 + 1e-6 } else { correlation(moments, i, j) };
            matrix[a * n + b] = if value.is_nan() { 0.0 } else { value };
        }
    }
    let inverse = inverse(&matrix, n)?;
    // Gaps can make correlations that no complete table could have; then the inflation is negative.
    let known = (0..n).filter(|a| (0.0..MOST_INFLATED).contains(&inverse[a * n + a]));
    let row = |a: usize| varies.iter().copied().zip(inverse[a * n..].iter().copied()).collect();
    Some(known.map(|a| (varies[a], row(a))).collect())
}

/// The intervals of weights, but of those that a few groups of rows tell.
fn told_by_many(groups: &[Moments], mut weights: Vec<Option<Interval>>) -> Vec<Option<Interval>> {
    let all = merged(groups, groups.len());
    for (i, row) in beyond_the_others(&all).into_iter().flatten() {
        let mut factors = vec![0.0; weights.len()];
        row.iter().for_each(|&(j, factor)| factors[j] = factor / variance(&all, j).sqrt());
        if rest_on_few(groups, &all, &factors) {
            weights[i] = None;
        }
    }
    weights
}

/// The oracle's weights on standardised scores under the one-factor model; they sum to what the factor is worth.
///
/// `None` at the model's border, where it takes one evaluator for the truth.
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

/// How many evaluators with independent errors those are worth that go with the reward, or with the others where there is none: their
/// number squared over the sum of squared error correlations. Errors of noise are independent too, and of no use.
///
/// `None` of fewer than two, and where two of them never scored the same row: nobody knows then.
pub(super) fn effective(errors: &[Vec<f64>], evaluators: &[EvaluatorReport]) -> Option<f64> {
    let telling: Vec<usize> = (0..evaluators.len()).filter(|&j| evaluators[j].tells()).collect();
    let pairs = telling.iter().flat_map(|&i| telling.iter().map(move |&j| (i, j)));
    let sum: f64 = pairs.map(|(i, j)| errors[i][j].powi(2)).sum();
    let count = telling.len() as f64;
    (count > 1.0 && sum > 0.0).then(|| count * count / sum)
}

impl EvaluatorReport {
    /// Whether it goes with the reward, or with the others where there is none, beyond chance.
    pub(super) fn tells(&self) -> bool {
        matches!(self.relation, Relation::With | Relation::Against | Relation::BesideOthers)
    }
}
