//! Extremely randomised trees: what no line sees, such as a yes that two evaluators must agree on.
//!
//! Every tree sees the labelled rows, up to some hundreds, and a few rows that nobody looked at as if they were of the lowest level: weak evidence
//! that what is unlike everything looked at is ordinary. A node tries a few cuts at random and keeps the one that tells the
//! levels apart best. All cuts between levels share the trees, and a leaf has a share of yes for each.
//!
//! Randomness is a hash of tree, node and trial, so that the same rows give the same trees, and a few more rows similar ones.
//! The trees are complete, with cuts that send everything left where a branch ends early: a row goes down without a branch
//! that has to be guessed.

use super::lens::{PLACES, Place};
use crate::toolbox::{hash_number, scatter};

const TREES: usize = 20;
const DEPTH: usize = 6;
/// Places for cuts in a tree, and places in all.
const CUTS: usize = (1 << DEPTH) - 1;
const NODES: usize = (1 << (DEPTH + 1)) - 1;
/// Cuts that a node tries.
const TRIALS: u64 = 3;
/// About the most labelled rows that a tree sees; of more, each tree sees others.
const MOST_ROWS: usize = 256;
/// Rows that nobody looked at, in each tree.
const ORDINARY: usize = 20;
/// A share of yes is (yes + this) / (rows + that).
const PRIOR_YES: f64 = 0.025;
const PRIOR_ROWS: f64 = 0.5;

/// The most questions that a leaf answers.
pub(super) const MOST_QUESTIONS: usize = 4;

/// A row to grow trees from: where it is, how often it was seen, and how many levels it has passed.
#[derive(Debug, Clone)]
pub(super) struct Leafed {
    pub(super) place: Place,
    pub(super) count: f64,
    pub(super) passed: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Forest {
    cuts: Vec<Cut>,
    /// The share of yes at every node, question by question.
    shares: Vec<[f64; MOST_QUESTIONS]>,
}

#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The column of a [`Place`].
    column: usize,
    /// Rows at most here go left.
    at: f64,
}

const LEFT: Cut = Cut { column: 1, at: f64::INFINITY };

impl Forest {
    /// Grows trees from labelled rows and from rows that nobody looked at, over so many evaluators.
    pub(super) fn grow(labelled: &[Leafed], ordinary: &[Leafed], evaluators: usize) -> Self {
        let mut forest =
            Forest { cuts: vec![LEFT; TREES * CUTS], shares: vec![[0.0; MOST_QUESTIONS]; TREES * NODES] };
        let mut rows: Vec<&Leafed> = Vec::with_capacity(labelled.len() + ORDINARY);
        for tree in 0..TREES {
            rows.clear();
            let seen = |at: usize| {
                let draw = hash_number(!(tree as u64), at as u64) >> 32;
                (draw * labelled.len() as u64) >> 32 < MOST_ROWS as u64
            };
            rows.extend(labelled.iter().enumerate().filter(|(at, _)| seen(*at)).map(|(_, row)| row));
            if !ordinary.is_empty() {
                rows.extend((0..ORDINARY).map(|i| {
                    let draw = hash_number(tree as u64, i as u64) >> 32;
                    &ordinary[((draw * ordinary.len() as u64) >> 32) as usize]
                }));
            }
            Branch {
                cuts: &mut forest.cuts[tree * CUTS..][..CUTS],
                shares: &mut forest.shares[tree * NODES..][..NODES],
                evaluators,
                tree: tree as u64,
            }
            .grow(0, &mut rows);
        }
        forest
    }

    /// The mean share of yes over the trees, for each question.
    pub(super) fn shares(&self, place: &Place) -> [f64; MOST_QUESTIONS] {
        let mut sum = [0.0; MOST_QUESTIONS];
        for (cuts, shares) in self.cuts.chunks_exact(CUTS).zip(self.shares.chunks_exact(NODES)) {
            let mut node = 0;
            for _ in 0..DEPTH {
                node = 2 * node + 1 + usize::from(cuts[node].is_right(place));
            }
            sum.iter_mut().zip(&shares[node]).for_each(|(sum, share)| *sum += share);
        }
        sum.map(|sum| sum / TREES as f64)
    }

    /// What each evaluator's cuts do to the share of one question on the way down: together, the share less that of the roots.
    pub(super) fn path(&self, place: &Place, question: usize, each: &mut [f64]) {
        for (cuts, shares) in self.cuts.chunks_exact(CUTS).zip(self.shares.chunks_exact(NODES)) {
            let mut node = 0;
            for _ in 0..DEPTH {
                let next = 2 * node + 1 + usize::from(cuts[node].is_right(place));
                each[cuts[node].column - 1] +=
                    (shares[next][question] - shares[node][question]) / TREES as f64;
                node = next;
            }
        }
    }
}

impl Cut {
    fn is_right(self, place: &Place) -> bool {
        place[self.column % PLACES] > self.at
    }
}

/// A tree that is being grown.
struct Branch<'a> {
    cuts: &'a mut [Cut],
    shares: &'a mut [[f64; MOST_QUESTIONS]],
    evaluators: usize,
    tree: u64,
}

impl Branch<'_> {
    fn grow(&mut self, node: usize, rows: &mut [&Leafed]) {
        let all = Tally::of(rows);
        self.shares[node] = all.shares();
        if node >= CUTS {
            return;
        }
        let cut = if all.is_mixed() { self.best_cut(node, rows) } else { None };
        let Some(cut) = cut else {
            // Everything goes left, and nothing changes on the way.
            self.grow_end(2 * node + 1, all.shares());
            return;
        };
        self.cuts[node] = cut;
        let (mut left, mut end) = (0, rows.len());
        while left < end {
            if cut.is_right(&rows[left].place) {
                end -= 1;
                rows.swap(left, end);
            } else {
                left += 1;
            }
        }
        let (left, right) = rows.split_at_mut(left);
        self.grow(2 * node + 1, left);
        self.grow(2 * node + 2, right);
    }

    fn grow_end(&mut self, node: usize, shares: [f64; MOST_QUESTIONS]) {
        self.shares[node] = shares;
        if node < CUTS {
            self.grow_end(2 * node + 1, shares);
        }
    }

    /// The best of a few cuts at random, each at a random place between the lowest and the highest score of an evaluator, on a
    /// scale that draws far ones nearer.
    fn best_cut(&self, node: usize, rows: &[&Leafed]) -> Option<Cut> {
        let mut best: Option<(f64, Cut)> = None;
        for trial in 0..TRIALS {
            let draw = hash_number(self.tree << 32 | node as u64, trial);
            let column = 1 + (((draw >> 32) * self.evaluators as u64) >> 32) as usize;
            let scores = rows.iter().map(|row| row.place[column]);
            let (low, high) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
                (if x < low { x } else { low }, if x > high { x } else { high })
            });
            if low >= high {
                continue;
            }
            let share = ((scatter(draw) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            let (from, to) = ((2.0 * low).asinh(), (2.0 * high).asinh());
            let at = (0.5 * (from + share * (to - from)).sinh()).clamp(low, high.next_down());
            let cut = Cut { column, at };
            let (mut left, mut right) = (Tally::default(), Tally::default());
            for row in rows {
                if cut.is_right(&row.place) { right.add(row) } else { left.add(row) }
            }
            let impurity = left.impurity() + right.impurity();
            if best.is_none_or(|(least, _)| impurity < least) {
                best = Some((impurity, cut));
            }
        }
        best.map(|(_, cut)| cut)
    }
}

/// Rows, and how many of them say yes to each question.
#[derive(Default)]
struct Tally {
    rows: f64,
    yes: [f64; MOST_QUESTIONS],
}

impl Tally {
    fn of(rows: &[&Leafed]) -> Self {
        let mut tally = Tally::default();
        rows.iter().for_each(|row| tally.add(row));
        tally
    }

    fn add(&mut self, row: &Leafed) {
        self.rows += row.count;
        for (question, yes) in self.yes.iter_mut().enumerate() {
            *yes += if question < row.passed { row.count } else { 0.0 };
        }
    }

    fn is_mixed(&self) -> bool {
        self.yes.iter().any(|&yes| yes > 0.0 && yes < self.rows)
    }

    /// Gini's, times the rows: counts alone decide, so that a tie is a tie on every machine.
    fn impurity(&self) -> f64 {
        if self.rows == 0.0 {
            return 0.0;
        }
        self.yes.iter().map(|yes| yes * (1.0 - yes / self.rows)).sum()
    }

    fn shares(&self) -> [f64; MOST_QUESTIONS] {
        self.yes.map(|yes| (yes + PRIOR_YES) / (self.rows + PRIOR_ROWS))
    }
}

#[cfg(test)]
mod tests {
    use super::super::lens::PLACES;
    use super::*;

    /// A grid of rows of three evaluators, of which the first two must both be high for a yes.
    fn both() -> Vec<Leafed> {
        let rows = (0..343).map(|at| {
            let mut place = [0.0; PLACES];
            place[0] = 1.0;
            (place[1], place[2], place[3]) =
                (f64::from(at % 7) - 3.0, f64::from(at / 7 % 7) - 3.0, f64::from(at / 49) - 3.0);
            let passed = usize::from(place[1] > 0.0 && place[2] > 0.0);
            Leafed { place, count: 1.0, passed }
        });
        rows.collect()
    }

    fn at(first: f64, second: f64) -> Place {
        let mut place = [0.0; PLACES];
        (place[0], place[1], place[2]) = (1.0, first, second);
        place
    }

    #[test]
    fn what_two_must_agree_on_is_seen() {
        let forest = Forest::grow(&both(), &[], 3);
        let share = |first: f64, second: f64| forest.shares(&at(first, second))[0];
        assert!(share(2.0, 2.0) > 0.7, "{}", share(2.0, 2.0));
        assert!(share(2.0, -2.0) < 0.3 && share(-2.0, 2.0) < 0.3 && share(-2.0, -2.0) < 0.1);
    }

    #[test]
    fn the_way_down_is_the_share_less_that_of_the_roots() {
        let forest = Forest::grow(&both(), &both()[..5], 3);
        let roots = forest.shares.chunks_exact(NODES).map(|shares| shares[0][0]).sum::<f64>() / TREES as f64;
        for place in [at(2.0, 2.0), at(-1.0, 0.5)] {
            let mut each = [0.0; 3];
            forest.path(&place, 0, &mut each);
            assert!((roots + each.iter().sum::<f64>() - forest.shares(&place)[0]).abs() < 1e-12, "{each:?}");
        }
    }

    #[test]
    fn rows_that_nobody_looked_at_are_ordinary() {
        let hits: Vec<Leafed> = both().into_iter().filter(|row| row.passed > 0).collect();
        let rest: Vec<Leafed> = both().into_iter().map(|row| Leafed { passed: 0, ..row }).collect();
        let share = |ordinary: &[Leafed]| Forest::grow(&hits, ordinary, 3).shares(&at(-3.0, -3.0))[0];
        assert!(share(&[]) > 0.9 && share(&rest) < 0.2, "{} {}", share(&[]), share(&rest));
    }
}
