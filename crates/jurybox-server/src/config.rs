//! The configuration of a queue: its settings, their defaults and limits.

use crate::Error;
use crate::verdict_scale::VerdictScale;
use jurybox::{Evaluators, Jury, Spec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a queue accepts items and hands them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    /// Items are accepted and can be claimed.
    #[default]
    Open,
    /// Items are accepted, but cannot be claimed. Verdicts on claimed items are accepted.
    Paused,
    /// No new items are accepted; the open ones can be claimed until none is left.
    Draining,
}

/// The configuration of a queue. Everything but the evaluators has a default.
///
/// ```
/// use jurybox_server::Config;
///
/// let evaluators = r#"[{"name": "spam"}, {"name": "quality", "direction": "low"}]"#;
/// let config = format!(r#"{{"evaluators": {evaluators}, "k": 5}}"#);
/// let config: Config = serde_json::from_str(&config)?;
/// assert_eq!((config.k, config.lease_seconds, config.quorum), (5, 900, 1));
/// config.check()?;
/// let drawing = Config { policy: "eps-greedy".parse()?, ..config };
/// assert_eq!(drawing.check().unwrap_err().code(), "refused");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The evaluators, with the direction of their scores.
    pub evaluators: Evaluators,
    /// The policy that ranks. Policies that draw their picks at random are refused: queues explore
    /// by random checks only.
    #[serde(default)]
    pub policy: Spec,
    /// How many items a claim gets if it names no number.
    #[serde(default = "default_k")]
    pub k: u32,
    /// The length of a lease, in seconds.
    #[serde(default = "default_lease")]
    pub lease_seconds: u32,
    /// How many reviewers judge an item if their rewards agree. If two rewards differ, it takes
    /// `2 * quorum - 1` reviewers: three for a quorum of 2, five for a quorum of 3. The median of
    /// their rewards decides.
    #[serde(default = "default_quorum")]
    pub quorum: u8,
    /// By how much an item's value grows a day while it waits, in units of the value.
    #[serde(default)]
    pub ageing_per_day: f64,
    /// The share of arriving items that are drawn for a random check, whatever their scores.
    #[serde(default, rename = "audit_rate")]
    pub random_check_rate: f64,
    /// The largest share of claimed items that are random checks, on average over many claims. For
    /// each claim, a draw rounds `k` times this share up or down.
    #[serde(default = "default_random_check_share", rename = "audit_share")]
    pub random_check_share: f64,
    /// After this many seconds an item is shown to the policy even if scores are still missing. A
    /// claim, a verdict or closing the item shows it at once.
    #[serde(default = "default_settle")]
    pub settle_seconds: u32,
    /// For this many seconds a verdict can be undone; then it is learnt.
    #[serde(default = "default_undo")]
    pub undo_seconds: u32,
    /// After this many days payloads are deleted; scores and verdicts stay. None keeps payloads for
    /// good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_days: Option<u32>,
    /// The largest payload of an item, in bytes of JSON.
    #[serde(default = "default_max_payload")]
    pub max_payload: u32,
    /// How many items a reviewer can hold at once; `k` items if `k` is larger.
    #[serde(default = "default_max_held")]
    pub max_held: u32,
    /// Whether items are accepted and handed out.
    #[serde(default, rename = "doors")]
    pub mode: QueueMode,
    /// The reward scale. Without one, a reward must be from 0 to 1, or between the lowest and the
    /// highest reward that the queue already has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<VerdictScale>,
    /// Evaluators whose scores count as missing in the ranking. Learning about them continues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub muted: Vec<String>,
    /// Fixed weights that override the learnt ranking; learning continues. Evaluators not listed
    /// get 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// How the columns of imported files are used; none before the first import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<FileColumns>,
}

/// How the columns of a file of items are used, so that the next file is read the same way. Only
/// importing programs use this, not the queue.
///
/// ```
/// let columns = r#"{"id": "post_id", "tags": {"language": "lang"}, "shown": ["text", "lang"]}"#;
/// let columns: jurybox_server::FileColumns = serde_json::from_str(columns)?;
/// assert_eq!(columns.tags["language"], "lang");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileColumns {
    /// The column of the items' ids.
    pub id: String,
    /// Columns by the tag that they fill. The column for the tag `golden` has the known label or
    /// reward of golden items.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The columns shown to reviewers, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
}

impl FileColumns {
    /// Refuses an empty name of the id column, and too many columns.
    fn check(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::Refused(format!("columns: {what}")));
        if self.id.is_empty() {
            return refuse("`id` is empty: name the column with the items' ids".into());
        }
        if self.tags.len() + self.shown.len() > MOST_COLUMNS {
            return refuse(format!(
                "{} columns are tags or shown, more than {MOST_COLUMNS}",
                self.tags.len() + self.shown.len()
            ));
        }
        Ok(())
    }
}

fn default_k() -> u32 {
    10
}
fn default_lease() -> u32 {
    900
}
fn default_quorum() -> u8 {
    1
}
fn default_random_check_share() -> f64 {
    0.25
}
fn default_settle() -> u32 {
    60
}
fn default_undo() -> u32 {
    20
}
fn default_max_payload() -> u32 {
    256 << 10
}
fn default_max_held() -> u32 {
    100
}

/// The most that `max_payload` can be, in bytes.
const LARGEST_PAYLOAD: u32 = 16 << 20;
/// The most that `max_held` can be.
const MOST_HELD: u32 = 1_000_000;
/// The most items of one claim, and the largest `k`.
pub(crate) const MOST_CLAIMED: u32 = 1000;
/// The largest quorum.
const MOST_REVIEWERS: u8 = 9;
/// The most columns in `tags` and `shown` together.
const MOST_COLUMNS: usize = 32_768;
/// The largest `lease_seconds`, `settle_seconds` and `undo_seconds`: a year. Like the two limits
/// below, it only catches typing errors.
const LONGEST_SECONDS: u32 = 365 * 86_400;
/// The largest `payload_days`: a hundred years of 365 days.
const LONGEST_DAYS: u32 = 36_500;
/// The largest `ageing_per_day`.
const FASTEST_AGEING: f64 = 1e6;

impl Config {
    /// Warnings for changing `before` into this configuration: one for each removed evaluator.
    #[must_use]
    pub fn warnings_after(&self, before: &Config) -> Vec<String> {
        let left = before.evaluators.names().filter(|name| self.evaluators.position(name).is_none());
        let warn = |name: &str| {
            format!(
                "evaluator `{name}` was removed with its scores; if it is added again, send its scores of open items again"
            )
        };
        left.map(warn).collect()
    }

    /// A configuration with these evaluators, and defaults for the rest.
    pub fn new(evaluators: Evaluators) -> Self {
        Config {
            evaluators,
            policy: Spec::default(),
            k: default_k(),
            lease_seconds: default_lease(),
            quorum: default_quorum(),
            ageing_per_day: 0.0,
            random_check_rate: 0.0,
            random_check_share: default_random_check_share(),
            settle_seconds: default_settle(),
            undo_seconds: default_undo(),
            payload_days: None,
            max_payload: default_max_payload(),
            max_held: default_max_held(),
            mode: QueueMode::Open,
            reward: None,
            muted: Vec::new(),
            weights: BTreeMap::new(),
            columns: None,
        }
    }

    /// Refuses settings that are out of range or contradict each other.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::Refused(what));
        for name in self.evaluators.names() {
            crate::decide::check_name("the name of an evaluator", name).map_err(Error::Refused)?;
        }
        let jury = self.jury()?;
        if jury.fit().leaves_to_chance() {
            return refuse(format!(
                "policy `{}` picks at random, and a queue hands out the best items: choose a policy that ranks, such as `adaptive`, and explore by `random_check_rate`",
                self.policy.name()
            ));
        }
        if self.k == 0 || self.k > MOST_CLAIMED {
            return refuse(format!("k = {} is not from 1 to {MOST_CLAIMED}", self.k));
        }
        if self.lease_seconds == 0 {
            return refuse("lease_seconds = 0: leases would end before anybody could give a verdict".into());
        }
        for (name, seconds) in [
            ("lease_seconds", self.lease_seconds),
            ("settle_seconds", self.settle_seconds),
            ("undo_seconds", self.undo_seconds),
        ] {
            if seconds > LONGEST_SECONDS {
                return refuse(format!("{name} = {seconds} is more than a year ({LONGEST_SECONDS})"));
            }
        }
        if let Some(days) = self.payload_days.filter(|&days| days > LONGEST_DAYS) {
            return refuse(format!("payload_days = {days} is more than a hundred years ({LONGEST_DAYS})"));
        }
        for (name, number, most) in
            [("max_payload", self.max_payload, LARGEST_PAYLOAD), ("max_held", self.max_held, MOST_HELD)]
        {
            if !(1..=most).contains(&number) {
                return refuse(format!("{name} = {number} is not from 1 to {most}"));
            }
        }
        if self.quorum == 0 || self.quorum > MOST_REVIEWERS {
            return refuse(format!("quorum = {} is not from 1 to {MOST_REVIEWERS}", self.quorum));
        }
        for (name, share) in
            [("random_check_rate", self.random_check_rate), ("random_check_share", self.random_check_share)]
        {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("{name} = {share} is not from 0 to 1"));
            }
        }
        if !(0.0..=FASTEST_AGEING).contains(&self.ageing_per_day) {
            return refuse(format!(
                "ageing_per_day = {} is not from 0 to {FASTEST_AGEING}",
                self.ageing_per_day
            ));
        }
        if let Some(scale) = &self.reward {
            scale.check()?;
        }
        if let Some(columns) = &self.columns {
            columns.check()?;
        }
        self.check_valuing()
    }

    /// Checks the names in `muted` and `weights`, the size of the weights, and that some evaluator
    /// is left to rank by.
    fn check_valuing(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::Refused(what));
        for (what, name) in self
            .muted
            .iter()
            .map(|name| ("muted", name))
            .chain(self.weights.keys().map(|name| ("weights", name)))
        {
            if self.evaluators.position(name).is_none() {
                return refuse(format!("{what}: there is no evaluator `{name}`"));
            }
        }
        if let Some(twice) = self.muted.iter().enumerate().find(|(at, name)| self.muted[..*at].contains(name))
        {
            return refuse(format!("muted: `{}` is named twice", twice.1));
        }
        if self.muted.len() == self.evaluators.len() {
            return refuse("muted: all evaluators are muted, and none is left to rank by".into());
        }
        for (name, weight) in &self.weights {
            if weight.is_nan() || weight.abs() > 1e100 {
                return refuse(format!("weights: {weight} for `{name}` is not a number within ±1e100"));
            }
        }
        let counts = |(name, weight): (&String, &f64)| *weight != 0.0 && !self.muted.contains(name);
        if !self.weights.is_empty() && !self.weights.iter().any(counts) {
            return refuse("weights: all weights that count are 0, and none is left to rank by".into());
        }
        Ok(())
    }

    /// A new jury with these evaluators and policy. Refuses contexts, and a policy that changes the
    /// evaluators' directions.
    pub(crate) fn jury(&self) -> Result<Jury, Error> {
        if let Some(column) = self.evaluators.contexts().next() {
            let name = &self.evaluators.as_slice()[column].name;
            return Err(Error::Refused(format!(
                "`{name}` is a context, which queues do not support: leave it out, or make a queue for each group"
            )));
        }
        let jury = Jury::new(&self.policy, self.evaluators.clone())?;
        if jury.evaluators() != &self.evaluators {
            return Err(Error::Refused(
                "set the direction of evaluators by `direction`, not in the policy".into(),
            ));
        }
        Ok(jury)
    }

    /// Whether a change to `other` outdates all that was learnt, so that the log must be folded
    /// again.
    pub(crate) fn learns_differently(&self, other: &Config) -> bool {
        self.evaluators != other.evaluators || self.policy != other.policy
    }
}

/// Seconds as microseconds.
pub(crate) fn micros(seconds: u32) -> i64 {
    i64::from(seconds) * 1_000_000
}
