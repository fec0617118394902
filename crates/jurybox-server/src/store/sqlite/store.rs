//! The trait `Store` for SQLite.

use super::read::{checkpoint, get, item, log_row, scores, verdict};
use super::{FILE, Sqlite, connect, db};
use crate::Error;
use crate::error::corrupt;
use crate::evaluator_history::EvaluatorHistory;
use crate::event::{ClaimPick, LogEvent, VerdictPosition};
use crate::live_queue::reviews::Lease;
use crate::rows::{EntryWrite, FoundItem, ItemRow, LogChunk, StoredAnswer, VerdictRow};
use crate::store::write::ops_of;
use crate::store::{Checkpoint, FinalDecision, LeaseRow, LogHead, Purpose, QueueRow, STRETCH, Store, sql};
use rusqlite::{Row, params};
use std::io::{ErrorKind, Write as _};

/// If the journal has more pages than this, `flush` restarts it.
const LONG: i64 = 4096;

/// The name of a file that is written and removed, to see whether the disk has room.
const ROOM: &str = "jurybox.room";

/// Whether an I/O error means that the disk is full.
fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

impl Store for Sqlite {
    fn queues(&mut self) -> Result<Vec<QueueRow>, Error> {
        self.check_file()?;
        self.rows(sql::QUEUES, [], |row| Ok(QueueRow { id: get(row, 0)?, name: get(row, 1)? }))
    }

    fn heads(&mut self) -> Result<Vec<(i64, u64, i64)>, Error> {
        self.rows(sql::HEADS, [], |row| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?)))
    }

    fn create(&mut self, name: &str, write: &EntryWrite) -> Result<Option<QueueRow>, Error> {
        self.check_file()?;
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(db)?;
        let made = (|| {
            let insert = "INSERT INTO queues(name, head, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            if self.execute(insert, params![name, write.event.seq, write.event.at])? == 0 {
                return Ok(None);
            }
            let id = self.connection.last_insert_rowid();
            let mut ops = Vec::new();
            ops_of(id, 0, write, &mut ops)?;
            self.run(&ops)?;
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

    fn begin(&mut self, queue: i64) -> Result<LogHead, Error> {
        self.begin_writing()?;
        self.read_head(queue).inspect_err(|_| {
            let _ = self.connection.execute_batch("ROLLBACK");
        })
    }

    fn begin_reading(&mut self, queue: i64) -> Result<LogHead, Error> {
        self.connection.execute_batch("BEGIN").map_err(db)?;
        self.read_head(queue).inspect_err(|_| {
            let _ = self.connection.execute_batch("ROLLBACK");
        })
    }

    fn head(&mut self, queue: i64) -> Result<LogHead, Error> {
        self.read_head(queue)
    }

    fn commit(&mut self) -> Result<(), Error> {
        #[cfg(test)]
        if let Some(fault) = crate::store::Fault::strikes(&self.fault) {
            self.connection.execute_batch(fault.ends()).map_err(db)?;
            return Err(fault.error());
        }
        match self.connection.execute_batch("COMMIT") {
            Ok(()) => Ok(()),
            // If the transaction is still open, it has not taken place. With a full disk, SQLite
            // has rolled it back already.
            Err(error)
                if !self.connection.is_autocommit()
                    || error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) =>
            {
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

    fn check_room(&mut self) -> Result<(), Error> {
        #[cfg(test)]
        if *crate::service::lock_mutex(&self.fault) == Some(crate::store::Fault::DiskFull) {
            return Err(Error::DiskFull("no space left".into()));
        }
        let file = self.folder.join(ROOM);
        let written = super::for_us_alone(&file)
            .and_then(|mut file| file.write_all(&vec![0; 1 << 20]).and_then(|()| file.sync_all()));
        let _ = std::fs::remove_file(&file);
        match written {
            Err(error) if is_full(error.kind()) => Err(Error::DiskFull(error.to_string())),
            _ => Ok(()),
        }
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        self.check_file()?;
        self.connection = connect(&self.folder.join(FILE))?;
        Ok(())
    }

    fn another(&self, _: Purpose) -> Result<Box<dyn Store>, Error> {
        self.check_file()?;
        let connection = connect(&self.folder.join(FILE))?;
        Ok(Box::new(Sqlite {
            folder: self.folder.clone(),
            connection,
            file: self.file,
            lock: self.lock.clone(),
            ahead: self.ahead.clone(),
            #[cfg(test)]
            fault: self.fault.clone(),
        }))
    }

    fn write(
        &mut self,
        queue: i64,
        batch: i64,
        writes: &[EntryWrite],
        answers: &[StoredAnswer],
        at: i64,
    ) -> Result<(), Error> {
        // Leases expire only together with an entry.
        if !writes.is_empty() {
            self.execute(sql::EXPIRE, params![queue, at])?;
        }
        let mut ops = Vec::new();
        for write in writes {
            ops_of(queue, batch, write, &mut ops)?;
            self.run(&ops)?;
            ops.clear();
        }
        for StoredAnswer { key, hash, answer } in answers {
            self.execute(sql::REMEMBER, params![queue, key, hash, answer, at])?;
        }
        if let Some(last) = writes.last() {
            self.execute(sql::MOVE_HEAD, params![queue, last.event.seq, last.event.at])?;
        }
        Ok(())
    }

    fn batch_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error> {
        Ok(self.rows(sql::BATCH_OF, params![queue, seq], |row| get(row, 0))?.pop())
    }

    fn kind_of(&mut self, queue: i64, seq: u64) -> Result<Option<String>, Error> {
        Ok(self.rows(sql::KIND_OF, params![queue, seq], |row| get(row, 0))?.pop())
    }

    fn remembered(&mut self, queue: i64, keys: &[String]) -> Result<Vec<StoredAnswer>, Error> {
        let mut there = Vec::new();
        for key in keys {
            there.extend(self.rows(sql::REMEMBERED, params![queue, key], |row| {
                Ok(StoredAnswer { key: get(row, 0)?, hash: get(row, 1)?, answer: get(row, 2)? })
            })?);
        }
        Ok(there)
    }

    fn find(&mut self, queue: i64, keys: &[String]) -> Result<Vec<(String, FoundItem)>, Error> {
        let mut found = Vec::new();
        for key in keys {
            found.extend(self.rows(sql::FIND, params![queue, key], |row| {
                Ok((get(row, 0)?, FoundItem { n: get(row, 1)? }))
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

    fn rest(&mut self) {
        self.connection.flush_prepared_statement_cache();
        // Returns the page cache to the allocator; the operating system may keep it assigned.
        let _ = self.connection.execute_batch("PRAGMA shrink_memory");
    }

    fn payload_bytes(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, u64)>, Error> {
        let mut bytes = Vec::new();
        for n in items {
            let read = |row: &Row<'_>| Ok((get(row, 0)?, get(row, 1)?));
            bytes.extend(self.rows(sql::PAYLOAD_BYTES, params![queue, n], read)?);
        }
        Ok(bytes)
    }

    fn large_payload(&mut self, queue: i64) -> Result<Option<u64>, Error> {
        Ok(self.rows(sql::LARGE_PAYLOAD, [queue], |row| get(row, 0))?.pop())
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

    fn claimed(
        &mut self,
        queue: i64,
        claim: u64,
        n: u64,
        reviewer: &str,
    ) -> Result<Option<(f64, bool)>, Error> {
        let read = |row: &Row<'_>| Ok((get(row, 0)?, get(row, 1)?));
        let taken_back = sql::taken_back_by(reviewer);
        Ok(self.rows(sql::CLAIMED, params![queue, claim, n, reviewer, taken_back], read)?.pop())
    }

    fn events(
        &mut self,
        queue: i64,
        after: u64,
        until: u64,
        history: &EvaluatorHistory,
    ) -> Result<Vec<LogEvent>, Error> {
        let until = until.min(after + STRETCH);
        let stretch = params![queue, after, until];
        let mut chunk = LogChunk { log: self.rows(sql::LOG, stretch, log_row)?, ..LogChunk::default() };
        if let Some((first, last)) = chunk.numbers()? {
            for row in self.rows(sql::ADDED, params![queue, first, last], |row| item(row, 0))? {
                chunk.items.insert(row.n, row);
            }
        }
        let kinds: std::collections::HashSet<&str> = chunk.log.iter().map(|row| row.kind.as_str()).collect();
        if kinds.contains("items") {
            let read = |row: &Row<'_>| Ok((get(row, 0)?, (get(row, 1)?, scores(row, 2)?)));
            for (seq, row) in self.rows::<(u64, _)>(sql::RESCORED, stretch, read)? {
                chunk.rescored.entry(seq).or_default().push(row);
            }
        }
        if kinds.contains("claim") {
            let read = |row: &Row<'_>| {
                let pick = ClaimPick {
                    n: get(row, 1)?,
                    slot: get(row, 2)?,
                    value: get(row, 3)?,
                    probability: get(row, 4)?,
                    explored: get(row, 5)?,
                };
                Ok((get(row, 0)?, pick))
            };
            for (seq, row) in self.rows::<(u64, ClaimPick)>(sql::PICKED, stretch, read)? {
                chunk.picked.entry(seq).or_default().push(row);
            }
        }
        if kinds.contains("verdicts") {
            for row in self.rows(&sql::given(), stretch, |row| Ok((verdict(row)?, item(row, 18)?)))? {
                chunk.given.entry(row.0.which.seq).or_default().push(row);
            }
        }
        for (seq, n) in chunk.turned()? {
            for row in self.rows(&sql::item_at(), params![queue, n, seq], |row| item(row, 0))? {
                chunk.turned.insert((seq, n), row);
            }
        }
        chunk.into_events(history)
    }

    fn open_items(
        &mut self,
        queue: i64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.rows(&sql::open_items(), [queue], |row| each(item(row, 0)?))?;
        Ok(())
    }

    fn leases(&mut self, queue: i64) -> Result<Vec<LeaseRow>, Error> {
        self.rows(sql::LEASES, [queue], |row| {
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
        self.rows(sql::SKIPS, [queue], |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn verdicts_on_open(&mut self, queue: i64) -> Result<Vec<VerdictRow>, Error> {
        self.rows(&sql::verdicts_on_open(), [queue], verdict)
    }

    fn totals(&mut self, queue: i64) -> Result<(u64, u64), Error> {
        let totals = self.rows(sql::TOTALS, [queue], |row| Ok((get(row, 0)?, get(row, 1)?)))?;
        totals.first().copied().ok_or_else(|| corrupt("the totals of the queue are missing"))
    }

    fn revised(&mut self, queue: i64, until: u64) -> Result<Vec<(u64, FinalDecision)>, Error> {
        self.rows(sql::REVISED, params![queue, until], |row| {
            Ok((get(row, 0)?, (get(row, 1)?, VerdictPosition { seq: get(row, 2)?, i: get(row, 3)? })))
        })
    }

    fn bodies(&mut self, queue: i64, kinds: [&str; 2], until: u64) -> Result<Vec<(u64, String)>, Error> {
        self.rows(sql::INDEXED_BODIES, params![queue, kinds[0], kinds[1], until], |row| {
            Ok((get(row, 0)?, get(row, 1)?))
        })
    }

    fn keep(&mut self, queue: i64, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>, Error> {
        let Checkpoint { seq, epoch, state, sha256 } = checkpoint;
        self.execute(sql::KEEP, params![queue, seq, epoch, state, sha256])?;
        self.execute(sql::THIN_OUT, [queue])?;
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

    fn scrub(&mut self) -> Result<bool, Error> {
        // Does not wait for other connections.
        self.connection.busy_timeout(std::time::Duration::ZERO).map_err(db)?;
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy = self.connection.query_row(checkpoint, [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(super::BUSY).map_err(db)?;
        Ok(busy.map_err(db)? == 0)
    }

    fn flush(&mut self) -> Result<(), Error> {
        // Readers and writers continue meanwhile.
        let passive = "PRAGMA wal_checkpoint(PASSIVE)";
        let length = self.connection.query_row(passive, [], |row| row.get::<_, i64>(1)).map_err(db)?;
        if length > LONG {
            // Under constant load some pages are always written meanwhile, and the journal would
            // grow until commits must checkpoint it. Restarting makes writers wait for these few
            // pages.
            self.connection.busy_timeout(std::time::Duration::from_millis(50)).map_err(db)?;
            let restarted = self.connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
            self.connection.busy_timeout(super::BUSY).map_err(db)?;
            restarted.map_err(db)?;
        }
        Ok(())
    }

    fn tidy(&mut self, queue: i64, by: i64) -> Result<(), Error> {
        for statement in sql::TIDY {
            self.execute(statement, [queue, by])?;
        }
        Ok(())
    }
}
