//! Rows of either database as plain cells.

use super::Problem;
use super::read::Found;
use crate::line::{Address, Line};
use crate::{Error, Place};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio_postgres::types::Type;

/// How long the database may take for one table.
const TABLE: Duration = Duration::from_mins(15);

/// The records, as they were at one moment.
pub(super) enum Db {
    Sqlite(Connection),
    Postgres(Box<Line>),
}

#[derive(Clone)]
enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row.
pub(super) struct Row(Vec<Cell>);

fn told(error: impl std::fmt::Display) -> Problem {
    Problem(error.to_string())
}

impl Db {
    /// Opens the records to read them as they are now, whoever writes to them.
    pub(super) fn open(place: &Place) -> Result<Self, Error> {
        match place {
            Place::Folder(folder) => {
                let file = folder.join("jurybox.sqlite");
                let told = |error: rusqlite::Error| Error::Open(format!("{}: {error}", file.display()));
                let db =
                    Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(told)?;
                db.execute_batch("PRAGMA query_only = ON; BEGIN").map_err(told)?;
                Ok(Db::Sqlite(db))
            }
            Place::Database(url) => {
                let first = "SET search_path = jurybox; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                let line = Line::connect(&Address::parse(url)?, first);
                line.map(|line| Db::Postgres(Box::new(line)))
                    .map_err(|failure| Error::Open(format!("{place}: {}", failure.what)))
            }
        }
    }

    /// The version of the tables.
    pub(super) fn version(&mut self) -> Found<i64> {
        let sql = match self {
            Db::Sqlite(_) => "SELECT user_version FROM pragma_user_version WHERE ?1 = 0",
            Db::Postgres(_) => "SELECT version FROM version WHERE ?1::bigint = 0",
        };
        Ok(self.all(sql, 0, |row| row.int(0))?.first().copied().unwrap_or_default())
    }

    /// The names of the indexes by which the database itself keeps something from being there twice.
    pub(super) fn unique_indexes(&mut self) -> Found<Vec<String>> {
        let sql = match self {
            Db::Sqlite(_) => {
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE %' AND ?1 = 0"
            }
            Db::Postgres(_) => {
                "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'jurybox' AND indexdef LIKE 'CREATE UNIQUE %' AND ?1::bigint = 0"
            }
        };
        self.all(sql, 0, |row| row.text(0))
    }

    /// All rows of a query about a queue, whose number is its `?1`.
    pub(super) fn all<T>(&mut self, sql: &str, queue: i64, read: impl Fn(&Row) -> Found<T>) -> Found<Vec<T>> {
        let table = sql.split(" FROM ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        let read = |row: &Row| read(row).map_err(|Problem(what)| Problem(format!("table {table}: {what}")));
        match self {
            Db::Sqlite(db) => {
                let mut statement = db.prepare(sql).map_err(told)?;
                let width = statement.column_count();
                let mut rows = statement.query([queue]).map_err(told)?;
                let mut all = Vec::new();
                while let Some(row) = rows.next().map_err(told)? {
                    let cells = (0..width).map(|at| {
                        Ok(match row.get_ref(at).map_err(told)? {
                            ValueRef::Null => Cell::Null,
                            ValueRef::Integer(x) => Cell::Int(x),
                            ValueRef::Real(x) => Cell::Real(x),
                            ValueRef::Text(x) => Cell::Text(String::from_utf8_lossy(x).into_owned()),
                            ValueRef::Blob(x) => Cell::Bytes(x.to_vec()),
                        })
                    });
                    all.push(read(&Row(cells.collect::<Found<_>>()?))?);
                }
                Ok(all)
            }
            Db::Postgres(line) => {
                let sql = sql.replace("?1", "$1");
                let rows = line.wait(TABLE, async |client| client.query(&sql, &[&queue]).await);
                let rows = rows.map_err(|failure| Problem(failure.what))?;
                rows.iter().map(|row| read(&from_postgres(row)?)).collect()
            }
        }
    }
}

fn from_postgres(row: &tokio_postgres::Row) -> Found<Row> {
    let cells = row.columns().iter().enumerate().map(|(at, column)| {
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at).map_err(told)?.map(Cell::Int),
            Type::BOOL => row.try_get::<_, Option<bool>>(at).map_err(told)?.map(|x| Cell::Int(i64::from(x))),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(at).map_err(told)?.map(Cell::Real),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at).map_err(told)?.map(Cell::Bytes),
            _ => row.try_get::<_, Option<String>>(at).map_err(told)?.map(Cell::Text),
        };
        Ok(cell.unwrap_or(Cell::Null))
    });
    cells.collect::<Found<Vec<Cell>>>().map(Row)
}

impl Row {
    /// Hashes so many cells from the first on, each with a letter for its kind.
    pub(super) fn hash(&self, width: usize, hash: &mut Sha256) {
        for cell in &self.0[..width] {
            let (kind, bytes) = match cell {
                Cell::Null => (b'-', Vec::new()),
                Cell::Int(x) => (b'i', x.to_le_bytes().to_vec()),
                // There are databases that know no minus zero.
                Cell::Real(x) => (b'r', if *x == 0.0 { 0.0 } else { *x }.to_le_bytes().to_vec()),
                Cell::Text(x) => (b't', [&(x.len() as u64).to_le_bytes(), x.as_bytes()].concat()),
                Cell::Bytes(x) => (b'b', [&(x.len() as u64).to_le_bytes(), x.as_slice()].concat()),
            };
            hash.update([kind]);
            hash.update(bytes);
        }
    }

    /// How many cells it has.
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// The same row with another text in a cell.
    pub(super) fn with_text(&self, at: usize, text: String) -> Row {
        let mut cells = self.0.clone();
        cells[at] = Cell::Text(text);
        Row(cells)
    }

    pub(super) fn int(&self, at: usize) -> Found<i64> {
        self.int_if_any(at)?.ok_or_else(|| Problem(format!("column {at} has nothing")))
    }

    pub(super) fn int_if_any(&self, at: usize) -> Found<Option<i64>> {
        match &self.0[at] {
            Cell::Int(x) => Ok(Some(*x)),
            Cell::Null => Ok(None),
            _ => Err(Problem(format!("column {at} has no whole number"))),
        }
    }

    /// A number of an entry or of an item.
    pub(super) fn number(&self, at: usize) -> Found<u64> {
        self.number_if_any(at)?.ok_or_else(|| Problem(format!("column {at} has nothing")))
    }

    pub(super) fn number_if_any(&self, at: usize) -> Found<Option<u64>> {
        let whole =
            |x: i64| u64::try_from(x).map_err(|_| Problem(format!("column {at} has {x}, below zero")));
        self.int_if_any(at)?.map(whole).transpose()
    }

    pub(super) fn real(&self, at: usize) -> Found<f64> {
        self.real_if_any(at)?.ok_or_else(|| Problem(format!("column {at} has nothing")))
    }

    pub(super) fn real_if_any(&self, at: usize) -> Found<Option<f64>> {
        match &self.0[at] {
            Cell::Real(x) => Ok(Some(*x)),
            Cell::Null => Ok(None),
            _ => Err(Problem(format!("column {at} has no number"))),
        }
    }

    pub(super) fn text(&self, at: usize) -> Found<String> {
        match &self.0[at] {
            Cell::Text(x) => Ok(x.clone()),
            _ => Err(Problem(format!("column {at} has no text"))),
        }
    }

    pub(super) fn text_if_any(&self, at: usize) -> Found<Option<String>> {
        if matches!(&self.0[at], Cell::Null) { Ok(None) } else { self.text(at).map(Some) }
    }

    pub(super) fn bytes(&self, at: usize) -> Found<Vec<u8>> {
        match &self.0[at] {
            Cell::Bytes(x) => Ok(x.clone()),
            _ => Err(Problem(format!("column {at} has no bytes"))),
        }
    }

    /// Scores, or none where they were erased.
    pub(super) fn doubles(&self, at: usize) -> Found<Option<Vec<f64>>> {
        match &self.0[at] {
            Cell::Bytes(x) => {
                let eight = |bytes: &[u8]| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
                Ok(Some(x.chunks(8).map(eight).collect()))
            }
            Cell::Null => Ok(None),
            _ => Err(Problem(format!("column {at} has no scores"))),
        }
    }
}
