//! Reading a queue while it is served. Only [`Service::use_key`] and [`Service::delete`] change
//! anything.
//!
//! Reads of the state in memory run on the writer's thread between transactions, and must be short.
//! Longer reads copy this state, which is cheap, and continue on another thread. Pages of items and
//! of the log are read over separate connections, so that claims do not wait for them.

mod activity;
mod drift_incidents;
mod export;
mod influence;
mod intervals;
mod items;
mod log_page;
mod model;
mod read_pool;
pub(crate) mod recent;
mod report;
mod sample;
mod setup_history;

pub use activity::ActivityEntry;
pub(crate) use drift_incidents::DriftHistory;
pub use drift_incidents::{AlarmOnset, DriftIncident};
pub use export::{ExportPage, ExportedItem, ExportedPick, ExportedVerdict};
pub(crate) use export::{ItemRecord, VerdictRecord, page, tag_names};
pub use influence::EvaluatorInfluence;
pub use items::{ExplainedItem, ItemState, ListedItem, VerdictOnItem};
pub use model::{EvaluatorSummary, RankingModel};
pub(crate) use read_pool::ReadPool;
use read_pool::{ReadLength, ReadPermit};
pub use recent::{OwnVerdict, RecentVerdict, SkippedItem, Workload};
pub(crate) use report::{CachedReport, queue_report};
pub use report::{QueueReport, RandomCheckCounts, RewardMean, mean_of};
pub use sample::RewardBounds;

use crate::Error;
use crate::keys::ApiKey;
use crate::queue_writer::QueueWriter;
use crate::request::{ClaimedItem, MOST_BYTES};
use crate::service::{Queue, Service};
use crate::store::{LogHead, Purpose, Store};

impl Queue {
    /// The items that a reviewer holds, oldest claim first, as many as fit into an answer; and how
    /// many more there are.
    pub fn held(&self, reviewer: &str) -> Result<(Vec<ClaimedItem>, u64), Error> {
        let reviewer = reviewer.to_string();
        self.read(move |writer| writer.look_up(|writer| writer.held(&reviewer, MOST_BYTES)))?
    }

    /// Whether there is an item of that id.
    pub fn knows(&self, id: &str) -> Result<bool, Error> {
        let id = id.to_string();
        self.read(move |writer| writer.look_up(|writer| Ok(writer.number_of(&id)?.is_some())))?
    }

    /// Runs a read on a snapshot of the database, over a read connection and on the caller's
    /// thread. After a database error it reconnects and tries once more.
    fn read_separately<T>(
        &self,
        read: impl Fn(&mut dyn Store, i64, LogHead) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (queue, read_pool, _turn) = (self.number(), self.read_pool(), self.short_read_turn());
        let _place = read_pool.place(ReadLength::Short)?;
        let mut store = match read_pool.take() {
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
            // A connection that was idle may have been lost.
            Err(Error::Database(_)) => store.reconnect().and_then(|()| ask(store.as_mut())),
            told => told,
        };
        if !matches!(told, Err(Error::Database(_))) {
            read_pool.give_back(store);
        }
        told
    }

    /// A connection for reading large parts of the log on the caller's thread, and a permit that
    /// limits such reads.
    fn long_read(&self) -> Result<(ReadPermit<'_>, Box<dyn Store>), Error> {
        let place = self.read_pool().place(ReadLength::Long)?;
        Ok((place, self.read(|writer| writer.another_store(Purpose::LongRead))??))
    }

    /// Runs `read` on the writer's thread, and waits for its result.
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
    /// The API keys of this service.
    pub fn keys(&self) -> Result<Vec<ApiKey>, Error> {
        self.reach(|store| store.keys())
    }

    /// Records when a key was last used.
    pub fn use_key(&self, name: &str, at: i64) -> Result<(), Error> {
        self.reach(|store| store.use_key(name, at))
    }

    /// Whether there is a key, or ever was one.
    pub fn had_keys(&self) -> Result<bool, Error> {
        self.reach(|store| store.had_keys())
    }

    /// Deletes a queue with everything in it.
    pub fn delete(&self, name: &str) -> Result<(), Error> {
        let (id, _) = self.reach(|store| crate::embedded_queue::find(store, Some(name)))?;
        self.end(id)
    }
}
