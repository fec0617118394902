//! What can be asked of `adaptive`.

use crate::options::{Count, Probability};
use crate::policy::{OptionEntry, OptionKind};
use serde::{Deserialize, Serialize};

/// Options of `adaptive`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is said by its name, and none goes with another")]
pub(crate) struct Options {
    /// Labelled rows kept for the curved part; half as many unlabelled ones.
    pub(super) sample: Count,
    /// The probability that a round explores.
    pub(super) audit: Probability,
    /// How many places of an exploring round are drawn at random.
    pub(super) slots: Count,
    /// How many sets of weights are drawn from the posterior to choose by; 0 chooses by the mean.
    pub(super) draws: u64,
    /// Whether to forget what no longer holds when something has changed.
    pub(super) forget: bool,
    /// How much of the caller's time counts as one.
    pub(super) tick: Count,
    /// How bent the relation of a score to the reward may be.
    pub(super) curve: Curve,
    /// Whether rewards of few levels are fitted as such.
    pub(super) levels: bool,
    /// Whether trees may see what depends on several scores at once.
    pub(super) trees: bool,
    /// Whether it looks now and then at what nobody has met.
    pub(super) looks: bool,
}

/// The same as data.
pub(super) const OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "audit",
        kind: OptionKind::Number,
        default: "0",
        range: "0 to 1",
        help: "the probability that a round explores, so that what was missed can be estimated",
        without: &[],
    },
    OptionEntry {
        name: "slots",
        kind: OptionKind::Count,
        default: "1",
        range: "from 1 on",
        help: "how many of the K places an exploring round draws at random",
        without: &[],
    },
    OptionEntry {
        name: "draws",
        kind: OptionKind::Count,
        default: "0",
        range: "0 to 1024",
        help: "choose by one of so many posterior draws of the weights; 0 chooses by their mean",
        without: &[],
    },
    OptionEntry {
        name: "forget",
        kind: OptionKind::Flag,
        default: "true",
        range: "true, false",
        help: "leave out what is older than a change; alarms are raised in any case",
        without: &[],
    },
    OptionEntry {
        name: "tick",
        kind: OptionKind::Count,
        default: "1",
        range: "from 1 on",
        help: "how much time counts as one; nothing need be said: round numbers, seconds and microseconds all do",
        without: &[],
    },
    OptionEntry {
        name: "curve",
        kind: OptionKind::Word,
        default: "spline",
        range: "linear, ranks, spline",
        help: "how bent the relation of a score to the reward may be",
        without: &[],
    },
    OptionEntry {
        name: "levels",
        kind: OptionKind::Flag,
        default: "true",
        range: "true, false",
        help: "fit yes and no, and up to five marks, by probabilities instead of straight lines",
        without: &[],
    },
    OptionEntry {
        name: "trees",
        kind: OptionKind::Flag,
        default: "true",
        range: "true, false",
        help: "where rewards are numbers, see what depends on several scores at once; without, values are sums over the scores",
        without: &[],
    },
    OptionEntry {
        name: "looks",
        kind: OptionKind::Flag,
        default: "true",
        range: "true, false",
        help: "look now and then at what one evaluator scores highest and nobody has met; without, picks go by values alone",
        without: &[],
    },
    OptionEntry {
        name: "sample",
        kind: OptionKind::Count,
        default: "1024",
        range: "1 to 1048576",
        help: "labelled rows kept for what moments cannot tell; half as many unlabelled ones",
        without: &[],
    },
];

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
            forget: true,
            tick: count(1),
            curve: Curve::Spline,
            levels: true,
            trees: true,
            looks: true,
        }
    }
}
