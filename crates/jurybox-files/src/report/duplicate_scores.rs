//! Rows with the same scores in every column: repeated rows, or coarse scores.
//!
//! In cross-fitting, such rows must be in the same half. A policy that has learnt the reward of one
//! would know the reward of the other.

use super::gather::RowSample;

/// If more than one row in this many has the same scores, the scores are coarse, and the rows are
/// not repeated. Rows with coarse scores are assigned to halves one by one.
const COARSE: usize = 20;

/// The rows of the sample with the same scores.
pub(super) struct DuplicateRows {
    /// For each row the first row with the same scores, or itself if these scores are coarse.
    first: Vec<usize>,
    /// The number of rows with the same scores as another row.
    pub(super) rows: usize,
}

impl DuplicateRows {
    /// Finds the rows with the same scores.
    pub(super) fn among(sample: &RowSample) -> DuplicateRows {
        // All NaNs are equal, and minus zero equals zero.
        let bits = |x: &f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
        let mut order: Vec<(&[f64], usize)> = sample.rows().zip(0..).collect();
        let key = |row: &[f64]| {
            row.iter()
                .map(bits)
                .fold(0, |hash: u64, x| (hash.rotate_left(5) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        order.sort_by_cached_key(|(row, at)| (key(row), *at));
        let mut duplicate_scores = DuplicateRows { first: (0..order.len()).collect(), rows: 0 };
        let same = |a: &[f64], b: &[f64]| a.iter().map(bits).eq(b.iter().map(bits));
        for alike in order.chunk_by(|a, b| same(a.0, b.0)).filter(|alike| alike.len() > 1) {
            duplicate_scores.rows += alike.len();
            if alike.len() * COARSE <= order.len() {
                alike.iter().for_each(|(_, at)| duplicate_scores.first[*at] = alike[0].1);
            }
        }
        duplicate_scores
    }

    /// The half of a row: the half of the first row with the same scores, unless they are coarse.
    pub(super) fn half(&self, sample: &RowSample, row: usize) -> bool {
        sample.half(self.first[row])
    }
}
