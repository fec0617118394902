//! The log: what happened, entry by entry. Folding the entries in order is all there is to a queue.
//!
//! An entry is a small versioned body in the log, and the rows that it wrote into tables of their own: items, late scores,
//! claims, verdicts. Here it is put together again. A body names items by their number alone, so that an item's key and
//! scores can be erased without touching the log.

use crate::board::Filter;
use crate::config::Config;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tags of an item, such as its language: a name and a value each.
pub type Tags = BTreeMap<String, String>;

/// One entry of a queue's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// When, in microseconds since 1970; never earlier than the entry before.
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
        decided: Vec<Decided>,
    },
    /// Items came in, or got further scores.
    Items {
        /// Those that are new, numbered without gaps.
        added: Vec<Added>,
        /// Those that were there.
        rescored: Vec<Rescored>,
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
        /// Which, in the order of their places.
        picks: Vec<Picked>,
    },
    /// A reviewer keeps items for longer.
    Extend {
        /// Who.
        reviewer: String,
        /// Until when now.
        until: i64,
        /// Which.
        leases: Vec<Held>,
    },
    /// A reviewer gave items back.
    Release {
        /// Who.
        reviewer: String,
        /// Which.
        leases: Vec<Held>,
        /// Why the reviewer does not want to be given them again, where that is so.
        skip: Option<String>,
    },
    /// Verdicts came in.
    Verdicts {
        /// Each of them.
        given: Vec<Given>,
    },
    /// A verdict was taken back, soon enough to count as never given.
    Undo {
        /// Whose.
        reviewer: String,
        /// Which.
        verdict: Which,
        /// Of this item, as it stands open again.
        item: Added,
        /// When the item came in.
        arrived: i64,
        /// The place among its reviews.
        slot: i16,
        /// Until when the item is the reviewer's own again.
        until: i64,
        /// The other verdicts on it.
        rest: Vec<Earlier>,
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
    /// Nothing but that time has passed: what waited for that, such as a verdict that can no longer be taken back, is so.
    Settle,
}

/// An item that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Added {
    /// Its number in the queue.
    pub n: u64,
    /// Its scores by the evaluators in force, NaN where missing; empty once erased.
    pub scores: Vec<f64>,
    /// Its tags.
    pub tags: Tags,
    /// The probability with which it was drawn for an audit, if it was.
    pub audit: Option<f64>,
    /// From when on it goes first.
    pub due: Option<i64>,
}

/// An item whose scores changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Rescored {
    /// Its number.
    pub n: u64,
    /// All of its scores now; empty once erased.
    pub scores: Vec<f64>,
}

/// An item given to a reviewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Picked {
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
pub struct Held {
    /// Its number.
    pub n: u64,
    /// The place among its reviews.
    pub slot: i16,
}

/// A verdict by its place in the log: the entry, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Which {
    /// The entry.
    pub seq: u64,
    /// The place in it.
    pub i: u32,
}

/// Where a verdict comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
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
pub struct Given {
    /// The client's name for it; no two verdicts of a queue share one.
    pub id: String,
    /// The item.
    pub n: u64,
    /// The place among its reviews; below zero for appeals and automatic verdicts.
    pub slot: i16,
    /// Who.
    pub reviewer: String,
    /// Where it comes from.
    pub source: Source,
    /// A word for what was found.
    pub label: Option<String>,
    /// What it was worth.
    pub reward: f64,
    /// When it was given, where the client says; the log's time is when it came in.
    pub observed_at: Option<i64>,
    /// The claim that it answers, if any.
    pub claim: Option<u64>,
    /// The verdict that it replaces, if any.
    pub supersedes: Option<Which>,
    /// What the item is worth, where this verdict decides it.
    pub decides: Option<f64>,
    /// Whether it replaces another and is the first to decide: until then there were too few that agreed.
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
pub struct Decided {
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

/// The same without the item itself, as it stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Enough {
    pub(crate) n: u64,
    pub(crate) reward: f64,
    pub(crate) probability: f64,
    pub(crate) explored: bool,
}

/// A verdict that stands, as far as a board must know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
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

/// The small part of an entry that stands in the log itself. Fields may be added under one version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Stub {
    Create {
        config: Box<Config>,
        secret: u64,
    },
    Configure {
        config: Box<Config>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decided: Vec<Enough>,
    },
    Items {
        first: u64,
        added: u64,
        rescored: u64,
    },
    Claim {
        reviewer: String,
        k: u32,
        filter: Filter,
        model: u64,
        until: i64,
        picked: u64,
    },
    Extend {
        reviewer: String,
        until: i64,
        leases: Vec<Held>,
    },
    Release {
        reviewer: String,
        leases: Vec<Held>,
        skip: Option<String>,
    },
    Verdicts {
        given: u64,
        /// The places of those that replace another and are the first to decide.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decides_first: Vec<u32>,
    },
    Undo {
        reviewer: String,
        verdict: Which,
        n: u64,
        slot: i16,
        until: i64,
        rest: Vec<Earlier>,
        skipped: Vec<String>,
        probability: f64,
        explored: bool,
    },
    Close {
        reason: String,
        items: Vec<(u64, u64)>,
    },
    Erase {
        items: Vec<u64>,
    },
    Settle,
}

#[derive(Serialize, Deserialize)]
struct Versioned {
    v: u32,
    #[serde(flatten)]
    stub: Stub,
}

/// The version of bodies. A reader refuses others.
const VERSION: u32 = 1;

impl Stub {
    pub(crate) fn of(body: &Body) -> Stub {
        let len = |list: usize| list as u64;
        match body.clone() {
            Body::Create { config, secret } => Stub::Create { config: Box::new(config), secret },
            Body::Configure { config, decided } => {
                let enough = |item: Decided| Enough {
                    n: item.n,
                    reward: item.reward,
                    probability: item.probability,
                    explored: item.explored,
                };
                let decided = decided.into_iter().map(enough).collect();
                Stub::Configure { config: Box::new(config), decided }
            }
            Body::Items { added, rescored } => Stub::Items {
                first: added.first().map_or(0, |item| item.n),
                added: len(added.len()),
                rescored: len(rescored.len()),
            },
            Body::Claim { reviewer, k, filter, model, until, picks } => {
                Stub::Claim { reviewer, k, filter, model, until, picked: len(picks.len()) }
            }
            Body::Extend { reviewer, until, leases } => Stub::Extend { reviewer, until, leases },
            Body::Release { reviewer, leases, skip } => Stub::Release { reviewer, leases, skip },
            Body::Verdicts { given } => {
                let places = (0_u32..).zip(&given);
                let first = places.filter(|(_, given)| given.decides_first).map(|(i, _)| i).collect();
                Stub::Verdicts { given: len(given.len()), decides_first: first }
            }
            Body::Undo {
                reviewer,
                verdict,
                item,
                arrived: _,
                slot,
                until,
                rest,
                skipped,
                probability,
                explored,
            } => {
                Stub::Undo { reviewer, verdict, n: item.n, slot, until, rest, skipped, probability, explored }
            }
            Body::Close { reason, items } => Stub::Close { reason, items },
            Body::Erase { items } => Stub::Erase { items },
            Body::Settle => Stub::Settle,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        #[derive(Serialize)]
        struct Out<'a> {
            v: u32,
            #[serde(flatten)]
            stub: &'a Stub,
        }
        serde_json::to_string(&Out { v: VERSION, stub: self }).expect("a body is plain data")
    }

    pub(crate) fn from_text(text: &str) -> Result<Stub, crate::Error> {
        let read: Versioned = serde_json::from_str(text)
            .map_err(|error| crate::error::corrupt(format!("a body of the log: {error}: {text}")))?;
        if read.v != VERSION {
            return Err(crate::Error::Open(format!(
                "the log has bodies of version {}, this program reads version {VERSION}",
                read.v
            )));
        }
        Ok(read.stub)
    }
}
