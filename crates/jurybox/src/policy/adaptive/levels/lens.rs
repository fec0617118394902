//! Where an item stands: its scores in standard units and as normal scores, as the fit of levels
//! sees them.

use super::super::landscape::{Blank, Landscape};
use crate::estimate::SampledRow;

/// A one, then a number for each evaluator, then one for each whose missing scores tell something.
pub(super) const PLACES: usize = 64;
/// The widest jury that has room in a place.
pub(super) const MOST_EVALUATORS: usize = PLACES - 1;

/// No score is further out than this, in standard deviations.
const FARTHEST: f64 = 1e4;

/// The standardised and the normal scores of an item: so many numbers as the levels have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) plain: &'a [f64],
    pub(super) ranked: &'a [f64],
}

/// Those of many items.
#[derive(Debug, Clone)]
pub(super) struct Places {
    order: usize,
    plain: Vec<f64>,
    ranked: Vec<f64>,
}

impl Places {
    /// Of rows of scores.
    pub(super) fn of(landscape: &Landscape, rows: &[f64]) -> Self {
        let mut places = Places { order: order(landscape), plain: Vec::new(), ranked: Vec::new() };
        places.fill(landscape, rows);
        places
    }

    /// Those of other rows, in the same memory.
    pub(super) fn fill(&mut self, landscape: &Landscape, rows: &[f64]) {
        let (width, order) = (landscape.width(), self.order);
        for places in [&mut self.plain, &mut self.ranked] {
            places.clear();
            places.resize(rows.len() / width * order, 0.0);
            places.iter_mut().step_by(order).for_each(|one| *one = 1.0);
        }
        landscape.place_all(rows, &mut self.plain, &mut self.ranked, [order, 1]);
        self.plain.iter_mut().for_each(|x| *x = x.clamp(-FARTHEST, FARTHEST));
        for (at, blank) in blanks(landscape).iter().enumerate() {
            for (row, scores) in rows.chunks_exact(width).enumerate() {
                if scores[blank.evaluator].is_nan() {
                    let at = row * order + 1 + width + at;
                    (self.plain[at], self.ranked[at]) = (blank.size, blank.size);
                }
            }
        }
    }

    /// Of labelled rows: scores, then the reward.
    pub(super) fn labelled<'a>(
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>>,
    ) -> Self {
        let mut rows = Vec::new();
        labelled.for_each(|row| rows.extend_from_slice(&row.values[..landscape.width()]));
        Self::of(landscape, &rows)
    }

    /// Each item.
    pub(super) fn each(&self) -> impl ExactSizeIterator<Item = Seen<'_>> + Clone {
        let both = self.plain.chunks_exact(self.order).zip(self.ranked.chunks_exact(self.order));
        both.map(|(plain, ranked)| Seen { plain, ranked })
    }
}

/// How many numbers a place has: a one, a score for each evaluator, what is missing, and zeros,
/// since fours of numbers are the quickest.
pub(super) fn order(landscape: &Landscape) -> usize {
    (landscape.width() + 1 + blanks(landscape).len()).next_multiple_of(4)
}

/// Those whose missing scores have a number in a place: where they tell something, and as far as
/// there is room.
pub(super) fn blanks(landscape: &Landscape) -> &[Blank] {
    let room = MOST_EVALUATORS - landscape.width();
    if landscape.blanks_tell { &landscape.blanks[..landscape.blanks.len().min(room)] } else { &[] }
}
