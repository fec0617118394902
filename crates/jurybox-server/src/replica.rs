//! A queue as a node knows it: the board and what was learnt, both folds of the same log.

use crate::Error;
use crate::live_queue::LiveQueue;
use crate::live_queue::ranking::ItemRanking;
use crate::event::LogEvent;
use crate::learner::{LaterFacts, Learner};

/// Items that are ranked while somebody waits.
const FEW: usize = 2048;

/// A queue folded from its log.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) live: LiveQueue,
    pub(crate) learner: Learner,
}

impl Replica {
    /// Of a queue whose first entry this is.
    pub(crate) fn new(first: &LogEvent) -> Result<Self, Error> {
        Ok(Replica { live: LiveQueue::new(first)?, learner: Learner::new(first, LaterFacts::default())? })
    }

    /// Ranks all open items by what has been learnt, here and now. False where that has been revised, and is to be folded again.
    pub(crate) fn rank(&mut self) -> Result<bool, Error> {
        if self.learner.is_stale() {
            return Ok(false);
        }
        let (blocks, generation) = self.live.begin_ranking();
        let (evaluators, ageing) = (self.live.history.current(), self.live.ageing());
        let value_rule = self.live.value_rule();
        let ranking = ItemRanking::of(self.learner.seq(), self.learner.fit()?, &blocks, evaluators, ageing, value_rule)?;
        drop(blocks);
        Ok(self.live.install_ranking(ranking, generation))
    }

    /// Ranks for a claim, where the model is so new that every item which comes in changes it much, and the items are so few that this
    /// takes no time: who tries a queue with a handful of items is given the best of them at once. And, however many there are, where
    /// the order is from before the first of them, or before the first whole round: it would be one by age.
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
