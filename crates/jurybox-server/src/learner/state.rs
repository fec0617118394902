//! What a learner is made of besides its jury, and how it is saved.

use super::{LaterFacts, Learner};
use crate::Error;
use crate::config::Config;
use crate::evaluator_history::EvaluatorHistory;
use jurybox::Jury;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An item that waits for its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitingItem {
    pub(super) due: i64,
    pub(super) scores: Vec<f64>,
}

/// A verdict that can still be taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingLesson {
    pub(super) due: i64,
    pub(super) seq: u64,
    pub(super) i: u32,
    pub(super) arrived: i64,
    pub(super) scores: Vec<f64>,
    pub(super) reward: f64,
    pub(super) probability: f64,
    pub(super) explored: bool,
    /// The code of who judged, where the item is worth what one reviewer said.
    pub(super) reviewer: Option<u64>,
}

/// Everything but the jury, as it is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) version: u32,
    pub(super) seq: u64,
    pub(super) at: i64,
    /// How often something was revised that had been learnt.
    pub(super) epoch: u64,
    /// Rows folded.
    pub(super) weight: u64,
    #[serde(with = "as_json")]
    pub(super) config: Config,
    pub(super) history: EvaluatorHistory,
    pub(super) round: Vec<(u64, Vec<f64>)>,
    pub(super) unripe: BTreeMap<u64, WaitingItem>,
    /// How often the scores of items were replaced that have been seen, and are not decided.
    pub(super) replaced: BTreeMap<u64, u32>,
    pub(super) lessons: BTreeMap<u64, PendingLesson>,
    pub(super) jury: Vec<u8>,
}

/// The version of what is saved. A reader refuses others.
pub(super) const VERSION: u32 = 4;

impl Learner {
    /// The whole of it, the same bytes for the same log.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let state = State { jury: self.jury.to_bytes(), ..self.state.clone() };
        postcard::to_allocvec(&state).expect("a learner is plain data")
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let state: State = postcard::from_bytes(bytes)
            .map_err(|error| crate::error::corrupt(format!("a checkpoint: {error}")))?;
        if state.version != VERSION {
            return Err(Error::Open(format!("a checkpoint is of version {}", state.version)));
        }
        let jury = Jury::from_bytes(&state.jury)?;
        let ripe_at = state.unripe.iter().map(|(n, unripe)| (unripe.due, *n)).collect();
        let taught_at = state.lessons.iter().map(|(n, l)| (l.due, l.seq, l.i, *n)).collect();
        Ok(Learner { state, jury, known: LaterFacts::default(), ripe_at, taught_at, sighted: 0, stale: false })
    }
}

/// A configuration has fields that may be left out, and the compact form has none such: it stands there as JSON.
mod as_json {
    use super::Config;
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    pub(super) fn serialize<S: Serializer>(config: &Config, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(config).map_err(ser::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Config, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}
