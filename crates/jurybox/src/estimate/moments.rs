//! Means and covariances of unlabelled scores, for every pair of evaluators over the items that
//! both scored (pairwise available cases, Welford's update).

use super::{Statistic, are_means};
use crate::kernel;
use crate::matrix::Symmetric;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// For every pair of evaluators: the number of items that both scored, their means over these
/// items, and the sum of products of deviations (co-moment).
///
/// ```
/// use jurybox::{Scores, estimate::Moments};
///
/// let mut moments = Moments::new(2);
/// moments.observe(&Scores::new(&[1.0, 2.0, 3.0, 6.0, 5.0, f64::NAN], 2)?);
/// assert_eq!(moments.mean(0), 3.0);
/// assert_eq!(moments.covariance(0, 1), Some(4.0)); // over the two items that both scored
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: Symmetric,
    /// `means[i * J + j]`: the mean of evaluator i over the items that i and j both scored.
    means: Vec<f64>,
    /// Sum of products of deviations from `means`.
    spread: Symmetric,
    /// Buffers for one round's deviations and moments.
    #[serde(skip)]
    buffers: Buffers,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Buffers {
    mean: Vec<f64>,
    deviations: Vec<f64>,
    spread: Symmetric,
}

impl Moments {
    /// Moments of no scores.
    pub fn new(evaluators: usize) -> Self {
        Moments {
            count: Symmetric::zeros(evaluators),
            means: vec![0.0; evaluators * evaluators],
            spread: Symmetric::zeros(evaluators),
            buffers: Buffers::default(),
        }
    }

    /// The number of evaluators.
    pub fn evaluators(&self) -> usize {
        self.count.order()
    }

    /// Adds all scores of a round.
    pub fn observe(&mut self, scores: &Scores<'_>) {
        let width = self.evaluators();
        if !scores.is_complete() {
            for row in scores.rows() {
                for (i, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                    for (j, &y) in row[..=i].iter().enumerate().filter(|(_, y)| !y.is_nan()) {
                        self.absorb(i, j, 1.0, x, y, 0.0);
                    }
                }
            }
            return;
        }
        let items = scores.items() as f64;
        if items == 0.0 {
            return;
        }
        // The moments of the round in two passes, then one merge for each pair.
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.mean.clear();
        buffers.mean.resize(width, 0.0);
        kernel::column_sums(scores.values(), &mut buffers.mean);
        buffers.mean.iter_mut().for_each(|m| *m /= items);
        buffers.spread =
            if buffers.spread.order() == width { buffers.spread } else { Symmetric::zeros(width) };
        buffers.spread.clear();
        // Deviations are computed in blocks of rows that stay in the cache.
        for rows in scores.values().chunks(buffers.spread.stretch()) {
            buffers.deviations.clear();
            for row in rows.chunks_exact(width) {
                buffers.deviations.extend(row.iter().zip(&buffers.mean).map(|(x, m)| x - m));
            }
            buffers.spread.add_outers(&buffers.deviations);
        }
        for i in 0..width {
            for j in 0..=i {
                self.absorb(i, j, items, buffers.mean[i], buffers.mean[j], buffers.spread.get(i, j));
            }
        }
        self.buffers = buffers;
    }

    /// Frees the buffers that the next round would reuse, for callers who keep many moments.
    ///
    /// ```
    /// use jurybox::{Scores, estimate::Moments};
    ///
    /// let mut moments = Moments::new(1);
    /// moments.observe(&Scores::new(&[1.0, 3.0], 1)?);
    /// moments.shrink();
    /// assert_eq!(moments.mean(0), 2.0);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn shrink(&mut self) {
        self.buffers = Buffers::default();
    }

    /// Adds `count` items that both evaluators scored, with their means and co-moment.
    fn absorb(&mut self, i: usize, j: usize, count: f64, mean_i: f64, mean_j: f64, spread: f64) {
        if count == 0.0 {
            return;
        }
        let width = self.evaluators();
        let before = self.count.get(i, j);
        let total = before + count;
        let (delta_i, delta_j) = (mean_i - self.means[i * width + j], mean_j - self.means[j * width + i]);
        self.count.set(i, j, total);
        self.spread.set(i, j, self.spread.get(i, j) + spread + delta_i * delta_j * before * count / total);
        self.means[i * width + j] += delta_i * count / total;
        if i != j {
            self.means[j * width + i] += delta_j * count / total;
        }
    }

    /// The number of items that both evaluators scored.
    pub fn count(&self, i: usize, j: usize) -> f64 {
        self.count.get(i, j)
    }

    /// The mean of evaluator `i`.
    pub fn mean(&self, i: usize) -> f64 {
        self.means[i * self.evaluators() + i]
    }

    /// The unbiased covariance of two evaluators (the variance for i = j), if both scored at least
    /// two common items.
    pub fn covariance(&self, i: usize, j: usize) -> Option<f64> {
        let n = self.count.get(i, j);
        (n >= 2.0).then(|| self.spread.get(i, j) / (n - 1.0))
    }

    /// The moments of some of the evaluators, in the given order.
    ///
    /// ```
    /// use jurybox::{Scores, estimate::Moments};
    ///
    /// let mut moments = Moments::new(3);
    /// moments.observe(&Scores::new(&[1.0, 2.0, 9.0, 3.0, 6.0, 7.0], 3)?);
    /// let two = moments.of(&[2, 0]);
    /// assert_eq!((two.evaluators(), two.mean(0)), (2, 8.0));
    /// assert_eq!(two.covariance(0, 1), moments.covariance(2, 0));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    #[must_use]
    pub fn of(&self, evaluators: &[usize]) -> Moments {
        let width = self.evaluators();
        let mut some = Moments::new(evaluators.len());
        for (a, &i) in evaluators.iter().enumerate() {
            for (b, &j) in evaluators.iter().enumerate() {
                some.means[a * evaluators.len() + b] = self.means[i * width + j];
                if b <= a {
                    some.count.set(a, b, self.count.get(i, j));
                    some.spread.set(a, b, self.spread.get(i, j));
                }
            }
        }
        some
    }

    /// The moments after filling missing scores of the evaluators `silent` with 0, over `items`
    /// items. All present scores of such an evaluator must be equal.
    pub(crate) fn with_silence(&self, silent: &[usize], items: f64) -> Moments {
        let (width, mut whole) = (self.evaluators(), self.clone());
        for &j in silent {
            for k in 0..width {
                let (value, both) = (self.mean(j), self.count(j, k));
                let (count, mean_j, mean_k, spread) = if silent.contains(&k) {
                    let [mean_j, mean_k] = [j, k].map(|i| self.mean(i) * self.count(i, i) / items);
                    let by_chance = self.count(j, j) * self.count(k, k) / items;
                    (items, mean_j, mean_k, value * self.mean(k) * (both - by_chance))
                } else {
                    let count = self.count(k, k);
                    let more = self.means[k * width + j] - self.mean(k);
                    (count, value * both / count.max(1.0), self.mean(k), value * both * more)
                };
                whole.count.set(j, k, count);
                whole.spread.set(j, k, spread);
                whole.means[j * width + k] = mean_j;
                whole.means[k * width + j] = mean_k;
            }
        }
        whole
    }
}

impl Statistic for Moments {
    fn merge(&mut self, other: &Self) {
        let width = self.evaluators();
        for i in 0..width {
            for j in 0..=i {
                let (mean_i, mean_j) = (other.means[i * width + j], other.means[j * width + i]);
                self.absorb(i, j, other.count.get(i, j), mean_i, mean_j, other.spread.get(i, j));
            }
        }
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let (old, new) = (self.evaluators(), columns.len());
        let mut out = Moments::new(new);
        out.count = self.count.with_columns(columns);
        out.spread = self.spread.with_columns(columns);
        for (i, from_i) in columns.iter().enumerate() {
            for (j, from_j) in columns.iter().enumerate() {
                if let (Some(from_i), Some(from_j)) = (from_i, from_j) {
                    out.means[i * new + j] = self.means[from_i * old + from_j];
                }
            }
        }
        out
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.count.counts(evaluators)
            && self.spread.is_sound(evaluators)
            && are_means(&self.means, evaluators * evaluators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_as_zero() {
        let value = |i: u32, every: u32, value: f64| if i.is_multiple_of(every) { value } else { f64::NAN };
        let row = |i: u32| {
            [value(i, 3, 2.0), f64::from(i * 7 % 11), value(i + 1, 4, -1.0), value(i, 2, 0.5 * f64::from(i))]
        };
        let table: Vec<f64> = (0..60).flat_map(row).collect();
        let filled: Vec<f64> = (0..60)
            .flat_map(|i| {
                let [a, b, c, d] = row(i);
                [if a.is_nan() { 0.0 } else { a }, b, if c.is_nan() { 0.0 } else { c }, d]
            })
            .collect();
        let (mut moments, mut expected) = (Moments::new(4), Moments::new(4));
        moments.observe(&Scores::new(&table, 4).unwrap());
        expected.observe(&Scores::new(&filled, 4).unwrap());
        let found = moments.with_silence(&[0, 2], 60.0);
        for i in 0..4 {
            for j in 0..4 {
                assert_eq!(found.count(i, j), expected.count(i, j), "{i} {j}");
                assert!((found.means[i * 4 + j] - expected.means[i * 4 + j]).abs() < 1e-12, "{i} {j}");
                let [found, expected] = [&found, &expected].map(|moments| moments.covariance(i, j).unwrap());
                assert!((found - expected).abs() < 1e-12, "{i} {j}: {found} {expected}");
            }
        }
    }

    #[test]
    fn row_by_row_and_round_by_round_agree() {
        let values: Vec<f64> = (0..300).map(|i| f64::from(i).sin() * f64::from(i % 5) + 1e6).collect();
        let (mut whole, mut rows) = (Moments::new(3), Moments::new(3));
        whole.observe(&Scores::new(&values, 3).unwrap());
        for row in values.chunks(3) {
            rows.observe(&Scores::new(row, 3).unwrap());
        }
        for i in 0..3 {
            for j in 0..3 {
                let plain_mean = |c: usize| values.iter().skip(c).step_by(3).sum::<f64>() / 100.0;
                let (mi, mj) = (plain_mean(i), plain_mean(j));
                let plain = values.chunks(3).map(|r| (r[i] - mi) * (r[j] - mj)).sum::<f64>() / 99.0;
                assert!((whole.covariance(i, j).unwrap() - plain).abs() < 1e-6);
                assert!((rows.covariance(i, j).unwrap() - plain).abs() < 1e-6);
            }
        }
    }
}
