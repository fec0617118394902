//! The learner's state, and how it is stored in checkpoints.

use super::{LaterFacts, Learner};
use crate::Error;
use crate::config::Config;
use crate::evaluator_history::EvaluatorHistory;
use jurybox::Jury;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An item that waits for missing scores until the time `due`. Then it is observed without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitingItem {
    pub(super) due: i64,
    pub(super) scores: Vec<f64>,
}

/// A decided item that is learnt at the time `due`, when the undo window of the decision ends.
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
    /// The code of the reviewer, if a single reviewer's verdict decided.
    pub(super) reviewer: Option<u64>,
}

/// The learner's state. `jury` holds the jury's bytes in a checkpoint, and is not used in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) version: u32,
    pub(super) seq: u64,
    pub(super) at: i64,
    /// How many entries have revised learnt facts, erased items, or changed how the jury learns.
    pub(super) epoch: u64,
    /// The total weight of the entries folded so far.
    pub(super) weight: u64,
    #[serde(with = "as_json")]
    pub(super) config: Config,
    pub(super) history: EvaluatorHistory,
    /// The items observed since the last whole round.
    pub(super) round: Vec<(u64, Vec<f64>)>,
    pub(super) waiting_items: BTreeMap<u64, WaitingItem>,
    /// How often scores of an observed, undecided item were replaced, by item.
    pub(super) replaced: BTreeMap<u64, u32>,
    pub(super) lessons: BTreeMap<u64, PendingLesson>,
    pub(super) jury: Vec<u8>,
}

/// The version of the stored form. Other versions are refused.
pub(super) const VERSION: u32 = 4;

impl Learner {
    /// The stored form. Equal logs give equal bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let state = State { jury: self.jury.to_bytes(), ..self.state.clone() };
        postcard::to_allocvec(&state).expect("a learner is plain data")
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes).
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |error: postcard::Error| crate::error::corrupt(format!("a checkpoint: {error}"));
        // The version comes first, so that it can be read whatever follows.
        let (version, _) = postcard::take_from_bytes::<u32>(bytes).map_err(damaged)?;
        if version != VERSION {
            return Err(Error::Open(format!(
                "the checkpoint has version {version}, and this program reads version {VERSION}"
            )));
        }
        let state: State = postcard::from_bytes(bytes).map_err(damaged)?;
        let jury = Jury::from_bytes(&state.jury)?;
        let observe_at =
            state.waiting_items.iter().map(|(n, waiting_items)| (waiting_items.due, *n)).collect();
        let learn_at = state.lessons.iter().map(|(n, l)| (l.due, l.seq, l.i, *n)).collect();
        Ok(Learner {
            state,
            jury,
            known: LaterFacts::default(),
            observe_at,
            learn_at,
            first_ranked_at: 0,
            stale: false,
        })
    }
}

/// Stores a configuration as JSON text, since postcard cannot leave out fields.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_of_another_version_is_not_called_damaged() {
        let code = |bytes: &[u8]| Learner::from_bytes(bytes).unwrap_err().code();
        assert_eq!(code(&[3, 255]), "open");
        assert_eq!(code(&[VERSION as u8, 255]), "corrupt");
    }
}
