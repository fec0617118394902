//! Bodies of two requests: ranking items without storing them, and previewing a change of settings.

use super::super::Name;
use super::super::items::{ScoresByName, unique_keys};
use super::super::queues::QueueChange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Items to rank without storing them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankBody {
    pub(crate) items: Vec<RankBodyItem>,
    /// How many of the best items to return; by default all.
    #[schema(minimum = 1)]
    pub(crate) k: Option<u32>,
}

/// An item to rank.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankBodyItem {
    pub(crate) id: Name,
    /// Scores by evaluator; a missing score is null or left out.
    #[serde(default, deserialize_with = "unique_keys")]
    pub(crate) scores: ScoresByName,
}

/// Ranked items, best first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RankedItems {
    pub(crate) model: u64,
    pub(crate) order: Vec<RankedItem>,
}

/// A ranked item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RankedItem {
    pub(crate) id: String,
    /// The rank, from 1.
    pub(crate) rank: u32,
    /// The item's value; null if it has no score.
    pub(crate) value: Option<f64>,
}

/// A change of settings to preview.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewBody {
    /// The settings that would change.
    #[schema(value_type = QueueChange)]
    pub(crate) change: serde_json::Map<String, serde_json::Value>,
    /// How many of the best items to compare; by default the queue's `k`.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) k: Option<u32>,
}

/// The items that would enter and leave the best K, the K items with the highest values.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviewAnswer {
    pub(crate) k: u32,
    pub(crate) enter: Vec<String>,
    pub(crate) leave: Vec<String>,
    /// The ids of the best K after the change, best first.
    pub(crate) best: Vec<String>,
}
