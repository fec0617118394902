//! Looking at a queue while it is served: nothing here changes anything.
//!
//! What needs the board runs on the clerk's thread, between transactions, and must be short there; what takes longer takes a copy
//! along, which is cheap, and works elsewhere. Pages of items and of the log are read over a connection of their own: claims never
//! wait for whoever looks.

mod bound;
mod export;
mod glance;
mod happened;
mod items;
mod model;
mod past;
mod raised;
mod readers;
mod report;
mod sample;
mod trust;
pub(crate) mod worked;

pub use export::{ExportPage, Exported, ExportedPick, ExportedVerdict};
pub(crate) use export::{Kept, Told, page, tag_names};
pub use happened::Happened;
pub use items::{Explained, Judged, Listed, Stands};
pub use model::{Evaluated, Model};
pub(crate) use raised::Known as KnownAlarms;
pub use raised::{Noticed, Raised};
pub(crate) use readers::Readers;
use readers::{Look, Place};
pub use report::{Drawn, Found, Share, mean_of};
pub(crate) use report::{LastFound, found};
pub use sample::Scale;
pub use trust::Trusted;
pub use worked::{Own, Pulse, Skipped, Worked};

use crate::Error;
use crate::clerk::Clerk;
use crate::keys::Key;
use crate::request::{Claimed, MOST_BYTES};
use crate::service::{Queue, Service};
use crate::store::{Head, Purpose, Store};

impl Queue {
    /// What a reviewer holds now, oldest claim first, as far as one answer has room for it; and how many more items.
    pub fn held(&self, reviewer: &str) -> Result<(Vec<Claimed>, u64), Error> {
        let reviewer = reviewer.to_string();
        self.read(move |clerk| clerk.look_up(|clerk| clerk.held(&reviewer, MOST_BYTES)))?
    }

    /// Whether there is an item of that id.
    pub fn knows(&self, id: &str) -> Result<bool, Error> {
        let id = id.to_string();
        self.read(move |clerk| clerk.look_up(|clerk| Ok(clerk.number_of(&id)?.is_some())))?
    }

    /// Reads from the database as it is at one moment, over the connection for those who look, on the caller's thread.
    fn read_aside<T>(
        &self,
        read: impl Fn(&mut dyn Store, i64, Head) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (queue, readers, _turn) = (self.number(), self.readers(), self.turn_to_look());
        let _place = readers.place(Look::Short)?;
        let mut store = match readers.take() {
            Some(store) => store,
            None => self.read(|clerk| clerk.another_store(Purpose::Read))??,
        };
        let ask = |store: &mut dyn Store| {
            let head = store.begin_reading(queue)?;
            let told = read(store, queue, head);
            store.rollback();
            told
        };
        let told = match ask(store.as_mut()) {
            // The connection may have been lost while nobody looked.
            Err(Error::Database(_)) => store.reconnect().and_then(|()| ask(store.as_mut())),
            told => told,
        };
        if !matches!(told, Err(Error::Database(_))) {
            readers.give_back(store);
        }
        told
    }

    /// A connection for something that reads much of the log on the caller's thread, and the place among those who do, which is left after it.
    fn long_look(&self) -> Result<(Place<'_>, Box<dyn Store>), Error> {
        let place = self.readers().place(Look::Long)?;
        Ok((place, self.read(|clerk| clerk.another_store(Purpose::LongRead))??))
    }

    /// Has something read on the clerk's thread, and waits for it.
    pub(crate) fn read<T: Send + 'static>(
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

    /// Notes when a key was last used.
    pub fn use_key(&self, name: &str, at: i64) -> Result<(), Error> {
        self.reach(|store| store.use_key(name, at))
    }

    /// Whether there is a key, or ever was one.
    pub fn had_keys(&self) -> Result<bool, Error> {
        self.reach(|store| store.had_keys())
    }

    /// Deletes a queue, with everything that belongs to it.
    pub fn delete(&self, name: &str) -> Result<(), Error> {
        let (id, _) = self.reach(|store| crate::desk::find(store, Some(name)))?;
        self.end(id)
    }
}
