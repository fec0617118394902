//! Copies among evaluators: those whose scores are nearly linear functions of each other.
//!
//! The split of a weight between copies is arbitrary, and to a model without rewards, copies look
//! like independent evaluators that agree perfectly. So one evaluator represents all its copies.

use super::evaluators::correlation;
use jurybox::estimate::Moments;

/// Minimum absolute correlation of copies.
const LEAST_CORRELATION: f64 = 0.999;
/// Minimum number of rows that both copies have scored.
const LEAST_ROWS: f64 = 20.0;

/// The representatives of groups of copies.
pub(super) struct CopyGroups {
    /// Representatives, in the order of the evaluators.
    pub(super) representatives: Vec<usize>,
    /// For each evaluator, the index of its representative in `representatives`, and the sign of
    /// their correlation. `None` for a constant evaluator.
    pub(super) place: Vec<Option<(usize, f64)>>,
}

impl CopyGroups {
    /// Finds the copies among the first `width` columns.
    pub(super) fn among(scores: &Moments, width: usize) -> CopyGroups {
        let varies: Vec<usize> =
            (0..width).filter(|&j| scores.covariance(j, j).is_some_and(|variance| variance > 0.0)).collect();
        // The copy with the most scores represents the others; of equal ones the first.
        let mut order = varies.clone();
        order.sort_by(|&a, &b| scores.count(b, b).total_cmp(&scores.count(a, a)));
        let mut representative: Vec<Option<(usize, f64)>> = vec![None; width];
        for (at, &j) in order.iter().enumerate() {
            let is_copy = |&i: &usize| {
                scores.count(i, j) >= LEAST_ROWS
                    && correlation(scores, i, j).abs() >= LEAST_CORRELATION
                    && representative[i] == Some((i, 1.0))
            };
            let first = order[..at].iter().copied().find(is_copy);
            representative[j] = Some(first.map_or((j, 1.0), |i| (i, correlation(scores, i, j).signum())));
        }
        let representatives: Vec<usize> =
            varies.into_iter().filter(|&j| representative[j] == Some((j, 1.0))).collect();
        let place = representative.iter().map(|of| {
            of.and_then(|(j, sign)| {
                Some((representatives.iter().position(|&representative| representative == j)?, sign))
            })
        });
        CopyGroups { place: place.collect(), representatives }
    }

    /// The other evaluators with the representative of evaluator `j`.
    pub(super) fn others(&self, j: usize) -> Vec<usize> {
        let Some((mine, _)) = self.place[j] else { return Vec::new() };
        let same = |&i: &usize| i != j && self.place[i].is_some_and(|(place, _)| place == mine);
        (0..self.place.len()).filter(same).collect()
    }
}
