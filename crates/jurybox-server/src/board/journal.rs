//! What a transaction has changed on the board, so that it can be taken back.

use super::Board;
use super::blocks::Blocks;
use super::view::{Place, View};
use super::work::Work;
use crate::config::Config;
use std::sync::Arc;

/// One change, with what was there before.
#[derive(Debug)]
pub(super) enum Step {
    Head { seq: u64, at: i64, clock_set: u64, next: u64, verdicts: u64 },
    Config { config: Arc<Config>, blocks: Option<Blocks>, seatings: usize, view: Option<View> },
    Inserted { n: u64 },
    Marks { n: u64, audit: Option<f64>, due: Option<i64> },
    Flags { n: u64, before: u8 },
    Scores { n: u64, before: Vec<f64> },
    Work { n: u64, before: Option<Work> },
    Entered { place: Place },
    Lifted { place: Place },
}

impl Board {
    pub(super) fn note(&mut self, step: Step) {
        self.journal.push(step);
    }

    /// What was changed stays.
    pub(crate) fn commit(&mut self) {
        self.journal.clear();
        if let Some(view) = &mut self.view {
            view.advance(&self.blocks);
        }
    }

    /// What was changed since the last commit was not.
    pub(crate) fn rollback(&mut self) {
        while let Some(step) = self.journal.pop() {
            self.take_back(step);
        }
    }

    fn take_back(&mut self, step: Step) {
        match step {
            Step::Head { seq, at, clock_set, next, verdicts } => {
                (self.seq, self.at, self.clock_set) = (seq, at, clock_set);
                (self.next, self.verdicts) = (next, verdicts);
            }
            Step::Config { config, blocks, seatings, view } => {
                self.config = config;
                self.seatings.truncate(seatings);
                if let Some(blocks) = blocks {
                    self.blocks = blocks;
                    self.generation += 1;
                }
                if view.is_some() {
                    self.view = view;
                }
            }
            Step::Inserted { n } => {
                self.blocks.set_flags(n, 0);
                self.unmark(n);
            }
            Step::Marks { n, audit, due } => {
                if let Some(probability) = audit {
                    self.audits.insert(n, probability);
                }
                if let Some(due) = due {
                    self.due_of.insert(n, due);
                    self.dues.insert((due, n));
                }
            }
            Step::Flags { n, before } => self.blocks.set_flags(n, before),
            Step::Scores { n, before } => self.blocks.set_scores(n, &before),
            Step::Work { n, before } => drop(self.set_work(n, before)),
            Step::Entered { place } => {
                if let Some(view) = &mut self.view {
                    view.set.remove(&place);
                }
            }
            Step::Lifted { place } => {
                if let Some(view) = &mut self.view {
                    view.set.insert(place);
                }
            }
        }
    }

    fn unmark(&mut self, n: u64) {
        self.audits.remove(&n);
        if let Some(due) = self.due_of.remove(&n) {
            self.dues.remove(&(due, n));
        }
    }
}
