//! A queue as a node knows it: the board and what was learnt, both folds of the same log.

use crate::Error;
use crate::board::Board;
use crate::board::view::View;
use crate::event::Event;
use crate::learner::{Known, Learner};

/// A queue folded from its log.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) board: Board,
    pub(crate) learner: Learner,
}

impl Replica {
    /// Of a queue whose first entry this is.
    pub(crate) fn new(first: &Event) -> Result<Self, Error> {
        Ok(Replica { board: Board::new(first)?, learner: Learner::new(first, Known::default())? })
    }

    /// Ranks all open items by what has been learnt, here and now. False where that has been revised, and is to be folded again.
    pub(crate) fn rank(&mut self) -> Result<bool, Error> {
        if self.learner.is_stale() {
            return Ok(false);
        }
        let (blocks, generation) = self.board.begin_ranking();
        let (evaluators, ageing) = (self.board.seatings.current(), self.board.ageing());
        let valuing = self.board.valuing();
        let view = View::of(self.learner.seq(), self.learner.fit(), &blocks, evaluators, ageing, valuing)?;
        drop(blocks);
        Ok(self.board.take_view(view, generation))
    }
}
