//! The service: all queues of a folder or database, each with a queue writer on a thread of its
//! own, for many callers at once.
//!
//! Waiting requests are committed together in one transaction. Background threads rank for all
//! queues, each on a copy of a queue's state. After a ranking the queue rests three times as long
//! as the ranking took. If a revision has outdated the model, the log is folded again first. Claims
//! go on meanwhile, under the model that they name. One monitor thread looks for entries of other
//! nodes, and flushes.

use crate::Error;
use crate::background::BackgroundPool;
use crate::clock::LogClock;
use crate::config::Config;
use crate::embedded_queue::find;
use crate::live_queue::ItemCounts;
use crate::monitor::DatabaseMonitor;
use crate::queue_writer::QueueWriter;
use crate::reads::{CachedReport, DriftHistory, ReadPool};
use crate::request::{Answer, Call};
use crate::store::{Purpose, Store};
use crate::store_location::StoreLocation;
use crate::worker::Worker;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most requests that wait for a queue; more are refused as [`Error::Busy`].
const WAITING: usize = 4096;
/// How long a queue is left alone after it could not be opened or its writer panicked.
const LEFT_ALONE: Duration = Duration::from_secs(10);

type Reply = Box<dyn FnOnce(Result<Answer, Error>) + Send>;

/// A read to run on the writer's thread.
pub(crate) type ReadJob = Box<dyn FnOnce(&mut QueueWriter) + Send>;

/// A message to a queue writer's thread.
pub(crate) enum WriterMessage {
    Call(Box<Call>, Reply),
    Look(Sender<QueueStatus>),
    Read(ReadJob),
    /// The log may have entries of other nodes.
    Moved,
    /// A background task has finished.
    Wake,
    Stop,
}

/// The state of a queue while it is served.
#[derive(Debug, Clone)]
pub struct QueueStatus {
    /// The queue's configuration.
    pub config: Config,
    /// The queue's counts of items and verdicts.
    pub counts: ItemCounts,
    /// The number of the last log entry.
    pub head: u64,
    /// The log entry up to which the ranking model has learnt.
    pub model: u64,
    /// Rankings installed since the queue was opened, without those made for a waiting claim.
    pub rankings: u64,
    /// Checkpoints with other contents than expected: anything but 0 means damaged records.
    pub mismatches: u64,
}

/// All queues of a folder or database, open to many callers at once.
///
/// The methods block on the database: do not call them within an async task.
///
/// ```
/// use jurybox::Evaluators;
/// use jurybox_server::{Answer, Call, Config, NewItem, Request, Service};
///
/// let folder = tempfile::tempdir()?;
/// let service = Service::open(folder.path(), std::time::Duration::ZERO)?;
/// let queue = service.create("posts", &Config::new(Evaluators::new(["spam"])?))?;
/// let scores = [("spam".to_string(), Some(0.9))].into();
/// let item = NewItem { id: "p1".into(), scores, ..NewItem::default() };
/// queue.ask(Call::new("intake", Request::Items(vec![item])))?;
/// let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Default::default() };
/// let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim))? else { panic!() };
/// assert_eq!(claims[0].item, "p1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Service {
    store: Mutex<Box<dyn Store>>,
    slots: Arc<QueueSlots>,
    background: Arc<BackgroundPool>,
    read_pool: Arc<ReadPool>,
    watch: DatabaseMonitor,
    /// The clock for the first entries of new queues.
    clock: Mutex<LogClock>,
}

/// The slots of all queues asked for so far, by queue number.
pub(crate) type QueueSlots = Mutex<HashMap<i64, Arc<Mutex<QueueSlot>>>>;

/// A queue's slot in the service. Opening or deleting a queue locks only its own slot.
#[derive(Default)]
pub(crate) struct QueueSlot {
    name: String,
    queue: Option<Queue>,
    /// The error with which the queue could not be opened, or its writer stopped, and when.
    failed: Option<(Error, Instant)>,
    /// Whether the queue was deleted. Queue numbers are never reused.
    gone: bool,
}

/// The condition of a queue writer.
#[derive(Debug, Default)]
pub(crate) struct WriterHealth {
    /// The error with which all requests fail, such as a missing database file.
    pub(crate) failure: Option<Error>,
    /// The panic message of the writer's thread, if it panicked.
    stopped: Option<String>,
}

/// Locks a mutex, also after a panic of another holder: the data in these mutexes is never left
/// half changed.
pub(crate) fn lock_mutex<T: ?Sized>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`, and returns the message if it panics.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        words.unwrap_or("no reason given").to_string()
    })
}

/// A served queue. Cheap to clone. The writer stops when the service and the last clone are
/// dropped, and the last drop waits for it.
#[derive(Clone)]
pub struct Queue(Arc<ServedQueue>);

struct ServedQueue {
    inbox: SyncSender<WriterMessage>,
    id: i64,
    /// Held during short reads of this queue. They run one at a time, over a connection of their
    /// own, so that claims do not wait for them.
    short_reads: Mutex<()>,
    read_pool: Arc<ReadPool>,
    /// The last report, until it is outdated. The lock is held while a new one is computed.
    found: Mutex<Option<CachedReport>>,
    /// When each drift alarm was raised. The lock is held while that is computed.
    alarms: Mutex<DriftHistory>,
    writer: Mutex<Option<JoinHandle<()>>>,
    health: Arc<Mutex<WriterHealth>>,
    /// The last log entry that the writer has seen.
    seen: Arc<AtomicU64>,
}

impl QueueSlot {
    /// Wakes the writer if the log has new entries. Not if the slot is locked: then the queue is
    /// being opened or deleted.
    pub(crate) fn note_head(slot: &Mutex<QueueSlot>, head: u64) {
        if let Ok(slot) = slot.try_lock()
            && let Some(Queue(queue)) = &slot.queue
            && queue.seen.load(Ordering::Relaxed) < head
        {
            // If the inbox is full, the writer is awake, and catches up before it answers.
            let _ = queue.inbox.try_send(WriterMessage::Moved);
        }
    }
}

impl Service {
    /// Opens a folder, which is created if needed, or a database. Waits up to `wait` for another
    /// process that holds the folder, or for an unreachable database. Later requests also wait that
    /// long for an unreachable database, and fail then.
    pub fn open(place: impl Into<StoreLocation>, wait: Duration) -> Result<Self, Error> {
        Self::with_store(place.into().open(wait)?, wait)
    }

    /// Like [`open`](Self::open), with the number of PostgreSQL connections that all queues share:
    /// at least 2, and 10 by default.
    pub fn open_with(
        place: impl Into<StoreLocation>,
        wait: Duration,
        connections: usize,
    ) -> Result<Self, Error> {
        let mut store = place.into().open(wait)?;
        store.share(connections);
        Self::with_store(store, wait)
    }

    /// A service over a store.
    pub(crate) fn with_store(mut store: Box<dyn Store>, wait: Duration) -> Result<Self, Error> {
        let patience = Instant::now();
        let mut clock = LogClock::default();
        // If the database cannot be reached now, the loop below waits for it.
        if let Ok(now) = store.now() {
            clock.time(now, now);
        }
        let slots = Arc::<QueueSlots>::default();
        let watch = loop {
            match store
                .another(Purpose::Write)
                .and_then(|another| DatabaseMonitor::start(another, slots.clone()))
            {
                // The database may become unreachable again right after a connection.
                Err(Error::Database(_)) if patience.elapsed() < wait => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                watch => break watch?,
            }
        };
        let (store, clock) = (Mutex::new(store), Mutex::new(clock));
        Ok(Service {
            store,
            slots,
            background: Arc::new(BackgroundPool::new()),
            read_pool: Arc::default(),
            watch,
            clock,
        })
    }

    /// Creates a queue. If it exists with the same configuration, opens it.
    pub fn create(&self, name: &str, config: &Config) -> Result<Queue, Error> {
        self.create_for("service", name, config)
    }

    /// Like [`create`](Self::create), with the name that the activity log shows as the actor.
    pub fn create_for(&self, actor: &str, name: &str, config: &Config) -> Result<Queue, Error> {
        let make = |store: &mut dyn Store| {
            // A clock that has jumped is not believed at once.
            let now = lock_mutex(&self.clock).time(store.now()?, i64::MIN);
            crate::create::create(store, name, config, actor, now)
        };
        let id = self.reach(make)?.id;
        self.open_queue(id, name)
    }

    /// Opens an existing queue.
    pub fn queue(&self, name: &str) -> Result<Queue, Error> {
        let (id, _) = self.reach(|store| find(store, Some(name)))?;
        self.open_queue(id, name)
    }

    /// The names of all queues.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let queues = self.reach(|store| store.queues())?;
        Ok(queues.into_iter().map(|queue| queue.name).collect())
    }

    /// Asks the database. If the connection is lost or rows are refused, asks once more over a new
    /// connection.
    pub(crate) fn reach<T>(&self, ask: impl Fn(&mut dyn Store) -> Result<T, Error>) -> Result<T, Error> {
        let mut store = lock_mutex(&self.store);
        match ask(store.as_mut()) {
            // Another node may have just created the same row; the second time this node finds it.
            Err(Error::Database(_) | Error::Contradiction(_)) => {
                store.reconnect()?;
                ask(store.as_mut())
            }
            answer => answer,
        }
    }

    /// The queues that cannot be served at present, by name, each with the reason. Reasons are
    /// unreadable records, a panic of the writer, or a database that accepts no writes.
    pub fn failing_queues(&self) -> Vec<(String, Error)> {
        let slots: Vec<_> = lock_mutex(&self.slots).values().cloned().collect();
        let failure = |slot: &Arc<Mutex<QueueSlot>>| {
            // A locked slot is being opened or deleted, and has not failed yet.
            let slot = slot.try_lock().ok()?;
            let of_clerk = slot.queue.as_ref().and_then(Queue::failure);
            let error = of_clerk.or_else(|| slot.failed.as_ref().map(|(error, _)| error.clone()))?;
            Some((slot.name.clone(), error))
        };
        let mut failing_queues: Vec<_> = slots.iter().filter_map(failure).collect();
        failing_queues.sort_by(|one, other| one.0.cmp(&other.0));
        failing_queues
    }

    /// Deletes a queue after stopping its writer. Its rows are deleted in the background.
    pub(crate) fn end(&self, id: i64) -> Result<(), Error> {
        let slot = self.slot(id);
        let mut slot = lock_mutex(&slot);
        if let Some(queue) = slot.queue.take() {
            queue.stop();
        }
        self.reach(|store| store.delete_queue(id, None))?;
        // If the bell is full, it was rung already.
        let _ = self.watch.bell().try_send(());
        slot.gone = true;
        lock_mutex(&self.slots).remove(&id);
        Ok(())
    }

    fn slot(&self, id: i64) -> Arc<Mutex<QueueSlot>> {
        lock_mutex(&self.slots).entry(id).or_default().clone()
    }

    fn open_queue(&self, id: i64, name: &str) -> Result<Queue, Error> {
        let slot = self.slot(id);
        let mut slot = lock_mutex(&slot);
        if slot.gone {
            return Err(Error::NoQueue { name: name.into() });
        }
        slot.name = name.into();
        if let Some(queue) = &slot.queue {
            let Some(error) = queue.stopped() else { return Ok(queue.clone()) };
            (slot.queue, slot.failed) = (None, Some((error, Instant::now())));
        }
        if let Some((error, since)) = &slot.failed
            && since.elapsed() < LEFT_ALONE
        {
            return Err(error.clone());
        }
        let store = lock_mutex(&self.store).another(Purpose::Write)?;
        let opened =
            catch_panic(|| QueueWriter::open(store, id)).unwrap_or_else(|words| Err(Error::Stopped(words)));
        let writer = match opened {
            Ok(writer) => writer,
            Err(error) => {
                slot.failed = match &error {
                    Error::NoQueue { .. } => None,
                    error if error.is_transient() => None,
                    error => Some((error.clone(), Instant::now())),
                };
                return Err(error);
            }
        };
        let (inbox, mut messages) = sync_channel(WAITING);
        let (health, seen) = (Arc::<Mutex<WriterHealth>>::default(), Arc::<AtomicU64>::default());
        let told = health.clone();
        let (background, last) = (self.background.clone(), seen.clone());
        let (bell, wrote) = (inbox.clone(), self.watch.bell());
        let thread = std::thread::Builder::new().name(format!("clerk {id}"));
        let handle = thread
            .spawn(move || {
                let worker = Worker::new(writer, told.clone(), last, background, bell, wrote);
                let worked = catch_panic(|| worker.run(&mut messages));
                // Set before the inbox closes, so that a caller who finds it closed finds the
                // message too.
                lock_mutex(&told).stopped = worked.err();
                drop(messages);
            })
            .map_err(|error| Error::Open(error.to_string()))?;
        let writer = Mutex::new(Some(handle));
        let queue = Queue(Arc::new(ServedQueue {
            inbox,
            id,
            short_reads: Mutex::default(),
            read_pool: self.read_pool.clone(),
            found: Mutex::default(),
            alarms: Mutex::default(),
            writer,
            health,
            seen,
        }));
        (slot.queue, slot.failed) = (Some(queue.clone()), None);
        Ok(queue)
    }
}

impl Queue {
    /// Sends a request and waits for the answer.
    pub fn ask(&self, call: Call) -> Result<Answer, Error> {
        let (reply, answer) = channel();
        self.submit(call, move |said| drop(reply.send(said)))?;
        answer.recv().map_err(|_| Error::Closed)?
    }

    /// Sends a request. `reply` gets the answer on the writer's thread and must be quick. Fails if
    /// too many requests wait or the writer has ended.
    pub fn submit(
        &self,
        call: Call,
        reply: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let sent = self.0.inbox.try_send(WriterMessage::Call(Box::new(call), Box::new(reply)));
        sent.map_err(|error| match error {
            std::sync::mpsc::TrySendError::Full(_) => {
                Error::Busy("too many requests wait for this queue: try again later".into())
            }
            std::sync::mpsc::TrySendError::Disconnected(_) => self.closed(),
        })
    }

    /// Runs a read on the writer's thread.
    pub(crate) fn run_on_writer(&self, job: ReadJob) -> Result<(), Error> {
        self.0.inbox.send(WriterMessage::Read(job)).map_err(|_| self.closed())
    }

    /// The queue's number in the database.
    pub(crate) fn number(&self) -> i64 {
        self.0.id
    }

    /// The connections for reads, shared by all queues.
    pub(crate) fn read_pool(&self) -> &ReadPool {
        &self.0.read_pool
    }

    /// Waits until this queue may run a short read, and reserves it until the guard is dropped.
    pub(crate) fn short_read_turn(&self) -> MutexGuard<'_, ()> {
        lock_mutex(&self.0.short_reads)
    }

    /// The last report, if there is one.
    pub(crate) fn last_found(&self) -> MutexGuard<'_, Option<CachedReport>> {
        lock_mutex(&self.0.found)
    }

    /// When each drift alarm was raised, as far as computed.
    pub(crate) fn known_alarms(&self) -> MutexGuard<'_, DriftHistory> {
        lock_mutex(&self.0.alarms)
    }

    /// The queue's configuration, counts, head and model.
    pub fn status(&self) -> Result<QueueStatus, Error> {
        let (reply, answer) = channel();
        self.0.inbox.send(WriterMessage::Look(reply)).map_err(|_| self.closed())?;
        answer.recv().map_err(|_| self.closed())
    }

    /// The error for a writer that does not answer any more.
    fn closed(&self) -> Error {
        self.stopped().unwrap_or(Error::Closed)
    }

    /// [`Error::Stopped`] if the writer panicked.
    fn stopped(&self) -> Option<Error> {
        lock_mutex(&self.0.health).stopped.clone().map(Error::Stopped)
    }

    /// The error with which all requests fail, if any.
    fn failure(&self) -> Option<Error> {
        self.stopped().or_else(|| lock_mutex(&self.0.health).failure.clone())
    }

    /// Stops the writer and waits for it, even while clones of the queue exist.
    fn stop(&self) {
        let _ = self.0.inbox.send(WriterMessage::Stop);
        let writer = lock_mutex(&self.0.writer).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

impl Drop for ServedQueue {
    fn drop(&mut self) {
        let _ = self.inbox.send(WriterMessage::Stop);
        if let Ok(mut writer) = self.writer.lock()
            && let Some(writer) = writer.take()
            // A reply may drop the last clone on the writer's own thread, which cannot wait for
            // itself.
            && writer.thread().id() != std::thread::current().id()
        {
            let _ = writer.join();
        }
    }
}
