//! The answer body with the learnt weights, noise and drift of each evaluator.

use super::super::finite;
use super::IntervalEstimate;
use crate::time::Time;
use jurybox::Alarm;
use jurybox_server::EvaluatorSummary;
use serde::Serialize;
use utoipa::ToSchema;

/// The evaluators of a queue, with diagnostics of the fit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluatorList {
    /// The model that ranks, named by the last log entry it learnt from.
    pub(crate) model: u64,
    /// How many verdicts the model has learnt from.
    pub(crate) learnt_from: u64,
    /// Diagnostics of the fit, in words, such as verdicts that are all alike.
    pub(crate) diagnostics: Vec<String>,
    /// Confirmed changes in the verdicts: items with the same scores are judged differently than
    /// before.
    pub(crate) drift: Vec<DriftAlarm>,
    pub(crate) evaluators: Vec<EvaluatorDetail>,
}

/// The learnt properties of an evaluator.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluatorDetail {
    name: String,
    /// Whether the evaluator's scores are ignored in the ranking (the queue's setting `muted`).
    muted: bool,
    /// The evaluator's fixed weight (the queue's setting `weights`); null if the queue has none.
    fixed: Option<f64>,
    /// How much one unit of the score adds to an item's learnt value; null if the policy cannot
    /// tell. With few verdicts it is close to a guess from the scores alone, and with none it is
    /// that guess.
    weight: Option<f64>,
    /// A 90% interval for the least-squares weight on the reviewed items; null if it is not known
    /// yet. Top-ranked items are reviewed most, so the weight on all items may differ.
    interval: Option<IntervalEstimate>,
    /// The policy's estimate of the evaluator's noise; null if the policy has none.
    noise: Option<f64>,
    /// The share of items that have the evaluator's score, over a sample of all items.
    coverage: Option<f64>,
    /// The other evaluator with the strongest correlation of scores, over a sample of all items.
    /// Null for more than 100 evaluators, or without any correlation.
    redundancy: Option<Redundancy>,
    /// Confirmed changes of this evaluator.
    drift: Vec<DriftAlarm>,
}

/// Another evaluator, and the correlation of its scores with this evaluator's scores.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Redundancy {
    with: String,
    correlation: f64,
}

/// A drift alarm: a confirmed change of an evaluator or of the verdicts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DriftAlarm {
    /// The statistic that changed. Of an evaluator: `spread`, the logarithm of the variance of its
    /// scores; `agreement`, Fisher's z of their correlation with the other evaluators' scores;
    /// `varying`, the share of rounds with different scores. Of verdicts: `reward`, their mean
    /// difference from predictions; `slope`, how that difference grows with the prediction.
    #[schema(value_type = String)]
    statistic: serde_json::Value,
    /// The first round that may belong to the change. For an evaluator, it is the estimate made
    /// when the alarm began, which stays the same; for verdicts, the current estimate.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// The first round that is certainly after the change, by current data.
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// When the alarm about the evaluator began. Null if the log cannot tell, and for verdicts.
    #[schema(value_type = Option<String>, format = DateTime)]
    raised: Option<Time>,
    /// The log entry whose model raised the alarm. Null if the log cannot tell, and for verdicts.
    entry: Option<u64>,
    /// The mean of the statistic before the change.
    before: Option<f64>,
    /// The mean of the statistic since the change.
    after: Option<f64>,
    /// 1 minus the probability that chance alone would ever raise such an alarm.
    confidence: f64,
}

impl From<&Alarm> for DriftAlarm {
    fn from(alarm: &Alarm) -> Self {
        let time = |seconds: u64| Time(seconds.cast_signed().saturating_mul(1_000_000));
        DriftAlarm {
            statistic: serde_json::json!(alarm.reading),
            since: time(alarm.since),
            until: time(alarm.until),
            raised: None,
            entry: None,
            before: finite(alarm.before),
            after: finite(alarm.after),
            confidence: alarm.confidence,
        }
    }
}

impl From<EvaluatorSummary> for EvaluatorDetail {
    fn from(evaluator: EvaluatorSummary) -> Self {
        let drift = |(at, alarm): (usize, &Alarm)| {
            let raised = evaluator.raised.get(at).copied().flatten();
            let current = DriftAlarm::from(alarm);
            DriftAlarm {
                since: evaluator.since(at).map_or(current.since, Time),
                raised: raised.map(|raised| Time(raised.at)),
                entry: raised.map(|raised| raised.entry),
                ..current
            }
        };
        let drift = evaluator.alarms.iter().enumerate().map(drift).collect();
        EvaluatorDetail {
            name: evaluator.name,
            muted: evaluator.muted,
            fixed: evaluator.fixed,
            weight: evaluator.weight.and_then(finite),
            interval: evaluator.interval.map(Into::into),
            noise: evaluator.noise.and_then(finite),
            coverage: evaluator.coverage,
            redundancy: evaluator.closest.map(|(with, correlation)| Redundancy { with, correlation }),
            drift,
        }
    }
}
