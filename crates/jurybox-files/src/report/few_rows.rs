//! Detection of weights that depend on a few rows.
//!
//! Suppose that a rare rule fires in three rows whose rewards agree by chance. Its weight would
//! look certain, because leaving out groups of other rows does not change it.

use jurybox::estimate::Moments;

/// Number of groups that count as few.
const FEW: usize = 3;
/// With at most 20 rows, fewer groups count as few: one per this many rows, rounded up.
const ONE_IN: f64 = 10.0;
/// Share of the sum of squares from which on a few groups determine a weight.
const MOST: f64 = 0.8;

/// Whether a few groups have most of the sum of squares of the combination of columns with these
/// `factors`. `all` are the moments of all groups.
pub(super) fn depends_on_few_rows(groups: &[Moments], all: &Moments, factors: &[f64]) -> bool {
    let columns: Vec<usize> = (0..factors.len()).filter(|&j| factors[j] != 0.0).collect();
    // The sum of squares of a group around the mean of all.
    let squares = |group: &Moments| -> f64 {
        let pairs =
            columns.iter().enumerate().flat_map(|(at, &i)| columns[..=at].iter().map(move |&j| (i, j)));
        let product = |(i, j): (usize, usize)| {
            let count = group.count(i, j);
            let off = |j: usize| group.mean(j) - all.mean(j);
            let within = group.covariance(i, j).unwrap_or(0.0) * (count - 1.0);
            let both = if i == j { 1.0 } else { 2.0 };
            both * factors[i] * factors[j] * (within + count * off(i) * off(j))
        };
        pairs.filter(|&(i, j)| group.count(i, j) > 0.0).map(product).sum()
    };
    let mut squares: Vec<f64> = groups.iter().map(squares).collect();
    squares.sort_unstable_by(|a, b| b.total_cmp(a));
    let rows = columns.iter().map(|&j| all.count(j, j)).fold(0.0, f64::max);
    let few = ((rows / ONE_IN).ceil() as usize).min(FEW);
    squares.iter().take(few).sum::<f64>() >= MOST * squares.iter().sum::<f64>()
}
