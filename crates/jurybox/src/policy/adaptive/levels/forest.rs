//! Extremely randomised trees: what no line sees, such as a yes that two evaluators must agree on.
//!
//! Every tree sees the labelled rows, up to some hundreds, and a few rows that nobody looked at as if they were of the lowest level: weak evidence
//! that what is unlike everything looked at is ordinary. A node tries a few cuts at random and keeps the one that tells the
//! levels apart best. All cuts between levels share the trees, and a leaf has a share of yes for each.
//!
//! Randomness is a hash of tree, node and trial, so that the same rows give the same trees, and a few more rows similar ones.
//! The trees are complete, with cuts that send everything left where a branch ends early: a row goes down without a branch
//! that has to be guessed.

use super::lens::PLACES;
use crate::toolbox::{hash_number, scatter};

const TREES: usize = 20;
const DEPTH: usize = 6;
/// The root is node 1, the children of a node are twice its number, and one more. Those below this one have cuts, the others are leaves.
const LEAVES: usize = 1 << DEPTH;
const NODES: usize = 2 * LEAVES;
/// Cuts that a node tries; as many as there are evaluators where these are more than `NARROW`, since most of them may have nothing to say.
const TRIALS: usize = 3;
const NARROW: usize = 10;
/// About the most labelled rows that a tree sees; of more, each tree sees others.
pub(super) const MOST_ROWS: usize = 256;
/// Rows that nobody looked at, in each tree.
const ORDINARY: usize = 20;
/// A share of yes is (yes + this) / (rows + that).
const PRIOR_YES: f64 = 0.025;
const PRIOR_ROWS: f64 = 0.5;

/// The most questions that a leaf answers.
pub(super) const MOST_QUESTIONS: usize = 4;
pub(super) type Shares = [f64; MOST_QUESTIONS];

/// Rows to grow trees from, the labelled ones first: an evaluator's scores lie side by side, since that is how cuts go over them.
#[derive(Debug, Clone)]
pub(super) struct Stand {
    /// The columns that cuts are drawn among: constant scores, and columns that are no scores, say nothing.
    varying: Vec<usize>,
    labelled: usize,
    /// What each labelled row is drawn by, where they are more than a tree sees.
    keys: Vec<u64>,
    /// Evaluator by evaluator.
    scores: Vec<f64>,
    counts: Vec<f64>,
    /// How many levels each row has passed.
    passed: Vec<u8>,
}

impl Stand {
    /// From places, each with how often it was seen and how many levels it has passed, and places that nobody looked at.
    pub(super) fn new(labelled: &[(&[f64], f64, usize)], ordinary: &[&[f64]], evaluators: usize) -> Self {
        let places = || labelled.iter().map(|row| &row.0).chain(ordinary);
        let none = ordinary.len();
        let varies = |&column: &usize| {
            let mut scores = places().map(|place| place[column]);
            let first = scores.next();
            scores.any(|score| Some(score) != first)
        };
        Stand {
            varying: (1..=evaluators).filter(varies).collect(),
            labelled: labelled.len(),
            keys: (0..labelled.len() as u64).collect(),
            scores: (1..=evaluators).flat_map(|column| places().map(move |place| place[column])).collect(),
            counts: labelled.iter().map(|row| row.1).chain(std::iter::repeat_n(1.0, none)).collect(),
            passed: labelled.iter().map(|row| row.2 as u8).chain(std::iter::repeat_n(0, none)).collect(),
        }
    }

    /// Rows of one key are seen by the same trees.
    pub(super) fn drawn_by(self, keys: Vec<u64>) -> Self {
        Stand { keys, ..self }
    }

    /// The scores of an evaluator, by its column of a [`Place`].
    fn column(&self, column: usize) -> &[f64] {
        &self.scores[(column - 1) * self.counts.len()..][..self.counts.len()]
    }

    /// The rows that a tree sees.
    fn seen_by(&self, tree: u64, rows: &mut Vec<u32>) {
        rows.clear();
        rows.extend(
            (0..).zip(&self.keys).filter(|(_, key)| sees(tree, **key, self.labelled)).map(|(row, _)| row),
        );
        let ordinary = self.counts.len() - self.labelled;
        if ordinary > 0 {
            rows.extend(
                (0..ORDINARY as u64)
                    .map(|i| self.labelled as u32 + one_of(ordinary, hash_number(tree, i)) as u32),
            );
        }
    }
}

/// One of so many, by a draw.
fn one_of(count: usize, draw: u64) -> u64 {
    ((draw >> 32) * count as u64) >> 32
}

/// Whether a tree sees one of so many labelled rows, by its key.
fn sees(tree: u64, key: u64, labelled: usize) -> bool {
    labelled <= MOST_ROWS || one_of(labelled, hash_number(!tree, key)) < MOST_ROWS as u64
}

#[derive(Debug, Clone)]
pub(super) struct Forest {
    trees: Vec<Tree>,
    questions: usize,
    /// The shares of yes at every leaf of every tree, question by question: all that a value needs.
    leaves: Vec<f64>,
    /// The same at every node.
    shares: Vec<Shares>,
}

/// The cut of each node: rows at most at `at` in `column` of a [`Place`] go left.
#[derive(Debug, Clone)]
struct Tree {
    at: [f64; LEAVES],
    column: [u8; LEAVES],
}

/// Everything goes left.
const UNCUT: Tree = Tree { at: [f64::INFINITY; LEAVES], column: [1; LEAVES] };

impl Tree {
    /// The child of a node that a place belongs to.
    #[inline]
    fn next(&self, node: usize, place: &[f64; PLACES]) -> usize {
        let node = node % LEAVES;
        let right = place[usize::from(self.column[node]) % PLACES] > self.at[node];
        2 * node + usize::from(right)
    }
}

impl Forest {
    /// Grows trees that answer so many questions.
    pub(super) fn grow(stand: &Stand, questions: usize) -> Self {
        let mut trees = vec![UNCUT; TREES];
        let mut shares = vec![[0.0; MOST_QUESTIONS]; TREES * NODES];
        let mut rows = Vec::with_capacity(stand.counts.len() + ORDINARY);
        let mut room = Room::default();
        for ((number, tree), shares) in (0..).zip(&mut trees).zip(shares.chunks_exact_mut(NODES)) {
            stand.seen_by(number, &mut rows);
            Branch { stand, tree, shares, number, questions, room: &mut room }.grow(1, &mut rows);
        }
        let of_leaves = shares.chunks_exact(NODES).flat_map(|nodes| &nodes[LEAVES..]);
        let leaves = of_leaves.flat_map(|shares| shares[..questions].iter().copied()).collect();
        Forest { trees, questions, leaves, shares }
    }

    /// The mean share of yes over the trees, for each question.
    #[inline]
    pub(super) fn shares(&self, place: &[f64]) -> Shares {
        self.mean_shares(place, |_| true)
    }

    /// The same over the trees that have not seen a row, by its key, one of so many labelled ones; over all where each has.
    pub(super) fn unseen_shares(&self, place: &[f64], key: u64, labelled: usize) -> Shares {
        let unseen = |tree: usize| !sees(tree as u64, key, labelled);
        if (0..TREES).any(unseen) { self.mean_shares(place, unseen) } else { self.shares(place) }
    }

    #[inline]
    fn mean_shares(&self, place: &[f64], of: impl Fn(usize) -> bool) -> Shares {
        let place = &room_for(place);
        let (mut sum, mut trees) = ([0.0; MOST_QUESTIONS], 0.0);
        let of_trees = self.leaves.chunks_exact(LEAVES * self.questions);
        for (_, (tree, leaves)) in self.trees.iter().zip(of_trees).enumerate().filter(|(at, _)| of(*at)) {
            let mut node = 1;
            for _ in 0..DEPTH {
                node = tree.next(node, place);
            }
            let own = &leaves[(node - LEAVES) * self.questions..][..self.questions];
            sum.iter_mut().zip(own).for_each(|(sum, share)| *sum += share);
            trees += 1.0;
        }
        sum.map(|sum| sum / trees)
    }

    /// What each evaluator's cuts do to the share of one question on the way down: together, the share less that of the roots.
    pub(super) fn path(&self, place: &[f64], question: usize, each: &mut [f64]) {
        let place = &room_for(place);
        for (tree, shares) in self.trees.iter().zip(self.shares.chunks_exact(NODES)) {
            let mut node = 1;
            for _ in 0..DEPTH {
                let next = tree.next(node, place);
                each[usize::from(tree.column[node]) - 1] +=
                    (shares[next][question] - shares[node][question]) / TREES as f64;
                node = next;
            }
        }
    }
}

/// A place with as much room as there may be evaluators, so that the way down a tree is without a branch for those beyond the last.
#[inline]
fn room_for(place: &[f64]) -> [f64; PLACES] {
    let mut all = [0.0; PLACES];
    all[..place.len()].copy_from_slice(place);
    all
}

/// A tree that is being grown.
struct Branch<'a> {
    stand: &'a Stand,
    tree: &'a mut Tree,
    shares: &'a mut [Shares],
    number: u64,
    questions: usize,
    room: &'a mut Room,
}

/// Memory that is used again at every node: what its rows count for, for every question and in all, their scores by one
/// evaluator, and those rows that go right.
#[derive(Default)]
struct Room {
    counts: Vec<f64>,
    yes: [Vec<f64>; MOST_QUESTIONS],
    scores: Vec<f64>,
    right: Vec<u32>,
}

impl Branch<'_> {
    fn grow(&mut self, node: usize, rows: &mut [u32]) {
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
        room.counts.clear();
        room.counts.extend(rows.iter().map(|&row| stand.counts[row as usize]));
        for (question, yes) in room.yes.iter_mut().enumerate().take(self.questions) {
            yes.clear();
            let passed = rows.iter().map(|&row| usize::from(stand.passed[row as usize]) > question);
            yes.extend(passed.zip(&room.counts).map(|(passed, count)| if passed { *count } else { 0.0 }));
        }
        let everywhere = |counts: &[f64]| sum_where(counts, counts, |_| true);
        Tally {
            rows: everywhere(&room.counts),
            yes: std::array::from_fn(|question| {
                if question < self.questions { everywhere(&room.yes[question]) } else { 0.0 }
            }),
        }
    }

    /// Puts the rows that go left first, without a branch that has to be guessed; how many they are.
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

    /// The best of a few cuts at random, each at a random place between the lowest and the highest score of an evaluator, on a
    /// scale that draws far ones nearer.
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
            room.scores.clear();
            room.scores.extend(rows.iter().map(|&row| scores[row as usize]));
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for &x in &room.scores {
                (low, high) = (if x < low { x } else { low }, if x > high { x } else { high });
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

/// The sum of the counts whose score is wanted, in four running sums: counts are whole numbers, so that the order does not matter.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of rows of three evaluators, of which the first two must both be high for a yes.
    fn both() -> Vec<([f64; PLACES], f64, usize)> {
        let rows = (0..343).map(|at| {
            let mut place = [0.0; PLACES];
            place[0] = 1.0;
            (place[1], place[2], place[3]) =
                (f64::from(at % 7) - 3.0, f64::from(at / 7 % 7) - 3.0, f64::from(at / 49) - 3.0);
            let passed = usize::from(place[1] > 0.0 && place[2] > 0.0);
            (place, 1.0, passed)
        });
        rows.collect()
    }

    fn answering(
        labelled: &[([f64; PLACES], f64, usize)],
        ordinary: &[[f64; PLACES]],
        questions: usize,
    ) -> Forest {
        let labelled: Vec<(&[f64], f64, usize)> =
            labelled.iter().map(|row| (&row.0[..], row.1, row.2)).collect();
        let ordinary: Vec<&[f64]> = ordinary.iter().map(|place| &place[..]).collect();
        Forest::grow(&Stand::new(&labelled, &ordinary, 3), questions)
    }

    fn grown(labelled: &[([f64; PLACES], f64, usize)], ordinary: &[[f64; PLACES]]) -> Forest {
        answering(labelled, ordinary, 1)
    }

    fn at(first: f64, second: f64) -> [f64; PLACES] {
        let mut place = [0.0; PLACES];
        (place[0], place[1], place[2]) = (1.0, first, second);
        place
    }

    #[test]
    fn what_two_must_agree_on_is_seen() {
        let forest = grown(&both(), &[]);
        let share = |first: f64, second: f64| forest.shares(&at(first, second))[0];
        assert!(share(2.0, 2.0) > 0.7, "{}", share(2.0, 2.0));
        assert!(share(2.0, -2.0) < 0.3 && share(-2.0, 2.0) < 0.3 && share(-2.0, -2.0) < 0.1);
    }

    #[test]
    fn the_way_down_is_the_share_less_that_of_the_roots() {
        let ordinary: Vec<[f64; PLACES]> = both()[..5].iter().map(|row| row.0).collect();
        let forest = grown(&both(), &ordinary);
        let roots = forest.shares.chunks_exact(NODES).map(|shares| shares[1][0]).sum::<f64>() / TREES as f64;
        for place in [at(2.0, 2.0), at(-1.0, 0.5)] {
            let mut each = [0.0; 3];
            forest.path(&place, 0, &mut each);
            assert!((roots + each.iter().sum::<f64>() - forest.shares(&place)[0]).abs() < 1e-12, "{each:?}");
        }
    }

    #[test]
    fn rows_that_nobody_looked_at_are_ordinary() {
        let hits: Vec<([f64; PLACES], f64, usize)> = both().into_iter().filter(|row| row.2 > 0).collect();
        let rest: Vec<[f64; PLACES]> = both().into_iter().map(|row| row.0).collect();
        let share = |ordinary: &[[f64; PLACES]]| grown(&hits, ordinary).shares(&at(-3.0, -3.0))[0];
        assert!(share(&[]) > 0.9 && share(&rest) < 0.2, "{} {}", share(&[]), share(&rest));
    }

    /// Such as columns of groups, whose places are all the same: no cut is spent on them.
    #[test]
    fn columns_that_never_vary_take_no_cuts() {
        let beside = |idle: usize| {
            let rows = both();
            let rows: Vec<(&[f64], f64, usize)> = rows.iter().map(|row| (&row.0[..], row.1, row.2)).collect();
            Forest::grow(&Stand::new(&rows, &[], 3 + idle), 1)
        };
        let (alone, among) = (beside(0), beside(7));
        for (place, ..) in both() {
            assert_eq!(alone.shares(&place), among.shares(&place));
        }
        // Where nothing varies, nothing is cut.
        let same = [0.5; PLACES];
        let rows: Vec<(&[f64], f64, usize)> = (0..40).map(|at| (&same[..], 1.0, at % 2)).collect();
        let share = Forest::grow(&Stand::new(&rows, &[], 3), 1).shares(&same)[0];
        assert!((share - 20.025 / 40.5).abs() < 1e-12, "{share}");
    }

    /// Two rows of the same scores with other rewards, as two halves of a label are: whoever has not seen the one has not seen the other.
    #[test]
    fn rows_of_one_key_are_seen_by_the_same_trees() {
        let rows = both();
        let rows: Vec<(&[f64], f64, usize)> = rows.iter().map(|row| (&row.0[..], row.1, row.2)).collect();
        let twice = [rows.clone(), rows.clone()].concat();
        let keys: Vec<u64> = (0..343).chain(0..343).map(|key| 1000 + key).collect();
        let stand = Stand::new(&twice, &[], 3).drawn_by(keys);
        let mut seen = Vec::new();
        for tree in 0..TREES as u64 {
            stand.seen_by(tree, &mut seen);
            let (first, second): (Vec<u32>, Vec<u32>) = seen.iter().partition(|row| **row < 343);
            assert!(!first.is_empty() && first.len() < 343);
            assert!(first.iter().zip(&second).all(|(one, other)| one + 343 == *other));
        }
    }

    /// A mark of several levels is a tally at each of them.
    #[test]
    fn leaves_answer_every_question() {
        let marks: Vec<([f64; PLACES], f64, usize)> = both()
            .into_iter()
            .map(|(place, count, _)| (place, count, ((place[1] + 3.0) / 1.5) as usize))
            .collect();
        let forest = answering(&marks, &[], MOST_QUESTIONS);
        let shares = forest.shares(&at(0.5, 0.0));
        assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]), "{shares:?}");
        assert!(shares[0] > 0.8 && shares[3] < 0.2, "{shares:?}");
    }
}
