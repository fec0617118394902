//! Moments in two phases: what every label says about straight lines, and what the sample says
//! about bends.

use super::landscape::Landscape;
use super::regression::Rows;
use crate::estimate::{Joint, SampledRow};
use crate::matrix::{Cholesky, Symmetric};

/// Rewards are taken as they are.
pub(super) const UNCUT: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The sampled rows' features, the first so many of them, and rewards, these cut to a range.
pub(super) fn sampled<'a>(
    landscape: &Landscape,
    features: usize,
    labelled: impl Iterator<Item = SampledRow<'a>>,
    (low, high): (f64, f64),
) -> Rows {
    let width = landscape.width();
    let rows = labelled.size_hint().0;
    // What a row is placed in first takes more room than what is kept of it.
    let mut table = Vec::with_capacity((rows + 1) * (features + 1) + 2 * width);
    let mut counts = Vec::with_capacity(rows);
    for row in labelled {
        landscape.add_features(&row.values[..width], features, &mut table);
        counts.push(row.weight);
        table.push(row.values[width].clamp(low, high));
    }
    Rows::new(table, features + 1, counts)
}

/// Moments of the standardised scores and rewards: every complete row, and the incomplete ones of
/// the sample.
pub(super) fn linear<'a>(
    landscape: &Landscape,
    labelled: impl Iterator<Item = SampledRow<'a>>,
    complete: &Joint,
) -> Joint {
    let width = landscape.width();
    let (mut shift, mut scale) = (landscape.centre.clone(), landscape.scale.clone());
    shift.push(0.0);
    scale.push(1.0);
    let mut joint = complete.standardised(&shift, &scale);
    let mut features = Vec::with_capacity(2 * width + 1);
    for row in labelled.filter(|row| row.values[..width].iter().any(|x| x.is_nan())) {
        features.clear();
        landscape.add_features(&row.values[..width], width, &mut features);
        features.push(row.values[width]);
        joint.add(&features, row.weight);
    }
    joint
}

/// Moments of all features as if from every label, given those of the linear ones from every label
/// and those of all from a sample.
///
/// On the sample, the curved features n are split into what is linear in the straight ones z and a
/// rest: n = C z + e with e uncorrelated with z. What is known of z and y then carries over through
/// C with its full precision, and only e, the bend itself, is known as well as the sample knows it,
/// and counts for no more rows than that.
pub(super) fn joined(linear: &Joint, sampled: &Joint) -> Joint {
    let width = linear.columns() - 1;
    let (y, y_sampled) = (width, sampled.columns() - 1);
    let curved = y_sampled - width;
    let mut straight = Symmetric::zeros(width);
    for i in 0..width {
        for j in 0..=i {
            straight.set(i, j, sampled.spread(i, j));
        }
    }
    let mut factor = Cholesky::default();
    if !factor.factor(&straight, 1e-9 * sampled.weight().max(1.0)) {
        return sampled.clone();
    }
    // Row a of C: curved feature a on the straight ones.
    let share: Vec<Vec<f64>> = (0..curved)
        .map(|a| {
            let mut row: Vec<f64> = (0..width).map(|j| sampled.spread(width + a, j)).collect();
            factor.solve(&mut row);
            row
        })
        .collect();
    let through = |row: &[f64], of: &dyn Fn(usize) -> f64| -> f64 {
        row.iter().enumerate().map(|(j, c)| c * of(j)).sum()
    };
    let mut mean: Vec<f64> = (0..=y_sampled).map(|i| if i < width { linear.mean(i) } else { 0.0 }).collect();
    let mut spread = Symmetric::zeros(y_sampled + 1);
    for i in 0..width {
        for j in 0..=i {
            spread.set(i, j, linear.spread(i, j));
        }
        spread.set(y_sampled, i, linear.spread(y, i));
    }
    spread.set(y_sampled, y_sampled, linear.spread(y, y));
    mean[y_sampled] = linear.mean(y);
    for (a, row) in share.iter().enumerate() {
        mean[width + a] = sampled.mean(width + a) + through(row, &|j| linear.mean(j) - sampled.mean(j));
        for i in 0..width {
            spread.set(width + a, i, through(row, &|j| linear.spread(j, i)));
        }
        let bend = sampled.spread(width + a, y_sampled) - through(row, &|j| sampled.spread(j, y_sampled));
        spread.set(y_sampled, width + a, through(row, &|j| linear.spread(j, y)) + bend);
        for (b, other) in share[..=a].iter().enumerate() {
            let line = through(other, &|j| spread.get(width + a, j));
            let rest = sampled.spread(width + a, width + b) - through(row, &|j| sampled.spread(j, width + b));
            spread.set(width + a, width + b, line + if a == b { rest.max(0.0) } else { rest });
        }
    }
    Joint::from_parts(linear.weight(), mean, spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of z, a curved function of z, and a reward.
    fn rows(from: u32, to: u32) -> impl Iterator<Item = [f64; 3]> {
        (from..to).map(|i| {
            let z = f64::from(i * 37 % 101) / 50.0 - 1.0;
            [z, z * z + 0.3 * z, z + 2.0 * z * z + 0.1 * f64::from(i % 5)]
        })
    }

    fn moments(rows: impl Iterator<Item = [f64; 3]>) -> Joint {
        let mut joint = Joint::new(3);
        rows.for_each(|row| joint.add(&row, 1.0));
        joint
    }

    fn straight(rows: impl Iterator<Item = [f64; 3]>) -> Joint {
        let mut joint = Joint::new(2);
        rows.for_each(|row| joint.add(&[row[0], row[2]], 1.0));
        joint
    }

    #[test]
    fn joining_a_sample_with_itself_changes_nothing() {
        let sampled = moments(rows(0, 300));
        let joined = joined(&straight(rows(0, 300)), &sampled);
        for i in 0..3 {
            assert!((joined.mean(i) - sampled.mean(i)).abs() < 1e-9);
            for j in 0..=i {
                let size = (sampled.spread(i, i) * sampled.spread(j, j)).sqrt();
                assert!((joined.spread(i, j) - sampled.spread(i, j)).abs() < 1e-6 * size, "{i} {j}");
            }
        }
    }

    #[test]
    fn a_line_is_known_as_well_as_all_labels_know_it() {
        // Straight moments of all rows carry over as they are, whatever the sample is.
        let all = straight(rows(0, 3000));
        let joined = joined(&all, &moments(rows(0, 100)));
        assert_eq!(joined.weight(), 3000.0);
        assert_eq!(joined.spread(0, 0), all.spread(0, 0));
        assert_eq!(joined.spread(0, 2), all.spread(0, 1));
        assert_eq!(joined.spread(2, 2), all.spread(1, 1));
    }
}
