//! The theorems as numbers: suboptimality gaps (Lemmas 1 and 2), regret (Theorems 1 and 2), and the certificate of
//! Theorem 3.
//!
//! The regret bounds are the corrected forms that the paper's appendix gives, constant by constant. They hold with
//! probability `1 - delta` and are far above any curve one will measure; what they tell is the shape.

/// What the theorems need to know of a problem.
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
/// // More evaluators, smaller gap: to zero in the linear case (Lemma 2), to a plateau in general (Lemma 1).
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
    /// Their noise levels.
    pub sigma: Vec<f64>,
    /// Picks per round.
    pub k: usize,
    /// Items per round, K_max.
    pub items: usize,
    /// Probability with which a bound may fail.
    pub delta: f64,
    /// E r.
    pub mean_reward: f64,
    /// E r^2.
    pub mean_square_reward: f64,
    /// C: rewards lie in [0, C].
    pub max_reward: f64,
    /// The largest |g(alpha_j r)|.
    pub max_score: f64,
    /// c_g: the least slope of the link; 1 for the identity.
    pub min_slope: f64,
}

impl Problem {
    /// ||alpha / sigma||, the signal-to-noise ratio of the whole jury.
    fn signal(&self) -> f64 {
        self.alpha.iter().zip(&self.sigma).map(|(a, s)| (a / s).powi(2)).sum::<f64>().sqrt()
    }

    fn max_sigma(&self) -> f64 {
        self.sigma.iter().copied().fold(0.0, f64::max)
    }

    fn alpha_norm(&self) -> f64 {
        self.alpha.iter().map(|a| a * a).sum::<f64>().sqrt()
    }

    fn min_alpha_square(&self) -> f64 {
        self.alpha.iter().filter(|a| **a != 0.0).map(|a| a * a).fold(f64::INFINITY, f64::min)
    }

    /// Lemma 2: bound on the oracle's suboptimality gap in the linear case.
    pub fn gap_linear(&self) -> f64 {
        let k = self.k as f64;
        2.0 * k * (k * (self.items as f64 * std::f64::consts::E / self.delta).ln()).sqrt() / self.signal()
    }

    /// Lemma 1: the same in the generalised linear case, with the term that does not vanish with J.
    pub fn gap_glm(&self) -> f64 {
        let extra = self.k as f64 * (self.alpha.len() as f64).sqrt() / self.signal();
        (self.gap_linear() + extra) / self.min_slope
    }

    /// Phi: bound on the norm of the summed scores of any K items, over T rounds.
    fn phi(&self, rounds: f64) -> f64 {
        let (k, j) = (self.k as f64, self.alpha.len() as f64);
        let tail = (2.0 * std::f64::consts::E * self.items as f64 * rounds / (k * self.delta)).ln();
        2.0 * k * self.max_sigma() * (2.0 * j.sqrt() + (k * tail).sqrt()) + 2.0 * k * j * self.max_score
    }

    /// S: how strongly an error in alpha moves the weights.
    fn sensitivity(&self) -> f64 {
        let weighted: f64 =
            self.alpha.iter().zip(&self.sigma).map(|(a, s)| (a / (s * s)).powi(2)).sum::<f64>().sqrt();
        let fourth: f64 = self.sigma.iter().map(|s| s.powi(-4)).sum::<f64>().sqrt();
        (weighted + fourth) * weighted / self.signal().powi(4) + fourth / self.signal().powi(2)
    }

    /// Theorem 1: regret of `eps-greedy` over `rounds` rounds.
    pub fn regret_eps_greedy(&self, rounds: u64, eps: f64, lambda: f64) -> f64 {
        let (t, k, j) = (rounds as f64, self.k as f64, self.alpha.len() as f64);
        let eta_square = self.mean_square_reward;
        let logs = (1.0 + 2.0 * t / lambda).ln() + (8.0 * t * j / self.delta).ln();
        let exploring =
            4.0 * self.phi(t) / self.signal() * ((2.0 * t * (4.0 * t / self.delta).ln()).sqrt() + eps * t);
        let warm_up = ((128.0 * self.max_sigma() * logs + lambda * self.alpha_norm().powi(2))
            / (self.min_alpha_square() * eps * k * eta_square))
            .max(
                8.0 * (8.0 * t / self.delta).ln() * self.max_reward.powi(4) / (eps * k * eta_square).powi(2),
            );
        let estimating = 24.0 * self.phi(t) * (2.0 * t).sqrt() * self.max_sigma()
            / (self.min_slope * (eps * k * eta_square).sqrt())
            * (logs.sqrt() + lambda.sqrt() * self.alpha_norm())
            * self.sensitivity();
        exploring + warm_up + estimating
    }

    /// Theorem 2: regret of `esag` over `rounds` rounds with a constant number of items.
    pub fn regret_esag(&self, rounds: u64) -> f64 {
        let (t, k, j) = (rounds as f64, self.k as f64, self.alpha.len() as f64);
        let l = self.max_reward * (2.0 * (16.0 * j * t / self.delta).ln()).sqrt()
            + 8.0 * self.max_sigma() * j.sqrt()
            + 4.0 * self.max_sigma() * (8.0 * t * j / self.delta).ln().sqrt();
        let mean = self.mean_reward;
        let warm_up = 2.0 / self.signal()
            * (1.0 + 2.0 * l * l / k * (64.0 / (mean * mean * self.min_alpha_square())).max(1.0));
        let estimating = 16.0 * l * self.sensitivity() * self.phi(t) / mean
            * (1.0 / mean).max(1.0)
            * (t * t.ln().max(0.0) / self.items as f64).sqrt();
        warm_up + estimating
    }
}

/// Theorem 3: do these values provably give the reference's top K?
///
/// ```
/// use jurybox::bounds::Certificate;
///
/// let reference = [0.9, 0.8, 0.3, 0.1]; // under the reference weights: gap 0.5 between the 2nd and the 3rd
/// assert!(Certificate::of(&reference, &[0.85, 0.9, 0.35, 0.0], 2).holds());
/// assert!(!Certificate::of(&reference, &[0.9, 0.5, 0.45, 0.1], 2).holds());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Delta: how far the K-th value is above the next, under the reference.
    pub gap: f64,
    /// The largest difference of an item's value from its reference value.
    pub drift: f64,
}

impl Certificate {
    /// Compares the values of the same items under reference weights and under others.
    ///
    /// # Panics
    /// If the two are of different length.
    pub fn of(reference: &[f64], values: &[f64], k: usize) -> Certificate {
        assert_eq!(reference.len(), values.len(), "one value per item under each weights");
        let drift = reference.iter().zip(values).map(|(r, v)| (r - v).abs()).fold(0.0, f64::max);
        let mut top = crate::rank::TopK::new(k + 1, 0);
        for (item, &value) in reference.iter().enumerate() {
            top.push(item as u64, value);
        }
        let sorted = top.sorted();
        // All items are picked: nothing to get wrong.
        let gap = if sorted.len() <= k { f64::INFINITY } else { sorted[k - 1].value - sorted[k].value };
        Certificate { gap, drift }
    }

    /// Whether the top K is certainly the reference's: every value within a quarter of the gap.
    pub fn holds(&self) -> bool {
        self.gap > 0.0 && self.drift <= self.gap / 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// Theorem 3 in 10^5 random rounds: whenever the certificate holds, the two top K are the same set.
    #[test]
    fn the_certificate_is_never_wrong() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut certified = 0;
        for case in 0..100_000_usize {
            let (items, evaluators) = (3 + case % 30, 1 + case % 6);
            let k = 1 + case % (items - 1);
            let scores: Vec<f64> = (0..items * evaluators).map(|_| normal()).collect();
            let reference: Vec<f64> = (0..evaluators).map(|_| normal()).collect();
            let scale = [0.0, 1e-3, 1e-2, 0.1][case % 4];
            let moved: Vec<f64> = reference.iter().map(|w| w + scale * normal()).collect();
            let values = |w: &[f64]| -> Vec<f64> {
                scores.chunks_exact(evaluators).map(|x| x.iter().zip(w).map(|(x, w)| x * w).sum()).collect()
            };
            let (a, b) = (values(&reference), values(&moved));
            if Certificate::of(&a, &b, k).holds() {
                certified += 1;
                assert_eq!(top_set(&a, k), top_set(&b, k), "case {case}");
            }
        }
        assert!(certified > 30_000, "too few certificates to have tested anything: {certified}");
    }

    fn top_set(values: &[f64], k: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        order.truncate(k);
        order.sort_unstable();
        order
    }

    #[test]
    fn ties_at_the_border_are_never_certified() {
        assert!(!Certificate::of(&[1.0, 1.0, 0.0], &[1.0, 1.0, 0.0], 1).holds());
        assert!(Certificate::of(&[1.0, 1.0], &[0.0, 5.0], 2).holds());
    }

    #[test]
    fn regret_bounds_grow_as_the_theorems_say() {
        let problem = Problem {
            alpha: vec![1.0; 10],
            sigma: vec![1.0; 10],
            k: 10,
            items: 60,
            delta: 0.05,
            mean_reward: 0.8,
            mean_square_reward: 1.0,
            max_reward: 20.0,
            max_score: 20.0,
            min_slope: 1.0,
        };
        // In the leading term: sqrt(T log T) and T^(2/3), up to the logarithms in Phi and L.
        let slope = |f: &dyn Fn(f64) -> f64| (f(1e12) / f(1e10)).ln() / 100_f64.ln();
        let esag = slope(&|t| problem.regret_esag(t as u64));
        let eps = slope(&|t| problem.regret_eps_greedy(t as u64, t.powf(-1.0 / 3.0), 0.1));
        assert!((esag - 0.5).abs() < 0.05, "{esag}");
        assert!((eps - 2.0 / 3.0).abs() < 0.05, "{eps}");
    }
}
