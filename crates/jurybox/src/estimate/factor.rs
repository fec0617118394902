//! The one-factor model: noise levels from unlabelled scores alone, by minimum-residual factor
//! analysis (Harman and Jones 1966).
//!
//! If scores are `phi_j = a_j r + noise_j` with independent noise, two evaluators covary only
//! through the reward r: `Cov(phi_i, phi_j) = a_i a_j Var(r)` for i != j. The loadings are `l_j =
//! a_j sd(r)`, where sd is the standard deviation. They are fitted to the correlations of different
//! evaluators, so units do not matter. The rest of each variance is noise: the variance `sigma_j^2`
//! is `Var(phi_j)` minus `l_j^2`.
//!
//! At least three evaluators are needed: two give one covariance for two loadings. The fit is
//! refused if the correlations are zero within chance, or if fewer than three evaluators share a
//! factor. Errors that evaluators share break the assumption of independent noise. The fit then
//! takes them for signal.

use super::Moments;
use crate::matrix::Symmetric;

/// A fitted one-factor model.
///
/// ```
/// use jurybox::{Scores, estimate::{Factor, Moments}};
///
/// let mut moments = Moments::new(3);
/// // Three evaluators that see the same thing, each with its own small error.
/// let table: Vec<f64> = (0..400)
///     .flat_map(|i| {
///         let r = (i % 20) as f64;
///         [r + (i % 3) as f64, 2.0 * r + (i % 7) as f64, r - (i % 11) as f64]
///     })
///     .collect();
/// moments.observe(&Scores::new(&table, 3)?);
/// let factor = Factor::fit(&moments).unwrap();
/// assert!((factor.loadings()[1] / factor.loadings()[0] - 2.0).abs() < 0.1);
/// assert!((factor.sigma()[1] - 2.0).abs() < 0.2); // sd of 0..7 is 2
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    loadings: Vec<f64>,
    sigma: Vec<f64>,
}

/// The reason why noise and signal cannot be separated without labels.
///
/// ```
/// use jurybox::estimate::{Factor, Moments, NotIdentified};
/// assert_eq!(Factor::fit(&Moments::new(2)), Err(NotIdentified::TooFewEvaluators(2)));
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotIdentified {
    /// Fewer than three evaluators: one covariance does not determine two loadings.
    #[error("{0} evaluators are too few to tell noise from signal without labels; three are the least")]
    TooFewEvaluators(usize),
    /// Fewer than three pairs of evaluators with varying scores have at least three items in
    /// common.
    #[error("too few items scored by several evaluators so far")]
    TooFewItems,
    /// The scores do not covary beyond chance, or fewer than three evaluators share a factor.
    #[error("the evaluators' scores do not move together beyond chance: no common signal to be seen yet")]
    NoCommonSignal,
}

/// The smallest share of an evaluator's variance that is noise: a factor never explains a score
/// entirely.
const LEAST_NOISE: f64 = 1e-4;

impl Factor {
    /// Fits the model, or returns why it cannot be identified.
    pub fn fit(moments: &Moments) -> Result<Factor, NotIdentified> {
        let width = moments.evaluators();
        if width < 3 {
            return Err(NotIdentified::TooFewEvaluators(width));
        }
        let variance: Vec<f64> = (0..width).map(|j| moments.covariance(j, j).unwrap_or(0.0)).collect();
        let mut correlation = Symmetric::zeros(width);
        // Sum of squared correlations times counts: for unrelated evaluators each pair adds 1 on
        // average.
        let (mut surprise, mut pairs) = (0.0, 0.0);
        for i in 0..width {
            for j in 0..i {
                let scale = (variance[i] * variance[j]).sqrt();
                let covariance = moments.covariance(i, j).unwrap_or(0.0);
                if scale > 0.0 && moments.count(i, j) >= 3.0 {
                    let c = (covariance / scale).clamp(-1.0, 1.0);
                    correlation.set(i, j, c);
                    surprise += c * c * moments.count(i, j);
                    pairs += 1.0;
                }
            }
        }
        if pairs < 3.0 {
            return Err(NotIdentified::TooFewItems);
        }
        // For unrelated evaluators the sum is about chi-squared with `pairs` degrees of freedom.
        // The threshold is four standard deviations above its mean.
        if surprise < pairs + 4.0 * (2.0_f64 * pairs).sqrt() {
            return Err(NotIdentified::NoCommonSignal);
        }
        let standard = minimum_residual(&correlation);
        if standard.iter().filter(|l| l.abs() > 0.05).count() < 3 {
            return Err(NotIdentified::NoCommonSignal);
        }
        let mut factor = Factor { loadings: Vec::with_capacity(width), sigma: Vec::with_capacity(width) };
        for (j, &l) in standard.iter().enumerate() {
            let noise_share = (1.0 - l * l).max(LEAST_NOISE);
            factor.loadings.push(l.signum() * ((1.0 - noise_share).max(0.0) * variance[j]).sqrt());
            factor.sigma.push((noise_share * variance[j]).sqrt());
        }
        Ok(factor)
    }

    /// The gain of each evaluator times the standard deviation of the reward, up to a common sign.
    pub fn loadings(&self) -> &[f64] {
        &self.loadings
    }

    /// The noise level of each evaluator; zero for an evaluator that never varies.
    pub fn sigma(&self) -> &[f64] {
        &self.sigma
    }
}

/// Loadings l that minimise the sum over i != j of (c_ij - l_i l_j)^2, by coordinate descent, with
/// the sign that makes their sum positive.
///
/// The diagonal is ignored. The correlations c_ij of different pairs may come from different rows.
fn minimum_residual(correlation: &Symmetric) -> Vec<f64> {
    let width = correlation.order();
    let others = |j: usize| (0..width).filter(move |&i| i != j);
    // Start from each evaluator's correlations with the one that is most correlated overall.
    let weight = |j: usize| others(j).map(|i| correlation.get(i, j).powi(2)).sum::<f64>();
    let hub = (0..width).max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap_or(0);
    let mut loading: Vec<f64> = (0..width).map(|j| correlation.get(hub, j)).collect();
    if width > 1 {
        loading[hub] = (weight(hub) / (width - 1) as f64).sqrt().max(0.1);
    }
    for _ in 0..500 {
        let mut moved: f64 = 0.0;
        for j in 0..width {
            let (mut top, mut bottom) = (0.0, 0.0);
            for (i, l) in loading.iter().enumerate().filter(|(i, _)| *i != j) {
                top += correlation.get(i, j) * l;
                bottom += l * l;
            }
            let next = if bottom > 0.0 { (top / bottom).clamp(-1.0, 1.0) } else { 0.0 };
            moved = moved.max((next - loading[j]).abs());
            loading[j] = next;
        }
        if moved < 1e-10 {
            break;
        }
    }
    turn_to_majority(&mut loading);
    loading
}

/// Loadings and noise variances by EM, for any number of evaluators, with the sign that makes the
/// sum of the loadings positive. `least_noise` is the smallest share of a variance that is noise.
///
/// There are two algorithms because each fails in some cases (tested). For two evaluators with
/// correlation 0.5, [`minimum_residual`] finds loadings 1 and 0.5, one of many solutions. EM starts
/// from equal loadings and keeps them equal, with 0.71 each at the end: the even choice without
/// labels. [`Factor`] refuses such cases. It uses [`minimum_residual`] because EM converges slowly:
/// after 100 steps it is still off by more than 0.01 for loadings 0.95, 0.7 and 0.3.
pub(crate) fn one_factor(correlation: &Symmetric, least_noise: f64) -> (Vec<f64>, Vec<f64>) {
    let width = correlation.order();
    let sums: Vec<f64> = (0..width).map(|i| (0..width).map(|j| correlation.get(i, j)).sum()).collect();
    let total = sums.iter().sum::<f64>().max(1e-9).sqrt();
    let mut loading: Vec<f64> = sums.iter().map(|s| (s / total).clamp(-0.98, 0.98)).collect();
    let mut noise: Vec<f64> = loading.iter().map(|l| (1.0 - l * l).max(least_noise)).collect();
    for _ in 0..100 {
        let precision = 1.0 + loading.iter().zip(&noise).map(|(l, n)| l * l / n).sum::<f64>();
        let posterior: Vec<f64> = loading.iter().zip(&noise).map(|(l, n)| l / n / precision).collect();
        let with_factor = correlation.times(&posterior);
        let mut variance = 1.0;
        for j in 0..width {
            variance += posterior[j] * (with_factor[j] - loading[j]);
        }
        let mut moved: f64 = 0.0;
        for j in 0..width {
            let next = (with_factor[j] / variance.max(1e-9)).clamp(-0.9999, 0.9999);
            moved = moved.max((next - loading[j]).abs());
            loading[j] = next;
            noise[j] = (1.0 - next * with_factor[j]).clamp(least_noise, 1.0);
        }
        if moved < 1e-7 {
            break;
        }
    }
    turn_to_majority(&mut loading);
    (loading, noise)
}

/// The sign of the loadings is arbitrary: makes their sum positive.
fn turn_to_majority(loading: &mut [f64]) {
    if loading.iter().sum::<f64>() < 0.0 {
        loading.iter_mut().for_each(|l| *l = -*l);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::Scores;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    fn scores(alpha: &[f64], sigma: &[f64], items: usize, missing_every: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut at = 0;
        (0..items)
            .flat_map(|_| {
                let r = normal().abs();
                alpha.iter().zip(sigma).map(|(a, s)| a * r + s * normal()).collect::<Vec<_>>()
            })
            .map(|x| {
                at += 1;
                if missing_every > 0 && at % missing_every == 0 { f64::NAN } else { x }
            })
            .collect()
    }

    #[test]
    fn recovers_the_noise_of_each_evaluator_without_labels() {
        let (alpha, sigma) = ([1.0, 0.6, 1.4, -0.8], [0.5, 0.2, 1.0, 0.4]);
        for missing_every in [0, 7] {
            let table = scores(&alpha, &sigma, 40_000, missing_every);
            let mut moments = Moments::new(4);
            for round in table.chunks(4 * 50) {
                moments.observe(&Scores::new(round, 4).unwrap());
            }
            let factor = Factor::fit(&moments).unwrap();
            for j in 0..4 {
                assert!((factor.sigma()[j] / sigma[j] - 1.0).abs() < 0.05, "{j}: {}", factor.sigma()[j]);
                // The standard deviation of |N(0, 1)| is 0.6028.
                assert!((factor.loadings()[j] / (0.6028 * alpha[j]) - 1.0).abs() < 0.05);
            }
        }
    }

    #[test]
    fn says_when_it_cannot_know() {
        let fit = |width: usize, table: &[f64]| {
            let mut moments = Moments::new(width);
            moments.observe(&Scores::new(table, width).unwrap());
            Factor::fit(&moments)
        };
        assert_eq!(
            fit(2, &scores(&[1.0, 1.0], &[1.0, 1.0], 500, 0)),
            Err(NotIdentified::TooFewEvaluators(2))
        );
        assert_eq!(fit(3, &[]), Err(NotIdentified::TooFewItems));
        assert_eq!(fit(4, &scores(&[0.0; 4], &[1.0; 4], 2000, 0)), Err(NotIdentified::NoCommonSignal));
        // Only two evaluators share a signal: one covariance for two loadings.
        let pair = scores(&[1.0, 1.0, 0.0], &[0.3, 0.3, 1.0], 5000, 0);
        assert_eq!(fit(3, &pair), Err(NotIdentified::NoCommonSignal));
    }

    #[test]
    fn a_constant_column_has_no_noise_and_no_loading() {
        let mut table = scores(&[1.0, 1.0, 1.0, 0.0], &[0.3, 0.4, 0.5, 1.0], 1000, 0);
        table.iter_mut().skip(3).step_by(4).for_each(|x| *x = 7.0);
        let mut moments = Moments::new(4);
        moments.observe(&Scores::new(&table, 4).unwrap());
        let factor = Factor::fit(&moments).unwrap();
        assert_eq!((factor.loadings()[3], factor.sigma()[3]), (0.0, 0.0));
    }

    #[test]
    fn the_factor_behind_exact_correlations_is_found() {
        for expected in [[0.9, 0.7, 0.5, 0.3]] {
            let mut correlation = Symmetric::zeros(expected.len());
            for i in 0..expected.len() {
                for j in 0..=i {
                    correlation.set(i, j, if i == j { 1.0 } else { expected[i] * expected[j] });
                }
            }
            for (found, expected) in minimum_residual(&correlation).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
            // A hundred steps of EM end within 0.004.
            let (loading, noise) = one_factor(&correlation, LEAST_NOISE);
            for (j, expected) in expected.iter().enumerate() {
                assert!((loading[j] - expected).abs() < 4e-3, "{loading:?}");
                assert!((noise[j] - (1.0 - expected * expected)).abs() < 4e-3, "{noise:?}");
            }
        }
    }

    #[test]
    fn two_that_agree_are_trusted_alike_without_labels() {
        let mut correlation = Symmetric::zeros(2);
        correlation.set(0, 0, 1.0);
        correlation.set(1, 1, 1.0);
        correlation.set(1, 0, 0.5);
        let (loading, noise) = one_factor(&correlation, LEAST_NOISE);
        assert!((loading[0] - loading[1]).abs() < 1e-9 && (noise[0] - noise[1]).abs() < 1e-9);
        assert!(loading[0] > 0.5 && noise[0] > 0.2, "{loading:?} {noise:?}");
    }

    /// Why there are two algorithms. Least squares is exact where the solution is unique. EM treats
    /// evaluators alike where it is not.
    #[test]
    fn least_squares_is_exact_where_there_is_one_answer_and_em_is_even_handed_where_there_is_none() {
        let truth = [0.95, 0.7, 0.3];
        let correlation = Symmetric::of_one_factor(&truth);
        let off = |found: &[f64]| found.iter().zip(truth).map(|(l, t)| (l - t).abs()).fold(0.0, f64::max);
        assert!(off(&minimum_residual(&correlation)) < 1e-9);
        let by_em = off(&one_factor(&correlation, LEAST_NOISE).0);
        assert!((0.01..0.1).contains(&by_em), "{by_em}");
        // Two evaluators with correlation 0.5: all pairs of loadings with product 0.5 fit.
        let pair = Symmetric::of_one_factor(&[1.0, 0.5]);
        assert_eq!(minimum_residual(&pair), [1.0, 0.5]);
        let alike = one_factor(&pair, LEAST_NOISE).0;
        assert!(alike.iter().all(|l| (l - 0.5_f64.sqrt()).abs() < 1e-6), "{alike:?}");
    }
}
