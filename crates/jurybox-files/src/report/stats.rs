//! From moments to gains, noise, weights and redundancy.

use super::gather::{GROUPS, Gathered};
use super::{EvaluatorReport, Weight};
use crate::linear::{inverse, t_quantile};
use jurybox::estimate::{Factor, Moments, Statistic};

/// What is said of every evaluator, the correlations of their errors, and where both come from.
pub(super) fn evaluators(
    gathered: &Gathered,
    names: &[String],
) -> (Vec<EvaluatorReport>, Vec<Vec<f64>>, &'static str) {
    let width = names.len();
    let scores = merged(&gathered.scores, GROUPS);
    let labels = merged(&gathered.labels, GROUPS);
    let rewarded = labels.count(width, width) >= 3.0 && variance(&labels, width) > 0.0;
    let factor = Factor::fit(&scores).ok();
    let list = names.iter().enumerate().map(|(j, name)| {
        let mut about = EvaluatorReport {
            name: name.clone(),
            coverage: scores.count(j, j) / (gathered.rows.max(1)) as f64,
            mean: scores.mean(j),
            deviation: variance(&scores, j).sqrt(),
            gain: None,
            offset: None,
            noise: None,
            weight: None,
            correlation: None,
            curve: Vec::new(),
        };
        if rewarded {
            let (of_reward, of_score) = (variance(&labels, width), variance(&labels, j));
            let gain = labels.covariance(j, width).unwrap_or(f64::NAN) / of_reward;
            about.gain = known(gain);
            about.offset = known(labels.mean(j) - gain * labels.mean(width));
            about.noise = known((of_score - gain * gain * of_reward).max(0.0).sqrt());
            about.correlation = known(correlation(&labels, j, width));
        } else if let Some(factor) = &factor {
            about.gain = known(factor.loadings()[j]);
            about.offset = known(scores.mean(j));
            about.noise = known(factor.sigma()[j]);
        }
        about
    });
    let mut list: Vec<EvaluatorReport> = list.collect();
    let weights = if rewarded {
        jackknife(&gathered.labels, regression)
    } else {
        jackknife(&gathered.scores, one_factor)
    };
    for (about, weight) in list.iter_mut().zip(weights) {
        about.weight = weight.filter(|_| about.deviation > 0.0);
    }
    let errors = (0..width).map(|i| {
        (0..width)
            .map(|j| {
                if i == j {
                    1.0
                } else if rewarded {
                    partial(&labels, i, j, correlation(&labels, i, width), correlation(&labels, j, width))
                } else {
                    let share = |j: usize| {
                        factor.as_ref().map_or(0.0, |f| f.loadings()[j] / variance(&scores, j).sqrt())
                    };
                    partial(&scores, i, j, share(i), share(j))
                }
            })
            .collect()
    });
    let from = match () {
        () if rewarded => "rewards",
        () if factor.is_some() => "scores alone, by the one-factor model",
        () => {
            "nothing: too few rewards, and the scores do not move together enough to tell signal from noise"
        }
    };
    (list, errors.collect(), from)
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

/// The correlation of what two columns say beyond what they share with a third.
fn partial(moments: &Moments, i: usize, j: usize, with_i: f64, with_j: f64) -> f64 {
    let left = ((1.0 - with_i * with_i) * (1.0 - with_j * with_j)).sqrt();
    ((correlation(moments, i, j) - with_i * with_j) / left.max(1e-6)).clamp(-1.0, 1.0)
}

/// All groups but one.
fn merged(groups: &[Moments], without: usize) -> Moments {
    let mut all = Moments::new(groups[0].evaluators());
    for (_, group) in groups.iter().enumerate().filter(|(at, _)| *at != without) {
        all.merge(group);
    }
    all
}

/// Coefficients of the reward (the last column) on the other columns, each in its own standard deviations.
fn regression(moments: &Moments) -> Option<Vec<f64>> {
    let width = moments.evaluators() - 1;
    let varies: Vec<usize> = (0..width).filter(|&j| variance(moments, j) > 0.0).collect();
    let n = varies.len();
    let mut matrix = vec![0.0; n * n];
    for (a, &i) in varies.iter().enumerate() {
        for (b, &j) in varies.iter().enumerate() {
            let value = if i == j { 1.0 + 1e-6 } else { correlation(moments, i, j) };
            matrix[a * n + b] = if value.is_nan() { 0.0 } else { value };
        }
    }
    let inverse = inverse(&matrix, n)?;
    let scale = variance(moments, width).sqrt();
    let mut weights = vec![f64::NAN; width];
    for (a, &i) in varies.iter().enumerate() {
        let sum = varies.iter().enumerate().map(|(b, &j)| {
            let with = correlation(moments, j, width);
            inverse[a * n + b] * if with.is_nan() { 0.0 } else { with }
        });
        weights[i] = scale * sum.sum::<f64>();
    }
    Some(weights)
}

/// The oracle's weights on standardised scores under the one-factor model; they sum to what the factor is worth.
fn one_factor(moments: &Moments) -> Option<Vec<f64>> {
    let factor = Factor::fit(moments).ok()?;
    let share: Vec<f64> = (0..moments.evaluators())
        .map(|j| factor.loadings()[j] / variance(moments, j).sqrt())
        .map(|l| if l.is_finite() { l } else { 0.0 })
        .collect();
    let noise = |l: f64| (1.0 - l * l).max(1e-4);
    let total: f64 = share.iter().map(|&l| l * l / noise(l)).sum();
    Some(share.iter().map(|&l| l / noise(l) / total).collect())
}

/// Estimates with intervals, by leaving out one group at a time.
fn jackknife(groups: &[Moments], estimate: fn(&Moments) -> Option<Vec<f64>>) -> Vec<Option<Weight>> {
    let Some(whole) = estimate(&merged(groups, GROUPS)) else {
        return vec![None; groups[0].evaluators()];
    };
    let without: Option<Vec<Vec<f64>>> = (0..GROUPS).map(|group| estimate(&merged(groups, group))).collect();
    let n = GROUPS as f64;
    let weight = |j: usize| {
        let without = without.as_ref()?;
        let mean = without.iter().map(|w| w[j]).sum::<f64>() / n;
        let square: f64 = without.iter().map(|w| (w[j] - mean).powi(2)).sum();
        let ci95 = t_quantile(n - 1.0) * ((n - 1.0) / n * square).sqrt();
        (whole[j].is_finite() && ci95.is_finite()).then_some(Weight { value: whole[j], ci95 })
    };
    (0..whole.len()).map(weight).collect()
}

/// How many evaluators with independent errors these are worth: J^2 over the sum of squared error correlations.
pub(super) fn effective(errors: &[Vec<f64>], evaluators: &[EvaluatorReport]) -> Option<f64> {
    let varies: Vec<usize> = (0..evaluators.len()).filter(|&j| evaluators[j].deviation > 0.0).collect();
    let square = |i: usize, j: usize| if errors[i][j].is_nan() { 0.0 } else { errors[i][j].powi(2) };
    let sum: f64 =
        varies.iter().flat_map(|&i| varies.iter().map(move |&j| (i, j))).map(|(i, j)| square(i, j)).sum();
    let count = varies.len() as f64;
    (sum > 0.0).then(|| count * count / sum)
}
