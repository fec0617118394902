//! Verdicts: what people found.

use super::items::{RejectedItem, UnreadableEntries, each};
use super::{Name, JsonInteger};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Verdicts to take in. What is wrong in one of them is told of that one; the others count.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema; each verdict is read for itself")]
pub(crate) struct VerdictsBody {
    pub(crate) verdicts: Vec<VerdictBody>,
}

impl VerdictsBody {
    /// Reads verdicts, and says which of them cannot be read.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<VerdictBody>, UnreadableEntries), serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object with `verdicts`")]
        struct Several<'a> {
            #[serde(borrow)]
            verdicts: Vec<&'a RawValue>,
        }
        let several: Several<'_> = serde_json::from_slice(bytes)?;
        each("verdicts", &several.verdicts)
    }
}

/// A verdict to take in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a verdict: an object with `id`, `item`, `reviewer` and `reward` or `label`"
)]
pub(crate) struct VerdictBody {
    /// Your name for it: sent twice, it counts once.
    id: Name,
    item: Name,
    reviewer: Name,
    /// The claim's token, where there was one.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    token: Option<JsonInteger>,
    /// What it was worth: a number on the queue's scale (`reward`); where it has none, from 0 to 1 or within the rewards that it has taken. It
    /// may be left out where that scale says what the label is worth.
    reward: Option<f64>,
    /// A word for what was found.
    label: Option<Name>,
    /// What the reviewer would have others know of it.
    note: Option<Name>,
    #[serde(default)]
    source: VerdictSource,
    /// The verdict of the same reviewer that it replaces, by its id.
    revises: Option<Name>,
    /// When it was given.
    #[schema(value_type = Option<String>, format = DateTime)]
    observed_at: Option<Time>,
}

/// Where a verdict comes from.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VerdictSource {
    /// A person who looked at the item.
    #[default]
    Reviewer,
    /// Somebody who decided over the verdicts there were; takes the role `admin`.
    Appeal,
    /// A rule or a program: it closes the item and teaches nothing; takes the role `write` as well.
    Automatic,
}

impl VerdictBody {
    pub(crate) fn reviewer(&self) -> &str {
        &self.reviewer
    }

    pub(crate) fn source(&self) -> VerdictSource {
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
                VerdictSource::Reviewer => jurybox_server::Source::Reviewer,
                VerdictSource::Appeal => jurybox_server::Source::Appeal,
                VerdictSource::Automatic => jurybox_server::Source::Automatic,
            },
            revises: verdict.revises.map(Into::into),
            observed_at: verdict.observed_at.map(|time| time.0),
        }
    }
}

/// What became of verdicts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VerdictsAnswer {
    /// How many are new.
    pub(crate) accepted: u64,
    /// How many had come before.
    pub(crate) repeated: u64,
    /// Those that were not taken in.
    pub(crate) rejected: Vec<RejectedItem>,
}

/// A verdict to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoBody {
    pub(crate) reviewer: Name,
    /// Which, by its id.
    pub(crate) verdict: Name,
}

/// The item of a verdict that was taken back: the reviewer's own again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UndoAnswer {
    pub(crate) item: String,
    /// The token of the new claim.
    pub(crate) token: u64,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) until: Time,
}
