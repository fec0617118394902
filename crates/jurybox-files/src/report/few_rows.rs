//! Does all that is known of a weight come from a few rows?
//!
//! Where a rare rule fires in a few rows, the line goes through their mean whatever their rewards are: three that agree by chance would look certain,
//! and leaving out groups of other rows changes nothing.

use jurybox::estimate::Moments;

/// So many groups are few, or one in so many rows where these are fewer,
const FEW: usize = 3;
const ONE_IN: f64 = 10.0;
/// where they tell this share of all.
const MOST: f64 = 0.8;

/// Whether a few of the groups tell most of it, given the moments of all and by what the columns are multiplied.
pub(super) fn rest_on_few(groups: &[Moments], all: &Moments, factors: &[f64]) -> bool {
    let columns: Vec<usize> = (0..factors.len()).filter(|&j| factors[j] != 0.0).collect();
    // The sum of squares around the mean of all.
    let told = |group: &Moments| -> f64 {
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
    let mut told: Vec<f64> = groups.iter().map(told).collect();
    told.sort_unstable_by(|a, b| b.total_cmp(a));
    let rows = columns.iter().map(|&j| all.count(j, j)).fold(0.0, f64::max);
    let few = ((rows / ONE_IN).ceil() as usize).min(FEW);
    told.iter().take(few).sum::<f64>() >= MOST * told.iter().sum::<f64>()
}
