//! What else is asked of a clerk: who has what, what was found, and housekeeping.

use super::Clerk;
use crate::Error;
use crate::answers::{Open, name_items};
use crate::request::{Answer, Claimed};

impl Clerk {
    /// The queue's name.
    pub(crate) fn name(&mut self) -> Result<String, Error> {
        let queue = self.store.queues()?.into_iter().find(|queue| queue.id == self.queue);
        queue.map(|queue| queue.name).ok_or(Error::Closed)
    }

    /// What a reviewer holds, as it was given out.
    pub(crate) fn held(&mut self, reviewer: &str) -> Result<Vec<Claimed>, Error> {
        let now = self.store.now()?;
        let board = &self.replica.board;
        let mut claims: Vec<Claimed> = Vec::new();
        for held in board.held_by(reviewer) {
            let Some(lease) = board.work(held.n).and_then(|work| work.lease_of(reviewer)) else { continue };
            if lease.until > now {
                let (token, until) = (lease.claim, lease.until);
                let (probability, explored) = (lease.probability, lease.explored);
                claims.push(Claimed {
                    item: String::new(),
                    n: held.n,
                    token,
                    until,
                    rank: 0,
                    value: 0.0,
                    probability,
                    explored,
                    payload: None,
                });
            }
        }
        claims.sort_by_key(|claim| (claim.token, claim.n));
        let mut open = [Open { at: 0, answer: Answer::Claims { model: 0, claims } }];
        name_items(self.store.as_mut(), self.queue, &mut open, &[])?;
        let [Open { answer: Answer::Claims { claims, .. }, .. }] = open else { return Ok(Vec::new()) };
        Ok(claims)
    }

    /// A reviewer's verdict on an item, the one that stands.
    pub(crate) fn last_verdict(
        &mut self,
        item: &str,
        reviewer: &str,
    ) -> Result<Option<(String, f64)>, Error> {
        let Some((_, found)) = self.store.find(self.queue, &[item.to_string()])?.pop() else {
            return Ok(None);
        };
        let rows = self.store.verdicts_on(self.queue, found.n)?;
        Ok(rows
            .into_iter()
            .find(|row| row.reviewer == reviewer && row.slot >= 0)
            .map(|row| (row.id, row.reward)))
    }

    /// Every verdict that stands, with its item.
    pub(crate) fn export(
        &mut self,
        each: &mut dyn FnMut(crate::Exported) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (seatings, seq) = (&self.replica.board.seatings, self.replica.board.seq);
        self.store.standing(self.queue, &mut |verdict, item, key| {
            let arrived = item.arrived;
            let item = item.into_added(seatings, seq + 1);
            each(crate::desk::exported(verdict, key, arrived, &item.scores, item.tags))
        })
    }

    /// Deletes what has reached its end.
    pub(crate) fn tidy(&mut self) -> Result<(), Error> {
        let now = self.store.now()?;
        self.store.tidy(now)
    }
}
