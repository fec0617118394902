//! Which rows are about the same item, by their ids.
//!
//! An item that was scored twice has one reward. A policy that learnt the reward from one row knows
//! that of the other row. Replays in which rows do not come back therefore show one row of an item
//! in a run. Folds show all rows, but learn from no item that they rank.

use std::collections::HashMap;

/// The first row of each row's item, if some item has several rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemIndex {
    /// For each row, the first row of its item; empty if every item has one row.
    first: Vec<usize>,
}

impl ItemIndex {
    /// From a number per row that stands for its id; a row of number 0 is an item by itself.
    pub(crate) fn of(ids: &[u64]) -> ItemIndex {
        let mut known: HashMap<u64, usize> = HashMap::with_capacity(ids.len());
        let mut first: Vec<usize> = Vec::with_capacity(ids.len());
        for (row, &id) in ids.iter().enumerate() {
            first.push(if id == 0 { row } else { *known.entry(id).or_insert(row) });
        }
        let repeats = first.iter().enumerate().any(|(row, &first)| row != first);
        if repeats { ItemIndex { first } } else { ItemIndex::default() }
    }

    /// The item of a row, as the number of its first row.
    pub(crate) fn of_row(&self, row: usize) -> usize {
        self.first.get(row).copied().unwrap_or(row)
    }

    /// Whether any item has several rows.
    pub(crate) fn repeat(&self) -> bool {
        !self.first.is_empty()
    }

    /// The number of items among the first `rows` rows.
    pub(crate) fn count(&self, rows: usize) -> usize {
        (0..rows).filter(|&row| self.of_row(row) == row).count()
    }

    /// The number of items with several rows.
    pub(crate) fn repeated(&self) -> usize {
        let mut rows = vec![0_usize; self.first.len()];
        self.first.iter().for_each(|&first| rows[first] += 1);
        rows.iter().filter(|&&rows| rows > 1).count()
    }

    /// Drops the rows of items that `seen` marks, and marks the item of each row that it keeps.
    /// Does nothing if every item has one row.
    pub(crate) fn keep_first(&self, rows: &mut Vec<usize>, seen: &mut [bool]) {
        if self.repeat() {
            rows.retain(|&row| !std::mem::replace(&mut seen[self.of_row(row)], true));
        }
    }
}
