//! The leaves of all trees that an item reaches, without a walk down each of them.
//!
//! A cut that an item is above shuts the leaves on its left. For every evaluator the cuts of all
//! trees are put in order, and behind each of them it is known which leaves of every tree are open
//! still. What all evaluators leave open begins with the leaf that is reached (Lucchese et al.
//! 2015).

use super::forest::{LEAVES, TREES, Tree};
use crate::estimate::grid::{Grid, MOST_HALVINGS, MOST_KNOTS, with_halvings};

/// With more evaluators than this, so many searches take longer than the walks.
const MOST_COLUMNS: usize = 24;

/// Leaves that are open: of every tree, a bit for each.
type Leaves = [u64; TREES];

#[derive(Debug, Clone)]
pub(super) struct Open {
    columns: Vec<Column>,
    /// How many halvings the searches by a grid take, at most.
    halvings: usize,
}

/// The cuts of an evaluator, and what is open to whoever is above so many of them.
#[derive(Debug, Clone)]
struct Column {
    column: usize,
    cuts: Cuts,
    open: Vec<Leaves>,
}

/// Where cuts are, in ascending order, each of them once.
#[derive(Debug, Clone)]
enum Cuts {
    Few(Box<Grid>),
    Many(Vec<f64>),
}

impl Open {
    /// None where walks are quicker.
    pub(super) fn of(trees: &[Tree], evaluators: usize) -> Option<Self> {
        if evaluators > MOST_COLUMNS || trees.len() != TREES {
            return None;
        }
        let mut cuts: Vec<Vec<(f64, usize, u64)>> = vec![Vec::new(); evaluators];
        for (number, tree) in trees.iter().enumerate() {
            for (node, at, column) in tree.cuts() {
                cuts[column - 1].push((at, number, left_of(node)));
            }
        }
        let columns = (1..).zip(&mut cuts).filter(|(_, cuts)| !cuts.is_empty());
        let columns: Vec<Column> = columns.map(|(column, cuts)| Column::of(column, cuts)).collect();
        let halvings = columns.iter().map(|column| column.cuts.halvings()).max().unwrap_or(0);
        Some(Open { columns, halvings })
    }

    /// The leaf of each tree that an item reaches.
    #[inline]
    pub(super) fn leaves(&self, place: &[f64]) -> [u8; TREES] {
        let open = with_halvings!(self.halvings, N => self.left_by_all::<N>(place));
        // One leaf is open always. That the last one is where no other is makes it one instruction.
        open.map(|open| (open | 1 << (LEAVES - 1)).trailing_zeros() as u8)
    }

    /// What all evaluators leave open. By itself: where the compiler sees that trees are looked at
    /// one by one, it takes them so from the start.
    #[inline(never)]
    fn left_by_all<const HALVINGS: usize>(&self, place: &[f64]) -> Leaves {
        let mut open = [u64::MAX; TREES];
        for column in &self.columns {
            let still = &column.open[column.cuts.below::<HALVINGS>(place[column.column])];
            open.iter_mut().zip(still).for_each(|(open, still)| *open &= still);
        }
        open
    }
}

impl Column {
    /// From cuts: where each is, of which tree, and what is on its left.
    fn of(column: usize, cuts: &mut [(f64, usize, u64)]) -> Self {
        cuts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut leaves = [u64::MAX; TREES];
        let mut open = Vec::with_capacity(cuts.len() + 1);
        open.push(leaves);
        let mut places = Vec::with_capacity(cuts.len());
        for alike in cuts.chunk_by(|a, b| a.0 == b.0) {
            alike.iter().for_each(|&(_, tree, left)| leaves[tree] &= !left);
            open.push(leaves);
            places.push(alike[0].0);
        }
        Column { column, cuts: Cuts::of(places), open }
    }
}

impl Cuts {
    fn of(places: Vec<f64>) -> Self {
        if places.len() > MOST_KNOTS {
            return Cuts::Many(places);
        }
        // Whoever is above a cut is at the next number or beyond.
        let next: Vec<f64> = places.iter().map(|at| at.next_up()).collect();
        let grid = Grid::new(&next);
        // All columns are searched with as many halvings: where no grid helps, as many as are
        // needed would lead beyond the ends of the others.
        if grid.halvings() > MOST_HALVINGS { Cuts::Many(places) } else { Cuts::Few(Box::new(grid)) }
    }

    fn halvings(&self) -> usize {
        match self {
            Cuts::Few(grid) => grid.halvings(),
            Cuts::Many(_) => 0,
        }
    }

    /// How many cuts are below a score.
    #[inline]
    fn below<const HALVINGS: usize>(&self, x: f64) -> usize {
        match self {
            Cuts::Few(grid) => grid.piece::<HALVINGS>(x),
            Cuts::Many(places) => places.partition_point(|&at| at < x),
        }
    }
}

/// The leaves on the left of a node.
fn left_of(node: usize) -> u64 {
    let above = LEAVES.ilog2() - node.ilog2() - 1;
    let first = ((2 * node) << above) - LEAVES;
    (u64::MAX >> (u64::BITS - (1 << above))) << first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_the_left_of_a_node_is_half_of_its_leaves() {
        assert_eq!(left_of(1), u64::from(u32::MAX));
        assert_eq!(left_of(3), 0xffff << 32);
        assert_eq!(left_of(LEAVES / 2), 1);
        assert_eq!(left_of(LEAVES - 1), 1 << 62);
    }

    #[test]
    fn as_many_cuts_are_below_a_score_by_a_grid_as_by_halving() {
        let places: Vec<f64> = (0..100).map(|i| f64::from(i * i) / 7.0 - 40.0).collect();
        let (few, many) = (Cuts::of(places.clone()), Cuts::Many(places.clone()));
        assert!(matches!(few, Cuts::Few(_)));
        for at in &places {
            for x in [at.next_down(), *at, at.next_up(), at + 0.3] {
                let found = with_halvings!(few.halvings(), N => few.below::<N>(x));
                assert_eq!(found, many.below::<1>(x), "{x}");
            }
        }
        assert!(matches!(Cuts::of((0..300).map(f64::from).collect()), Cuts::Many(_)));
    }
}
