//! The likelihood equation of a gain a, `sum m r g(a r) + lambda a = product`, and its root. Here g
//! is the link, and `product` is the sum of rewards times scores. A node is a point r that
//! represents rewards, with mass m.
//!
//! The left side is the same function of a for all evaluators that scored the same examples. Points
//! computed for one root are therefore starting points for the next. For small rewards and gains up
//! to `NEAR`, g is replaced by its Taylor series at 0. Their sum is then a polynomial in a, and
//! only the larger rewards need evaluations of g.

use super::rewards::{Node, Rewards};
use crate::link::Link;

/// Number of nodes that are evaluated side by side.
const LANES: usize = 8;
/// Nodes up to this reward are small; the largest reward is at most 1.
const SMALL: f64 = 1.0 / 16.0;
/// The Taylor series is used for gains up to this, so that `a r` of small nodes is at most 1/2.
const NEAR: f64 = 0.5 / SMALL;
/// Number of terms of the link's series.
const TERMS: usize = 9;

/// The equation for one reward distribution within [-1, 1], with the points computed so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Equation {
    link: Link,
    lambda: f64,
    /// The rewards that all evaluators share; `own` has those of the current evaluator.
    shared: RewardNodes,
    own: Option<RewardNodes>,
    /// Computed points in ascending order.
    known: Vec<Derivatives>,
}

/// Nodes that represent rewards. Each vector is padded to whole lanes by nodes of mass 0.
#[derive(Debug, Clone, Default)]
struct RewardNodes {
    large: Vec<Node>,
    small: Vec<Node>,
    /// `sum m r` over the small nodes. `series` has the coefficients of a, a^3, ... in their `sum m
    /// r g(a r)`.
    level: f64,
    series: [f64; TERMS],
}

/// The left side of the equation at a, and its first three derivatives.
#[derive(Debug, Clone, Copy)]
struct Derivatives {
    a: f64,
    value: f64,
    slope: f64,
    second: f64,
    third: f64,
}

impl Equation {
    /// An equation without rewards.
    pub(crate) fn begin(&mut self, link: Link, lambda: f64) {
        (self.link, self.lambda, self.own) = (link, lambda, None);
        self.shared.clear();
        self.known.clear();
    }

    /// Adds rewards of examples that every evaluator scored, in units of `unit`.
    pub(crate) fn share(&mut self, rewards: &Rewards, unit: f64) {
        self.shared.add(rewards, unit, self.link);
        self.known.clear();
    }

    /// Sets the rewards that only the current evaluator has, in units of `unit`.
    pub(crate) fn add_own(&mut self, rewards: &Rewards, unit: f64) {
        let own = self.own.get_or_insert_default();
        own.clear();
        own.add(rewards, unit, self.link);
        self.known.clear();
    }

    /// The root, starting from `guess` unless a better point is known.
    ///
    /// Far from the root, steps are those of Householder's method, kept inside a bracket. Near it,
    /// the inverse function is expanded in a Taylor series up to the third derivative. This usually
    /// needs one step.
    pub(crate) fn root(&mut self, product: f64, guess: f64) -> f64 {
        let next = self.known.partition_point(|point| point.value <= product);
        let below = next.checked_sub(1).map(|at| self.known[at]);
        let above = self.known.get(next).copied();
        let (mut low, mut high) =
            (below.map_or(f64::NEG_INFINITY, |p| p.a), above.map_or(f64::INFINITY, |p| p.a));
        let between = below.zip(above).map(|(below, above)| below.towards(&above, product));
        let beside = below.or(above).and_then(|point| point.near(self.link, product)).map(|(a, _)| a);
        let mut a = between.or(beside).filter(|a| *a >= low && *a <= high).unwrap_or(guess);
        let mut last_step = f64::INFINITY;
        for _ in 0..200 {
            let point = self.at(a);
            let value = point.value - product;
            if value > 0.0 {
                high = a;
            } else {
                low = a;
            }
            let mut step = point.step(-value);
            if let Some((near, left)) = point.near(self.link, product) {
                step = near - a;
                if left <= 1e-12 * (1.0 + a.abs()) {
                    return near;
                }
            }
            // A step may leave the bracket or no longer converge: far out g is flat, and Newton can
            // cycle. Then bisect the bracket, or step further out while it is open.
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

    /// Computes the left side at a, and keeps the result.
    fn at(&mut self, a: f64) -> Derivatives {
        let [value, slope, second, third] = [Some(&self.shared), self.own.as_ref()]
            .into_iter()
            .flatten()
            .map(|law| law.sums(self.link, a))
            .fold([0.0; 4], |sums, more| std::array::from_fn(|n| sums[n] + more[n]));
        let point =
            Derivatives { a, value: value + self.lambda * a, slope: slope + self.lambda, second, third };
        let place = self.known.partition_point(|other| other.value <= point.value);
        self.known.insert(place, point);
        point
    }
}

impl RewardNodes {
    fn clear(&mut self) {
        self.large.clear();
        self.small.clear();
        (self.level, self.series) = (0.0, [0.0; TERMS]);
    }

    fn add(&mut self, rewards: &Rewards, unit: f64, link: Link) {
        rewards.nodes(unit, |node| {
            if node.reward.abs() <= SMALL { self.small.push(node) } else { self.large.push(node) }
        });
        pad(&mut self.large);
        pad(&mut self.small);
        let (mut level, mut moments) = ([0.0; LANES], [[0.0; LANES]; TERMS]);
        for block in self.small.as_chunks::<LANES>().0 {
            let squares = block.map(|node| node.reward * node.reward);
            let mut weights = squares;
            for lane in 0..LANES {
                level[lane] += block[lane].mass * block[lane].reward;
                weights[lane] *= block[lane].mass;
            }
            for moment in &mut moments {
                for lane in 0..LANES {
                    moment[lane] += weights[lane];
                    weights[lane] *= squares[lane];
                }
            }
        }
        self.level = level.iter().sum();
        let coefficients = link.odd_series();
        self.series = std::array::from_fn(|k| coefficients[k] * moments[k].iter().sum::<f64>());
    }

    /// `sum m r g(a r)` and its first three derivatives.
    fn sums(&self, link: Link, a: f64) -> [f64; 4] {
        let mut sums = [[0.0; LANES]; 4];
        add_nodes(link, &self.large, a, &mut sums);
        if a.abs() > NEAR {
            add_nodes(link, &self.small, a, &mut sums);
            return sums.map(|sum| sum.iter().sum());
        }
        let [value, slope, second, third] = sums.map(|sum| sum.iter().sum::<f64>());
        let square = a * a;
        let [mut even, mut odd] = [[0.0; 2]; 2];
        for (k, &coefficient) in self.series.iter().enumerate().rev() {
            let power = (2 * k + 1) as f64;
            even[0] = even[0] * square + coefficient;
            even[1] = even[1] * square + power * coefficient;
            if k > 0 {
                let twice = power * (power - 1.0) * coefficient;
                odd[0] = odd[0] * square + twice;
                odd[1] = odd[1] * square + (power - 2.0) * twice;
            }
        }
        let level = link.apply(0.0) * self.level;
        [value + level + a * even[0], slope + even[1], second + a * odd[0], third + odd[1]]
    }
}

/// Pads the last lanes with nodes of mass 0.
fn pad(nodes: &mut Vec<Node>) {
    nodes.resize(nodes.len().next_multiple_of(LANES), Node { mass: 0.0, reward: 0.0 });
}

/// Adds `sum m r g(a r)` over the nodes and its first three derivatives, lane by lane.
fn add_nodes(link: Link, nodes: &[Node], a: f64, sums: &mut [[f64; LANES]; 4]) {
    for block in nodes.as_chunks::<LANES>().0 {
        let mut weight = block.map(|node| node.mass);
        for (sum, derivative) in sums.iter_mut().zip(link.derivatives(block.map(|node| a * node.reward))) {
            for lane in 0..LANES {
                weight[lane] *= block[lane].reward;
                sum[lane] += weight[lane] * derivative[lane];
            }
        }
    }
}

impl Derivatives {
    /// The step in a for which the left side grows by `rise`, by Householder's method with three
    /// derivatives. Newton's step is used instead if its sign is opposite, or if Householder's is 8
    /// times as long.
    fn step(&self, rise: f64) -> f64 {
        let newton = rise / self.slope;
        let (b, c) = (self.second / (2.0 * self.slope), self.third / (6.0 * self.slope));
        let step = newton * (1.0 + b * newton) / (1.0 + 2.0 * b * newton + c * newton * newton);
        if step * newton > 0.0 && step.abs() < 8.0 * newton.abs() { step } else { newton }
    }

    /// The root by the Taylor series of the inverse function up to the third derivative, and a
    /// bound on its error. None if this point is too far from the root for the bound to hold.
    fn near(&self, link: Link, product: f64) -> Option<(f64, f64)> {
        let step = (product - self.value) / self.slope;
        // The n-th derivative is at most bend^(n-1) times the slope, so the remainder of the series
        // is below 1.1 bend^3 step^4.
        let turn = link.bend(self.a.abs() + step.abs()) * step.abs();
        let left = 1.1 * turn.powi(3) * step.abs();
        let [_, _, b, c] = self.inverse_series().map(|x| x * self.slope);
        let near = self.a + step * (1.0 + step * self.slope * (b + step * self.slope * c));
        (turn < 0.25).then_some((near, left))
    }

    /// The Taylor coefficients of the inverse function: a as a function of the left side.
    fn inverse_series(&self) -> [f64; 4] {
        let unit = 1.0 / self.slope;
        let (b, c) = (self.second * unit / 2.0, self.third * unit / 6.0);
        [self.a, unit, -b * unit * unit, (2.0 * b * b - c) * unit * unit * unit]
    }

    /// The inverse function between two points, by the Hermite polynomial that matches its value
    /// and first three derivatives at both.
    fn towards(&self, other: &Derivatives, product: f64) -> f64 {
        let (here, there) = (self.inverse_series(), other.inverse_series());
        let unit = 1.0 / (other.value - self.value);
        let (from_here, from_there) = (product - self.value, product - other.value);
        // Divided differences in which each of the two points is repeated four times.
        let mut differences: [f64; 8] = std::array::from_fn(|i| if i < 4 { here[0] } else { there[0] });
        let (mut result, mut factor) = (here[0], 1.0);
        for order in 1..8 {
            for i in 0..8 - order {
                differences[i] = if i + order < 4 {
                    here[order]
                } else if i >= 4 {
                    there[order]
                } else {
                    (differences[i + 1] - differences[i]) * unit
                };
            }
            factor *= if order <= 4 { from_here } else { from_there };
            result += factor * differences[0];
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewards() -> Rewards {
        let mut rewards = Rewards::new(true);
        (1..100).for_each(|i| rewards.add(f64::from(i * i) * 1e-4 - 0.05));
        rewards
    }

    fn equation(link: Link) -> Equation {
        let mut equation = Equation::default();
        equation.begin(link, 0.1);
        equation.share(&rewards(), 1.0);
        equation
    }

    #[test]
    fn the_root_solves_its_equation() {
        let mut nodes = Vec::new();
        rewards().nodes(1.0, |node| nodes.push(node));
        for link in [Link::Logistic, Link::Probit] {
            // Many roots of one equation: each search can start from earlier points.
            let mut together = equation(link);
            for product in [-1e4, -50.0, 0.0, 10.0, 18.0, 20.0, 21.0, 22.5, 25.0, 80.0, 1e4] {
                // Starting points near the root and far from it.
                for start in [0.0, 1.0, -3.0, 500.0, -1e6] {
                    for a in [equation(link).root(product, start), together.root(product, start)] {
                        let value: f64 =
                            nodes.iter().map(|n| n.mass * n.reward * link.apply(a * n.reward)).sum();
                        let residual = (value + 0.1 * a - product).abs();
                        assert!(
                            residual < 1e-11 * (1.0 + product.abs()),
                            "{link:?} {product} {start}: {residual}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn small_rewards_by_their_moments_are_small_rewards_one_by_one() {
        for link in [Link::Logistic, Link::Probit] {
            let mut equation = equation(link);
            assert!(!equation.shared.small.is_empty() && !equation.shared.large.is_empty());
            for i in -16..=16 {
                let a = f64::from(i) / 2.0;
                let mut sums = [[0.0; LANES]; 4];
                add_nodes(link, &equation.shared.large, a, &mut sums);
                add_nodes(link, &equation.shared.small, a, &mut sums);
                let [value, slope, second, third] = sums.map(|sum| sum.iter().sum::<f64>());
                let by_moments = equation.at(a);
                let pairs = [
                    (by_moments.value, value + 0.1 * a),
                    (by_moments.slope, slope + 0.1),
                    (by_moments.second, second),
                    (by_moments.third, third),
                ];
                for (found, exact) in pairs {
                    assert!((found - exact).abs() < 1e-12, "{link:?} {a}: {found} {exact}");
                }
            }
        }
    }

    #[test]
    fn own_rewards_stand_beside_the_shared_ones() {
        let mut parts = Equation::default();
        parts.begin(Link::Logistic, 0.1);
        let mut half = Rewards::new(true);
        (1..100).filter(|i| i % 2 == 0).for_each(|i| half.add(f64::from(i * i) * 1e-4 - 0.05));
        parts.share(&half, 1.0);
        let mut rest = Rewards::new(true);
        rest.add(0.3);
        parts.add_own(&rest, 1.0); // another evaluator's
        let mut rest = Rewards::new(true);
        (1..100).filter(|i| i % 2 == 1).for_each(|i| rest.add(f64::from(i * i) * 1e-4 - 0.05));
        parts.add_own(&rest, 1.0);
        let (parted, whole) = (parts.root(22.0, 0.0), equation(Link::Logistic).root(22.0, 0.0));
        assert!((parted - whole).abs() < 1e-4, "{parted} {whole}");
    }
}
