//! The result of an off-policy evaluation as a document.

use super::verdict::cut;
use crate::replay::{ReplayOptions, ReviewLog};
use crate::reward_range::RewardRange;
use crate::rounded::RewardUnit;
use jurybox::Interval;
use serde::{Serialize, Serializer};

/// Estimated rewards of each policy; the document of `jurybox replay --probability --json`.
///
/// ```
/// fn best(outcome: &jurybox_lab::OffPolicy) -> Option<&str> {
///     let lines = outcome.policies.iter();
///     let known = lines.filter_map(|line| Some((line.reward_per_pick?.mean, line.name.as_str())));
///     known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffPolicy {
    /// Version of the document's format.
    pub version: u32,
    /// Always `estimated`; a replay has `replayed` or `unknown` here.
    pub method: &'static str,
    /// The estimator behind `reward_per_pick`.
    pub estimator: &'static str,
    /// The rows that a policy has learnt from when it picks.
    pub learnt_from: &'static str,
    /// The unit of the intervals.
    pub ci95_over: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Number of rows with a reward.
    pub reviewed: usize,
    /// Names of the evaluators.
    pub evaluators: Vec<String>,
    /// Number of rounds, which is also the horizon of policies with the option `horizon`.
    pub rounds: usize,
    /// Mean number of items in a round.
    pub items: f64,
    /// Picks in a round.
    pub k: usize,
    /// Seed of all random draws.
    pub seed: u64,
    /// Mean reward of the log's own picks.
    #[serde(serialize_with = "ci95")]
    pub logged: Interval,
    /// The least and the greatest possible reward; bounds and intervals depend on it.
    pub reward_range: (f64, f64),
    /// Source of `reward_range`, as a phrase.
    pub reward_range_from: &'static str,
    /// The policies under test.
    pub policies: Vec<OffPolicyLine>,
    /// References to compare the policies with.
    pub references: Vec<OffPolicyLine>,
    /// What limits the figures, as sentences.
    pub warnings: Vec<String>,
    #[serde(skip)]
    pub(super) unit: RewardUnit,
}

/// An interval in this document: `{"mean": x, "ci95": h, "low": a, "high": b}`.
///
/// h is the length of the longer side, so that x ± h holds the interval. Infinite numbers are null.
#[derive(Serialize)]
struct AsymmetricCi95 {
    mean: f64,
    ci95: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for AsymmetricCi95 {
    fn from(interval: Interval) -> AsymmetricCi95 {
        let Interval { mean, low, high } = interval;
        let known = |x: f64| x.is_finite().then_some(x);
        AsymmetricCi95 {
            mean,
            ci95: known((mean - low).max(high - mean)),
            low: known(low),
            high: known(high),
        }
    }
}

fn ci95<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    AsymmetricCi95::from(*interval).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "the shape that serde asks for")]
fn ci95_if_any<S: Serializer>(interval: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    interval.map(AsymmetricCi95::from).serialize(serializer)
}

/// The result of one policy: a figure, or else the reason why there is none, and bounds if
/// possible.
///
/// ```
/// fn is_believed(line: &jurybox_lab::OffPolicyLine) -> bool { line.reward_per_pick.is_some() }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffPolicyLine {
    /// The policy with its options, or the reference.
    pub name: String,
    /// Estimated mean reward of a pick. Null if the log has too little support for the policy.
    #[serde(serialize_with = "ci95_if_any")]
    pub reward_per_pick: Option<Interval>,
    /// Bounds that allow for any rewards of unreviewed rows. Null if there is a figure.
    pub bounds: Option<Bounds>,
    /// The figure minus the reward per pick of the log itself, paired by round. Null without a
    /// figure, for saved states, and if each row of the log stands for 1/p rows.
    #[serde(serialize_with = "ci95_if_any")]
    pub difference_to_logged: Option<Interval>,
    /// The share of the policy's picks with support in the log.
    pub overlap: Option<f64>,
    /// Effective number of rows behind the estimate.
    pub effective_rows: Option<f64>,
    /// The estimates of all estimators, with statistics of the weights.
    pub estimates: Option<Estimates>,
    /// The share of the policy's picks that may have no support in the log, which widens the
    /// interval. Zero if the log shows that every row that the policy may pick could be picked, and
    /// no reward is missing. Null without a figure.
    pub unsupported_share: Option<f64>,
    /// Width of the interval over that of Student's; above 1 because a log of this length may have
    /// missed rare rewards. Null without a figure, or if the interval allows for missing support.
    pub width_ratio: Option<f64>,
    /// The reason why there is no figure.
    pub why: Option<String>,
}

/// Bounds of a reward per pick. They hold in 95 of 100 cases if all rewards are in `reward_range`.
///
/// ```
/// let bounds = jurybox_lab::Bounds { low: 0.2, high: 0.9 };
/// assert!(bounds.low < bounds.high);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Estimates of a policy's reward per pick by different estimators.
///
/// ```
/// fn within_reach(estimates: &jurybox_lab::Estimates) -> bool { estimates.overlap > 0.9 }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimates {
    /// Inverse propensity scoring: unbiased if the logged probabilities are right, and wide.
    #[serde(serialize_with = "ci95")]
    pub inverse_propensity: Interval,
    /// Self-normalised inverse propensity scoring. Null if the log reviewed no row that the policy
    /// may pick.
    #[serde(serialize_with = "ci95_if_any")]
    pub self_normalised: Option<Interval>,
    /// Doubly robust, with a regression on other rounds.
    #[serde(serialize_with = "ci95")]
    pub doubly_robust: Interval,
    /// Doubly robust with normalised weights. Null if all weights are zero.
    #[serde(serialize_with = "ci95_if_any")]
    pub self_normalised_doubly_robust: Option<Interval>,
    /// Doubly robust with weights clipped at `clip`.
    #[serde(serialize_with = "ci95")]
    pub clipped: Interval,
    /// The largest weight that is not clipped.
    pub clip: f64,
    /// The largest possible bias of `clipped`.
    pub clipping_bias_at_most: f64,
    /// The share of the policy's picks with support in the log.
    pub overlap: f64,
    /// Mean weight: one, up to chance, if the log can pick whatever the policy may.
    #[serde(serialize_with = "ci95")]
    pub mean_weight: Interval,
    /// Effective number of rows behind the estimates.
    pub effective_rows: f64,
}

impl OffPolicy {
    pub(super) fn new(
        log: &ReviewLog,
        rounds: &[Vec<usize>],
        options: &ReplayOptions,
        logged: Interval,
        range: RewardRange,
    ) -> OffPolicy {
        let rows: usize = rounds.iter().map(Vec::len).sum();
        OffPolicy {
            version: 2,
            method: "estimated",
            estimator: "doubly robust",
            learnt_from: "the log's earlier rounds",
            ci95_over: "rounds",
            rows: log.rows(),
            reviewed: log.labelled(),
            evaluators: log.evaluators.names().map(Into::into).collect(),
            rounds: rounds.len(),
            items: rows as f64 / rounds.len() as f64,
            k: options.k,
            seed: options.seed,
            logged: if range.known { cut(logged, range.low, range.high) } else { logged },
            reward_range: (range.low, range.high),
            reward_range_from: range.from,
            policies: Vec::new(),
            references: Vec::new(),
            warnings: Vec::new(),
            unit: RewardUnit::within(&log.rewards, range),
        }
    }
}

impl OffPolicyLine {
    pub(super) fn without_figure(name: &str, why: String) -> OffPolicyLine {
        OffPolicyLine {
            name: name.into(),
            reward_per_pick: None,
            bounds: None,
            difference_to_logged: None,
            unsupported_share: None,
            width_ratio: None,
            overlap: None,
            effective_rows: None,
            estimates: None,
            why: Some(why),
        }
    }
}
