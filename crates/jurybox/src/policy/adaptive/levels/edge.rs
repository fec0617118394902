//! Where an item will end up among the levels: the range of them that holds its reward.
//!
//! Of items such as were looked at, the probabilities are measured: those of the model are joined
//! with what became of the labelled rows whose expectations are nearest. Of items below or above
//! all of these nobody knows anything: as likely as not the probabilities go on as the model has
//! them, and as likely as not they stay what they were at the end.
//!
//! Where levels are a part of the value only, it is by the value that rows are near, and the
//! probabilities are moved to it.

use super::super::kept::Kept;
use super::super::landscape::Landscape;
use super::super::near::Near;
use super::forest::{MOST_QUESTIONS, Shares};
use super::lens::{Places, Seen};
use super::logistic::logistic;
use super::{Levels, odds};
use crate::estimate::SampledRow;
use std::sync::{Arc, OnceLock};

/// At most so many labelled rows are looked at; those of a sample are in fair order.
const MOST_ROWS: usize = 256;
/// For so many more rows than those near by the model's own probabilities count.
const PRIOR: f64 = 5.0;

/// Log-odds are moved at most so far, and by so many halvings of it found.
const FARTHEST: f64 = 8.0;
const HALVINGS: u32 = 12;

/// How often a row was seen, and for each question how often the answer was yes, and how often that
/// was expected.
type Numbers = [f64; 1 + 2 * MOST_QUESTIONS];

/// What became of the labelled rows, once that is asked for.
#[derive(Debug, Clone)]
pub(super) struct LateOutcomes {
    rows: Arc<Kept>,
    /// The values of the rows, where levels are a part of these.
    values: Option<Vec<f64>>,
    known: OnceLock<Outcomes>,
}

impl LateOutcomes {
    pub(super) fn of(rows: &Arc<Kept>, values: Option<Vec<f64>>) -> Self {
        LateOutcomes { rows: Arc::clone(rows), values, known: OnceLock::new() }
    }

    pub(super) fn known(&self, levels: &Levels, landscape: &Landscape) -> &Outcomes {
        self.known.get_or_init(|| match &self.values {
            Some(values) => Outcomes::by_values(levels, landscape, self.rows.rows(), values),
            None => Outcomes::of(levels, landscape, self.rows.rows()),
        })
    }
}

/// What became of the labelled rows, by what was expected of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcomes {
    near: Near,
    sums: Vec<Numbers>,
    /// Whether what was expected of rows is their value, of which levels are a part.
    by_values: bool,
}

impl Outcomes {
    /// By labelled rows: scores, then the reward.
    fn of<'a>(
        levels: &Levels,
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
    ) -> Self {
        let width = landscape.width();
        let labelled = labelled.take(MOST_ROWS);
        let places = Places::labelled(landscape, labelled.clone());
        let numbers = |(row, seen): (SampledRow<'a>, Seen<'_>)| {
            let above = levels.shares_above(seen);
            (levels.expectation(&above), levels.numbers(row.values[width], row.weight, &above))
        };
        let (near, sums) = Near::of(labelled.zip(places.each()).map(numbers).collect());
        Outcomes { near, sums, by_values: false }
    }

    /// The same where levels are a part of the values of these rows.
    fn by_values<'a>(
        levels: &Levels,
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
        values: &[f64],
    ) -> Self {
        let width = landscape.width();
        let labelled = labelled.take(MOST_ROWS);
        let places = Places::labelled(landscape, labelled.clone());
        let numbers = |((row, seen), &value): ((SampledRow<'a>, Seen<'_>), &f64)| {
            let above = moved(&levels.shares_above(seen), value, |above| levels.expectation(above));
            (value, levels.numbers(row.values[width], row.weight, &above))
        };
        let (near, sums) = Near::of(labelled.zip(places.each()).zip(values).map(numbers).collect());
        Outcomes { near, sums, by_values: true }
    }

    pub(super) fn are_by_values(&self) -> bool {
        self.by_values
    }

    /// Whether an expectation is unlike all that was looked at.
    pub(super) fn is_beyond(&self, expected: f64) -> bool {
        self.near.is_beyond(expected)
    }

    /// The probabilities of an item to be above each level, given those by the model and the
    /// expectation by them.
    pub(super) fn joined(&self, expected: f64, by_model: Shares) -> Shares {
        if self.sums.is_empty() {
            return by_model;
        }
        let near = self.near.sum(&self.sums, expected);
        let beyond = self.near.is_beyond(expected);
        std::array::from_fn(|at| {
            let (counts, yes, likely) = (near[0], near[1 + at], near[1 + MOST_QUESTIONS + at]);
            // Where those near by were above a level more often than was expected of them, so is
            // this one, as far as they are many.
            let here = (by_model[at] + (yes - likely) / (counts + PRIOR)).clamp(0.0, 1.0);
            if beyond { f64::midpoint(here, yes / counts) } else { here }
        })
    }
}

impl Levels {
    /// What became of a row, and what was expected of it.
    fn numbers(&self, reward: f64, count: f64, above: &Shares) -> Numbers {
        let mut numbers = [0.0; 1 + 2 * MOST_QUESTIONS];
        numbers[0] = count;
        let mut level = self.lowest;
        for (at, (p, question)) in above.iter().zip(&self.questions).enumerate() {
            numbers[1 + at] = if reward > level { count } else { 0.0 };
            numbers[1 + MOST_QUESTIONS + at] = count * p;
            level += question.gap;
        }
        numbers
    }
}

/// Probabilities to be above each level, their log-odds moved alike until they lead to expect this
/// much: levels that are a part of a value say how rewards lie about it, not how high it is.
pub(super) fn moved(above: &Shares, expected: f64, expectation: impl Fn(&Shares) -> f64) -> Shares {
    let log_odds = above.map(odds);
    // What cannot be stays so, and most often there are fewer questions than there is room for.
    let by =
        |more: f64| log_odds.map(|odds| if odds == f64::NEG_INFINITY { 0.0 } else { logistic(odds + more) });
    let (mut low, mut high) = (-FARTHEST, FARTHEST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let side = if expectation(&by(middle)) < expected { &mut low } else { &mut high };
        *side = middle;
    }
    by(f64::midpoint(low, high))
}

/// The fewest neighbouring levels that hold a reward with at least that probability, by the
/// probabilities to be above each cut: the first one, and the last. Of several that are as few, the
/// likeliest.
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
    fn probabilities_are_moved_to_what_is_expected_and_no_further_than_the_ends() {
        // Marks 1, 2 and 4: no more than two questions.
        let value = |above: &Shares| 1.0 + above[0] + 2.0 * above[1];
        let above = [0.6, 0.2, 0.0, 0.0];
        for expected in [1.2, 2.0, 3.5] {
            let moved = moved(&above, expected, value);
            // The last of twelve halvings leaves a five-hundredth of the log-odds, and a reward of
            // three quarters of that.
            assert!((value(&moved) - expected).abs() < 0.002, "{moved:?}");
            // By as much in log-odds for all, and nothing where there is no question.
            assert!((odds(moved[0]) - odds(0.6) - (odds(moved[1]) - odds(0.2))).abs() < 1e-9);
            assert_eq!(moved[2..], [0.0, 0.0]);
        }
        for beyond in [-9.0, 9.0] {
            assert!((1.0..4.0).contains(&value(&moved(&above, beyond, value))));
        }
    }

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
        // Probabilities that contradict one another: above the second cut is no likelier than above
        // the first.
        assert_eq!(fewest(&[0.02, 0.5], 0.9), (0, 0));
    }
}
