//! The ridge-penalised maximum likelihood estimate of the gains, for any link (Algs. 1 and 3 of
//! "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations").
//!
//! For each evaluator the gain a solves `sum r (g(a r) - phi) + lambda a = 0`, for link g, rewards
//! r and scores phi. The left side is the gradient of the penalised negative log-likelihood; the
//! paper prints the penalty with the wrong sign. The history enters as one number `S_j = sum r
//! phi_j` for each evaluator j and a summary of the rewards. The state therefore has constant size,
//! and states merge by addition.
//!
//! With the identity link the solution is exactly `S_j / (sum r^2 + lambda)`. Otherwise the root is
//! found numerically. The summary of the rewards changes it by less than 1e-4 of `1 + |a|` in the
//! tests below.

use super::likelihood::Equation;
use super::rewards::Rewards;
use super::{Statistic, add_all, are_sums, selected};
use crate::link::Link;
use serde::{Deserialize, Serialize};

/// The sufficient statistics of a labelled history for the gains.
///
/// ```
/// use jurybox::{Link, estimate::Mle};
///
/// let mut mle = Mle::new(1, Link::Identity);
/// mle.learn(&[1.0], 2.0); // scored 1 where the reward was 2
/// mle.learn(&[3.0], 4.0);
/// assert_eq!(mle.alpha(0.5), [(2.0 + 12.0) / (4.0 + 16.0 + 0.5)]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mle {
    link: Link,
    /// S_j = sum r phi_j over the examples that evaluator j scored.
    products: Vec<f64>,
    /// Rewards of the examples that every evaluator scored.
    complete: Rewards,
    /// Count, sum and sum of squares of the rewards of the other examples.
    incomplete: Rewards,
    /// Per evaluator, rewards of the incomplete examples that it scored. May be empty while no
    /// example is incomplete.
    partial: Vec<Rewards>,
}

impl Mle {
    /// Statistics of no examples.
    pub fn new(evaluators: usize, link: Link) -> Self {
        Mle {
            link,
            products: vec![0.0; evaluators],
            complete: Rewards::new(link != Link::Identity),
            incomplete: Rewards::new(false),
            partial: Vec::new(),
        }
    }

    /// Adds one item's scores (NaN = missing) and its reward.
    pub fn learn(&mut self, scores: &[f64], reward: f64) {
        let complete = scores.iter().all(|x| !x.is_nan());
        if complete {
            self.complete.add(reward);
        } else {
            self.incomplete.add(reward);
            self.partial.resize(self.products.len(), Rewards::new(self.link != Link::Identity));
        }
        for (j, &x) in scores.iter().enumerate() {
            if !x.is_nan() {
                self.products[j] += reward * x;
                if !complete {
                    self.partial[j].add(reward);
                }
            }
        }
    }

    /// The penalised maximum likelihood estimates with this ridge.
    pub fn alpha(&self, lambda: f64) -> Vec<f64> {
        let mut alpha = Vec::new();
        self.solve(lambda, &mut alpha, &mut Equation::default());
        alpha
    }

    /// Writes [`alpha`](Self::alpha) into a reused buffer. The previous content of the buffers does
    /// not matter.
    pub(crate) fn solve(&self, lambda: f64, alpha: &mut Vec<f64>, equation: &mut Equation) {
        alpha.clear();
        let Rewards { sum, square, .. } = self.complete;
        if self.link == Link::Identity {
            let own = |j: usize| self.partial.get(j).map_or(0.0, |own| own.square);
            alpha.extend(self.products.iter().enumerate().map(|(j, s)| s / (square + own(j) + lambda)));
            return;
        }
        // Rewards are divided by a bound on the largest, and gains multiplied by it, so that any
        // unit works.
        let reach = self.partial.iter().fold(self.complete.reach(), |reach, own| reach.max(own.reach()));
        let reach = if reach > 0.0 { reach } else { 1.0 };
        equation.begin(self.link, lambda / (reach * reach));
        equation.share(&self.complete, reach);
        let [level, slope, ..] = self.link.derivatives([0.0]).map(|[d]| d);
        alpha.resize(self.products.len(), 0.0);
        // The outermost roots come first: if no score is missing, all others then lie between known
        // points.
        let outermost = [
            self.products.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)),
            self.products.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)),
        ];
        let [highest, lowest] = outermost.map(|end| end.map_or(0, |(j, _)| j));
        let inner = (0..alpha.len()).filter(|&j| j != highest && j != lowest);
        for j in [highest, lowest].into_iter().chain(inner).take(alpha.len()) {
            let (product, mut sum, mut square) = (self.products[j], sum, square);
            if let Some(own) = self.partial.get(j) {
                sum += own.sum;
                square += own.square;
                equation.add_own(own, reach);
            }
            // The root if g is replaced by its tangent at 0.
            let tangent = (product - level * sum) / (slope * square + lambda);
            alpha[j] = equation.root(product / reach, tangent * reach) / reach;
        }
    }

    /// Mean and variance of all rewards; the variance is 0 for fewer than two.
    pub(crate) fn reward_law(&self) -> (f64, f64) {
        let mut all = Rewards::new(false);
        all.merge_sums(&self.complete);
        all.merge_sums(&self.incomplete);
        (all.mean(), all.variance())
    }
}

impl Statistic for Mle {
    fn merge(&mut self, other: &Self) {
        add_all(&mut self.products, &other.products);
        self.complete.merge(&other.complete);
        self.incomplete.merge(&other.incomplete);
        if self.partial.is_empty() {
            self.partial.clone_from(&other.partial);
        } else {
            for (mine, theirs) in self.partial.iter_mut().zip(&other.partial) {
                mine.merge(theirs);
            }
        }
    }

    /// If an evaluator joins, complete examples become incomplete.
    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let binned = self.link != Link::Identity;
        let mut out = Mle::new(columns.len(), self.link);
        out.products = selected(&self.products, columns, 0.0);
        let grows = columns.contains(&None);
        if !self.partial.is_empty() || grows {
            let none = Rewards::new(binned);
            // `partial` may be empty.
            let own = |from: &Option<usize>| from.and_then(|from| self.partial.get(from)).unwrap_or(&none);
            out.partial = columns.iter().map(|from| own(from).clone()).collect();
            out.incomplete = self.incomplete.clone();
        }
        if grows {
            for (own, _) in out.partial.iter_mut().zip(columns).filter(|(_, from)| from.is_some()) {
                own.merge(&self.complete);
            }
            out.incomplete.merge_sums(&self.complete);
        } else {
            out.complete = self.complete.clone();
        }
        out
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        are_sums(&self.products, evaluators)
            && self.complete.is_sound()
            && self.incomplete.is_sound()
            && (self.partial.is_empty() || self.partial.len() == evaluators)
            && self.partial.iter().all(Rewards::is_sound)
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.link == other.link
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// The reference: the equation over the full history, solved by bisection.
    fn full_history(link: Link, history: &[(f64, f64)], lambda: f64) -> f64 {
        let equation =
            |a: f64| lambda * a + history.iter().map(|(phi, r)| r * (link.apply(a * r) - phi)).sum::<f64>();
        let (mut low, mut high) = (-1e3, 1e3);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if equation(middle) > 0.0 { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }

    #[test]
    fn the_summary_stays_within_1e_4_of_the_full_history() {
        let mut worst: f64 = 0.0;
        for link in Link::ALL {
            for (seed, alpha) in [0.05, 0.5, 1.0, 3.0, 12.0].into_iter().enumerate() {
                for shape in 0..4 {
                    let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
                    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
                    let mut mle = Mle::new(1, link);
                    let history: Vec<(f64, f64)> = (0..3000)
                        .map(|_| {
                            let r = match shape {
                                0 => normal().abs(),
                                1 => normal() * 2.0,
                                2 => normal().exp(),
                                _ => 1.0 + 0.1 * normal(),
                            };
                            (link.apply(alpha * r) + 0.2 * normal(), r)
                        })
                        .collect();
                    history.iter().for_each(|&(phi, r)| mle.learn(&[phi], r));
                    let exact = full_history(link, &history, 0.1);
                    let error = (mle.alpha(0.1)[0] - exact).abs() / (1.0 + exact.abs());
                    worst = worst.max(error);
                    assert!(error < 1e-4, "{link:?} alpha {alpha} shape {shape}: {error}");
                }
            }
        }
        assert!(worst > 0.0);
    }

    /// Rewards in other units give the same gains once these are converted back.
    #[test]
    fn the_scale_of_the_rewards_does_not_matter() {
        for link in [Link::Logistic, Link::Probit] {
            let alpha = |scale: f64| {
                let mut mle = Mle::new(1, link);
                for i in 1..300 {
                    let r = f64::from(i) / 100.0;
                    mle.learn(&[link.apply(0.8 * r) + 0.1 * f64::from(i).sin()], scale * r);
                }
                scale * mle.alpha(scale * scale * 0.1)[0]
            };
            for scale in [1e-12, 1e-3, 7.0, 1e9, 1e90] {
                assert!((alpha(scale) / alpha(1.0) - 1.0).abs() < 1e-5, "{link:?} {scale}: {}", alpha(scale));
            }
        }
    }

    #[test]
    fn an_evaluator_is_judged_on_the_examples_it_scored() {
        for link in Link::ALL {
            let mut both = Mle::new(2, link);
            let mut alone = Mle::new(1, link);
            for (a, b, r) in [(0.6, 0.7, 1.0), (f64::NAN, 0.8, 1.5), (0.9, f64::NAN, 2.0)] {
                both.learn(&[a, b], r);
                if !a.is_nan() {
                    alone.learn(&[a], r);
                }
            }
            assert!((both.alpha(0.2)[0] - alone.alpha(0.2)[0]).abs() < 1e-5);
        }
    }

    #[test]
    fn a_newcomer_joins_those_who_never_missed_a_score() {
        for link in Link::ALL {
            let mut mle = Mle::new(2, link);
            for i in 0..50 {
                let score = f64::from(i % 7) / 7.0;
                mle.learn(&[score, 1.0 - score], f64::from(i % 2));
            }
            for mle in [Mle::new(2, link), mle] {
                let joined = mle.with_columns(&[Some(1), None]);
                assert!(joined.is_sound(2));
                let (before, after) = (mle.alpha(1.0), joined.alpha(1.0));
                assert!((before[1] - after[0]).abs() < 1e-5 && after[1].abs() < 1e-5, "{before:?} {after:?}");
            }
        }
    }

    #[test]
    fn nothing_learnt_is_a_gain_of_zero() {
        for link in Link::ALL {
            assert_eq!(Mle::new(3, link).alpha(0.1), [0.0; 3]);
        }
    }
}
