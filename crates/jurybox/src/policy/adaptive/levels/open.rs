//! The leaves of all trees that an item reaches, without a walk down each of them.
//!
//! A cut that an item is above shuts the leaves on its left. For every evaluator the cuts of all trees are put in order, and behind each of them it is
//! known which leaves of every tree are open still. What all evaluators leave open begins with the leaf that is reached (Lucchese et al. 2015).

use super::forest::{LEAVES, TREES, Tree};

/// With more evaluators than this, so many searches take longer than the walks.
const MOST_COLUMNS: usize = 24;

/// Leaves that are open: of every tree, a bit for each.
type Leaves = [u64; TREES];

#[derive(Debug, Clone)]
pub(super) struct Open {
    columns: Vec<Column>,
}

/// The cuts of an evaluator in ascending order, and what is open to whoever is above so many of them.
#[derive(Debug, Clone)]
struct Column {
    column: usize,
    at: Vec<f64>,
    open: Vec<Leaves>,
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
        let columns = (1..).zip(&mut cuts).filter(|(_, cuts)| !cuts.is_empty()).map(|(column, cuts)| {
            cuts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut leaves = [u64::MAX; TREES];
            let mut open = Vec::with_capacity(cuts.len() + 1);
            open.push(leaves);
            for &(_, tree, left) in cuts.iter() {
                leaves[tree] &= !left;
                open.push(leaves);
            }
            Column { column, at: cuts.iter().map(|cut| cut.0).collect(), open }
        });
        Some(Open { columns: columns.collect() })
    }

    /// The leaf of each tree that an item reaches.
    #[inline]
    pub(super) fn leaves(&self, place: &[f64]) -> [u8; TREES] {
        let mut open = [u64::MAX; TREES];
        for column in &self.columns {
            let x = place[column.column];
            let still = &column.open[column.at.partition_point(|&at| at < x)];
            open.iter_mut().zip(still).for_each(|(open, still)| *open &= still);
        }
        open.map(|open| open.trailing_zeros() as u8 % LEAVES as u8)
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
}
