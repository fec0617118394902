//! `eval-ucb`, `glm-eval-ucb`: EvalBasedUCB, optimism about the gains.
//!
//! **The idea.** The gains alpha are estimated from the picked items as summed scores over summed
//! rewards. Of all points z within distance beta of alpha, the weights use the one for which the
//! jury is *least* informative. It minimises `||z / sigma||` subject to `||z - alpha|| <= beta`,
//! where sigma are the noise levels.
//!
//! The minimiser is `z_j = alpha_j lambda sigma_j^2 / (lambda sigma_j^2 + beta^2)`, where lambda is
//! the root of `sum_j (alpha_j / (lambda sigma_j^2 + beta^2))^2 = 1 / beta^2`. The root exists when
//! `||alpha|| > beta`. Otherwise the ball contains zero, and alpha itself is used.
//!
//! **Assumes** scores `phi_j = g(alpha_j r) + noise`, for gain alpha_j and reward r, with a known
//! link g, and a positive sum of rewards. There is no regret bound, because the ball ignores that
//! picks were chosen by their noise. The paper calls the policy a heuristic that does well when
//! alpha / sigma is large. **In the paper** ("Top K Ranking for Multi-Armed Bandit with Noisy
//! Evaluations"): Alg. 4, here with one beta and squared norms. **Costs** O(J) an example and an
//! item for J evaluators. Moments for estimated noise or missing scores cost O(J^2).

use super::gains::{ByGains, Gains, NoiseState, SIGMA};
use super::{Entry, Links, Needs, OptionEntry, OptionKind, Policy};
use crate::estimate::{Ratio, Statistic};
use crate::link::Link;
use crate::options::{Fraction, Sigma};
use crate::pick::Example;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// `sigma`: noise levels. `delta`: the probability that the ball misses the gains; 0.05 by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    sigma: Sigma,
    delta: Option<Fraction>,
}

const OPTIONS: &[OptionEntry] = &[
    SIGMA,
    OptionEntry {
        name: "delta",
        kind: OptionKind::Number,
        default: "0.05",
        range: "strictly between 0 and 1",
        help: "the ball around the gains may miss them with this probability",
        without: &[],
    },
];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    ratio: Ratio,
    noise: NoiseState,
}

#[derive(Debug, Clone)]
pub(crate) struct EvalUcb {
    link: Link,
    delta: f64,
    state: State,
    gains: Gains,
    row: Vec<f64>,
}

impl Policy for EvalUcb {
    const ENTRIES: &'static [Entry] = &[
        Entry {
            name: "eval-ucb",
            links: Links::Identity,
            needs: Needs::Nothing,
            assumes: "score = alpha * r + noise, summed reward > 0; optimistic gains from every pick, no guarantee",
            paper: "Alg. 4, identity link",
            options: OPTIONS,
        },
        Entry {
            name: "glm-eval-ucb",
            links: Links::Glm,
            needs: Needs::Nothing,
            assumes: "score = g(alpha * r) + noise, summed reward > 0; optimistic gains from every pick, no guarantee",
            paper: "Alg. 4",
            options: OPTIONS,
        },
    ];
    type Options = Options;
    type State = State;
    type Rank = ByGains;

    fn create(_: &Entry, link: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        Ok(EvalUcb {
            link,
            delta: options.delta.map_or(0.05, Fraction::get),
            gains: Gains::create(&options.sigma, evaluators)?,
            state: State {
                ratio: Ratio::new(evaluators),
                noise: NoiseState::new(&options.sigma, evaluators, link),
            },
            row: Vec::new(),
        })
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn link(&self) -> Link {
        self.link
    }

    fn observe(&mut self, scores: &Scores<'_>, _: u64) -> bool {
        if self.link == Link::Identity {
            self.state.noise.observe_all(scores)
        } else {
            self.state.noise.observe(scores)
        }
    }

    fn learns_from_scores(&self) -> bool {
        self.link == Link::Identity || self.state.noise.learns_from_scores()
    }

    fn learn(&mut self, example: &Example<'_>, _: u64) -> bool {
        self.row.clear();
        self.link.inverse_into(example.scores, &mut self.row);
        self.state.ratio.learn(&self.row, example.reward);
        self.state.noise.learn(example.scores, example.reward);
        true
    }

    fn buffer(&self) -> ByGains {
        ByGains::new(self.link, &self.gains)
    }

    /// The displayed gains are the centre of the ball; the weights use the optimistic point z.
    fn fit(&self, into: &mut ByGains) {
        self.state.ratio.alpha_into(&mut into.gains.alpha);
        into.gains.update_sigma(&self.state.noise);
        let beta = radius(&self.state.ratio, &into.gains.sigma, self.delta);
        let mut z = std::mem::take(&mut into.numbers);
        optimistic(&into.gains.alpha, &into.gains.sigma, beta, &mut z);
        let prior = into.prior(self.state.noise.moments(), &z, self.state.ratio.reward_law());
        into.gains.update_weights_for(&z, prior);
        into.numbers = z;
    }
}

/// The radius beta^E of Alg. 4; infinite unless the sum of rewards is positive.
fn radius(ratio: &Ratio, sigma: &[f64], delta: f64) -> f64 {
    let log = (2.0 / delta).ln();
    let noise: f64 = sigma.iter().filter(|s| s.is_finite()).map(|s| s * s).sum();
    let top =
        2.0 * (2.0 * sigma.len() as f64 * log).sqrt() / 3.0 + (ratio.examples() as f64 * noise * log).sqrt();
    if ratio.reward() > 0.0 { top / ratio.reward() } else { f64::INFINITY }
}

/// The point of the ball around `alpha` that minimises `||z / sigma||`, over evaluators with finite
/// sigma; others get 0. It is alpha itself when the ball contains zero.
fn optimistic(alpha: &[f64], sigma: &[f64], beta: f64, z: &mut Vec<f64>) {
    z.clear();
    z.extend_from_slice(alpha);
    let norm = alpha.iter().map(|a| a * a).sum::<f64>().sqrt();
    if beta >= norm || norm == 0.0 {
        return;
    }
    // With u = beta^2 / lambda: z_j = alpha_j sigma_j^2 / (sigma_j^2 + u). The squared distance
    // from alpha, sum (alpha_j u / (sigma_j^2 + u))^2, grows with u from 0 to ||alpha||^2. Newton's
    // method on its logarithm, in ln u and kept inside a bracket, finds the u at which it is
    // beta^2.
    let scale = sigma.iter().filter(|s| s.is_finite()).fold(0.0, |m: f64, s| m.max(s * s));
    let (mut low, mut high) = ((scale * 1e-40).max(f64::MIN_POSITIVE), (scale * 1e40).max(1.0));
    let mut u = scale * beta / (norm - beta);
    for _ in 0..100 {
        let (mut distance, mut slope) = (0.0, 0.0);
        for (a, s) in alpha.iter().zip(sigma).filter(|(_, s)| s.is_finite()) {
            let share = u / (s * s + u);
            let part = a * a * share * share;
            distance += part;
            slope += 2.0 * part * (1.0 - share);
        }
        let excess = (distance / (beta * beta)).ln();
        if excess < 0.0 {
            low = u;
        } else {
            high = u;
        }
        let next = u * (-excess * distance / slope).exp();
        let next = if next > low && next < high { next } else { (low * high).sqrt() };
        let done = (next - u).abs() <= 1e-15 * u;
        u = next;
        if done {
            break;
        }
    }
    for ((z, &a), &s) in z.iter_mut().zip(alpha).zip(sigma) {
        *z = if s.is_finite() { a * s * s / (s * s + u) } else { 0.0 };
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        self.ratio.merge(&other.ratio);
        self.noise.merge(&other.noise);
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.ratio.is_sound(evaluators) && self.noise.is_sound(evaluators)
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        State { ratio: self.ratio.with_columns(columns), noise: self.noise.with_columns(columns) }
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.noise.is_of_kind(&other.noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The KKT conditions of the minimiser. It lies on the border of the ball, and the gradient
        /// of the objective is a negative multiple of the border's normal.
        #[test]
        fn satisfies_the_kkt_conditions(
            parts in prop::collection::vec((-3.0..3.0_f64, 0.05..5.0_f64), 1..12), share in 0.001..0.99_f64,
        ) {
            let (alpha, sigma): (Vec<f64>, Vec<f64>) = parts.into_iter().unzip();
            let norm = alpha.iter().map(|a| a * a).sum::<f64>().sqrt();
            prop_assume!(norm > 1e-3);
            let beta = share * norm;
            let mut z = Vec::new();
            optimistic(&alpha, &sigma, beta, &mut z);
            let distance = alpha.iter().zip(&z).map(|(a, z)| (a - z).powi(2)).sum::<f64>().sqrt();
            prop_assert!((distance - beta).abs() < 1e-9 * (1.0 + beta), "{distance} {beta}");
            // z / sigma^2 = mu (alpha - z), mu >= 0 the same for all coordinates.
            let gradient: Vec<f64> = z.iter().zip(&sigma).map(|(z, s)| z / (s * s)).collect();
            let normal: Vec<f64> = alpha.iter().zip(&z).map(|(a, z)| a - z).collect();
            let mu = gradient.iter().zip(&normal).map(|(g, n)| g * n).sum::<f64>()
                / normal.iter().map(|n| n * n).sum::<f64>();
            prop_assert!(mu >= 0.0);
            for (g, n) in gradient.iter().zip(&normal) {
                prop_assert!((g - mu * n).abs() < 1e-6 * (1.0 + mu), "{g} {}", mu * n);
            }
        }
    }

    #[test]
    fn a_ball_around_zero_leaves_the_estimate() {
        let mut z = Vec::new();
        optimistic(&[0.3, 0.4], &[1.0, 1.0], 0.6, &mut z);
        assert_eq!(z, [0.3, 0.4]);
    }
}
