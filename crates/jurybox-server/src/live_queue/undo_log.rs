//! The undo log: the changes of a transaction to the live queue, so that they can be rolled back.

use super::LiveQueue;
use super::ranking::{ItemRanking, RankKey};
use super::reviews::ItemReviews;
use super::score_blocks::ScoreBlocks;
use crate::config::Config;
use std::sync::Arc;

/// One change, with the state before it.
#[derive(Debug)]
pub(super) enum UndoStep {
    Head { seq: u64, at: i64, clock_set: u64, next: u64, verdicts: u64 },
    Config { config: Arc<Config>, blocks: Option<ScoreBlocks>, history: usize, ranking: Option<ItemRanking> },
    Inserted { n: u64 },
    Marks { n: u64, random_check: Option<f64>, due: Option<i64> },
    Flags { n: u64, before: u8 },
    Scores { n: u64, before: Vec<f64> },
    Reviews { n: u64, before: Option<ItemReviews> },
    Entered { place: RankKey },
    Lifted { place: RankKey },
}

impl LiveQueue {
    pub(super) fn note(&mut self, step: UndoStep) {
        self.journal.push(step);
    }

    /// Keeps the changes since the last commit, and moves the ranking's cursor on.
    pub(crate) fn commit(&mut self) {
        self.journal.clear();
        if let Some(ranking) = &mut self.ranking {
            ranking.advance(&self.blocks);
        }
    }

    /// Undoes the changes since the last commit, last one first.
    pub(crate) fn rollback(&mut self) {
        while let Some(step) = self.journal.pop() {
            self.undo_step(step);
        }
    }

    fn undo_step(&mut self, step: UndoStep) {
        match step {
            UndoStep::Head { seq, at, clock_set, next, verdicts } => {
                (self.seq, self.at, self.clock_set) = (seq, at, clock_set);
                (self.next, self.verdicts) = (next, verdicts);
            }
            UndoStep::Config { config, blocks, history, ranking } => {
                self.config = config;
                self.history.truncate(history);
                if let Some(blocks) = blocks {
                    self.blocks = blocks;
                    self.generation += 1;
                }
                if ranking.is_some() {
                    self.ranking = ranking;
                }
            }
            UndoStep::Inserted { n } => {
                self.blocks.set_flags(n, 0);
                self.unmark(n);
            }
            UndoStep::Marks { n, random_check, due } => {
                if let Some(probability) = random_check {
                    self.random_checks.insert(n, probability);
                }
                if let Some(due) = due {
                    self.due_of.insert(n, due);
                    self.dues.insert((due, n));
                }
            }
            UndoStep::Flags { n, before } => self.blocks.set_flags(n, before),
            UndoStep::Scores { n, before } => self.blocks.set_scores(n, &before),
            UndoStep::Reviews { n, before } => drop(self.set_reviews(n, before)),
            UndoStep::Entered { place } => {
                if let Some(ranking) = &mut self.ranking {
                    ranking.newcomers.remove(&place);
                }
            }
            UndoStep::Lifted { place } => {
                if let Some(ranking) = &mut self.ranking {
                    ranking.newcomers.insert(place);
                }
            }
        }
    }

    fn unmark(&mut self, n: u64) {
        self.random_checks.remove(&n);
        if let Some(due) = self.due_of.remove(&n) {
            self.dues.remove(&(due, n));
        }
    }
}
