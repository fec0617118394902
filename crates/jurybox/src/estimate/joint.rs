//! Weighted means and co-moments of complete rows, in one pass without cancellation (Welford's
//! update).

use super::{Statistic, are_means, is_count, selected};
use crate::matrix::Symmetric;
use serde::{Deserialize, Serialize};

/// The total weight, the means, and the weighted co-moments around the means, of rows without
/// missing values.
///
/// These are sufficient statistics for a regression of one column on others: see
/// [`spread`](Self::spread).
///
/// ```
/// use jurybox::estimate::Joint;
///
/// let mut joint = Joint::new(2);
/// for row in [[1.0, 3.0], [2.0, 5.0], [4.0, 9.0]] {
///     joint.add(&row, 1.0);
/// }
/// let slope = joint.spread(0, 1) / joint.spread(0, 0); // of y = 2 x + 1
/// assert!((slope - 2.0).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    weight: f64,
    mean: Vec<f64>,
    spread: Symmetric,
    /// A buffer for one row's deviations.
    #[serde(skip)]
    deviation: Vec<f64>,
}

impl Joint {
    /// Moments of no rows.
    pub fn new(columns: usize) -> Self {
        Joint {
            weight: 0.0,
            mean: vec![0.0; columns],
            spread: Symmetric::zeros(columns),
            deviation: Vec::new(),
        }
    }

    /// The total weight, the weighted means, and the centred rows times the root of their weight.
    /// Dot products of the returned columns are co-moments. Reuses the table's memory.
    pub(crate) fn centred(mut table: Vec<f64>, columns: usize, weights: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let (total, mut mean) = (weights.iter().sum::<f64>(), vec![0.0; columns]);
        if total <= 0.0 {
            return (total, mean, Vec::new());
        }
        for (row, weight) in table.chunks_exact(columns).zip(weights) {
            let share = weight / total;
            mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += share * x);
        }
        for (row, weight) in table.chunks_exact_mut(columns).zip(weights) {
            let scale = weight.sqrt();
            row.iter_mut().zip(&mean).for_each(|(x, mean)| *x = scale * (*x - mean));
        }
        (total, mean, table)
    }

    /// Moments that were computed elsewhere.
    pub(crate) fn from_parts(weight: f64, mean: Vec<f64>, spread: Symmetric) -> Self {
        Joint { weight, mean, spread, deviation: Vec::new() }
    }

    /// Adds a row that counts as `weight` rows.
    pub fn add(&mut self, row: &[f64], weight: f64) {
        let total = self.weight + weight;
        if total <= 0.0 {
            return;
        }
        // The co-moment grows by weight * before / total * d d^T, where d is the row minus the old
        // mean and `before` the old weight.
        let share = weight / total;
        let scale = (weight * self.weight / total).sqrt();
        self.deviation.clear();
        for (mean, &x) in self.mean.iter_mut().zip(row) {
            let d = x - *mean;
            *mean += share * d;
            self.deviation.push(scale * d);
        }
        self.weight = total;
        self.spread.add_outer(&self.deviation);
    }

    /// The total weight of the rows.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean of a column.
    pub fn mean(&self, i: usize) -> f64 {
        self.mean[i]
    }

    /// The weighted sum of products of two columns' deviations from their means.
    pub fn spread(&self, i: usize, j: usize) -> f64 {
        self.spread.get(i, j)
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.mean.len()
    }

    /// The moments after `x -> (x - shift) * scale`, column by column.
    pub(crate) fn standardised(&self, shift: &[f64], scale: &[f64]) -> Joint {
        let mut out = Joint::new(self.columns());
        out.weight = self.weight;
        for i in 0..self.columns() {
            out.mean[i] = (self.mean[i] - shift[i]) * scale[i];
            for j in 0..=i {
                out.spread.set(i, j, self.spread.get(i, j) * scale[i] * scale[j]);
            }
        }
        out
    }
}

impl Statistic for Joint {
    fn merge(&mut self, other: &Self) {
        if other.weight == 0.0 {
            return;
        }
        let total = self.weight + other.weight;
        let cross = self.weight * other.weight / total;
        for i in 0..self.columns() {
            let di = other.mean[i] - self.mean[i];
            for j in 0..=i {
                let dj = other.mean[j] - self.mean[j];
                let spread = self.spread.get(i, j) + other.spread.get(i, j) + cross * di * dj;
                self.spread.set(i, j, spread);
            }
        }
        for (mean, theirs) in self.mean.iter_mut().zip(&other.mean) {
            *mean += (theirs - *mean) * other.weight / total;
        }
        self.weight = total;
    }

    /// Empty if a column is new, because no past row has it.
    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        if columns.contains(&None) {
            return Joint::new(columns.len());
        }
        Joint {
            weight: self.weight,
            mean: selected(&self.mean, columns, 0.0),
            spread: self.spread.with_columns(columns),
            deviation: Vec::new(),
        }
    }

    fn is_sound(&self, columns: usize) -> bool {
        is_count(self.weight) && are_means(&self.mean, columns) && self.spread.is_sound(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<[f64; 3]> {
        (0..200).map(f64::from).map(|t| [t.sin() + 1e6, (t * 0.7).cos() * t, t % 5.0]).collect()
    }

    #[test]
    fn halves_merged_are_the_whole_and_agree_with_two_passes() {
        let (mut left, mut right, mut whole) = (Joint::new(3), Joint::new(3), Joint::new(3));
        for (at, row) in rows().iter().enumerate() {
            if at < 60 {
                left.add(row, 1.0);
            } else {
                right.add(row, 1.0);
            }
            whole.add(row, 1.0);
        }
        left.merge(&right);
        for i in 0..3 {
            let mean = |c: usize| rows().iter().map(|r| r[c]).sum::<f64>() / 200.0;
            for j in 0..3 {
                let plain: f64 = rows().iter().map(|r| (r[i] - mean(i)) * (r[j] - mean(j))).sum();
                assert!((whole.spread(i, j) - plain).abs() < 1e-6 * (1.0 + plain.abs()), "{i} {j}");
                assert!((left.spread(i, j) - plain).abs() < 1e-6 * (1.0 + plain.abs()));
            }
        }
    }

    #[test]
    fn a_table_at_once_is_its_rows_one_by_one() {
        let weights: Vec<f64> = (0..200).map(|at| f64::from(at % 4) * 0.5).collect();
        let mut one_by_one = Joint::new(3);
        rows().iter().zip(&weights).for_each(|(row, &weight)| one_by_one.add(row, weight));
        let at_once = |table: Vec<f64>, weights: &[f64]| {
            let (weight, mean, table) = Joint::centred(table, 3, weights);
            let mut spread = Symmetric::zeros(3);
            spread.add_outers(&table);
            Joint::from_parts(weight, mean, spread)
        };
        assert_eq!(at_once(Vec::new(), &[]).weight(), 0.0);
        let at_once = at_once(rows().concat(), &weights);
        assert_eq!(at_once.weight(), one_by_one.weight());
        for i in 0..3 {
            assert!((at_once.mean(i) - one_by_one.mean(i)).abs() < 1e-9 * (1.0 + one_by_one.mean(i).abs()));
            for j in 0..=i {
                let size = (one_by_one.spread(i, i) * one_by_one.spread(j, j)).sqrt();
                assert!((at_once.spread(i, j) - one_by_one.spread(i, j)).abs() < 1e-6 * size);
            }
        }
    }

    #[test]
    fn a_weight_is_a_number_of_copies() {
        let (mut weighted, mut copied) = (Joint::new(3), Joint::new(3));
        for (at, row) in rows().iter().enumerate() {
            weighted.add(row, (at % 4) as f64);
            (0..at % 4).for_each(|_| copied.add(row, 1.0));
        }
        for i in 0..3 {
            assert!((weighted.mean(i) - copied.mean(i)).abs() < 1e-9 * (1.0 + copied.mean(i).abs()));
            assert!((weighted.spread(i, i) - copied.spread(i, i)).abs() < 1e-6 * copied.spread(i, i));
        }
    }

    #[test]
    fn a_change_of_units_commutes_with_adding() {
        let (shift, scale) = ([1e6, 2.0, 0.0], [3.0, 0.5, 2.0]);
        let (mut raw, mut standard) = (Joint::new(3), Joint::new(3));
        for row in rows() {
            raw.add(&row, 1.0);
            standard.add(&std::array::from_fn::<f64, 3, _>(|j| (row[j] - shift[j]) * scale[j]), 1.0);
        }
        let converted = raw.standardised(&shift, &scale);
        for i in 0..3 {
            assert!((converted.mean(i) - standard.mean(i)).abs() < 1e-7 * (1.0 + standard.mean(i).abs()));
            assert!(
                (converted.spread(i, 2) - standard.spread(i, 2)).abs() < 1e-6 * (1.0 + standard.spread(i, i))
            );
        }
    }
}
