//! Rows with the same scores in every column: copies of a row, or scores that are coarse.
//!
//! Whoever has learnt the reward of a copy knows that of the row. A twin on each side of a split between what is learnt and
//! what is judged is a row that is judged by its own reward.

use super::{ItemIndex, ReviewLog};

/// Which rows have the same scores.
pub(crate) struct DuplicateScores {
    rows: usize,
    /// For each row, the first row of its scores; empty where no row has a twin.
    first: Vec<usize>,
    /// For each first row, how many rows have its scores; empty as well.
    count: Vec<usize>,
}

impl DuplicateScores {
    pub(crate) fn of(log: &ReviewLog) -> DuplicateScores {
        // A missing score is a missing score whatever its bits, and minus zero is zero.
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
        let same =
            |a: usize, b: usize| log.row(a).iter().map(|&x| bits(x)).eq(log.row(b).iter().map(|&x| bits(x)));
        let mixed = |hash: u64, &x: &f64| (hash.rotate_left(5) ^ bits(x)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut order: Vec<(u64, usize)> = Vec::with_capacity(log.rows());
        log.each_row(|scores| order.push((scores.iter().fold(0, mixed), order.len())));
        order.sort_unstable();
        let mut twins = DuplicateScores { rows: log.rows(), first: Vec::new(), count: Vec::new() };
        for alike in order.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            // Rows whose hashes agree by chance are not twins.
            let mut firsts: Vec<usize> = Vec::new();
            for &(_, row) in alike {
                match firsts.iter().find(|&&first| same(first, row)) {
                    Some(&first) => {
                        if twins.first.is_empty() {
                            twins.first = (0..log.rows()).collect();
                        }
                        twins.first[row] = first;
                    }
                    None => firsts.push(row),
                }
            }
        }
        twins.count = vec![0; twins.first.len()];
        twins.first.iter().for_each(|&first| twins.count[first] += 1);
        twins
    }

    /// How many rows have a twin.
    pub(crate) fn rows(&self) -> usize {
        self.count.iter().filter(|&&count| count > 1).sum()
    }

    /// For each row, what must not be parted from it, as the number of its first row: twins, and rows of the same item. An item is
    /// one however many rows it has; rows that belong together by way of others do so too.
    pub(crate) fn units_with_items(&self, items: &ItemIndex, most: usize) -> Vec<usize> {
        fn root(of: &mut [usize], mut row: usize) -> usize {
            while of[row] != row {
                of[row] = of[of[row]];
                row = of[row];
            }
            row
        }
        let mut of: Vec<usize> = (0..self.rows).map(|row| self.unit(row, most)).collect();
        for row in 0..of.len() {
            let (a, b) = (root(&mut of, row), root(&mut of, items.of_row(row)));
            of[a.max(b)] = a.min(b);
        }
        for row in 0..of.len() {
            of[row] = root(&mut of, row);
        }
        of
    }

    /// What must not be parted, as the number of its first row. Scores that more than `most` rows have are coarse, not
    /// copied: a split in which all of them stand on one side would be no split.
    pub(crate) fn unit(&self, row: usize, most: usize) -> usize {
        match self.first.get(row) {
            Some(&first) if self.count[first] <= most => first,
            _ => row,
        }
    }
}
