//! The moments of every label, those with missing scores too.
//!
//! Of complete rows they are those of the scores and the reward. From the first row with a gap on, they are those of what is there: each
//! score where it is there and 0 where not, whether it is there, and the reward. That says nothing of what a missing score
//! would have been, and so need not be worked out again when more is known of that; what the standardised scores are, 0 where missing,
//! follows from it exactly, whatever mean and deviation are learnt later.

use crate::estimate::{Joint, Statistic};
use crate::matrix::Symmetric;
use serde::{Deserialize, Serialize};

/// No mean is further from zero than so many deviations, where scores of 0 stand for missing ones: rounding would eat the rest.
const FARTHEST: f64 = 1e4;

/// Scores and reward; where there were gaps, scores, what is there, and reward. A state that has met none is saved as it was before there were
/// these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Labels(Joint);

impl Labels {
    pub(super) fn new(evaluators: usize) -> Self {
        Labels(Joint::new(evaluators + 1))
    }

    /// Takes in scores, then the reward.
    pub(super) fn add(&mut self, row: &[f64]) {
        let evaluators = row.len() - 1;
        let complete = row.iter().all(|x| !x.is_nan());
        if complete && !self.has_gaps(evaluators) {
            return self.0.add(row, 1.0);
        }
        self.open(evaluators);
        let mut filled = Vec::with_capacity(2 * evaluators + 1);
        add_filled(&row[..evaluators], |_, x| x, &mut filled);
        filled.push(row[evaluators]);
        self.0.add(&filled, 1.0);
    }

    /// How many labels there were.
    pub(super) fn weight(&self) -> f64 {
        self.0.weight()
    }

    /// The moments of complete rows, where all were.
    pub(super) fn complete(&self, evaluators: usize) -> Option<&Joint> {
        (!self.has_gaps(evaluators)).then_some(&self.0)
    }

    /// The moments of the standardised scores, 0 where missing, of what is there, and of the reward; none where rounding has eaten them.
    pub(super) fn standardised(&self, centre: &[f64], scale: &[f64]) -> Option<Joint> {
        let width = centre.len();
        if centre.iter().zip(scale).any(|(centre, scale)| (centre * scale).abs() > FARTHEST) {
            return None;
        }
        let joint = &self.0;
        // Each column is one of those kept, less a multiple of another, in other units.
        let parts = |at: usize| match at {
            j if j < width => (scale[j], j, centre[j], width + j),
            at => (1.0, at, 0.0, at),
        };
        let mut spread = Symmetric::zeros(joint.columns());
        let mut mean = Vec::with_capacity(joint.columns());
        for i in 0..joint.columns() {
            let (unit_i, of_i, less_i, there_i) = parts(i);
            mean.push(unit_i * (joint.mean(of_i) - less_i * joint.mean(there_i)));
            for j in 0..=i {
                let (unit_j, of_j, less_j, there_j) = parts(j);
                let sum = joint.spread(of_i, of_j)
                    - less_j * joint.spread(of_i, there_j)
                    - less_i * joint.spread(there_i, of_j)
                    + less_i * less_j * joint.spread(there_i, there_j);
                spread.set(i, j, unit_i * unit_j * if i == j { sum.max(0.0) } else { sum });
            }
        }
        Some(Joint::from_parts(joint.weight(), mean, spread))
    }

    fn has_gaps(&self, evaluators: usize) -> bool {
        self.0.columns() > evaluators + 1
    }

    /// Makes room for gaps: so far everything was there.
    fn open(&mut self, evaluators: usize) {
        if self.has_gaps(evaluators) {
            return;
        }
        let from = |at: usize| match at {
            at if at < evaluators => Some(at),
            at if at < 2 * evaluators => None,
            _ => Some(evaluators),
        };
        let columns: Vec<Option<usize>> = (0..=2 * evaluators).map(from).collect();
        self.0 = self.0.with_columns(&columns, 1.0);
    }

    /// Adds what others were.
    pub(super) fn merge(&mut self, other: &Self) {
        let evaluators = self.0.columns().min(other.0.columns()) - 1;
        if self.0.columns() == other.0.columns() {
            return self.0.merge(&other.0);
        }
        self.open(evaluators);
        let mut other = other.clone();
        other.open(evaluators);
        self.0.merge(&other.0);
    }

    /// The same for a jury in which evaluator j is the old one of that number, or new: then all rows have a gap.
    pub(super) fn reseated(&self, columns: &[Option<usize>], evaluators: usize) -> Self {
        let scores = columns.iter().copied();
        if !self.has_gaps(evaluators) && !columns.contains(&None) {
            let columns: Vec<Option<usize>> = scores.chain([Some(evaluators)]).collect();
            return Labels(self.0.reseated(&columns));
        }
        let mut open = self.clone();
        open.open(evaluators);
        let there = columns.iter().map(|from| from.map(|j| evaluators + j));
        let columns: Vec<Option<usize>> = scores.chain(there).chain([Some(2 * evaluators)]).collect();
        Labels(open.0.with_columns(&columns, 0.0))
    }

    pub(super) fn is_sound(&self, evaluators: usize) -> bool {
        self.0.is_sound(evaluators + 1) || self.0.is_sound(2 * evaluators + 1)
    }
}

/// Numbers made of the scores, 0 where one is missing, then whether each is there.
pub(super) fn add_filled(scores: &[f64], number: impl Fn(usize, f64) -> f64, into: &mut Vec<f64>) {
    into.extend(scores.iter().enumerate().map(|(j, &x)| if x.is_nan() { 0.0 } else { number(j, x) }));
    into.extend(scores.iter().map(|x| f64::from(u8::from(!x.is_nan()))));
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: f64 = f64::NAN;
    const ROWS: [[f64; 3]; 6] = [
        [1.0, 20.0, 3.0],
        [2.0, 10.0, 1.0],
        [GAP, 30.0, 4.0],
        [4.0, GAP, 0.0],
        [GAP, GAP, 2.0],
        [3.0, 50.0, 7.0],
    ];

    fn of(rows: &[[f64; 3]]) -> Labels {
        let mut labels = Labels::new(2);
        rows.iter().for_each(|row| labels.add(row));
        labels
    }

    fn assert_same(a: &Joint, b: &Joint) {
        assert_eq!((a.columns(), a.weight()), (b.columns(), b.weight()));
        for i in 0..a.columns() {
            assert!((a.mean(i) - b.mean(i)).abs() < 1e-9, "{i}: {} {}", a.mean(i), b.mean(i));
            for j in 0..=i {
                assert!((a.spread(i, j) - b.spread(i, j)).abs() < 1e-9, "{i} {j}");
            }
        }
    }

    #[test]
    fn without_gaps_they_are_the_moments_of_the_rows_and_saved_as_such() {
        let mut joint = Joint::new(3);
        ROWS[..2].iter().for_each(|row| joint.add(row, 1.0));
        let labels = of(&ROWS[..2]);
        assert_eq!(labels.complete(2), Some(&joint));
        assert_eq!(serde_json::to_string(&labels).unwrap(), serde_json::to_string(&joint).unwrap());
        assert_eq!(postcard::to_allocvec(&labels).unwrap(), postcard::to_allocvec(&joint).unwrap());
    }

    #[test]
    fn what_is_standardised_later_is_what_would_have_been_at_first() {
        let (centre, scale) = ([2.5, 27.0], [0.5, 0.1]);
        let mut direct = Joint::new(5);
        for row in &ROWS {
            let mut filled = Vec::new();
            add_filled(&row[..2], |j, x| (x - centre[j]) * scale[j], &mut filled);
            filled.push(row[2]);
            direct.add(&filled, 1.0);
        }
        let labels = of(&ROWS);
        assert!(labels.complete(2).is_none());
        assert_same(&labels.standardised(&centre, &scale).unwrap(), &direct);
        assert_eq!(labels.standardised(&[2.5, 1e9], &scale), None);
    }

    #[test]
    fn halves_make_the_whole_whichever_of_them_has_gaps() {
        for cut in [1, 2, 3, 5] {
            let (mut left, mut right) = (of(&ROWS[..cut]), of(&ROWS[cut..]));
            let first = left.clone();
            left.merge(&right);
            right.merge(&first);
            assert_same(&left.0, &of(&ROWS).0);
            assert_same(&right.0, &of(&ROWS).0);
        }
    }

    #[test]
    fn a_new_evaluator_is_a_gap_in_all_rows() {
        let swapped = of(&ROWS[..2]).reseated(&[Some(1), None, Some(0)], 2);
        let mut expected = Labels::new(3);
        ROWS[..2].iter().for_each(|row| expected.add(&[row[1], GAP, row[0], row[2]]));
        assert!(swapped.is_sound(3) && !swapped.is_sound(2));
        assert_same(&swapped.0, &expected.0);
        // And the labels of those who stay are all there when it goes again.
        let back = swapped.reseated(&[Some(2), Some(0)], 3);
        let (centre, scale) = ([2.5, 27.0], [0.5, 0.1]);
        let mut opened = of(&ROWS[..2]);
        opened.open(2);
        assert_same(
            &back.standardised(&centre, &scale).unwrap(),
            &opened.standardised(&centre, &scale).unwrap(),
        );
    }
}
