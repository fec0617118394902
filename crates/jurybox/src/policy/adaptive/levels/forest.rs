//! Extremely randomised trees: what no line sees, such as a yes that two evaluators must agree on.
//!
//! Every tree sees the labelled rows, up to some hundreds, and a few rows that nobody looked at as
//! if they were of the lowest level: weak evidence that what is unlike everything looked at is
//! ordinary. A node tries a few cuts at random and keeps the one that tells the levels apart best.
//! All cuts between levels share the trees, and a leaf has a share of yes for each.
//!
//! Randomness is a hash of tree, node and trial, so that the same rows give the same trees, and a
//! few more rows similar ones. The trees are complete, with cuts that send everything left where a
//! branch ends early: a row goes down without a branch that has to be guessed.

use super::grow::{Branch, Room};
use super::lens::PLACES;
use super::open::Open;
use crate::toolbox::hash_number;

pub(super) const TREES: usize = 20;
const DEPTH: usize = 6;
/// The root is node 1, the children of a node are twice its number, and one more. Those below this
/// one have cuts, the others are leaves.
pub(super) const LEAVES: usize = 1 << DEPTH;
const NODES: usize = 2 * LEAVES;
/// About the most labelled rows that a tree sees; of more, each tree sees others.
pub(super) const MOST_ROWS: usize = 256;
/// Rows that nobody looked at, in each tree.
const ORDINARY: usize = 20;
/// The most questions that a leaf answers.
pub(super) const MOST_QUESTIONS: usize = 4;
pub(super) type Shares = [f64; MOST_QUESTIONS];

/// Rows to grow trees from, the labelled ones first: an evaluator's scores lie side by side, since
/// that is how cuts go over them.
#[derive(Debug, Clone)]
pub(super) struct Stand {
    evaluators: usize,
    /// The columns that cuts are drawn among: constant scores, and columns that are no scores, say
    /// nothing.
    pub(super) varying: Vec<usize>,
    labelled: usize,
    /// What each labelled row is drawn by, where they are more than a tree sees.
    keys: Vec<u64>,
    /// Evaluator by evaluator.
    scores: Vec<f64>,
    pub(super) counts: Vec<f64>,
    /// The same for each question, of those that say yes to it.
    pub(super) yes: [Vec<f64>; MOST_QUESTIONS],
}

impl Stand {
    /// From places, each with how often it was seen and how many levels it has passed, and places
    /// that nobody looked at.
    pub(super) fn new(labelled: &[(&[f64], f64, usize)], ordinary: &[&[f64]], evaluators: usize) -> Self {
        let places = || labelled.iter().map(|row| &row.0).chain(ordinary);
        let none = ordinary.len();
        let varies = |&column: &usize| {
            let mut scores = places().map(|place| place[column]);
            let first = scores.next();
            scores.any(|score| Some(score) != first)
        };
        let mut scores = Vec::with_capacity(evaluators * (labelled.len() + none));
        for column in 1..=evaluators {
            scores.extend(labelled.iter().map(|row| row.0[column]));
            scores.extend(ordinary.iter().map(|place| place[column]));
        }
        Stand {
            evaluators,
            varying: (1..=evaluators).filter(varies).collect(),
            labelled: labelled.len(),
            keys: (0..labelled.len() as u64).collect(),
            scores,
            counts: labelled.iter().map(|row| row.1).chain(std::iter::repeat_n(1.0, none)).collect(),
            yes: std::array::from_fn(|question| {
                let of_row = |row: &(&[f64], f64, usize)| if row.2 > question { row.1 } else { 0.0 };
                labelled.iter().map(of_row).chain(std::iter::repeat_n(0.0, none)).collect()
            }),
        }
    }

    /// Rows of one key are seen by the same trees.
    pub(super) fn drawn_by(self, keys: Vec<u64>) -> Self {
        Stand { keys, ..self }
    }

    /// The scores of an evaluator, by its column of a [`Place`].
    pub(super) fn column(&self, column: usize) -> &[f64] {
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
pub(super) fn one_of(count: usize, draw: u64) -> u64 {
    ((draw >> 32) * count as u64) >> 32
}

/// Whether a tree sees one of so many labelled rows, by its key.
fn sees(tree: u64, key: u64, labelled: usize) -> bool {
    labelled <= MOST_ROWS || one_of(labelled, hash_number(!tree, key)) < MOST_ROWS as u64
}

#[derive(Debug, Clone)]
pub(super) struct Forest {
    trees: Vec<Tree>,
    open: Option<Open>,
    /// The shares of yes at every leaf of every tree, one question after the other: all that a
    /// value needs.
    leaves: Vec<f64>,
    /// The same at every node.
    shares: Vec<Shares>,
}

/// The cut of each node: rows at most at `at` in `column` of a [`Place`] go left.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) at: [f64; LEAVES],
    pub(super) column: [u8; LEAVES],
}

/// Everything goes left.
const UNCUT: Tree = Tree { at: [f64::INFINITY; LEAVES], column: [1; LEAVES] };

impl Tree {
    /// Each cut: its node, what is above it, and by which column.
    pub(super) fn cuts(&self) -> impl Iterator<Item = (usize, f64, usize)> {
        let nodes = self.at.iter().zip(&self.column).enumerate().skip(1);
        nodes
            .filter(|(_, (at, _))| **at < f64::INFINITY)
            .map(|(node, (&at, &column))| (node, at, column.into()))
    }

    /// The leaf that a place belongs to.
    fn leaf(&self, place: &[f64; PLACES]) -> u8 {
        let mut node = 1;
        for _ in 0..DEPTH {
            node = self.next(node, place);
        }
        (node - LEAVES) as u8
    }

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
        let of_leaves = || shares.chunks_exact(NODES).flat_map(|nodes| &nodes[LEAVES..]);
        let leaves =
            (0..questions).flat_map(|question| of_leaves().map(move |shares| shares[question])).collect();
        let open = Open::of(&trees, stand.evaluators);
        Forest { trees, open, leaves, shares }
    }

    /// The mean share of yes over the trees, for each question.
    #[inline]
    pub(super) fn shares(&self, place: &[f64]) -> Shares {
        self.mean_shares(place, |_| true)
    }

    /// The same over the trees that have not seen a row, by its key, one of so many labelled ones;
    /// over all where each has.
    pub(super) fn unseen_shares(&self, place: &[f64], key: u64, labelled: usize) -> Shares {
        let unseen = |tree: usize| !sees(tree as u64, key, labelled);
        if (0..TREES).any(unseen) { self.mean_shares(place, unseen) } else { self.shares(place) }
    }

    #[inline]
    fn mean_shares(&self, place: &[f64], of: impl Fn(usize) -> bool) -> Shares {
        let reached = self.reached(place);
        let of: [bool; TREES] = std::array::from_fn(of);
        let trees = of.iter().filter(|counts| **counts).count() as f64;
        let mut mean = Shares::default();
        let of_questions = self.leaves.chunks_exact(TREES * LEAVES);
        for (mean, leaves) in mean.iter_mut().zip(of_questions) {
            let each = leaves.as_chunks::<LEAVES>().0.iter().zip(reached).zip(of);
            let own = each.filter(|(_, counts)| *counts);
            *mean = own.map(|((leaves, leaf), _)| leaves[usize::from(leaf) % LEAVES]).sum::<f64>() / trees;
        }
        mean
    }

    /// The leaf of each tree that a place belongs to.
    #[inline]
    fn reached(&self, place: &[f64]) -> [u8; TREES] {
        if let Some(open) = &self.open {
            return open.leaves(place);
        }
        let (place, mut reached) = (&room_for(place), [0; TREES]);
        reached.iter_mut().zip(&self.trees).for_each(|(leaf, tree)| *leaf = tree.leaf(place));
        reached
    }

    /// What each evaluator's cuts do to the share of one question on the way down: together, the
    /// share less that of the roots.
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

/// A place with as much room as there may be evaluators, so that the way down a tree is without a
/// branch for those beyond the last.
#[inline]
fn room_for(place: &[f64]) -> [f64; PLACES] {
    let mut all = [0.0; PLACES];
    all[..place.len()].copy_from_slice(place);
    all
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

    /// Two rows of the same scores with other rewards, as two halves of a label are: whoever has
    /// not seen the one has not seen the other.
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

    #[test]
    fn what_is_open_begins_with_the_leaf_at_the_end_of_the_walk() {
        let forest = grown(&both(), &[]);
        let walked = Forest { open: None, ..forest.clone() };
        for (place, ..) in both() {
            for shift in [-0.4, 0.0, 0.3] {
                let place = place.map(|x| x + shift);
                assert_eq!(forest.reached(&place), walked.reached(&place));
            }
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
