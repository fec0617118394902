//! What the labels alone say of each weight, and how far chance may have moved it.
//!
//! The weights that are shown, and picked by, lean on a prior: good guesses, drawn towards nothing
//! while labels are few. An interval around them, as wide as the posterior has it, would hold the
//! truth of the prior's own worlds, and not of the world there is. So intervals are those of plain
//! least squares of the reward on the scores, which lean on nothing:
//!
//! - **What they hold.** The weights that least squares would have with the expected reward of each
//!   labelled item in the place of its one reward: what endless verdicts on items with those scores
//!   would give. That the items were picked by their scores does not matter to that; but where
//!   expected rewards bend with the scores, other items have another line.
//! - **How wide.** As far as chance may have moved them (see [`chance`](super::chance)).
//! - **Where they end.** Nowhere, as long as there are not two more labels than weights, all
//!   rewards are alike, or an evaluator's scores do not vary, follow from those of the others, or
//!   differ from what follows in a few rows alone.

use super::chance::{Chance, ENDLESS, Told};
use super::regression::Rows;
use crate::estimate::Joint;
use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};

/// A variance that is so many times what it would be among evaluators unlike one another is one of
/// copies.
pub(super) const COPIES: f64 = 1e7;
/// Of more labels for each sampled row than this, what rests on a few rows does not rest on a few
/// labels.
const MANY: f64 = 3.0;
/// What is added to the correlations to solve for the weights of copies at all: nothing to anyone
/// else's.
const RIDGE: f64 = 1e-9;

/// Least squares of the reward on the standardised scores.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeastSquares {
    weights: Vec<f64>,
    /// Where the noise is the same everywhere.
    even: Vec<Chance>,
    /// Where it is each label's own.
    uneven: Vec<Chance>,
}

impl LeastSquares {
    /// By the moments of the standardised scores and the reward, and by rows that begin with the
    /// former and end with the latter: all labels, or a sample of them.
    pub(super) fn of(moments: &Joint, rows: &Rows) -> Self {
        let width = moments.columns() - 1;
        // Those that do not vary take no part.
        let varies: Vec<usize> = (0..width).filter(|&j| moments.spread(j, j) > 0.0).collect();
        let (labels, order) = (moments.weight(), varies.len());
        let freedom = labels - order as f64 - 1.0;
        let mut known = LeastSquares {
            weights: vec![0.0; width],
            even: vec![ENDLESS; width],
            uneven: vec![ENDLESS; width],
        };
        // Rounding alone leaves a spread of this size on rewards that are all alike.
        let alike = 1e-24 * labels * moments.mean(width).powi(2);
        if freedom < 1.0 || moments.spread(width, width) <= alike {
            return known;
        }
        let Some(inverse) = inverse(moments, &varies) else { return known };
        let with_reward: Vec<f64> = varies.iter().map(|&j| moments.spread(j, width)).collect();
        let weights: Vec<f64> = inverse.iter().map(|row| dot(row, &with_reward)).collect();
        let noise = (moments.spread(width, width) - dot(&weights, &with_reward)).max(0.0) / freedom;
        let told = told(rows, &varies, &inverse, &weights, labels);
        for (a, &j) in varies.iter().enumerate() {
            known.weights[j] = weights[a];
            // Few rows of a sample may stand for many labels.
            let few = labels < MANY * rows.weight() && told[a].rests_on_few(rows.weight());
            if inverse[a][a] * moments.spread(j, j) < COPIES && !few {
                known.even[j] = Chance { variance: noise * inverse[a][a], freedom };
                known.uneven[j] = told[a].uneven(labels / rows.weight(), freedom);
            }
        }
        known
    }

    /// The ends of what holds the weight of a standardised score at a level.
    pub(super) fn interval(&self, evaluator: usize, level: f64) -> (f64, f64) {
        let reach = self.even[evaluator].reach(level).max(self.uneven[evaluator].reach(level));
        (self.weights[evaluator] - reach, self.weights[evaluator] + reach)
    }
}

/// The inverse of the moments of those columns, in their own units, row by row; none where these do
/// not have one.
pub(super) fn inverse(moments: &Joint, columns: &[usize]) -> Option<Vec<Vec<f64>>> {
    let unit = |j: usize| moments.spread(j, j).sqrt();
    let mut correlation = Symmetric::zeros(columns.len());
    for (a, &i) in columns.iter().enumerate() {
        for (b, &j) in columns[..=a].iter().enumerate() {
            correlation.set(a, b, moments.spread(i, j) / (unit(i) * unit(j)));
        }
    }
    let mut factor = Cholesky::default();
    let row = |a: usize, factor: &Cholesky| {
        let mut row = vec![0.0; columns.len()];
        row[a] = 1.0 / unit(columns[a]);
        factor.solve(&mut row);
        row.iter_mut().zip(columns).for_each(|(x, &j)| *x /= unit(j));
        row
    };
    factor.factor(&correlation, RIDGE).then(|| (0..columns.len()).map(|a| row(a, &factor)).collect())
}

/// What the rows tell of each weight.
fn told(rows: &Rows, varies: &[usize], inverse: &[Vec<f64>], weights: &[f64], labels: f64) -> Vec<Told> {
    let mut told = vec![Told::default(); varies.len()];
    let (mut scores, mut moves) = (vec![0.0; varies.len()], vec![0.0; varies.len()]);
    for (row, count) in rows.each() {
        // Both scores and reward are times the root of the count.
        let root = count.sqrt();
        scores.iter_mut().zip(varies).for_each(|(x, &j)| *x = row[j] / root);
        moves.fill(0.0);
        for (x, inverse) in scores.iter().zip(inverse) {
            moves.iter_mut().zip(inverse).for_each(|(moves, i)| *moves += x * i);
        }
        let left = 1.0 - dot(&scores, &moves) - 1.0 / labels;
        let off = row[row.len() - 1] / root - dot(&scores, weights);
        told.iter_mut().zip(&moves).for_each(|(told, &moves)| told.add(moves, off, left, count));
    }
    told
}
