//! Answer bodies with items: a page of a list, and one item in detail.

use super::super::finite;
use super::IntervalEstimate;
use crate::time::Time;
use jurybox_server::{ExplainedItem, ItemState, ListedItem};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Whether an item waits, is held by a reviewer, or is closed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemStage {
    Pending,
    Leased,
    Closed,
}

/// An item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Item {
    id: String,
    state: ItemStage,
    #[schema(value_type = String, format = DateTime)]
    arrived: Time,
    /// The value by which the item is ranked now; null if it is closed or has no score.
    value: Option<f64>,
    /// Scores by evaluator; null for a missing score.
    scores: BTreeMap<String, Option<f64>>,
    tags: BTreeMap<String, String>,
    /// From this time on, the item comes before all items that are not due.
    #[schema(value_type = Option<String>, format = DateTime)]
    due: Option<Time>,
}

impl Item {
    pub(crate) fn new(item: ListedItem, names: &[String]) -> Item {
        Item {
            id: item.id,
            state: match item.stands {
                ItemState::Pending => ItemStage::Pending,
                ItemState::Leased => ItemStage::Leased,
                ItemState::Closed => ItemStage::Closed,
            },
            arrived: Time(item.arrived),
            value: item.value.and_then(finite),
            scores: names.iter().cloned().zip(item.scores).collect(),
            tags: item.tags,
            due: item.due.map(Time),
        }
    }
}

/// A page of items.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemPage {
    pub(crate) items: Vec<Item>,
    /// The number to pass as `after` for the next page; null on the last page.
    pub(crate) next: Option<u64>,
    /// The ranking model, named by the last log entry that it learnt from.
    pub(crate) model: u64,
}

/// A current verdict on an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemVerdict {
    id: String,
    reviewer: String,
    reward: f64,
    label: Option<String>,
    /// The reviewer's note.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Whether the reviewer had judged the item before and may have seen the prediction: the
    /// verdict follows an undo or revises another.
    seen: bool,
}

/// A reviewer's lease of an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemLease {
    reviewer: String,
    #[schema(value_type = String, format = DateTime)]
    until: Time,
}

/// How an item's value comes about.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// The part of the value that no evaluator contributes; null if the policy cannot tell.
    base: Option<f64>,
    /// Contributions to the value by evaluator; null if the policy cannot tell.
    contributions: Option<BTreeMap<String, Option<f64>>>,
    /// The predicted reward with a 90% interval; null if the policy cannot tell.
    predicted: Option<IntervalEstimate>,
}

/// An item in detail.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemDetail {
    #[serde(flatten)]
    item: Item,
    /// The content shown to reviewers; null if the item has none.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
    verdicts: Vec<ItemVerdict>,
    leases: Vec<ItemLease>,
    /// The probability with which the item was chosen for a random check; null if it was not
    /// chosen.
    random_check_probability: Option<f64>,
    /// The ranking model, named by the last log entry that it learnt from.
    model: u64,
    /// Present if the request has `explain=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

impl ItemDetail {
    pub(crate) fn new(explained: ExplainedItem, names: &[String], explain: bool) -> Self {
        let ExplainedItem {
            item,
            payload,
            verdicts,
            leases,
            random_check: random_check_probability,
            model,
            contributions,
            predicted,
            ..
        } = explained;
        let explanation = explain.then(|| Explanation {
            base: contributions.as_ref().and_then(|explained| finite(explained.base)),
            contributions: contributions
                .map(|explained| names.iter().cloned().zip(explained.each.into_iter().map(finite)).collect()),
            predicted: predicted.map(Into::into),
        });
        let verdict = |judged: jurybox_server::VerdictOnItem| ItemVerdict {
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
            random_check_probability,
            model,
            explanation,
        }
    }
}
