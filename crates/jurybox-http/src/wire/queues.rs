//! Queues: how they are set up, and how they stand.
//!
//! A queue is set up by the very fields of [`jurybox_server::Change`] and shown by those of [`Config`]; the types here that are never
//! made say the same with its limits, for the OpenAPI document. A test holds the two together.

use super::Name;
use crate::problem::Problem;
use axum::http::StatusCode;
use jurybox_server::{Change, Config, Counts, Standing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Who scores.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the document")]
pub(crate) struct EvaluatorSettings {
    name: Name,
    /// Whether a high or a low score speaks for a high reward.
    #[schema(required = false)]
    direction: ScoreDirection,
}

/// Which way an evaluator's scores point; `high` where it is not said.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScoreDirection {
    High,
    Low,
}

/// A policy: its name, with options in brackets where there are any, or both apart.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for the document")]
pub(crate) enum PolicySettings {
    /// Such as `adaptive` or `adaptive(forget=true)`.
    Text(String),
    /// Such as `{"name": "adaptive", "options": {"forget": true}}`.
    Parts(PolicyParts),
}

/// A policy and its options.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the document")]
pub(crate) struct PolicyParts {
    name: String,
    #[schema(required = false)]
    options: serde_json::Map<String, serde_json::Value>,
}

/// Whether a queue takes items and gives them out.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QueueMode {
    /// Items come in and are claimed.
    Open,
    /// Items come in; nobody gets one.
    Paused,
    /// No item comes in; those there are given out.
    Draining,
}

/// What rewards lie within, and what words for them are worth.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the document")]
pub(crate) struct RewardSettings {
    #[schema(minimum = -1e100, maximum = 1e100)]
    lowest: f64,
    /// More than the lowest.
    #[schema(minimum = -1e100, maximum = 1e100)]
    highest: f64,
    /// Words that a verdict may say instead of a number, and what they are worth.
    #[schema(required = false)]
    labels: BTreeMap<String, f64>,
}

/// Which columns of the files that items come from are used for what. Commands that read files into the queue use these where nothing
/// else is said, and remember what is said.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the document")]
pub(crate) struct FileColumnRoles {
    /// The column with the items' ids.
    #[schema(min_length = 1)]
    id: String,
    /// Tags and the columns that have them; under `golden` the column with the right label or reward of golden items.
    #[schema(required = false)]
    tags: BTreeMap<String, String>,
    /// The columns that reviewers are shown.
    #[schema(required = false, max_items = 16384)]
    shown: Vec<String>,
}

/// What is to change in how a queue is set up; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the document")]
pub(crate) struct QueueChange {
    /// Who scores. Evaluators can come and go while a queue lives; one that stays keeps its direction.
    #[schema(min_items = 1, max_items = 2048)]
    evaluators: Option<Vec<EvaluatorSettings>>,
    policy: Option<PolicySettings>,
    /// How many items a claim gets that does not say.
    #[schema(minimum = 1, maximum = 1000)]
    k: Option<u32>,
    /// How long an item is a reviewer's own.
    #[schema(minimum = 1, maximum = 31_536_000)]
    lease_seconds: Option<u32>,
    /// How many distinct reviewers look at an item; where they disagree, more do.
    #[schema(minimum = 1, maximum = 9)]
    quorum: Option<u8>,
    /// How much an item's value grows a day while it waits.
    #[schema(minimum = 0, maximum = 1_000_000)]
    ageing_per_day: Option<f64>,
    /// The share of arriving items that are drawn to be looked at whatever their scores.
    #[schema(minimum = 0, maximum = 1)]
    audit_rate: Option<f64>,
    /// How much of a claim audits may take before the best come.
    #[schema(minimum = 0, maximum = 1)]
    audit_share: Option<f64>,
    /// After this many seconds an item is learnt from with the scores it has, though some are still missing.
    #[schema(minimum = 0, maximum = 31_536_000)]
    settle_seconds: Option<u32>,
    /// For this many seconds a verdict can be taken back as if it had not been given; then it is learnt from.
    #[schema(minimum = 0, maximum = 31_536_000)]
    undo_seconds: Option<u32>,
    /// After this many days payloads are deleted; 0 for never.
    #[schema(minimum = 0, maximum = 36_500)]
    payload_days: Option<u32>,
    /// The largest payload of an item, in bytes of JSON; 256 KiB in a new queue.
    #[schema(minimum = 1, maximum = 16_777_216)]
    max_payload: Option<u32>,
    /// How many items a reviewer can hold at once, or `k` where that is more; 100 in a new queue.
    #[schema(minimum = 1, maximum = 1_000_000)]
    max_held: Option<u32>,
    doors: Option<QueueMode>,
    /// The scale of rewards; null for none: then rewards lie within 0 to 1, or within those that the queue has taken. It cannot change so that a verdict that stands would not fit it.
    reward: Option<RewardSettings>,
    /// Evaluators whose scores count as missing in the order, by their names. They are learnt about all the while, so that one who is heard
    /// again counts as if it had always been.
    #[schema(max_items = 2048)]
    muted: Option<Vec<Name>>,
    /// Weights by which items are ranked instead of what was learnt, by the names of evaluators: the mean of the scores that are there, each
    /// with its weight. What was learnt is learnt on; empty for ranking by it again.
    weights: Option<BTreeMap<String, f64>>,
    columns: Option<FileColumnRoles>,
}

/// The configuration that a PUT asks for: what it says over the defaults.
pub(crate) fn config(mut change: Change) -> Result<Config, Problem> {
    let evaluators = change.evaluators.take().ok_or_else(|| {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "refused",
            "`evaluators` is missing: a queue must be told who scores",
            "Name them: {\"evaluators\": [{\"name\": \"spam\"}]}.",
        )
    })?;
    Ok(change.onto(Config::new(evaluators)))
}

/// How a queue is set up, and how it stands.
#[derive(Debug, Serialize)]
pub(crate) struct QueueState {
    #[serde(flatten)]
    config: Config,
    #[serde(flatten)]
    now: QueueStatus,
}

/// How a queue stands. The fields of its configuration are beside these.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueStatus {
    name: String,
    counts: QueueCounts,
    /// The last entry of its log.
    head: u64,
    /// The entry up to which the model that ranks has learnt.
    model: u64,
    /// Checkpoints that were found to differ. Anything but zero is an alarm.
    mismatches: u64,
    /// What somebody who has just changed it should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// How many there are of what.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueCounts {
    /// Items that ever came in.
    items: u64,
    /// Open, and in nobody's hands.
    pending: u64,
    /// Open, and in somebody's hands.
    leased: u64,
    closed: u64,
    /// Verdicts that stand.
    verdicts: u64,
}

impl QueueState {
    pub(crate) fn new(name: String, standing: Standing) -> Self {
        let Standing { config, counts, head, model, mismatches, .. } = standing;
        let Counts { items, pending, leased, closed, verdicts } = counts;
        let counts = QueueCounts { items, pending, leased, closed, verdicts };
        let warnings = Vec::new();
        QueueState { config, now: QueueStatus { name, counts, head, model, mismatches, warnings } }
    }

    /// With a word on evaluators that sat before and do not any more.
    pub(crate) fn after(mut self, before: &Config) -> Self {
        self.now.warnings = self.config.warnings_after(before);
        self
    }
}

/// The queues there are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueList {
    /// Their names, as far as the key that asks may see them.
    pub(crate) queues: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_fields_that_are_read() {
        let utoipa::openapi::RefOr::T(utoipa::openapi::schema::Schema::Object(object)) =
            <QueueChange as utoipa::PartialSchema>::schema()
        else {
            panic!("an object")
        };
        for name in object.properties.keys() {
            let refused = serde_json::from_value::<Change>(serde_json::json!({ name: [[]] })).unwrap_err();
            assert!(!refused.to_string().contains("unknown field"), "{name}: {refused}");
        }
        let every = r#"{"evaluators": [{"name": "a"}, {"name": "b"}], "payload_days": 1, "muted": ["b"], "weights": {"a": 1},
            "reward": {"lowest": 0, "highest": 1}, "columns": {"id": "post_id"}}"#;
        let config: Config = serde_json::from_str(every).unwrap();
        let shown = serde_json::to_value(config).unwrap();
        let mut fields: Vec<&String> = shown.as_object().unwrap().keys().collect();
        let mut said: Vec<&String> = object.properties.keys().collect();
        fields.sort();
        said.sort();
        assert_eq!(fields, said);
    }
}
