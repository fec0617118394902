//! Other questions that the queue writer answers: status, leases, verdicts and export; and
//! clean-up.

use super::{QueueWriter, count_that_fit};
use crate::answers::{PendingAnswer, name_items};
use crate::decide::RequestFacts;
use crate::reads::{page, tag_names};
use crate::request::{Answer, ClaimedItem};
use crate::store::tidy;
use crate::{EmbeddedStatus, Error, ExportPage};

impl QueueWriter {
    /// The queue's name.
    pub(crate) fn name(&mut self) -> Result<String, Error> {
        let queue = self.store.queues()?.into_iter().find(|queue| queue.id == self.queue);
        queue.map(|queue| queue.name).ok_or(Error::Closed)
    }

    /// The queue's configuration, counts, head and model.
    pub(crate) fn status(&mut self) -> Result<EmbeddedStatus, Error> {
        let (name, counts) = (self.name()?, self.counts());
        let replica = &self.replica;
        Ok(EmbeddedStatus {
            queue: name,
            config: (*replica.live.config).clone(),
            counts,
            head: replica.live.seq,
            at: replica.live.at,
            model: replica.live.ranking.as_ref().map_or(0, |ranking| ranking.model),
            seen: replica.learner.ranking()?.seen(),
            waiting: replica.learner.waiting(),
        })
    }

    /// The items that a reviewer holds, oldest claim first, and the number of items left out. Items
    /// are left out if the payloads would have more than `most` bytes together; the first item is
    /// not.
    pub(crate) fn held(&mut self, reviewer: &str, most: u64) -> Result<(Vec<ClaimedItem>, u64), Error> {
        let now = self.now();
        let live = &self.replica.live;
        let mut claims: Vec<ClaimedItem> = Vec::new();
        for held in live.held_by(reviewer) {
            let Some(lease) = live.reviews(held.n).and_then(|reviews| reviews.lease_of(reviewer)) else {
                continue;
            };
            if lease.until > now {
                let (token, until) = (lease.claim, lease.until);
                let (probability, explored) = (lease.probability, lease.explored);
                claims.push(ClaimedItem {
                    item: String::new(),
                    n: held.n,
                    token,
                    until,
                    rank: 0,
                    value: 0.0,
                    probability,
                    random_check: explored,
                    payload: None,
                });
            }
        }
        claims.sort_by_key(|claim| (claim.token, claim.n));
        let items: Vec<u64> = claims.iter().map(|claim| claim.n).collect();
        let fit = count_that_fit(self.store.as_mut(), self.queue, &RequestFacts::default(), &items, most)?;
        claims.truncate(fit);
        let mut open =
            [PendingAnswer { at: 0, answer: Answer::Claims { model: 0, claims, limited_by: None } }];
        name_items(self.store.as_mut(), self.queue, &mut open, &[])?;
        let [PendingAnswer { answer: Answer::Claims { claims, .. }, .. }] = open else {
            return Ok((Vec::new(), 0));
        };
        Ok((claims, (items.len() - fit) as u64))
    }

    /// The id and reward of a reviewer's standing verdict on an item.
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

    /// One page of the export: items numbered `after + 1` to `after + many`, with their verdicts.
    pub(crate) fn export_page(&mut self, after: u64, many: u64) -> Result<ExportPage, Error> {
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

    /// Deletes expired payloads and remembered answers of all queues, by the logs' time only
    /// (`false`): the clock is trusted only after it has run steadily for an hour.
    pub(crate) fn tidy(&mut self) -> Result<(), Error> {
        tidy(self.store.as_mut(), false)
    }
}
