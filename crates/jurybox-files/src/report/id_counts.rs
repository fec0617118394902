//! Detection of items with several rows. If there are any, items and not rows count as independent.

use jurybox::toolbox::hash_number;
use std::collections::HashMap;

/// Maximum number of ids that are counted. Of more ids, a random part is counted.
const MOST: usize = 100_000;

/// The number of rows per id, for a random part of the ids.
#[derive(Debug)]
pub(super) struct IdCounts {
    rows: HashMap<u64, u32>,
    /// The largest hash of counted ids.
    below: u64,
}

impl Default for IdCounts {
    fn default() -> Self {
        IdCounts { rows: HashMap::new(), below: u64::MAX }
    }
}

impl IdCounts {
    /// Counts the id of a row; 0 is no id.
    pub(super) fn learn(&mut self, id: u64) {
        if id == 0 || hash_number(1, id) > self.below {
            return;
        }
        *self.rows.entry(id).or_default() += 1;
        if self.rows.len() > MOST {
            self.below /= 2;
            self.rows.retain(|id, _| hash_number(1, *id) <= self.below);
        }
    }

    /// The number of items with several rows; an estimate if only a part of the ids is counted.
    pub(super) fn repeated(&self) -> u64 {
        let found = self.rows.values().filter(|rows| **rows > 1).count() as u64;
        // The factor is the inverse of the counted share.
        found * (u64::MAX / self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_are_counted_and_estimated_where_they_are_many() {
        let mut seen = IdCounts::default();
        [0, 0, 7, 8, 7, 7, 9, 9].into_iter().for_each(|id| seen.learn(id));
        assert_eq!(seen.repeated(), 2);
        let mut seen = IdCounts::default();
        (1..=600_000_u64).for_each(|row| seen.learn(1 + row % 400_000));
        assert!(seen.rows.len() <= MOST);
        let off = seen.repeated() as f64 / 200_000.0;
        assert!((off - 1.0).abs() < 0.05, "{off}");
    }
}
