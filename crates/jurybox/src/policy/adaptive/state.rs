//! All that `adaptive` has learnt: moments along time, and two samples.

use crate::estimate::ladder::Ladder;
use crate::estimate::pulse::Pulse;
use crate::estimate::{Joint, Moments, Sample, Statistic};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub(super) ladder: Ladder<Block>,
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
    /// Readings by which drift is seen; empty unless that is asked for.
    pub(super) pulse: Pulse,
}

impl Block {
    pub(super) fn new(evaluators: usize) -> Self {
        Block {
            scores: Moments::new(evaluators),
            labelled: Joint::new(evaluators + 1),
            pulse: Pulse::new(evaluators),
        }
    }
}

impl Statistic for Block {
    fn merge(&mut self, other: &Self) {
        self.scores.merge(&other.scores);
        self.labelled.merge(&other.labelled);
        self.pulse.merge(&other.pulse);
    }

    fn reseated(&self, columns: &[Option<usize>]) -> Self {
        Block {
            scores: self.scores.reseated(columns),
            labelled: self.labelled.reseated(&with_reward(columns, self.scores.evaluators())),
            pulse: self.pulse.reseated(columns),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.scores.is_sound(evaluators)
            && self.labelled.is_sound(evaluators + 1)
            && self.pulse.is_sound(evaluators)
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        let empty = Block::new(self.evaluators());
        self.ladder.merge(&other.ladder, &empty);
        self.unlabelled.merge(&other.unlabelled);
        self.labelled.merge(&other.labelled);
    }

    fn reseated(&self, columns: &[Option<usize>]) -> Self {
        State {
            ladder: self.ladder.map(|block| block.reseated(columns)),
            unlabelled: self.unlabelled.reseated(columns),
            labelled: self.labelled.reseated(&with_reward(columns, self.evaluators())),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.ladder.is_sound(evaluators)
            && self.unlabelled.is_sound(evaluators)
            && self.labelled.is_sound(evaluators + 1)
            // A score may be missing from a row; the reward that makes it an example may not.
            && self.labelled.rows().all(|row| row.values.last().is_some_and(|reward| !reward.is_nan()))
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

impl State {
    fn evaluators(&self) -> usize {
        self.ladder.rungs()[0].value.scores.evaluators()
    }
}
