//! Request and answer bodies of claims: items handed to a reviewer with a lease.

use super::{Name, TagFilter};
use crate::time::Time;
use jurybox::toolbox::hash_text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A claim: a reviewer asks for the next items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    pub(crate) reviewer: Name,
    /// How many items; by default the queue's `k`. Without the role `read` or `admin`, at most 100
    /// are handed out.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) k: Option<u32>,
    /// Only items with these tags.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) tags: TagFilter,
}

/// The items handed to a reviewer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimAnswer {
    /// The model that ranked the items, named by the last log entry it learnt from.
    pub(crate) model: u64,
    /// The items. For the roles `read` and `admin` the best comes first; for others the order does
    /// not depend on rank. Fewer than asked for, or none, if the queue has no more.
    pub(crate) claims: Vec<ClaimEntry>,
    /// Why there are fewer than asked for, although the queue may have more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limited_by: Option<ClaimLimit>,
}

/// Why a claim has fewer items than were asked for.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimLimit {
    /// The caller has neither the role `read` nor `admin`, and asked for more than 100 items.
    Role,
    /// The reviewer would hold more than the queue's `max_held`: judge or release some first.
    MaxHeld,
    /// The payloads would exceed 8 MiB: claim again for more.
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

/// The items that a reviewer holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldItems {
    pub(crate) claims: Vec<HeldItem>,
    /// How many items are not listed, because the answer would exceed 8 MiB. Absent if all are
    /// listed.
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
    /// The content shown to the reviewer. Absent if the item has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
}

impl From<jurybox_server::ClaimedItem> for HeldItem {
    fn from(claim: jurybox_server::ClaimedItem) -> Self {
        let jurybox_server::ClaimedItem { item, token, until, payload, .. } = claim;
        HeldItem { item, token, until: Time(until), payload }
    }
}

/// An item of a claim.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimEntry {
    item: String,
    /// The token to send along with the verdict.
    token: u64,
    /// When the lease ends.
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// The item's position in the claim, from 1. The fields `rank`, `value`, `probability` and
    /// `random_check` are absent without the role `read` or `admin`: a reviewer should judge
    /// without knowing them.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    /// The value that ranked the item; null for an item without scores, which comes last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    #[expect(clippy::option_option, reason = "absent for reviewers, null for an item without a score")]
    value: Option<Option<f64>>,
    /// The probability with which the item was chosen: 1, or the queue's rate for a random check.
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    /// Whether the item is a random check.
    #[serde(skip_serializing_if = "Option::is_none")]
    random_check: Option<bool>,
    /// The content shown to the reviewer. Absent if the item has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
}

impl ClaimEntry {
    /// The items of a claim. Without `sees`, they come without rank, value, probability and
    /// random-check mark, sorted by a hash of their ids.
    pub(crate) fn all(mut claims: Vec<jurybox_server::ClaimedItem>, sees: bool) -> Vec<ClaimEntry> {
        if !sees {
            claims.sort_by_cached_key(|claim| (hash_text(&claim.item), claim.item.clone()));
        }
        let one = |claim: jurybox_server::ClaimedItem| ClaimEntry {
            item: claim.item,
            token: claim.token,
            until: Time(claim.until),
            rank: sees.then_some(claim.rank),
            value: sees.then(|| claim.value.is_finite().then_some(claim.value)),
            probability: sees.then_some(claim.probability),
            random_check: sees.then_some(claim.random_check),
            payload: claim.payload,
        };
        claims.into_iter().map(one).collect()
    }
}

/// Leases to extend or to release.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeasesBody {
    pub(crate) reviewer: Name,
    /// The items; if empty, all that the reviewer holds. Items no longer held are ignored.
    #[serde(default)]
    #[schema(max_items = 1000)]
    pub(crate) items: Vec<Name>,
}

/// An item that a reviewer skips. It is not handed to this reviewer again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkipBody {
    pub(crate) reviewer: Name,
    pub(crate) item: Name,
    /// The reason, for the activity log.
    pub(crate) reason: Name,
}
