//! Where queues are kept: the contract, and the two databases that keep it.

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
use crate::event::{LogEvent, VerdictPosition};
use crate::rows::{FoundItem, ItemRow, StoredAnswer, VerdictRow, EntryWrite};
use crate::evaluator_history::EvaluatorHistory;
use crate::stored_body::StoredBody;
use std::time::Duration;

/// Entries that are read at once.
const STRETCH: u64 = 1024;

/// A queue, as its row has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueueRow {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// Where a queue's log ends, and what time it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogHead {
    /// The last entry.
    pub(crate) seq: u64,
    /// Its time.
    pub(crate) at: i64,
    /// The database's clock.
    pub(crate) now: i64,
}

/// Somebody has an item, as the table of leases has it.
#[derive(Debug, Clone)]
pub(crate) struct LeaseRow {
    pub(crate) n: u64,
    pub(crate) lease: crate::live_queue::reviews::Lease,
}

/// What a transaction will look for.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    /// Items by their ids.
    pub(crate) items: Vec<String>,
    /// Verdicts by theirs.
    pub(crate) verdicts: Vec<String>,
    /// Answers by the keys of their calls.
    pub(crate) answers: Vec<String>,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) seq: u64,
    pub(crate) epoch: u64,
    pub(crate) state: Vec<u8>,
    pub(crate) sha256: Vec<u8>,
}

/// What an item is worth by the last verdict on it, and which one that was.
pub(crate) type FinalDecision = (f64, VerdictPosition);

/// What a store is for: connections are few, and reads leave some of them to writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Transactions that write, and short questions of the server itself.
    Write,
    /// Reading a page of items or of the log.
    Read,
    /// Reading much of the log.
    LongRead,
}

/// Where queues are kept. One transaction at a time, always about one queue.
///
/// An error of any method but `commit` means that the transaction has not happened.
pub(crate) trait Store: Send + hooks::HookStore + keys::KeyStore + lookups::Lookups {
    /// Whether other nodes may write to the same queues.
    fn is_shared(&self) -> bool {
        false
    }
    /// How long a database that is away is waited for.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// All queues.
    fn queues(&mut self) -> Result<Vec<QueueRow>, Error>;
    /// Where the log of every queue ends, and the time of that entry.
    fn heads(&mut self) -> Result<Vec<(i64, u64, i64)>, Error>;
    /// Makes a queue with its first entry; none if there is one of that name.
    fn create(&mut self, name: &str, write: &EntryWrite) -> Result<Option<QueueRow>, Error>;
    /// The database's clock.
    fn now(&mut self) -> Result<i64, Error>;

    /// What the next transaction will ask for: a store that is far away may bring it along when it begins.
    fn prefetch(&mut self, _: Prefetch) {}
    /// Begins a transaction that will write: nobody else writes to the queue before it ends.
    fn begin(&mut self, queue: i64) -> Result<LogHead, Error>;
    /// Begins one that reads, all of it as it is now, and writes nothing.
    fn begin_reading(&mut self, queue: i64) -> Result<LogHead, Error>;
    /// Where the log ends, within a transaction or without one.
    fn head(&mut self, queue: i64) -> Result<LogHead, Error>;
    /// Makes it so. [`Error::Unknown`] if that cannot be said.
    fn commit(&mut self) -> Result<(), Error>;
    /// Leaves it.
    fn rollback(&mut self);
    /// Whether the last transaction failed because an item that was to be new is there.
    fn hit_existing_item(&self) -> bool {
        false
    }
    /// [`Error::DiskFull`] where the database's disk has no room for a megabyte more.
    fn check_room(&mut self) -> Result<(), Error>;
    /// Gets a lost connection again.
    fn reconnect(&mut self) -> Result<(), Error>;
    /// Another store on the same database.
    fn another(&self, purpose: Purpose) -> Result<Box<dyn Store>, Error>;
    /// Sets how many connections all stores on this database have together, where it counts them.
    fn share(&mut self, _connections: usize) {}

    /// Writes entries with all their rows, the answers to be remembered, and moves the head. `batch` names the transaction.
    fn write(
        &mut self,
        queue: i64,
        batch: i64,
        writes: &[EntryWrite],
        answers: &[StoredAnswer],
        at: i64,
    ) -> Result<(), Error>;
    /// Which transaction wrote an entry.
    fn batch_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error>;
    /// What an entry is about.
    fn kind_of(&mut self, queue: i64, seq: u64) -> Result<Option<String>, Error>;
    /// The answers to calls with these keys.
    fn remembered(&mut self, queue: i64, keys: &[String]) -> Result<Vec<StoredAnswer>, Error>;

    /// Items by their ids.
    fn find(&mut self, queue: i64, keys: &[String]) -> Result<Vec<(String, FoundItem)>, Error>;
    /// The ids of items, and what reviewers are shown.
    fn shown(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String, Option<String>)>, Error>;
    /// How many bytes reviewers are shown of items; those without a payload are left out.
    fn payload_bytes(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, u64)>, Error>;
    /// What no payload of a queue exceeds, in bytes, where one may have more than 256 KiB.
    fn large_payload(&mut self, queue: i64) -> Result<Option<u64>, Error>;
    /// An item with its present scores.
    fn item(&mut self, queue: i64, n: u64) -> Result<Option<ItemRow>, Error>;
    /// Verdicts by their ids.
    fn verdicts(&mut self, queue: i64, ids: &[String]) -> Result<Vec<VerdictRow>, Error>;
    /// The verdicts that stand on an item, in the order of the log.
    fn verdicts_on(&mut self, queue: i64, n: u64) -> Result<Vec<VerdictRow>, Error>;
    /// Who does not want an item, in the order of the log.
    fn skips_on(&mut self, queue: i64, n: u64) -> Result<Vec<String>, Error>;
    /// The probability of a reviewer's pick, and whether it was an audit; none where the reviewer never held the item by that token.
    fn claimed(
        &mut self,
        queue: i64,
        claim: u64,
        n: u64,
        reviewer: &str,
    ) -> Result<Option<(f64, bool)>, Error>;

    /// The entries after one, up to another.
    fn events(
        &mut self,
        queue: i64,
        after: u64,
        until: u64,
        history: &EvaluatorHistory,
    ) -> Result<Vec<LogEvent>, Error>;
    /// Every open item with its present scores, by number.
    fn open_items(
        &mut self,
        queue: i64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// Every lease.
    fn leases(&mut self, queue: i64) -> Result<Vec<LeaseRow>, Error>;
    /// Who does not want which open item.
    fn skips(&mut self, queue: i64) -> Result<Vec<(u64, String)>, Error>;
    /// The verdicts that stand on open items, in the order of the log.
    fn verdicts_on_open(&mut self, queue: i64) -> Result<Vec<VerdictRow>, Error>;
    /// How many items there ever were, and how many verdicts stand.
    fn totals(&mut self, queue: i64) -> Result<(u64, u64), Error>;
    /// What was decided on items with revised verdicts, as known at an entry, and by which verdict: the last word on each is what it is worth.
    fn revised(&mut self, queue: i64, until: u64) -> Result<Vec<(u64, FinalDecision)>, Error>;
    /// The bodies of the entries of these kinds, up to one.
    fn bodies(&mut self, queue: i64, kinds: [&str; 2], until: u64) -> Result<Vec<(u64, String)>, Error>;

    /// Keeps a checkpoint. The one that is there already if it is another.
    fn keep(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>, Error>;
    /// Keeps a checkpoint in place of what is there.
    fn replace(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<(), Error>;
    /// The last checkpoint up to an entry.
    fn checkpoint(&mut self, queue: i64, until: u64) -> Result<Option<Checkpoint>, Error>;
    /// Every checkpoint, the first first.
    fn checkpoints(&mut self, queue: i64) -> Result<Vec<Checkpoint>, Error>;
    /// Overwrites what was deleted where the database still keeps it besides its tables. False if that must be tried again.
    fn scrub(&mut self) -> Result<bool, Error> {
        Ok(true)
    }
    /// Does what the database would else do now and then while somebody waits for a commit.
    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Gives back memory that only makes the next request quicker, where none has come for a while.
    fn rest(&mut self) {}
    /// Deletes a queue's payloads and answers whose time has come by then.
    fn tidy(&mut self, queue: i64, by: i64) -> Result<(), Error>;
}

/// How long a queue's log must have gone on before something is deleted for good by the time that
/// it says, in microseconds.
const LONG_ENOUGH: i64 = 3_600_000_000;

/// Deletes payloads and answers whose time has come: by the clock where that is known to be
/// `steady`, else by the last entry of each queue's log that it has gone on from for an hour. Never
/// by more than the clock says: a log that is ahead of it was written by a clock that was wrong.
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

/// How a commit goes wrong, in tests.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// It happens, and nobody is told.
    Unanswered,
    /// It does not happen, and nobody is told.
    Cut,
    /// It is refused.
    Refused,
    /// The disk is full, until this is taken away.
    DiskFull,
}

#[cfg(test)]
impl Fault {
    /// What is to go wrong now.
    fn strikes(fault: &std::sync::Mutex<Option<Fault>>) -> Option<Fault> {
        let mut fault = crate::service::held(fault);
        if *fault == Some(Fault::DiskFull) { *fault } else { fault.take() }
    }

    /// How the transaction ends.
    fn ends(self) -> &'static str {
        if self == Fault::Unanswered { "COMMIT" } else { "ROLLBACK" }
    }

    /// What is said of it.
    fn error(self) -> Error {
        let why = "the line is dead".to_string();
        match self {
            Fault::Refused => Error::Database(why),
            Fault::DiskFull => Error::DiskFull("no space left".into()),
            Fault::Unanswered | Fault::Cut => Error::Unknown(why),
        }
    }
}

/// The seatings and the configuration of a queue at an entry, from the entries that set it up.
pub(crate) fn set_up(store: &mut dyn Store, queue: i64, until: u64) -> Result<(EvaluatorHistory, Config), Error> {
    let mut set_up: Option<(EvaluatorHistory, Config)> = None;
    for (seq, body) in store.bodies(queue, ["create", "configure"], until)? {
        let (StoredBody::Create { config, .. } | StoredBody::Configure { config, .. }) = StoredBody::from_text(&body)? else {
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
    set_up.ok_or_else(|| corrupt("the queue has no first entry"))
}
