//! `esag`, `glm-esag`: Evaluation-Structure-Aware Greedy.
//!
//! **The idea.** In the linear model the score of evaluator j is `phi_j = alpha_j r + noise`, for
//! gain alpha_j and reward r. The mean score over *all* items is then `alpha_j E[r]`: the gain
//! times a factor that all evaluators share. A common factor does not change the ranking. So the
//! gains are estimated by the mean scores of all items, picked or not, without any reward. The
//! choice of picks cannot bias them.
//!
//! **Assumes** this model without intercept, rewards of positive mean, and independent noise whose
//! level is known or can be estimated. An evaluator with a positive offset is trusted too much,
//! because its mean counts as signal. The `glm-` form takes the mean of `g^-1(phi_j)` for the link
//! g. This mean is biased, because noise does not average out through a curved g^-1.
//!
//! **In the paper** ("Top K Ranking for Multi-Armed Bandit with Noisy Evaluations"): Alg. 2, with a
//! running mean, and Theorem 2 (regret of order sqrt(T)). **Costs** O(J) an item for J evaluators.
//! Moments for estimated noise or missing scores cost O(J^2).
//!
//! **Beyond the paper.** With `current_round=true` a round's scores are observed *before* picking
//! from it, which removes the blind first round. An item with missing scores is ranked by its
//! posterior mean given the present ones. With the identity link, the variance of its prior comes
//! from the variance of the scores in rounds where some are missing; otherwise the prior is flat.

use super::gains::{ByGains, Gains, NoiseState, SIGMA};
use super::{Entry, Links, Needs, OptionEntry, OptionKind, Policy, inverted};
use crate::estimate::{Mean, Moments, Statistic};
use crate::link::Link;
use crate::options::Sigma;
use crate::pick::Example;
use crate::scores::Scores;
use crate::weights::NormalPrior;
use serde::{Deserialize, Serialize};

/// `sigma`: noise levels. `current_round`: observe a round before picking from it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    sigma: Sigma,
    current_round: bool,
}

const OPTIONS: &[OptionEntry] = &[
    SIGMA,
    OptionEntry {
        name: "current_round",
        kind: OptionKind::Flag,
        default: "false",
        range: "true, false",
        help: "observe a round before choosing from it, which removes the blind first round",
        without: &[],
    },
];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    mean: Mean,
    /// Moments of rounds with missing scores.
    spread: Moments,
    noise: NoiseState,
}

#[derive(Debug, Clone)]
pub(crate) struct Esag {
    link: Link,
    current_round: bool,
    state: State,
    gains: Gains,
    inverse: Vec<f64>,
}

impl Policy for Esag {
    const ENTRIES: &'static [Entry] = &[
        Entry {
            name: "esag",
            links: Links::Identity,
            needs: Needs::Nothing,
            assumes: "score = alpha * r + noise, no offset; learns gains from the mean of all scores, never from rewards",
            paper: "Alg. 2, Theorem 2",
            options: OPTIONS,
        },
        Entry {
            name: "glm-esag",
            links: Links::Glm,
            needs: Needs::Nothing,
            assumes: "score = g(alpha * r) + noise, g known; esag on the inverse link of the scores, which keeps a bias",
            paper: "Alg. 2 adapted, Sect. 6.1",
            options: OPTIONS,
        },
    ];
    type Options = Options;
    type State = State;
    type Rank = ByGains;

    fn create(_: &Entry, link: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        Ok(Esag {
            link,
            current_round: options.current_round,
            gains: Gains::create(&options.sigma, evaluators)?,
            state: State {
                mean: Mean::new(evaluators),
                spread: Moments::new(evaluators),
                noise: NoiseState::new(&options.sigma, evaluators, link),
            },
            inverse: Vec::new(),
        })
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn observes_first(&self) -> bool {
        self.current_round
    }

    fn link(&self) -> Link {
        self.link
    }

    fn observe(&mut self, scores: &Scores<'_>, _: u64) -> bool {
        let inverse = inverted(self.link, scores, &mut self.inverse);
        self.state.mean.observe(&inverse);
        if !scores.is_complete() {
            self.state.spread.observe(&inverse);
        }
        self.state.noise.observe(scores);
        true
    }

    fn learns_from_scores(&self) -> bool {
        true
    }

    /// Learns noise levels if they are estimated from rewards. Nothing else uses rewards.
    fn learn(&mut self, example: &Example<'_>, _: u64) -> bool {
        self.state.noise.learn(example.scores, example.reward)
    }

    fn buffer(&self) -> ByGains {
        ByGains::new(self.link, &self.gains)
    }

    fn fit(&self, into: &mut ByGains) {
        into.gains.alpha.clear();
        into.gains.alpha.extend_from_slice(self.state.mean.means());
        into.gains.update_sigma(&self.state.noise);
        let prior =
            if self.link == Link::Identity { self.prior(&into.gains) } else { NormalPrior::default() };
        into.gains.update_weights(prior);
    }
}

/// A signal that is a smaller share of the scores' variance than this is rounding error.
const LEAST_SIGNAL: f64 = 1e-9;

impl Esag {
    /// The reward distribution in units of its mean, from `Var(phi_j) = alpha_j^2 Var(r) +
    /// sigma_j^2`, summed over the evaluators.
    fn prior(&self, gains: &Gains) -> NormalPrior {
        let (mut signal, mut scale, mut spread) = (0.0, 0.0, 0.0);
        for (j, (&alpha, &sigma)) in gains.alpha.iter().zip(&gains.sigma).enumerate() {
            if let Some(variance) = self.state.spread.covariance(j, j).filter(|_| sigma.is_finite()) {
                signal += variance - sigma * sigma;
                scale += alpha * alpha;
                spread += variance;
            }
        }
        // Without a signal beyond rounding error the prior is flat, not of width zero. One case:
        // the one-factor model found no signal, so sigma is the standard deviation of the scores.
        if scale > 0.0 && signal > LEAST_SIGNAL * spread {
            NormalPrior::normal(1.0, signal / scale)
        } else {
            NormalPrior::default()
        }
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        self.mean.merge(&other.mean);
        self.spread.merge(&other.spread);
        self.noise.merge(&other.noise);
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.mean.is_sound(evaluators) && self.spread.is_sound(evaluators) && self.noise.is_sound(evaluators)
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        State {
            mean: self.mean.with_columns(columns),
            spread: self.spread.with_columns(columns),
            noise: self.noise.with_columns(columns),
        }
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.noise.is_of_kind(&other.noise)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Evaluators, Jury, Spec};
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    /// For unrelated scores, variance minus noise is only rounding error, which must not become a
    /// narrow prior. Otherwise one missing score would make all values equal.
    #[test]
    fn one_missing_score_among_unrelated_evaluators_leaves_the_values_apart() {
        for seed in 0..40 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut table: Vec<f64> = (0..600).map(|_| rng.random()).collect();
            table[9] = f64::NAN;
            let evaluators = Evaluators::new(["a", "b", "c"]).unwrap();
            let mut jury = Jury::new(&"esag".parse::<Spec>().unwrap(), evaluators).unwrap();
            let scores = jury.scores(&table).unwrap();
            jury.observe(&scores, 0).unwrap();
            let values = jury.fit().values(&scores).unwrap();
            let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(*v), m.max(*v)));
            assert!(most - least > 0.1, "seed {seed}: {least} to {most}");
        }
    }
}
