//! The request and answer bodies of the API as types. The OpenAPI document is made from them.

mod claims;
mod items;
mod queues;
mod reads;
mod verdicts;
mod webhooks;

pub(crate) use claims::{ClaimAnswer, ClaimBody, ClaimEntry, ClaimLimit, HeldItems, LeasesBody, SkipBody};
pub(crate) use items::{CloseBody, ItemBody, ItemsAnswer, ItemsBody, RejectedItem, ScoresBody};
pub(crate) use queues::{
    QueueChange, QueueList, QueueProgress, QueueState, SettingsBody, config, shown_name,
};
pub use reads::report_document;
pub(crate) use reads::{
    EvaluatorList, EventPage, Item, ItemDetail, ItemPage, PreviewAnswer, PreviewBody, RankBody, RankedItem,
    RankedItems, ReportAnswer,
};
pub(crate) use verdicts::{SourceField, UndoAnswer, UndoBody, VerdictsAnswer, VerdictsBody};
pub(crate) use webhooks::{WebhookBody, WebhookList, WebhookState};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The most characters of an id, name or reason.
const LONGEST: usize = 512;

/// An id, a name or a reason: 1 to 512 characters, without the zero character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, min_length = 1, max_length = 512, pattern = r"^[^\x00]+$")]
pub(crate) struct Name(String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name.is_empty() {
            return Err("an id, a name or a reason is empty".into());
        }
        let long = name.chars().count();
        if long > LONGEST {
            let begin: String = name.chars().take(20).collect();
            return Err(format!("`{begin}…` has {long} characters, more than {LONGEST}"));
        }
        if name.contains('\0') {
            return Err(format!("{name:?} has a zero character"));
        }
        Ok(Name(name))
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A whole number from 0 to 2^53 - 1, which JSON represents exactly.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct JsonInteger(pub(crate) u64);

impl TryFrom<u64> for JsonInteger {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        const MOST: u64 = (1 << 53) - 1;
        if number <= MOST { Ok(JsonInteger(number)) } else { Err(format!("{number} is more than {MOST}")) }
    }
}

/// A number as JSON can hold it: None for NaN and infinities, 0 for -0.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value + 0.0)
}

/// A filter of items. An item fits if, for each tag named, it has one of the values.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub(crate) struct TagFilter(#[schema(inline)] BTreeMap<String, Vec<String>>);

impl From<TagFilter> for jurybox_server::Filter {
    fn from(filter: TagFilter) -> Self {
        jurybox_server::Filter(filter.0)
    }
}

/// How many items a request has changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangedCount {
    pub(crate) changed: u64,
}

#[cfg(test)]
mod tests {
    use super::finite;

    #[test]
    fn numbers_are_written_as_json_has_them() {
        let written = |value: f64| serde_json::to_string(&finite(value)).unwrap();
        assert_eq!(
            [-0.0, 0.0, -1.5, f64::NAN, f64::INFINITY].map(written),
            ["0.0", "0.0", "-1.5", "null", "null"]
        );
    }
}
