//! How a tree of the forest grows: a node tries a few cuts at random, and keeps the one that tells
//! the levels apart best.

use super::forest::{LEAVES, MOST_QUESTIONS, Shares, Stand, Tree, one_of};
use crate::toolbox::{hash_number, scatter};

/// Cuts that a node tries; as many as there are evaluators where these are more than `NARROW`,
/// since most of them may have nothing to say.
const TRIALS: usize = 3;
const NARROW: usize = 10;
/// A share of yes is (yes + this) / (rows + that).
const PRIOR_YES: f64 = 0.025;
const PRIOR_ROWS: f64 = 0.5;

/// A tree that is being grown.
pub(super) struct Branch<'a> {
    pub(super) stand: &'a Stand,
    pub(super) tree: &'a mut Tree,
    pub(super) shares: &'a mut [Shares],
    pub(super) number: u64,
    pub(super) questions: usize,
    pub(super) room: &'a mut Room,
}

/// Memory that is used again at every node: what its rows count for, for every question and in all,
/// their scores by one evaluator, and those rows that go right.
#[derive(Default)]
pub(super) struct Room {
    counts: Vec<f64>,
    yes: [Vec<f64>; MOST_QUESTIONS],
    scores: Vec<f64>,
    right: Vec<u32>,
}

impl Branch<'_> {
    pub(super) fn grow(&mut self, node: usize, rows: &mut [u32]) {
        let all = self.gather(rows);
        self.shares[node] = all.shares();
        if node >= LEAVES {
            return;
        }
        let cut = if all.is_mixed() { self.best_cut(node, rows, &all) } else { None };
        let Some((column, at)) = cut else {
            // Everything goes left, and nothing changes on the way.
            self.grow_end(2 * node, all.shares());
            return;
        };
        (self.tree.at[node], self.tree.column[node]) = (at, column as u8);
        let left = self.part(rows, column, at);
        let (left, right) = rows.split_at_mut(left);
        self.grow(2 * node, left);
        self.grow(2 * node + 1, right);
    }

    fn grow_end(&mut self, node: usize, shares: Shares) {
        self.shares[node] = shares;
        if node < LEAVES {
            self.grow_end(2 * node, shares);
        }
    }

    /// Brings together what the rows of a node count for.
    fn gather(&mut self, rows: &[u32]) -> Tally {
        let (stand, room) = (self.stand, &mut *self.room);
        bring_together(&stand.counts, rows, &mut room.counts);
        for (yes, of_all) in room.yes.iter_mut().zip(&stand.yes).take(self.questions) {
            bring_together(of_all, rows, yes);
        }
        let everywhere = |counts: &[f64]| sum_where(counts, counts, |_| true);
        Tally {
            rows: everywhere(&room.counts),
            yes: std::array::from_fn(|question| {
                if question < self.questions { everywhere(&room.yes[question]) } else { 0.0 }
            }),
        }
    }

    /// Puts the rows that go left first, without a branch that has to be guessed; how many they
    /// are.
    fn part(&mut self, rows: &mut [u32], column: usize, at: f64) -> usize {
        let scores = self.stand.column(column);
        let right = &mut self.room.right;
        right.clear();
        right.resize(rows.len(), 0);
        let (mut left, mut gone) = (0, 0);
        for i in 0..rows.len() {
            let row = rows[i];
            let is_right = scores[row as usize] > at;
            rows[left] = row;
            right[gone] = row;
            left += usize::from(!is_right);
            gone += usize::from(is_right);
        }
        rows[left..].copy_from_slice(&right[..gone]);
        left
    }

    /// The best of a few cuts at random, each at a random place between the lowest and the highest
    /// score of an evaluator, on a scale that draws far ones nearer.
    fn best_cut(&mut self, node: usize, rows: &[u32], all: &Tally) -> Option<(usize, f64)> {
        let mut best: Option<(f64, (usize, f64))> = None;
        let varying = &self.stand.varying;
        let trials = match varying.len() {
            0 => 0,
            columns if columns > NARROW => columns,
            _ => TRIALS,
        };
        for trial in 0..trials {
            let draw = hash_number(self.number << 32 | (node - 1) as u64, trial as u64);
            let column = varying[one_of(varying.len(), draw) as usize];
            let scores = self.stand.column(column);
            let room = &mut *self.room;
            room.scores.resize(rows.len(), 0.0);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for (score, &row) in room.scores.iter_mut().zip(rows) {
                let x = scores[row as usize];
                (low, high) = (if x < low { x } else { low }, if x > high { x } else { high });
                *score = x;
            }
            if low >= high {
                continue;
            }
            let share = ((scatter(draw) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            let (from, to) = ((2.0 * low).asinh(), (2.0 * high).asinh());
            let at = (0.5 * (from + share * (to - from)).sinh()).clamp(low, high.next_down());
            let right_of = |counts: &[f64]| sum_where(counts, &room.scores, |x| x > at);
            let mut right = Tally { rows: right_of(&room.counts), ..Tally::default() };
            for (sum, counts) in right.yes.iter_mut().zip(&room.yes).take(self.questions) {
                *sum = right_of(counts);
            }
            let impurity = all.without(&right).impurity() + right.impurity();
            if best.is_none_or(|(least, _)| impurity < least) {
                best = Some((impurity, (column, at)));
            }
        }
        best.map(|(_, cut)| cut)
    }
}

/// The numbers of some rows, of those of all.
fn bring_together(of_all: &[f64], rows: &[u32], into: &mut Vec<f64>) {
    into.resize(rows.len(), 0.0);
    into.iter_mut().zip(rows).for_each(|(number, &row)| *number = of_all[row as usize]);
}

/// The sum of the counts whose score is wanted, in four running sums: counts are whole numbers, so
/// that the order does not matter.
#[inline]
fn sum_where(counts: &[f64], scores: &[f64], wanted: impl Fn(f64) -> bool) -> f64 {
    let ((counts, rest), (scores, others)) = (counts.as_chunks::<4>(), scores.as_chunks::<4>());
    let one = |count: f64, score: f64| if wanted(score) { count } else { 0.0 };
    let mut sums = [0.0; 4];
    for (counts, scores) in counts.iter().zip(scores) {
        for lane in 0..4 {
            sums[lane] += one(counts[lane], scores[lane]);
        }
    }
    let last: f64 = rest.iter().zip(others).map(|(&count, &score)| one(count, score)).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + last
}

/// Rows, and how many of them say yes to each question.
#[derive(Default)]
struct Tally {
    rows: f64,
    yes: Shares,
}

impl Tally {
    fn without(&self, other: &Tally) -> Tally {
        Tally { rows: self.rows - other.rows, yes: std::array::from_fn(|at| self.yes[at] - other.yes[at]) }
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

    fn shares(&self) -> Shares {
        self.yes.map(|yes| (yes + PRIOR_YES) / (self.rows + PRIOR_ROWS))
    }
}
