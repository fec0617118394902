//! The requests to a queue, and its answers.

use crate::config::{Config, FileColumns, QueueMode};
use crate::event::{Tags, VerdictSource};
use crate::live_queue::Filter;
use crate::verdict_scale::VerdictScale;
use jurybox::{Evaluators, Spec};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};

/// The most items in one request. Servers apply it to verdicts too.
pub const MOST_AT_ONCE: usize = 10_000;
/// The most bytes of payloads in one answer. The first item is always included, whatever its size.
pub const MOST_BYTES: u64 = 8 << 20;

/// A request, with who makes it.
///
/// ```
/// use jurybox_server::{Call, Request};
/// let claim = Request::Claim { reviewer: "ann".into(), k: Some(5), filter: Default::default() };
/// let call = Call::new("ann", claim).with_key("9f3a");
/// assert_eq!(call.idempotency.as_deref(), Some("9f3a"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Who asks, as named in the activity log.
    pub actor: String,
    /// A key chosen by the client. A call that changed something is carried out once; for a day,
    /// later calls with its key get its answer. Calls with the key but another request are refused.
    pub idempotency: Option<String>,
    /// The request.
    pub request: Request,
    /// The fingerprint of the larger request that this is a part of. It becomes part of the
    /// call's own fingerprint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    whole: Vec<u8>,
}

impl Call {
    /// A call without an idempotency key.
    pub fn new(actor: impl Into<String>, request: Request) -> Self {
        Call { actor: actor.into(), idempotency: None, request, whole: Vec::new() }
    }

    /// Sets the idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency = Some(key.into());
        self
    }

    /// Marks the call as one part of a larger request, so that its key cannot be used again for a
    /// part of another one.
    #[must_use]
    pub fn part_of(mut self, whole: &Request) -> Self {
        self.whole = fingerprint(whole);
        self
    }

    /// A SHA-256 of the request, stored with the key to notice that the key is used for another
    /// request.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        let mut own = fingerprint(&self.request);
        if !self.whole.is_empty() {
            own.extend(&self.whole);
            own = Sha256::digest(own).to_vec();
        }
        own
    }
}

fn fingerprint(request: &Request) -> Vec<u8> {
    Sha256::digest(serde_json::to_vec(request).unwrap_or_default()).to_vec()
}

/// A request to a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a request is passed on within a boxed call")]
pub enum Request {
    /// Add items. For the id of an open item, non-missing scores and the payload are updated; tags
    /// and due date stay.
    Items(Vec<NewItem>),
    /// Claim the next items for a reviewer.
    Claim {
        /// The reviewer.
        reviewer: String,
        /// How many items; the queue's `k` if none.
        k: Option<u32>,
        /// Only items with these tags.
        filter: Filter,
    },
    /// Extend the leases on these items, or all leases of the reviewer if none are named.
    Extend {
        /// The reviewer.
        reviewer: String,
        /// The items' ids.
        items: Vec<String>,
    },
    /// Give up these items, or all that the reviewer holds if none are named.
    Release {
        /// The reviewer.
        reviewer: String,
        /// The items' ids.
        items: Vec<String>,
    },
    /// Give up an item, and never get it again.
    Skip {
        /// The reviewer.
        reviewer: String,
        /// The item's id.
        item: String,
        /// The reason, as shown in the activity log.
        reason: String,
    },
    /// Record verdicts.
    Verdicts(Vec<NewVerdict>),
    /// Take back a verdict within the queue's undo window.
    Undo {
        /// The reviewer who gave it.
        reviewer: String,
        /// The verdict's id.
        verdict: String,
    },
    /// Change the queue's configuration.
    Configure(ConfigChange),
    /// Close open items without deciding them.
    Close {
        /// Only items with these tags.
        filter: Filter,
        /// Only items that arrived before this time, in microseconds since 1970.
        before: Option<i64>,
        /// The reason, as shown in the activity log.
        reason: String,
    },
    /// Erase items: ids, scores, tags, payloads, and their effect on the model.
    Erase {
        /// The items' ids.
        items: Vec<String>,
    },
    /// Set the log's time back to the clock's, after an entry by a clock that was far ahead. All
    /// leases end, and earlier verdicts can no longer be undone.
    Clock,
}

/// The tag of golden items, whose right label is known, to test reviewers. Claims cannot filter by
/// it, and reports do not count golden items as found.
pub const GOLDEN: &str = "golden";

/// An item to add, or an update of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewItem {
    /// The client's id of the item.
    pub id: String,
    /// Scores by evaluator name; null or left out if missing.
    #[serde(default)]
    pub scores: BTreeMap<String, Option<f64>>,
    /// The content shown to reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<crate::Json>,
    /// The item's tags.
    #[serde(default)]
    pub tags: Tags,
    /// From when on the item goes before all others, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
}

/// A verdict to record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewVerdict {
    /// The client's id of the verdict. A verdict sent twice with one id counts once.
    pub id: String,
    /// The item's id.
    pub item: String,
    /// The reviewer.
    pub reviewer: String,
    /// The token of the claim, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The reward.
    pub reward: f64,
    /// Take the reward from the label, by the queue's reward scale, and ignore `reward`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_label: bool,
    /// The label, such as "harmful".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A comment by the reviewer, for people only: nothing is learnt from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who decided: a reviewer, an appeal or a program.
    #[serde(default)]
    pub source: VerdictSource,
    /// The id of the reviewer's earlier verdict that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    /// When the verdict was given, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<i64>,
}

/// Changes of a queue's configuration; fields left out stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the one of that name in `Config`")]
pub struct ConfigChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluators: Option<Evaluators>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Spec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ageing_per_day: Option<f64>,
    #[serde(rename = "audit_rate", skip_serializing_if = "Option::is_none")]
    pub random_check_rate: Option<f64>,
    #[serde(rename = "audit_share", skip_serializing_if = "Option::is_none")]
    pub random_check_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_payload: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_held: Option<u32>,
    #[serde(rename = "doors", skip_serializing_if = "Option::is_none")]
    pub mode: Option<QueueMode>,
    /// Some(None) removes the scale.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "even_if_null")]
    pub reward: Option<Option<VerdictScale>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub muted: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<FileColumns>,
}

/// Reads null as Some(None), to tell it from a field that is left out.
#[expect(clippy::option_option, reason = "left out, null, and a scale are three things")]
fn even_if_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<VerdictScale>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl ConfigChange {
    /// A configuration with these changes. `payload_days` 0 keeps payloads for good.
    ///
    /// ```
    /// use jurybox_server::{ConfigChange, Config};
    /// let config = Config::new(jurybox::Evaluators::new(["spam"])?);
    /// let changed = ConfigChange { k: Some(3), ..ConfigChange::default() }.onto(config.clone());
    /// assert_eq!(changed, Config { k: 3, ..config });
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    #[must_use]
    pub fn onto(self, mut config: Config) -> Config {
        config.evaluators = self.evaluators.unwrap_or(config.evaluators);
        config.policy = self.policy.unwrap_or(config.policy);
        config.k = self.k.unwrap_or(config.k);
        config.lease_seconds = self.lease_seconds.unwrap_or(config.lease_seconds);
        config.quorum = self.quorum.unwrap_or(config.quorum);
        config.ageing_per_day = self.ageing_per_day.unwrap_or(config.ageing_per_day);
        config.random_check_rate = self.random_check_rate.unwrap_or(config.random_check_rate);
        config.random_check_share = self.random_check_share.unwrap_or(config.random_check_share);
        config.settle_seconds = self.settle_seconds.unwrap_or(config.settle_seconds);
        config.undo_seconds = self.undo_seconds.unwrap_or(config.undo_seconds);
        config.payload_days = self.payload_days.or(config.payload_days).filter(|days| *days > 0);
        config.max_payload = self.max_payload.unwrap_or(config.max_payload);
        config.max_held = self.max_held.unwrap_or(config.max_held);
        config.mode = self.mode.unwrap_or(config.mode);
        config.reward = self.reward.unwrap_or(config.reward);
        config.muted = self.muted.unwrap_or(config.muted);
        config.weights = self.weights.unwrap_or(config.weights);
        config.columns = self.columns.or(config.columns);
        config
    }

    /// The changes that turn any configuration into `config`. If `config` has no file columns,
    /// those of the other configuration stay.
    #[must_use]
    pub fn to(config: &Config) -> ConfigChange {
        let config = config.clone();
        ConfigChange {
            evaluators: Some(config.evaluators),
            policy: Some(config.policy),
            k: Some(config.k),
            lease_seconds: Some(config.lease_seconds),
            quorum: Some(config.quorum),
            ageing_per_day: Some(config.ageing_per_day),
            random_check_rate: Some(config.random_check_rate),
            random_check_share: Some(config.random_check_share),
            settle_seconds: Some(config.settle_seconds),
            undo_seconds: Some(config.undo_seconds),
            payload_days: Some(config.payload_days.unwrap_or(0)),
            max_payload: Some(config.max_payload),
            max_held: Some(config.max_held),
            mode: Some(config.mode),
            reward: Some(config.reward),
            muted: Some(config.muted),
            weights: Some(config.weights),
            columns: config.columns,
        }
    }
}

/// An answer of a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// The answer to [`Request::Claim`].
    Claims {
        /// The log entry up to which the ranking model had learnt.
        model: u64,
        /// The items: due ones, random checks, then the best by value. Fewer than asked for, or
        /// none, if there are no more or a limit was reached.
        claims: Vec<ClaimedItem>,
        /// The limit that made the claim smaller, if there may be more items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by: Option<LimitedBy>,
    },
    /// The answer to [`Request::Items`].
    Items {
        /// New items.
        accepted: u64,
        /// Changed items: they were in the queue, or earlier in the same request.
        updated: u64,
        /// Unchanged items: they were in the queue, or earlier in the same request.
        unchanged: u64,
        /// Scores ignored because their evaluators were removed from the queue.
        #[serde(default)]
        ignored: u64,
        /// Items that were refused.
        rejected: Vec<Rejected>,
    },
    /// The answer to [`Request::Verdicts`].
    Verdicts {
        /// New verdicts.
        accepted: u64,
        /// Verdicts that had been recorded before.
        repeated: u64,
        /// Verdicts that were refused.
        rejected: Vec<Rejected>,
    },
    /// The answer to [`Request::Undo`]: the reviewer holds the item again.
    Undone {
        /// The item's id.
        item: String,
        /// The token of the new lease.
        token: u64,
        /// The end of the new lease, in microseconds since 1970.
        until: i64,
    },
    /// The answer to all other requests.
    Changed {
        /// How many items or leases changed; 1 or 0 for a change of the configuration or the clock.
        changed: u64,
    },
}

/// The limit that made a claim smaller than asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The reviewer would hold more items than the queue's `max_held`.
    MaxHeld,
    /// The payloads would exceed [`MOST_BYTES`].
    Bytes,
}

/// A claimed item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimedItem {
    /// The item's id.
    pub item: String,
    /// The item's number in the queue.
    #[serde(skip)]
    pub(crate) n: u64,
    /// The claim's log entry, which verdicts on the item should name.
    pub token: u64,
    /// The end of the lease, in microseconds since 1970.
    pub until: i64,
    /// The position in the claim, from 1; 0 in a list of held items.
    pub rank: u32,
    /// The value that the item was ranked by, 0 in a list of held items; null in JSON if it is not
    /// finite.
    #[serde(deserialize_with = "number_or_nan")]
    pub value: f64,
    /// The probability with which the item was chosen: 1, or the rate of random checks when it
    /// arrived.
    pub probability: f64,
    /// Whether the item was claimed as a random check.
    #[serde(rename = "explored")]
    pub random_check: bool,
    /// The content shown to reviewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<crate::Json>,
}

impl NewVerdict {
    /// Splits verdicts into parts of at most `most`, which must not be 0, to be sent one after the
    /// other. No part has two verdicts on one item, since the meaning of the second depends on the
    /// outcome of the first.
    pub fn into_parts(verdicts: Vec<NewVerdict>, most: usize) -> Vec<Vec<NewVerdict>> {
        let mut turns: Vec<Vec<NewVerdict>> = vec![Vec::new()];
        let mut on: HashMap<String, usize> = HashMap::new();
        for verdict in verdicts {
            let turn = on.entry(verdict.item.clone()).or_default();
            if turns.len() == *turn {
                turns.push(Vec::new());
            }
            turns[*turn].push(verdict);
            *turn += 1;
        }
        let mut parts = Vec::new();
        for mut turn in turns {
            while turn.len() > most {
                let rest = turn.split_off(most);
                parts.push(std::mem::replace(&mut turn, rest));
            }
            parts.push(turn);
        }
        parts
    }
}

impl Rejected {
    /// The reason that earlier programs stored for a closed item, without a code.
    const CLOSED: &'static str = "it is closed: its scores can change no more";

    /// Refused for this reason.
    pub fn new(id: impl Into<String>, why: impl Into<String>) -> Self {
        Rejected { id: id.into(), why: why.into(), code: RejectionCode::Refused }
    }

    /// Refused because the item is closed.
    pub(crate) fn closed(id: &str) -> Self {
        let why = "the item is closed, and its scores can no longer change";
        Rejected { code: RejectionCode::Closed, ..Rejected::new(id, why) }
    }

    /// Whether it was refused because the item is closed, so that sending it again is useless.
    pub fn is_closed(&self) -> bool {
        self.code == RejectionCode::Closed
    }

    /// Adds the code to an answer that was stored by an earlier program.
    pub(crate) fn add_code(&mut self) {
        if self.why == Self::CLOSED {
            self.code = RejectionCode::Closed;
        }
    }
}

/// Reads null as NaN.
fn number_or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// An item or verdict that was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// The client's id of the item or verdict.
    pub id: String,
    /// The reason, for people.
    pub why: String,
    /// The reason, for programs. Left out of JSON if it is [`RejectionCode::Refused`].
    #[serde(default, skip_serializing_if = "RejectionCode::is_plain")]
    pub code: RejectionCode,
}

/// The kind of reason for which an item or verdict was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectionCode {
    /// Any reason but the following.
    #[default]
    Refused,
    /// The item is closed.
    Closed,
}

impl RejectionCode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_plain(&self) -> bool {
        *self == RejectionCode::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_names_of_fields_stay_whatever_the_fields_are_called() {
        let config = Config::new(Evaluators::new(["a"]).unwrap());
        let stored = serde_json::to_value(&config).unwrap();
        for name in ["audit_rate", "audit_share", "doors"] {
            assert!(stored.get(name).is_some(), "{stored}");
        }
        let request = Request::Configure(ConfigChange::to(&config));
        let stored = serde_json::to_string(&request).unwrap();
        assert!(stored.contains(r#""audit_rate":0.0,"audit_share":0.25,"settle_seconds":60"#), "{stored}");
        assert!(stored.contains(r#""doors":"open""#), "{stored}");
        let claimed = ClaimedItem {
            item: "x".into(),
            n: 1,
            token: 2,
            until: 3,
            rank: 1,
            value: 0.5,
            probability: 0.1,
            random_check: true,
            payload: None,
        };
        let stored = serde_json::to_string(&claimed).unwrap();
        assert!(stored.ends_with(r#""probability":0.1,"explored":true}"#), "{stored}");
        let refused = serde_json::to_string(&Rejected::new("x", "why")).unwrap();
        assert_eq!(refused, r#"{"id":"x","why":"why"}"#);
        assert!(Rejected::closed("x").is_closed());
    }
}
