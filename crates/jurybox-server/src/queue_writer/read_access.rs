//! Reading through the queue writer, between transactions.

use super::QueueWriter;
use crate::Error;
use crate::decide::{Decider, RequestFacts};
use crate::live_queue::LiveQueue;
use crate::request::{Call, Request};
use crate::store::Store;

impl QueueWriter {
    /// Looks something up, again over a new connection if the first was lost.
    pub(crate) fn look_up<T>(&mut self, look: impl Fn(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        match look(self) {
            Err(Error::Database(_)) => self.store.reconnect().and_then(|()| look(self)),
            told => told,
        }
    }

    /// Fails as this request would fail now, without carrying it out.
    pub(crate) fn check_request(&mut self, request: Request) -> Result<(), Error> {
        let (at, call) = (self.now(), Call::new("", request));
        let live = &self.replica.live;
        let facts = RequestFacts::of(std::iter::once(&call), false, live, self.store.as_mut(), self.queue)?;
        Decider { live, facts: &facts, at, clock: None, room: None }.decide(&call.request).map(drop)
    }

    /// The store, between transactions.
    pub(crate) fn store_to_read(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }

    /// Shows the live queue as of now, with ended leases removed.
    pub(crate) fn as_of_now<T>(&mut self, look: impl FnOnce(&LiveQueue, i64) -> T) -> T {
        let now = self.now().max(self.replica.live.at);
        let live = &mut self.replica.live;
        live.expire_at(now);
        let seen = look(live, now);
        // Only the next entry removes the ended leases for good.
        live.rollback();
        seen
    }

    /// An item's number, by its id.
    pub(crate) fn number_of(&mut self, id: &str) -> Result<Option<u64>, Error> {
        Ok(self.store.find(self.queue, &[id.to_string()])?.pop().map(|(_, found)| found.n))
    }
}

/// Number, id and payload of items, in the order of `items`. Items that are not found are left out.
pub(crate) fn in_order(
    store: &mut dyn Store,
    queue: i64,
    items: &[u64],
) -> Result<Vec<(u64, String, Option<String>)>, Error> {
    let mut shown: std::collections::HashMap<u64, (String, Option<String>)> =
        store.shown(queue, items)?.into_iter().map(|(n, id, payload)| (n, (id, payload))).collect();
    Ok(items.iter().filter_map(|n| shown.remove(n).map(|(id, payload)| (*n, id, payload))).collect())
}
