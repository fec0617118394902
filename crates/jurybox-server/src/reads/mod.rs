//! Looking at a queue while it is served: nothing here changes anything.
//!
//! What needs the board runs on the clerk's thread, between transactions, and must be short there; what takes longer takes a copy
//! along, which is cheap, and works elsewhere. Pages of items and of the log are read over a connection of their own: claims never
//! wait for whoever looks.

mod intervals;
mod export;
mod log_page;
mod activity;
mod items;
mod model;
mod setup_history;
mod drift_incidents;
mod read_pool;
mod report;
mod sample;
mod influence;
pub(crate) mod recent;

pub use export::{ExportPage, ExportedItem, ExportedPick, ExportedVerdict};
pub(crate) use export::{ItemRecord, VerdictRecord, page, tag_names};
pub use activity::ActivityEntry;
pub use items::{ExplainedItem, VerdictOnItem, ListedItem, ItemState};
pub use model::{EvaluatorSummary, RankingModel};
pub(crate) use drift_incidents::DriftHistory as DriftHistory;
pub use drift_incidents::{DriftIncident, AlarmOnset};
pub(crate) use read_pool::ReadPool;
use read_pool::{ReadLength, ReadPermit};
pub use report::{RandomCheckCounts, QueueReport, RewardMean, mean_of};
pub(crate) use report::{CachedReport, queue_report};
pub use sample::RewardBounds;
pub use influence::EvaluatorInfluence;
pub use recent::{OwnVerdict, Workload, SkippedItem, RecentVerdict};

use crate::Error;
use crate::queue_writer::QueueWriter;
use crate::keys::ApiKey;
use crate::request::{ClaimedItem, MOST_BYTES};
use crate::service::{Queue, Service};
use crate::store::{LogHead, Purpose, Store};

impl Queue {
    /// What a reviewer holds now, oldest claim first, as far as one answer has room for it; and how many more items.
    pub fn held(&self, reviewer: &str) -> Result<(Vec<ClaimedItem>, u64), Error> {
        let reviewer = reviewer.to_string();
        self.read(move |writer| writer.look_up(|writer| writer.held(&reviewer, MOST_BYTES)))?
    }

    /// Whether there is an item of that id.
    pub fn knows(&self, id: &str) -> Result<bool, Error> {
        let id = id.to_string();
        self.read(move |writer| writer.look_up(|writer| Ok(writer.number_of(&id)?.is_some())))?
    }

    /// Reads from the database as it is at one moment, over the connection for those who look, on the caller's thread.
    fn read_separately<T>(
        &self,
        read: impl Fn(&mut dyn Store, i64, LogHead) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (queue, readers, _turn) = (self.number(), self.readers(), self.short_read_turn());
        let _place = readers.place(ReadLength::Short)?;
        let mut store = match readers.take() {
            Some(store) => store,
            None => self.read(|writer| writer.another_store(Purpose::Read))??,
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
    fn long_read(&self) -> Result<(ReadPermit<'_>, Box<dyn Store>), Error> {
        let place = self.readers().place(ReadLength::Long)?;
        Ok((place, self.read(|writer| writer.another_store(Purpose::LongRead))??))
    }

    /// Has something read on the clerk's thread, and waits for it.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut QueueWriter) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = std::sync::mpsc::channel();
        self.run_on_writer(Box::new(move |writer| drop(reply.send(read(writer)))))?;
        answer.recv().map_err(|_| Error::Closed)
    }
}

impl Service {
    /// The keys that open this service.
    pub fn keys(&self) -> Result<Vec<ApiKey>, Error> {
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
        let (id, _) = self.reach(|store| crate::embedded_queue::find(store, Some(name)))?;
        self.end(id)
    }
}
