//! What else is asked of a clerk: who has what, what was found, and housekeeping.

use super::{Clerk, how_many_fit};
use crate::answers::{Open, name_items};
use crate::decide::Facts;
use crate::reads::{page, tag_names};
use crate::request::{Answer, Claimed};
use crate::store::tidy;
use crate::{Error, ExportPage, Status};

impl Clerk {
    /// The queue's name.
    pub(crate) fn name(&mut self) -> Result<String, Error> {
        let queue = self.store.queues()?.into_iter().find(|queue| queue.id == self.queue);
        queue.map(|queue| queue.name).ok_or(Error::Closed)
    }

    /// How the queue stands.
    pub(crate) fn status(&mut self) -> Result<Status, Error> {
        let (name, counts) = (self.name()?, self.counts());
        let replica = &self.replica;
        Ok(Status {
            queue: name,
            config: (*replica.board.config).clone(),
            counts,
            head: replica.board.seq,
            at: replica.board.at,
            model: replica.board.view.as_ref().map_or(0, |view| view.model),
            seen: replica.learner.ranking()?.seen(),
            waiting: replica.learner.waiting(),
        })
    }

    /// What a reviewer holds, as it was given out: as many items as have so many bytes of payloads, the oldest claim first, and how many
    /// more there are.
    pub(crate) fn held(&mut self, reviewer: &str, most: u64) -> Result<(Vec<Claimed>, u64), Error> {
        let now = self.now();
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
        let items: Vec<u64> = claims.iter().map(|claim| claim.n).collect();
        let fit = how_many_fit(self.store.as_mut(), self.queue, &Facts::default(), &items, most)?;
        claims.truncate(fit);
        let mut open = [Open { at: 0, answer: Answer::Claims { model: 0, claims, limited_by: None } }];
        name_items(self.store.as_mut(), self.queue, &mut open, &[])?;
        let [Open { answer: Answer::Claims { claims, .. }, .. }] = open else {
            return Ok((Vec::new(), 0));
        };
        Ok((claims, (items.len() - fit) as u64))
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

    /// Items with all that was said of them.
    pub(crate) fn exported(&mut self, after: u64, many: u64) -> Result<ExportPage, Error> {
        let queue = self.queue;
        let head = self.store.begin_reading(queue)?;
        let told = page(self.store.as_mut(), queue, head, after, many);
        self.store.rollback();
        told
    }

    /// The names of all tags.
    pub(crate) fn tag_names(&mut self) -> Result<Vec<String>, Error> {
        tag_names(self.store.as_mut(), self.queue)
    }

    /// Deletes what has reached its end by the time of the log: whoever looks once cannot know whether the clock is right.
    pub(crate) fn tidy(&mut self) -> Result<(), Error> {
        tidy(self.store.as_mut(), false)
    }
}
