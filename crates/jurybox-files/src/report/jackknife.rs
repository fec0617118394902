//! Intervals by leaving out one group of rows at a time.
//!
//! The jackknife asks nothing of rewards and scores but that rows are drawn independently: no bell curve, no straight line,
//! no equal spread. Every column of a report is one family: its intervals hold together in 95 of 100 reports
//! (Bonferroni), so that among many evaluators the one that looks related by luck is not called so.

use jurybox::Interval;
use jurybox::estimate::{Moments, Statistic};
use jurybox::toolbox::student_quantile;

/// All groups but one; all of them where there is no such group.
pub(super) fn merged(groups: &[Moments], without: usize) -> Moments {
    let mut all = Moments::new(groups[0].evaluators());
    for (_, group) in groups.iter().enumerate().filter(|(at, _)| *at != without) {
        all.merge(group);
    }
    all
}

/// A scale on which estimates are closer to normal, and its inverse.
pub(super) type Transform = (fn(f64) -> f64, fn(f64) -> f64);

/// Estimates that moments determine, with intervals. `None` where the whole or any part of it does not determine them.
pub(super) fn jackknife(
    groups: &[Moments],
    estimate: impl Fn(&Moments) -> Option<Vec<f64>>,
    bend: Transform,
) -> Option<Vec<Option<Interval>>> {
    let whole = estimate(&merged(groups, groups.len()))?;
    // A group without a row would leave out nothing, and count as a witness all the same.
    let filled = |group: &Moments| (0..group.evaluators()).any(|j| group.count(j, j) > 0.0);
    let without: Option<Vec<Vec<f64>>> = (0..groups.len())
        .filter(|&group| filled(&groups[group]))
        .map(|group| estimate(&merged(groups, group)))
        .collect();
    let without = without?;
    let family = whole.iter().filter(|value| value.is_finite()).count();
    let estimates = whole.iter().enumerate().map(|(j, &value)| {
        around(value, &without.iter().map(|parts| parts[j]).collect::<Vec<f64>>(), family, bend)
    });
    Some(estimates.collect())
}

/// An estimate with its interval, given what it is without each group, as one of a family of so many.
pub(super) fn around(value: f64, without: &[f64], family: usize, (there, back): Transform) -> Option<Interval> {
    let n = without.len() as f64;
    let reach = student_quantile(1.0 - 0.025 / family.max(1) as f64, n - 1.0);
    let mean = without.iter().map(|&w| there(w)).sum::<f64>() / n;
    let square: f64 = without.iter().map(|&w| (there(w) - mean).powi(2)).sum();
    let half = reach * ((n - 1.0) / n * square).sqrt();
    let (low, high) = (back(there(value) - half), back(there(value) + half));
    (value.is_finite() && half.is_finite() && n > 1.0).then_some(Interval { mean: value, low, high })
}

/// Estimates as they are.
pub(super) const STRAIGHT: Transform = (|x| x, |x| x);

/// Correlations, on Fisher's scale: their intervals stay between -1 and 1.
pub(super) const CORRELATION: Transform = (|r| r.clamp(-1.0 + 1e-12, 1.0 - 1e-12).atanh(), f64::tanh);
