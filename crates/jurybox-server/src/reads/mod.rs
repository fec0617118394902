//! Looking at a queue while it is served: nothing here changes anything.
//!
//! What needs the board or the clerk's connection runs on the clerk's thread, between transactions, and must be short there; what
//! takes longer takes a copy along, which is cheap, and works elsewhere.

mod bound;
mod happened;
mod items;
mod model;
mod report;
mod sample;

pub use happened::Happened;
pub use items::{Explained, Listed, Stands};
pub use model::{Evaluated, Model};
pub use report::{Drawn, Found, Share};
pub use sample::Scale;

use crate::Error;
use crate::clerk::Clerk;
use crate::keys::Key;
use crate::request::Claimed;
use crate::service::{Queue, Service};

impl Queue {
    /// What a reviewer holds now, oldest claim first.
    pub fn held(&self, reviewer: &str) -> Result<Vec<Claimed>, Error> {
        let reviewer = reviewer.to_string();
        self.read(move |clerk| clerk.held(&reviewer))?
    }

    /// Whether there is an item of that id.
    pub fn knows(&self, id: &str) -> Result<bool, Error> {
        let id = id.to_string();
        self.read(move |clerk| Ok(clerk.number_of(&id)?.is_some()))?
    }

    /// Has something read on the clerk's thread, and waits for it.
    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Clerk) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = std::sync::mpsc::channel();
        self.peek(Box::new(move |clerk| drop(reply.send(read(clerk)))))?;
        answer.recv().map_err(|_| Error::Closed)
    }
}

impl Service {
    /// The keys that open this service.
    pub fn keys(&self) -> Result<Vec<Key>, Error> {
        self.reach(|store| store.keys())
    }

    /// Deletes a queue, with everything that belongs to it.
    pub fn delete(&self, name: &str) -> Result<(), Error> {
        let (id, _) = self.reach(|store| crate::desk::find(store, Some(name)))?;
        self.end(id)
    }
}
