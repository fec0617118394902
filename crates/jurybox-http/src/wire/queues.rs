//! The settings and the state of a queue, as requests and answers have them.
//!
//! Settings are read and written under the names of the API. Three differ from the stored
//! names ([`RENAMED`]). Types that are never constructed describe nested settings and their limits
//! for the OpenAPI document. A test compares the top-level names of the document with those read
//! and written.

use super::Name;
use crate::problem::Problem;
use axum::http::StatusCode;
use jurybox::{Evaluators, Spec};
use jurybox_server::{Config, ConfigChange, FileColumns, ItemCounts, QueueMode, QueueStatus, VerdictScale};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// An evaluator: a source of scores for items.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the OpenAPI document")]
pub(crate) struct EvaluatorSettings {
    name: Name,
    /// Whether a high or a low score stands for a high reward; `high` by default.
    #[schema(required = false)]
    direction: ScoreDirection,
}

/// The direction of an evaluator's scores.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScoreDirection {
    High,
    Low,
}

/// A policy: a name with options in brackets, or name and options apart.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for the OpenAPI document")]
pub(crate) enum PolicySettings {
    /// A text, such as `adaptive` or `adaptive(forget=true)`.
    Text(String),
    /// Name and options, such as `{"name": "adaptive", "options": {"forget": true}}`.
    Parts(PolicyParts),
}

/// A policy and its options.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the OpenAPI document")]
pub(crate) struct PolicyParts {
    name: String,
    #[schema(required = false)]
    options: serde_json::Map<String, serde_json::Value>,
}

/// Whether a queue accepts items and hands them out.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeSetting {
    /// Items are accepted and can be claimed.
    Open,
    /// Items are accepted; none can be claimed. Verdicts are accepted.
    Paused,
    /// No new items are accepted; waiting ones can be claimed.
    Draining,
}

/// The range of rewards, and the labels that stand for rewards.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the OpenAPI document")]
pub(crate) struct RewardSettings {
    #[schema(minimum = -1e100, maximum = 1e100)]
    lowest: f64,
    /// Must be more than `lowest`.
    #[schema(minimum = -1e100, maximum = 1e100)]
    highest: f64,
    /// Labels that a verdict may give instead of a number, with their rewards.
    #[schema(required = false)]
    labels: BTreeMap<String, f64>,
}

/// The roles of the columns in files of items. Commands that read files into the queue use these
/// roles by default, and store the roles that they are given.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the OpenAPI document")]
pub(crate) struct FileColumnRoles {
    /// The column with the items' ids.
    #[schema(min_length = 1)]
    id: String,
    /// Columns with tags, by tag. The column of the tag `golden` has the known answers of test
    /// questions.
    #[schema(required = false)]
    tags: BTreeMap<String, String>,
    /// The columns that reviewers are shown.
    #[schema(required = false, max_items = 16384)]
    shown: Vec<String>,
}

/// Settings with different names in the database and in the API: (stored name, name in the API).
const RENAMED: [(&str, &str); 3] =
    [("audit_rate", "random_check_rate"), ("audit_share", "random_check_share"), ("doors", "mode")];

/// The API's name of a setting, given its stored name.
pub(crate) fn shown_name(stored: &str) -> &str {
    RENAMED.iter().find(|(name, _)| *name == stored).map_or(stored, |(_, shown)| shown)
}

/// A change of a queue's settings, read under the names of the API.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct SettingsBody(#[serde(with = "QueueChange")] pub(crate) ConfigChange);

/// A change of a queue's settings. Settings that are left out do not change.
#[derive(Deserialize, ToSchema)]
#[serde(remote = "ConfigChange", deny_unknown_fields)]
#[expect(clippy::option_option, reason = "left out, null and a scale differ")]
#[schema(as = QueueChange)]
pub(crate) struct QueueChange {
    /// The evaluators that score items. They can be added and removed while a queue exists. An
    /// evaluator that stays keeps its direction.
    #[serde(default)]
    #[schema(value_type = Option<Vec<EvaluatorSettings>>, min_items = 1, max_items = 2048)]
    evaluators: Option<Evaluators>,
    #[serde(default)]
    #[schema(value_type = Option<PolicySettings>)]
    policy: Option<Spec>,
    /// How many items a claim gets if it does not say how many.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    k: Option<u32>,
    /// How long a claimed item is reserved for its reviewer, in seconds.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 31_536_000)]
    lease_seconds: Option<u32>,
    /// How many different reviewers judge each item. If their rewards differ, `2 * quorum - 1`
    /// reviewers judge it, and the median decides.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 9)]
    quorum: Option<u8>,
    /// How much an item's value grows per day while it waits, in units of the value.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000)]
    ageing_per_day: Option<f64>,
    /// The share of arriving items that are chosen for a random check, whatever their scores.
    #[serde(default, rename = "random_check_rate")]
    #[schema(rename = "random_check_rate", minimum = 0, maximum = 1)]
    random_check_rate: Option<f64>,
    /// The largest share of claimed items that are random checks, on average over many claims.
    #[serde(default, rename = "random_check_share")]
    #[schema(rename = "random_check_share", minimum = 0, maximum = 1)]
    random_check_share: Option<f64>,
    /// After this many seconds the jury takes an item's scores into account, even if some are still
    /// missing. A claim, a verdict or closing the item makes the jury do so at once.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 31_536_000)]
    settle_seconds: Option<u32>,
    /// For this many seconds a verdict can be undone; then the jury learns from it.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 31_536_000)]
    undo_seconds: Option<u32>,
    /// Payloads are deleted this many days after they were sent; 0 for never.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 36_500)]
    payload_days: Option<u32>,
    /// The largest payload of an item, in bytes of JSON; 256 KiB in a new queue.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 16_777_216)]
    max_payload: Option<u32>,
    /// How many items a reviewer can hold at once, or `k` if that is more; 100 in a new queue.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1_000_000)]
    max_held: Option<u32>,
    #[serde(default, rename = "mode")]
    #[schema(rename = "mode", value_type = Option<ModeSetting>)]
    mode: Option<QueueMode>,
    /// The scale of rewards, or null for none. Without one, rewards must be from 0 to 1, or within
    /// the range of earlier rewards. Every current verdict must fit a new scale.
    #[serde(default, deserialize_with = "null_or_scale")]
    #[schema(value_type = Option<RewardSettings>)]
    reward: Option<Option<VerdictScale>>,
    /// The names of evaluators whose scores count as missing in the ranking. The jury keeps
    /// learning about them.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Name>>, max_items = 2048)]
    muted: Option<Vec<String>>,
    /// Fixed weights by evaluator that override the learnt ranking; learning continues. An item's
    /// value is the weighted mean of its scores; scores for which low is good count negatively.
    /// Empty to return to the learnt ranking.
    #[serde(default)]
    weights: Option<BTreeMap<String, f64>>,
    #[serde(default)]
    #[schema(value_type = Option<FileColumnRoles>)]
    columns: Option<FileColumns>,
}

/// Distinguishes a scale that is set to null (`Some(None)`) from one that is left out (`None`).
#[expect(clippy::option_option, reason = "left out, null and a scale differ")]
fn null_or_scale<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<VerdictScale>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The settings that a PUT asks for: those of its body, and defaults for the rest.
pub(crate) fn config(mut change: ConfigChange) -> Result<Config, Problem> {
    let evaluators = change.evaluators.take().ok_or_else(|| {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "refused",
            "`evaluators` is missing: a new queue needs the names of its evaluators",
            "Name them: {\"evaluators\": [{\"name\": \"spam\"}]}.",
        )
    })?;
    Ok(change.onto(Config::new(evaluators)))
}

/// Writes settings under the names of the API.
fn write_settings<S: Serializer>(config: &Config, to: S) -> Result<S::Ok, S::Error> {
    use serde::ser::Error;
    let stored = serde_json::to_value(config).map_err(S::Error::custom)?;
    let fields = stored.as_object().into_iter().flatten();
    to.collect_map(fields.map(|(name, value)| (shown_name(name), value)))
}

/// The settings of a queue, and its current state.
#[derive(Debug, Serialize)]
pub(crate) struct QueueState {
    #[serde(flatten, serialize_with = "write_settings")]
    config: Config,
    #[serde(flatten)]
    now: QueueProgress,
}

/// The current state of a queue, beside its settings.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueProgress {
    name: String,
    counts: QueueCounts,
    /// The number of the last log entry.
    head: u64,
    /// The ranking model, named by the last log entry that it learnt from.
    model: u64,
    /// The number of checkpoints found to differ between servers. Any number but 0 is an alarm.
    mismatches: u64,
    /// Warnings about the change that this request has made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The numbers of items and verdicts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueCounts {
    /// All items that ever arrived.
    items: u64,
    /// Open items that no reviewer holds.
    pending: u64,
    /// Open items that a reviewer holds.
    leased: u64,
    closed: u64,
    /// Current verdicts, without revised and undone ones.
    verdicts: u64,
}

impl From<ItemCounts> for QueueCounts {
    fn from(counts: ItemCounts) -> Self {
        let ItemCounts { items, pending, leased, closed, verdicts } = counts;
        QueueCounts { items, pending, leased, closed, verdicts }
    }
}

impl QueueState {
    pub(crate) fn new(name: String, standing: QueueStatus) -> Self {
        let QueueStatus { config, counts, head, model, mismatches, .. } = standing;
        let counts = QueueCounts::from(counts);
        let warnings = Vec::new();
        QueueState { config, now: QueueProgress { name, counts, head, model, mismatches, warnings } }
    }

    /// Adds a warning for each evaluator that the change removed.
    pub(crate) fn after(mut self, before: &Config) -> Self {
        self.now.warnings = self.config.warnings_after(before);
        self
    }
}

/// The names of queues.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueList {
    /// The queues that the key may see.
    pub(crate) queues: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documented() -> Vec<String> {
        let utoipa::openapi::RefOr::T(utoipa::openapi::schema::Schema::Object(object)) =
            <QueueChange as utoipa::PartialSchema>::schema()
        else {
            panic!("an object")
        };
        let mut names: Vec<String> = object.properties.keys().cloned().collect();
        names.sort();
        names
    }

    fn shown(config: Config) -> serde_json::Map<String, serde_json::Value> {
        let counts = ItemCounts { items: 0, pending: 0, leased: 0, closed: 0, verdicts: 0 };
        let counts = QueueCounts::from(counts);
        let (name, warnings) = ("posts".into(), Vec::new());
        let now = QueueProgress { name, counts, head: 0, model: 0, mismatches: 0, warnings };
        let state = serde_json::to_value(QueueState { config, now }).unwrap();
        state.as_object().unwrap().clone()
    }

    #[test]
    fn the_document_has_the_fields_that_are_read_and_shown() {
        for name in documented() {
            let body = serde_json::json!({ name.as_str(): [[]] });
            let refused = serde_json::from_value::<SettingsBody>(body).unwrap_err();
            assert!(!refused.to_string().contains("unknown field"), "{name}: {refused}");
        }
        let every = r#"{"evaluators": [{"name": "a"}, {"name": "b"}], "payload_days": 1, "muted": ["b"],
            "weights": {"a": 1}, "reward": {"lowest": 0, "highest": 1}, "columns": {"id": "post_id"}}"#;
        let mut fields: Vec<String> = shown(serde_json::from_str(every).unwrap()).keys().cloned().collect();
        fields.retain(|name| !["name", "counts", "head", "model", "mismatches"].contains(&name.as_str()));
        fields.sort();
        assert_eq!(fields, documented());
    }

    /// The database stores three settings under other names than the API shows.
    #[test]
    fn a_stored_queue_is_shown_under_the_names_of_the_api() {
        let stored =
            r#"{"evaluators": [{"name": "a"}], "audit_rate": 0.1, "audit_share": 0.5, "doors": "paused"}"#;
        let shown = shown(serde_json::from_str(stored).unwrap());
        assert_eq!((&shown["random_check_rate"], &shown["random_check_share"]), (&0.1.into(), &0.5.into()));
        assert_eq!(shown["mode"], "paused");
        assert!(RENAMED.iter().all(|(stored, _)| !shown.contains_key(*stored)), "{shown:?}");
    }

    #[test]
    fn settings_are_read_under_the_names_of_the_api_alone() {
        let read = |body: &str| serde_json::from_str::<SettingsBody>(body).map(|body| body.0);
        let change = read(r#"{"random_check_rate": 0.2, "mode": "draining", "reward": null}"#).unwrap();
        assert_eq!((change.random_check_rate, change.mode), (Some(0.2), Some(QueueMode::Draining)));
        assert_eq!((change.reward, change.k), (Some(None), None));
        for (stored, _) in RENAMED {
            let refused = read(&format!(r#"{{"{stored}": 0.1}}"#)).unwrap_err().to_string();
            assert!(refused.contains("unknown field") && refused.contains("random_check_rate"), "{refused}");
        }
    }
}
