//! Labelled rows that a fit keeps. Rounds only choose; intervals are asked for rarely, and worked
//! out from these rows when they first are.

use super::model::Model;
use super::spread::Spread;
use crate::estimate::SampledRow;
use std::sync::{Arc, OnceLock};

/// Scores, then the reward, and what the row counts for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    columns: usize,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Kept {
    pub(super) fn of<'a>(labelled: impl Iterator<Item = SampledRow<'a>>) -> Arc<Self> {
        let mut kept = Kept::default();
        for row in labelled {
            kept.columns = row.values.len();
            kept.values.extend_from_slice(row.values);
            kept.weights.push(row.weight);
        }
        Arc::new(kept)
    }

    /// The rows, of which no more is known than what fits go by.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = SampledRow<'_>> + Clone {
        let row = |(values, &weight)| SampledRow { values, count: 1, clock: 0, tag: None, weight };
        self.values.chunks_exact(self.columns.max(1)).zip(&self.weights).map(row)
    }
}

/// How far rewards are off, once that is asked for.
#[derive(Debug, Clone)]
pub(super) struct LateSpread {
    rows: Arc<Kept>,
    /// What was expected of the rows; what straight lines and bends lead to expect, unless it is
    /// said.
    expected: Option<Vec<f64>>,
    known: OnceLock<Spread>,
}

impl LateSpread {
    pub(super) fn around(rows: &Arc<Kept>, expected: Option<Vec<f64>>) -> Self {
        LateSpread { rows: Arc::clone(rows), expected, known: OnceLock::new() }
    }

    pub(super) fn of(&self, model: &Model) -> &Spread {
        self.known.get_or_init(|| match &self.expected {
            Some(expected) => Spread::around(model, self.rows.rows(), expected),
            None => Spread::around(model, self.rows.rows(), &model.expected_by_lines(self.rows.rows())),
        })
    }
}
