//! The log: what happened, entry by entry. Folding the entries in order is all there is to a queue.
//!
//! An entry is a small versioned body in the log, and the rows that it wrote into tables of their own: items, late scores,
//! claims, verdicts. Here it is put together again. A body names items by their number alone, so that an item's key and
//! scores can be erased without touching the log.

use crate::live_queue::Filter;
use crate::config::Config;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tags of an item, such as its language: a name and a value each.
pub type Tags = BTreeMap<String, String>;

/// One entry of a queue's log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// When, in microseconds since 1970; never earlier than the entry before, unless the clock is
    /// set by it.
    pub at: i64,
    /// Who asked for it.
    pub actor: String,
    /// What happened.
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The queue was made.
    Create {
        /// How it is set up.
        config: Config,
        /// What the draws of its audits are keyed by.
        secret: u64,
    },
    /// The queue was set up anew.
    Configure {
        /// From now on.
        config: Config,
        /// Items that have enough verdicts by it: they are closed.
        decided: Vec<DecidedItem>,
    },
    /// Items came in, or got further scores.
    Items {
        /// Those that are new, numbered without gaps.
        added: Vec<AddedItem>,
        /// Those that were there.
        rescored: Vec<RescoredItem>,
    },
    /// A reviewer was given items.
    Claim {
        /// Who.
        reviewer: String,
        /// How many were asked for.
        k: u32,
        /// Which were wanted.
        filter: Filter,
        /// The entry up to which the model that ranked them had learnt.
        model: u64,
        /// Until when they are the reviewer's own.
        until: i64,
        /// How many of them audits could take, by the draw of this claim; none in entries from before there was one.
        random_checks: Option<u32>,
        /// Which, in the order of their places.
        picks: Vec<ClaimPick>,
    },
    /// A reviewer keeps items for longer.
    Extend {
        /// Who.
        reviewer: String,
        /// Until when now.
        until: i64,
        /// Which.
        leases: Vec<LeasedItem>,
    },
    /// A reviewer gave items back.
    Release {
        /// Who.
        reviewer: String,
        /// Which.
        leases: Vec<LeasedItem>,
        /// Why the reviewer does not want to be given them again, where that is so.
        skip: Option<String>,
    },
    /// Verdicts came in.
    Verdicts {
        /// Each of them.
        given: Vec<GivenVerdict>,
    },
    /// A verdict was taken back, soon enough to count as never given.
    Undo {
        /// Whose.
        reviewer: String,
        /// Which.
        verdict: VerdictPosition,
        /// Of this item, as it stands open again.
        item: AddedItem,
        /// When the item came in.
        arrived: i64,
        /// The place among its reviews.
        slot: i16,
        /// Until when the item is the reviewer's own again.
        until: i64,
        /// The other verdicts on it.
        rest: Vec<ReviewVerdict>,
        /// Who does not want to be given it.
        skipped: Vec<String>,
        /// The probability of the pick that the verdict was on.
        probability: f64,
        /// Whether that was an audit.
        explored: bool,
    },
    /// Items were closed without a verdict.
    Close {
        /// Why.
        reason: String,
        /// Which, as ranges of numbers, both ends included.
        items: Vec<(u64, u64)>,
    },
    /// Items were erased: what they were is gone.
    Erase {
        /// Which.
        items: Vec<u64>,
    },
    /// The time of the log was set back to that of the clock, which had been ahead: this entry and
    /// those after it may be earlier than those before. All that waited for a later time has
    /// happened: leases have run out, verdicts stand.
    Clock,
    /// Nothing but that time has passed: what waited for that, such as a verdict that can no longer be taken back, is so.
    Settle,
}

/// An item that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedItem {
    /// Its number in the queue.
    pub n: u64,
    /// Its scores by the evaluators in force, NaN where missing; empty once erased.
    pub scores: Vec<f64>,
    /// Its tags.
    pub tags: Tags,
    /// The probability with which it was drawn for an audit, if it was.
    pub random_check: Option<f64>,
    /// From when on it goes first.
    pub due: Option<i64>,
}

/// An item whose scores changed.
#[derive(Debug, Clone, PartialEq)]
pub struct RescoredItem {
    /// Its number.
    pub n: u64,
    /// All of its scores now; empty once erased.
    pub scores: Vec<f64>,
    /// Whether one of them is the first by its evaluator, and not another in place of one that was there; entries of earlier programs do
    /// not say.
    pub newly: Option<bool>,
}

/// An item given to a reviewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimPick {
    /// Its number.
    pub n: u64,
    /// The place among its reviews.
    pub slot: i16,
    /// What it was ranked by.
    pub value: f64,
    /// The probability with which it was to be looked at.
    pub probability: f64,
    /// Whether it was an audit.
    pub explored: bool,
}

/// An item that a reviewer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeasedItem {
    /// Its number.
    pub n: u64,
    /// The place among its reviews.
    pub slot: i16,
}

/// A verdict by its place in the log: the entry, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictPosition {
    /// The entry.
    pub seq: u64,
    /// The place in it.
    pub i: u32,
}

/// Where a verdict comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictSource {
    /// A person who looked at the item.
    #[default]
    Reviewer,
    /// Somebody who decided over the verdicts there were.
    Appeal,
    /// A rule or a program: it closes the item, teaches nothing and counts as nobody's find.
    Automatic,
}

/// A verdict that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenVerdict {
    /// The client's name for it; no two verdicts of a queue share one.
    pub id: String,
    /// The item.
    pub n: u64,
    /// The place among its reviews; below zero for appeals and automatic verdicts.
    pub slot: i16,
    /// Who.
    pub reviewer: String,
    /// Where it comes from.
    pub source: VerdictSource,
    /// A word for what was found.
    pub label: Option<String>,
    /// What it was worth.
    pub reward: f64,
    /// When it was given, where the client says; the log's time is when it came in.
    pub observed_at: Option<i64>,
    /// The claim that it answers, if any.
    pub claim: Option<u64>,
    /// The verdict that it replaces, if any.
    pub supersedes: Option<VerdictPosition>,
    /// What the item is worth, where this verdict decides it.
    pub decides: Option<f64>,
    /// Whether it replaces another, or is an appeal, and is the first to decide: until then there were too few that agreed.
    pub decides_first: bool,
    /// The probability of its pick.
    pub probability: f64,
    /// Whether its pick was an audit.
    pub explored: bool,
    /// When its item came in.
    pub arrived: i64,
    /// The item's scores now, by the evaluators in force; empty once erased.
    pub scores: Vec<f64>,
}

/// An item that waited for further verdicts, and needs none since the queue was set up anew.
#[derive(Debug, Clone, PartialEq)]
pub struct DecidedItem {
    /// Its number.
    pub n: u64,
    /// What it is worth.
    pub reward: f64,
    /// The probability of the pick that the last verdict on it was on.
    pub probability: f64,
    /// Whether that was an audit.
    pub explored: bool,
    /// When the item came in.
    pub arrived: i64,
    /// The item's scores by the evaluators before; empty once erased.
    pub scores: Vec<f64>,
}

/// A verdict that stands, as far as a board must know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewVerdict {
    /// Whose.
    pub reviewer: String,
    /// The place among the item's reviews.
    pub slot: i16,
    /// What it was worth.
    pub reward: f64,
}

/// The slot of an appeal.
pub(crate) const APPEAL: i16 = -1;
/// The slot of an automatic verdict.
pub(crate) const AUTOMATIC: i16 = -2;

impl Body {
    /// The word for it in the log.
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

    /// How many rows it comes with, itself included: checkpoints are made by this count.
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
