//! Which rows are about the same item, by their ids.
//!
//! An item that came again, scored anew, has the reward that it had: whoever was told it once knows it. So a run shows an item
//! once, at its first row, and folds never part its rows. Where no id comes twice, nothing of this changes anything.

use std::collections::HashMap;

/// The item of each row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemIndex {
    /// For each row, the first row of its item; empty where no item has two.
    first: Vec<usize>,
}

impl ItemIndex {
    /// From a number for each row's id, 0 where it has none: then nobody knows it again.
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

    /// Whether an item has several rows.
    pub(crate) fn repeat(&self) -> bool {
        !self.first.is_empty()
    }

    /// How many items so many rows are about.
    pub(crate) fn count(&self, rows: usize) -> usize {
        (0..rows).filter(|&row| self.of_row(row) == row).count()
    }

    /// How many items have several rows.
    pub(crate) fn repeated(&self) -> usize {
        let mut rows = vec![0_usize; self.first.len()];
        self.first.iter().for_each(|&first| rows[first] += 1);
        rows.iter().filter(|&&rows| rows > 1).count()
    }

    /// Keeps the first row of each item, in the order in which they are.
    pub(crate) fn keep_first(&self, rows: &mut Vec<usize>, seen: &mut [bool]) {
        if self.repeat() {
            rows.retain(|&row| !std::mem::replace(&mut seen[self.of_row(row)], true));
        }
    }
}
