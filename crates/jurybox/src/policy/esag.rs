//! `esag`, `glm-esag`: Evaluation-Structure-Aware Greedy.
//!
//! **The idea.** In the linear model an evaluator's mean score over *all* items is `alpha_j *
//! E[r]`: proportional to its gain, by the same factor for all. Ranking does not mind a common
//! factor. So the gains can be read off the scores themselves, chosen or not, and the rewards are
//! never looked at: nothing that the choice could bias.
//!
//! **Assumes** `phi_j = alpha_j r + noise` without intercept, rewards of positive mean, independent
//! noise of known level (or levels that the one-factor model can estimate). An evaluator with an
//! offset is over-trusted, because its mean is taken for signal. With the `glm-` form the mean is
//! that of `g^-1(phi)`, which keeps a bias: noise does not average out through a curved g^-1.
//!
//! **In the paper:** Alg. 2 and Theorem 2 (regret of order sqrt(T)); the printed update is read as
//! the running mean. **Costs** O(J) an item; the state is J means and variances. With estimated
//! noise O(J^2).
//!
//! **Past the paper:** scores arrive *before* the choice, so the current round can be folded in
//! first (`current_round=true`): it removes the blind first round. An item with missing scores is
//! ranked by its posterior mean given the present ones, with the prior that the spread of the
//! scores implies. That spread matters only where scores are missing, so it is learnt only from
//! rounds where some are.

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

    /// Rewards are not used, unless the noise levels are estimated from them.
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

/// Below this share of the scores' variance the signal is rounding error, and says nothing of the
/// reward.
const LEAST_SIGNAL: f64 = 1e-9;

impl Esag {
    /// The reward distribution in units of its mean, from the spread of the scores: `Var(phi_j) =
    /// alpha_j^2 Var(r) + sigma_j^2`, summed over the evaluators.
    fn prior(&self, gains: &Gains) -> NormalPrior {
        let (mut signal, mut scale, mut spread) = (0.0, 0.0, 0.0);
        for (j, (&alpha, &sigma)) in gains.alpha.iter().zip(&gains.sigma).enumerate() {
            if let Some(variance) = self.state.spread.covariance(j, j).filter(|_| sigma.is_finite()) {
                signal += variance - sigma * sigma;
                scale += alpha * alpha;
                spread += variance;
            }
        }
        // Where no signal was found, sigma is the spread itself, and the difference is rounding: a
        // flat prior, not one of zero width.
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

    /// If the scores have nothing in common, no noise level is below the spread, and the rounding
    /// error between the two must not become a prior: one missing score must not make all values
    /// equal.
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
