//! Noise levels from labelled examples: the spread of the scores around `g(alpha_j r)`, for link g,
//! gain alpha_j and reward r.
//!
//! Rewards are binned: one bin for the identity link, geometric bins otherwise. Within a bin g is
//! replaced by its tangent at the bin's mean reward. For the identity link this is exact, and
//! `sigma_j^2` is the residual variance of the scores around `alpha_j r`.

use super::rewards::{bin_key, is_usable_bin};
use super::{
    Statistic, add_all, are_sums, are_sums_of_squares, are_whole_counts, is_count, is_sum_of_squares,
    selected,
};
use crate::link::Link;
use serde::{Deserialize, Serialize};

/// Per evaluator and bin: number of examples, and sums of r, r^2, phi and r phi (phi is the score).
type BinSums = [f64; 5];

/// Statistics of labelled examples from which the evaluators' noise levels follow.
///
/// ```
/// use jurybox::{Link, estimate::Noise};
///
/// let mut noise = Noise::new(1, Link::Identity);
/// for (phi, r) in [(1.1, 1.0), (1.9, 2.0), (3.2, 3.0)] {
///     noise.learn(&[phi], r);
/// }
/// let sigma = noise.sigma(0, 1.0).unwrap(); // around phi = 1.0 * r
/// assert!((sigma * sigma - (0.01 + 0.01 + 0.04) / 2.0).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    link: Link,
    /// Per evaluator: the sum of phi^2 (`square`) and the number of scores (`count`).
    square: Vec<f64>,
    count: Vec<u64>,
    bins: Vec<(u16, Vec<BinSums>)>,
}

impl Noise {
    /// Statistics of no examples.
    pub fn new(evaluators: usize, link: Link) -> Self {
        Noise { link, square: vec![0.0; evaluators], count: vec![0; evaluators], bins: Vec::new() }
    }

    /// Adds one item's scores (NaN = missing) and its reward.
    pub fn learn(&mut self, scores: &[f64], reward: f64) {
        let key = if self.link == Link::Identity { 0 } else { bin_key(reward) };
        let evaluators = self.square.len();
        let bin = bin_at(&mut self.bins, key, evaluators);
        for (j, &phi) in scores.iter().enumerate().filter(|(_, phi)| !phi.is_nan()) {
            self.square[j] += phi * phi;
            self.count[j] += 1;
            add_all(&mut bin[j], &[1.0, reward, reward * reward, phi, reward * phi]);
        }
    }

    /// The noise level of evaluator `j` around `g(alpha r)`; none for fewer than two examples.
    pub fn sigma(&self, j: usize, alpha: f64) -> Option<f64> {
        if self.count[j] < 2 {
            return None;
        }
        let mut residual = self.square[j];
        for (_, cells) in &self.bins {
            let [n, r, rr, phi, r_phi] = cells[j];
            if n > 0.0 {
                let mean = r / n;
                let [[g], [slope], ..] = self.link.derivatives([alpha * mean]);
                let slope = slope * alpha;
                // sum (phi - g - slope (r - mean))^2 without the sum of phi^2, with which
                // `residual` starts.
                residual += n * g * g + slope * slope * (rr - n * mean * mean)
                    - 2.0 * (g * phi + slope * (r_phi - mean * phi));
            }
        }
        Some((residual.max(0.0) / (self.count[j] - 1) as f64).sqrt())
    }
}

fn bin_at(bins: &mut Vec<(u16, Vec<BinSums>)>, key: u16, evaluators: usize) -> &mut Vec<BinSums> {
    let at = match bins.binary_search_by_key(&key, |bin| bin.0) {
        Ok(at) => at,
        Err(at) => {
            bins.insert(at, (key, vec![[0.0; 5]; evaluators]));
            at
        }
    };
    &mut bins[at].1
}

impl Statistic for Noise {
    fn merge(&mut self, other: &Self) {
        add_all(&mut self.square, &other.square);
        for (mine, theirs) in self.count.iter_mut().zip(&other.count) {
            *mine = mine.saturating_add(*theirs);
        }
        for (key, cells) in &other.bins {
            for (mine, theirs) in bin_at(&mut self.bins, *key, self.square.len()).iter_mut().zip(cells) {
                add_all(mine, theirs);
            }
        }
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        Noise {
            link: self.link,
            square: selected(&self.square, columns, 0.0),
            count: selected(&self.count, columns, 0),
            bins: self.bins.iter().map(|(key, cells)| (*key, selected(cells, columns, [0.0; 5]))).collect(),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        are_sums_of_squares(&self.square, evaluators)
            && are_whole_counts(&self.count, evaluators)
            && self.bins.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && self.bins.iter().all(|(key, cells)| {
                is_usable_bin(*key)
                    && cells.len() == evaluators
                    && cells.iter().all(|cell| {
                        is_count(cell[0]) && is_sum_of_squares(cell[2]) && are_sums(cell, cell.len())
                    })
            })
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.link == other.link
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn recovers_sigma_under_every_link() {
        for link in Link::ALL {
            for sigma in [0.02, 0.2] {
                let mut rng = ChaCha8Rng::seed_from_u64(4);
                let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
                let mut noise = Noise::new(1, link);
                for _ in 0..20_000 {
                    let r = normal().abs();
                    noise.learn(&[link.apply(1.3 * r) + sigma * normal()], r);
                }
                let found = noise.sigma(0, 1.3).unwrap();
                assert!((found / sigma - 1.0).abs() < 0.03, "{link:?} {sigma} {found}");
            }
        }
    }
}
