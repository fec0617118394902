//! The answer body with entries of the activity log.

use super::super::queues::shown_name;
use crate::time::Time;
use jurybox_server::ActivityEntry;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Entries of the activity log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventPage {
    pub(crate) events: Vec<EventEntry>,
    /// The number to pass as `after`, to get the entries that follow.
    pub(crate) next: u64,
}

/// An entry of the activity log. Ids of items that were erased since are left out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventEntry {
    seq: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// Who caused the entry: the name of a key or of a person, or `local` for a server without
    /// keys.
    actor: String,
    /// The kind of entry: create, configure, items, claim, extend, release, verdicts, undo, close
    /// or erase; settle, when earlier verdicts can no longer be undone; clock, when the clock was
    /// set back.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewer: Option<String>,
    /// The ids of the items that the entry concerns.
    items: Vec<String>,
    /// How many items the entry concerns, including erased ones.
    many: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<EventVerdict>,
    /// The id of the verdict that was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// The settings that changed, with their new values; null for a setting that was removed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    changed: BTreeMap<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A verdict of an entry.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventVerdict {
    id: String,
    item: String,
    reviewer: String,
    #[schema(value_type = String)]
    source: jurybox_server::VerdictSource,
    reward: f64,
    /// The item's final reward, if this verdict decides it.
    decides: Option<f64>,
}

impl From<ActivityEntry> for EventEntry {
    fn from(happened: ActivityEntry) -> Self {
        let verdict = |(id, item, reviewer, source, reward, decides)| EventVerdict {
            id,
            item,
            reviewer,
            source,
            reward,
            decides,
        };
        let shown = |(name, value): (String, serde_json::Value)| (shown_name(&name).to_string(), value);
        EventEntry {
            seq: happened.seq,
            at: Time(happened.at),
            actor: happened.actor,
            kind: happened.kind.into(),
            reviewer: happened.reviewer,
            items: happened.items,
            many: happened.many,
            verdict: happened.undone,
            changed: happened.changed.into_iter().map(shown).collect(),
            verdicts: happened.verdicts.into_iter().map(verdict).collect(),
            reason: happened.reason,
        }
    }
}
