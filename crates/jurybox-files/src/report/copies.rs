//! Evaluators that are one: their scores determine each other up to a line.
//!
//! How a weight is split between copies is nobody's knowledge, and to a model without rewards two copies are two witnesses
//! who agree perfectly: they would take all the weight, and be sure of it. So one of them speaks for all.

use super::evaluators::correlation;
use jurybox::estimate::Moments;

/// The correlation from which on two evaluators are one.
const ONE: f64 = 0.999;
/// Rows that both must have scored for that.
const LEAST_ROWS: f64 = 20.0;

/// Which evaluators speak, and for whom.
pub(super) struct CopyGroups {
    /// Evaluators that speak, in their order.
    pub(super) speakers: Vec<usize>,
    /// For each evaluator, the place of its speaker among them, and -1 where it is its speaker upside down. `None` for an
    /// evaluator that never varies.
    pub(super) place: Vec<Option<(usize, f64)>>,
}

impl CopyGroups {
    pub(super) fn among(scores: &Moments, width: usize) -> CopyGroups {
        let varies: Vec<usize> =
            (0..width).filter(|&j| scores.covariance(j, j).is_some_and(|variance| variance > 0.0)).collect();
        // Whoever scored the most rows speaks first; the sort is stable, so that of equals the first does.
        let mut order = varies.clone();
        order.sort_by(|&a, &b| scores.count(b, b).total_cmp(&scores.count(a, a)));
        let mut speaker: Vec<Option<(usize, f64)>> = vec![None; width];
        for (at, &j) in order.iter().enumerate() {
            let one = |&i: &usize| {
                scores.count(i, j) >= LEAST_ROWS
                    && correlation(scores, i, j).abs() >= ONE
                    && speaker[i] == Some((i, 1.0))
            };
            let first = order[..at].iter().copied().find(one);
            speaker[j] = Some(first.map_or((j, 1.0), |i| (i, correlation(scores, i, j).signum())));
        }
        let speakers: Vec<usize> = varies.into_iter().filter(|&j| speaker[j] == Some((j, 1.0))).collect();
        let place = speaker.iter().map(|of| {
            of.and_then(|(j, sign)| Some((speakers.iter().position(|&speaker| speaker == j)?, sign)))
        });
        CopyGroups { place: place.collect(), speakers }
    }

    /// The other evaluators that are one with this one.
    pub(super) fn others(&self, j: usize) -> Vec<usize> {
        let Some((mine, _)) = self.place[j] else { return Vec::new() };
        let same = |&i: &usize| i != j && self.place[i].is_some_and(|(place, _)| place == mine);
        (0..self.place.len()).filter(same).collect()
    }
}
