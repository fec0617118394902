//! What can be asked of `adaptive`.

use crate::options::{Count, Probability};
use serde::{Deserialize, Serialize};

/// Options of `adaptive`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    /// Labelled rows kept for the curved part; half as many unlabelled ones.
    pub(super) sample: Count,
    /// The probability that a round explores.
    pub(super) audit: Probability,
    /// How many places of an exploring round are drawn at random.
    pub(super) slots: Count,
    /// How many sets of weights are drawn from the posterior to choose by; 0 chooses by the mean.
    pub(super) draws: u64,
    /// Columns of evaluators where a low score means a high reward.
    pub(super) inverted: Vec<usize>,
    /// Whether to watch for drift and forget what no longer holds.
    pub(super) forget: bool,
    /// How bent the relation of a score to the reward may be.
    pub(super) curve: Curve,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Curve {
    /// Straight lines only.
    Linear,
    /// Straight lines and normal scores.
    Ranks,
    /// Those, and piecewise linear functions of the normal scores.
    Spline,
}

impl Default for Options {
    fn default() -> Self {
        let count = |n: u64| Count::try_from(n).expect("positive");
        Options {
            sample: count(1024),
            audit: Probability::try_from(0.0).expect("a probability"),
            slots: count(1),
            draws: 0,
            inverted: Vec::new(),
            forget: false,
            curve: Curve::Spline,
        }
    }
}
