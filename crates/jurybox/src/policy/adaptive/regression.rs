//! Bayesian linear regression of the reward, with a prior that the evidence chooses.
//!
//! With the reward and the features centred over the examples, and the reward in units of its
//! standard deviation:
//!
//! ```text
//! y = <beta, x> + noise,   noise ~ N(0, s^2),   beta = c d + delta,
//! delta ~ N(0, s^2 tau^2 I),   c ~ N(0, s^2 kappa^2) restricted to c > 0 with prior weight 0.98
//! ```
//!
//! d is one of a few directions that were found without labels. Which direction, how far to stray
//! from it (tau) and how strong the signal is (kappa) are not chosen by hand: every combination on
//! a coarse grid is a model, its marginal likelihood has a closed form (beta, c and s are
//! integrated out), and the answer is the average over all of them. With no labels that average is
//! the mean of the directions; with many it is least squares; between the two it moves as fast as
//! the labels warrant.
//!
//! That c should be positive says "the evaluators as a whole point the right way". It can be
//! unlearnt, by labels that speak against it fifty to one.

mod examples;

pub(crate) use self::examples::{Examples, Rows};
use self::examples::{Form, Gram};
use crate::kernel::dot;
use crate::matrix::{Cholesky, Tridiagonal};
use crate::normal;
use std::ops::Range;

/// How far single weights may stray from the direction, in units of the noise.
const TAUS: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// How strong the signal along the direction may be, in units of the noise.
const KAPPAS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
/// Prior weight of a direction that points the wrong way.
const REVERSED: f64 = 0.02;
/// Prior weight of the first direction, the plain mean; the others share the rest.
const FIRST: f64 = 0.5;
/// The inverse gamma prior of s^2: worth two examples of half the reward's variance.
const SHAPE: f64 = 1.0;
const SCALE: f64 = 0.5;

/// The average over all models: weights of the features, in the units of the reward.
#[derive(Debug, Clone)]
pub(crate) struct Regression {
    /// Log marginal likelihood of the average.
    pub(crate) evidence: f64,
    /// Posterior mean of beta.
    pub(crate) weights: Vec<f64>,
    /// Posterior mean of the noise variance.
    pub(crate) noise: f64,
    gram: Gram,
    directions: Vec<Vec<f64>>,
    models: Vec<Model>,
}

/// One combination of direction and tau, averaged over kappa and c.
#[derive(Debug, Clone, Copy)]
struct Model {
    evidence: f64,
    tau: f64,
    direction: usize,
    c: Strength,
}

/// The reward and the directions, side by side, so that one pass over a matrix serves them all.
const LANES: usize = 10;

impl Regression {
    /// Regresses the reward on several sets of features, each a stretch of columns with directions
    /// over it; a direction too short for its set is zero beyond its end.
    pub(crate) fn fit_each(examples: &Examples, sets: Vec<(Range<usize>, Vec<Vec<f64>>)>) -> Vec<Self> {
        let stretches: Vec<Range<usize>> = sets.iter().map(|(set, _)| set.clone()).collect();
        let grams = examples.grams(&stretches);
        grams.into_iter().zip(sets).map(|(gram, (_, directions))| Self::fit(gram, directions)).collect()
    }

    /// Below, A is X^T X and a is X^T y, or A is X X^T and a is y. In both cases the data enter by
    /// quadratic forms in (A + I / tau^2)^-1, which a tridiagonal A gives for every tau at once.
    fn fit(gram: Gram, mut directions: Vec<Vec<f64>>) -> Self {
        directions.truncate(LANES - 1);
        let shape = SHAPE + 0.5 * (gram.examples - 1.0).max(0.0);
        let (matrix, reward) = gram.matrix();
        let mut columns: Vec<[f64; LANES]> = vec![[0.0; LANES]; reward.len()];
        columns.iter_mut().zip(reward).for_each(|(row, &y)| row[0] = y);
        // y^T X d and d^T X^T X d, lane by lane.
        let (mut along_y, mut along_d) = ([0.0; LANES], [0.0; LANES]);
        for (at, direction) in directions.iter().enumerate() {
            let image = gram.image(direction);
            columns.iter_mut().zip(&image).for_each(|(row, &x)| row[at + 1] = x);
            (along_y[at + 1], along_d[at + 1]) = match gram.form {
                Form::Features { .. } => (dot(direction, reward), dot(direction, &image)),
                Form::Rows { .. } => (dot(reward, &image), dot(&image, &image)),
            };
        }
        let reduced = Tridiagonal::reduce(matrix.clone(), &mut columns);
        let mut models = Vec::with_capacity(TAUS.len() * directions.len());
        for tau in TAUS {
            let precision = 1.0 / (tau * tau);
            let (mut with_y, mut with_self) = ([0.0; LANES], [0.0; LANES]);
            let log_det = reduced.eliminate(precision, &columns, |row, inverse| {
                let y = row[0] * inverse;
                for lane in 0..LANES {
                    with_y[lane] += row[lane] * y;
                    with_self[lane] += row[lane] * (row[lane] * inverse);
                }
            });
            let Some(log_det) = log_det else { continue };
            let log_det = log_det - columns.len() as f64 * precision.ln();
            let explained = |whole: f64, part: f64| match gram.form {
                Form::Features { .. } => whole - part,
                Form::Rows { .. } => precision * part,
            };
            let q_yy = explained(gram.yy, with_y[0]);
            for direction in 0..directions.len() {
                let lane = direction + 1;
                let q_yd = explained(along_y[lane], with_y[lane]);
                let q_dd = explained(along_d[lane], with_self[lane]).max(0.0);
                let c = strength(q_yy, q_yd, q_dd, shape);
                let prior =
                    if direction == 0 { FIRST } else { (1.0 - FIRST) / (directions.len() - 1) as f64 };
                let evidence = c.evidence - 0.5 * log_det + prior.ln();
                if evidence.is_finite() {
                    models.push(Model { evidence, tau, direction, c });
                }
            }
        }
        Self::average(gram, directions, models, &reduced, &columns)
    }

    /// The weights of a model are `(A + I / tau^2)^-1 (a - c A d) + c d`: linear in what is
    /// averaged, one solution per tau.
    fn average(
        gram: Gram,
        directions: Vec<Vec<f64>>,
        mut models: Vec<Model>,
        reduced: &Tridiagonal,
        columns: &[[f64; LANES]],
    ) -> Self {
        let evidence = log_sum(models.iter().map(|model| model.evidence));
        let (mut noise, mut along) = (0.0, vec![0.0; directions.len()]);
        let mut total = vec![0.0; columns.len()];
        let mut solution = Vec::new();
        for of_tau in models.chunk_by(|a, b| a.tau == b.tau) {
            let mut lanes = [0.0; LANES];
            for model in of_tau {
                let share = (model.evidence - evidence).exp();
                noise += share * model.c.noise * gram.unit * gram.unit;
                lanes[0] += share;
                lanes[model.direction + 1] -= share * model.c.mean;
                along[model.direction] += share * model.c.mean;
            }
            solution.clear();
            solution.extend(columns.iter().map(|row| dot(row, &lanes)));
            reduced.solve(1.0 / (of_tau[0].tau * of_tau[0].tau), &mut solution);
            crate::estimate::add_all(&mut total, &solution);
        }
        reduced.back(&mut total);
        let mut weights = gram.weights(total);
        for (direction, along) in directions.iter().zip(along) {
            weights.iter_mut().zip(direction).for_each(|(w, d)| *w += along * d);
        }
        weights.iter_mut().for_each(|w| *w *= gram.unit);
        // Every tau has the same prior weight. Models that are out of the running need not be kept.
        models.retain(|model| model.evidence > evidence - 12.0);
        let none = models.is_empty();
        let evidence = if none { f64::NEG_INFINITY } else { evidence - (TAUS.len() as f64).ln() };
        Regression { evidence, weights, noise, gram, directions, models }
    }

    /// Posterior covariance of beta, row by row: within the models and between them.
    pub(crate) fn covariance(&self) -> Vec<f64> {
        let n = self.gram.features;
        let unit2 = self.gram.unit * self.gram.unit;
        let mut covariance = vec![0.0; n * n];
        let total = log_sum(self.models.iter().map(|model| model.evidence));
        let share = |model: &Model| (model.evidence - total).exp();
        let (matrix, reward) = self.gram.matrix();
        let mut factor = Cholesky::default();
        let (mut inverse, mut prior) = (vec![0.0; reward.len() * reward.len()], 0.0);
        for members in self.models.chunk_by(|a, b| a.tau == b.tau) {
            let tau2 = members[0].tau * members[0].tau;
            if !factor.factor(matrix, 1.0 / tau2) {
                continue;
            }
            let noise = unit2 * members.iter().map(|model| share(model) * model.c.noise).sum::<f64>();
            // (X^T X + I / tau^2)^-1, or tau^2 (I - X^T (X X^T + I / tau^2)^-1 X).
            let size = match self.gram.form {
                Form::Features { .. } => noise,
                Form::Rows { .. } => -noise * tau2,
            };
            prior += noise * tau2;
            add_inverse(&factor, size, &mut inverse);
            let solved = |mut right: Vec<f64>| {
                factor.solve(&mut right);
                self.gram.weights(right)
            };
            let base = solved(reward.to_vec());
            for model in members {
                let direction = &self.directions[model.direction];
                let pulled = solved(self.gram.image(direction));
                let d = |i: usize| direction.get(i).copied().unwrap_or(0.0);
                let along: Vec<f64> = (0..n).map(|i| d(i) - pulled[i]).collect();
                let off: Vec<f64> = (0..n)
                    .map(|i| base[i] + model.c.mean * along[i] - self.weights[i] / self.gram.unit)
                    .collect();
                let (p, q) = (share(model) * unit2 * model.c.variance, share(model) * unit2);
                for (i, row) in covariance.chunks_exact_mut(n).enumerate() {
                    let (a, o) = (p * along[i], q * off[i]);
                    for ((entry, along), off) in row.iter_mut().zip(&along).zip(&off) {
                        *entry += a * along + o * off;
                    }
                }
            }
        }
        match &self.gram.form {
            Form::Features { .. } => crate::estimate::add_all(&mut covariance, &inverse),
            Form::Rows { rows, columns, .. } => {
                // Row by row: `image` is X^T times a row of the inverse, and every example adds x
                // image^T.
                for (row, inverse) in inverse.chunks_exact(reward.len().max(1)).enumerate() {
                    let image = rows.times_transposed(columns.clone(), inverse);
                    for (x, entries) in
                        rows.row(row, columns.clone()).iter().zip(covariance.chunks_exact_mut(n))
                    {
                        entries.iter_mut().zip(&image).for_each(|(entry, i)| *entry += x * i);
                    }
                }
                (0..n).for_each(|i| covariance[i * n + i] += prior);
            }
        }
        covariance
    }
}

/// Adds `size` times the inverse of the factored matrix, row by row.
fn add_inverse(factor: &Cholesky, size: f64, into: &mut [f64]) {
    let order = into.len().isqrt();
    for (i, row) in into.chunks_exact_mut(order.max(1)).enumerate() {
        let mut column = vec![0.0; order];
        column[i] = size;
        factor.solve(&mut column);
        crate::estimate::add_all(row, &column);
    }
}

/// What is known of c after averaging over kappa.
#[derive(Debug, Clone, Copy)]
struct Strength {
    evidence: f64,
    mean: f64,
    variance: f64,
    noise: f64,
}

/// c from the three quadratic forms of y and of the direction that are left when delta is
/// integrated out.
fn strength(q_yy: f64, q_yd: f64, q_dd: f64, shape: f64) -> Strength {
    let mut each = [Strength { evidence: 0.0, mean: 0.0, variance: 0.0, noise: 0.0 }; KAPPAS.len()];
    for (slot, kappa) in each.iter_mut().zip(KAPPAS) {
        let precision = q_dd + 1.0 / (kappa * kappa);
        let centre = q_yd / precision;
        let scale = SCALE + 0.5 * (q_yy - q_yd * centre).max(0.0);
        let noise = scale / shape;
        let deviation = (noise / precision).sqrt();
        // The normal law of c, cut at zero: both sides are weighed by the prior. The larger side is
        // one less the smaller.
        let t = centre / deviation;
        let (tail, edge) = (normal::cdf(-t.abs()), normal::pdf(t));
        let (above, below) = if t > 0.0 { (1.0 - tail, tail) } else { (tail, 1.0 - tail) };
        let kept = 2.0 * ((1.0 - REVERSED) * above + REVERSED * below);
        let first = 2.0 * ((1.0 - REVERSED) * (t * above + edge) + REVERSED * (t * below - edge)) / kept;
        let second = 2.0
            * ((1.0 - REVERSED) * ((t * t + 1.0) * above + t * edge)
                + REVERSED * ((t * t + 1.0) * below - t * edge))
            / kept;
        let evidence = (kept / (kappa * precision.sqrt())).ln() - shape * scale.ln();
        let variance = (second - first * first).max(0.0) * deviation * deviation;
        *slot = Strength { evidence, mean: first * deviation, variance, noise };
    }
    let largest = each.iter().fold(f64::NEG_INFINITY, |most, model| most.max(model.evidence));
    let shares = each.map(|model| (model.evidence - largest).exp());
    let total: f64 = shares.iter().sum();
    let average = |f: &dyn Fn(&Strength) -> f64| {
        each.iter().zip(shares).map(|(model, share)| share * f(model)).sum::<f64>() / total
    };
    let mean = average(&|model| model.mean);
    Strength {
        evidence: largest + total.ln(),
        mean,
        variance: average(&|model| model.variance + (model.mean - mean).powi(2)),
        noise: average(&|model| model.noise),
    }
}

/// ln of the sum of exponentials.
pub(crate) fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_finite() { largest + logs.map(|l| (l - largest).exp()).sum::<f64>().ln() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Joint;
    use crate::matrix::Symmetric;

    fn fit(joint: &Joint, features: usize, directions: &[Vec<f64>]) -> Regression {
        let sets = vec![(0..features, directions.to_vec())];
        Regression::fit_each(&Examples::Moments(joint.clone()), sets).remove(0)
    }

    /// `y = 2 a - b + noise` with the features in different proportions, `rows` of them.
    fn joint(rows: u32, unit: f64) -> Joint {
        let mut joint = Joint::new(3);
        for i in 0..rows {
            let (a, b) = (f64::from(i * 7 % 11) - 5.0, f64::from(i * 5 % 13) - 6.0);
            let noise = f64::from(i * 17 % 19) - 9.0;
            joint.add(&[a, b, unit * (2.0 * a - b + 0.05 * noise)], 1.0);
        }
        joint
    }

    fn directions() -> Vec<Vec<f64>> {
        vec![vec![0.5, 0.5], vec![1.0, 0.0]]
    }

    #[test]
    fn many_labels_are_least_squares() {
        let joint = joint(4000, 1.0);
        let fit = fit(&joint, 2, &directions());
        let mut factor = Cholesky::default();
        let mut gram = Symmetric::zeros(2);
        for (i, j) in [(0, 0), (1, 0), (1, 1)] {
            gram.set(i, j, joint.spread(i, j));
        }
        assert!(factor.factor(&gram, 0.0));
        let mut expected = vec![joint.spread(0, 2), joint.spread(1, 2)];
        factor.solve(&mut expected);
        for (found, expected) in fit.weights.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
        // The residual variance, and a trace of its prior: half the reward's variance, worth two
        // examples. What the priors of the weights take from the fit is a little more noise.
        let explained = expected[0] * joint.spread(0, 2) + expected[1] * joint.spread(1, 2);
        let prior = SCALE * joint.spread(2, 2) / 4000.0;
        let noise = (prior + 0.5 * (joint.spread(2, 2) - explained)) / (SHAPE + 0.5 * 3999.0);
        assert!((1.0..1.01).contains(&(fit.noise / noise)), "{} {noise}", fit.noise);
    }

    #[test]
    fn without_labels_the_answer_is_the_mean_of_the_directions() {
        let fit = fit(&Joint::new(3), 2, &directions());
        // Both have half of the prior and the same law of c.
        assert!(fit.weights[1] > 0.0);
        assert!((fit.weights[0] / fit.weights[1] - 0.75 / 0.25).abs() < 1e-9, "{:?}", fit.weights);
    }

    #[test]
    fn the_unit_of_the_reward_is_the_unit_of_the_weights() {
        let (small, large) = (joint(30, 1.0), joint(30, 1e6));
        let (small, large) = (fit(&small, 2, &directions()), fit(&large, 2, &directions()));
        for (s, l) in small.weights.iter().zip(&large.weights) {
            assert!((l / 1e6 - s).abs() < 1e-9 * s.abs(), "{s} {l}");
        }
        assert!((large.noise / 1e12 / small.noise - 1.0).abs() < 1e-9);
    }

    #[test]
    fn rows_and_features_give_the_same_answer() {
        // Five rows of eight features: the products of the rows are the smaller matrix.
        let table: Vec<f64> = (0..45).map(|i| f64::from(i * i % 23) / 7.0 - 1.0).collect();
        let rows = Rows::new(table, 9, vec![1.0, 2.0, 1.0, 3.0, 1.0]);
        let directions: Vec<Vec<f64>> = vec![vec![0.3; 8], vec![0.5, 0.1, 0.2]];
        let sets =
            || vec![(0..8, directions.clone()), (2..8, directions.clone()), (0..3, directions[1..].to_vec())];
        let by_moments = Regression::fit_each(&Examples::Moments(rows.joint()), sets());
        let by_rows = Regression::fit_each(&Examples::Rows(rows.into()), sets());
        for (a, b) in by_moments.iter().zip(&by_rows) {
            assert!((a.evidence - b.evidence).abs() < 1e-9);
            assert!((a.noise - b.noise).abs() < 1e-9);
            a.weights.iter().zip(&b.weights).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
            let (a, b) = (a.covariance(), b.covariance());
            a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
        }
        assert!(matches!(by_rows[0].gram.form, Form::Rows { .. }));
        assert!(matches!(by_rows[2].gram.form, Form::Features { .. }));
    }

    /// The mean of fifteen fives, each times a fifteenth, is not five to the last bit. What is left
    /// must not pass for the rewards' variance: all weights would be those of rounding, and too
    /// small to tell items apart.
    #[test]
    fn rewards_that_are_all_alike_leave_the_direction_as_it_is() {
        let fitted = |reward: f64, rows: usize| {
            let row = |i: usize| [(i % 7) as f64, (i * i % 5) as f64, reward];
            let rows = Rows::new((0..rows).flat_map(row).collect(), 3, vec![1.0; rows]);
            Regression::fit_each(&Examples::Rows(rows.into()), vec![(0..2, directions())]).remove(0).weights
        };
        for rows in [15, 25, 35] {
            assert_eq!(fitted(5.0, rows), fitted(0.0, rows));
            assert_eq!(fitted(0.1, rows), fitted(0.0, rows));
            assert!(fitted(5.0, rows).iter().any(|weight| *weight > 1e-6));
        }
    }

    #[test]
    fn labels_can_turn_a_direction_round() {
        let mut joint = Joint::new(2);
        (0..200).map(f64::from).for_each(|i| joint.add(&[i % 7.0, -(i % 7.0) + 0.1 * (i % 3.0)], 1.0));
        let fit = fit(&joint, 1, &[vec![1.0]]);
        assert!((fit.weights[0] + 1.0).abs() < 0.05, "{:?}", fit.weights);
    }
}
