//! How far rewards lie from what is expected of them: not as far everywhere.
//!
//! Noise is one number in the regression, which is right for weights. Of single rewards it is not: verdicts of yes and no, say, rarely yes,
//! are all but certain for most items, and wide open for the best, which are those that people look at. So it is measured how far the
//! rewards of the labelled rows were off, by what was expected of them; where few are near, the one number counts.

use super::model::Model;
use crate::estimate::SampledRow;
use crate::scores::Scores;

/// So many labelled rows, those of the nearest expectations, say how far rewards are off: a quarter of them all within these bounds.
const NEAREST: (usize, usize) = (8, 40);
/// For so many more the regression's own noise counts.
const PRIOR: f64 = 5.0;

/// How far off rewards were, by what was expected of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Spread {
    /// What was expected, ascending.
    expected: Vec<f64>,
    /// The squares of how far off the rewards were, summed up to each row; and how often they were seen.
    squares: Vec<f64>,
    counts: Vec<f64>,
}

impl Spread {
    /// By labelled rows: scores, then the reward.
    pub(super) fn of<'a>(model: &Model, labelled: impl Iterator<Item = SampledRow<'a>> + Clone) -> Spread {
        let width = model.landscape.width();
        let (mut scores, mut values) = (Vec::new(), Vec::new());
        labelled.clone().for_each(|row| scores.extend_from_slice(&row.values[..width]));
        let complete = scores.iter().all(|score| !score.is_nan());
        model.values(&Scores::trusted(&scores, width, complete), &mut values);
        let off = values.iter().zip(labelled).map(|(&value, row)| {
            let (off, count) = (row.values[width] - value, row.weight);
            (value, count * off * off, count)
        });
        let mut rows: Vec<(f64, f64, f64)> = off.collect();
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut spread = Spread::default();
        let (mut squares, mut counts) = (0.0, 0.0);
        for (expected, square, count) in rows {
            (squares, counts) = (squares + square, counts + count);
            spread.expected.push(expected);
            spread.squares.push(squares);
            spread.counts.push(counts);
        }
        spread
    }

    /// The variance of a reward around its expectation, as a multiple of what it is on average.
    pub(super) fn at(&self, expected: f64) -> f64 {
        let rows = self.expected.len();
        let (Some(&squares), Some(&counts)) = (self.squares.last(), self.counts.last()) else { return 1.0 };
        if squares <= 0.0 {
            return 1.0;
        }
        let nearest = (rows / 4).clamp(NEAREST.0, NEAREST.1);
        let place = self.expected.partition_point(|&other| other < expected);
        let from = place.saturating_sub(nearest / 2).min(rows.saturating_sub(nearest));
        let to = rows.min(from + nearest);
        let within = |sums: &[f64]| sums[to - 1] - if from == 0 { 0.0 } else { sums[from - 1] };
        (PRIOR + within(&self.squares) * counts / squares) / (PRIOR + within(&self.counts))
    }

    /// How far an expectation is beyond those of all labelled rows. Nothing says that the line goes on there.
    pub(super) fn beyond(&self, expected: f64) -> f64 {
        match (self.expected.first(), self.expected.last()) {
            (Some(lowest), Some(highest)) => (lowest - expected).max(expected - highest).max(0.0),
            _ => 0.0,
        }
    }
}
