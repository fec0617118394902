//! Selection bias: whether rows with a reward differ from rows without, and rows with a score from
//! rows without.

use super::Report;
use super::gather::{GROUPS, ReportData, RowSample};
use super::jackknife::merged;
use jurybox::toolbox::student_quantile;
use jurybox_draw::short;

/// Minimum number of rows on each side of a comparison.
const LEAST: f64 = 10.0;
/// Shifts up to this many standard deviations are not reported.
const SMALL: f64 = 0.1;

/// Count, mean and variance of one side of a comparison.
#[derive(Clone, Copy)]
struct SideMoments {
    count: f64,
    mean: f64,
    variance: f64,
}

/// The difference of two means in standard errors, the larger of Welch's and Student's. Also its
/// two-sided critical value at level 5%, divided by `family` comparisons (Bonferroni).
fn apart(a: SideMoments, b: SideMoments, family: usize) -> (f64, f64) {
    let each = a.variance / a.count + b.variance / b.count;
    // A side that lacks a rare value has too small a variance, so the pooled variance is used as
    // well.
    let common = ((a.count - 1.0) * a.variance + (b.count - 1.0) * b.variance) / (a.count + b.count - 2.0);
    let error = each.max(common * (1.0 / a.count + 1.0 / b.count)).sqrt();
    let freedom = a.count.min(b.count) - 1.0;
    ((a.mean - b.mean) / error, student_quantile(1.0 - 0.025 / family.max(1) as f64, freedom))
}

/// The evaluator whose scores differ the most between rows with a reward and rows without, and the
/// difference in standard deviations. `None` if none differs beyond chance.
pub(super) fn shift(data: &ReportData, report: &Report) -> Option<(usize, f64)> {
    if report.reward.is_none() || report.labelled == report.rows {
        return None;
    }
    let (scores, labels) = (merged(&data.scores, GROUPS), merged(&data.labels, GROUPS));
    let width = report.evaluators.len();
    let shift = |j: usize| {
        let (n, m, v) = (scores.count(j, j), scores.mean(j), scores.covariance(j, j)?);
        let with = SideMoments {
            count: labels.count(j, j),
            mean: labels.mean(j),
            variance: labels.covariance(j, j)?,
        };
        let count = n - with.count;
        let mean = (n * m - with.count * with.mean) / count;
        let between = with.count * (with.mean - m).powi(2) + count * (mean - m).powi(2);
        let within = (n - 1.0) * v - (with.count - 1.0) * with.variance - between;
        let without = SideMoments { count, mean, variance: within.max(0.0) / (count - 1.0) };
        let (z, bound) = apart(with, without, width);
        let size = (with.mean - mean) / v.sqrt();
        (with.count.min(count) >= LEAST && z.abs() > bound && size.abs() > SMALL).then_some((j, size))
    };
    (0..width).filter_map(shift).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
}

/// A warning on rows with a reward, compared with rows without.
pub(super) fn picked(data: &ReportData, report: &Report) -> Option<String> {
    let (labelled, rows) = (report.labelled, report.rows);
    if report.reward.is_none() || labelled == rows {
        return None;
    }
    Some(match shift(data, report) {
        Some((j, size)) => format!(
            "The {labelled} of {rows} rows with a reward seem to be picked: their `{}` is {} standard deviations {} than that of \
             the others. Gains, correlations, curves and the top K hold for rows like them, not for the table. Review a random \
             sample to learn about the rest.",
            report.evaluators[j].name,
            short(size.abs()),
            if size > 0.0 { "higher" } else { "lower" }
        ),
        None => format!(
            "{labelled} of {rows} rows have a reward, and all figures about rewards come from them. Their scores are like those of \
             the others, but they may still have been chosen in another way."
        ),
    })
}

/// Warnings on evaluators whose scores are missing where rewards are higher or lower.
pub(super) fn missing(sample: &RowSample, report: &Report) -> Vec<(usize, String)> {
    let gappy: Vec<usize> = (0..report.evaluators.len())
        .filter(|&j| report.labelled > 0 && (1e-9..1.0).contains(&report.evaluators[j].coverage))
        .collect();
    let side = |j: usize, there: bool| {
        let rewards = || {
            let known = sample.rows().zip(&sample.rewards).filter(|(_, reward)| !reward.is_nan());
            known.filter(|(row, _)| row[j].is_nan() != there).map(|(_, reward)| reward)
        };
        let count = rewards().count() as f64;
        let mean = rewards().sum::<f64>() / count;
        let square: f64 = rewards().map(|reward| (reward - mean).powi(2)).sum();
        SideMoments { count, mean, variance: square / (count - 1.0) }
    };
    let difference = |&j: &usize| {
        let (here, gone) = (side(j, true), side(j, false));
        let (z, bound) = apart(here, gone, gappy.len());
        (here.count.min(gone.count) >= LEAST && z.abs() > bound).then(|| {
            let said = format!(
                "`{}` has no scores where the reward is {}: it is {} on average there, and {} in rows with a score. Gain and correlation \
                 hold for rows with a score.",
                report.evaluators[j].name,
                if gone.mean > here.mean { "high" } else { "low" },
                short(gone.mean),
                short(here.mean)
            );
            (j, said)
        })
    };
    gappy.iter().filter_map(difference).collect()
}
