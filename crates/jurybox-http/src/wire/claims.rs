//! Claims: who is given what, for how long.

use super::{Name, TagFilter};
use crate::time::Time;
use jurybox::toolbox::hash_text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A reviewer who wants the next items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    pub(crate) reviewer: Name,
    /// How many; as many as the queue says where it is left out. A key without the roles `read` and `admin` gets 100 at the most.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) k: Option<u32>,
    /// Only items with these tags.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) tags: TagFilter,
}

/// What a reviewer was given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimAnswer {
    /// The entry of the log up to which the model that ranked had learnt.
    pub(crate) model: u64,
    /// The items; fewer than asked for, or none, where there are no more. Best first for whoever may know that: with the role `read` or
    /// `admin`.
    pub(crate) claims: Vec<ClaimedItem>,
    /// Why there are fewer than asked for though the queue may have more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limited_by: Option<ClaimLimit>,
}

/// Why a claim has fewer items than were asked for.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimLimit {
    /// The key has neither the role `read` nor `admin`, and gets 100 items at the most.
    Role,
    /// The reviewer would hold more than `max_held` of the queue: judge some, or give some back.
    MaxHeld,
    /// The answer would have more than 8 MiB: claim again for more.
    Bytes,
}

impl From<jurybox_server::LimitedBy> for ClaimLimit {
    fn from(limit: jurybox_server::LimitedBy) -> Self {
        match limit {
            jurybox_server::LimitedBy::MaxHeld => ClaimLimit::MaxHeld,
            jurybox_server::LimitedBy::Bytes => ClaimLimit::Bytes,
        }
    }
}

/// What a reviewer holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldItems {
    pub(crate) claims: Vec<HeldItem>,
    /// How many more the reviewer holds than one answer (8 MiB) has room for; not there where these are all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left_out: Option<u64>,
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
pub(crate) struct ClaimedItem {
    item: String,
    /// What a verdict on it comes with.
    token: u64,
    /// Until when it is the reviewer's own.
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// The place in the claim, from 1. This and the next three are told to the roles `read` and `admin` alone: whoever reviews should not
    /// know what is expected of an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    /// What it was ranked by; null where it has no score and comes last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    #[expect(clippy::option_option, reason = "absent for reviewers, null for an item without a score")]
    value: Option<Option<f64>>,
    /// The probability with which it was to be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    /// Whether it was an audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    random_check: Option<bool>,
    /// What the reviewer is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
}

impl ClaimedItem {
    /// The items of a claim: as they are for whoever may see what is expected of them; else blind, and in an order that says nothing of it.
    pub(crate) fn all(mut claims: Vec<jurybox_server::Claimed>, sees: bool) -> Vec<ClaimedItem> {
        if !sees {
            claims.sort_by_cached_key(|claim| (hash_text(&claim.item), claim.item.clone()));
        }
        let one = |claim: jurybox_server::Claimed| ClaimedItem {
            item: claim.item,
            token: claim.token,
            until: Time(claim.until),
            rank: sees.then_some(claim.rank),
            value: sees.then(|| claim.value.is_finite().then_some(claim.value)),
            probability: sees.then_some(claim.probability),
            random_check: sees.then_some(claim.explored),
            payload: claim.payload,
        };
        claims.into_iter().map(one).collect()
    }
}

/// Items that a reviewer keeps for another while, or gives back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeasesBody {
    pub(crate) reviewer: Name,
    /// Which; all that the reviewer holds where none are named. Those that are not held any more are passed over.
    #[serde(default)]
    #[schema(max_items = 1000)]
    pub(crate) items: Vec<Name>,
}

/// An item that a reviewer gives back, and does not want again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkipBody {
    pub(crate) reviewer: Name,
    pub(crate) item: Name,
    /// Why, for the log.
    pub(crate) reason: Name,
}
