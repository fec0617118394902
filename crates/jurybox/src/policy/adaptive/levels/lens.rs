//! Where an item stands: its scores in standard units and as normal scores, as the fit of levels sees them.

use super::super::landscape::{Blank, Landscape};

/// A one, then a number for each evaluator, then one for each whose missing scores tell something.
pub(super) const PLACES: usize = 64;
pub(super) type Place = [f64; PLACES];
/// The widest jury that has room in a place.
pub(super) const MOST_EVALUATORS: usize = PLACES - 1;

/// No score is further out than this, in standard deviations.
const FARTHEST: f64 = 1e4;

/// Standardised and normal scores.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) plain: Place,
    pub(super) ranked: Place,
}

impl Seen {
    pub(super) fn of(landscape: &Landscape, row: &[f64]) -> Self {
        let width = row.len();
        let mut seen = Seen { plain: [0.0; PLACES], ranked: [0.0; PLACES] };
        (seen.plain[0], seen.ranked[0]) = (1.0, 1.0);
        let (plain, ranked) = (&mut seen.plain[1..=width], &mut seen.ranked[1..=width]);
        landscape.place(row, plain, ranked);
        plain.iter_mut().for_each(|x| *x = x.clamp(-FARTHEST, FARTHEST));
        for (at, blank) in
            (width + 1..).zip(blanks(landscape)).filter(|(_, blank)| row[blank.evaluator].is_nan())
        {
            (seen.plain[at], seen.ranked[at]) = (blank.size, blank.size);
        }
        seen
    }
}

/// Those whose missing scores have a number in a place: where they tell something, and as far as there is room.
pub(super) fn blanks(landscape: &Landscape) -> &[Blank] {
    let room = MOST_EVALUATORS - landscape.width();
    if landscape.blanks_tell { &landscape.blanks[..landscape.blanks.len().min(room)] } else { &[] }
}
