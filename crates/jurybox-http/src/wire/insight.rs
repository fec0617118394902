//! Looking at a queue: its items in their order, its evaluators, what was found, what happened.

use super::items::{ScoresByName, once_each};
use super::queues::QueueChange;
use super::{Name, finite};
use crate::time::Time;
use jurybox::Interval;
use jurybox_server::{Evaluated, Explained, Found, Happened, Listed, Stands};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How an item stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemStands {
    Pending,
    Leased,
    Closed,
}

/// An item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Item {
    id: String,
    state: ItemStands,
    #[schema(value_type = String, format = DateTime)]
    arrived: Time,
    /// What it is ranked by now, where it is open and has a score.
    value: Option<f64>,
    /// By the names of evaluators; null where missing.
    scores: BTreeMap<String, Option<f64>>,
    tags: BTreeMap<String, String>,
    /// From when on it goes first.
    #[schema(value_type = Option<String>, format = DateTime)]
    due: Option<Time>,
}

impl Item {
    pub(crate) fn new(item: Listed, names: &[String]) -> Item {
        Item {
            id: item.id,
            state: match item.stands {
                Stands::Pending => ItemStands::Pending,
                Stands::Leased => ItemStands::Leased,
                Stands::Closed => ItemStands::Closed,
            },
            arrived: Time(item.arrived),
            value: item.value.and_then(finite),
            scores: names.iter().cloned().zip(item.scores).collect(),
            tags: item.tags,
            due: item.due.map(Time),
        }
    }
}

/// Items in an order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemPage {
    pub(crate) items: Vec<Item>,
    /// What to pass as `after` for the next ones; null where there are no more.
    pub(crate) next: Option<u64>,
    /// The entry of the log up to which the model that ranks has learnt.
    pub(crate) model: u64,
}

/// An interval around an estimate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Estimate {
    mean: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        Estimate { mean: finite(interval.mean), low: finite(interval.low), high: finite(interval.high) }
    }
}

/// A verdict that stands on an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemVerdict {
    id: String,
    reviewer: String,
    reward: f64,
    label: Option<String>,
    /// What the reviewer said beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Whether the reviewer had given a verdict on the item before, and may have seen what the jury thought: it follows one that was taken
    /// back, or revises one.
    seen: bool,
}

/// Somebody who has an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemLease {
    reviewer: String,
    #[schema(value_type = String, format = DateTime)]
    until: Time,
}

/// Why an item has its value.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// The value apart from what any score adds.
    base: Option<f64>,
    /// What each evaluator adds; null where the policy cannot say.
    contributions: Option<BTreeMap<String, Option<f64>>>,
    /// The reward that is expected, with an interval of 90 %; null where the policy cannot say.
    predicted: Option<Estimate>,
}

/// An item with everything that is known of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemInFull {
    #[serde(flatten)]
    item: Item,
    /// What the reviewer is shown.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<serde_json::Value>,
    verdicts: Vec<ItemVerdict>,
    leases: Vec<ItemLease>,
    /// The probability with which it was drawn for an audit, where it was.
    audit: Option<f64>,
    /// The entry of the log up to which the model that ranks has learnt.
    model: u64,
    /// Where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

impl ItemInFull {
    pub(crate) fn new(told: Explained, names: &[String], explain: bool) -> Self {
        let Explained { item, payload, verdicts, leases, audit, model, contributions, predicted } = told;
        let explanation = explain.then(|| Explanation {
            base: contributions.as_ref().and_then(|told| finite(told.base)),
            contributions: contributions
                .map(|told| names.iter().cloned().zip(told.each.into_iter().map(finite)).collect()),
            predicted: predicted.map(Into::into),
        });
        let verdict = |judged: jurybox_server::Judged| ItemVerdict {
            id: judged.id,
            reviewer: judged.reviewer,
            reward: judged.reward,
            label: judged.label,
            note: judged.note,
            seen: judged.seen,
        };
        ItemInFull {
            item: Item::new(item, names),
            payload,
            verdicts: verdicts.into_iter().map(verdict).collect(),
            leases: leases
                .into_iter()
                .map(|(reviewer, until)| ItemLease { reviewer, until: Time(until) })
                .collect(),
            audit,
            model,
            explanation,
        }
    }
}

/// Items to be ranked and not kept.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToRank {
    pub(crate) items: Vec<RankItem>,
    /// How many of the best to name; all where it is left out.
    #[schema(minimum = 1)]
    pub(crate) k: Option<u32>,
}

/// An item to be ranked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankItem {
    pub(crate) id: Name,
    /// By the names of evaluators; null or left out where missing.
    #[serde(default, deserialize_with = "once_each")]
    pub(crate) scores: ScoresByName,
}

/// Items in the order of their values.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RankedItems {
    pub(crate) model: u64,
    pub(crate) order: Vec<RankedItem>,
}

/// An item in its place.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RankedItem {
    pub(crate) id: String,
    /// From 1.
    pub(crate) rank: u32,
    /// Null where it has no score.
    pub(crate) value: Option<f64>,
}

/// The evaluators of a queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluatorList {
    /// The entry of the log up to which the model that ranks has learnt.
    pub(crate) model: u64,
    /// Verdicts that the model has learnt from.
    pub(crate) learnt_from: u64,
    /// What is to be doubted of what was learnt, in words: verdicts that are all alike, or evaluators that together point the wrong way.
    pub(crate) doubts: Vec<String>,
    pub(crate) evaluators: Vec<EvaluatorNow>,
}

/// What is known of an evaluator.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvaluatorNow {
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
    interval: Option<Estimate>,
    /// Its noise as the policy reckons it; null where it does not.
    noise: Option<f64>,
    /// The share of items that came in which it has scored.
    coverage: Option<f64>,
    /// The evaluator whose scores go most with its own, among all items that came in.
    redundancy: Option<Redundancy>,
    /// What has changed about it.
    drift: Vec<Drift>,
}

/// Another evaluator that says the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Redundancy {
    with: String,
    correlation: f64,
}

/// A change in an evaluator.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Drift {
    /// What changed: `spread` is the logarithm of the variance of its scores, `agreement` Fisher's z of their correlation with
    /// the other evaluators'.
    #[schema(value_type = String)]
    reading: serde_json::Value,
    /// Since when it is different, as nearly as it can be told.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// The mean reading before.
    before: Option<f64>,
    /// The mean reading since.
    after: Option<f64>,
    /// One less the probability that chance alone would show as much.
    confidence: f64,
}

impl From<Evaluated> for EvaluatorNow {
    fn from(evaluator: Evaluated) -> Self {
        EvaluatorNow {
            name: evaluator.name,
            muted: evaluator.muted,
            fixed: evaluator.fixed,
            weight: evaluator.weight.and_then(finite),
            interval: evaluator.interval.map(Into::into),
            noise: evaluator.noise.and_then(finite),
            coverage: evaluator.coverage,
            redundancy: evaluator.closest.map(|(with, correlation)| Redundancy { with, correlation }),
            drift: evaluator
                .alarms
                .into_iter()
                .map(|alarm| Drift {
                    reading: serde_json::json!(alarm.reading),
                    since: Time(alarm.since.cast_signed().saturating_mul(1_000_000)),
                    before: finite(alarm.before),
                    after: finite(alarm.after),
                    confidence: alarm.confidence,
                })
                .collect(),
        }
    }
}

/// A change to try without making it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preview {
    /// What would change in how the queue is set up, such as its policy or who scores.
    #[schema(value_type = QueueChange)]
    pub(crate) change: serde_json::Map<String, serde_json::Value>,
    /// Of how many of the best; as many as a claim gets where it is left out.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) k: Option<u32>,
}

/// Who would enter and leave the best K.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Previewed {
    pub(crate) k: u32,
    pub(crate) enter: Vec<String>,
    pub(crate) leave: Vec<String>,
    /// The best K as they would be, best first.
    pub(crate) best: Vec<String>,
}

/// What was found, and what may have been missed. Erased items are left out, save that they may have been worth anything.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Report {
    /// Items that came in.
    items: u64,
    /// Items that people have decided, golden ones aside.
    looked_at: u64,
    /// The sum of what they were found to be worth.
    caught: f64,
    /// The mean worth of the items that were given out for their value or their date, not drawn and not golden. Those that came back undecided
    /// (`given_back`) count at the worst they could be worth, at each end, and then `mean` is null: people may have judged the better ones.
    picked: MeanOf,
    /// How many of those came back undecided: skipped, given back, held until the lease ran out, closed by a rule, or waiting for a further verdict.
    given_back: u64,
    /// How many golden items people have decided: what they are was known before, and is not caught.
    golden: u64,
    /// The mean worth of those that people decided without having been given them.
    unasked: MeanOf,
    /// The mean worth of all items by those that were drawn on arrival (`audit_rate`): what random picks would find.
    random: MeanOf,
    /// The mean worth of the drawn items that the plain mean of the scores would have picked, as large a share of all as was picked.
    plain_mean: MeanOf,
    /// What those items are worth together that nobody has decided, by those that were drawn: an interval of 95 %. A drawn item that is not
    /// decided counts at the worst it could be worth, at each end. Null where nothing drawn is decided, or rewards have no scale.
    missed: Option<Estimate>,
    /// Why `missed` is null, and with it what is said of random picks and the plain mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'static str>,
    /// What became of the items that were drawn.
    drawn: DrawnItems,
    /// What rewards lie within: the queue's scale (`reward`), or else 0 and 1 and whatever else was given; then nothing is said of items that nobody has looked at.
    scale: RewardScale,
}

/// A mean over so many items.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MeanOf {
    items: u64,
    /// With an interval of 95 %; null where there are none. Where rewards have no scale, `low` and `high` are null: it is the mean of what
    /// was seen, and of nothing else.
    mean: Option<Estimate>,
}

/// What became of the items that were drawn on arrival.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DrawnItems {
    items: u64,
    /// By people.
    decided: u64,
    /// For somebody to decide them.
    waiting: u64,
    /// Without having been decided by people.
    closed: u64,
    erased: u64,
}

/// The lowest and the highest reward.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RewardScale {
    low: f64,
    high: f64,
}

impl From<Found> for Report {
    fn from(found: Found) -> Self {
        let mean =
            |share: jurybox_server::Share| MeanOf { items: share.items, mean: share.mean.map(Into::into) };
        let jurybox_server::Drawn { items, decided, waiting, closed, erased } = found.drawn;
        Report {
            items: found.items,
            looked_at: found.looked_at,
            caught: found.caught,
            picked: mean(found.picked),
            given_back: found.given_back,
            golden: found.golden,
            unasked: mean(found.unasked),
            random: mean(found.random),
            plain_mean: mean(found.plain_mean),
            missed: found.missed.map(Into::into),
            unknown: found.unknown,
            drawn: DrawnItems { items, decided, waiting, closed, erased },
            scale: RewardScale { low: found.scale.low, high: found.scale.high },
        }
    }
}

/// What happened, entry by entry.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Events {
    pub(crate) events: Vec<Event>,
    /// The number to pass as `after` for what happens next.
    pub(crate) next: u64,
}

/// An entry of the log; items that were erased since are left out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Event {
    seq: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// Who asked for it: the name of a key.
    actor: String,
    /// What happened: create, configure, items, claim, extend, release, verdicts, undo, close, erase, settle (time has passed, and what waited for that is so).
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewer: Option<String>,
    /// The items that it is about.
    items: Vec<String>,
    /// How many items it is about, those that were erased since included.
    many: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<EventVerdict>,
    /// The id of the verdict that was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// The settings that changed, as they are from here on; null where one is there no more.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    changed: BTreeMap<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A verdict that came in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventVerdict {
    id: String,
    item: String,
    reviewer: String,
    #[schema(value_type = String)]
    source: jurybox_server::Source,
    reward: f64,
    /// What the item is worth, where this verdict decides it.
    decides: Option<f64>,
}

impl From<Happened> for Event {
    fn from(happened: Happened) -> Self {
        let verdict = |(id, item, reviewer, source, reward, decides)| EventVerdict {
            id,
            item,
            reviewer,
            source,
            reward,
            decides,
        };
        Event {
            seq: happened.seq,
            at: Time(happened.at),
            actor: happened.actor,
            kind: happened.kind.into(),
            reviewer: happened.reviewer,
            items: happened.items,
            many: happened.many,
            verdict: happened.undone,
            changed: happened.changed,
            verdicts: happened.verdicts.into_iter().map(verdict).collect(),
            reason: happened.reason,
        }
    }
}
