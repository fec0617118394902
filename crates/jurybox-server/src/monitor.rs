//! One look for all queues of a node: what other nodes have written, what was written and is to be flushed, rows whose time has come.

use crate::Error;
use crate::clock::SteadyClock;
use crate::service::{QueueSlot, QueueSlots, held};
use crate::store::{Store, tidy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it is looked what other nodes have written.
const LOOK: Duration = Duration::from_millis(250);
/// How often what was written is flushed.
const FLUSH: Duration = Duration::from_millis(500);
/// How often payloads and answers are deleted whose time has come.
const TIDY: Duration = Duration::from_hours(1);
/// How long others have the database between two steps of what is done aside.
const REST: Duration = Duration::from_millis(10);
/// How long a database that does not answer is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(1);

/// A thread that looks, for as long as this is kept. Where nobody else can write to the database, it sleeps while nobody here does.
pub(crate) struct DatabaseMonitor {
    bell: SyncSender<()>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DatabaseMonitor {
    /// Over these queues, by a connection of its own.
    pub(crate) fn over(mut store: Box<dyn Store>, seats: Arc<QueueSlots>) -> Result<Self, Error> {
        let (bell, rung) = sync_channel(1);
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("watch".into());
        let thread = thread.spawn(move || {
            let goes_on = || !stopped.load(Ordering::Relaxed);
            if store.is_shared() {
                look(store.as_mut(), &seats, &rung, &goes_on);
            } else {
                flush(store.as_mut(), &rung, &goes_on);
            }
        });
        let thread = thread.map_err(|error| Error::Open(error.to_string()))?;
        Ok(DatabaseMonitor { bell, stop, thread: Some(thread) })
    }

    /// What a clerk rings when it has written something that is to be flushed.
    pub(crate) fn bell(&self) -> SyncSender<()> {
        self.bell.clone()
    }
}

/// Deletes what has reached its end, now and then.
#[derive(Default)]
pub(crate) struct ExpiryCleanup {
    last: Option<Instant>,
    pub(crate) clock: SteadyClock,
}

impl ExpiryCleanup {
    /// What cannot be deleted now is deleted in an hour. At first that is what has had its time by the log: the clock may be wrong, and is
    /// believed when it has gone steadily since.
    /// True if it was time.
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

/// Looks what other nodes have written. A database that they share sees to its journal itself.
fn look(store: &mut dyn Store, seats: &QueueSlots, rung: &Receiver<()>, goes_on: &dyn Fn() -> bool) {
    let (mut tidying, mut clearing) = (ExpiryCleanup::default(), false);
    while goes_on() {
        let looked = look_once(store, seats);
        if looked.is_ok() {
            clearing |= tidying.tidy(store);
            clearing = clearing && store.clear_away().unwrap_or(false);
        }
        // What cannot be read now is read before the next answer, or with the next look.
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

/// Wakes the clerks of queues in which there are new entries.
fn look_once(store: &mut dyn Store, seats: &QueueSlots) -> Result<(), Error> {
    if held(seats).is_empty() {
        return Ok(());
    }
    for (queue, head, _) in store.heads()? {
        let seat = held(seats).get(&queue).cloned();
        if let Some(seat) = seat {
            QueueSlot::note_head(&seat, head);
        }
    }
    Ok(())
}

/// Flushes what was written, so that nobody who waits for a commit has to.
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
            // What is not flushed now is flushed with more.
            let _ = store.flush();
        }
    }
}

/// Deletes the rows of queues that were deleted, a few at a time, so that nobody waits for it.
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
        // What was deleted is overwritten in the journal too; where somebody reads now, with a
        // later one.
        let _ = store.scrub();
    }
}

impl Drop for DatabaseMonitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Where it was rung already, it is awake.
        let _ = self.bell.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
