//! A PostgreSQL database that any number of nodes share. A store borrows one of its node's
//! connections for the length of a transaction, and its own thread drives it meanwhile.
//!
//! Everything is in a schema of its own, `jurybox`. Transactions that write are READ COMMITTED and take the queue's row first
//! (`FOR UPDATE`): a snapshot would be older than the lock. A node that stops in mid-transaction loses its connection after a few
//! seconds (`idle_in_transaction_session_timeout`), so that the others go on; what it then has to say is refused, and it asks
//! the log what became of it.

mod prefetch;
mod hooks;
mod open;
mod pool;
mod row_reader;
mod pipeline;
mod server_queries;
mod store;
mod log_chunk;

use super::Purpose;
use crate::Error;
use crate::pg_connection::{Address, PgFailure, PgConnection};
use pool::{BorrowedConnection, ConnectionPool};
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
/// How long one step that brings the tables to the present version may take.
const MIGRATION: Duration = Duration::from_hours(6);
/// How long a queue may be another's before we give up; more than a node is given that has stopped.
const LOCK: Duration = Duration::from_secs(20);
/// How long a node may think in mid-transaction. Deciding takes milliseconds.
const THINK: Duration = Duration::from_secs(5);

/// A database, and one of its connections for as long as a transaction is open.
pub(crate) struct Postgres {
    address: Arc<Address>,
    /// How long an outage is waited out.
    patience: Duration,
    pool: Arc<ConnectionPool<Session>>,
    /// What connections are borrowed for.
    purpose: Purpose,
    lent: Option<BorrowedConnection<Session>>,
    stage: TransactionStage,
    ahead_of: prefetch::TransactionBuffer,
    /// An item that was to be new was there.
    hit_existing_item: bool,
    /// How long an answer may take now.
    limit: Duration,
    /// How far this store's clock is from the database's, in microseconds: for tests, which make it jump.
    ahead: Arc<AtomicI64>,
    /// What is to go wrong with the next commit, in tests.
    #[cfg(test)]
    pub(crate) fault: Arc<std::sync::Mutex<Option<super::Fault>>>,
}

/// A connection, and the statements that have been prepared over it.
struct Session {
    line: PgConnection,
    prepared: HashMap<String, Statement>,
}

/// Where a transaction is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TransactionStage {
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

    /// Borrows a connection, unless a transaction is under way on one already.
    fn borrow(&mut self) -> Result<(), Error> {
        if self.lent.is_some() {
            return Ok(());
        }
        if self.stage != TransactionStage::None {
            return Err(Error::Database("the connection was lost in mid-transaction".into()));
        }
        let mut lent = self.pool.borrow(self.purpose)?;
        // It may have been lost while nobody used it.
        let lives = lent.connection.take().filter(|session: &Session| session.line.is_open());
        lent.connection = Some(lives.map_or_else(|| Session::open(&self.address), Ok)?);
        self.lent = Some(lent);
        Ok(())
    }

    /// Gives the connection back where no transaction is under way.
    fn give_back(&mut self) {
        if self.stage == TransactionStage::None {
            self.lent = None;
        }
    }

    /// Closes the connection: nobody else is to have it.
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

    /// Notes what went wrong, and says it.
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
        // The database rolls back what is open when the connection ends; this may be a thread that must not wait.
        if self.stage != TransactionStage::None {
            self.discard();
        }
    }
}
