//! Log entries. The state of a queue follows from its entries, applied in order (a fold).
//!
//! An entry is stored as a small versioned body in the log, and rows in other tables: items,
//! scores, claims, verdicts. The types here hold an entry together with its rows. Stored bodies
//! name items by number only, so that ids and scores can be erased without changing the log.

use crate::config::Config;
use crate::live_queue::Filter;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An item's tags by name, such as `language: en`.
pub type Tags = BTreeMap<String, String>;

/// One entry of a queue's log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// The entry's number, from 1 without gaps.
    pub seq: u64,
    /// The time in microseconds since 1970. Never before the previous entry's, except for
    /// [`Body::Clock`].
    pub at: i64,
    /// Who made the request.
    pub actor: String,
    /// The change.
    pub body: Body,
}

/// The change that an entry makes.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The queue was created.
    Create {
        /// The first configuration.
        config: Config,
        /// The key of the keyed hashes that draw random checks.
        secret: u64,
    },
    /// The configuration was changed.
    Configure {
        /// The whole new configuration.
        config: Config,
        /// Open items that have enough verdicts by the new quorum. They are decided and closed.
        decided: Vec<DecidedItem>,
    },
    /// Items were added or rescored.
    Items {
        /// New items, numbered without gaps.
        added: Vec<AddedItem>,
        /// Existing items with changed scores.
        rescored: Vec<RescoredItem>,
    },
    /// A reviewer claimed items.
    Claim {
        /// The reviewer.
        reviewer: String,
        /// The number of items asked for, or fewer if the reviewer's or the answer's limit was
        /// less.
        k: u32,
        /// Only items with these tags.
        filter: Filter,
        /// The log entry up to which the ranking model had learnt.
        model: u64,
        /// The end of the leases, in microseconds since 1970.
        until: i64,
        /// The most random checks among the items, by a draw for this claim; none in entries of
        /// earlier programs.
        random_checks: Option<u32>,
        /// The items in the order of the claim.
        picks: Vec<ClaimPick>,
    },
    /// A reviewer extended leases.
    Extend {
        /// The reviewer.
        reviewer: String,
        /// The new end of the leases, in microseconds since 1970.
        until: i64,
        /// The leases.
        leases: Vec<LeasedItem>,
    },
    /// A reviewer released or skipped items.
    Release {
        /// The reviewer.
        reviewer: String,
        /// The leases that ended.
        leases: Vec<LeasedItem>,
        /// For a skip, the reason: the reviewer will not be given the item again.
        skip: Option<String>,
    },
    /// Verdicts were recorded.
    Verdicts {
        /// The verdicts, in order.
        given: Vec<GivenVerdict>,
    },
    /// A reviewer took a verdict back. The verdict counts as never given, and the reviewer holds
    /// the item again.
    Undo {
        /// The reviewer.
        reviewer: String,
        /// The verdict.
        verdict: VerdictPosition,
        /// The verdict's item, which is open now.
        item: AddedItem,
        /// When the item arrived, in microseconds since 1970.
        arrived: i64,
        /// The review slot.
        slot: i16,
        /// The end of the new lease, in microseconds since 1970.
        until: i64,
        /// The other verdicts on the item that were neither revised nor taken back.
        rest: Vec<ReviewVerdict>,
        /// Reviewers who have skipped the item.
        skipped: Vec<String>,
        /// The probability of the pick behind the verdict.
        probability: f64,
        /// Whether the pick behind the verdict was a random check.
        explored: bool,
    },
    /// Open items were closed by a request, without deciding them.
    Close {
        /// The reason.
        reason: String,
        /// The items, as ranges of numbers that include both ends.
        items: Vec<(u64, u64)>,
    },
    /// Items were erased.
    Erase {
        /// The items' numbers.
        items: Vec<u64>,
    },
    /// The log's time was set back to the clock's, so this entry may be earlier than the previous
    /// one. All leases end, and earlier verdicts can no longer be undone.
    Clock,
    /// Only time has passed: the undo window of a verdict has ended.
    Settle,
}

/// A new item.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedItem {
    /// The item's number in the queue.
    pub n: u64,
    /// Scores in the order of the evaluators at this entry, NaN if missing; empty once erased.
    pub scores: Vec<f64>,
    /// The item's tags.
    pub tags: Tags,
    /// The probability of a random check, if the item was drawn for one on arrival.
    pub random_check: Option<f64>,
    /// From this time on the item goes before all others, in microseconds since 1970.
    pub due: Option<i64>,
}

/// An item with changed scores.
#[derive(Debug, Clone, PartialEq)]
pub struct RescoredItem {
    /// The item's number.
    pub n: u64,
    /// All scores of the item now; empty once erased.
    pub scores: Vec<f64>,
    /// Whether an evaluator scored the item for the first time; none in entries of earlier
    /// programs.
    pub newly: Option<bool>,
}

/// One item of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimPick {
    /// The item's number.
    pub n: u64,
    /// The review slot, numbered from 0 for each item.
    pub slot: i16,
    /// The value it was ranked by.
    pub value: f64,
    /// The probability with which it was chosen.
    pub probability: f64,
    /// Whether it was chosen as a random check.
    pub explored: bool,
}

/// A review slot of an item that a reviewer holds. Each review that an item needs has a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeasedItem {
    /// The item's number.
    pub n: u64,
    /// The review slot.
    pub slot: i16,
}

/// A verdict by its position in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictPosition {
    /// The entry's number.
    pub seq: u64,
    /// The index within the entry.
    pub i: u32,
}

/// Who decided a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictSource {
    /// A person who reviewed the item.
    #[default]
    Reviewer,
    /// An appeal against earlier verdicts.
    Appeal,
    /// A rule or a program. The verdict closes the item, is not learnt, and does not count as
    /// found.
    Automatic,
}

/// A verdict in a log entry.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenVerdict {
    /// The client's id, unique in the queue.
    pub id: String,
    /// The item's number.
    pub n: u64,
    /// The review slot; negative for appeals and automatic verdicts.
    pub slot: i16,
    /// The reviewer.
    pub reviewer: String,
    /// Who decided.
    pub source: VerdictSource,
    /// The label, such as "harmful".
    pub label: Option<String>,
    /// The reward.
    pub reward: f64,
    /// When it was given, in microseconds since 1970, if the client says so. The entry's time is
    /// when it was received.
    pub observed_at: Option<i64>,
    /// The log entry of the claim that the verdict answers.
    pub claim: Option<u64>,
    /// The verdict that this one replaces.
    pub supersedes: Option<VerdictPosition>,
    /// The item's reward, if this verdict decides the item.
    pub decides: Option<f64>,
    /// Whether it is a revision or an appeal, and decides an item that was undecided before.
    pub decides_first: bool,
    /// The probability of the pick behind the verdict.
    pub probability: f64,
    /// Whether the pick behind the verdict was a random check.
    pub explored: bool,
    /// When the item arrived, in microseconds since 1970.
    pub arrived: i64,
    /// The item's scores at this entry; empty once erased.
    pub scores: Vec<f64>,
}

/// An item decided by lowering the quorum.
#[derive(Debug, Clone, PartialEq)]
pub struct DecidedItem {
    /// The item's number.
    pub n: u64,
    /// The item's reward.
    pub reward: f64,
    /// The probability of the pick behind the item's last verdict.
    pub probability: f64,
    /// Whether the pick behind the item's last verdict was a random check.
    pub explored: bool,
    /// When the item arrived, in microseconds since 1970.
    pub arrived: i64,
    /// Scores in the order of the evaluators before the change; empty once erased.
    pub scores: Vec<f64>,
}

/// A reviewer's verdict on an open item, neither revised nor taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewVerdict {
    /// The reviewer.
    pub reviewer: String,
    /// The review slot.
    pub slot: i16,
    /// The reward.
    pub reward: f64,
}

/// The slot of appeals.
pub(crate) const APPEAL: i16 = -1;
/// The slot of automatic verdicts.
pub(crate) const AUTOMATIC: i16 = -2;

impl Body {
    /// The name of the kind of entry, as stored and shown.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Create { .. } => "create",
            Body::Configure { .. } => "configure",
            Body::Items { .. } => "items",
            Body::Claim { .. } => "claim",
            Body::Extend { .. } => "extend",
            Body::Release { .. } => "release",
            Body::Verdicts { .. } => "verdicts",
            Body::Undo { .. } => "undo",
            Body::Close { .. } => "close",
            Body::Erase { .. } => "erase",
            Body::Clock => "clock",
            Body::Settle => "settle",
        }
    }

    /// One plus the number of added and rescored items, picks, verdicts or decisions in the entry.
    /// Checkpoints are spaced by the sum of these weights.
    pub(crate) fn weight(&self) -> u64 {
        1 + match self {
            Body::Items { added, rescored } => added.len() + rescored.len(),
            Body::Claim { picks, .. } => picks.len(),
            Body::Verdicts { given } => given.len(),
            Body::Configure { decided, .. } => decided.len(),
            _ => 0,
        } as u64
    }
}
