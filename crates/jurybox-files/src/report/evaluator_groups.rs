//! Which evaluators are one, and which err alike, set by set.

use super::Report;

/// Error correlations above this make near-duplicates.
const NEAR: f64 = 0.9;

/// Every set of evaluators that are one.
pub(super) fn groups_that_are_one(report: &Report) -> Vec<Vec<usize>> {
    let one = |i: usize, j: usize| report.evaluators[i].copies.contains(&report.evaluators[j].name);
    groups(report.evaluators.len(), one)
}

/// Every set of evaluators that are linked by pairs whose errors go together.
pub(super) fn groups_of_near_duplicates(report: &Report) -> Vec<Vec<usize>> {
    groups(report.evaluators.len(), |i, j| are_near(report, i, j))
}

/// Whether the errors of two evaluators go together, and they are not one.
pub(super) fn are_near(report: &Report, i: usize, j: usize) -> bool {
    let one = || report.evaluators[i].copies.contains(&report.evaluators[j].name);
    i != j && report.error_correlation[i][j] > NEAR && !one()
}

/// Sets of at least two that are linked.
fn groups(count: usize, linked: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let (mut told, mut groups) = (vec![false; count], Vec::new());
    for first in 0..count {
        let (mut group, mut next) = (Vec::new(), vec![first]);
        while let Some(j) = next.pop() {
            if !std::mem::replace(&mut told[j], true) {
                group.push(j);
                next.extend((0..count).filter(|&i| linked(i, j) && !told[i]));
            }
        }
        if group.len() > 1 {
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups
}
