//! The PostgreSQL store, which any number of nodes share.
//!
//! A store borrows one of its process's connections for each transaction; the thread that uses the
//! store drives the connection. All tables are in the schema `jurybox`. Transactions that write to
//! a queue first lock the queue's row (`FOR UPDATE`). They are READ COMMITTED, because a snapshot
//! of the whole transaction would be older than the lock.
//!
//! A node that stalls in a transaction loses its connection after five seconds
//! (`idle_in_transaction_session_timeout`), so that other nodes can continue. Its later statements
//! are refused. It finds out from the log whether the transaction took place.

mod hooks;
mod log_chunk;
mod open;
mod pipeline;
mod pool;
mod prefetch;
mod row_reader;
mod server_queries;
mod store;

use super::Purpose;
use crate::Error;
use crate::pg_connection::{Address, PgConnection, PgFailure};
use pool::{BorrowedConnection, ConnectionPool};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use tokio_postgres::Statement;

/// The time limit of a statement in the database, except in loads and migrations.
const STATEMENT: Duration = Duration::from_mins(1);
/// The time limit of waiting for the answer to a statement, except in loads and migrations.
const ANSWER: Duration = Duration::from_secs(75);
/// The time limit of a transaction that loads a queue.
const LOAD: Duration = Duration::from_mins(15);
/// The time limit of one migration.
const MIGRATION: Duration = Duration::from_hours(6);
/// How long to wait for a queue's lock: longer than an idle transaction can keep it.
const LOCK: Duration = Duration::from_secs(20);
/// How long a transaction may be idle. Deciding takes milliseconds.
const THINK: Duration = Duration::from_secs(5);

/// A database, with a connection while a transaction is open.
pub(crate) struct Postgres {
    address: Arc<Address>,
    /// How long to wait for a database that cannot be reached.
    patience: Duration,
    pool: Arc<ConnectionPool<Session>>,
    /// What borrowed connections are used for.
    purpose: Purpose,
    lent: Option<BorrowedConnection<Session>>,
    stage: TransactionStage,
    ahead_of: prefetch::TransactionBuffer,
    /// Whether an item that was to be added existed already.
    hit_existing_item: bool,
    /// The present time limit of an answer.
    limit: Duration,
    /// The difference of this store's clock from the database's in microseconds, which tests set.
    ahead: Arc<AtomicI64>,
    /// The fault of the next commit, in tests.
    #[cfg(test)]
    pub(crate) fault: Arc<std::sync::Mutex<Option<super::Fault>>>,
}

/// A connection with its prepared statements.
struct Session {
    line: PgConnection,
    prepared: HashMap<String, Statement>,
}

/// The stage of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TransactionStage {
    None,
    Open,
    /// A statement failed. PostgreSQL would answer COMMIT by rolling back, without an error.
    Failed,
}

impl Postgres {
    /// The difference of this store's clock from the database's, which tests change.
    #[cfg(test)]
    pub(crate) fn ahead(&self) -> Arc<AtomicI64> {
        self.ahead.clone()
    }

    /// A setting of the session.
    #[cfg(test)]
    pub(crate) fn setting(&mut self, name: &str) -> String {
        self.ask(&format!("SHOW {name}"), Vec::new()).unwrap()[0].get(0)
    }

    /// Borrows a connection, unless a transaction has one already.
    fn borrow(&mut self) -> Result<(), Error> {
        if self.lent.is_some() {
            return Ok(());
        }
        if self.stage != TransactionStage::None {
            return Err(Error::Database("the connection was lost in mid-transaction".into()));
        }
        let mut lent = self.pool.borrow(self.purpose)?;
        // An idle connection may have been lost.
        let lives = lent.connection.take().filter(|session: &Session| session.line.is_open());
        lent.connection = Some(lives.map_or_else(|| Session::open(&self.address), Ok)?);
        self.lent = Some(lent);
        Ok(())
    }

    /// Returns the connection if no transaction is open.
    fn give_back(&mut self) {
        if self.stage == TransactionStage::None {
            self.lent = None;
        }
    }

    /// Closes the connection instead of returning it.
    fn discard(&mut self) {
        if let Some(lent) = &mut self.lent {
            lent.connection = None;
        }
        self.lent = None;
    }

    fn session(&mut self) -> Result<&mut Session, PgFailure> {
        let session = self.lent.as_mut().and_then(|lent| lent.connection.as_mut());
        session.ok_or_else(|| PgFailure::lost("the connection is closed"))
    }

    /// Records a failure in the state of the transaction, and converts it to an error.
    fn failed(&mut self, failure: &PgFailure) -> Error {
        self.hit_existing_item |= failure.rule.as_deref() == Some("items_by_key");
        if self.stage == TransactionStage::Open {
            self.stage = TransactionStage::Failed;
        }
        if failure.lost {
            self.discard();
        }
        failure.to_error()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The database rolls back when the connection closes; waiting for a ROLLBACK could block
        // this thread.
        if self.stage != TransactionStage::None {
            self.discard();
        }
    }
}
