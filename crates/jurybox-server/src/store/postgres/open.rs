//! Opening a PostgreSQL database, and running migrations.

use super::pool::ConnectionPool;
use super::prefetch::TransactionBuffer;
use super::{ANSWER, LOCK, MIGRATION, Postgres, STATEMENT, Session, THINK, TransactionStage};
use crate::Error;
use crate::error::corrupt;
use crate::pg_connection::{Address, PgConnection, PgFailure};
use crate::store::{Purpose, Store, schema};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::SimpleQueryMessage;

/// The schema of all tables of Jurybox.
const SCHEMA: &str = "jurybox";
/// The key of the advisory lock held during migrations: the letters "jury".
const MIGRATING: i64 = 0x6a75_7279;

impl Postgres {
    /// Opens a database, and creates the tables if there are none. If the database cannot be
    /// reached, waits up to `wait`, now and when the connection is lost later.
    pub(crate) fn open(address: Address, wait: Duration) -> Result<Self, Error> {
        let patience = Instant::now();
        let address = Arc::new(address);
        loop {
            let opened = match connect(&address) {
                Ok(line) => Self::made_ready(&address, wait, line),
                Err(failure) if failure.transient => Err(Error::Database(failure.what)),
                Err(failure) => Err(Error::Open(format!("{address}: {}", failure.what))),
            };
            match opened {
                // The connection may also be lost while it is set up.
                Err(Error::Database(_)) if patience.elapsed() < wait => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(Error::Database(what)) => return Err(Error::Open(format!("{address}: {what}"))),
                done => return done,
            }
        }
    }

    fn made_ready(address: &Arc<Address>, patience: Duration, line: PgConnection) -> Result<Self, Error> {
        let mut first = Session::over(line, address)?;
        let mut second = Session::open(address)?;
        first.refuse_shared_sessions(&mut second, address)?;
        let mut store = Postgres {
            address: address.clone(),
            patience,
            pool: Arc::new(ConnectionPool::new(vec![second, first])),
            purpose: Purpose::Write,
            lent: None,
            stage: TransactionStage::None,
            ahead_of: TransactionBuffer::default(),
            hit_existing_item: false,
            limit: ANSWER,
            ahead: Arc::default(),
            #[cfg(test)]
            fault: Arc::default(),
        };
        store.migrate()?;
        Ok(store)
    }

    /// Another store with the same pool of connections.
    pub(super) fn again(&self, purpose: Purpose) -> Self {
        Postgres {
            address: self.address.clone(),
            patience: self.patience,
            pool: self.pool.clone(),
            purpose,
            lent: None,
            stage: TransactionStage::None,
            ahead_of: TransactionBuffer::default(),
            hit_existing_item: false,
            limit: ANSWER,
            ahead: self.ahead.clone(),
            #[cfg(test)]
            fault: self.fault.clone(),
        }
    }

    /// Runs the missing migrations, each in its own transaction, one node at a time.
    fn migrate(&mut self) -> Result<(), Error> {
        while self.version()? != Some(schema::VERSION) {
            // Building an index on a large table may exceed the usual time limits.
            let steps = format!(
                "BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATING})"
            );
            self.start()?;
            self.limit = MIGRATION;
            let stepped = self.say(&steps).and_then(|()| self.step()).and_then(|()| self.commit());
            self.rollback();
            self.limit = ANSWER;
            stepped?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Error> {
        // Another node may have migrated while this one waited.
        let version = self.version()?.unwrap_or(0);
        let known = schema::VERSION;
        if version > known {
            return Err(Error::Open(format!(
                "{}: its tables have version {version}, made by a later program; this one knows versions up to {known}",
                self.address
            )));
        }
        let Some(migration) = schema::MIGRATIONS.get(version as usize) else { return Ok(()) };
        // Writers read the version when they lock a queue. This lock waits for the end of their
        // transactions.
        if version > 0 {
            self.say(&format!("LOCK TABLE {SCHEMA}.queues IN EXCLUSIVE MODE"))?;
        }
        if version == 0 {
            self.say(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}; CREATE TABLE {SCHEMA}.version(version BIGINT NOT NULL); INSERT INTO {SCHEMA}.version VALUES (0)"))?;
        }
        self.say(&schema::for_postgres(migration))?;
        self.say(&format!("UPDATE {SCHEMA}.version SET version = {}", version + 1))
    }

    /// The version of the existing tables; None if there are none.
    fn version(&mut self) -> Result<Option<i64>, Error> {
        let there = "SELECT (SELECT COUNT(*) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = 'jurybox' AND c.relkind = 'r'), to_regclass('jurybox.version') IS NOT NULL";
        let rows = self.ask(there, Vec::new())?;
        let (tables, ours): (i64, bool) = rows.first().map_or((0, false), |row| (row.get(0), row.get(1)));
        if !ours && tables > 0 {
            return Err(Error::Open(format!(
                "{}: its schema `{SCHEMA}` belongs to another program",
                self.address
            )));
        }
        if !ours {
            return Ok(None);
        }
        let rows = self.ask("SELECT version FROM jurybox.version", Vec::new())?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}

impl Session {
    /// Opens a new connection.
    pub(super) fn open(address: &Address) -> Result<Self, Error> {
        let line =
            connect(address).map_err(|failure| Error::Database(format!("{address}: {}", failure.what)))?;
        Self::over(line, address)
    }

    /// Prepares a new connection. Errors unless commits are synced and the encoding is UTF-8.
    fn over(line: PgConnection, address: &Address) -> Result<Self, Error> {
        let mut session = Session { line, prepared: HashMap::new() };
        // Commits must reach the disk. The database's own settings may require more, such as a
        // replica's confirmation.
        let settings = "SELECT current_setting('fsync'), current_setting('server_encoding'), CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) ELSE current_setting('synchronous_commit') END";
        let [fsync, encoding, commit] = session.cells(settings, address)?;
        if fsync != "on" || commit == "off" {
            return Err(Error::Open(format!(
                "{address}: PostgreSQL will not sync every commit here (fsync {fsync}, synchronous_commit {commit})"
            )));
        }
        if encoding != "UTF8" {
            return Err(Error::Open(format!(
                "{address}: its encoding is {encoding}; create the database with UTF8"
            )));
        }
        Ok(session)
    }

    /// Errors on a pooler in transaction mode, which may change the session between transactions.
    /// Then `search_path`, time limits and prepared statements would be another client's.
    fn refuse_shared_sessions(&mut self, other: &mut Session, address: &Address) -> Result<(), Error> {
        let token = format!("{:016x}", RandomState::new().hash_one(Instant::now()));
        let read = "SELECT COALESCE(current_setting('jurybox.session', true), '')";
        let [_] = self.cells(&format!("SELECT set_config('jurybox.session', '{token}', false)"), address)?;
        // While `other` has a transaction open, such a pooler either gives this connection another
        // session, or has given this connection's session to `other`.
        let [theirs] = other.cells(&format!("BEGIN; {read}"), address)?;
        let ours = if theirs == token { Ok([String::new()]) } else { self.cells(read, address) };
        let [_] = other.cells("ROLLBACK; SELECT ''", address)?;
        if ours? == [token] {
            return Ok(());
        }
        Err(Error::Open(format!(
            "{address}: this is a pooler in transaction mode (pgbouncer: pool_mode = transaction): give the address of PostgreSQL itself, or of a pooler in session mode; a server keeps a fixed number of connections by itself (--connections)"
        )))
    }

    /// The cells of the first row of a query without parameters.
    fn cells<const N: usize>(&mut self, words: &str, address: &Address) -> Result<[String; N], Error> {
        let said = self.line.wait(ANSWER, async |client| client.simple_query(words).await);
        let messages = said.map_err(|failure| Error::Database(format!("{address}: {}", failure.what)))?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row = row.filter(|row| row.len() == N).ok_or_else(|| corrupt(format!("{address}: no answer")))?;
        Ok(std::array::from_fn(|at| row.get(at).unwrap_or_default().to_string()))
    }
}

fn connect(address: &Address) -> Result<PgConnection, PgFailure> {
    // Index scans are preferred, since the statistics may not know of recent rows.
    let first = format!(
        "SET search_path = {SCHEMA}; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET random_page_cost = 1.1; SET jit = off; SET default_transaction_isolation = 'read committed'; SET client_min_messages = warning; SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}",
        STATEMENT.as_millis(),
        LOCK.as_millis(),
        THINK.as_millis()
    );
    PgConnection::connect(address, &first)
}
