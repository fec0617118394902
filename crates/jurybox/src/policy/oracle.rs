//! `oracle`: the top K under the true gains and noise levels.
//!
//! **Assumes** that every gain alpha and every noise level sigma is given. **In the paper** ("Top K
//! Ranking for Multi-Armed Bandit with Noisy Evaluations"): Lemmas 1 and 2; regret is measured
//! against it. **Costs** O(J) an item for J evaluators. It learns nothing.

use super::gains::{ByGains, Gains, SIGMA};
use super::{Entry, Links, Needs, OptionEntry, OptionKind, Policy};
use crate::link::Link;
use crate::options::{Finite, Sigma};
use crate::weights::NormalPrior;
use serde::{Deserialize, Serialize};

/// `alpha`: one gain per evaluator. `sigma`: one noise level for all, or one per evaluator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    alpha: Vec<Finite>,
    sigma: Sigma,
}

const OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "alpha",
        kind: OptionKind::OnePerEvaluator,
        default: "required",
        range: "numbers, one per evaluator",
        help: "the gain of each evaluator",
        without: &[],
    },
    OptionEntry {
        default: "required",
        range: "a number above 0, or a list of them",
        help: "the noise level of each evaluator",
        ..SIGMA
    },
];

#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    link: Link,
    gains: Gains,
    nothing: (),
}

impl Policy for Oracle {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "oracle",
        links: Links::Any,
        needs: Needs::Nothing,
        assumes: "told every gain (alpha) and noise level (sigma); the yardstick for regret",
        paper: "Lemmas 1 and 2",
        options: OPTIONS,
    }];
    type Options = Options;
    type State = ();
    type Rank = ByGains;

    fn create(_: &Entry, link: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        if options.alpha.len() != evaluators {
            return Err(format!(
                "alpha has {} values for {evaluators} evaluators; give one each",
                options.alpha.len()
            ));
        }
        if matches!(options.sigma, Sigma::Unlabelled | Sigma::Labelled) {
            return Err("the oracle is told sigma; it does not estimate it".into());
        }
        let mut gains = Gains::create(&options.sigma, evaluators)?;
        gains.alpha = options.alpha.iter().map(|a| a.get()).collect();
        gains.update_weights(NormalPrior::default());
        Ok(Oracle { link, gains, nothing: () })
    }

    fn state(&self) -> &() {
        &self.nothing
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.nothing
    }

    fn link(&self) -> Link {
        self.link
    }

    fn buffer(&self) -> ByGains {
        ByGains::new(self.link, &self.gains)
    }

    /// Nothing to fit: gains and noise levels are given.
    fn fit(&self, _: &mut ByGains) {}
}
