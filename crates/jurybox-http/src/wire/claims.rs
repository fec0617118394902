//! Claims: who is given what, for how long.

use super::{Name, TagFilter};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A reviewer who wants the next items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewClaim {
    pub(crate) reviewer: Name,
    /// How many; as many as the queue says where it is left out.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) k: Option<u32>,
    /// Only items with these tags.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) tags: TagFilter,
}

/// What a reviewer was given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Claims {
    /// The entry of the log up to which the model that ranked had learnt.
    pub(crate) model: u64,
    /// The items, best first; fewer than asked for, or none, where there are no more.
    pub(crate) claims: Vec<Claimed>,
}

/// What a reviewer holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Held {
    pub(crate) claims: Vec<HeldItem>,
}

/// An item that a reviewer holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldItem {
    item: String,
    token: u64,
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// What the reviewer is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
}

impl From<jurybox_server::Claimed> for HeldItem {
    fn from(claim: jurybox_server::Claimed) -> Self {
        let jurybox_server::Claimed { item, token, until, payload, .. } = claim;
        HeldItem { item, token, until: Time(until), payload }
    }
}

/// An item that a reviewer was given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Claimed {
    item: String,
    /// What a verdict on it comes with.
    token: u64,
    /// Until when it is the reviewer's own.
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// The place in the claim, from 1.
    rank: u32,
    /// What it was ranked by; null where it has no score and comes last.
    value: Option<f64>,
    /// The probability with which it was to be looked at.
    probability: f64,
    /// Whether it was an audit.
    explored: bool,
    /// What the reviewer is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
}

impl From<jurybox_server::Claimed> for Claimed {
    fn from(claim: jurybox_server::Claimed) -> Self {
        let jurybox_server::Claimed {
            item, token, until, rank, value, probability, explored, payload, ..
        } = claim;
        let value = value.is_finite().then_some(value);
        Claimed { item, token, until: Time(until), rank, value, probability, explored, payload }
    }
}

/// Items that a reviewer keeps for another while, or gives back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Released {
    pub(crate) reviewer: Name,
    /// Which; all that the reviewer holds where none are named. Those that are not held any more are passed over.
    #[serde(default)]
    #[schema(max_items = 1000)]
    pub(crate) items: Vec<Name>,
}

/// An item that a reviewer gives back, and does not want again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skip {
    pub(crate) reviewer: Name,
    pub(crate) item: Name,
    /// Why, for the log.
    pub(crate) reason: Name,
}
