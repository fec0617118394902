//! Grouped jackknife: confidence intervals from leaving out one group of rows at a time (Efron
//! 1982).
//!
//! It assumes that rows are drawn independently, but not that they are normal, linear or of equal
//! variance. The intervals of a column of the report are one family: they hold together in about 95
//! of 100 reports (Bonferroni). Chance alone then rarely makes any evaluator look related.

use jurybox::Interval;
use jurybox::estimate::{Moments, Statistic};
use jurybox::toolbox::student_quantile;

/// The moments of all groups but `without`; of all groups if there is no such group.
pub(super) fn merged(groups: &[Moments], without: usize) -> Moments {
    let mut all = Moments::new(groups[0].evaluators());
    for (_, group) in groups.iter().enumerate().filter(|(at, _)| *at != without) {
        all.merge(group);
    }
    all
}

/// A transformation after which estimates are closer to normal, and its inverse.
pub(super) type Transform = (fn(f64) -> f64, fn(f64) -> f64);

/// Estimates with their intervals. `None` if `estimate` fails for all groups together, or for the
/// groups without one of them.
pub(super) fn jackknife(
    groups: &[Moments],
    estimate: impl Fn(&Moments) -> Option<Vec<f64>>,
    transform: Transform,
) -> Option<Vec<Option<Interval>>> {
    let whole = estimate(&merged(groups, groups.len()))?;
    // Groups without rows do not count: leaving them out changes nothing.
    let filled = |group: &Moments| (0..group.evaluators()).any(|j| group.count(j, j) > 0.0);
    let without: Option<Vec<Vec<f64>>> = (0..groups.len())
        .filter(|&group| filled(&groups[group]))
        .map(|group| estimate(&merged(groups, group)))
        .collect();
    let without = without?;
    let family = whole.iter().filter(|value| value.is_finite()).count();
    let estimates = whole.iter().enumerate().map(|(j, &value)| {
        around(value, &without.iter().map(|parts| parts[j]).collect::<Vec<f64>>(), family, transform)
    });
    Some(estimates.collect())
}

/// The interval of an estimate as one of `family` intervals. `without` has the estimates that leave
/// out one group each. `None` for fewer than two groups, or if a value is not finite.
pub(super) fn around(
    value: f64,
    without: &[f64],
    family: usize,
    (forward, backward): Transform,
) -> Option<Interval> {
    let n = without.len() as f64;
    let reach = student_quantile(1.0 - 0.025 / family.max(1) as f64, n - 1.0);
    let mean = without.iter().map(|&w| forward(w)).sum::<f64>() / n;
    let square: f64 = without.iter().map(|&w| (forward(w) - mean).powi(2)).sum();
    let half = reach * ((n - 1.0) / n * square).sqrt();
    let (low, high) = (backward(forward(value) - half), backward(forward(value) + half));
    (value.is_finite() && half.is_finite() && n > 1.0).then_some(Interval { mean: value, low, high })
}

/// No transformation.
pub(super) const IDENTITY: Transform = (|x| x, |x| x);

/// Fisher's z transformation, which keeps intervals of correlations between -1 and 1.
pub(super) const FISHER: Transform = (|r| r.clamp(-1.0 + 1e-12, 1.0 - 1e-12).atanh(), f64::tanh);
