//! What the labels alone say of each weight, and how far chance may have moved it.
//!
//! The weights that are shown, and picked by, lean on a prior: good guesses, drawn towards nothing while labels are few. An interval around
//! them, as wide as the posterior has it, would hold the truth of the prior's own worlds, and not of the world there is. So intervals are
//! those of plain least squares of the reward on the scores, which lean on nothing:
//!
//! - **What they hold.** The weights that least squares would have with the expected reward of each labelled item in the place of
//!   its one reward: what endless verdicts on items with those scores would give. That the items were picked by their scores does not
//!   matter to that; but where expected rewards bend with the scores, other items have another line.
//! - **How wide.** By noise that is the same everywhere, and by noise that differs from item to item, whichever is wider. The latter is
//!   HC3 of MacKinnon and White (1985), how far each reward is from the line of all others; and where few rewards make up most of it, as the few
//!   yes among many no, it is known no better than from those (Satterthwaite's degrees of freedom).
//! - **Where they end.** Nowhere, as long as there are not two more labels than weights, all rewards are alike, or an evaluator's scores do not
//!   vary or follow from those of the others.

use super::regression::Rows;
use crate::estimate::Joint;
use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};
use crate::toolbox::student_quantile;

/// A variance that is so many times what it would be among evaluators unlike one another is one of copies.
const COPIES: f64 = 1e7;
/// What is added to the correlations to solve for the weights of copies at all: nothing to anyone else's.
const RIDGE: f64 = 1e-9;
/// The least that a reward is thought to move its own line less than entirely.
const LEAST_LEFT: f64 = 1e-6;

/// Least squares of the reward on the standardised scores.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeastSquares {
    weights: Vec<f64>,
    /// Where the noise is the same everywhere.
    even: Vec<Doubt>,
    /// Where it is each label's own.
    uneven: Vec<Doubt>,
}

/// How far a weight may be off.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    variance: f64,
    /// By how many labels that is known.
    freedom: f64,
}

/// The labels do not say.
const ENDLESS: Doubt = Doubt { variance: f64::INFINITY, freedom: 1.0 };

impl LeastSquares {
    /// By the moments of the standardised scores and the reward, and by rows that begin with the former and end with the latter: all labels, or a
    /// sample of them.
    pub(super) fn of(moments: &Joint, rows: &Rows) -> Self {
        let width = moments.columns() - 1;
        // In units of each column's own spread; those that do not vary take no part.
        let unit = |j: usize| moments.spread(j, j).sqrt();
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
        let mut correlation = Symmetric::zeros(order);
        for (a, &i) in varies.iter().enumerate() {
            for (b, &j) in varies[..=a].iter().enumerate() {
                correlation.set(a, b, moments.spread(i, j) / (unit(i) * unit(j)));
            }
        }
        let mut factor = Cholesky::default();
        if !factor.factor(&correlation, RIDGE) {
            return known;
        }
        // The inverse of the moments, in the columns' own units, row by row.
        let inverse: Vec<Vec<f64>> = (0..order)
            .map(|a| {
                let mut row = vec![0.0; order];
                row[a] = 1.0 / unit(varies[a]);
                factor.solve(&mut row);
                row.iter_mut().zip(&varies).for_each(|(x, &j)| *x /= unit(j));
                row
            })
            .collect();
        let with_reward: Vec<f64> = varies.iter().map(|&j| moments.spread(j, width)).collect();
        let weights: Vec<f64> = inverse.iter().map(|row| dot(row, &with_reward)).collect();
        let noise = (moments.spread(width, width) - dot(&weights, &with_reward)).max(0.0) / freedom;
        let uneven = uneven(rows, &varies, &inverse, &weights, labels);
        for (a, &j) in varies.iter().enumerate() {
            known.weights[j] = weights[a];
            if inverse[a][a] * moments.spread(j, j) < COPIES {
                known.even[j] = Doubt { variance: noise * inverse[a][a], freedom };
                known.uneven[j] = Doubt { freedom: uneven[a].freedom.clamp(1.0, freedom), ..uneven[a] };
            }
        }
        known
    }

    /// The ends of what holds the weight of a standardised score at a level.
    pub(super) fn interval(&self, evaluator: usize, level: f64) -> (f64, f64) {
        let reach = |doubt: Doubt| student_quantile(0.5 + 0.5 * level, doubt.freedom) * doubt.variance.sqrt();
        let reach = reach(self.even[evaluator]).max(reach(self.uneven[evaluator]));
        (self.weights[evaluator] - reach, self.weights[evaluator] + reach)
    }
}

/// How far each weight may be off where every reward has a noise of its own: by the squares of what each moves the weights by, as far as it is
/// from the line of all others.
fn uneven(rows: &Rows, varies: &[usize], inverse: &[Vec<f64>], weights: &[f64], labels: f64) -> Vec<Doubt> {
    let mut sums = vec![(0.0, 0.0); varies.len()];
    let (mut scores, mut moved) = (vec![0.0; varies.len()], vec![0.0; varies.len()]);
    for (row, count) in rows.each() {
        // Both scores and reward are times the root of the count.
        let reward = row[row.len() - 1];
        scores.iter_mut().zip(varies).for_each(|(x, &j)| *x = row[j]);
        moved.fill(0.0);
        for (x, inverse) in scores.iter().zip(inverse) {
            moved.iter_mut().zip(inverse).for_each(|(moved, i)| *moved += x * i);
        }
        let left = 1.0 - dot(&scores, &moved) / count - 1.0 / labels;
        let off = (reward - dot(&scores, weights)) / (count * left.max(LEAST_LEFT));
        for ((squares, fourths), moved) in sums.iter_mut().zip(&moved) {
            let square = (moved * off).powi(2);
            *squares += count * square;
            *fourths += count * square * square;
        }
    }
    let share = labels / rows.weight();
    let doubt = |&(squares, fourths): &(f64, f64)| Doubt {
        variance: share * squares,
        // The square of a normal number has a variance of twice its mean squared.
        freedom: share * 2.0 * squares * squares / f64::max(fourths, f64::MIN_POSITIVE),
    };
    sums.iter().map(doubt).collect()
}
