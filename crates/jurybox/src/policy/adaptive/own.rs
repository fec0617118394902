//! What groups and reviewers have of their own, taken out of what is left of rewards.
//!
//! A language that is worth more, or a reviewer who is severe, may come late: from then on rewards
//! are others, and mean what they meant. So what is left of the labels of each group, and of each
//! reviewer, is read around a line of its own along the value of their items. What changes for
//! those who were there still shows.

use super::rewards::Label;
use std::collections::BTreeMap;

/// Groups and reviewers with fewer labelled rows than this share one line: a crowd of reviewers who
/// judged once each is read as one.
const LEAST: usize = 8;
/// Minimum number of labelled rows for a slope.
const LEAST_FOR_SLOPE: f64 = 30.0;

/// Who or what each label is of, by the place of its row: one list for each context, and one for
/// reviewers.
#[derive(Debug, Default)]
pub(super) struct Own(Vec<Vec<u64>>);

impl Own {
    /// Of lists of codes; those in which all are alike say nothing.
    pub(super) fn new(lists: impl Iterator<Item = Vec<u64>>) -> Self {
        let lists = lists.map(|codes| crowds_as_one(&codes));
        Own(lists.filter(|codes| codes.iter().any(|code| Some(code) != codes.first())).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out of numbers, one of each label, the lines of each group and reviewer; returns how
    /// many numbers these lines have.
    pub(super) fn take_out(&self, labels: &[Label], numbers: &mut [f64]) -> f64 {
        let mut parameters = 0.0;
        for codes in &self.0 {
            let mut sums: BTreeMap<u64, Line> = BTreeMap::new();
            for (label, x) in labels.iter().zip(&*numbers) {
                sums.entry(codes[label.row]).or_default().add(label, *x);
            }
            for (label, x) in labels.iter().zip(&mut *numbers) {
                *x -= sums[&codes[label.row]].at(label.value);
            }
            parameters += sums.values().map(Line::parameters).sum::<f64>();
        }
        parameters
    }
}

/// The same, but that those with few labels are one: the place of each among the others, from 1.
fn crowds_as_one(codes: &[u64]) -> Vec<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    codes.iter().for_each(|code| *counts.entry(*code).or_default() += 1);
    let known: BTreeMap<u64, u64> = (1..)
        .zip(counts.iter().filter(|(_, count)| **count >= LEAST))
        .map(|(at, (code, _))| (*code, at))
        .collect();
    codes.iter().map(|code| known.get(code).copied().unwrap_or(0)).collect()
}

/// Sums by which a line is known.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    labels: f64,
    count: f64,
    value: f64,
    number: f64,
    /// Squares of values, and their products with numbers, around the means.
    squares: f64,
    products: f64,
}

impl Line {
    fn add(&mut self, label: &Label, number: f64) {
        self.labels += 1.0;
        self.count += label.count;
        let (value, share) = (label.value - self.value, label.count / self.count);
        self.value += share * value;
        self.number += share * (number - self.number);
        self.squares += label.count * value * (label.value - self.value);
        self.products += label.count * value * (number - self.number);
    }

    fn has_slope(&self) -> bool {
        self.labels >= LEAST_FOR_SLOPE && self.squares > 0.0
    }

    fn at(&self, value: f64) -> f64 {
        let slope = if self.has_slope() { self.products / self.squares } else { 0.0 };
        self.number + slope * (value - self.value)
    }

    fn parameters(&self) -> f64 {
        if self.has_slope() { 2.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_groups_are_taken_out_and_what_is_beside_them_stays() {
        // Two groups on lines of their own, a third of few labels, and one number that is off.
        let codes: Vec<u64> = (0..80).map(|i| if i < 3 { 9 } else { i % 2 }).collect();
        let labels: Vec<Label> = (0..80)
            .map(|row| Label { clock: 0, count: 1.0 + (row % 3) as f64, value: row as f64, reward: 0.0, row })
            .collect();
        let line = |row: usize| match codes[row] {
            0 => 3.0 + 0.5 * row as f64,
            1 => -1.0 - 2.0 * row as f64,
            _ => 7.0,
        };
        let mut numbers: Vec<f64> = (0..80).map(line).collect();
        let own = Own::new([codes.clone(), vec![4; 80]].into_iter());
        assert_eq!(own.take_out(&labels, &mut numbers), 5.0);
        assert!(numbers.iter().all(|x| x.abs() < 1e-9), "{numbers:?}");
        numbers[30] = 10.0;
        own.take_out(&labels, &mut numbers);
        assert!(numbers[30] > 9.0 && numbers[31] == 0.0, "{numbers:?}");
        assert!(Own::new([vec![4; 80]].into_iter()).is_empty());
    }
}
