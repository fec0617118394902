//! Rows with the same scores in every column: copies of a row, or scores that are coarse.
//!
//! Whoever has learnt the reward of a copy knows that of the row, so that twins must not be parted between the rows that are
//! learnt from and those that are judged.

use super::gather::RowSample;

/// Scores that more than one in so many rows have are coarse, not copied: their rows are dealt out one by one.
const COARSE: usize = 20;

/// Which sampled rows have the same scores.
pub(super) struct DuplicateScores {
    /// For each row, the first row of its scores; itself where these are coarse.
    first: Vec<usize>,
    /// How many rows have a twin.
    pub(super) rows: usize,
}

impl DuplicateScores {
    pub(super) fn among(sample: &RowSample) -> DuplicateScores {
        // A missing score is a missing score whatever its bits, and minus zero is zero.
        let bits = |x: &f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
        let mut order: Vec<(&[f64], usize)> = sample.rows().zip(0..).collect();
        let key = |row: &[f64]| {
            row.iter()
                .map(bits)
                .fold(0, |hash: u64, x| (hash.rotate_left(5) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        order.sort_by_cached_key(|(row, at)| (key(row), *at));
        let mut duplicate_scores = DuplicateScores { first: (0..order.len()).collect(), rows: 0 };
        let same = |a: &[f64], b: &[f64]| a.iter().map(bits).eq(b.iter().map(bits));
        for alike in order.chunk_by(|a, b| same(a.0, b.0)).filter(|alike| alike.len() > 1) {
            duplicate_scores.rows += alike.len();
            if alike.len() * COARSE <= order.len() {
                alike.iter().for_each(|(_, at)| duplicate_scores.first[*at] = alike[0].1);
            }
        }
        duplicate_scores
    }

    /// Which half a row is in: that of the first of its twins.
    pub(super) fn half(&self, sample: &RowSample, row: usize) -> bool {
        sample.half(self.first[row])
    }
}
