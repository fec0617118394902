//! The reward distribution of *all* items, estimated from their scores. It is the prior for items
//! with missing scores.
//!
//! Rewards are known for picks only, and picks are good items. With their mean as prior, an item
//! without scores would count as one of the best. Scores are known for all items. In the model
//! `phi_j = alpha_j r + noise_j`, with score phi_j, gain alpha_j, reward r and independent noise,
//! evaluator j has mean `alpha_j E[r]`. Evaluators i and j have covariance `alpha_i alpha_j
//! Var(r)`. Mean and variance of r are weighted least-squares solutions of these equations over
//! evaluators and pairs.
//!
//! Gains learnt from picks are too large. If all are too large by one factor, the estimated rewards
//! are too small by it, which leaves the products unchanged.

use crate::estimate::Moments;
use crate::weights::NormalPrior;

/// The normal distribution of the reward in the units of these gains; flat if the scores do not
/// determine it.
pub(super) fn reward_law(moments: &Moments, alpha: &[f64], sigma: &[f64]) -> NormalPrior {
    // Evaluators without information (zero gain, infinite noise, no scores) have a ratio of zero.
    let ratio = |j: usize| {
        let ratio = alpha[j] / sigma[j];
        if moments.count(j, j) > 0.0 { ratio.clamp(-1e50, 1e50) } else { 0.0 }
    };
    let (mut first, mut first_information) = (0.0, 0.0);
    let (mut second, mut second_information) = (0.0, 0.0);
    for i in (0..alpha.len()).filter(|&i| ratio(i) != 0.0) {
        first += ratio(i) * moments.mean(i) / sigma[i];
        first_information += ratio(i) * ratio(i);
        for j in (0..i).filter(|&j| ratio(j) != 0.0) {
            if let Some(covariance) = moments.covariance(i, j) {
                // Of n items, a covariance has standard error about sigma_i sigma_j / sqrt(n) where
                // noise outweighs signal. Pairs are weighted accordingly.
                let (both, items) = (ratio(i) * ratio(j), moments.count(i, j));
                second += items * both * covariance / (sigma[i] * sigma[j]);
                second_information += items * both * both;
            }
        }
    }
    if second_information <= 0.0 {
        return alone(moments, alpha, sigma, ratio);
    }
    // At least the standard error of the estimate: a variance too small to be seen is not zero.
    let variance = (second / second_information).max((1.0 / second_information).sqrt());
    NormalPrior::normal(first / first_information, variance)
}

/// The estimate from the most informative evaluator alone, if there is no informative pair: the
/// variance of its scores minus its noise.
fn alone(moments: &Moments, alpha: &[f64], sigma: &[f64], ratio: impl Fn(usize) -> f64) -> NormalPrior {
    let most = (0..alpha.len()).max_by(|&a, &b| ratio(a).abs().total_cmp(&ratio(b).abs()));
    let told = most.filter(|&j| ratio(j) != 0.0).and_then(|j| Some((j, moments.covariance(j, j)?)));
    let Some((j, variance)) = told else { return NormalPrior::default() };
    let noise = sigma[j] * sigma[j];
    let error = noise * (2.0 / moments.count(j, j)).sqrt();
    NormalPrior::normal(moments.mean(j) / alpha[j], (variance - noise).max(error) / (alpha[j] * alpha[j]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::Scores;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution as _, StandardNormal};

    const ALPHA: [f64; 4] = [0.8, -1.3, 0.5, 1.1];
    const SIGMA: [f64; 4] = [2.0, 4.0, 1.0, 3.0];

    /// Moments of scores for rewards with mean 3 and variance 4, a third of the scores missing.
    fn seen(items: usize) -> Moments {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut table = Vec::new();
        for _ in 0..items {
            let reward = 3.0 + 2.0 * normal();
            for (alpha, sigma) in ALPHA.iter().zip(SIGMA) {
                let score = alpha * reward + sigma * normal();
                table.push(if normal() > 0.43 { f64::NAN } else { score });
            }
        }
        let mut moments = Moments::new(4);
        moments.observe(&Scores::new(&table, 4).unwrap());
        moments
    }

    #[test]
    fn it_is_the_law_that_the_rewards_were_drawn_from_in_the_units_of_the_gains() {
        let moments = seen(40_000);
        for scale in [1.0, 3.0] {
            let law = reward_law(&moments, &ALPHA.map(|a| scale * a), &SIGMA);
            // About four standard errors of the mean and of the variance.
            assert!((scale * law.mean - 3.0).abs() < 0.06, "{law:?}");
            assert!((scale * scale / law.precision - 4.0).abs() < 0.25, "{law:?}");
        }
        let one = reward_law(&moments.of(&[2]), &ALPHA[2..3], &SIGMA[2..3]);
        assert!((one.mean - 3.0).abs() < 0.08 && (1.0 / one.precision - 4.0).abs() < 0.4, "{one:?}");
    }

    #[test]
    fn where_nothing_is_known_it_is_flat_and_where_little_is_seen_it_is_wide() {
        assert_eq!(reward_law(&Moments::new(4), &ALPHA, &SIGMA), NormalPrior::default());
        assert_eq!(reward_law(&seen(100), &[0.0; 4], &SIGMA), NormalPrior::default());
        assert_eq!(reward_law(&seen(100), &ALPHA, &[f64::INFINITY; 4]), NormalPrior::default());
        // Independent scores of variance 1: the estimated variance is zero within its error, and
        // the prior has the width of that error.
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let table: Vec<f64> = (0..400).map(|_| StandardNormal.sample(&mut rng)).collect();
        let mut moments = Moments::new(4);
        moments.observe(&Scores::new(&table, 4).unwrap());
        let law = reward_law(&moments, &[1.0; 4], &[1.0; 4]);
        assert!((0.04..0.2).contains(&(1.0 / law.precision)), "{law:?}");
    }
}
