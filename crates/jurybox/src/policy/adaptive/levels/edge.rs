//! Where an item will end up among the levels: the range of them that holds its reward.
//!
//! Of items such as were looked at, the probabilities are measured: those of the model are joined with what became of the labelled rows whose expectations
//! are nearest. Of items below or above all of these nobody knows anything: as likely as not the probabilities go on as the model has them, and as likely as
//! not they stay what they were at the end.

use super::super::landscape::Landscape;
use super::super::near::Near;
use super::Levels;
use super::forest::{MOST_QUESTIONS, Shares};
use super::lens::Seen;
use crate::estimate::SampledRow;

/// At most so many labelled rows are looked at; those of a sample are in fair order.
const MOST_ROWS: usize = 256;
/// For so many more rows than those near by the model's own probabilities count.
const PRIOR: f64 = 5.0;

/// How often a row was seen, and for each question how often the answer was yes, and how often that was expected.
type Numbers = [f64; 1 + 2 * MOST_QUESTIONS];

/// What became of the labelled rows, by what was expected of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcomes {
    near: Near,
    sums: Vec<Numbers>,
}

impl Outcomes {
    /// By labelled rows: scores, then the reward.
    pub(super) fn of<'a>(
        levels: &Levels,
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>>,
    ) -> Self {
        let width = landscape.width();
        let numbers = |row: SampledRow<'a>| {
            let mut numbers = [0.0; 1 + 2 * MOST_QUESTIONS];
            numbers[0] = row.weight;
            let (mut level, mut expected) = (levels.lowest, levels.lowest);
            let seen = Seen::of(landscape, &row.values[..width]);
            for (at, (p, question)) in levels.above(&seen).zip(&levels.questions).enumerate() {
                numbers[1 + at] = if row.values[width] > level { numbers[0] } else { 0.0 };
                numbers[1 + MOST_QUESTIONS + at] = numbers[0] * p;
                level += question.gap;
                expected += question.gap * p;
            }
            (expected, numbers)
        };
        let (near, sums) = Near::of(labelled.take(MOST_ROWS).map(numbers).collect());
        Outcomes { near, sums }
    }

    /// Whether an expectation is unlike all that was looked at.
    pub(super) fn is_beyond(&self, expected: f64) -> bool {
        self.near.is_beyond(expected)
    }

    /// The probabilities of an item to be above each level, given those by the model and the expectation by them.
    pub(super) fn joined(&self, expected: f64, by_model: Shares) -> Shares {
        if self.sums.is_empty() {
            return by_model;
        }
        let near = self.near.sum(&self.sums, expected);
        let beyond = self.near.is_beyond(expected);
        std::array::from_fn(|at| {
            let (counts, yes, likely) = (near[0], near[1 + at], near[1 + MOST_QUESTIONS + at]);
            // Where those near by were above a level more often than was expected of them, so is this one, as far as they are many.
            let here = (by_model[at] + (yes - likely) / (counts + PRIOR)).clamp(0.0, 1.0);
            if beyond { f64::midpoint(here, yes / counts) } else { here }
        })
    }
}

/// The fewest neighbouring levels that hold a reward with at least that probability, by the probabilities to be above each cut: the first one, and the last.
/// Of several that are as few, the likeliest.
pub(super) fn fewest(above: &[f64], level: f64) -> (usize, usize) {
    // Above the first cut is likelier than above the second.
    let mut least: f64 = 1.0;
    let mut reached = vec![1.0];
    for &p in above {
        least = least.min(p);
        reached.push(least);
    }
    reached.push(0.0);
    let last = above.len();
    for length in 0..last {
        let within = |from: usize| reached[from] - reached[from + length + 1];
        let likeliest = (0..=last - length).max_by(|&a, &b| within(a).total_cmp(&within(b)));
        if let Some(from) = likeliest.filter(|&from| within(from) >= level) {
            return (from, from + length);
        }
    }
    (0, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_levels_that_hold_a_reward_are_taken() {
        assert_eq!(fewest(&[0.05], 0.9), (0, 0));
        assert_eq!(fewest(&[0.95], 0.9), (1, 1));
        assert_eq!(fewest(&[0.5], 0.9), (0, 1));
        // 0.1, 0.2, 0.4, 0.25, 0.05
        let marks = [0.9, 0.7, 0.3, 0.05];
        assert_eq!(fewest(&marks, 0.9), (0, 3));
        assert_eq!(fewest(&marks, 0.8), (1, 3));
        assert_eq!(fewest(&marks, 0.99), (0, 4));
        // Probabilities that contradict one another: above the second cut is no likelier than above the first.
        assert_eq!(fewest(&[0.02, 0.5], 0.9), (0, 0));
    }
}
