//! Groups of evaluators that are copies, or whose errors are strongly correlated.

use super::Report;

/// The error correlation above which evaluators are near-duplicates.
const NEAR: f64 = 0.9;

/// The groups of copies.
pub(super) fn copy_groups(report: &Report) -> Vec<Vec<usize>> {
    let one = |i: usize, j: usize| report.evaluators[i].copies.contains(&report.evaluators[j].name);
    groups(report.evaluators.len(), one)
}

/// The groups of evaluators that are linked by near-duplicate pairs.
pub(super) fn near_duplicate_groups(report: &Report) -> Vec<Vec<usize>> {
    groups(report.evaluators.len(), |i, j| are_near(report, i, j))
}

/// Whether two evaluators are near-duplicates, but not copies.
pub(super) fn are_near(report: &Report, i: usize, j: usize) -> bool {
    let one = || report.evaluators[i].copies.contains(&report.evaluators[j].name);
    i != j && report.error_correlation[i][j] > NEAR && !one()
}

/// The connected components of at least two evaluators.
fn groups(count: usize, linked: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let (mut visited, mut groups) = (vec![false; count], Vec::new());
    for first in 0..count {
        let (mut group, mut next) = (Vec::new(), vec![first]);
        while let Some(j) = next.pop() {
            if !std::mem::replace(&mut visited[j], true) {
                group.push(j);
                next.extend((0..count).filter(|&i| linked(i, j) && !visited[i]));
            }
        }
        if group.len() > 1 {
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups
}
