//! Rows with the same scores in every column: copies of a row, or coarse scores.
//!
//! If a policy learns from one of two copies and is tested on the other one, the test measures
//! memory.

use super::{ItemIndex, ReviewLog};

/// Which rows have the same scores.
pub(crate) struct DuplicateScores {
    rows: usize,
    /// For each row, the first row with its scores; empty if no two rows have the same scores.
    first: Vec<usize>,
    /// For each row, the number of rows in the group that it begins; empty if `first` is.
    count: Vec<usize>,
}

impl DuplicateScores {
    pub(crate) fn of(log: &ReviewLog) -> DuplicateScores {
        // All NaN are equal, and so are both zeros.
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
        let same =
            |a: usize, b: usize| log.row(a).iter().map(|&x| bits(x)).eq(log.row(b).iter().map(|&x| bits(x)));
        let mixed = |hash: u64, &x: &f64| (hash.rotate_left(5) ^ bits(x)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut order: Vec<(u64, usize)> = Vec::with_capacity(log.rows());
        log.each_row(|scores| order.push((scores.iter().fold(0, mixed), order.len())));
        order.sort_unstable();
        let mut duplicates = DuplicateScores { rows: log.rows(), first: Vec::new(), count: Vec::new() };
        for alike in order.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            // Equal hashes may be a coincidence: compare the scores.
            let mut firsts: Vec<usize> = Vec::new();
            for &(_, row) in alike {
                match firsts.iter().find(|&&first| same(first, row)) {
                    Some(&first) => {
                        if duplicates.first.is_empty() {
                            duplicates.first = (0..log.rows()).collect();
                        }
                        duplicates.first[row] = first;
                    }
                    None => firsts.push(row),
                }
            }
        }
        duplicates.count = vec![0; duplicates.first.len()];
        duplicates.first.iter().for_each(|&first| duplicates.count[first] += 1);
        duplicates
    }

    /// The number of rows whose scores another row has too.
    pub(crate) fn rows(&self) -> usize {
        self.count.iter().filter(|&&count| count > 1).sum()
    }

    /// For each row, a row that stands for its group. Groups are connected components: rows are
    /// joined by items, and by equal scores unless more than `most` rows have these.
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

    /// The first row with a row's scores; or the row itself if more than `most` rows have them.
    /// Scores are then coarse, and to keep these rows together would leave nothing to split.
    pub(crate) fn unit(&self, row: usize, most: usize) -> usize {
        match self.first.get(row) {
            Some(&first) if self.count[first] <= most => first,
            _ => row,
        }
    }
}
