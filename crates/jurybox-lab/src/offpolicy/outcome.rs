//! What an off-policy estimate says, as one document.

use super::verdict::cut;
use crate::replay::{ReplayOptions, ReviewLog};
use crate::reward_range::RewardRange;
use jurybox::Interval;
use serde::{Serialize, Serializer};

/// What each policy would have earned, estimated from a log; the document of `jurybox replay --probability --json`.
///
/// ```
/// fn best(outcome: &jurybox_lab::OffPolicy) -> Option<&str> {
///     let known = outcome.policies.iter().filter_map(|line| Some((line.reward_per_pick?.mean, line.name.as_str())));
///     known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffPolicy {
    /// Which form of it.
    pub version: u32,
    /// `estimated`: as opposed to replayed.
    pub method: &'static str,
    /// Which estimate `reward_per_pick` is.
    pub estimator: &'static str,
    /// What a policy has learnt when it comes to a round.
    pub learnt_from: &'static str,
    /// What the intervals are over.
    pub ci95_over: &'static str,
    /// Rows of the log.
    pub rows: usize,
    /// Rows with a reward.
    pub reviewed: usize,
    /// The evaluators.
    pub evaluators: Vec<String>,
    /// Rounds; also the horizon that policies are told.
    pub rounds: usize,
    /// Items of a round on average.
    pub items: f64,
    /// Picks of a round.
    pub k: usize,
    /// The seed.
    pub seed: u64,
    /// What the log itself earned per pick.
    #[serde(serialize_with = "ci95")]
    pub logged: Interval,
    /// The least and the greatest that a reward can be, which bounds and intervals rest on.
    pub reward_range: (f64, f64),
    /// Where `reward_range` is from.
    pub reward_range_from: &'static str,
    /// The policies asked for.
    pub policies: Vec<OffPolicyLine>,
    /// What to hold them against.
    pub references: Vec<OffPolicyLine>,
    /// What a person should know before believing any of it.
    pub warnings: Vec<String>,
}

/// An interval in this document: `{"mean": x, "ci95": h, "low": a, "high": b}`. Rare rewards have intervals that reach further to one side: h is
/// the longer side, so that x ± h holds all of it. Where no interval is known, all but the mean are null.
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

/// One policy's result: a figure, or bounds, or a reason why there is neither.
///
/// ```
/// fn is_believed(line: &jurybox_lab::OffPolicyLine) -> bool { line.reward_per_pick.is_some() }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OffPolicyLine {
    /// The policy with its options, or the reference.
    pub name: String,
    /// What a pick would have been worth; null where the log cannot say.
    #[serde(serialize_with = "ci95_if_any")]
    pub reward_per_pick: Option<Interval>,
    /// Where no figure is given: bounds that hold whatever the rows were worth that the log did not look at.
    pub bounds: Option<Bounds>,
    /// The figure minus what the log earned, paired by round.
    #[serde(serialize_with = "ci95_if_any")]
    pub difference_to_logged: Option<Interval>,
    /// The share of the policy's picks that is within reach of the log.
    pub overlap: Option<f64>,
    /// How many rows' worth of evidence there is.
    pub effective_rows: Option<f64>,
    /// Every estimate, and what they rest on.
    pub estimates: Option<Estimates>,
    /// The share of the policy's picks that the log may never look at, as far as its weights tell; the interval of the figure
    /// counts it at its worst. Zero where every row carries its probability.
    pub unsupported_share: Option<f64>,
    /// How many times as wide as Student's the interval of the figure is, for rewards so rare or so uneven that a log of this
    /// length may have missed them; null where it was widened for other reasons.
    pub width_ratio: Option<f64>,
    /// Why there is no figure, or no bound.
    pub why: Option<String>,
}

/// A reward per pick is between these, 95 times of 100, if all rewards are within `reward_range`.
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

/// Estimates of what a policy would have earned, from picks that another made.
///
/// ```
/// fn within_reach(estimates: &jurybox_lab::Estimates) -> bool { estimates.overlap > 0.9 }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimates {
    /// By inverse propensity: unbiased where the logged probabilities are right, and wide.
    #[serde(serialize_with = "ci95")]
    pub inverse_propensity: Interval,
    /// Self-normalised inverse propensity; null where no pick of the log is one of the policy's.
    #[serde(serialize_with = "ci95_if_any")]
    pub self_normalised: Option<Interval>,
    /// Doubly robust, with a regression from other rounds.
    #[serde(serialize_with = "ci95")]
    pub doubly_robust: Interval,
    /// Doubly robust with normalised weights.
    #[serde(serialize_with = "ci95_if_any")]
    pub self_normalised_doubly_robust: Option<Interval>,
    /// Doubly robust with weights of at most `clip`.
    #[serde(serialize_with = "ci95")]
    pub clipped: Interval,
    /// The greatest weight that is not cut.
    pub clip: f64,
    /// The most by which the cut can have moved `clipped`.
    pub clipping_bias_at_most: f64,
    /// The share of the policy's picks that is within reach of the log.
    pub overlap: f64,
    /// One, up to chance, where the log can look wherever the policy would.
    #[serde(serialize_with = "ci95")]
    pub mean_weight: Interval,
    /// How many rows' worth of evidence there is.
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
            learnt_from: "the log's rounds before",
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
