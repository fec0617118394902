//! The stored body of a log entry: small versioned JSON, without the rows in other tables.

use crate::config::Config;
use crate::event::{Body, DecidedItem, LeasedItem, ReviewVerdict, VerdictPosition};
use crate::live_queue::Filter;
use crate::store::schema::RULES;
use serde::{Deserialize, Serialize};

/// An item decided by a lower quorum, without its scores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredDecision {
    pub(crate) n: u64,
    pub(crate) reward: f64,
    pub(crate) probability: f64,
    pub(crate) explored: bool,
}

/// The stored body of an entry, by kind. Optional fields may be added within a version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum StoredBody {
    Create {
        config: Box<Config>,
        secret: u64,
        /// The version of the learning rules in force ([`RULES`]); none in entries of earlier
        /// programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<u64>,
    },
    Configure {
        config: Box<Config>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decided: Vec<StoredDecision>,
    },
    Items {
        first: u64,
        added: u64,
        rescored: u64,
        /// Items that an evaluator scored for the first time, as ranges of numbers; none in entries
        /// of earlier programs or without rescored items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newly: Option<Vec<(u64, u64)>>,
    },
    Claim {
        reviewer: String,
        k: u32,
        filter: Filter,
        model: u64,
        until: i64,
        /// The most random checks of the claim. None in entries of earlier programs; then it is `k`
        /// times the share, rounded up.
        #[serde(default, rename = "audits", skip_serializing_if = "Option::is_none")]
        random_checks: Option<u32>,
        /// The version of the learning rules of the claim's model; none in entries of earlier
        /// programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<u64>,
        picked: u64,
    },
    Extend {
        reviewer: String,
        until: i64,
        leases: Vec<LeasedItem>,
    },
    Release {
        reviewer: String,
        leases: Vec<LeasedItem>,
        skip: Option<String>,
    },
    Verdicts {
        given: u64,
        /// The indexes of revisions and appeals that decide an item undecided before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decides_first: Vec<u32>,
    },
    Undo {
        reviewer: String,
        verdict: VerdictPosition,
        n: u64,
        slot: i16,
        until: i64,
        rest: Vec<ReviewVerdict>,
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
    Clock,
    Settle,
}

/// Ascending numbers as ranges that include both ends.
pub(crate) fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => ranges.push((n, n)),
        }
    }
    ranges
}

#[derive(Serialize, Deserialize)]
struct VersionedBody {
    v: u32,
    #[serde(flatten)]
    stub: StoredBody,
}

/// The version of bodies. Readers refuse others.
const VERSION: u32 = 1;

impl StoredBody {
    /// The stored body of a new entry.
    pub(crate) fn of(body: &Body) -> StoredBody {
        match body {
            Body::Create { config, secret } => {
                StoredBody::Create { config: Box::new(config.clone()), secret: *secret, rules: Some(RULES) }
            }
            Body::Configure { config, decided } => {
                let enough = |item: &DecidedItem| StoredDecision {
                    n: item.n,
                    reward: item.reward,
                    probability: item.probability,
                    explored: item.explored,
                };
                StoredBody::Configure {
                    config: Box::new(config.clone()),
                    decided: decided.iter().map(enough).collect(),
                }
            }
            Body::Items { added, rescored } => StoredBody::Items {
                first: added.first().map_or(0, |item| item.n),
                added: added.len() as u64,
                rescored: rescored.len() as u64,
                newly: (!rescored.is_empty()).then(|| {
                    let newly = rescored.iter().filter(|item| item.newly == Some(true));
                    ranges(newly.map(|item| item.n))
                }),
            },
            Body::Claim { reviewer, k, filter, model, until, random_checks, picks } => StoredBody::Claim {
                reviewer: reviewer.clone(),
                k: *k,
                filter: filter.clone(),
                model: *model,
                until: *until,
                random_checks: *random_checks,
                rules: Some(RULES),
                picked: picks.len() as u64,
            },
            Body::Extend { reviewer, until, leases } => {
                StoredBody::Extend { reviewer: reviewer.clone(), until: *until, leases: leases.clone() }
            }
            Body::Release { reviewer, leases, skip } => {
                StoredBody::Release { reviewer: reviewer.clone(), leases: leases.clone(), skip: skip.clone() }
            }
            Body::Verdicts { given } => {
                let places = (0_u32..).zip(given);
                let first = places.filter(|(_, given)| given.decides_first).map(|(i, _)| i).collect();
                StoredBody::Verdicts { given: given.len() as u64, decides_first: first }
            }
            Body::Undo {
                reviewer, verdict, item, slot, until, rest, skipped, probability, explored, ..
            } => StoredBody::Undo {
                reviewer: reviewer.clone(),
                verdict: *verdict,
                n: item.n,
                slot: *slot,
                until: *until,
                rest: rest.clone(),
                skipped: skipped.clone(),
                probability: *probability,
                explored: *explored,
            },
            Body::Close { reason, items } => {
                StoredBody::Close { reason: reason.clone(), items: items.clone() }
            }
            Body::Erase { items } => StoredBody::Erase { items: items.clone() },
            Body::Clock => StoredBody::Clock,
            Body::Settle => StoredBody::Settle,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        #[derive(Serialize)]
        struct Out<'a> {
            v: u32,
            #[serde(flatten)]
            stub: &'a StoredBody,
        }
        serde_json::to_string(&Out { v: VERSION, stub: self }).expect("a body is plain data")
    }

    pub(crate) fn from_text(text: &str) -> Result<StoredBody, crate::Error> {
        let read: VersionedBody = serde_json::from_str(text)
            .map_err(|error| crate::error::corrupt(format!("the body of a log entry: {error}: {text}")))?;
        if read.v != VERSION {
            return Err(crate::Error::Open(format!(
                "the log has bodies of version {}, and this program reads version {VERSION}",
                read.v
            )));
        }
        Ok(read.stub)
    }
}
