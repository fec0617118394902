//! The SQLite store, the default: one folder with one database, for one machine.
//!
//! The database uses write-ahead logging (WAL) and syncs each commit (`synchronous=FULL`). Opening
//! checks these settings, because a weaker one would show only after a power failure, not in tests
//! that kill a process. Transactions on queues lock the database at once (`BEGIN IMMEDIATE`).
//!
//! A process that adds to queues locks a file in the folder, so that there is only one such process
//! at a time. Backups, commands on API keys, and archives, which delete finished queues, do without
//! this lock.

pub(super) mod read;
mod store;

use super::value::{SqlValue, SqlWrite};
use super::{LogHead, schema, sql};
use crate::Error;
use crate::error::corrupt;
use rusqlite::types::{ToSqlOutput, Value as Cell, ValueRef};
use rusqlite::{Connection, OpenFlags, Row};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of the database file.
pub(crate) const FILE: &str = "jurybox.sqlite";
const LOCK: &str = "jurybox.lock";
/// How long to wait for another connection that writes.
const BUSY: Duration = Duration::from_secs(30);
/// The `application_id` of our SQLite files: "jury".
const APPLICATION: i64 = 0x6a75_7279;

/// A folder with an SQLite database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    folder: PathBuf,
    connection: Connection,
    /// The identity of the database file, to notice if it is moved or deleted.
    file: FileId,
    /// The lock on the folder; None if it was opened without.
    lock: Option<Arc<File>>,
    /// The difference of this store's clock from the system clock in microseconds, which tests set.
    ahead: Arc<AtomicI64>,
    /// The fault of the next commit, in tests.
    #[cfg(test)]
    pub(crate) fault: Arc<std::sync::Mutex<Option<super::Fault>>>,
}

impl Sqlite {
    /// Opens the folder for writing, and creates it if needed. If another process has locked it,
    /// waits up to `wait`.
    pub(crate) fn open(folder: &Path, wait: Duration) -> Result<Self, Error> {
        let refuse = |error: std::io::Error| Error::Open(format!("{}: {error}", folder.display()));
        let lock = lock(folder, wait)?;
        check_is_file(&folder.join(FILE))?;
        // SQLite would make the file readable for all; its journal files get the same permissions.
        for_us_alone(&folder.join(FILE)).map_err(refuse)?;
        let mut store = Sqlite {
            folder: folder.into(),
            connection: connect(&folder.join(FILE))?,
            file: file_id(&folder.join(FILE)),
            lock: Some(Arc::new(lock)),
            ahead: Arc::default(),
            #[cfg(test)]
            fault: Arc::default(),
        };
        store.migrate()?;
        Ok(store)
    }

    /// Opens the folder without its lock, while another process may write to it. Errors if the
    /// tables are of an earlier version.
    pub(crate) fn open_to_read(folder: &Path) -> Result<Self, Error> {
        let store = Self::open_as_it_is(folder)?;
        let (version, known) = (store.version()?, schema::VERSION);
        if version < known {
            return Err(Error::Open(format!(
                "{}: its tables have version {version}, this program needs version {known}; open it once for writing, such as by `jurybox queue status`",
                folder.display()
            )));
        }
        Ok(store)
    }

    /// Opens the folder without its lock, also with tables of an earlier version, for copying them.
    pub(crate) fn open_as_it_is(folder: &Path) -> Result<Self, Error> {
        let file = folder.join(FILE);
        check_exists(folder)?;
        check_is_file(&file)?;
        let store = Sqlite {
            folder: folder.into(),
            connection: connect(&file)?,
            file: file_id(&file),
            lock: None,
            ahead: Arc::default(),
            #[cfg(test)]
            fault: Arc::default(),
        };
        store.check_not_later(store.version()?)?;
        Ok(store)
    }

    fn version(&self) -> Result<i64, Error> {
        let application: i64 =
            self.connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(db)?;
        let tables: i64 = self
            .connection
            .query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(db)?;
        if application != APPLICATION && tables > 0 {
            return Err(Error::Open(format!(
                "{}: this database belongs to another program",
                self.folder.display()
            )));
        }
        self.connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(db)
    }

    fn check_not_later(&self, version: i64) -> Result<(), Error> {
        let known = schema::VERSION;
        if version <= known {
            return Ok(());
        }
        Err(Error::Open(format!(
            "{}: its tables have version {version}, made by a later program; this one knows versions up to {known}",
            self.folder.display()
        )))
    }

    /// Runs the missing migrations, each in its own transaction.
    fn migrate(&mut self) -> Result<(), Error> {
        let version = self.version()?;
        self.check_not_later(version)?;
        for (step, migration) in schema::MIGRATIONS.iter().enumerate().skip(version as usize) {
            let transaction = self.connection.transaction().map_err(db)?;
            transaction.execute_batch(&schema::for_sqlite(migration)).map_err(db)?;
            transaction
                .execute_batch(&format!(
                    "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {}",
                    step + 1
                ))
                .map_err(db)?;
            transaction.commit().map_err(db)?;
        }
        if (1..schema::CLEARS_AWAY).contains(&version) {
            // Earlier programs made files that never shrink, and only rewriting the file changes
            // that. Without enough free space for it, the file stays as it is.
            let _ = self.connection.execute_batch("VACUUM");
        }
        Ok(())
    }

    /// Writes a copy of the present database to `file`, while others may write to the database.
    pub(crate) fn copy_to(&self, file: &Path) -> Result<(), Error> {
        for_us_alone(file).map_err(|error| Error::Database(error.to_string()))?;
        let mut copy = Connection::open(file).map_err(db)?;
        let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy).map_err(db)?;
        // All pages in one step, which reads one snapshot: between two steps, a commit of another
        // process would restart the copy.
        let step = backup.step(-1).map_err(db)?;
        drop(backup);
        if step != rusqlite::backup::StepResult::Done {
            return Err(Error::Database(format!("the copy could not be made: {step:?}")));
        }
        is_whole(&copy)?;
        // A single file, without a journal beside it.
        copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(db)?;
        copy.close().map_err(|(_, error)| db(error))?;
        File::open(file).and_then(|file| file.sync_all()).map_err(|error| Error::Database(error.to_string()))
    }

    /// Begins a writing transaction about any queue.
    pub(crate) fn begin_writing(&self) -> Result<(), Error> {
        self.check_file()?;
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(db)
    }

    /// Inserts a queue of another database, without its rows, and returns its new number.
    pub(crate) fn insert_queue(&self, name: &str, head: LogHead, sealed: u64) -> Result<i64, Error> {
        let insert = "INSERT INTO queues(name, head, at, sealed) VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, rusqlite::params![name, head.seq, head.at, sealed])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Inserts rows that were read from another database. The queue's number replaces their first
    /// cell.
    pub(crate) fn insert_rows(&self, table: &str, queue: i64, rows: &[Vec<SqlValue>]) -> Result<(), Error> {
        for row in rows {
            let marks = vec!["?"; row.len()].join(", ");
            let queue = SqlValue::Int(Some(queue));
            let cells = std::iter::once(&queue).chain(&row[1..]);
            self.execute(
                &format!("INSERT INTO {table} VALUES ({marks})"),
                rusqlite::params_from_iter(cells),
            )?;
        }
        Ok(())
    }

    /// Shrinks the file by up to `pages` free pages. True if some were freed and more remain.
    pub(super) fn give_back(&self, pages: i64) -> Result<bool, Error> {
        let free = || self.connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
        let before = free().map_err(db)?;
        // Each result row frees one page, so all must be read.
        self.rows(&format!("PRAGMA incremental_vacuum({pages})"), [], |_| Ok(()))?;
        // A file that earlier programs made, and that was not rewritten, frees none.
        let after = free().map_err(db)?;
        Ok((1..before).contains(&after))
    }

    /// Errors if the database file was moved or deleted, because writes to it would be lost. Not
    /// detected on systems without inodes.
    fn check_file(&self) -> Result<(), Error> {
        if file_id(&self.folder.join(FILE)) == self.file { Ok(()) } else { Err(Error::FileGone) }
    }

    /// The difference of this store's clock from the system clock, which tests change.
    #[cfg(test)]
    pub(crate) fn ahead(&self) -> Arc<AtomicI64> {
        self.ahead.clone()
    }

    /// The system clock with the difference that tests set, in microseconds since 1970.
    fn clock(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX) + self.ahead.load(Ordering::Relaxed)
    }

    /// Runs the statements in order.
    fn run(&self, ops: &[SqlWrite]) -> Result<(), Error> {
        for op in ops {
            self.execute(op.sql, rusqlite::params_from_iter(&op.values))?;
        }
        Ok(())
    }

    pub(super) fn execute(&self, statement: &str, values: impl rusqlite::Params) -> Result<usize, Error> {
        self.connection.prepare_cached(statement).map_err(db)?.execute(values).map_err(db)
    }

    pub(super) fn rows<T>(
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

    fn read_head(&self, queue: i64) -> Result<LogHead, Error> {
        let mut head = self.connection.prepare_cached(sql::HEAD).map_err(db)?;
        let (seq, at) =
            head.query_row([queue], |row| Ok((row.get(0)?, row.get(1)?))).map_err(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Error::NoQueue { name: "that was deleted".into() },
                error => db(error),
            })?;
        Ok(LogHead { seq, at, now: self.clock() })
    }
}

/// Device and inode of a file; None if the file cannot be seen, and on systems other than Unix.
type FileId = Option<(u64, u64)>;

#[cfg(unix)]
fn file_id(file: &Path) -> FileId {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Path) -> FileId {
    None
}

/// Opens a file for writing. A new file is readable for this user only (on Unix); an existing one
/// keeps its permissions.
pub(crate) fn for_us_alone(file: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Errors if the folder has no database, or cannot be read.
pub(crate) fn check_exists(folder: &Path) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Open(format!("{}: {why}", folder.display())));
    match folder.join(FILE).try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => refuse("there is no queue in this folder".into()),
        Err(error) => refuse(format!("this folder cannot be read: {error}")),
    }
}

/// Locks a folder for this process, creating it if needed. Waits up to `wait` for another process.
pub(crate) fn lock(folder: &Path, wait: Duration) -> Result<File, Error> {
    let refuse = |error: std::io::Error| Error::Open(format!("{}: {error}", folder.display()));
    make_folder(folder).map_err(refuse)?;
    check_is_file(&folder.join(LOCK))?;
    let lock = for_us_alone(&folder.join(LOCK)).map_err(refuse)?;
    let patience = std::time::Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(std::fs::TryLockError::WouldBlock) if patience.elapsed() < wait => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(Error::Open(format!(
                    "{}: another process is using this folder",
                    folder.display()
                )));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(refuse(error)),
        }
    }
}

/// Removes the journals of a database file, which SQLite would apply to a new file of that name.
pub(crate) fn clear_journals(file: &Path) -> std::io::Result<()> {
    for end in ["-wal", "-shm", "-journal"] {
        let mut journal = file.as_os_str().to_owned();
        journal.push(end);
        match std::fs::remove_file(journal) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Errors if the path exists and is not a regular file. Reading a pipe would block for ever.
pub(crate) fn check_is_file(file: &Path) -> Result<(), Error> {
    match std::fs::metadata(file) {
        Ok(what) if !what.is_file() => {
            Err(Error::Open(format!("{}: this is not a regular file", file.display())))
        }
        _ => Ok(()),
    }
}

/// Creates a folder that only this user can enter (on Unix); an existing one is left as it is.
pub(crate) fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Errors if SQLite's integrity check finds a fault.
fn is_whole(connection: &Connection) -> Result<(), Error> {
    let word = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    word.map_err(corrupt).and_then(|word| if word == "ok" { Ok(()) } else { Err(corrupt(word)) })
}

/// Errors if the file is not an intact database of ours.
pub(crate) fn check_copy(file: &Path) -> Result<(), Error> {
    let refuse = |why: String| Error::Open(format!("the copy cannot be restored: {why}"));
    let copy = Connection::open(file).map_err(|error| refuse(error.to_string()))?;
    let number = |pragma: &str| copy.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id").map_err(|error| refuse(error.to_string()))?;
    if application != APPLICATION {
        return Err(refuse("it is not a copy of a queue folder".into()));
    }
    is_whole(&copy).map_err(|error| refuse(error.to_string()))
}

/// Opens a connection. Errors unless each commit is synced.
fn connect(file: &Path) -> Result<Connection, Error> {
    // Without the flag to create a file: a missing database must not be replaced by an empty one.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)
        .map_err(|error| Error::Open(format!("{}: {error}", file.display())))?;
    connection.busy_timeout(BUSY).map_err(db)?;
    // Set before a new file is written: lets `give_back` return free pages.
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL").map_err(db)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Plans do not depend on parameter values, so a statement is planned only once.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(db)?;
    let journal: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(|error| Error::Open(format!("{}: {error}", file.display())))?;
    connection
        // Deleted data is overwritten, so that erased items are not left in the file. `flush`
        // checkpoints the journal in the background. A commit does so only if the journal has grown
        // to 16,384 pages.
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -4096; PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 16384")
        .map_err(db)?;
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(db)?;
    if (journal.as_str(), synchronous) != ("wal", 2) {
        return Err(Error::Open(format!(
            "{}: SQLite will not sync every commit here (journal_mode {journal}, synchronous {synchronous}); is this a network drive?",
            file.display()
        )));
    }
    Ok(connection)
}

impl rusqlite::ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let null = ToSqlOutput::Owned(Cell::Null);
        Ok(match self {
            SqlValue::Int(x) => x.map_or(null, |x| ToSqlOutput::Owned(Cell::Integer(x))),
            SqlValue::Real(x) => x.map_or(null, |x| ToSqlOutput::Owned(Cell::Real(x))),
            SqlValue::Text(x) => {
                x.as_ref().map_or(null, |x| ToSqlOutput::Borrowed(ValueRef::Text(x.as_bytes())))
            }
            SqlValue::Bytes(x) => x.as_ref().map_or(null, |x| ToSqlOutput::Borrowed(ValueRef::Blob(x))),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn db(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::ConstraintViolation) => Error::Contradiction(error.to_string()),
        Some(rusqlite::ErrorCode::DiskFull) => Error::DiskFull(error.to_string()),
        _ => Error::Database(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn a_file_that_cannot_grow_is_a_full_disk_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(folder.path(), Duration::ZERO).unwrap();
        store.check_room().unwrap();
        store.connection.execute_batch("PRAGMA max_page_count = 1").unwrap();
        let grow = "INSERT INTO payloads(queue, n, body) VALUES (1, 1, hex(zeroblob(100000)))";
        let error = store.execute(grow, []).unwrap_err();
        assert_eq!((error.code(), error.is_transient()), ("disk_full", true), "{error}");
        let error = store.execute("INSERT INTO nothing VALUES (1)", []).unwrap_err();
        assert_eq!(error.code(), "database");
        assert!(!folder.path().join("jurybox.room").exists());
    }
}
