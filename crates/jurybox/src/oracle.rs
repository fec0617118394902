//! The oracle of Lemmas 1 and 2 of "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations",
//! and regret against it.
//!
//! The oracle knows every gain `alpha_j` and every noise level `sigma_j`. It has the
//! inverse-variance weights `w_j = (alpha_j / sigma_j^2) / sum_l (alpha_l / sigma_l)^2`, so that
//! `<w, alpha> = 1` and `<w, x>` is an unbiased estimate of the reward (see
//! [`Weights::oracle`](crate::Weights::oracle)). The scale of w does not change the ranking, but it
//! changes the regret.

use crate::error::Error;
use crate::scores::usable;

/// Errors if the lists are empty or of different length, if a number is NaN or beyond ±1e100, or if
/// a noise level is not positive.
pub(crate) fn check(alpha: &[f64], sigma: &[f64]) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::Policy { policy: "oracle".into(), reason });
    if alpha.is_empty() || alpha.len() != sigma.len() {
        return refuse(format!(
            "{} values of alpha and {} of sigma; pass one of each per evaluator",
            alpha.len(),
            sigma.len()
        ));
    }
    for (j, (&a, &s)) in alpha.iter().zip(sigma).enumerate() {
        if !usable(a) {
            return refuse(format!("alpha[{j}] = {a} is not a number within ±1e100"));
        }
        if !(usable(s) && s > 0.0) {
            return refuse(format!("sigma[{j}] = {s} is not a positive number"));
        }
    }
    Ok(())
}

/// Sum of the `k` largest values.
fn best_sum(values: &[f64], k: usize) -> f64 {
    crate::rank::TopK::sum_of_best(values, k)
}

fn sum_at(values: &[f64], picks: &[usize]) -> f64 {
    picks.iter().map(|&item| values[item]).sum()
}

/// Relative regret of one round (Eq. 6): the summed oracle values of the oracle's picks minus those
/// of the learner's picks. Picks must be distinct; then it is not negative, up to rounding.
///
/// ```
/// let oracle_values = [0.9, 0.1, 0.5, 0.7];
/// assert!((jurybox::relative_regret(&oracle_values, &[0, 1]) - 0.6).abs() < 1e-12);
/// ```
///
/// # Panics
/// If a pick is not an item of the round.
pub fn relative_regret(oracle_values: &[f64], picks: &[usize]) -> f64 {
    best_sum(oracle_values, picks.len()) - sum_at(oracle_values, picks)
}

/// Absolute regret of one round (App. D): the summed rewards of the oracle's picks minus those of
/// the learner's picks. May be negative, because the oracle sees only noisy scores.
///
/// ```
/// let rewards = [3.0, 1.0, 2.0];
/// assert_eq!(jurybox::absolute_regret(&rewards, &[1], &[2]), -1.0);
/// ```
///
/// # Panics
/// If a pick is not an item of the round.
pub fn absolute_regret(rewards: &[f64], oracle_picks: &[usize], picks: &[usize]) -> f64 {
    sum_at(rewards, oracle_picks) - sum_at(rewards, picks)
}

/// Suboptimality gap of one round (Eq. 5): the summed rewards of the true top K minus those of the
/// picks. Picks must be distinct; then it is not negative, up to rounding.
///
/// ```
/// assert_eq!(jurybox::gap(&[3.0, 1.0, 2.0], &[0, 1]), 1.0);
/// ```
///
/// # Panics
/// If a pick is not an item of the round.
pub fn gap(rewards: &[f64], picks: &[usize]) -> f64 {
    best_sum(rewards, picks.len()) - sum_at(rewards, picks)
}

#[cfg(test)]
mod tests {

    use crate::weights::Weights;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn oracle_weights_are_unbiased_and_of_least_variance(
            parts in prop::collection::vec((-2.0..2.0_f64, 0.1..3.0_f64, -1.0..1.0_f64), 2..12),
        ) {
            let (alpha, sigma): (Vec<f64>, Vec<f64>) = parts.iter().map(|p| (p.0 + 0.01, p.1)).unzip();
            let weights = Weights::oracle(&alpha, &sigma).unwrap();
            let w = weights.as_slice();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            prop_assert!((dot(w, &alpha) - 1.0).abs() < 1e-9);
            // Lemma 2 minimises sum (w sigma)^2 under <w, alpha> = 1: other weights under this
            // constraint are no better.
            let noise = |w: &[f64]| w.iter().zip(&sigma).map(|(w, s)| (w * s).powi(2)).sum::<f64>();
            let mut other: Vec<f64> = w.iter().zip(&parts).map(|(w, p)| w + 0.1 * p.2).collect();
            let scale = dot(&other, &alpha);
            prop_assume!(scale.abs() > 1e-3);
            other.iter_mut().for_each(|v| *v /= scale);
            prop_assert!(noise(&other) >= noise(w) * (1.0 - 1e-9));
        }
    }

    #[test]
    fn impossible_evaluators_are_refused() {
        for (alpha, sigma, says) in [
            (vec![1.0], vec![0.0], "sigma[0] = 0"),
            (vec![1.0, 1.0], vec![1.0, -2.0], "sigma[1] = -2"),
            (vec![f64::NAN], vec![1.0], "alpha[0]"),
            (vec![1.0], vec![1.0, 1.0], "1 values of alpha and 2 of sigma"),
            (vec![], vec![], "0 values"),
        ] {
            let message = Weights::oracle(&alpha, &sigma).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
    }
}
