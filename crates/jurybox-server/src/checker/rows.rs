//! Reading rows from either database as plain cells.

use super::Violation;
use super::read::CheckResult;
use crate::pg_connection::{Address, PgConnection};
use crate::{Error, StoreLocation};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio_postgres::types::Type;

/// The time limit of one request to PostgreSQL.
const TABLE: Duration = Duration::from_mins(15);
/// Fetches a page of rows from PostgreSQL.
const PAGE: &str = "FETCH 1000 FROM page";

/// A snapshot of a database.
pub(super) enum Db {
    Sqlite(Connection),
    /// A file in a read-only folder, with its path, and its size and time when it was opened.
    ReadOnly(Connection, PathBuf, FileStamp),
    Postgres(Box<PgConnection>),
}

/// The size and time of a file, by which writes are noticed.
type FileStamp = (u64, Option<SystemTime>);

fn stamp(file: &Path) -> Option<FileStamp> {
    std::fs::metadata(file).ok().map(|there| (there.len(), there.modified().ok()))
}

/// The length of a database's journal in bytes; 0 without a journal.
fn journal(file: &Path) -> u64 {
    let mut journal = file.as_os_str().to_owned();
    journal.push("-wal");
    std::fs::metadata(journal).map_or(0, |there| there.len())
}

#[derive(Clone)]
enum SqlCell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row of a query.
pub(super) struct Row(Vec<SqlCell>);

fn told(error: impl std::fmt::Display) -> Violation {
    Violation(error.to_string())
}

impl Db {
    /// Opens a snapshot for reading, while others may write.
    pub(super) fn open(place: &StoreLocation) -> Result<Self, Error> {
        match place {
            StoreLocation::Folder(folder) => Self::open_file(&folder.join("jurybox.sqlite")),
            StoreLocation::Database(url) => {
                let first = "SET search_path = jurybox; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                let line = PgConnection::connect(&Address::parse(url)?, first);
                line.map(|line| Db::Postgres(Box::new(line)))
                    .map_err(|failure| Error::Open(format!("{place}: {}", failure.what)))
            }
        }
    }

    fn open_file(file: &Path) -> Result<Self, Error> {
        let told = |error: rusqlite::Error| Error::Open(format!("{}: {error}", file.display()));
        let begin = "PRAGMA query_only = ON; BEGIN; SELECT COUNT(*) FROM sqlite_schema";
        let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(told)?;
        // A killed process may have left a journal. Closing must not move it into the database.
        if journal(file) > 0 {
            let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            db.set_db_config(keep, true).map_err(told)?;
        }
        let Err(error) = db.execute_batch(begin) else { return Ok(Db::Sqlite(db)) };
        drop(db);
        let code = error.sqlite_error_code();
        let (Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly), Some(before)) =
            (code, stamp(file))
        else {
            return Err(told(error));
        };
        // SQLite coordinates readers by a file beside the database, which cannot be created here.
        // So the database is read without a snapshot.
        if journal(file) > 0 {
            return Err(Error::Open(format!(
                "{}: this folder is read-only, and the journal beside the database cannot be read in it: copy the folder to a writable place, and verify the copy",
                file.display()
            )));
        }
        let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
        let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let db = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags).map_err(told)?;
        db.execute_batch(begin).map_err(told)?;
        Ok(Db::ReadOnly(db, file.into(), before))
    }

    /// Whether the folder is read-only. Errors if its database was read without a snapshot and was
    /// written to meanwhile.
    pub(super) fn is_as_it_was(&self) -> Result<bool, Error> {
        match self {
            Db::ReadOnly(_, file, before) if stamp(file) != Some(*before) || journal(file) > 0 => {
                Err(Error::Open(format!(
                    "{}: it was written to while it was read, and in a read-only folder there is no snapshot: verify it where the folder is writable",
                    file.display()
                )))
            }
            Db::ReadOnly(..) => Ok(true),
            Db::Sqlite(db) => Ok(db.is_readonly(rusqlite::MAIN_DB).unwrap_or(false)),
            Db::Postgres(_) => Ok(false),
        }
    }

    /// Runs the database's own check of its files. Returns a description of the check, and the
    /// problems it found.
    pub(super) fn integrity(&mut self, place: &StoreLocation) -> CheckResult<(String, Vec<String>)> {
        if let Db::Postgres(_) = self {
            return self.amcheck(place);
        }
        let words = "SELECT integrity_check FROM pragma_integrity_check WHERE ?1 = 0";
        let said = self.all(words, 0, |row| row.text(0))?;
        let problems = said.iter().filter(|said| *said != "ok").map(|said| format!("the database: {said}"));
        Ok(("SQLite's integrity_check".into(), problems.collect()))
    }

    /// Runs PostgreSQL's extension amcheck, if it is installed and allowed.
    fn amcheck(&mut self, place: &StoreLocation) -> CheckResult<(String, Vec<String>)> {
        let sums = self.all(
            "SELECT setting FROM pg_settings WHERE name = 'data_checksums' AND ?1::bigint = 0",
            0,
            |row| row.text(0),
        )?;
        let sums = if sums.first().is_some_and(|on| on == "on") {
            "the checksums of the pages that were read are right"
        } else {
            "pages have no checksums"
        };
        let there = "SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace JOIN pg_proc p ON p.pronamespace = n.oid WHERE e.extname = 'amcheck' AND p.proname IN ('verify_heapam', 'bt_index_check') AND has_function_privilege(p.oid, 'EXECUTE') AND ?1::bigint = 0 GROUP BY n.nspname HAVING COUNT(DISTINCT p.proname) = 2";
        let Some(schema) = self.all(there, 0, |row| row.text(0))?.pop() else {
            return Ok((
                format!(
                    "none: the files are not checked, because the extension amcheck is not installed or not allowed; {sums}"
                ),
                Vec::new(),
            ));
        };
        let schema = format!("\"{}\"", schema.replace('"', "\"\""));
        // An error ends the transaction, so another connection is used.
        let mut aside = Self::open(place).map_err(told)?;
        let of_ours = "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'jurybox'";
        let tables = aside.all(
            &format!(
                "SELECT c.relname::text, c.oid::bigint FROM {of_ours} AND c.relkind = 'r' AND ?1::bigint = 0"
            ),
            0,
            |row| Ok((row.text(0)?, row.int(1)?)),
        )?;
        let indexes = aside.all(
            &format!(
                "SELECT c.relname::text, c.oid::bigint FROM {of_ours} AND c.relkind = 'i' AND ?1::bigint = 0"
            ),
            0,
            |row| Ok((row.text(0)?, row.int(1)?)),
        )?;
        let mut problems = Vec::new();
        let heap = tables.into_iter().map(|(name, oid)| (name, format!("SELECT v.msg FROM {schema}.verify_heapam({oid}::oid::regclass) v WHERE ?1::bigint = 0 LIMIT 3")));
        let trees = indexes.into_iter().map(|(name, oid)| (name, format!("SELECT NULL::text FROM {schema}.bt_index_check({oid}::oid::regclass, true) WHERE ?1::bigint = 0")));
        for (name, sql) in heap.chain(trees) {
            match aside.all(&sql, 0, |row| row.text_if_any(0)) {
                Ok(said) => problems
                    .extend(said.into_iter().flatten().map(|said| format!("the database: {name}: {said}"))),
                Err(Violation(what)) => {
                    problems.push(format!("the database: {name}: {what}"));
                    aside = Self::open(place).map_err(told)?;
                }
            }
        }
        Ok((format!("PostgreSQL's amcheck; {sums}"), problems))
    }

    /// The version of the tables.
    pub(super) fn version(&mut self) -> CheckResult<i64> {
        let sql = match self {
            Db::Sqlite(_) | Db::ReadOnly(..) => "SELECT user_version FROM pragma_user_version WHERE ?1 = 0",
            Db::Postgres(_) => "SELECT version FROM version WHERE ?1::bigint = 0",
        };
        Ok(self.all(sql, 0, |row| row.int(0))?.first().copied().unwrap_or_default())
    }

    /// The names of the unique indexes.
    pub(super) fn unique_indexes(&mut self) -> CheckResult<Vec<String>> {
        let sql = match self {
            Db::Sqlite(_) | Db::ReadOnly(..) => {
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE %' AND ?1 = 0"
            }
            Db::Postgres(_) => {
                "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'jurybox' AND indexdef LIKE 'CREATE UNIQUE %' AND ?1::bigint = 0"
            }
        };
        self.all(sql, 0, |row| row.text(0))
    }

    /// All rows of a query. Its parameter `?1` is the queue's number.
    pub(super) fn all<T>(
        &mut self,
        sql: &str,
        queue: i64,
        read: impl Fn(&Row) -> CheckResult<T>,
    ) -> CheckResult<Vec<T>> {
        let mut all = Vec::new();
        self.each(sql, queue, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `read` for each row of a query. Its parameter `?1` is the queue's number.
    pub(super) fn each(
        &mut self,
        sql: &str,
        queue: i64,
        mut read: impl FnMut(&Row) -> CheckResult<()>,
    ) -> CheckResult<()> {
        let table = sql.split(" FROM ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        let in_table = |Violation(what): Violation| Violation(format!("table {table}: {what}"));
        match self {
            Db::Sqlite(db) | Db::ReadOnly(db, ..) => {
                let mut statement = db.prepare(sql).map_err(told)?;
                let width = statement.column_count();
                let mut rows = statement.query([queue]).map_err(told)?;
                while let Some(row) = rows.next().map_err(told)? {
                    let cells = (0..width).map(|at| {
                        Ok(match row.get_ref(at).map_err(told)? {
                            ValueRef::Null => SqlCell::Null,
                            ValueRef::Integer(x) => SqlCell::Int(x),
                            ValueRef::Real(x) => SqlCell::Real(x),
                            ValueRef::Text(x) => SqlCell::Text(String::from_utf8_lossy(x).into_owned()),
                            ValueRef::Blob(x) => SqlCell::Bytes(x.to_vec()),
                        })
                    });
                    read(&Row(cells.collect::<CheckResult<_>>()?)).map_err(in_table)?;
                }
                Ok(())
            }
            Db::Postgres(line) => {
                let failed = |failure: crate::pg_connection::PgFailure| Violation(failure.what);
                // DECLARE takes no parameters.
                let words =
                    format!("DECLARE page NO SCROLL CURSOR FOR {}", sql.replace("?1", &queue.to_string()));
                line.wait(TABLE, async |client| client.batch_execute(&words).await).map_err(failed)?;
                let page = line.wait(TABLE, async |client| client.prepare(PAGE).await).map_err(failed)?;
                loop {
                    let rows = line.wait(TABLE, async |client| client.query(&page, &[]).await);
                    let rows = rows.map_err(failed)?;
                    if rows.is_empty() {
                        break;
                    }
                    for row in &rows {
                        read(&from_postgres(row)?).map_err(in_table)?;
                    }
                }
                line.wait(TABLE, async |client| client.batch_execute("CLOSE page").await).map_err(failed)
            }
        }
    }
}

fn from_postgres(row: &tokio_postgres::Row) -> CheckResult<Row> {
    let cells = row.columns().iter().enumerate().map(|(at, column)| {
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at).map_err(told)?.map(SqlCell::Int),
            Type::BOOL => {
                row.try_get::<_, Option<bool>>(at).map_err(told)?.map(|x| SqlCell::Int(i64::from(x)))
            }
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(at).map_err(told)?.map(SqlCell::Real),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at).map_err(told)?.map(SqlCell::Bytes),
            _ => row.try_get::<_, Option<String>>(at).map_err(told)?.map(SqlCell::Text),
        };
        Ok(cell.unwrap_or(SqlCell::Null))
    });
    cells.collect::<CheckResult<Vec<SqlCell>>>().map(Row)
}

impl Row {
    /// Hashes the first `width` cells, each preceded by a character for its type.
    pub(super) fn hash(&self, width: usize, hash: &mut Sha256) {
        for cell in &self.0[..width] {
            let (kind, bytes) = match cell {
                SqlCell::Null => (b'-', Vec::new()),
                SqlCell::Int(x) => (b'i', x.to_le_bytes().to_vec()),
                // SQLite does not store minus zero.
                SqlCell::Real(x) => (b'r', if *x == 0.0 { 0.0 } else { *x }.to_le_bytes().to_vec()),
                SqlCell::Text(x) => (b't', [&(x.len() as u64).to_le_bytes(), x.as_bytes()].concat()),
                SqlCell::Bytes(x) => (b'b', [&(x.len() as u64).to_le_bytes(), x.as_slice()].concat()),
            };
            hash.update([kind]);
            hash.update(bytes);
        }
    }

    /// The number of cells.
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// The row with the cell at `at` replaced by a text.
    pub(super) fn with_text(&self, at: usize, text: String) -> Row {
        let mut cells = self.0.clone();
        cells[at] = SqlCell::Text(text);
        Row(cells)
    }

    pub(super) fn int(&self, at: usize) -> CheckResult<i64> {
        self.int_if_any(at)?.ok_or_else(|| Violation(format!("column {at} is null")))
    }

    pub(super) fn int_if_any(&self, at: usize) -> CheckResult<Option<i64>> {
        match &self.0[at] {
            SqlCell::Int(x) => Ok(Some(*x)),
            SqlCell::Null => Ok(None),
            _ => Err(Violation(format!("column {at} is not a whole number"))),
        }
    }

    /// A whole number that is not negative, such as that of an entry or item.
    pub(super) fn number(&self, at: usize) -> CheckResult<u64> {
        self.number_if_any(at)?.ok_or_else(|| Violation(format!("column {at} is null")))
    }

    pub(super) fn number_if_any(&self, at: usize) -> CheckResult<Option<u64>> {
        let whole =
            |x: i64| u64::try_from(x).map_err(|_| Violation(format!("column {at} is negative ({x})")));
        self.int_if_any(at)?.map(whole).transpose()
    }

    pub(super) fn real(&self, at: usize) -> CheckResult<f64> {
        self.real_if_any(at)?.ok_or_else(|| Violation(format!("column {at} is null")))
    }

    pub(super) fn real_if_any(&self, at: usize) -> CheckResult<Option<f64>> {
        match &self.0[at] {
            SqlCell::Real(x) => Ok(Some(*x)),
            SqlCell::Null => Ok(None),
            _ => Err(Violation(format!("column {at} is not a number"))),
        }
    }

    pub(super) fn text(&self, at: usize) -> CheckResult<String> {
        match &self.0[at] {
            SqlCell::Text(x) => Ok(x.clone()),
            _ => Err(Violation(format!("column {at} is not text"))),
        }
    }

    pub(super) fn text_if_any(&self, at: usize) -> CheckResult<Option<String>> {
        if matches!(&self.0[at], SqlCell::Null) { Ok(None) } else { self.text(at).map(Some) }
    }

    pub(super) fn bytes(&self, at: usize) -> CheckResult<Vec<u8>> {
        match &self.0[at] {
            SqlCell::Bytes(x) => Ok(x.clone()),
            _ => Err(Violation(format!("column {at} is not bytes"))),
        }
    }

    /// Scores; None if they were erased.
    pub(super) fn doubles(&self, at: usize) -> CheckResult<Option<Vec<f64>>> {
        match &self.0[at] {
            SqlCell::Bytes(x) => {
                let eight = |bytes: &[u8]| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
                Ok(Some(x.chunks(8).map(eight).collect()))
            }
            SqlCell::Null => Ok(None),
            _ => Err(Violation(format!("column {at} is not a list of scores"))),
        }
    }
}
