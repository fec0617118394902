//! Items in their order, and one with all that is known of it.

use super::super::finite;
use super::IntervalEstimate;
use crate::time::Time;
use jurybox_server::{Explained, Listed, Stands};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How an item stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemState {
    Pending,
    Leased,
    Closed,
}

/// An item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Item {
    id: String,
    state: ItemState,
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
                Stands::Pending => ItemState::Pending,
                Stands::Leased => ItemState::Leased,
                Stands::Closed => ItemState::Closed,
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
    predicted: Option<IntervalEstimate>,
}

/// An item with everything that is known of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemDetail {
    #[serde(flatten)]
    item: Item,
    /// What the reviewer is shown.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
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

impl ItemDetail {
    pub(crate) fn new(told: Explained, names: &[String], explain: bool) -> Self {
        let Explained { item, payload, verdicts, leases, audit, model, contributions, predicted, .. } = told;
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
        ItemDetail {
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
