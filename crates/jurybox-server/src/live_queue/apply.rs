//! How each kind of log entry changes the live queue.

use super::LiveQueue;
use super::reviews::{ItemReviews, Lease};
use super::score_blocks::IN_SET;
use super::undo_log::UndoStep;
use crate::Error;
use crate::config::Config;
use crate::error::corrupt;
use crate::event::{AddedItem, Body, GivenVerdict, LogEvent, RescoredItem, ReviewVerdict, VerdictSource};
use std::sync::Arc;

impl LiveQueue {
    /// Applies the next log entry. Leases that end at or before its time expire first, or all
    /// leases if the entry sets the clock. Fails if the entry does not directly follow the last
    /// one, or contradicts the state.
    pub(crate) fn apply(&mut self, event: &LogEvent) -> Result<(), Error> {
        let sets_clock = matches!(event.body, Body::Clock);
        if event.seq != self.seq + 1 || (event.at < self.at && !sets_clock) {
            return Err(corrupt(format!(
                "entry {} at {} follows entry {} at {}",
                event.seq, event.at, self.seq, self.at
            )));
        }
        self.note(UndoStep::Head {
            seq: self.seq,
            at: self.at,
            clock_set: self.clock_set,
            next: self.next,
            verdicts: self.verdicts,
        });
        (self.seq, self.at) = (event.seq, event.at);
        self.expire(if sets_clock { i64::MAX } else { event.at });
        match &event.body {
            Body::Create { .. } => return Err(corrupt("the queue was created twice")),
            Body::Configure { config, decided } => {
                self.configure(event.seq, config)?;
                for item in decided {
                    self.close(item.n);
                }
            }
            Body::Items { added, rescored } => self.take_items(added, rescored, event.at)?,
            Body::Claim { reviewer, until, picks, .. } => {
                let reviewer: Arc<Box<str>> = Arc::new(reviewer.as_str().into());
                for pick in picks {
                    let lease = Lease {
                        slot: pick.slot,
                        reviewer: reviewer.clone(),
                        claim: event.seq,
                        until: *until,
                        probability: pick.probability,
                        explored: pick.explored,
                    };
                    self.lease(pick.n, lease)?;
                }
            }
            Body::Extend { until, leases, .. } => {
                for held in leases {
                    self.change(held.n, |reviews| {
                        for lease in reviews.leases.iter_mut().filter(|lease| lease.slot == held.slot) {
                            lease.until = *until;
                        }
                    })?;
                }
            }
            Body::Release { reviewer, leases, skip } => {
                for held in leases {
                    self.change(held.n, |reviews| {
                        reviews.leases.retain(|lease| lease.slot != held.slot);
                        if skip.is_some() {
                            reviews.skipped.push(reviewer.clone());
                        }
                    })?;
                }
            }
            Body::Verdicts { given } => {
                for given in given {
                    self.verdict(given)?;
                }
            }
            Body::Undo {
                reviewer, item, arrived, slot, until, rest, skipped, probability, explored, ..
            } => {
                self.verdicts -= 1;
                self.undo(item, *arrived, rest, skipped)?;
                let lease = Lease {
                    slot: *slot,
                    reviewer: Arc::new(reviewer.as_str().into()),
                    claim: event.seq,
                    until: *until,
                    probability: *probability,
                    explored: *explored,
                };
                self.lease(item.n, lease)?;
            }
            Body::Close { items, .. } => {
                for n in items.iter().flat_map(|(first, last)| *first..=*last) {
                    self.close(n);
                }
            }
            Body::Erase { items } => items.iter().for_each(|n| self.close(*n)),
            Body::Clock => self.clock_set = event.seq,
            Body::Settle => {}
        }
        Ok(())
    }

    /// Adds new items, and replaces the scores of open ones.
    fn take_items(&mut self, added: &[AddedItem], rescored: &[RescoredItem], at: i64) -> Result<(), Error> {
        for item in added {
            if item.n != self.next {
                return Err(corrupt(format!("item {} was added as number {}", item.n, self.next)));
            }
            self.next += 1;
            if item.scores.is_empty() {
                // Erased by a later entry. Entries before that one still refer to the item, so it
                // is inserted without scores.
                let scores = vec![f64::NAN; self.history.current().len()];
                self.insert(&AddedItem { scores, ..item.clone() }, at)?;
            } else {
                self.insert(item, at)?;
            }
        }
        for item in rescored {
            if self.is_open(item.n) && !item.scores.is_empty() {
                self.rescore(item.n, &item.scores)?;
            }
        }
        Ok(())
    }

    fn configure(&mut self, seq: u64, config: &Config) -> Result<(), Error> {
        let old = std::mem::replace(&mut self.config, Arc::new(config.clone()));
        let evaluators_changed = old.evaluators != config.evaluators;
        let aged = old.ageing_per_day != config.ageing_per_day
            || (&old.muted, &old.weights) != (&config.muted, &config.weights);
        let (blocks, history) =
            ((evaluators_changed || aged).then(|| self.blocks.clone()), self.history.len());
        if evaluators_changed {
            self.history.change(seq, &config.evaluators);
            self.blocks.change_evaluators(&self.history);
        }
        let ranking = if evaluators_changed || aged { self.rank_again()? } else { None };
        self.note(UndoStep::Config { config: old.clone(), blocks, history, ranking });
        if old.quorum != config.quorum {
            // A different quorum can open or close a review slot on items that have verdicts or
            // leases.
            let busy: Vec<u64> = self.item_reviews.keys().copied().collect();
            for n in busy {
                self.update_position(n);
            }
        }
        Ok(())
    }

    fn insert(&mut self, item: &AddedItem, arrived: i64) -> Result<(), Error> {
        if item.scores.len() != self.history.current().len() {
            return Err(corrupt(format!("item {} has {} scores", item.n, item.scores.len())));
        }
        let tags = self.tag_number(&item.tags);
        self.blocks.insert(item.n, &item.scores, arrived, tags);
        self.note(UndoStep::Inserted { n: item.n });
        self.fresh.insert(item.n);
        self.mark(item);
        self.update_position(item.n);
        Ok(())
    }

    fn rescore(&mut self, n: u64, scores: &[f64]) -> Result<(), Error> {
        if scores.len() != self.history.current().len() {
            return Err(corrupt(format!("item {n} has {} scores", scores.len())));
        }
        let before = self.blocks.scores(n).unwrap_or_default().to_vec();
        self.fresh.insert(n);
        self.remove_newcomer(n);
        self.note(UndoStep::Scores { n, before });
        self.blocks.set_scores(n, scores);
        // The sorted order still has the place of the old scores; the new place goes into the set.
        self.set_flags(n, self.blocks.flags(n) | IN_SET);
        self.update_position(n);
        Ok(())
    }

    fn lease(&mut self, n: u64, lease: Lease) -> Result<(), Error> {
        let taken = |reviews: &ItemReviews| reviews.leases.iter().any(|other| other.slot == lease.slot);
        if !self.is_open(n) || self.reviews(n).is_some_and(taken) {
            return Err(corrupt(format!("item {n}, review {} has two leases", lease.slot)));
        }
        self.change(n, |reviews| {
            // Nearly every item has one lease at most, and `push` alone would allocate room for
            // four.
            reviews.leases.reserve_exact(1);
            reviews.leases.push(lease);
        })
    }

    fn verdict(&mut self, given: &GivenVerdict) -> Result<(), Error> {
        if given.supersedes.is_none() {
            self.verdicts += 1;
        }
        // Not undone by a rollback: it only says which rewards are allowed, and this one was.
        if let Some((lowest, highest)) = &mut self.seen_rewards {
            (*lowest, *highest) = (lowest.min(given.reward), highest.max(given.reward));
        }
        if !self.is_open(given.n) {
            return Ok(());
        }
        if given.source != VerdictSource::Reviewer {
            self.close(given.n);
            return Ok(());
        }
        self.change(given.n, |reviews| {
            reviews.leases.retain(|lease| lease.slot != given.slot);
            let verdict =
                ReviewVerdict { reviewer: given.reviewer.clone(), slot: given.slot, reward: given.reward };
            reviews.verdicts.retain(|other| other.slot != given.slot);
            reviews.verdicts.push(verdict);
        })?;
        if given.decides.is_some() {
            self.close(given.n);
        }
        Ok(())
    }

    fn undo(
        &mut self,
        item: &AddedItem,
        arrived: i64,
        rest: &[ReviewVerdict],
        skipped: &[String],
    ) -> Result<(), Error> {
        if self.is_open(item.n) {
            return self.change(item.n, |reviews| reviews.verdicts = rest.to_vec().into());
        }
        if item.scores.is_empty() {
            let scores = vec![f64::NAN; self.history.current().len()];
            self.insert(&AddedItem { scores, ..item.clone() }, arrived)?;
        } else {
            self.insert(item, arrived)?;
        }
        self.change(item.n, |reviews| {
            (reviews.verdicts, reviews.skipped) = (rest.to_vec().into(), skipped.to_vec().into());
        })
    }

    fn close(&mut self, n: u64) {
        if !self.is_open(n) {
            return;
        }
        self.remove_newcomer(n);
        if let Some(reviews) = self.set_reviews(n, None) {
            self.note(UndoStep::Reviews { n, before: Some(reviews) });
        }
        let random_check = self.random_checks.remove(&n);
        let due = self.due_of.remove(&n);
        if let Some(due) = due {
            self.dues.remove(&(due, n));
        }
        if random_check.is_some() || due.is_some() {
            self.note(UndoStep::Marks { n, random_check, due });
        }
        self.set_flags(n, 0);
    }
}
