//! A PostgreSQL database that any number of nodes share: one connection each for a queue and node, driven by the clerk's own thread.
//!
//! Everything is in a schema of its own, `jurybox`. Transactions that write are READ COMMITTED and take the queue's row first
//! (`FOR UPDATE`): a snapshot would be older than the lock. A node that stops in mid-transaction loses its connection after a few
//! seconds (`idle_in_transaction_session_timeout`), so that the others go on; what it then has to say is refused, and it asks
//! the log what became of it.

mod ahead;
mod hooks;
mod open;
mod read;
mod say;
mod served;
mod store;
mod stretch;

use crate::line::{Address, Failure, Line};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use tokio_postgres::Statement;

/// How long anything may take that is not a load, as the database sees it; and then as we do.
const STATEMENT: Duration = Duration::from_mins(1);
const ANSWER: Duration = Duration::from_secs(75);
/// How long a load may take.
const LOAD: Duration = Duration::from_mins(15);
/// How long a queue may be another's before we give up; more than a node is given that has stopped.
const LOCK: Duration = Duration::from_secs(20);
/// How long a node may think in mid-transaction. Deciding takes milliseconds.
const THINK: Duration = Duration::from_secs(5);

/// A connection to a database.
pub(crate) struct Postgres {
    address: Arc<Address>,
    /// How long an outage is waited out.
    patience: Duration,
    line: Line,
    prepared: HashMap<String, Statement>,
    stage: Stage,
    ahead_of: ahead::Ahead,
    /// An item that was to be new was there.
    stumbled: bool,
    /// How long an answer may take now.
    limit: Duration,
    /// How far this store's clock is from the database's, in microseconds: for tests, which make it jump.
    ahead: Arc<AtomicI64>,
    /// What is to go wrong with the next commit, in tests.
    #[cfg(test)]
    pub(crate) fault: Arc<std::sync::Mutex<Option<super::Fault>>>,
}

/// Where a transaction is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    None,
    Open,
    /// Something in it failed: PostgreSQL would answer COMMIT with a rollback, and call that success.
    Failed,
}

impl Postgres {
    /// What makes this store's clock jump.
    #[cfg(test)]
    pub(crate) fn ahead(&self) -> Arc<AtomicI64> {
        self.ahead.clone()
    }

    /// A setting of the session.
    #[cfg(test)]
    pub(crate) fn setting(&mut self, name: &str) -> String {
        self.ask(&format!("SHOW {name}"), Vec::new()).unwrap()[0].get(0)
    }

    /// Notes what went wrong, and says it.
    fn failed(&mut self, failure: &Failure) -> crate::Error {
        self.stumbled |= failure.rule.as_deref() == Some("items_by_key");
        if self.stage == Stage::Open {
            self.stage = Stage::Failed;
        }
        match failure.rule {
            Some(_) => crate::Error::Contradiction(failure.what.clone()),
            None => crate::Error::Database(failure.what.clone()),
        }
    }
}
