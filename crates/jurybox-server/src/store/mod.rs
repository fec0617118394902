//! Storage of queues: the trait `Store`, implemented for SQLite and PostgreSQL.

pub(crate) mod hooks;
pub(crate) mod keys;
pub(crate) mod lookups;
pub(crate) mod postgres;
pub(crate) mod schema;
mod seal;
pub(crate) mod sql;
pub(crate) mod sqlite;
pub(crate) mod value;
pub(crate) mod write;

use crate::Error;
use crate::config::Config;
use crate::error::corrupt;
use crate::evaluator_history::EvaluatorHistory;
use crate::event::{LogEvent, VerdictPosition};
use crate::rows::{EntryWrite, FoundItem, ItemRow, StoredAnswer, VerdictRow};
use crate::stored_body::StoredBody;
use std::time::Duration;

/// The most log entries that one call of [`Store::events`] reads.
const STRETCH: u64 = 1024;

/// A queue's number and name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueueRow {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// The end of a queue's log, and the time at which it was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogHead {
    /// The number of the last entry.
    pub(crate) seq: u64,
    /// The time of the last entry.
    pub(crate) at: i64,
    /// The time by the store's clock, in microseconds since 1970.
    pub(crate) now: i64,
}

/// A row of the table of leases: the item's number and the lease.
#[derive(Debug, Clone)]
pub(crate) struct LeaseRow {
    pub(crate) n: u64,
    pub(crate) lease: crate::live_queue::reviews::Lease,
}

/// The keys that a transaction will look up.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    /// Ids of items.
    pub(crate) items: Vec<String>,
    /// Ids of verdicts.
    pub(crate) verdicts: Vec<String>,
    /// Idempotency keys of requests.
    pub(crate) answers: Vec<String>,
}

/// A stored state of the learner, after the entry `seq`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) seq: u64,
    pub(crate) epoch: u64,
    pub(crate) state: Vec<u8>,
    pub(crate) sha256: Vec<u8>,
}

/// The reward that a verdict decided for an item, and the position of that verdict.
pub(crate) type FinalDecision = (f64, VerdictPosition);

/// What a store's connections are used for. Reads may use only some of the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Writing transactions, and short queries of the server itself.
    Write,
    /// Reading a page of items or of the log.
    Read,
    /// Reading large parts of the log.
    LongRead,
}

/// A database of queues. A store has one transaction at a time, about one queue.
///
/// An error other than [`Error::Unknown`] means that the transaction did not take place.
pub(crate) trait Store: Send + hooks::HookStore + keys::KeyStore + lookups::Lookups {
    /// Whether other nodes may write to the same queues.
    fn is_shared(&self) -> bool {
        false
    }
    /// How long to wait for a database that cannot be reached.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// All queues.
    fn queues(&mut self) -> Result<Vec<QueueRow>, Error>;
    /// The last entry of every queue's log: queue, number, time.
    fn heads(&mut self) -> Result<Vec<(i64, u64, i64)>, Error>;
    /// Creates a queue with its first entry; None if there is a queue of that name.
    fn create(&mut self, name: &str, write: &EntryWrite) -> Result<Option<QueueRow>, Error>;
    /// The time by the store's clock, in microseconds since 1970.
    fn now(&mut self) -> Result<i64, Error>;

    /// Announces the keys that the next transaction will look up; a remote database may fetch them
    /// when it begins.
    fn prefetch(&mut self, _: Prefetch) {}
    /// Begins a writing transaction, and locks the queue against other such transactions.
    fn begin(&mut self, queue: i64) -> Result<LogHead, Error>;
    /// Begins a transaction that reads a snapshot of the queue.
    fn begin_reading(&mut self, queue: i64) -> Result<LogHead, Error>;
    /// The end of the log. May be called inside a transaction or outside.
    fn head(&mut self, queue: i64) -> Result<LogHead, Error>;
    /// Commits the transaction. [`Error::Unknown`] if it may or may not have taken place.
    fn commit(&mut self) -> Result<(), Error>;
    /// Rolls the transaction back.
    fn rollback(&mut self);
    /// Whether the last transaction failed because an item that it added existed already. Always
    /// false for SQLite.
    fn hit_existing_item(&self) -> bool {
        false
    }
    /// [`Error::DiskFull`] if the database's disk has no room for about another megabyte.
    fn check_room(&mut self) -> Result<(), Error>;
    /// Replaces a lost connection.
    fn reconnect(&mut self) -> Result<(), Error>;
    /// Another store on the same database.
    fn another(&self, purpose: Purpose) -> Result<Box<dyn Store>, Error>;
    /// Sets the number of connections that this process's stores share, if they share any.
    fn share(&mut self, _connections: usize) {}

    /// Writes entries with all their rows, and stores the answers. Moves the head and deletes
    /// leases that expired by `at`, if there are entries. `batch` identifies the transaction.
    fn write(
        &mut self,
        queue: i64,
        batch: i64,
        writes: &[EntryWrite],
        answers: &[StoredAnswer],
        at: i64,
    ) -> Result<(), Error>;
    /// The `batch` of the transaction that wrote an entry; None if there is no such entry.
    fn batch_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error>;
    /// The kind of an entry; None if there is no such entry.
    fn kind_of(&mut self, queue: i64, seq: u64) -> Result<Option<String>, Error>;
    /// The answers stored under these idempotency keys; unknown keys are left out.
    fn remembered(&mut self, queue: i64, keys: &[String]) -> Result<Vec<StoredAnswer>, Error>;

    /// Items by their ids; unknown ids are left out.
    fn find(&mut self, queue: i64, keys: &[String]) -> Result<Vec<(String, FoundItem)>, Error>;
    /// The numbers, ids and payloads of items; erased items are left out.
    fn shown(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String, Option<String>)>, Error>;
    /// The size of items' payloads in bytes; items without one are left out.
    fn payload_bytes(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, u64)>, Error>;
    /// The size in bytes of the queue's largest payload, if any exceeds 64 KiB.
    fn large_payload(&mut self, queue: i64) -> Result<Option<u64>, Error>;
    /// An item with its present scores, which are empty if it was erased.
    fn item(&mut self, queue: i64, n: u64) -> Result<Option<ItemRow>, Error>;
    /// Verdicts by their ids; unknown ids are left out.
    fn verdicts(&mut self, queue: i64, ids: &[String]) -> Result<Vec<VerdictRow>, Error>;
    /// The valid verdicts on an item, in log order.
    fn verdicts_on(&mut self, queue: i64, n: u64) -> Result<Vec<VerdictRow>, Error>;
    /// The reviewers who skipped an item, in log order.
    fn skips_on(&mut self, queue: i64, n: u64) -> Result<Vec<String>, Error>;
    /// The probability of a pick, and whether it was a random check. `claim` is the entry of the
    /// claim, or of the undo that gave the item back to the reviewer. None if that entry did not
    /// give the item to this reviewer.
    fn claimed(
        &mut self,
        queue: i64,
        claim: u64,
        n: u64,
        reviewer: &str,
    ) -> Result<Option<(f64, bool)>, Error>;

    /// The log entries after `after`, up to `until`, and at most `STRETCH` of them.
    fn events(
        &mut self,
        queue: i64,
        after: u64,
        until: u64,
        history: &EvaluatorHistory,
    ) -> Result<Vec<LogEvent>, Error>;
    /// Calls `each` for every open item with its present scores, in order of numbers.
    fn open_items(
        &mut self,
        queue: i64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// All stored leases, which may have expired.
    fn leases(&mut self, queue: i64) -> Result<Vec<LeaseRow>, Error>;
    /// The skips of open items: item and reviewer.
    fn skips(&mut self, queue: i64) -> Result<Vec<(u64, String)>, Error>;
    /// The valid verdicts on open items, in log order.
    fn verdicts_on_open(&mut self, queue: i64) -> Result<Vec<VerdictRow>, Error>;
    /// The number of items ever added, and the number of valid verdicts.
    fn totals(&mut self, queue: i64) -> Result<(u64, u64), Error>;
    /// The decisions of items that have a revised or an appealed decision, up to an entry, in log
    /// order. Decisions by rules are left out. The last one of an item is its reward.
    fn revised(&mut self, queue: i64, until: u64) -> Result<Vec<(u64, FinalDecision)>, Error>;
    /// The numbers and bodies of all entries of two kinds, up to an entry. Each kind is one of
    /// `create`, `configure`, `erase` and `clock`.
    fn bodies(&mut self, queue: i64, kinds: [&str; 2], until: u64) -> Result<Vec<(u64, String)>, Error>;

    /// Stores a checkpoint, and deletes all but the last eight. If the entry has one already, that
    /// one is left, and returned if it differs.
    fn keep(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>, Error>;
    /// Overwrites the checkpoint of the same entry.
    fn replace(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<(), Error>;
    /// The last checkpoint up to an entry.
    fn checkpoint(&mut self, queue: i64, until: u64) -> Result<Option<Checkpoint>, Error>;
    /// All checkpoints, oldest first.
    fn checkpoints(&mut self, queue: i64) -> Result<Vec<Checkpoint>, Error>;
    /// Removes deleted data that the database still keeps outside its tables, such as in a journal.
    /// False if it must be tried again.
    fn scrub(&mut self) -> Result<bool, Error> {
        Ok(true)
    }
    /// Does maintenance that the database would otherwise do during a commit.
    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Releases memory of caches, after a while without requests.
    fn rest(&mut self) {}
    /// Deletes the queue's payloads that expired by this time, and answers that are a day older.
    fn tidy(&mut self, queue: i64, by: i64) -> Result<(), Error>;
}

/// In microseconds. The time of a log entry decides what has expired only if the end of its log is
/// this much later.
const LONG_ENOUGH: i64 = 3_600_000_000;

/// Deletes expired payloads and answers of all queues. A `steady` clock decides what has expired.
/// Otherwise a log entry decides: the last one at least an hour older than the end of its log. If
/// the clock's time is earlier, it counts instead: a log ahead of the clock was written by a wrong
/// clock.
pub(crate) fn tidy(store: &mut dyn Store, steady: bool) -> Result<(), Error> {
    let now = store.now()?;
    for (queue, _, at) in store.heads()? {
        let sure = if steady { Some(now) } else { store.at_before(queue, at - LONG_ENOUGH)? };
        if let Some(sure) = sure {
            store.tidy(queue, sure.min(now))?;
        }
    }
    Ok(())
}

/// A failure of a commit, for tests.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// The commit takes place, but the answer is lost.
    Unanswered,
    /// The commit does not take place, and the answer is lost.
    Cut,
    /// The commit is refused.
    Refused,
    /// The disk is full, until the fault is removed.
    DiskFull,
}

#[cfg(test)]
impl Fault {
    /// The fault of the next commit. `DiskFull` remains; all others occur once.
    fn strikes(fault: &std::sync::Mutex<Option<Fault>>) -> Option<Fault> {
        let mut fault = crate::service::lock_mutex(fault);
        if *fault == Some(Fault::DiskFull) { *fault } else { fault.take() }
    }

    /// The statement that ends the transaction in the database.
    fn ends(self) -> &'static str {
        if self == Fault::Unanswered { "COMMIT" } else { "ROLLBACK" }
    }

    /// The error that the commit returns.
    fn error(self) -> Error {
        let why = "the line is dead".to_string();
        match self {
            Fault::Refused => Error::Database(why),
            Fault::DiskFull => Error::DiskFull("no space left".into()),
            Fault::Unanswered | Fault::Cut => Error::Unknown(why),
        }
    }
}

/// The evaluators' history and the configuration of a queue, up to an entry.
pub(crate) fn set_up(
    store: &mut dyn Store,
    queue: i64,
    until: u64,
) -> Result<(EvaluatorHistory, Config), Error> {
    let mut set_up: Option<(EvaluatorHistory, Config)> = None;
    for (seq, body) in store.bodies(queue, ["create", "configure"], until)? {
        let (StoredBody::Create { config, .. } | StoredBody::Configure { config, .. }) =
            StoredBody::from_text(&body)?
        else {
            continue;
        };
        match &mut set_up {
            None => set_up = Some((EvaluatorHistory::new(seq, config.evaluators.clone()), *config)),
            Some((history, last)) => {
                history.change(seq, &config.evaluators);
                *last = *config;
            }
        }
    }
    set_up.ok_or_else(|| corrupt("the queue's log has no `create` entry"))
}
