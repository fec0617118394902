//! What would the middle reviewer have said? Where reviewers differ, the labels are fitted anew as
//! that.
//!
//! Who differs from whom is read from a fit, and the fit from labels that are corrected by it: two
//! turns of that are enough.

use super::groups::Groups;
use super::kept::Kept;
use super::model::Model;
use super::reviewers::{GRAIN, Reviewers};
use crate::estimate::{Joint, SampledRow};

/// The fit is corrected and reviewers are compared anew so many times.
const TURNS: usize = 2;

impl Model {
    /// The same with its reviewers, and where they differ, fitted to labels that are corrected for
    /// it; those labels then.
    pub(super) fn with_reviewers<'a>(
        mut self,
        contexts: &[usize],
        labelled: &(impl Iterator<Item = SampledRow<'a>> + Clone),
    ) -> (Self, Option<Corrected>) {
        let mut reviewers = Reviewers::of(&self, labelled.clone());
        let mut corrected = None;
        if reviewers.differ() {
            for _ in 0..TURNS {
                let rows: &Corrected = corrected.insert(reviewers.corrected(labelled.clone()));
                // Moments of every label cannot be corrected after the fact: all of the fit rests
                // on the sample.
                let none = Joint::new(self.landscape.width() + 1);
                self = Model::fit(self.landscape, &Kept::of(rows.rows()), &none);
                self.groups = Groups::of(&self, contexts, rows.rows());
                reviewers = Reviewers::of(&self, labelled.clone());
            }
        }
        self.reviewers = reviewers;
        (self, corrected)
    }
}

/// Labelled rows with other rewards and weights than they came with.
#[derive(Debug, Clone, Default)]
pub(super) struct Corrected {
    rows: Vec<(Vec<f64>, u64, u64, f64)>,
}

impl Corrected {
    pub(super) fn push(&mut self, row: &SampledRow<'_>, scores: &[f64], reward: f64, weight: f64) {
        let mut values = scores.to_vec();
        values.push(reward);
        self.rows.push((values, row.count, row.clock, weight));
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = SampledRow<'_>> + Clone {
        self.rows.iter().map(|(values, count, clock, weight)| SampledRow {
            values,
            count: *count,
            clock: *clock,
            tag: None,
            weight: *weight,
        })
    }

    /// The same where rewards are levels: each shared out between the two that it lies between.
    pub(super) fn on_levels(&self, levels: &[f64]) -> Self {
        let mut shared = Corrected::default();
        for row in self.rows() {
            let Some((&reward, scores)) = row.values.split_last() else { continue };
            let above = levels.partition_point(|&level| level <= reward).min(levels.len() - 1);
            let below = above.saturating_sub(1);
            let gap = levels[above] - levels[below];
            let share = if gap > 0.0 { ((reward - levels[below]) / gap).clamp(0.0, 1.0) } else { 1.0 };
            let high = (row.weight * share / GRAIN).round() * GRAIN;
            for (level, weight) in [(levels[below], row.weight - high), (levels[above], high)] {
                if weight > 0.0 {
                    shared.push(&row, scores, level, weight);
                }
            }
        }
        shared
    }
}
