//! The monitor: one thread of a service that looks for entries of other nodes and flushes writes.
//! It also deletes expired rows and the rows of deleted queues.

use crate::Error;
use crate::clock::SteadyClock;
use crate::service::{QueueSlot, QueueSlots, lock_mutex};
use crate::store::{Store, tidy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often to look for entries of other nodes.
const LOOK: Duration = Duration::from_millis(250);
/// The least time between two flushes.
const FLUSH: Duration = Duration::from_millis(500);
/// How often to delete expired payloads and remembered answers.
const TIDY: Duration = Duration::from_hours(1);
/// The pause between two steps of a long deletion, so that others can use the database.
const REST: Duration = Duration::from_millis(10);
/// The pause after a database did not answer.
const LEFT_ALONE: Duration = Duration::from_secs(1);

/// The monitor's thread, which ends when this is dropped. On a database that only this process can
/// write to, it sleeps until something is written or deleted here, or for an hour.
pub(crate) struct DatabaseMonitor {
    bell: SyncSender<()>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DatabaseMonitor {
    /// Starts the monitor of these queues, with a store of its own.
    pub(crate) fn start(mut store: Box<dyn Store>, slots: Arc<QueueSlots>) -> Result<Self, Error> {
        let (bell, rung) = sync_channel(1);
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("watch".into());
        let thread = thread.spawn(move || {
            let goes_on = || !stopped.load(Ordering::Relaxed);
            if store.is_shared() {
                watch_log(store.as_mut(), &slots, &rung, &goes_on);
            } else {
                flush(store.as_mut(), &rung, &goes_on);
            }
        });
        let thread = thread.map_err(|error| Error::Open(error.to_string()))?;
        Ok(DatabaseMonitor { bell, stop, thread: Some(thread) })
    }

    /// The bell, rung by writers that have something to be flushed and after a queue was deleted.
    pub(crate) fn bell(&self) -> SyncSender<()> {
        self.bell.clone()
    }
}

/// Deletes expired rows, at most once an hour.
#[derive(Default)]
pub(crate) struct ExpiryCleanup {
    last: Option<Instant>,
    pub(crate) clock: SteadyClock,
}

impl ExpiryCleanup {
    /// Deletes expired rows if the last attempt is at least an hour ago; true if it tried. Until
    /// the clock has gone steadily for an hour, rows expire by the log's time only.
    pub(crate) fn tidy(&mut self, store: &mut dyn Store) -> bool {
        let due = self.last.is_none_or(|last| last.elapsed() >= TIDY);
        if due {
            self.last = Some(Instant::now());
            let _ = self.tidy_now(store);
        }
        due
    }

    pub(crate) fn tidy_now(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let steady = self.clock.seen(store.now()?);
        tidy(store, steady)
    }
}

/// The loop on a shared database: wakes writers that are behind, and deletes rows. Such a database
/// flushes by itself.
fn watch_log(store: &mut dyn Store, slots: &QueueSlots, rung: &Receiver<()>, goes_on: &dyn Fn() -> bool) {
    let (mut tidying, mut clearing) = (ExpiryCleanup::default(), false);
    while goes_on() {
        let looked = wake_writers(store, slots);
        if looked.is_ok() {
            clearing |= tidying.tidy(store);
            clearing = clearing && store.clear_away().unwrap_or(false);
        }
        // If a look fails, writers are woken by the next one, or catch up before their next answer.
        let away = looked.is_err() && store.reconnect().is_err();
        let wait = if away {
            LEFT_ALONE
        } else if clearing {
            REST
        } else {
            LOOK
        };
        clearing |= rung.recv_timeout(wait).is_ok();
    }
}

/// Wakes the writers of queues whose log has new entries.
fn wake_writers(store: &mut dyn Store, slots: &QueueSlots) -> Result<(), Error> {
    if lock_mutex(slots).is_empty() {
        return Ok(());
    }
    for (queue, head, _) in store.heads()? {
        let slot = lock_mutex(slots).get(&queue).cloned();
        if let Some(slot) = slot {
            QueueSlot::note_head(&slot, head);
        }
    }
    Ok(())
}

/// The loop on an unshared database: flushes writes, so that commits need not do it, and deletes
/// rows.
fn flush(store: &mut dyn Store, rung: &Receiver<()>, goes_on: &dyn Fn() -> bool) {
    let (mut tidying, mut flushed) = (ExpiryCleanup::default(), Instant::now());
    while goes_on() {
        tidying.tidy(store);
        clear_away(store, goes_on);
        if rung.recv_timeout(TIDY) == Err(RecvTimeoutError::Timeout) {
            continue;
        }
        while goes_on()
            && let Some(rest) = FLUSH.checked_sub(flushed.elapsed())
            && rung.recv_timeout(rest).is_ok()
        {}
        if goes_on() {
            flushed = Instant::now();
            // If a flush fails, the next one does its work too.
            let _ = store.flush();
        }
    }
}

/// Deletes the rows of deleted queues, a few at a time, so that nobody waits long for it.
fn clear_away(store: &mut dyn Store, goes_on: &dyn Fn() -> bool) {
    let mut flushed = Instant::now();
    let mut any = false;
    while goes_on() && store.clear_away().unwrap_or(false) {
        any = true;
        std::thread::sleep(REST);
        if flushed.elapsed() >= FLUSH {
            flushed = Instant::now();
            let _ = store.flush();
        }
    }
    if any {
        // Overwrites the deleted rows in the journal too. If somebody reads now, a later call does
        // it.
        let _ = store.scrub();
    }
}

impl Drop for DatabaseMonitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // If the bell is full, the thread is awake.
        let _ = self.bell.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
