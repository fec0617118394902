//! All that `adaptive` has learnt: moments and readings along time, and samples.

use super::drift::Pulses;
use super::rewards::Traces;
use super::settled::Settled;
use super::turn::Turn;
use crate::estimate::ladder::Ladder;
use crate::estimate::{Joint, Moments, Sample, Statistic};
use crate::seen::Seen;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    /// Coarser than what drift is seen by: these are large, and what they lose at a change is at
    /// most a third of what came since.
    pub(super) ladder: Ladder<Block, 4>,
    /// By which it is seen that evaluators change.
    pub(super) pulses: Pulses,
    /// By which it is seen that rewards do.
    pub(super) traces: Traces,
    pub(super) turn: Option<Turn>,
    pub(super) settled: Settled,
    pub(super) unlabelled: Sample,
    /// Scores, then the reward.
    pub(super) labelled: Sample,
}

/// What a span of time has shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Block {
    pub(super) scores: Moments,
    /// Complete rows with their rewards.
    pub(super) labelled: Joint,
}

impl Block {
    pub(super) fn new(evaluators: usize) -> Self {
        Block { scores: Moments::new(evaluators), labelled: Joint::new(evaluators + 1) }
    }
}

impl Statistic for Block {
    fn merge(&mut self, other: &Self) {
        self.scores.merge(&other.scores);
        self.labelled.merge(&other.labelled);
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        Block {
            scores: self.scores.with_columns(columns),
            labelled: self.labelled.with_columns(&with_reward(columns, self.scores.evaluators())),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.scores.is_sound(evaluators) && self.labelled.is_sound(evaluators + 1)
    }
}

impl State {
    /// Whether nothing here counts more than was seen.
    pub(super) fn is_within(&self, seen: &Seen) -> bool {
        let blocks = || self.ladder.rungs().iter().map(|rung| &rung.value);
        let columns = self.unlabelled.width();
        let items = |j: usize| blocks().map(|block| block.scores.count(j, j)).sum::<f64>();
        let labels: f64 = blocks().map(|block| block.labelled.weight()).sum();
        let rounds: f64 = self.pulses.rungs().iter().map(|rung| rung.value.rounds()).sum();
        self.unlabelled.counted() <= seen.items
            && self.labelled.counted() <= seen.used
            && (0..columns).all(|j| items(j) <= seen.items as f64)
            && labels <= seen.used as f64
            // Chunks of one round are read apart, each with an item at the least, and are one round
            // together.
            && rounds <= seen.rounds as f64 + seen.items as f64
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        self.ladder.merge(&other.ladder);
        self.pulses.merge(&other.pulses);
        self.traces.merge(&other.traces);
        self.turn = Turn::later(self.turn.take(), other.turn.clone());
        self.settled.merge(&other.settled);
        self.unlabelled.merge(&other.unlabelled);
        self.labelled.merge(&other.labelled);
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let labelled = with_reward(columns, self.unlabelled.width());
        State {
            ladder: self.ladder.map(|block| block.with_columns(columns)),
            pulses: self.pulses.map(|pulse| pulse.with_columns(columns)),
            traces: self.traces.map(|rows| rows.with_columns(&labelled)),
            turn: self.turn.clone(),
            settled: self.settled.with_columns(columns),
            unlabelled: self.unlabelled.with_columns(columns),
            labelled: self.labelled.with_columns(&labelled),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        // A score may be missing from a row; the reward that makes it an example may not.
        let judged = |sample: &Sample| {
            sample.rows().all(|row| row.values.last().is_some_and(|reward| !reward.is_nan()))
        };
        self.ladder.is_sound(evaluators)
            && self.pulses.is_sound(evaluators)
            && self.traces.is_sound(evaluators + 1)
            && self.traces.rungs().iter().all(|rung| judged(&rung.value))
            && self.turn.as_ref().is_none_or(Turn::is_sound)
            && self.settled.is_sound(evaluators)
            && self.unlabelled.is_sound(evaluators)
            && self.labelled.is_sound(evaluators + 1)
            && judged(&self.labelled)
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.ladder.is_running() == other.ladder.is_running()
            && self.unlabelled.is_of_kind(&other.unlabelled)
            && self.labelled.is_of_kind(&other.labelled)
    }
}

/// The same columns, and the reward after the last one.
fn with_reward(columns: &[Option<usize>], evaluators: usize) -> Vec<Option<usize>> {
    columns.iter().copied().chain([Some(evaluators)]).collect()
}
