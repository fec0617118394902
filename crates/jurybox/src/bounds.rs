//! The bounds of the paper as numbers: gaps of the oracle (Lemmas 1 and 2), regret of policies
//! (Theorems 1 and 2), and the certificate of Theorem 3.
//!
//! The paper is "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations". Each bound holds
//! with probability at least `1 - delta`. The bounds are loose: their growth is informative, their
//! size is not.
//!
//! **Symbols.** J evaluators have gains alpha and noise levels sigma. The oracle has the
//! inverse-variance weights `w_j = (alpha_j / sigma_j^2) / |alpha/sigma|^2`, so that `<w, alpha> =
//! 1`. `|x|` is the 2-norm, T the number of rounds, K the picks and K_max the items of a round. `g`
//! is the link and `c_g` its smallest slope. `ln` without an argument is the logarithmic term of
//! the same formula.
//!
//! **Differences from the paper.** Constants are those of its appendix, except where a printed
//! formula does not follow from its own proof for these weights:
//!
//! - Norm of the oracle's weights. Printed: `1 / |alpha/sigma|`, which is right for sigma = 1.
//!   Here: `|alpha/sigma^2| / |alpha/sigma|^2`.
//! - Lemma 1, numerator of the second term. Printed: `K sqrt(J)`, which loses a factor 2 of the
//!   proof. Here: `2 K sqrt(J)`.
//! - Lemmas 1 and 2, under the root of the first term. Printed: `K ln(e K_max/delta)`, which is too
//!   small for K = 1. Here: `2 ln(2 e K_max/delta)` for K = 1, as printed for larger K.
//! - Theorem 1, rounds of the warm-up. Printed: `128 max(sigma) ln + lambda |alpha|^2`, without the
//!   slope of the link. Here: `128 (max(sigma) sqrt(ln) + sqrt(lambda) |alpha|)^2 / c_g^2`, from
//!   the condition `beta_t <= min |alpha_j| / 8` on the error beta_t of alpha.
//! - Theorems 1 and 2, cost of a round of the warm-up. Printed: 1 and `2 / |alpha/sigma|`. Here, in
//!   both: `2 |w| Phi`.
//! - Theorem 1, error of alpha. Printed: `max(sigma) (sqrt(ln) + sqrt(lambda) |alpha|)`. Here:
//!   sigma multiplies the first term only, as in the lemma that is used.
//! - Theorem 1, S (sensitivity of the weights to errors in alpha). Printed: the 2-norms of
//!   alpha/sigma^2 and of 1/sigma^2 in the first factor. Here: their 1-norms, because only the
//!   largest error of an entry is bounded (Hoelder's inequality).
//! - Theorem 2, first term of L. Printed: `C sqrt(2 ln)`. Here: `|alpha| C sqrt(2 ln)`, as in the
//!   last line of the proof.
//! - Phi. Printed: a bound on summed scores. Here: a bound on summed `g^-1` of scores, with noise
//!   divided by c_g, because regret is counted on that scale. Both agree for the identity link.
//!
//! For sigma = 1 and the identity link, the norm of the weights and the cost of exploring are as
//! printed. For one evaluator the cost of estimating is too.

mod certificate;

pub use certificate::Certificate;

use std::f64::consts::E;

/// The parameters of a problem that the theorems need.
///
/// ```
/// use jurybox::bounds::Problem;
///
/// let problem = Problem {
///     alpha: vec![1.0; 10],
///     sigma: vec![1.0; 10],
///     k: 10,
///     items: 60,
///     delta: 0.05,
///     mean_reward: 0.8,
///     mean_square_reward: 1.0,
///     max_reward: 20.0,
///     max_score: 20.0,
///     min_slope: 1.0,
/// };
/// // With more evaluators the gap shrinks: to zero in the linear case (Lemma 2), to a plateau in
/// // general (Lemma 1).
/// let wider = Problem { alpha: vec![1.0; 1000], sigma: vec![1.0; 1000], ..problem.clone() };
/// assert!(wider.gap_linear() < problem.gap_linear() / 9.0);
/// assert!(wider.gap_glm() > 10.0);
/// assert!(problem.regret_esag(40_000) < 3.0 * problem.regret_esag(10_000));
/// assert!(problem.regret_eps_greedy(80_000, 80_000_f64.powf(-1.0 / 3.0), 0.1) > 0.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Gains of the evaluators.
    pub alpha: Vec<f64>,
    /// Noise levels of the evaluators (standard deviations).
    pub sigma: Vec<f64>,
    /// Picks per round.
    pub k: usize,
    /// Items per round, K_max.
    pub items: usize,
    /// The largest probability with which a bound may fail.
    pub delta: f64,
    /// The mean reward, `E[r]`.
    pub mean_reward: f64,
    /// The mean squared reward, `E[r^2]`.
    pub mean_square_reward: f64,
    /// C: rewards lie in [0, C].
    pub max_reward: f64,
    /// A bound on |alpha_j r|, the noiseless scores on the scale of g^-1. It is used as given, not
    /// checked against the other fields.
    pub max_score: f64,
    /// c_g: the smallest slope of the link g; 1 for the identity.
    pub min_slope: f64,
}

impl Problem {
    /// |alpha / sigma|, the signal-to-noise ratio of the whole jury.
    fn signal(&self) -> f64 {
        norm(self.pairs().map(|(a, s)| a / s))
    }

    /// The 2-norm of the oracle's weights.
    ///
    /// ```
    /// # use jurybox::bounds::Problem;
    /// let problem = Problem {
    ///     alpha: vec![1.0, 1.0], sigma: vec![1.0, 2.0], k: 1, items: 2, delta: 0.1,
    ///     mean_reward: 1.0,
    ///     mean_square_reward: 1.0, max_reward: 1.0, max_score: 1.0, min_slope: 1.0,
    /// };
    /// // w = (1, 1/4) / (1 + 1/4) = (4/5, 1/5)
    /// assert!((problem.weight_norm() - 17_f64.sqrt() / 5.0).abs() < 1e-12);
    /// ```
    pub fn weight_norm(&self) -> f64 {
        norm(self.pairs().map(|(a, s)| a / (s * s))) / self.signal().powi(2)
    }

    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.alpha.iter().copied().zip(self.sigma.iter().copied())
    }

    fn max_sigma(&self) -> f64 {
        self.sigma.iter().copied().fold(0.0, f64::max)
    }

    fn alpha_norm(&self) -> f64 {
        norm(self.alpha.iter().copied())
    }

    fn min_alpha_square(&self) -> f64 {
        self.alpha.iter().filter(|a| **a != 0.0).map(|a| a * a).fold(f64::INFINITY, f64::min)
    }

    /// Lemma 2: bound on the oracle's suboptimality gap in the linear case. The oracle's weights
    /// have |w sigma| = 1 / |alpha/sigma|.
    pub fn gap_linear(&self) -> f64 {
        let (k, odds) = (self.k as f64, self.items as f64 * E / self.delta);
        // The union bound over all sets of K items gives 2 ln(2 odds / K). The paper's K ln(odds)
        // is at least as large from K = 2 on.
        let tail = (k * odds.ln()).max(2.0 * (2.0 * odds / k).ln());
        2.0 * k * tail.sqrt() / self.signal()
    }

    /// Lemma 1: bound on the oracle's suboptimality gap in the generalised linear case. With more
    /// evaluators of the same quality its second term stays constant.
    pub fn gap_glm(&self) -> f64 {
        let extra = 2.0 * self.k as f64 * (self.alpha.len() as f64).sqrt() / self.signal();
        (self.gap_linear() + extra) / self.min_slope
    }

    /// Phi: bound on the norm of the summed scores of any K items on the scale of g^-1, over
    /// `rounds` rounds.
    fn phi(&self, rounds: f64) -> f64 {
        let (k, j) = (self.k as f64, self.alpha.len() as f64);
        let tail = (2.0 * E * self.items as f64 * rounds / (k * self.delta)).ln();
        2.0 * k * self.max_sigma() / self.min_slope * (2.0 * j.sqrt() + (k * tail).sqrt())
            + 2.0 * k * j * self.max_score
    }

    /// S: the sensitivity of the weights to an error in alpha. `weighted` is a norm of alpha /
    /// sigma^2 and `inverse` one of 1 / sigma^2. Both are 1-norms if the error of each entry is
    /// bounded, and 2-norms if the length of the error is.
    fn sensitivity(&self, weighted: f64, inverse: f64) -> f64 {
        let fourth = norm(self.sigma.iter().map(|s| s.powi(-2)));
        (weighted + inverse) * self.weight_norm() / self.signal().powi(2) + fourth / self.signal().powi(2)
    }

    /// Theorem 1: bound on the regret of `eps-greedy` over `rounds` rounds, for exploration with
    /// probability `eps` and ridge `lambda`.
    pub fn regret_eps_greedy(&self, rounds: u64, eps: f64, lambda: f64) -> f64 {
        let t = rounds as f64;
        self.exploring(t, eps) + self.warm_up(t, eps, lambda) + self.estimating(t, eps, lambda)
    }

    /// Bound on the cost of exploring: 4 |w| Phi times a bound on the number of exploring rounds,
    /// which is larger than the mean eps T.
    fn exploring(&self, t: f64, eps: f64) -> f64 {
        4.0 * self.phi(t) * self.weight_norm() * ((2.0 * t * (4.0 * t / self.delta).ln()).sqrt() + eps * t)
    }

    /// The numerator of the error of alpha after `t` rounds. Its denominator is c_g times the root
    /// of the summed squared rewards of the explored picks.
    fn error(&self, t: f64, lambda: f64) -> f64 {
        let logs = (1.0 + 2.0 * t / lambda).ln() + (8.0 * t * self.alpha.len() as f64 / self.delta).ln();
        self.max_sigma() * logs.sqrt() + lambda.sqrt() * self.alpha_norm()
    }

    /// The cost of the warm-up, at 2 |w| Phi a round. It lasts until two conditions hold. The error
    /// of alpha is at most an eighth of the smallest non-zero gain and at most 1 (`precise`). The
    /// summed squared rewards of explored picks are near their mean (`settled`).
    fn warm_up(&self, t: f64, eps: f64, lambda: f64) -> f64 {
        let explored = eps * self.k as f64 * self.mean_square_reward;
        let precise = 2.0
            * (64.0 / self.min_alpha_square()).max(1.0)
            * (self.error(t, lambda) / self.min_slope).powi(2)
            / explored;
        let settled = 8.0 * (8.0 * t / self.delta).ln() * self.max_reward.powi(4) / explored.powi(2);
        2.0 * self.weight_norm() * self.phi(t) * precise.max(settled)
    }

    fn estimating(&self, t: f64, eps: f64, lambda: f64) -> f64 {
        let explored = eps * self.k as f64 * self.mean_square_reward;
        let weighted = self.pairs().map(|(a, s)| a.abs() / (s * s)).sum();
        let inverse = self.sigma.iter().map(|s| s.powi(-2)).sum();
        24.0 * self.phi(t) * (2.0 * t).sqrt() * self.error(t, lambda) / (self.min_slope * explored.sqrt())
            * self.sensitivity(weighted, inverse)
    }

    /// Theorem 2: bound on the regret of `esag` over `rounds` rounds with a constant number of
    /// items.
    pub fn regret_esag(&self, rounds: u64) -> f64 {
        let (t, k, j) = (rounds as f64, self.k as f64, self.alpha.len() as f64);
        let l = self.alpha_norm() * self.max_reward * (2.0 * (16.0 * j * t / self.delta).ln()).sqrt()
            + 8.0 * self.max_sigma() * j.sqrt()
            + 4.0 * self.max_sigma() * (8.0 * t * j / self.delta).ln().sqrt();
        let mean = self.mean_reward;
        let warm_up = 2.0
            * self.weight_norm()
            * self.phi(t)
            * (1.0 + 2.0 * l * l / k * (64.0 / (mean * mean * self.min_alpha_square())).max(1.0));
        let weighted = norm(self.pairs().map(|(a, s)| a / (s * s)));
        let inverse = norm(self.sigma.iter().map(|s| s.powi(-2)));
        let estimating = 16.0 * l * self.sensitivity(weighted, inverse) * self.phi(t) / mean
            * (1.0 / mean).max(1.0)
            * (t * t.ln().max(0.0) / self.items as f64).sqrt();
        warm_up + estimating
    }
}

fn norm(entries: impl Iterator<Item = f64>) -> f64 {
    entries.map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// A problem with simple numbers, so that tests can compute every term by hand.
    fn problem(alpha: &[f64], sigma: &[f64]) -> Problem {
        Problem {
            alpha: alpha.to_vec(),
            sigma: sigma.to_vec(),
            k: 10,
            items: 60,
            delta: 0.05,
            mean_reward: 0.8,
            mean_square_reward: 1.0,
            max_reward: 20.0,
            max_score: 20.0,
            min_slope: 1.0,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} instead of {expected}");
    }

    #[test]
    fn the_norm_of_the_weights_is_that_of_the_oracle() {
        for (alpha, sigma) in [
            (vec![1.0, 2.0], vec![1.0, 1.0]),
            (vec![0.5, 1.5, 1.0], vec![3.0, 0.2, 7.0]),
            (vec![2.0], vec![4.0]),
        ] {
            let weights = crate::Weights::oracle(&alpha, &sigma).unwrap().as_slice().to_vec();
            near(problem(&alpha, &sigma).weight_norm(), norm(weights.iter().copied()));
        }
        // Equal sigmas give weights without sigma, so the printed 1 / |alpha/sigma| is off by the
        // factor sigma.
        near(problem(&[3.0, 4.0], &[1.0, 1.0]).weight_norm(), 1.0 / 5.0);
        near(problem(&[3.0, 4.0], &[10.0, 10.0]).weight_norm(), 1.0 / 5.0);
        near(1.0 / problem(&[3.0, 4.0], &[10.0, 10.0]).signal(), 10.0 / 5.0);
        near(problem(&[3.0, 4.0], &[1.0, 2.0]).weight_norm(), 10_f64.sqrt() / 13.0);
    }

    #[test]
    fn gaps_by_hand() {
        let equal = problem(&[1.0; 4], &[0.5; 4]); // |alpha/sigma| = 4
        let tail = (10.0 * (60.0 * E / 0.05).ln()).sqrt();
        near(equal.gap_linear(), 20.0 * tail / 4.0);
        near(equal.gap_glm(), (20.0 * tail + 20.0 * 2.0) / 4.0);
        near(Problem { min_slope: 0.25, ..equal.clone() }.gap_glm(), 20.0 * tail + 40.0);
        let unequal = problem(&[3.0, 4.0], &[1.0, 2.0]); // |alpha/sigma|^2 = 9 + 4
        near(unequal.gap_glm(), (20.0 * tail + 20.0 * 2_f64.sqrt()) / 13_f64.sqrt());
        // For a single pick the proof gives 2 ln(2 e n / delta) for n items, more than is printed.
        near(Problem { k: 1, ..equal }.gap_linear(), 2.0 * (2.0 * (120.0 * E / 0.05).ln()).sqrt() / 4.0);
    }

    /// Lemma 2 in 20,000 simulated rounds: the gap exceeds the bound in at most a share delta = 1 /
    /// 20 of them.
    #[test]
    fn the_oracles_gap_rarely_exceeds_lemma_2_also_for_unequal_sigmas() {
        let (alpha, sigma) = ([1.0, 0.5, 1.5], [2.0, 0.3, 5.0]);
        let small = Problem { k: 1, items: 5, ..problem(&alpha, &sigma) };
        let weights = crate::Weights::oracle(&alpha, &sigma).unwrap().as_slice().to_vec();
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut above = 0;
        for _ in 0..20_000 {
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let rewards: Vec<f64> = (0..5).map(|_| normal().abs()).collect();
            let estimate =
                |r: &f64| (0..3).map(|j| weights[j] * (alpha[j] * r + sigma[j] * normal())).sum::<f64>();
            let estimates: Vec<f64> = rewards.iter().map(estimate).collect();
            let picked = (0..5).max_by(|&a, &b| estimates[a].total_cmp(&estimates[b])).unwrap();
            let gap = rewards.iter().copied().fold(0.0, f64::max) - rewards[picked];
            above += u32::from(gap > small.gap_linear());
        }
        assert!(above <= 20_000 / 20, "{above}");
    }

    /// The three terms that the appendix prints for Theorem 1, for the identity link.
    fn printed(p: &Problem, t: f64, eps: f64, lambda: f64) -> [f64; 3] {
        let (k, j) = (p.k as f64, p.alpha.len() as f64);
        let logs = (1.0 + 2.0 * t / lambda).ln() + (8.0 * t * j / p.delta).ln();
        let weighted = norm(p.pairs().map(|(a, s)| a / (s * s)));
        let fourth = norm(p.sigma.iter().map(|s| s.powi(-2)));
        let s = (weighted + fourth) * weighted / p.signal().powi(4) + fourth / p.signal().powi(2);
        let explored = eps * k * p.mean_square_reward;
        [
            4.0 * p.phi(t) / p.signal() * ((2.0 * t * (4.0 * t / p.delta).ln()).sqrt() + eps * t),
            ((128.0 * p.max_sigma() * logs + lambda * p.alpha_norm().powi(2))
                / (p.min_alpha_square() * explored))
                .max(8.0 * (8.0 * t / p.delta).ln() * p.max_reward.powi(4) / explored.powi(2)),
            24.0 * p.phi(t) * (2.0 * t).sqrt() * p.max_sigma() / explored.sqrt()
                * (logs.sqrt() + lambda.sqrt() * p.alpha_norm())
                * s,
        ]
    }

    #[test]
    fn at_sigma_one_the_printed_terms_come_back() {
        let (t, eps, lambda) = (1e4, 0.05, 0.1);
        let many = problem(&[0.5, 1.0, 1.5], &[1.0; 3]);
        near(many.exploring(t, eps), printed(&many, t, eps, lambda)[0]);
        let one = problem(&[1.5], &[1.0]);
        near(one.estimating(t, eps, lambda), printed(&one, t, eps, lambda)[2]);
        // Here `settled` decides; each round of the warm-up costs 2 |w| Phi.
        let price = 2.0 * one.weight_norm() * one.phi(t);
        near(one.warm_up(t, eps, lambda), printed(&one, t, eps, lambda)[1] * price);
    }

    #[test]
    fn away_from_sigma_one_the_terms_are_those_of_the_oracles_weights() {
        let (t, eps, lambda) = (1e4, 0.05, 0.1);
        // With equal noise the weights do not depend on sigma, and the printed norm is too large by
        // the factor sigma.
        let equal = problem(&[0.5, 1.0, 1.5], &[4.0; 3]);
        near(equal.exploring(t, eps), printed(&equal, t, eps, lambda)[0] / 4.0);
        // By hand for (3, 4) and (1, 2): w = (3, 1) / 13, |w| = sqrt(10) / 13.
        let unequal = problem(&[3.0, 4.0], &[1.0, 2.0]);
        let rounds = (2.0 * t * (4.0 * t / 0.05).ln()).sqrt() + eps * t;
        near(unequal.exploring(t, eps), 4.0 * unequal.phi(t) * 10_f64.sqrt() / 13.0 * rounds);
        // S in 1-norms: (3/1 + 4/4) and (1/1 + 1/4).
        let s = (4.0 + 1.25) * 10_f64.sqrt() / 169.0 + 17_f64.sqrt() / 4.0 / 13.0;
        let logs = (1.0 + 2.0 * t / lambda).ln() + (16.0 * t / 0.05).ln();
        let error = 2.0 * logs.sqrt() + 5.0 * lambda.sqrt();
        near(
            unequal.estimating(t, eps, lambda),
            24.0 * unequal.phi(t) * (2.0 * t / (eps * 10.0)).sqrt() * error * s,
        );
        // With small rewards `precise` decides; it grows with the squared noise.
        let calm = Problem { max_reward: 0.1, ..problem(&[1.0], &[7.0]) };
        let logs = (1.0 + 2.0 * t / lambda).ln() + (8.0 * t / 0.05).ln();
        let rounds = 128.0 * (7.0 * logs.sqrt() + lambda.sqrt()).powi(2) / (eps * 10.0);
        near(calm.warm_up(t, eps, lambda), 2.0 * calm.phi(t) * rounds);
    }

    #[test]
    fn theorem_2_by_hand() {
        let t = 1000.0_f64;
        let p = problem(&[3.0, 4.0], &[1.0, 2.0]);
        let l = 5.0 * 20.0 * (2.0 * (32.0 * t / 0.05).ln()).sqrt()
            + 16.0 * 2_f64.sqrt()
            + 8.0 * (16.0 * t / 0.05).ln().sqrt();
        let warm_up =
            2.0 * 10_f64.sqrt() / 13.0 * p.phi(t) * (1.0 + 2.0 * l * l / 10.0 * 64.0 / (0.64 * 9.0));
        let s = (10_f64.sqrt() + 17_f64.sqrt() / 4.0) * 10_f64.sqrt() / 169.0 + 17_f64.sqrt() / 4.0 / 13.0;
        let estimating = 16.0 * l * s * p.phi(t) / 0.64 * (t * t.ln() / 60.0).sqrt();
        near(p.regret_esag(1000), warm_up + estimating);
    }

    #[test]
    fn regret_bounds_grow_as_the_theorems_say() {
        let problem = problem(&[1.0; 10], &[1.0; 10]);
        // Growth from T = 1e10 to 1e12: powers 1/2 and 2/3, up to logarithms.
        let slope = |f: &dyn Fn(f64) -> f64| (f(1e12) / f(1e10)).ln() / 100_f64.ln();
        let esag = slope(&|t| problem.regret_esag(t as u64));
        let eps = slope(&|t| problem.regret_eps_greedy(t as u64, t.powf(-1.0 / 3.0), 0.1));
        assert!((esag - 0.5).abs() < 0.05, "{esag}");
        assert!((eps - 2.0 / 3.0).abs() < 0.05, "{eps}");
    }
}
