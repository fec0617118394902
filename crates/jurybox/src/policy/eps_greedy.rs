//! `eps-greedy`, `eps-greedy-all`, `greedy` and their `glm-` forms: weights from the maximum
//! likelihood estimate of the gains.
//!
//! **The idea.** An item that is picked for its high scores is picked, in part, for their noise.
//! Gains estimated from such items are too high, the more so the noisier the evaluator (App. B of
//! the paper). Items drawn at random, whatever their scores, do not have this bias. The three
//! policies differ in the items that they learn from:
//!
//! - `eps-greedy` explores with probability eps and learns **from the explored items only** (Alg.
//!   1, Theorem 1: regret of order T^(2/3) in T rounds);
//! - `eps-greedy-all` explores in the same way and learns from every example (Alg. 3), which is
//!   faster but biased;
//! - `greedy` is `eps-greedy-all` with eps = 0.
//!
//! The paper is "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations".
//!
//! **Assumes** scores `phi_j = g(alpha_j r) + noise`, for gain alpha_j and reward r, with a known
//! link g and independent noise. **Costs** O(J) an example and an item for J evaluators. Moments
//! for estimated noise or missing scores cost O(J^2). With a nonlinear link, a fit also finds a
//! root for each evaluator.
//!
//! **Exploration.** eps = T^(-1/3) if `horizon=T` is set, otherwise t^(-1/3) in round t. `scale`
//! and `power` change it (the appendix uses 0.1 T^(-1/3) and 0.1 T^(-1/2)), and `eps` fixes it.
//! With `slots`, an exploring round draws only this number of its K picks at random.

use super::gains::{ByGains, Gains, NoiseState, SIGMA};
use super::{Entry, Exploration, Links, Needs, OptionEntry, OptionKind, Policy};
use crate::estimate::{Mle, Statistic};
use crate::link::Link;
use crate::options::{Count, Positive, Probability, Sigma};
use crate::pick::Example;
use crate::scores::Scores;
use crate::seen::Seen;
use serde::{Deserialize, Serialize};

/// `sigma`: noise levels. `lambda`: the ridge of the likelihood, 1/J by default. For the others see
/// the module's documentation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    sigma: Sigma,
    lambda: Option<Positive>,
    eps: Option<Probability>,
    horizon: Option<Count>,
    scale: Option<Positive>,
    power: Option<Probability>,
    slots: Option<Count>,
}

const LAMBDA: OptionEntry = OptionEntry {
    name: "lambda",
    kind: OptionKind::Number,
    default: "none",
    range: "above 0",
    help: "the ridge of the likelihood; one over the number of evaluators when not set",
    without: &[],
};

const GREEDY: &[OptionEntry] = &[SIGMA, LAMBDA];

const EXPLORING: &[OptionEntry] = &[
    SIGMA,
    LAMBDA,
    OptionEntry {
        name: "eps",
        kind: OptionKind::Number,
        default: "none",
        range: "0 to 1",
        help: "the probability that a round explores, fixed; goes without horizon, scale and power",
        without: &[],
    },
    OptionEntry {
        name: "horizon",
        kind: OptionKind::Count,
        default: "none",
        range: "from 1 on",
        help: "the number of rounds T, for eps = scale T^-power; the rounds so far when not set",
        without: &["eps"],
    },
    OptionEntry {
        name: "scale",
        kind: OptionKind::Number,
        default: "1",
        range: "above 0",
        help: "the factor of eps = scale T^-power",
        without: &["eps"],
    },
    OptionEntry {
        name: "power",
        kind: OptionKind::Number,
        default: "0.3333333333333333",
        range: "0 to 1",
        help: "the power of eps = scale T^-power",
        without: &["eps"],
    },
    OptionEntry {
        name: "slots",
        kind: OptionKind::Count,
        default: "none",
        range: "from 1 on",
        help: "how many of the K places an exploring round draws at random; all when not set",
        without: &[],
    },
];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    mle: Mle,
    noise: NoiseState,
}

/// The examples that a policy learns from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Samples {
    Explored,
    All,
}

#[derive(Debug, Clone)]
pub(crate) struct EpsGreedy {
    link: Link,
    samples: Samples,
    explores: bool,
    options: Options,
    state: State,
    gains: Gains,
}

impl Policy for EpsGreedy {
    const ENTRIES: &'static [Entry] = &[
        Entry {
            name: "eps-greedy",
            links: Links::Identity,
            needs: Needs::Explored,
            assumes: "score = alpha * r + noise; explores whole rounds and learns gains from explored items only",
            paper: "Alg. 1, Theorem 1, identity link",
            options: EXPLORING,
        },
        Entry {
            name: "glm-eps-greedy",
            links: Links::Glm,
            needs: Needs::Explored,
            assumes: "score = g(alpha * r) + noise, g known; explores, and learns gains from explored items only",
            paper: "Alg. 1, Theorem 1",
            options: EXPLORING,
        },
        Entry {
            name: "eps-greedy-all",
            links: Links::Identity,
            needs: Needs::Nothing,
            assumes: "as eps-greedy, but learns from every pick: faster, with the bias of picking by the noise",
            paper: "Alg. 3, identity link",
            options: EXPLORING,
        },
        Entry {
            name: "glm-eps-greedy-all",
            links: Links::Glm,
            needs: Needs::Nothing,
            assumes: "as glm-eps-greedy, but learns from every pick: faster, with the bias of picking by the noise",
            paper: "Alg. 3",
            options: EXPLORING,
        },
        Entry {
            name: "greedy",
            links: Links::Identity,
            needs: Needs::Nothing,
            assumes: "eps-greedy-all that never explores",
            paper: "Greedy of the appendix, identity link",
            options: GREEDY,
        },
        Entry {
            name: "glm-greedy",
            links: Links::Glm,
            needs: Needs::Nothing,
            assumes: "glm-eps-greedy-all that never explores",
            paper: "GLM-Greedy of the appendix",
            options: GREEDY,
        },
    ];
    type Options = Options;
    type State = State;
    type Rank = ByGains;

    fn create(entry: &Entry, link: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        let explores = !entry.name.ends_with("greedy") || entry.name.ends_with("eps-greedy");
        let silent = Options { sigma: options.sigma.clone(), lambda: options.lambda, ..Options::default() };
        if !explores && options != silent {
            return Err(
                "it never explores; for eps, horizon, scale, power or slots use eps-greedy-all".into()
            );
        }
        if options.eps.is_some()
            && (options.horizon.is_some() || options.scale.is_some() || options.power.is_some())
        {
            return Err("eps fixes the exploration; it goes without horizon, scale and power".into());
        }
        let all = entry.name.ends_with("-all") || !explores;
        Ok(EpsGreedy {
            link,
            samples: if all { Samples::All } else { Samples::Explored },
            explores,
            gains: Gains::create(&options.sigma, evaluators)?,
            state: State {
                mle: Mle::new(evaluators, link),
                noise: NoiseState::new(&options.sigma, evaluators, link),
            },
            options,
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
        if self.looks_at_all() {
            self.state.noise.observe_all(scores)
        } else {
            self.state.noise.observe(scores)
        }
    }

    fn learns_from_scores(&self) -> bool {
        self.looks_at_all() || self.state.noise.learns_from_scores()
    }

    fn learn(&mut self, example: &Example<'_>, _: u64) -> bool {
        // Without a receipt the item may have been chosen for its scores.
        let explored = example.receipt.is_some_and(|receipt| receipt.explored);
        if self.samples == Samples::Explored && !explored {
            return false;
        }
        self.state.mle.learn(example.scores, example.reward);
        self.state.noise.learn(example.scores, example.reward);
        true
    }

    fn buffer(&self) -> ByGains {
        ByGains::new(self.link, &self.gains)
    }

    fn fit(&self, into: &mut ByGains) {
        let lambda = self.options.lambda.map_or(1.0 / self.gains.alpha.len() as f64, Positive::get);
        self.state.mle.solve(lambda, &mut into.gains.alpha, &mut into.equation);
        into.gains.update_sigma(&self.state.noise);
        let learnt = self.state.mle.reward_law();
        let all = self.state.noise.moments().filter(|_| self.looks_at_all());
        let prior = into.prior(all, &into.gains.alpha, learnt);
        into.gains.update_weights(prior);
    }

    fn count(&self, seen: &Seen, into: &mut ByGains) {
        into.exploration = self.exploration(seen);
    }
}

impl EpsGreedy {
    /// Whether the prior of the reward is estimated from the scores of all items. Not for a
    /// nonlinear link, and not if only explored items are learnt from, because their rewards have
    /// the distribution of all.
    fn looks_at_all(&self) -> bool {
        self.samples == Samples::All && self.link == Link::Identity
    }

    fn exploration(&self, seen: &Seen) -> Exploration {
        if !self.explores {
            return Exploration::NONE;
        }
        let rounds = self.options.horizon.map_or(seen.rounds.saturating_add(1), Count::get) as f64;
        let scale = self.options.scale.map_or(1.0, Positive::get);
        let power = self.options.power.map_or(1.0 / 3.0, Probability::get);
        let eps = self.options.eps.map_or_else(|| (scale * rounds.powf(-power)).min(1.0), Probability::get);
        Exploration { eps, slots: self.options.slots.map(|slots| slots.get() as usize) }
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        self.mle.merge(&other.mle);
        self.noise.merge(&other.noise);
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.mle.is_sound(evaluators) && self.noise.is_sound(evaluators)
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        State { mle: self.mle.with_columns(columns), noise: self.noise.with_columns(columns) }
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.mle.is_of_kind(&other.mle) && self.noise.is_of_kind(&other.noise)
    }
}
