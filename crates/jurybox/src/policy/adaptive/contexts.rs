//! Which columns are no scores, but say which group an item belongs to?
//!
//! What all groups share is learnt as if there were none: here their columns are blanked, so that
//! they never vary, as those of evaluators that say nothing. What groups add to that is in
//! [`groups`](super::groups).

use super::groups;
use crate::estimate::SampledRow;
use crate::scores::Scores;

/// The columns of groups.
#[derive(Debug, Clone, Default)]
pub(super) struct Contexts(Vec<usize>);

impl Contexts {
    /// These columns of so many; there must be an evaluator beside them.
    pub(super) fn among(evaluators: usize, columns: &[usize]) -> Result<Self, String> {
        if columns.len() == evaluators {
            return Err("there is no evaluator beside the contexts".into());
        }
        Ok(Contexts(columns.to_vec()))
    }

    pub(super) fn columns(&self) -> &[usize] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the groups out of a row.
    pub(super) fn blank(&self, row: &mut [f64]) {
        self.0.iter().for_each(|&column| row[column] = 0.0);
    }

    /// The scores, and nothing of the groups.
    pub(super) fn left_out_of<'a>(&self, scores: &Scores<'a>, buffer: &'a mut Vec<f64>) -> Scores<'a> {
        if self.is_empty() {
            return *scores;
        }
        *buffer = scores.values().to_vec();
        buffer.chunks_exact_mut(scores.evaluators()).for_each(|row| self.blank(row));
        let complete = buffer.iter().all(|score| !score.is_nan());
        Scores::trusted(buffer, scores.evaluators(), complete)
    }

    /// The group of each row, by each context.
    pub(super) fn groups_of(&self, rows: &[SampledRow<'_>]) -> impl Iterator<Item = Vec<u64>> {
        self.0.iter().map(|&column| rows.iter().map(|row| groups::key(row.values[column])).collect())
    }
}
