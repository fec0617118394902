//! Request and answer bodies of verdicts.

use super::items::{RejectedItem, UnreadableEntries, read_entries};
use super::{JsonInteger, Name};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Verdicts to record. A verdict with an error is refused; the others are recorded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the schema; each verdict is parsed by itself")]
pub(crate) struct VerdictsBody {
    pub(crate) verdicts: Vec<VerdictBody>,
}

impl VerdictsBody {
    /// Reads the verdicts of a body, apart from unreadable ones.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<VerdictBody>, UnreadableEntries), serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object with `verdicts`")]
        struct Several<'a> {
            #[serde(borrow)]
            verdicts: Vec<&'a RawValue>,
        }
        let several: Several<'_> = serde_json::from_slice(bytes)?;
        read_entries("verdicts", &several.verdicts)
    }
}

/// A verdict to record.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a verdict: an object with `id`, `item`, `reviewer` and `reward` or `label`"
)]
pub(crate) struct VerdictBody {
    /// Your id for the verdict. A verdict sent twice under its id counts once.
    id: Name,
    item: Name,
    reviewer: Name,
    /// The token of the claim, if the item was claimed.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    token: Option<JsonInteger>,
    /// The verdict as a number on the queue's scale (`reward`). Without a scale it must be from 0
    /// to 1, or within the range of earlier rewards. May be left out if the label has a reward.
    reward: Option<f64>,
    /// The verdict as a label, such as `harmful`.
    label: Option<Name>,
    /// A note for others who look at the item.
    note: Option<Name>,
    #[serde(default)]
    source: SourceField,
    /// The id of this reviewer's earlier verdict that this one replaces.
    revises: Option<Name>,
    /// When the verdict was given; by default now.
    #[schema(value_type = Option<String>, format = DateTime)]
    observed_at: Option<Time>,
}

/// Who gave a verdict.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SourceField {
    /// A person who looked at the item.
    #[default]
    Reviewer,
    /// A person who overrules earlier verdicts; needs the role `admin`.
    Appeal,
    /// A rule or a program. The verdict closes the item, and the jury does not learn from it. Needs
    /// the role `write` besides `review`.
    Automatic,
}

impl VerdictBody {
    pub(crate) fn reviewer(&self) -> &str {
        &self.reviewer
    }

    pub(crate) fn source(&self) -> SourceField {
        self.source
    }
}

impl From<VerdictBody> for jurybox_server::NewVerdict {
    fn from(verdict: VerdictBody) -> Self {
        jurybox_server::NewVerdict {
            id: verdict.id.into(),
            item: verdict.item.into(),
            reviewer: verdict.reviewer.into(),
            token: verdict.token.map(|token| token.0),
            reward: verdict.reward.unwrap_or_default(),
            by_label: verdict.reward.is_none(),
            label: verdict.label.map(Into::into),
            note: verdict.note.map(Into::into),
            source: match verdict.source {
                SourceField::Reviewer => jurybox_server::VerdictSource::Reviewer,
                SourceField::Appeal => jurybox_server::VerdictSource::Appeal,
                SourceField::Automatic => jurybox_server::VerdictSource::Automatic,
            },
            revises: verdict.revises.map(Into::into),
            observed_at: verdict.observed_at.map(|time| time.0),
        }
    }
}

/// The numbers of recorded, repeated and refused verdicts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VerdictsAnswer {
    /// How many verdicts are new.
    pub(crate) accepted: u64,
    /// How many were recorded before.
    pub(crate) repeated: u64,
    /// The verdicts that were refused.
    pub(crate) rejected: Vec<RejectedItem>,
}

/// A verdict to undo.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoBody {
    pub(crate) reviewer: Name,
    /// The id of the verdict.
    pub(crate) verdict: Name,
}

/// The item of an undone verdict, handed to the reviewer again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UndoAnswer {
    pub(crate) item: String,
    /// The token of the new claim.
    pub(crate) token: u64,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) until: Time,
}
