//! Items that come in, and what becomes of them.

use super::{Name, TagFilter};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Scores by the names of evaluators; null or left out where missing.
pub(crate) type ScoresByName = BTreeMap<Name, Option<f64>>;

/// An item to take in.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewItem {
    /// Your name for it: sent again, it is the same item.
    id: Name,
    /// Its scores by the names of evaluators; null or left out where missing.
    #[serde(default)]
    scores: ScoresByName,
    /// What the reviewer is shown: any JSON.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<serde_json::Value>,
    /// Its tags, such as its language: claims can ask for them.
    #[serde(default)]
    tags: BTreeMap<Name, Name>,
    /// From when on it goes before all others.
    #[schema(value_type = Option<String>, format = DateTime)]
    due: Option<Time>,
}

impl From<NewItem> for jurybox_server::NewItem {
    fn from(item: NewItem) -> Self {
        jurybox_server::NewItem {
            id: item.id.into(),
            scores: item.scores.into_iter().map(|(name, score)| (name.into(), score)).collect(),
            payload: item.payload,
            tags: item.tags.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            due: item.due.map(|due| due.0),
        }
    }
}

/// Items to take in: several, or one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema; which of the two it is, is told by its fields when it is read")]
pub(crate) enum Items {
    Several(SeveralItems),
    One(NewItem),
}

/// Several items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeveralItems {
    #[schema(min_items = 0, max_items = 10_000)]
    pub(crate) items: Vec<NewItem>,
}

impl Items {
    /// Reads one or several. An error says what is wrong with the form that was meant.
    pub(crate) fn read(bytes: &[u8]) -> Result<Vec<NewItem>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Which {
            items: Option<serde::de::IgnoredAny>,
        }
        let which: Which = serde_json::from_slice(bytes)?;
        if which.items.is_some() {
            return Ok(serde_json::from_slice::<SeveralItems>(bytes)?.items);
        }
        Ok(vec![serde_json::from_slice(bytes)?])
    }
}

/// Further scores of an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewScores {
    /// By the names of evaluators; those that are null or left out stay as they are.
    pub(crate) scores: ScoresByName,
}

impl NewScores {
    pub(crate) fn of(self, id: String) -> jurybox_server::NewItem {
        let scores = self.scores.into_iter().map(|(name, score)| (name.into(), score)).collect();
        jurybox_server::NewItem { id, scores, ..Default::default() }
    }
}

/// What became of items.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ItemsAnswer {
    /// How many are new.
    pub(crate) accepted: u64,
    /// How many were there and have changed.
    pub(crate) updated: u64,
    /// How many were there and have not changed.
    pub(crate) unchanged: u64,
    /// Those that were not taken in.
    pub(crate) rejected: Vec<RejectedItem>,
}

/// What was not taken in, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RejectedItem {
    /// Its id, or its line where that could not be read.
    pub(crate) id: String,
    pub(crate) why: String,
}

impl From<jurybox_server::Rejected> for RejectedItem {
    fn from(rejected: jurybox_server::Rejected) -> Self {
        RejectedItem { id: rejected.id, why: rejected.why }
    }
}

/// Items to close without a verdict.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    /// Only those with these tags.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) tags: TagFilter,
    /// Only those that came in before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) before: Option<Time>,
    /// Why, for the log.
    pub(crate) reason: Name,
}
