//! `lin-ucb`, `glm-lin-ucb`: LinUCB, optimism in a ridge regression of the reward on the scores.
//!
//! **The idea.** `theta` is the ridge estimate of the reward from `x = g^-1(phi)` over all
//! examples, where phi are the scores and g is the link. An item's value is the upper end of its
//! confidence interval, `<theta, x> + beta ||x||`. The norm is that of the inverse of V, the Gram
//! matrix plus lambda I, so items unlike those seen so far are picked too.
//!
//! **Assumes** that the expected reward is linear in x, without intercept. The linear model with
//! normal rewards of mean 0 implies this. A regression of rewards on scores, unlike one of scores
//! on rewards, is not misled by picks that were chosen by their scores.
//!
//! `lin-ucb` is a baseline in "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations". Its
//! beta is that of Abbasi-Yadkori, Pal and Szepesvari (2011): `noise * sqrt(2 ln(1/delta) + ln
//! det(V)/det(lambda I)) + sqrt(lambda) * norm`. **Costs** O(J^2) an example and an item for J
//! evaluators, and O(J^3) a fit.
//!
//! An item with missing scores is predicted by the regression on the scores that it has, in O(J^3).
//! An item without scores comes last.

use super::{Entry, Links, Needs, OptionEntry, OptionKind, Policy, Rank, inverted};
use crate::contributions::Contributions;
use crate::estimate::{Ridge, factor_with_ridge};
use crate::link::Link;
use crate::matrix::{Cholesky, Symmetric};
use crate::options::{Fraction, Positive};
use crate::pick::Example;
use crate::scores::Scores;
use crate::scratch::Scratch;
use serde::{Deserialize, Serialize};

/// `lambda`: the ridge, 1/J for J evaluators by default. `delta`: the probability that an interval
/// misses, 0.05. `noise`: standard deviation of the reward given the scores, 0.1. `norm`: bound on
/// the length of theta, 1. `beta`: the factor of the interval's width, instead of the formula.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    lambda: Option<Positive>,
    delta: Option<Fraction>,
    noise: Option<Positive>,
    norm: Option<Positive>,
    beta: Option<Positive>,
}

const OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "lambda",
        kind: OptionKind::Number,
        default: "none",
        range: "above 0",
        help: "the ridge; one over the number of evaluators when not set",
        without: &[],
    },
    OptionEntry {
        name: "delta",
        kind: OptionKind::Number,
        default: "0.05",
        range: "strictly between 0 and 1",
        help: "the confidence intervals may miss with this probability",
        without: &[],
    },
    OptionEntry {
        name: "noise",
        kind: OptionKind::Number,
        default: "0.1",
        range: "above 0",
        help: "the standard deviation of the reward given the scores",
        without: &[],
    },
    OptionEntry {
        name: "norm",
        kind: OptionKind::Number,
        default: "1",
        range: "above 0",
        help: "a bound on the length of the weights",
        without: &[],
    },
    OptionEntry {
        name: "beta",
        kind: OptionKind::Number,
        default: "none",
        range: "above 0",
        help: "the width of the intervals itself, instead of the formula of delta, noise and norm",
        without: &[],
    },
];

#[derive(Debug, Clone)]
pub(crate) struct LinUcb {
    link: Link,
    lambda: f64,
    options: Options,
    state: Ridge,
    row: Vec<f64>,
}

/// A ridge regression with its confidence ellipsoid.
#[derive(Debug, Clone)]
pub(crate) struct UpperBounds {
    link: Link,
    lambda: f64,
    gram: Symmetric,
    products: Vec<f64>,
    theta: Vec<f64>,
    cholesky: Cholesky,
    /// L^-1 for the Cholesky factor L, packed row by row: the norm of x is the length of L^-1 x.
    whitening: Vec<f64>,
    beta: f64,
}

/// Number of items whose values are computed side by side, for vector instructions.
const LANES: usize = 8;

impl Policy for LinUcb {
    const ENTRIES: &'static [Entry] = &[
        Entry {
            name: "lin-ucb",
            links: Links::Identity,
            needs: Needs::Nothing,
            assumes: "reward linear in the scores, no offset; ridge regression with optimism, learns from every pick",
            paper: "baseline, Abbasi-Yadkori et al. 2011",
            options: OPTIONS,
        },
        Entry {
            name: "glm-lin-ucb",
            links: Links::Glm,
            needs: Needs::Nothing,
            assumes: "reward linear in the inverse link of the scores; otherwise as lin-ucb",
            paper: "GLM-LinUCB",
            options: OPTIONS,
        },
    ];
    type Options = Options;
    type State = Ridge;
    type Rank = UpperBounds;

    fn create(_: &Entry, link: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        Ok(LinUcb {
            link,
            lambda: options.lambda.map_or(1.0 / evaluators as f64, Positive::get),
            options,
            state: Ridge::new(evaluators),
            row: Vec::new(),
        })
    }

    fn state(&self) -> &Ridge {
        &self.state
    }

    fn state_mut(&mut self) -> &mut Ridge {
        &mut self.state
    }

    fn link(&self) -> Link {
        self.link
    }

    fn learn(&mut self, example: &Example<'_>, _: u64) -> bool {
        self.row.clear();
        self.link.inverse_into(example.scores, &mut self.row);
        self.state.learn(&self.row, example.reward);
        true
    }

    fn buffer(&self) -> UpperBounds {
        UpperBounds {
            link: self.link,
            lambda: self.lambda,
            gram: Symmetric::default(),
            products: Vec::new(),
            theta: Vec::new(),
            cholesky: Cholesky::default(),
            whitening: Vec::new(),
            beta: 0.0,
        }
    }

    fn fit(&self, into: &mut UpperBounds) {
        self.state.system(&mut into.gram, &mut into.products);
        let ridge = factor_with_ridge(&mut into.cholesky, &into.gram, self.lambda);
        into.theta.clone_from(&into.products);
        into.cholesky.solve(&mut into.theta);
        into.cholesky.inverse_factor(&mut into.whitening);
        let options = &self.options;
        into.beta = options.beta.map_or_else(
            || {
                let delta = options.delta.map_or(0.05, Fraction::get);
                let noise = options.noise.map_or(0.1, Positive::get);
                let norm = options.norm.map_or(1.0, Positive::get);
                let volume = into.cholesky.log_determinant() - into.theta.len() as f64 * ridge.ln();
                noise * (2.0 * (1.0 / delta).ln() + volume.max(0.0)).sqrt() + ridge.sqrt() * norm
            },
            Positive::get,
        );
    }
}

impl Rank for UpperBounds {
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        let Scratch { inverse, values, numbers, .. } = scratch;
        let x = inverted(self.link, scores, inverse);
        values.clear();
        for block in x.values().chunks(LANES * x.evaluators()) {
            self.block_values(block, values, numbers);
        }
        if !x.is_complete() {
            for (value, row) in values.iter_mut().zip(x.rows()) {
                if value.is_nan() {
                    *value = self.value_of_present(row).0;
                }
            }
        }
    }

    /// The exploration bonus is part of the base, because it belongs to no evaluator alone.
    fn contributions(&self, row: &[f64]) -> Option<Contributions> {
        let mut x = Vec::with_capacity(row.len());
        self.link.inverse_into(row, &mut x);
        let (value, each) = self.value_of_present(&x);
        let sum: f64 = each.iter().sum();
        Some(Contributions { base: value - sum, each })
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.theta)
    }
}

impl UpperBounds {
    /// Appends the values of up to [`LANES`] items; NaN where a score is missing.
    fn block_values(&self, block: &[f64], values: &mut Vec<f64>, columns: &mut Vec<f64>) {
        let width = self.theta.len();
        let items = block.len() / width;
        // The block transposed: column j of all its items is contiguous.
        columns.clear();
        columns.resize(width * LANES, 0.0);
        for (lane, row) in block.chunks_exact(width).enumerate() {
            for (j, &x) in row.iter().enumerate() {
                columns[j * LANES + lane] = x;
            }
        }
        let (mut mean, mut square) = ([0.0; LANES], [0.0; LANES]);
        let (columns, _) = columns.as_chunks::<LANES>();
        let mut rest = &self.whitening[..];
        for (i, &theta) in self.theta.iter().enumerate() {
            let (row, below) = rest.split_at(i + 1);
            rest = below;
            let mut whitened = [0.0; LANES];
            for (&weight, column) in row.iter().zip(columns) {
                for lane in 0..LANES {
                    whitened[lane] += weight * column[lane];
                }
            }
            for lane in 0..LANES {
                square[lane] += whitened[lane] * whitened[lane];
                mean[lane] += theta * columns[i][lane];
            }
        }
        for lane in 0..items {
            values.push(mean[lane] + self.beta * square[lane].sqrt());
        }
    }

    /// The value of an item by the regression on its present scores, and the contributions of these
    /// scores.
    fn value_of_present(&self, row: &[f64]) -> (f64, Vec<f64>) {
        let mut each = vec![0.0; row.len()];
        let present: Vec<usize> = (0..row.len()).filter(|&j| !row[j].is_nan()).collect();
        if present.is_empty() {
            return (f64::NEG_INFINITY, each);
        }
        let mut cholesky = Cholesky::default();
        factor_with_ridge(&mut cholesky, &self.gram.principal(&present), self.lambda);
        let x: Vec<f64> = present.iter().map(|&j| row[j]).collect();
        let mut leverage = x.clone();
        cholesky.solve(&mut leverage);
        let mut theta: Vec<f64> = present.iter().map(|&j| self.products[j]).collect();
        cholesky.solve(&mut theta);
        for (&j, theta) in present.iter().zip(&theta) {
            each[j] = theta * row[j];
        }
        let mean: f64 = leverage.iter().zip(&present).map(|(l, &j)| l * self.products[j]).sum();
        let square: f64 = leverage.iter().zip(&x).map(|(l, x)| l * x).sum();
        (mean + self.beta * square.max(0.0).sqrt(), each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Values agree with the textbook formula with an explicit inverse, for several ridges and
    /// widths.
    #[test]
    fn values_equal_the_direct_inverse() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        for lambda in [0.1, 1.0, 10.0] {
            for width in [1, 3, 10] {
                let options =
                    Options { lambda: Some(Positive::try_from(lambda).unwrap()), ..Options::default() };
                let mut policy = LinUcb::create(&LinUcb::ENTRIES[0], Link::Identity, options, width).unwrap();
                let mut v = nalgebra::DMatrix::<f64>::identity(width, width) * lambda;
                let mut b = nalgebra::DVector::<f64>::zeros(width);
                for _ in 0..30 {
                    let x: Vec<f64> = (0..width).map(|_| normal()).collect();
                    let reward = normal();
                    policy.learn(&Example { scores: &x, reward, receipt: None }, 0);
                    let x = nalgebra::DVector::from_vec(x);
                    v += &x * x.transpose();
                    b += x * reward;
                }
                let mut rank = policy.buffer();
                policy.fit(&mut rank);
                let inverse = v.clone().try_inverse().unwrap();
                let theta = &inverse * b;
                let volume = v.determinant().ln() - width as f64 * lambda.ln();
                let beta = 0.1 * (2.0 * 20_f64.ln() + volume).sqrt() + lambda.sqrt();
                let table: Vec<f64> = (0..width * 19).map(|_| normal()).collect();
                let mut scratch = Scratch::new();
                rank.values(&Scores::new(&table, width).unwrap(), &mut scratch);
                assert_eq!(scratch.values.len(), 19);
                for (row, value) in table.chunks(width).zip(&scratch.values) {
                    let x = nalgebra::DVector::from_row_slice(row);
                    let direct = theta.dot(&x) + beta * (x.transpose() * &inverse * &x)[0].sqrt();
                    assert!((value - direct).abs() < 1e-9, "{lambda} {width}: {value} {direct}");
                    assert!((rank.value_of_present(row).0 - direct).abs() < 1e-9);
                }
            }
        }
    }
}
