//! The ridge-penalised maximum likelihood estimate of the gains, for any link (Algs. 1 and 3).
//!
//! For each evaluator the gain a solves `sum r (g(a r) - phi) + lambda a = 0`, the gradient of the penalised negative
//! log-likelihood (the paper prints the penalty with the wrong sign). The history enters as J numbers `S_j = sum r phi_j`
//! and a summary of the rewards, so the state is of constant size, learning is O(J), and two states add.
//!
//! With the identity link the solution is `S_j / (sum r^2 + lambda)`, exactly. Otherwise the root is found to 1e-12, and
//! the summary of the rewards costs less than 1e-4 against the full history (tested; about 1e-6 is typical).

use super::rewards::{Node, Rewards};
use super::{Statistic, add_all, are_sums, selected};
use crate::link::Link;
use serde::{Deserialize, Serialize};

/// What a labelled history says about the gains.
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
    /// Rewards of the other examples, binless.
    incomplete: Rewards,
    /// Per evaluator, rewards of the other examples that it scored. Empty while none is missing.
    partial: Vec<Rewards>,
}

impl Mle {
    /// Nothing learnt yet.
    pub fn new(evaluators: usize, link: Link) -> Self {
        Mle {
            link,
            products: vec![0.0; evaluators],
            complete: Rewards::new(link != Link::Identity),
            incomplete: Rewards::new(false),
            partial: Vec::new(),
        }
    }

    /// Takes in one item's scores (NaN = missing) and its reward.
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

    /// The penalised maximum likelihood estimates.
    pub fn alpha(&self, lambda: f64) -> Vec<f64> {
        let mut alpha = Vec::new();
        self.solve(lambda, &mut alpha, &mut Vec::new());
        alpha
    }

    /// As [`alpha`](Self::alpha), into buffers that are kept. What `alpha` holds is where the search for the roots begins:
    /// after a few new examples they have hardly moved.
    pub(crate) fn solve(&self, lambda: f64, alpha: &mut Vec<f64>, nodes: &mut Vec<Node>) {
        alpha.clear();
        alpha.resize(self.products.len(), 0.0);
        // Rewards are put in units of the largest, and gains in units of its inverse, so that no scale is too far out.
        let reach = self.partial.iter().fold(self.complete.reach(), |reach, own| reach.max(own.reach()));
        let reach = if reach > 0.0 { reach } else { 1.0 };
        nodes.clear();
        self.complete.nodes(reach, nodes);
        let shared = nodes.len();
        pad(nodes);
        for (j, &product) in self.products.iter().enumerate() {
            let (mut sum, mut square) = (self.complete.sum, self.complete.square);
            if let Some(own) = self.partial.get(j) {
                sum += own.sum;
                square += own.square;
                nodes.truncate(shared);
                own.nodes(reach, nodes);
                pad(nodes);
            }
            let link = self.link;
            alpha[j] = if link == Link::Identity {
                product / (square + lambda)
            } else {
                // At first, where g is replaced by its tangent at 0.
                let tangent = (product - link.apply(0.0) * sum) / (link.derivative(0.0) * square + lambda);
                root(link, nodes, product / reach, lambda / (reach * reach), tangent * reach) / reach
            };
        }
    }

    /// Mean and variance of the rewards learnt from.
    pub(crate) fn reward_law(&self) -> (f64, f64) {
        let mut all = Rewards::new(false);
        all.merge_sums(&self.complete);
        all.merge_sums(&self.incomplete);
        (all.mean(), all.variance())
    }
}

/// The a with `sum m r g(a r) + lambda a = product`, from a first guess, for rewards within [-1, 1].
///
/// Far from it, Newton's method kept inside a bracket. Near it, the inverse of the Taylor series up to the third derivative,
/// which costs hardly more to evaluate and mostly is there in one step.
fn root(link: Link, nodes: &[Node], product: f64, lambda: f64, mut a: f64) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut last_step = f64::INFINITY;
    for _ in 0..200 {
        let [value, slope, second, third] = equation(link, nodes, product, lambda, a);
        if value > 0.0 {
            high = a;
        } else {
            low = a;
        }
        let mut step = -value / slope;
        // The n-th derivative is at most bend^(n-1) times the slope, so that what the series leaves out, of which the next
        // coefficient is 5 b^3 - 5 b c + d, is below 1.1 bend^3 step^4.
        let turn = link.bend(a.abs() + step.abs()) * step.abs();
        if turn < 0.25 {
            let left = 1.1 * turn.powi(3) * step.abs();
            let (b, c) = (second / (2.0 * slope), third / (6.0 * slope));
            step *= 1.0 - step * (b - step * (2.0 * b * b - c));
            if left <= 1e-12 * (1.0 + a.abs()) {
                return a + step;
            }
        }
        // Outside the bracket, or no longer closing in (far out g is flat and Newton can run in circles): halve the
        // bracket, or while it is still open step further out.
        let (newton, open) = (a + step, !(low.is_finite() && high.is_finite()));
        let next = if newton >= low && newton <= high && (open || step.abs() <= 0.5 * last_step) {
            newton
        } else if !open {
            0.5 * (low + high)
        } else if low.is_finite() {
            low.max(0.5) * 2.0
        } else {
            high.min(-0.5) * 2.0
        };
        last_step = (next - a).abs();
        a = next;
        if last_step <= 1e-15 * (1.0 + a.abs()) {
            break;
        }
    }
    a
}

/// Nodes worked on side by side.
const LANES: usize = 4;

/// Fills up the last lanes with nodes that count for nothing.
fn pad(nodes: &mut Vec<Node>) {
    nodes.resize(nodes.len().next_multiple_of(LANES), Node { mass: 0.0, reward: 0.0 });
}

/// `sum m r g(a r) + lambda a - product` and its first three derivatives.
fn equation(link: Link, nodes: &[Node], product: f64, lambda: f64, a: f64) -> [f64; 4] {
    let mut sums = [[0.0; LANES]; 4];
    for block in nodes.as_chunks::<LANES>().0 {
        let mut weight = block.map(|node| node.mass);
        for (sum, derivative) in sums.iter_mut().zip(link.derivatives(block.map(|node| a * node.reward))) {
            for lane in 0..LANES {
                weight[lane] *= block[lane].reward;
                sum[lane] += weight[lane] * derivative[lane];
            }
        }
    }
    let [value, slope, second, third] = sums.map(|sum| sum.iter().sum::<f64>());
    [value + lambda * a - product, slope + lambda, second, third]
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

    /// What was complete without a newcomer is incomplete with it.
    fn reseated(&self, columns: &[Option<usize>]) -> Self {
        let binned = self.link != Link::Identity;
        let mut out = Mle::new(columns.len(), self.link);
        out.products = selected(&self.products, columns, 0.0);
        let grows = columns.contains(&None);
        if !self.partial.is_empty() || grows {
            out.partial = selected(&self.partial, columns, Rewards::new(binned));
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

    /// The same equation over the full history, solved by bisection: the reference.
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

    #[test]
    fn the_root_solves_its_equation() {
        let mut nodes: Vec<Node> =
            (1..50).map(|i| Node { mass: 2.0, reward: f64::from(i) * 0.025 - 0.25 }).collect();
        pad(&mut nodes);
        for link in [Link::Logistic, Link::Probit] {
            for product in [-1e4, -50.0, 0.0, 10.0, 80.0, 1e4] {
                // From near and from anywhere.
                for start in [0.0, 1.0, -3.0, 500.0, -1e6] {
                    let a = root(link, &nodes, product, 0.1, start);
                    let value: f64 = nodes.iter().map(|n| n.mass * n.reward * link.apply(a * n.reward)).sum();
                    let residual = (value + 0.1 * a - product).abs();
                    assert!(
                        residual < 1e-10 * (1.0 + product.abs()),
                        "{link:?} {product} {start}: {residual}"
                    );
                }
            }
        }
    }

    /// Rewards in cents or in millions give the same gains, in their units.
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
    fn nothing_learnt_is_a_gain_of_zero() {
        for link in Link::ALL {
            assert_eq!(Mle::new(3, link).alpha(0.1), [0.0; 3]);
        }
    }
}
