//! Ridge regression of the reward on the scores, which `lin-ucb` uses.
//!
//! The statistics are the Gram matrix `sum x x^T` and `sum r x`, for scores x and reward r. An
//! example adds a rank-one matrix, and a fit factors once. This costs less than updating an inverse
//! with every example, and errors do not accumulate. The ridge is added when factoring and never
//! stored, so states merge for any lambda.
//!
//! With missing scores each entry is the available-case estimate. This is the sum over the examples
//! that have both scores, scaled up to the total number of examples.

use super::{MOST_COUNTED, Statistic, add_all, are_sums, selected};
use crate::matrix::{Cholesky, Symmetric};
use serde::{Deserialize, Serialize};

/// The sufficient statistics of a linear regression without intercept.
///
/// ```
/// use jurybox::estimate::Ridge;
///
/// let mut ridge = Ridge::new(1);
/// ridge.learn(&[2.0], 3.0);
/// ridge.learn(&[1.0], 1.0);
/// let expected = (6.0 + 1.0) / (4.0 + 1.0 + 0.5);
/// assert!((ridge.theta(0.5)[0] - expected).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    /// Examples with every score present.
    complete: u64,
    /// Examples with some score missing.
    incomplete: u64,
    gram: Symmetric,
    products: Vec<f64>,
    /// For each pair of evaluators, the number of incomplete examples that both scored. Empty while
    /// there are no incomplete examples.
    pairs: Symmetric,
}

impl Ridge {
    /// Statistics of no examples.
    pub fn new(evaluators: usize) -> Self {
        Ridge {
            complete: 0,
            incomplete: 0,
            gram: Symmetric::zeros(evaluators),
            products: vec![0.0; evaluators],
            pairs: Symmetric::default(),
        }
    }

    /// Adds one item's scores, on the scale of g^-1 for link g (NaN = missing), and its reward.
    pub fn learn(&mut self, scores: &[f64], reward: f64) {
        if scores.iter().all(|x| !x.is_nan()) {
            self.complete += 1;
            self.gram.add_outer(scores);
            for (p, x) in self.products.iter_mut().zip(scores) {
                *p += reward * x;
            }
            return;
        }
        self.incomplete += 1;
        if self.pairs.order() == 0 {
            self.pairs = Symmetric::zeros(scores.len());
        }
        for (i, &x) in scores.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            self.products[i] += reward * x;
            for (j, &y) in scores[..=i].iter().enumerate().filter(|(_, y)| !y.is_nan()) {
                self.gram.set(i, j, self.gram.get(i, j) + x * y);
                self.pairs.set(i, j, self.pairs.get(i, j) + 1.0);
            }
        }
    }

    /// The number of examples.
    pub fn examples(&self) -> u64 {
        self.complete.saturating_add(self.incomplete)
    }

    /// The Gram matrix and `sum r x`. Entries that miss some examples are scaled up to all of them.
    pub(crate) fn system(&self, gram: &mut Symmetric, products: &mut Vec<f64>) {
        gram.copy_from(&self.gram);
        products.clone_from(&self.products);
        if self.incomplete == 0 {
            return;
        }
        let total = self.examples() as f64;
        let scale = |i: usize, j: usize| {
            let seen = self.complete as f64 + self.pairs.get(i, j);
            if seen > 0.0 { total / seen } else { 0.0 }
        };
        for i in 0..products.len() {
            products[i] *= scale(i, i);
            for j in 0..=i {
                gram.set(i, j, gram.get(i, j) * scale(i, j));
            }
        }
    }

    /// The ridge estimate with this lambda.
    ///
    /// If missing scores make the available-case matrix indefinite, the ridge is raised until the
    /// sum is positive definite.
    pub fn theta(&self, lambda: f64) -> Vec<f64> {
        let (mut gram, mut theta) = (Symmetric::default(), Vec::new());
        self.system(&mut gram, &mut theta);
        let mut cholesky = Cholesky::default();
        factor_with_ridge(&mut cholesky, &gram, lambda);
        cholesky.solve(&mut theta);
        theta
    }
}

/// Factors `gram + lambda I`, raising lambda until the sum is positive definite. Returns the lambda
/// used.
pub(crate) fn factor_with_ridge(cholesky: &mut Cholesky, gram: &Symmetric, lambda: f64) -> f64 {
    let mut ridge = lambda;
    while !cholesky.factor(gram, ridge) {
        let largest = (0..gram.order()).map(|i| gram.get(i, i).abs()).fold(0.0, f64::max);
        ridge = (2.0 * ridge).max(1e-12 * largest).max(f64::MIN_POSITIVE);
    }
    ridge
}

impl Statistic for Ridge {
    fn merge(&mut self, other: &Self) {
        self.complete = self.complete.saturating_add(other.complete);
        self.incomplete = self.incomplete.saturating_add(other.incomplete);
        self.gram.add(&other.gram);
        add_all(&mut self.products, &other.products);
        if self.pairs.order() == 0 {
            self.pairs.clone_from(&other.pairs);
        } else {
            self.pairs.add(&other.pairs);
        }
    }

    /// If an evaluator joins, complete examples become incomplete.
    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let mut out = Ridge {
            complete: self.complete,
            incomplete: self.incomplete,
            gram: self.gram.with_columns(columns),
            products: selected(&self.products, columns, 0.0),
            pairs: if self.pairs.order() == 0 {
                Symmetric::zeros(0)
            } else {
                self.pairs.with_columns(columns)
            },
        };
        if columns.contains(&None) && self.examples() > 0 {
            if out.pairs.order() == 0 {
                out.pairs = Symmetric::zeros(columns.len());
            }
            for i in (0..columns.len()).filter(|&i| columns[i].is_some()) {
                for j in (0..=i).filter(|&j| columns[j].is_some()) {
                    out.pairs.set(i, j, out.pairs.get(i, j) + self.complete as f64);
                }
            }
            out.incomplete += out.complete;
            out.complete = 0;
        }
        out
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.complete <= MOST_COUNTED
            && self.incomplete <= MOST_COUNTED
            && self.gram.is_sound(evaluators)
            && are_sums(&self.products, evaluators)
            && (self.pairs.counts(evaluators) || (self.incomplete == 0 && self.pairs.counts(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    fn draws(n: usize, width: usize) -> Vec<(Vec<f64>, f64)> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        (0..n)
            .map(|_| {
                let common = normal();
                let x: Vec<f64> = (0..width).map(|_| common + 0.3 * normal()).collect();
                (x, common + 0.1 * normal())
            })
            .collect()
    }

    #[test]
    fn equals_the_direct_inverse_for_every_lambda() {
        let data = draws(40, 4);
        for lambda in [0.1, 1.0, 10.0] {
            let mut ridge = Ridge::new(4);
            data.iter().for_each(|(x, r)| ridge.learn(x, *r));
            let x = nalgebra::DMatrix::from_fn(40, 4, |i, j| data[i].0[j]);
            let r = nalgebra::DVector::from_fn(40, |i, _| data[i].1);
            let a = x.transpose() * &x + nalgebra::DMatrix::identity(4, 4) * lambda;
            let expected = a.try_inverse().unwrap() * x.transpose() * r;
            for (found, expected) in ridge.theta(lambda).iter().zip(expected.iter()) {
                assert!((found - expected).abs() < 1e-10, "{lambda}: {found} {expected}");
            }
        }
    }

    /// 1,000 examples, learnt 10,000 times over. The exact answer is that of 1,000 examples with
    /// lambda / 10,000.
    #[test]
    fn stays_accurate_over_ten_million_updates() {
        let data = draws(1000, 3);
        let (mut long, mut short) = (Ridge::new(3), Ridge::new(3));
        for _ in 0..10_000 {
            data.iter().for_each(|(x, r)| long.learn(x, *r));
        }
        data.iter().for_each(|(x, r)| short.learn(x, *r));
        assert_eq!(long.examples(), 10_000_000);
        for (a, b) in long.theta(1.0).iter().zip(short.theta(1e-4)) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn missing_scores_leave_the_estimate_near_the_complete_one() {
        let data = draws(20_000, 3);
        let (mut holes, mut full) = (Ridge::new(3), Ridge::new(3));
        for (i, (x, r)) in data.iter().enumerate() {
            full.learn(x, *r);
            let mut x = x.clone();
            x[i % 3] = if i % 2 == 0 { f64::NAN } else { x[i % 3] };
            holes.learn(&x, *r);
        }
        for (a, b) in holes.theta(1.0).iter().zip(full.theta(1.0)) {
            assert!((a - b).abs() < 0.05, "{a} {b}");
        }
    }
}
