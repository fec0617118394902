//! A folder with an SQLite database in it: the default, and all that a desk of one machine needs.
//!
//! The journal is written ahead (WAL) and synced with every commit (`synchronous=FULL`, asserted: no test that kills a process can
//! see a lesser setting, only a machine that loses power). Writers take the database at once (`BEGIN IMMEDIATE`). One process
//! at a time has the folder, by a lock on a file in it; readers such as backups need none.

use super::{Checkpoint, Head, LeaseRow, QueueRow, Store, schema, sql};
use crate::Error;
use crate::board::work::Lease;
use crate::error::corrupt;
use crate::event::{Body, Event, Picked, Rescored, Stub, Which};
use crate::rows::{
    Chunk, Found, ItemRow, LogRow, Remembered, VerdictRow, Write, scores_from_bytes, scores_to_bytes,
    source_from_text, source_to_text, tags_from_text,
};
use crate::seatings::Seatings;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The database's file in its folder.
pub(crate) const FILE: &str = "jurybox.sqlite";
const LOCK: &str = "jurybox.lock";
/// What an SQLite file of ours says that it is: "jury".
const APPLICATION: i64 = 0x6a75_7279;
/// Entries that are read at once.
const STRETCH: u64 = 1024;

/// A folder with an SQLite database in it.
#[derive(Debug)]
pub(crate) struct Sqlite {
    folder: PathBuf,
    connection: Connection,
    /// Held for as long as somebody may write.
    lock: Option<Arc<File>>,
    /// How far this store's clock is from the system's, in microseconds: for tests, which make it jump.
    ahead: Arc<AtomicI64>,
}

impl Sqlite {
    /// Opens the folder to write, and makes it where it is not there. Waits so long for another process that has it.
    pub(crate) fn open(folder: &Path, wait: Duration) -> Result<Self, Error> {
        let refuse = |error: std::io::Error| Error::Open(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(refuse)?;
        let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK)).map_err(refuse)?;
        let patience = std::time::Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::WouldBlock) if patience.elapsed() < wait => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(Error::Open(format!("{}: another process has this folder", folder.display())));
                }
                Err(std::fs::TryLockError::Error(error)) => return Err(refuse(error)),
            }
        }
        let mut store = Sqlite {
            folder: folder.into(),
            connection: connect(&folder.join(FILE))?,
            lock: Some(Arc::new(lock)),
            ahead: Arc::default(),
        };
        store.migrate()?;
        Ok(store)
    }

    /// Opens the folder to read, whoever writes to it.
    pub(crate) fn open_to_read(folder: &Path) -> Result<Self, Error> {
        let file = folder.join(FILE);
        if !file.exists() {
            return Err(Error::Open(format!("{}: there is no desk in this folder", folder.display())));
        }
        let store = Sqlite { folder: folder.into(), connection: connect(&file)?, lock: None, ahead: Arc::default() };
        let version = store.version()?;
        if version != schema::MIGRATIONS.len() as i64 {
            return Err(Error::Open(format!(
                "{}: it is of version {version}, this program has version {}; open it to write once",
                folder.display(),
                schema::MIGRATIONS.len()
            )));
        }
        Ok(store)
    }

    fn version(&self) -> Result<i64, Error> {
        let application: i64 = self.connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(db)?;
        let tables: i64 =
            self.connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(db)?;
        if application != APPLICATION && tables > 0 {
            return Err(Error::Open(format!("{}: this is a database of something else", self.folder.display())));
        }
        self.connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(db)
    }

    /// Brings the tables to the present version, each step in a transaction of its own.
    fn migrate(&mut self) -> Result<(), Error> {
        let (version, known) = (self.version()?, schema::MIGRATIONS.len() as i64);
        if version > known {
            return Err(Error::Open(format!(
                "{}: it is of version {version}, made by a later program than this, which has version {known}",
                self.folder.display()
            )));
        }
        for (step, migration) in schema::MIGRATIONS.iter().enumerate().skip(version as usize) {
            let transaction = self.connection.transaction().map_err(db)?;
            transaction.execute_batch(&schema::for_sqlite(migration)).map_err(db)?;
            transaction.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {}", step + 1)).map_err(db)?;
            transaction.commit().map_err(db)?;
        }
        Ok(())
    }

    /// Writes a copy of the database as it is now, whoever writes to it meanwhile.
    pub(crate) fn copy_to(&self, file: &Path) -> Result<(), Error> {
        let mut copy = Connection::open(file).map_err(db)?;
        let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy).map_err(db)?;
        backup.run_to_completion(1024, Duration::ZERO, None).map_err(db)?;
        drop(backup);
        copy.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
            .map_err(db)
            .and_then(|word| if word == "ok" { Ok(()) } else { Err(corrupt(word)) })?;
        // A copy of its own, without a journal beside it.
        copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(db)?;
        copy.close().map_err(|(_, error)| db(error))?;
        File::open(file).and_then(|file| file.sync_all()).map_err(|error| Error::Database(error.to_string()))
    }

    /// What makes this store's clock jump.
    #[cfg(test)]
    pub(crate) fn ahead(&self) -> Arc<AtomicI64> {
        self.ahead.clone()
    }

    /// The system's clock in microseconds.
    fn clock(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX) + self.ahead.load(Ordering::Relaxed)
    }

    fn execute(&self, statement: &str, values: impl rusqlite::Params) -> Result<usize, Error> {
        self.connection.prepare_cached(statement).map_err(db)?.execute(values).map_err(db)
    }

    fn rows<T>(
        &self,
        statement: &str,
        values: impl rusqlite::Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(statement).map_err(db)?;
        let mut rows = statement.query(values).map_err(db)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(db)? {
            all.push(read(row)?);
        }
        Ok(all)
    }

    fn read_head(&self, queue: i64) -> Result<Head, Error> {
        let mut head = self.connection.prepare_cached(sql::HEAD).map_err(db)?;
        let (seq, at) = head.query_row([queue], |row| Ok((row.get(0)?, row.get(1)?))).map_err(db)?;
        Ok(Head { seq, at, now: self.clock() })
    }

    fn write_one(&self, queue: i64, batch: i64, write: &Write) -> Result<(), Error> {
        let event = &write.event;
        let (seq, at) = (event.seq, event.at);
        let body = Stub::of(&event.body).to_text();
        self.execute(sql::INSERT_LOG, params![queue, seq, at, event.actor, event.body.kind(), body, batch])?;
        match &event.body {
            Body::Create { .. } | Body::Configure { .. } => {}
            Body::Items { added, rescored } => {
                for (item, key) in added.iter().zip(&write.keys) {
                    let tags = serde_json::to_string(&item.tags).map_err(corrupt)?;
                    let scores = scores_to_bytes(&item.scores);
                    self.execute(sql::INSERT_ITEM, params![queue, item.n, key, seq, at, scores, tags, item.audit, item.due])?;
                }
                for item in rescored {
                    self.execute(sql::INSERT_RESCORED, params![queue, item.n, seq, scores_to_bytes(&item.scores)])?;
                }
            }
            Body::Claim { reviewer, model, until, picks, .. } => {
                for (i, pick) in picks.iter().enumerate() {
                    let Picked { n, slot, value, probability, explored } = pick;
                    self.execute(sql::INSERT_CLAIM, params![queue, seq, i as i64, n, slot, reviewer, until, model, value, probability, explored])?;
                    self.execute(sql::INSERT_LEASE, params![queue, n, slot, seq, reviewer, until, probability, explored])?;
                }
            }
            Body::Extend { until, leases, .. } => {
                for held in leases {
                    self.execute(sql::EXTEND_LEASE, params![queue, held.n, held.slot, until])?;
                }
            }
            Body::Release { reviewer, leases, skip } => {
                for held in leases {
                    self.execute(sql::DELETE_LEASE, params![queue, held.n, held.slot])?;
                    if let Some(reason) = skip {
                        self.execute(sql::INSERT_SKIP, params![queue, held.n, seq, reviewer, reason])?;
                    }
                }
            }
            Body::Verdicts { given } => {
                for (i, verdict) in given.iter().enumerate() {
                    if let Some(old) = verdict.supersedes {
                        self.execute(sql::SUPERSEDE, params![queue, old.seq, old.i, seq])?;
                    }
                    let (old_seq, old_i) = (verdict.supersedes.map(|w| w.seq), verdict.supersedes.map(|w| w.i));
                    let source = source_to_text(verdict.source);
                    let stands_from = write.stands_from;
                    self.execute(sql::INSERT_VERDICT, params![
                        queue, seq, i as i64, verdict.id, verdict.n, verdict.slot, verdict.reviewer, source, verdict.label,
                        verdict.reward, verdict.observed_at, verdict.claim, old_seq, old_i, verdict.decides,
                        verdict.probability, verdict.explored, stands_from
                    ])?;
                    if verdict.decides.is_some() {
                        self.execute(sql::CLOSE, params![queue, verdict.n, verdict.n, seq])?;
                        self.execute(sql::DELETE_LEASES, params![queue, verdict.n, verdict.n])?;
                    } else {
                        self.execute(sql::DELETE_LEASE, params![queue, verdict.n, verdict.slot])?;
                    }
                }
            }
            Body::Undo { reviewer, verdict, item, slot, until, probability, explored, .. } => {
                self.execute(sql::SUPERSEDE, params![queue, verdict.seq, verdict.i, seq])?;
                self.execute(sql::REOPEN, params![queue, item.n])?;
                self.execute(sql::INSERT_LEASE, params![queue, item.n, slot, seq, reviewer, until, probability, explored])?;
            }
            Body::Close { items, .. } => {
                for (first, last) in items {
                    self.execute(sql::CLOSE, params![queue, first, last, seq])?;
                    self.execute(sql::DELETE_LEASES, params![queue, first, last])?;
                }
            }
            Body::Erase { items } => {
                for n in items {
                    for statement in sql::ERASE {
                        self.execute(statement, params![queue, n, seq])?;
                    }
                    self.execute(sql::DELETE_LEASES, params![queue, n, n])?;
                }
                self.execute(sql::FORGET_CHECKPOINTS, params![queue, seq])?;
            }
        }
        for (n, body, expires) in &write.payloads {
            self.execute(sql::UPSERT_PAYLOAD, params![queue, n, body, expires])?;
        }
        Ok(())
    }
}

impl Store for Sqlite {
    fn queues(&mut self) -> Result<Vec<QueueRow>, Error> {
        self.rows(sql::QUEUES, [], |row| Ok(QueueRow { id: get(row, 0)?, name: get(row, 1)? }))
    }

    fn create(&mut self, name: &str, write: &Write) -> Result<Option<QueueRow>, Error> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(db)?;
        let made = (|| {
            let insert = "INSERT INTO queues(name, head, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            if self.execute(insert, params![name, write.event.seq, write.event.at])? == 0 {
                return Ok(None);
            }
            let id = self.connection.last_insert_rowid();
            self.write_one(id, 0, write)?;
            Ok(Some(QueueRow { id, name: name.into() }))
        })();
        match made {
            Ok(made) => self.commit().map(|()| made),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    fn now(&mut self) -> Result<i64, Error> {
        Ok(self.clock())
    }

    fn begin(&mut self, queue: i64) -> Result<Head, Error> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(db)?;
        self.read_head(queue).inspect_err(|_| {
            let _ = self.connection.execute_batch("ROLLBACK");
        })
    }

    fn begin_reading(&mut self, queue: i64) -> Result<Head, Error> {
        self.connection.execute_batch("BEGIN").map_err(db)?;
        self.read_head(queue).inspect_err(|_| {
            let _ = self.connection.execute_batch("ROLLBACK");
        })
    }

    fn head(&mut self, queue: i64) -> Result<Head, Error> {
        self.read_head(queue)
    }

    fn commit(&mut self) -> Result<(), Error> {
        match self.connection.execute_batch("COMMIT") {
            Ok(()) => Ok(()),
            // Nobody else can have ended it: still in the transaction, it has not happened.
            Err(error) if !self.connection.is_autocommit() => {
                self.rollback();
                Err(db(error))
            }
            Err(error) => Err(Error::Unknown(error.to_string())),
        }
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        self.connection = connect(&self.folder.join(FILE))?;
        Ok(())
    }

    fn another(&self) -> Result<Box<dyn Store>, Error> {
        let connection = connect(&self.folder.join(FILE))?;
        Ok(Box::new(Sqlite { folder: self.folder.clone(), connection, lock: self.lock.clone(), ahead: self.ahead.clone() }))
    }

    fn write(&mut self, queue: i64, batch: i64, writes: &[Write], answers: &[Remembered], at: i64) -> Result<(), Error> {
        self.execute(sql::EXPIRE, params![queue, at])?;
        for write in writes {
            self.write_one(queue, batch, write)?;
        }
        for Remembered { key, hash, answer } in answers {
            self.execute(sql::REMEMBER, params![queue, key, hash, answer, at])?;
        }
        if let Some(last) = writes.last() {
            self.execute(sql::MOVE_HEAD, params![queue, last.event.seq, at])?;
        }
        Ok(())
    }

    fn batch_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error> {
        Ok(self.rows(sql::BATCH_OF, params![queue, seq], |row| get(row, 0))?.pop())
    }

    fn remembered(&mut self, queue: i64, key: &str) -> Result<Option<Remembered>, Error> {
        let read = |row: &Row<'_>| Ok(Remembered { key: get(row, 0)?, hash: get(row, 1)?, answer: get(row, 2)? });
        Ok(self.rows(sql::REMEMBERED, params![queue, key], read)?.pop())
    }

    fn find(&mut self, queue: i64, keys: &[String]) -> Result<Vec<(String, Found)>, Error> {
        let mut found = Vec::new();
        for key in keys {
            found.extend(self.rows(sql::FIND, params![queue, key], |row| {
                Ok((get(row, 0)?, Found { n: get(row, 1)?, closed: get(row, 2)? }))
            })?);
        }
        Ok(found)
    }

    fn shown(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String, Option<String>)>, Error> {
        let mut shown = Vec::new();
        for n in items {
            let read = |row: &Row<'_>| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?));
            shown.extend(self.rows(sql::SHOWN, params![queue, n], read)?);
        }
        Ok(shown)
    }

    fn item(&mut self, queue: i64, n: u64) -> Result<Option<ItemRow>, Error> {
        Ok(self.rows(&sql::item_at(), params![queue, n, i64::MAX], |row| item(row, 0))?.pop())
    }

    fn verdicts(&mut self, queue: i64, ids: &[String]) -> Result<Vec<VerdictRow>, Error> {
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.rows(&sql::verdict_by_id(), params![queue, id], verdict)?);
        }
        Ok(found)
    }

    fn verdicts_on(&mut self, queue: i64, n: u64) -> Result<Vec<VerdictRow>, Error> {
        self.rows(&sql::verdicts_on(), params![queue, n], verdict)
    }

    fn skips_on(&mut self, queue: i64, n: u64) -> Result<Vec<String>, Error> {
        self.rows(sql::SKIPS_ON, params![queue, n], |row| get(row, 0))
    }

    fn claimed(&mut self, queue: i64, claim: u64, n: u64) -> Result<Option<(f64, bool)>, Error> {
        let read = |row: &Row<'_>| Ok((get(row, 0)?, get(row, 1)?));
        Ok(self.rows(sql::CLAIMED, params![queue, claim, n], read)?.pop())
    }

    fn events(&mut self, queue: i64, after: u64, until: u64, seatings: &Seatings) -> Result<Vec<Event>, Error> {
        let until = until.min(after + STRETCH);
        let stretch = params![queue, after, until];
        let mut chunk = Chunk {
            log: self.rows(sql::LOG, stretch, |row| {
                Ok(LogRow { seq: get(row, 0)?, at: get(row, 1)?, actor: get(row, 2)?, kind: get(row, 3)?, body: get(row, 4)? })
            })?,
            ..Chunk::default()
        };
        if let Some((first, last)) = chunk.numbers()? {
            for row in self.rows(sql::ADDED, params![queue, first, last], |row| item(row, 0))? {
                chunk.items.insert(row.n, row);
            }
        }
        let kinds: std::collections::HashSet<&str> = chunk.log.iter().map(|row| row.kind.as_str()).collect();
        if kinds.contains("items") {
            let read = |row: &Row<'_>| Ok((get(row, 0)?, Rescored { n: get(row, 1)?, scores: scores(row, 2)? }));
            for (seq, row) in self.rows::<(u64, Rescored)>(sql::RESCORED, stretch, read)? {
                chunk.rescored.entry(seq).or_default().push(row);
            }
        }
        if kinds.contains("claim") {
            let read = |row: &Row<'_>| {
                let pick = Picked { n: get(row, 1)?, slot: get(row, 2)?, value: get(row, 3)?, probability: get(row, 4)?, explored: get(row, 5)? };
                Ok((get(row, 0)?, pick))
            };
            for (seq, row) in self.rows::<(u64, Picked)>(sql::PICKED, stretch, read)? {
                chunk.picked.entry(seq).or_default().push(row);
            }
        }
        if kinds.contains("verdicts") {
            for row in self.rows(&sql::given(), stretch, |row| Ok((verdict(row)?, item(row, 18)?)))? {
                chunk.given.entry(row.0.which.seq).or_default().push(row);
            }
        }
        for (seq, n) in chunk.undone()? {
            for row in self.rows(&sql::item_at(), params![queue, n, seq], |row| item(row, 0))? {
                chunk.undone.insert(seq, row);
            }
        }
        chunk.into_events(seatings)
    }

    fn open_items(&mut self, queue: i64, each: &mut dyn FnMut(ItemRow) -> Result<(), Error>) -> Result<(), Error> {
        self.rows(&sql::open_items(), [queue], |row| each(item(row, 0)?))?;
        Ok(())
    }

    fn standing(&mut self, queue: i64, each: &mut dyn FnMut(VerdictRow, ItemRow, String) -> Result<(), Error>) -> Result<(), Error> {
        self.rows(&sql::standing(), [queue], |row| each(verdict(row)?, item(row, 18)?, get(row, 26)?))?;
        Ok(())
    }

    fn leases(&mut self, queue: i64) -> Result<Vec<LeaseRow>, Error> {
        self.rows(sql::LEASES, [queue], |row| {
            let lease = Lease {
                slot: get(row, 1)?,
                claim: get(row, 2)?,
                reviewer: get(row, 3)?,
                until: get(row, 4)?,
                probability: get(row, 5)?,
                explored: get(row, 6)?,
            };
            Ok(LeaseRow { n: get(row, 0)?, lease })
        })
    }

    fn skips(&mut self, queue: i64) -> Result<Vec<(u64, String)>, Error> {
        self.rows(sql::SKIPS, [queue], |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn verdicts_on_open(&mut self, queue: i64) -> Result<Vec<VerdictRow>, Error> {
        self.rows(&sql::verdicts_on_open(), [queue], verdict)
    }

    fn totals(&mut self, queue: i64) -> Result<(u64, u64), Error> {
        let totals = self.rows(sql::TOTALS, [queue], |row| Ok((get(row, 0)?, get(row, 1)?)))?;
        totals.first().copied().ok_or_else(|| corrupt("nothing can be counted"))
    }

    fn revised(&mut self, queue: i64, until: u64) -> Result<Vec<(u64, f64)>, Error> {
        self.rows(sql::REVISED, params![queue, until], |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn bodies(&mut self, queue: i64, kinds: [&str; 2], until: u64) -> Result<Vec<(u64, String)>, Error> {
        self.rows(sql::BODIES, params![queue, kinds[0], kinds[1], until], |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn keep(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>, Error> {
        let Checkpoint { seq, epoch, state, sha256 } = checkpoint;
        self.execute(sql::KEEP, params![queue, seq, epoch, state, sha256])?;
        let there = self.checkpoint(queue, *seq)?;
        Ok(there.filter(|there| there.seq == *seq && there.sha256 != *sha256))
    }

    fn replace(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<(), Error> {
        let Checkpoint { seq, epoch, state, sha256 } = checkpoint;
        self.execute(sql::REPLACE, params![queue, seq, epoch, state, sha256])?;
        Ok(())
    }

    fn checkpoint(&mut self, queue: i64, until: u64) -> Result<Option<Checkpoint>, Error> {
        Ok(self.rows(sql::CHECKPOINT, params![queue, until], checkpoint)?.pop())
    }

    fn checkpoints(&mut self, queue: i64) -> Result<Vec<Checkpoint>, Error> {
        self.rows(sql::CHECKPOINTS, [queue], checkpoint)
    }

    fn tidy(&mut self, now: i64) -> Result<(), Error> {
        for statement in sql::TIDY {
            self.execute(statement, [now])?;
        }
        Ok(())
    }
}

/// Connects, and refuses to go on unless a commit is a commit.
fn connect(file: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(file).map_err(|error| Error::Open(format!("{}: {error}", file.display())))?;
    connection.busy_timeout(Duration::from_secs(30)).map_err(db)?;
    connection.set_prepared_statement_cache_capacity(64);
    let journal: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(|error| Error::Open(format!("{}: {error}", file.display())))?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536").map_err(db)?;
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(db)?;
    if (journal.as_str(), synchronous) != ("wal", 2) {
        return Err(Error::Open(format!(
            "{}: SQLite will not sync every commit here (journal_mode {journal}, synchronous {synchronous}); is this a network drive?",
            file.display()
        )));
    }
    Ok(connection)
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn db(error: rusqlite::Error) -> Error {
    Error::Database(error.to_string())
}

fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, at: usize) -> Result<T, Error> {
    row.get(at).map_err(corrupt)
}

fn scores(row: &Row<'_>, at: usize) -> Result<Vec<f64>, Error> {
    match row.get_ref(at).map_err(corrupt)?.as_blob_or_null().map_err(corrupt)? {
        Some(bytes) => scores_from_bytes(bytes),
        None => Ok(Vec::new()),
    }
}

fn item(row: &Row<'_>, at: usize) -> Result<ItemRow, Error> {
    let tags = row.get_ref(at + 4).map_err(corrupt)?.as_str().map_err(corrupt)?;
    Ok(ItemRow {
        n: get(row, at)?,
        arrived: get(row, at + 1)?,
        seq: get(row, at + 2)?,
        scores: scores(row, at + 3)?,
        tags: if tags == "{}" { crate::Tags::new() } else { tags_from_text(tags)? },
        audit: get(row, at + 5)?,
        due: get(row, at + 6)?,
        closed: get(row, at + 7)?,
    })
}

fn verdict(row: &Row<'_>) -> Result<VerdictRow, Error> {
    let supersedes: (Option<u64>, Option<u32>) = (get(row, 11)?, get(row, 12)?);
    Ok(VerdictRow {
        which: Which { seq: get(row, 0)?, i: get(row, 1)? },
        id: get(row, 2)?,
        n: get(row, 3)?,
        slot: get(row, 4)?,
        reviewer: get(row, 5)?,
        source: source_from_text(&get::<String>(row, 6)?)?,
        label: get(row, 7)?,
        reward: get(row, 8)?,
        observed_at: get(row, 9)?,
        claim: get(row, 10)?,
        supersedes: supersedes.0.zip(supersedes.1).map(|(seq, i)| Which { seq, i }),
        superseded_by: get(row, 13)?,
        decides: get(row, 14)?,
        probability: get(row, 15)?,
        explored: get(row, 16)?,
        stands_from: get(row, 17)?,
    })
}

fn checkpoint(row: &Row<'_>) -> Result<Checkpoint, Error> {
    Ok(Checkpoint { seq: get(row, 0)?, epoch: get(row, 1)?, state: get(row, 2)?, sha256: get(row, 3)? })
}
