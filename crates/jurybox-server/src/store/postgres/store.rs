//! The trait `Store` for PostgreSQL.

use super::pipeline::{BoundStatement, StatementParam, gathered};
use super::row_reader::{all, checkpoint, get, item, verdict};
use super::{ANSWER, LOAD, Postgres, Session, TransactionStage};
use crate::Error;
use crate::error::corrupt;
use crate::evaluator_history::EvaluatorHistory;
use crate::event::{LogEvent, VerdictPosition};
use crate::live_queue::reviews::Lease;
use crate::rows::{EntryWrite, FoundItem, ItemRow, StoredAnswer, VerdictRow};
use crate::store::value::{SqlWrite, values};
use crate::store::write::ops_of;
use crate::store::{
    Checkpoint, FinalDecision, LeaseRow, LogHead, Prefetch, Purpose, QueueRow, STRETCH, Store, schema, sql,
};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// Entries with at least this many rows in all are sent ahead of the commit.
const WORTH_SENDING: u64 = 256;
/// Locks a queue, and reads the version of the tables. A migration locks the table `queues`, so the
/// version stays the same until the transaction ends.
const LOCK_HEAD: &str = "SELECT head, at, (SELECT version FROM version) FROM queues WHERE id = $1 FOR UPDATE";
const QUEUES: &str = "SELECT id, name, (SELECT version FROM version) FROM queues ORDER BY id";
/// The time at which the statement runs. It runs after the lock, which may take a while.
const CLOCK: &str = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint";
const SHOWN: &str = "SELECT wanted.n, found.key, found.body FROM unnest($2::bigint[]) AS wanted(n) CROSS JOIN LATERAL (SELECT i.key, (SELECT p.body FROM payloads p WHERE p.queue = $1 AND p.n = wanted.n) AS body FROM items i WHERE i.queue = $1 AND i.n = wanted.n AND i.key IS NOT NULL LIMIT 1) AS found";
const PAYLOAD_BYTES: &str = "SELECT wanted.n, found.bytes FROM unnest($2::bigint[]) AS wanted(n) CROSS JOIN LATERAL (SELECT octet_length(p.body)::bigint AS bytes FROM payloads p WHERE p.queue = $1 AND p.n = wanted.n LIMIT 1) AS found";

impl Postgres {
    pub(super) fn many<T>(
        &mut self,
        sql: &str,
        queue: i64,
        keys: StatementParam,
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.ask_all(&[BoundStatement::with_keys(sql, queue, keys)])?.pop().unwrap_or_default();
        all(&rows, read)
    }

    /// Rolls back an open transaction, and borrows a connection for the next one.
    pub(super) fn start(&mut self) -> Result<(), Error> {
        self.rollback();
        self.borrow()?;
        (self.stage, self.hit_existing_item) = (TransactionStage::Open, false);
        Ok(())
    }

    /// Begins with the command `words`, and reads the head by the statement `head`. Announced keys
    /// are looked up in the same round trip.
    fn begin_with(&mut self, words: &str, head: &str, queue: i64) -> Result<LogHead, Error> {
        self.start()?;
        let mut asks =
            vec![BoundStatement::new(head, values![queue]), BoundStatement::new(CLOCK, Vec::new())];
        let (foreseen, more) = self.ahead_of.asks(queue);
        asks.extend(more);
        let begun = self.ask_after(Some(words), &asks).and_then(|mut rows| {
            let brought = rows.split_off(2);
            let head = self.head_of(&rows)?;
            self.ahead_of.take(foreseen, brought)?;
            Ok(head)
        });
        begun.inspect_err(|_| self.rollback())
    }

    fn head_of(&self, rows: &[Vec<Row>]) -> Result<LogHead, Error> {
        let [head, clock] = rows else { return Err(corrupt("no head")) };
        let (Some(head), Some(clock)) = (head.first(), clock.first()) else {
            return Err(Error::NoQueue { name: "that was deleted".into() });
        };
        if head.len() > 2 {
            check_version(head)?;
        }
        let now = get::<i64>(clock, 0)? + self.ahead.load(Ordering::Relaxed);
        Ok(LogHead { seq: get(head, 0)?, at: get(head, 1)?, now })
    }
}

impl Postgres {
    /// Begins a transaction that is not about an existing queue.
    pub(super) fn begin_anything(&mut self) -> Result<(), Error> {
        self.start()?;
        self.say("BEGIN")
    }
}

/// Errors unless the tables have this program's version. The version is the third cell of the row.
fn check_version(row: &Row) -> Result<(), Error> {
    let (version, known) = (get::<i64>(row, 2)?, schema::VERSION);
    if version == known { Ok(()) } else { Err(Error::Outdated { version, known }) }
}

impl Store for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn queues(&mut self) -> Result<Vec<QueueRow>, Error> {
        // A server's readiness check calls this, so the version is checked too.
        let rows = self.ask(QUEUES, Vec::new())?;
        all(&rows, |row| {
            check_version(row).and_then(|()| Ok(QueueRow { id: get(row, 0)?, name: get(row, 1)? }))
        })
    }

    fn heads(&mut self) -> Result<Vec<(i64, u64, i64)>, Error> {
        let rows = self.ask(sql::HEADS, Vec::new())?;
        all(&rows, |row| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?)))
    }

    fn create(&mut self, name: &str, write: &EntryWrite) -> Result<Option<QueueRow>, Error> {
        let made = self.begin_anything().and_then(|()| {
            let insert =
                "INSERT INTO queues(name, head, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING RETURNING id, head, (SELECT version FROM version)";
            let rows = self.ask(insert, values![name, write.event.seq, write.event.at])?;
            let Some(row) = rows.first() else { return Ok(None) };
            check_version(row)?;
            let id = get(row, 0)?;
            let mut ops = Vec::new();
            ops_of(id, 0, write, &mut ops)?;
            self.ask_all(&gathered(ops))?;
            Ok(Some(QueueRow { id, name: name.into() }))
        });
        match made {
            Ok(made) => self.commit().map(|()| made),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    fn now(&mut self) -> Result<i64, Error> {
        let rows = self.ask(CLOCK, Vec::new())?;
        let row = rows.first().ok_or_else(|| corrupt("the database has no clock"))?;
        Ok(get::<i64>(row, 0)? + self.ahead.load(Ordering::Relaxed))
    }

    fn prefetch(&mut self, foreseen: Prefetch) {
        self.ahead_of.prefetch(foreseen);
    }

    fn begin(&mut self, queue: i64) -> Result<LogHead, Error> {
        self.limit = ANSWER;
        self.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED", LOCK_HEAD, queue)
    }

    fn begin_reading(&mut self, queue: i64) -> Result<LogHead, Error> {
        // A reading transaction locks nothing and may fold the whole log, so it gets more time.
        let words = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {0}; SET LOCAL idle_in_transaction_session_timeout = {0}",
            LOAD.as_millis()
        );
        self.limit = LOAD;
        self.begin_with(&words, sql::HEAD, queue)
    }

    fn head(&mut self, queue: i64) -> Result<LogHead, Error> {
        let rows = self.ask_all(&[
            BoundStatement::new(sql::HEAD, values![queue]),
            BoundStatement::new(CLOCK, Vec::new()),
        ])?;
        self.head_of(&rows)
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.ahead_of.forget();
        if self.stage != TransactionStage::Failed
            && let Err(error) = self.prepare_held_back()
        {
            self.rollback();
            return Err(error);
        }
        if self.stage == TransactionStage::Failed {
            self.rollback();
            return Err(Error::Database("something in the transaction had failed".into()));
        }
        #[cfg(test)]
        let fault = crate::store::Fault::strikes(&self.fault);
        #[cfg(test)]
        if let Some(fault) = fault {
            self.ask_all(&[])?;
            self.say(fault.ends())?;
            self.stage = TransactionStage::None;
            self.give_back();
            return Err(fault.error());
        }
        let ended = self.commit_with_held_back();
        self.stage = TransactionStage::None;
        let ended = ended.map_err(|failure| {
            // If the database itself refused, the transaction has not taken place. The refused
            // statement may also be a write that was sent with COMMIT; then COMMIT rolls the
            // transaction back.
            let error = self.failed(&failure);
            if failure.lost { Error::Unknown(failure.what) } else { error }
        });
        self.give_back();
        ended
    }

    fn rollback(&mut self) {
        self.ahead_of.forget();
        self.ahead_of.held_back.clear();
        self.ahead_of.under_way = None;
        if self.stage != TransactionStage::None {
            self.stage = TransactionStage::None;
            self.limit = ANSWER;
            let rolled = self.session().and_then(|session| {
                session.line.wait(ANSWER, async |client| client.batch_execute("ROLLBACK").await)
            });
            if rolled.is_err() {
                self.discard();
            }
            self.give_back();
        }
    }

    fn hit_existing_item(&self) -> bool {
        self.hit_existing_item
    }

    fn check_room(&mut self) -> Result<(), Error> {
        #[cfg(test)]
        if *crate::service::lock_mutex(&self.fault) == Some(crate::store::Fault::DiskFull) {
            return Err(Error::DiskFull("no space left".into()));
        }
        self.start()?;
        let made = self.say(
            "BEGIN; CREATE TEMP TABLE room ON COMMIT DROP AS SELECT n FROM generate_series(1, 30000) AS n",
        );
        self.rollback();
        // Other errors, such as a missing right to create a table, do not matter here.
        if matches!(made, Err(Error::DiskFull(_))) { made } else { Ok(()) }
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        self.rollback();
        let mut lent = self.pool.borrow(self.purpose)?;
        // The borrowed connection may be lost too, and is closed before a new one is opened.
        lent.connection = None;
        lent.connection = Some(Session::open(&self.address)?);
        Ok(())
    }

    fn another(&self, purpose: Purpose) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(self.again(purpose)))
    }

    fn share(&mut self, connections: usize) {
        self.pool.resize(connections);
    }

    fn write(
        &mut self,
        queue: i64,
        batch: i64,
        writes: &[EntryWrite],
        answers: &[StoredAnswer],
        at: i64,
    ) -> Result<(), Error> {
        let mut said = Vec::new();
        // Runs first, because an expired lease must be deleted before its item is leased again.
        // Leases expire only together with an entry.
        if !writes.is_empty() {
            said.push(BoundStatement::new(sql::EXPIRE, values![queue, at]));
        }
        let mut ops = Vec::new();
        for write in writes {
            ops_of(queue, batch, write, &mut ops)?;
        }
        for StoredAnswer { key, hash, answer } in answers {
            ops.push(SqlWrite { sql: sql::REMEMBER, values: values![queue, key, hash, answer, at] });
        }
        said.extend(gathered(ops));
        if let Some(last) = writes.last() {
            said.push(BoundStatement::new(sql::MOVE_HEAD, values![queue, last.event.seq, last.event.at]));
        }
        self.ahead_of.forget();
        self.ahead_of.held_back.extend(said);
        if writes.iter().map(|write| write.event.body.weight()).sum::<u64>() < WORTH_SENDING {
            return Ok(());
        }
        self.send_held_back()
    }

    fn batch_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error> {
        let rows = self.ask(sql::BATCH_OF, values![queue, seq])?;
        rows.first().map(|row| get(row, 0)).transpose()
    }

    fn kind_of(&mut self, queue: i64, seq: u64) -> Result<Option<String>, Error> {
        let rows = self.ask(sql::KIND_OF, values![queue, seq])?;
        rows.first().map(|row| get(row, 0)).transpose()
    }

    fn remembered(&mut self, queue: i64, keys: &[String]) -> Result<Vec<StoredAnswer>, Error> {
        self.find_answers(queue, keys)
    }

    fn find(&mut self, queue: i64, keys: &[String]) -> Result<Vec<(String, FoundItem)>, Error> {
        self.find_items(queue, keys)
    }

    fn shown(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String, Option<String>)>, Error> {
        let items = StatementParam::Ints(items.iter().map(|n| Some(n.cast_signed())).collect());
        // The statement leaves out erased items, so the id is never null.
        let read =
            |row: &Row| Ok((get(row, 0)?, get::<Option<String>>(row, 1)?.unwrap_or_default(), get(row, 2)?));
        self.many(SHOWN, queue, items, read)
    }

    fn payload_bytes(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, u64)>, Error> {
        let items = StatementParam::Ints(items.iter().map(|n| Some(n.cast_signed())).collect());
        self.many(PAYLOAD_BYTES, queue, items, |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn large_payload(&mut self, queue: i64) -> Result<Option<u64>, Error> {
        let bigint = sql::LARGE_PAYLOAD.replacen("octet_length(body)", "octet_length(body)::bigint", 1);
        let rows = self.ask(&bigint, values![queue])?;
        rows.first().map(|row| get(row, 0)).transpose()
    }

    fn item(&mut self, queue: i64, n: u64) -> Result<Option<ItemRow>, Error> {
        let rows = self.ask(&sql::lateral(&sql::item_at()), values![queue, n, i64::MAX])?;
        rows.first().map(|row| item(row, 0)).transpose()
    }

    fn verdicts(&mut self, queue: i64, ids: &[String]) -> Result<Vec<VerdictRow>, Error> {
        self.find_verdicts(queue, ids)
    }

    fn verdicts_on(&mut self, queue: i64, n: u64) -> Result<Vec<VerdictRow>, Error> {
        let rows = self.ask(&sql::verdicts_on(), values![queue, n])?;
        all(&rows, verdict)
    }

    fn skips_on(&mut self, queue: i64, n: u64) -> Result<Vec<String>, Error> {
        let rows = self.ask(sql::SKIPS_ON, values![queue, n])?;
        all(&rows, |row| get(row, 0))
    }

    fn claimed(
        &mut self,
        queue: i64,
        claim: u64,
        n: u64,
        reviewer: &str,
    ) -> Result<Option<(f64, bool)>, Error> {
        let taken_back = sql::taken_back_by(reviewer);
        let rows = self.ask(sql::CLAIMED, values![queue, claim, n, reviewer, taken_back])?;
        rows.first().map(|row| Ok((get(row, 0)?, get(row, 1)?))).transpose()
    }

    fn events(
        &mut self,
        queue: i64,
        after: u64,
        until: u64,
        history: &EvaluatorHistory,
    ) -> Result<Vec<LogEvent>, Error> {
        self.stretch(queue, after, until.min(after + STRETCH))?.into_events(history)
    }

    fn open_items(
        &mut self,
        queue: i64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let kinds = [
            Type::INT8,
            Type::INT8,
            Type::INT8,
            Type::BYTEA,
            Type::TEXT,
            Type::FLOAT8,
            Type::INT8,
            Type::INT8,
        ];
        self.copy_out(&sql::open_items_at_once(queue), &kinds, &mut |row| each(item(row, 0)?))
    }

    fn leases(&mut self, queue: i64) -> Result<Vec<LeaseRow>, Error> {
        let rows = self.ask(sql::LEASES, values![queue])?;
        all(&rows, |row| {
            let lease = Lease {
                slot: get(row, 1)?,
                claim: get(row, 2)?,
                reviewer: std::sync::Arc::new(get::<String>(row, 3)?.into()),
                until: get(row, 4)?,
                probability: get(row, 5)?,
                explored: get(row, 6)?,
            };
            Ok(LeaseRow { n: get(row, 0)?, lease })
        })
    }

    fn skips(&mut self, queue: i64) -> Result<Vec<(u64, String)>, Error> {
        let rows = self.ask(sql::SKIPS, values![queue])?;
        all(&rows, |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn verdicts_on_open(&mut self, queue: i64) -> Result<Vec<VerdictRow>, Error> {
        let rows = self.ask(&sql::verdicts_on_open(), values![queue])?;
        all(&rows, verdict)
    }

    fn totals(&mut self, queue: i64) -> Result<(u64, u64), Error> {
        let rows = self.ask(sql::TOTALS, values![queue])?;
        let row = rows.first().ok_or_else(|| corrupt("the totals of the queue are missing"))?;
        Ok((get(row, 0)?, get(row, 1)?))
    }

    fn revised(&mut self, queue: i64, until: u64) -> Result<Vec<(u64, FinalDecision)>, Error> {
        let rows = self.ask(sql::REVISED, values![queue, until])?;
        all(&rows, |row| {
            Ok((get(row, 0)?, (get(row, 1)?, VerdictPosition { seq: get(row, 2)?, i: get(row, 3)? })))
        })
    }

    fn bodies(&mut self, queue: i64, kinds: [&str; 2], until: u64) -> Result<Vec<(u64, String)>, Error> {
        let rows = self.ask(sql::BODIES, values![queue, kinds[0], kinds[1], until])?;
        all(&rows, |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn keep(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>, Error> {
        let Checkpoint { seq, epoch, state, sha256 } = checkpoint;
        let keep = BoundStatement::new(sql::KEEP, values![queue, *seq, *epoch, state, sha256]);
        self.ask_all(&[keep, BoundStatement::new(sql::THIN_OUT, values![queue])])?;
        let there = self.checkpoint(queue, *seq)?;
        Ok(there.filter(|there| there.seq == *seq && there.sha256 != *sha256))
    }

    fn replace(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<(), Error> {
        let Checkpoint { seq, epoch, state, sha256 } = checkpoint;
        self.ask(sql::REPLACE, values![queue, *seq, *epoch, state, sha256]).map(|_| ())
    }

    fn checkpoint(&mut self, queue: i64, until: u64) -> Result<Option<Checkpoint>, Error> {
        let rows = self.ask(sql::CHECKPOINT, values![queue, until])?;
        rows.first().map(checkpoint).transpose()
    }

    fn checkpoints(&mut self, queue: i64) -> Result<Vec<Checkpoint>, Error> {
        let rows = self.ask(sql::CHECKPOINTS, values![queue])?;
        all(&rows, checkpoint)
    }

    fn tidy(&mut self, queue: i64, by: i64) -> Result<(), Error> {
        let said: Vec<BoundStatement> =
            sql::TIDY.iter().map(|sql| BoundStatement::new(sql, values![queue, by])).collect();
        self.ask_all(&said).map(|_| ())
    }
}
