//! Items ranked and not kept, and a change of the queue tried and not made.

use super::super::Name;
use super::super::items::{ScoresByName, once_each};
use super::super::queues::QueueChange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Items to be ranked and not kept.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankBody {
    pub(crate) items: Vec<RankBodyItem>,
    /// How many of the best to name; all where it is left out.
    #[schema(minimum = 1)]
    pub(crate) k: Option<u32>,
}

/// An item to be ranked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankBodyItem {
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

/// A change to try without making it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewBody {
    /// What would change in how the queue is set up, such as its policy or who scores.
    #[schema(value_type = QueueChange)]
    pub(crate) change: serde_json::Map<String, serde_json::Value>,
    /// Of how many of the best; as many as a claim gets where it is left out.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) k: Option<u32>,
}

/// Who would enter and leave the best K.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviewAnswer {
    pub(crate) k: u32,
    pub(crate) enter: Vec<String>,
    pub(crate) leave: Vec<String>,
    /// The best K as they would be, best first.
    pub(crate) best: Vec<String>,
}
