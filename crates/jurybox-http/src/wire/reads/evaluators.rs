//! What was learnt about each evaluator.

use super::super::finite;
use super::IntervalEstimate;
use crate::time::Time;
use jurybox::Alarm;
use jurybox_server::Evaluated;
use serde::Serialize;
use utoipa::ToSchema;

/// The evaluators of a queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluatorList {
    /// The entry of the log up to which the model that ranks has learnt.
    pub(crate) model: u64,
    /// Verdicts that the model has learnt from.
    pub(crate) learnt_from: u64,
    /// What is to be doubted of what was learnt, in words: verdicts that are all alike, or evaluators that together point the wrong way.
    pub(crate) diagnostics: Vec<String>,
    /// What has changed about the verdicts themselves: what they say of items with such scores is not what it was.
    pub(crate) drift: Vec<DriftAlarm>,
    pub(crate) evaluators: Vec<EvaluatorDetail>,
}

/// What is known of an evaluator.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluatorDetail {
    name: String,
    /// Whether its scores count for nothing in the order, for now (`muted` of the queue).
    muted: bool,
    /// The weight that the order is by, where weights are fixed (`weights` of the queue); null where it is by what was learnt.
    fixed: Option<f64>,
    /// What a unit of its score adds to an item's value by what was learnt; null where the policy cannot say. While verdicts are few it is
    /// drawn towards a guess from the scores alone; without any (`learnt_from` is 0) it is that guess.
    weight: Option<f64>,
    /// An interval of 90 % for the weight: in 90 of 100 cases it holds what least squares would give if every item judged had
    /// been judged endlessly often. It is about those items: the line through all items is another one where they were picked as the
    /// best and verdicts bend with the scores, as yes and no do. Null where the policy cannot say, or the verdicts so far cannot: it
    /// takes two more of them than there are evaluators, rewards that differ, and scores that vary and do not follow from others'.
    interval: Option<IntervalEstimate>,
    /// Its noise as the policy reckons it; null where it does not.
    noise: Option<f64>,
    /// The share of items that came in which it has scored.
    coverage: Option<f64>,
    /// The evaluator whose scores go most with its own, among all items that came in.
    redundancy: Option<Redundancy>,
    /// What has changed about it.
    drift: Vec<DriftAlarm>,
}

/// Another evaluator that says the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Redundancy {
    with: String,
    correlation: f64,
}

/// A change in an evaluator, or in the verdicts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DriftAlarm {
    /// What changed: `spread` is the logarithm of the variance of its scores, `agreement` Fisher's z of their correlation with
    /// the other evaluators', `varying` the share of rounds in which its scores differ from one another at all. Of verdicts, `reward` is how far they are above what was expected of their items, `slope` how much more they are where one more was
    /// expected.
    #[schema(value_type = String)]
    statistic: serde_json::Value,
    /// Since when it is different: of an evaluator as nearly as it could be told when the alarm was raised, so that it stays as it is while the alarm
    /// lasts; of verdicts the first round that may have been different, as far as that is known now.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// The first round that surely was different, as far as that is known now: to the round while a change is new, to a quarter of its age later.
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// When the alarm about this evaluator was raised; null where the log cannot tell, and of verdicts.
    #[schema(value_type = Option<String>, format = DateTime)]
    raised: Option<Time>,
    /// The entry of the log whose model raised it, so that it can be checked.
    entry: Option<u64>,
    /// The mean reading before.
    before: Option<f64>,
    /// The mean reading since.
    after: Option<f64>,
    /// One less the probability that chance alone would show as much, ever, however often one looks.
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

impl From<Evaluated> for EvaluatorDetail {
    fn from(evaluator: Evaluated) -> Self {
        let drift = |(at, alarm): (usize, &Alarm)| {
            let raised = evaluator.raised.get(at).copied().flatten();
            let told = DriftAlarm::from(alarm);
            DriftAlarm {
                since: evaluator.since(at).map_or(told.since, Time),
                raised: raised.map(|raised| Time(raised.at)),
                entry: raised.map(|raised| raised.entry),
                ..told
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
