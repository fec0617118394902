//! A node's copy of a queue: its live state and its learner, which both apply the entries of the
//! same log.

use crate::Error;
use crate::event::LogEvent;
use crate::learner::{LaterFacts, Learner};
use crate::live_queue::LiveQueue;
use crate::live_queue::ranking::ItemRanking;

/// Before its first whole round, a queue of up to this many open items is ranked at each claim.
const FEW: usize = 2048;

/// A queue after the entries of its log that were applied so far.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) live: LiveQueue,
    pub(crate) learner: Learner,
}

impl Replica {
    /// The queue after its first entry.
    pub(crate) fn new(first: &LogEvent) -> Result<Self, Error> {
        Ok(Replica { live: LiveQueue::new(first)?, learner: Learner::new(first, LaterFacts::default())? })
    }

    /// Ranks all open items by what has been learnt so far. False, without ranking, if a revision
    /// has made the learner stale: then the log must be folded again first.
    pub(crate) fn rank(&mut self) -> Result<bool, Error> {
        if self.learner.is_stale() {
            return Ok(false);
        }
        let (blocks, generation) = self.live.begin_ranking();
        let (evaluators, ageing) = (self.live.history.current(), self.live.ageing());
        let value_rule = self.live.value_rule();
        let ranking = ItemRanking::of(
            self.learner.seq(),
            self.learner.fit()?,
            &blocks,
            evaluators,
            ageing,
            value_rule,
        )?;
        drop(blocks);
        Ok(self.live.install_ranking(ranking, generation))
    }

    /// Ranks before a claim if the present ranking knows no item or no whole round, so that it
    /// would order items by age alone. Before the first whole round, where every new item changes
    /// the model much, also ranks queues of at most [`FEW`] open items.
    pub(crate) fn rank_while_new(&mut self) -> Result<(), Error> {
        let model = self.live.ranking.as_ref().map(|ranking| ranking.model);
        let blind = model.is_none_or(|model| self.learner.sees_more_than(model));
        let old = model != Some(self.learner.seq());
        if blind || (old && self.learner.is_new() && self.live.blocks.open() <= FEW) {
            self.rank()?;
        }
        Ok(())
    }
}
