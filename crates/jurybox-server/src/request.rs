//! What can be asked of a queue, and what it answers.

use crate::live_queue::Filter;
use crate::config::{Config, QueueMode, FileColumns};
use crate::event::{VerdictSource, Tags};
use crate::verdict_scale::VerdictScale;
use jurybox::{Evaluators, Spec};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};

/// The most items, or verdicts, of one request.
pub const MOST_AT_ONCE: usize = 10_000;
/// The most bytes of payloads in one answer. One item is always given, whatever its size.
pub const MOST_BYTES: u64 = 8 << 20;

/// Something asked of a queue, by somebody.
///
/// ```
/// use jurybox_server::{Call, Request};
/// let call = Call::new("ann", Request::Claim { reviewer: "ann".into(), k: Some(5), filter: Default::default() }).with_key("9f3a");
/// assert_eq!(call.idempotency.as_deref(), Some("9f3a"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Who asks, for the log.
    pub actor: String,
    /// A key of the client's own: asked twice with the same one, it happens once, and both get the same answer.
    pub idempotency: Option<String>,
    /// What is asked.
    pub request: Request,
    /// Where it is one part of something that was asked for with one key: all of it, so that the key stands for that and nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    whole: Vec<u8>,
}

impl Call {
    /// Without an idempotency key.
    pub fn new(actor: impl Into<String>, request: Request) -> Self {
        Call { actor: actor.into(), idempotency: None, request, whole: Vec::new() }
    }

    /// The same with an idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency = Some(key.into());
        self
    }

    /// The same as a part of this.
    #[must_use]
    pub fn part_of(mut self, whole: &Request) -> Self {
        self.whole = fingerprint(whole);
        self
    }

    /// What tells whether a key is used for the same again.
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

/// What can be asked of a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a request is passed on within a boxed call")]
pub enum Request {
    /// Take these items in; those that are there get the scores and payloads that are new, and keep their tags and dates.
    Items(Vec<NewItem>),
    /// Give a reviewer the next items.
    Claim {
        /// Who.
        reviewer: String,
        /// How many; as many as the queue says where it is not said.
        k: Option<u32>,
        /// Which are wanted.
        filter: Filter,
    },
    /// Let a reviewer keep items for another while; all that the reviewer holds where none are named.
    Extend {
        /// Who.
        reviewer: String,
        /// Which, by their ids.
        items: Vec<String>,
    },
    /// Take items back; all that the reviewer holds where none are named.
    Release {
        /// Who.
        reviewer: String,
        /// Which, by their ids.
        items: Vec<String>,
    },
    /// Take an item back, and do not give it to this reviewer again.
    Skip {
        /// Who.
        reviewer: String,
        /// Which, by its id.
        item: String,
        /// Why.
        reason: String,
    },
    /// Take these verdicts in.
    Verdicts(Vec<NewVerdict>),
    /// Take back a verdict that was just given.
    Undo {
        /// Whose.
        reviewer: String,
        /// Which, by its id.
        verdict: String,
    },
    /// Set the queue up anew.
    Configure(ConfigChange),
    /// Close items without a verdict.
    Close {
        /// Which, by their tags.
        filter: Filter,
        /// Only those that came in before this time, in microseconds.
        before: Option<i64>,
        /// Why.
        reason: String,
    },
    /// Erase items: their ids, scores, tags and payloads, and what was learnt from them.
    Erase {
        /// Which, by their ids.
        items: Vec<String>,
    },
    /// Set the time of the log back to that of the clock, where an entry was made by a clock that
    /// was far ahead: leases end, and verdicts that could still be taken back stand.
    Clock,
}

/// The tag of items whose worth is known beforehand, to see how well reviewers judge: nobody can claim by it, and nothing is caught by them.
pub const GOLDEN: &str = "golden";

/// An item to take in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewItem {
    /// The client's name for it.
    pub id: String,
    /// Its scores by the names of evaluators; null or left out where missing.
    #[serde(default)]
    pub scores: BTreeMap<String, Option<f64>>,
    /// What the reviewer is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<crate::Json>,
    /// Its tags.
    #[serde(default)]
    pub tags: Tags,
    /// From when on it goes before all others, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
}

/// A verdict to take in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewVerdict {
    /// The client's name for it: sent twice, it counts once.
    pub id: String,
    /// The item, by its id.
    pub item: String,
    /// Who.
    pub reviewer: String,
    /// The claim's token, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// What it was worth.
    pub reward: f64,
    /// Whether it was worth what the queue's scale says of its label: then the reward is not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_label: bool,
    /// A word for what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the reviewer would have others know of it: kept beside it, and learnt from by nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub source: VerdictSource,
    /// The verdict of the same reviewer that it replaces, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    /// When it was given, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<i64>,
}

/// What is to change in a queue's configuration; what is not named stays.
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
    /// None within where there is to be no scale.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "even_if_null")]
    pub reward: Option<Option<VerdictScale>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub muted: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<FileColumns>,
}

/// What is there, also where it is null: that says something else than what is left out.
#[expect(clippy::option_option, reason = "left out, null, and a scale are three things")]
fn even_if_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<VerdictScale>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl ConfigChange {
    /// A configuration with these changes; where payloads are to be kept for 0 days, they are kept for good.
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

    /// What makes any configuration this one.
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

/// What a queue answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// To a claim.
    Claims {
        /// The entry of the log up to which the model that ranked had learnt.
        model: u64,
        /// The items, best first; fewer than asked for, or none, where there are no more.
        claims: Vec<ClaimedItem>,
        /// Why there are fewer than asked for though there may be more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by: Option<LimitedBy>,
    },
    /// To items.
    Items {
        /// How many are new.
        accepted: u64,
        /// How many were there and have changed.
        updated: u64,
        /// How many were there and have not changed.
        unchanged: u64,
        /// How many scores were left out because their evaluators have been removed from the queue.
        #[serde(default)]
        ignored: u64,
        /// Those that were not taken in.
        rejected: Vec<Rejected>,
    },
    /// To verdicts.
    Verdicts {
        /// How many are new.
        accepted: u64,
        /// How many had come before.
        repeated: u64,
        /// Those that were not taken in.
        rejected: Vec<Rejected>,
    },
    /// To a verdict taken back: the item is the reviewer's own again.
    Undone {
        /// Which item, by its id.
        item: String,
        /// The token of the new claim.
        token: u64,
        /// Until when.
        until: i64,
    },
    /// To what is asked of several items at once.
    Changed {
        /// How many it came true for.
        changed: u64,
    },
}

/// Why a claim has fewer items than were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The reviewer would hold more items than `max_held` of the queue allows.
    MaxHeld,
    /// The answer would be larger than 8 MiB.
    Bytes,
}

/// An item that a reviewer was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimedItem {
    /// Its id.
    pub item: String,
    /// Its number in the queue.
    #[serde(skip)]
    pub(crate) n: u64,
    /// What a verdict on it comes with: the claim's entry in the log.
    pub token: u64,
    /// Until when it is the reviewer's own, in microseconds since 1970.
    pub until: i64,
    /// The place in the claim, from 1.
    pub rank: u32,
    /// What it was ranked by; no number where it has no score.
    #[serde(deserialize_with = "number_or_nan")]
    pub value: f64,
    /// The probability with which it was to be looked at.
    pub probability: f64,
    /// Whether it was an audit.
    #[serde(rename = "explored")]
    pub random_check: bool,
    /// What the reviewer is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<crate::Json>,
}

impl NewVerdict {
    /// Verdicts in parts that can each be asked for at once, one part after the other: no more than so many, and none with two on one item,
    /// since what the second means depends on what became of the first. The first on each item come first, then the second ones, and so on.
    pub fn apart(verdicts: Vec<NewVerdict>, most: usize) -> Vec<Vec<NewVerdict>> {
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
    /// Why nothing is taken that is about a closed item.
    pub(crate) const CLOSED: &'static str = "it is closed: its scores can change no more";

    /// Whether it was not taken because the item is closed: then it need not be sent again.
    pub fn is_closed(&self) -> bool {
        self.why == Self::CLOSED
    }
}

/// JSON has null for what is no number.
fn number_or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// What was not taken in, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// The client's name for it.
    pub id: String,
    /// Why.
    pub why: String,
}
