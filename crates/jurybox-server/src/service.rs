//! The service: one clerk a queue, on a thread of its own, that many callers ask at once.
//!
//! Requests that wait become one transaction. Beside the clerks a few threads rank for all of them: one takes a copy of a queue's state,
//! fits, values and sorts, and hands the order over; then the queue rests three times as long as that took. Where something that was learnt
//! has been revised, the log is folded again first. Claims go on meanwhile, under the model they name. One more thread looks what other nodes
//! have written, and flushes what was written here. A queue that nobody asks for anything costs a thread that sleeps.

use crate::Error;
use crate::background::BackgroundPool;
use crate::live_queue::ItemCounts;
use crate::queue_writer::QueueWriter;
use crate::clock::LogClock;
use crate::config::Config;
use crate::embedded_queue::find;
use crate::worker::Worker;
use crate::store_location::StoreLocation;
use crate::reads::{DriftHistory, CachedReport, ReadPool};
use crate::request::{Answer, Call};
use crate::store::{Purpose, Store};
use crate::monitor::DatabaseMonitor;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Requests that may wait; who comes then is told to come again.
const WAITING: usize = 4096;
/// How long a queue that could not be opened, or whose clerk has stopped, is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(10);

type Reply = Box<dyn FnOnce(Result<Answer, Error>) + Send>;

/// Something to be read on the clerk's thread.
pub(crate) type ReadJob = Box<dyn FnOnce(&mut QueueWriter) + Send>;

/// What a clerk is told.
pub(crate) enum WriterMessage {
    Call(Box<Call>, Reply),
    Look(Sender<QueueStatus>),
    Read(ReadJob),
    /// Another node has written something.
    Moved,
    /// Something was done aside.
    Wake,
    Stop,
}

/// How a queue stands while it is served.
#[derive(Debug, Clone)]
pub struct QueueStatus {
    /// How it is set up.
    pub config: Config,
    /// How many there are of what.
    pub counts: ItemCounts,
    /// The last entry of its log.
    pub head: u64,
    /// The entry up to which the model that ranks has learnt.
    pub model: u64,
    /// Orders that were made since the queue was opened.
    pub rankings: u64,
    /// Checkpoints that were found to differ. Anything but zero is an alarm.
    pub mismatches: u64,
}

/// All queues of a folder or a database, open to many callers at once.
///
/// Its methods wait for the database: call them where a thread may wait, never within an async task.
///
/// ```
/// use jurybox::Evaluators;
/// use jurybox_server::{Answer, Call, Config, NewItem, Request, Service};
///
/// let folder = tempfile::tempdir()?;
/// let service = Service::open(folder.path(), std::time::Duration::ZERO)?;
/// let queue = service.create("posts", &Config::new(Evaluators::new(["spam"])?))?;
/// let item = NewItem { id: "p1".into(), scores: [("spam".into(), Some(0.9))].into(), ..NewItem::default() };
/// queue.ask(Call::new("intake", Request::Items(vec![item])))?;
/// let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Default::default() };
/// let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim))? else { panic!() };
/// assert_eq!(claims[0].item, "p1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Service {
    store: Mutex<Box<dyn Store>>,
    seats: Arc<QueueSlots>,
    helpers: Arc<BackgroundPool>,
    readers: Arc<ReadPool>,
    watch: DatabaseMonitor,
    /// The database's clock, since this was opened.
    clock: Mutex<LogClock>,
}

/// The places of all queues that were ever asked for.
pub(crate) type QueueSlots = Mutex<HashMap<i64, Arc<Mutex<QueueSlot>>>>;

/// A queue's place in the service. Who opens or deletes the queue holds this alone, and those who ask for others go on.
#[derive(Default)]
pub(crate) struct QueueSlot {
    name: String,
    queue: Option<Queue>,
    /// Why it could not be opened, or has stopped, and when that was found.
    failed: Option<(Error, Instant)>,
    /// It was deleted. No other queue will ever have its number.
    gone: bool,
}

/// How a clerk is.
#[derive(Debug, Default)]
pub(crate) struct WriterHealth {
    /// What is in the way of everything that is asked, such as a file that is gone.
    pub(crate) trouble: Option<Error>,
    /// The words with which the clerk stopped in the middle of something.
    stopped: Option<String>,
}

/// What a lock holds, whoever stopped while they held it: nothing here is left half done.
pub(crate) fn held<T: ?Sized>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something that must not, but might, stop in the middle; then those are its last words.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        words.unwrap_or("it did not say why").to_string()
    })
}

/// A queue that is served. Cheap to clone; the clerk stops when the last one and the service are gone, and whoever drops that last
/// one waits for it.
#[derive(Clone)]
pub struct Queue(Arc<ServedQueue>);

struct ServedQueue {
    inbox: SyncSender<WriterMessage>,
    id: i64,
    /// Held by who only looks, one after the other, over a connection of their own: claims do not wait for them.
    looking: Mutex<()>,
    readers: Arc<ReadPool>,
    /// What was found up to an entry of the log, for whoever asks again before there is another. Who makes it holds this: one at a time.
    found: Mutex<Option<CachedReport>>,
    /// How the alarms that there are were raised. Who looks for that holds this.
    alarms: Mutex<DriftHistory>,
    writer: Mutex<Option<JoinHandle<()>>>,
    health: Arc<Mutex<WriterHealth>>,
    /// The last entry of the log that the clerk has seen.
    seen: Arc<AtomicU64>,
}

impl QueueSlot {
    /// Wakes the clerk where the log has entries that it has not seen. One that is being opened, or deleted, has no need of it.
    pub(crate) fn note_head(seat: &Mutex<QueueSlot>, head: u64) {
        if let Ok(seat) = seat.try_lock()
            && let Some(Queue(queue)) = &seat.queue
            && queue.seen.load(Ordering::Relaxed) < head
        {
            // Where the inbox is full, its reader is awake, and reads before it answers.
            let _ = queue.inbox.try_send(WriterMessage::Moved);
        }
    }
}

impl Service {
    /// Opens a folder, which is made where it is not there, or a database. Waits so long for a folder that another process has, or for
    /// a database that cannot be reached: now, and whenever it goes away later; then callers are refused until it is back.
    pub fn open(place: impl Into<StoreLocation>, wait: Duration) -> Result<Self, Error> {
        Self::over(place.into().open(wait)?, wait)
    }

    /// As [`open`](Self::open), with the number of connections that all queues share, at least 2.
    /// It counts for PostgreSQL alone, where it is 10 otherwise.
    pub fn open_with(place: impl Into<StoreLocation>, wait: Duration, connections: usize) -> Result<Self, Error> {
        let mut store = place.into().open(wait)?;
        store.share(connections);
        Self::over(store, wait)
    }

    /// The same over a connection.
    pub(crate) fn over(mut store: Box<dyn Store>, wait: Duration) -> Result<Self, Error> {
        let patience = Instant::now();
        let mut clock = LogClock::default();
        // One that goes away right now is waited for below.
        if let Ok(now) = store.now() {
            clock.time(now, now);
        }
        let seats = Arc::<QueueSlots>::default();
        let watch = loop {
            match store.another(Purpose::Write).and_then(|another| DatabaseMonitor::over(another, seats.clone())) {
                // It may go away again right after it was there.
                Err(Error::Database(_)) if patience.elapsed() < wait => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                watch => break watch?,
            }
        };
        let (store, clock) = (Mutex::new(store), Mutex::new(clock));
        Ok(Service { store, seats, helpers: Arc::new(BackgroundPool::new()), readers: Arc::default(), watch, clock })
    }

    /// Makes a queue. One that is there with the same configuration is that queue.
    pub fn create(&self, name: &str, config: &Config) -> Result<Queue, Error> {
        self.create_for("service", name, config)
    }

    /// As [`create`](Self::create), with the name of whoever asks for it in the log.
    pub fn create_for(&self, actor: &str, name: &str, config: &Config) -> Result<Queue, Error> {
        let make = |store: &mut dyn Store| {
            // A clock that has jumped is not followed at once.
            let now = held(&self.clock).time(store.now()?, i64::MIN);
            crate::create::create(store, name, config, actor, now)
        };
        let id = self.reach(make)?.id;
        self.serve(id, name)
    }

    /// A queue that is there.
    pub fn queue(&self, name: &str) -> Result<Queue, Error> {
        let (id, _) = self.reach(|store| find(store, Some(name)))?;
        self.serve(id, name)
    }

    /// The names of all queues.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let queues = self.reach(|store| store.queues())?;
        Ok(queues.into_iter().map(|queue| queue.name).collect())
    }

    /// Asks the database, over a new connection where the one there is has been lost.
    pub(crate) fn reach<T>(&self, ask: impl Fn(&mut dyn Store) -> Result<T, Error>) -> Result<T, Error> {
        let mut store = held(&self.store);
        match ask(store.as_mut()) {
            // Another node may have made just now what was to be made here: it is there, the second time.
            Err(Error::Database(_) | Error::Contradiction(_)) => {
                store.reconnect()?;
                ask(store.as_mut())
            }
            answer => answer,
        }
    }

    /// The queues that are not served as they should be, and why: those whose records cannot be read, whose clerk has stopped, or
    /// whose database takes nothing in. The others go on.
    pub fn troubles(&self) -> Vec<(String, Error)> {
        let seats: Vec<_> = held(&self.seats).values().cloned().collect();
        let trouble = |seat: &Arc<Mutex<QueueSlot>>| {
            // One that is being opened, or deleted, is in no trouble yet.
            let seat = seat.try_lock().ok()?;
            let of_clerk = seat.queue.as_ref().and_then(Queue::trouble);
            let error = of_clerk.or_else(|| seat.failed.as_ref().map(|(error, _)| error.clone()))?;
            Some((seat.name.clone(), error))
        };
        let mut troubles: Vec<_> = seats.iter().filter_map(trouble).collect();
        troubles.sort_by(|one, other| one.0.cmp(&other.0));
        troubles
    }

    /// Ends a queue: its clerk has stopped before it is deleted, and nobody opens it meanwhile. Its
    /// rows are cleared away aside.
    pub(crate) fn end(&self, id: i64) -> Result<(), Error> {
        let seat = self.seat(id);
        let mut seat = held(&seat);
        if let Some(queue) = seat.queue.take() {
            queue.stop();
        }
        self.reach(|store| store.delete_queue(id, None))?;
        // Rung already and not yet heard, it need not be rung again.
        let _ = self.watch.bell().try_send(());
        seat.gone = true;
        held(&self.seats).remove(&id);
        Ok(())
    }

    fn seat(&self, id: i64) -> Arc<Mutex<QueueSlot>> {
        held(&self.seats).entry(id).or_default().clone()
    }

    fn serve(&self, id: i64, name: &str) -> Result<Queue, Error> {
        let seat = self.seat(id);
        let mut seat = held(&seat);
        if seat.gone {
            return Err(Error::NoQueue { name: name.into() });
        }
        seat.name = name.into();
        if let Some(queue) = &seat.queue {
            let Some(error) = queue.stopped() else { return Ok(queue.clone()) };
            (seat.queue, seat.failed) = (None, Some((error, Instant::now())));
        }
        if let Some((error, since)) = &seat.failed
            && since.elapsed() < LEFT_ALONE
        {
            return Err(error.clone());
        }
        let store = held(&self.store).another(Purpose::Write)?;
        let opened = catch_panic(|| QueueWriter::open(store, id)).unwrap_or_else(|words| Err(Error::Stopped(words)));
        let writer = match opened {
            Ok(writer) => writer,
            Err(error) => {
                seat.failed = match &error {
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
        let (helpers, last) = (self.helpers.clone(), seen.clone());
        let (bell, wrote) = (inbox.clone(), self.watch.bell());
        let thread = std::thread::Builder::new().name(format!("clerk {id}"));
        let handle = thread
            .spawn(move || {
                let worker = Worker::new(writer, told.clone(), last, helpers, bell, wrote);
                let worked = catch_panic(|| worker.run(&mut messages));
                // Before the inbox is closed, so that who finds it closed finds the words too.
                held(&told).stopped = worked.err();
                drop(messages);
            })
            .map_err(|error| Error::Open(error.to_string()))?;
        let writer = Mutex::new(Some(handle));
        let queue = Queue(Arc::new(ServedQueue {
            inbox,
            id,
            looking: Mutex::default(),
            readers: self.readers.clone(),
            found: Mutex::default(),
            alarms: Mutex::default(),
            writer,
            health,
            seen,
        }));
        (seat.queue, seat.failed) = (Some(queue.clone()), None);
        Ok(queue)
    }
}

impl Queue {
    /// Asks, and waits for the answer.
    pub fn ask(&self, call: Call) -> Result<Answer, Error> {
        let (reply, answer) = channel();
        self.submit(call, move |said| drop(reply.send(said)))?;
        answer.recv().map_err(|_| Error::Closed)?
    }

    /// Asks, and goes on: the answer comes on the clerk's thread, and must be quick there. An error where too many wait already.
    pub fn submit(
        &self,
        call: Call,
        reply: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let sent = self.0.inbox.try_send(WriterMessage::Call(Box::new(call), Box::new(reply)));
        sent.map_err(|error| match error {
            std::sync::mpsc::TrySendError::Full(_) => {
                Error::Busy("too many requests wait for this queue: come again".into())
            }
            std::sync::mpsc::TrySendError::Disconnected(_) => self.closed(),
        })
    }

    /// Has something read on the clerk's thread.
    pub(crate) fn run_on_writer(&self, job: ReadJob) -> Result<(), Error> {
        self.0.inbox.send(WriterMessage::Read(job)).map_err(|_| self.closed())
    }

    /// Its number in the database.
    pub(crate) fn number(&self) -> i64 {
        self.0.id
    }

    /// The connections for those who only look, at whatever queue.
    pub(crate) fn readers(&self) -> &ReadPool {
        &self.0.readers
    }

    /// The turn of whoever only looks at this queue for a short time.
    pub(crate) fn short_read_turn(&self) -> MutexGuard<'_, ()> {
        held(&self.0.looking)
    }

    /// What was last found, and up to which entry.
    pub(crate) fn last_found(&self) -> MutexGuard<'_, Option<CachedReport>> {
        held(&self.0.found)
    }

    /// How the alarms that there are were raised.
    pub(crate) fn known_alarms(&self) -> MutexGuard<'_, DriftHistory> {
        held(&self.0.alarms)
    }

    /// How the queue stands.
    pub fn status(&self) -> Result<QueueStatus, Error> {
        let (reply, answer) = channel();
        self.0.inbox.send(WriterMessage::Look(reply)).map_err(|_| self.closed())?;
        answer.recv().map_err(|_| self.closed())
    }

    /// What is to be said where the clerk does not answer any more.
    fn closed(&self) -> Error {
        self.stopped().unwrap_or(Error::Closed)
    }

    /// Why the clerk stopped in the middle of something, if it did.
    fn stopped(&self) -> Option<Error> {
        held(&self.0.health).stopped.clone().map(Error::Stopped)
    }

    /// What is in the way of everything that is asked, if anything is.
    fn trouble(&self) -> Option<Error> {
        self.stopped().or_else(|| held(&self.0.health).trouble.clone())
    }

    /// Stops the clerk, whoever still holds the queue, and waits until it has.
    fn stop(&self) {
        let _ = self.0.inbox.send(WriterMessage::Stop);
        let writer = held(&self.0.writer).take();
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
            // The last one may be dropped by a reply, on the clerk's own thread, which cannot wait for itself.
            && writer.thread().id() != std::thread::current().id()
        {
            let _ = writer.join();
        }
    }
}
