//! The place of a test's queue: a folder, or a database of its own on the PostgreSQL server of
//! `DATABASE_URL`. The place is deleted afterwards.

use crate::StoreLocation;
use crate::pg_connection::{Address, PgConnection};
use crate::store::sqlite::FILE;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The kind of database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// Runs each function as a test on both databases. PostgreSQL tests need `scripts/postgres run`.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                super::$name(crate::tests::fixture::Kind::Sqlite);
            })*
        }
        mod postgres {
            $(#[test]
            #[ignore = "needs PostgreSQL: scripts/postgres run cargo test -p jurybox-server postgres -- --ignored"]
            fn $name() {
                super::$name(crate::tests::fixture::Kind::Postgres);
            })*
        }
    };
}
pub(crate) use on_both;

/// A folder or a database for one test, deleted when it is dropped.
pub(crate) struct Home {
    pub(crate) place: StoreLocation,
    folder: Option<tempfile::TempDir>,
    database: Option<String>,
}

fn server() -> String {
    std::env::var("DATABASE_URL").expect("DATABASE_URL: run this by scripts/postgres run")
}

/// Runs a statement on PostgreSQL and returns the number of rows changed.
pub(crate) fn tell(url: &str, words: &str) -> u64 {
    let mut line =
        PgConnection::connect(&Address::parse(url).unwrap(), "SET search_path = jurybox, public").unwrap();
    line.wait(Duration::from_mins(1), async |client| client.execute(words, &[]).await)
        .unwrap_or_else(|failure| panic!("{words}: {}", failure.what))
}

/// The first cell of a PostgreSQL query's result.
pub(crate) fn asked(url: &str, words: &str) -> String {
    let mut line =
        PgConnection::connect(&Address::parse(url).unwrap(), "SET search_path = jurybox, public").unwrap();
    let row = line.wait(Duration::from_mins(1), async |client| client.query_one(words, &[]).await);
    row.unwrap_or_else(|failure| panic!("{words}: {}", failure.what)).get(0)
}

fn fresh_database(of: &str) -> (String, String) {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let name = format!("t{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let server = server();
    tell(&server, &format!("CREATE DATABASE {name} {of}"));
    let (head, _) = server.rsplit_once('/').unwrap();
    (format!("{head}/{name}"), name)
}

impl Home {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                Home { place: folder.path().into(), folder: Some(folder), database: None }
            }
            Kind::Postgres => {
                let (url, name) = fresh_database("");
                Home { place: StoreLocation::Database(url), folder: None, database: Some(name) }
            }
        }
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.as_ref().unwrap().path()
    }

    pub(crate) fn url(&self) -> &str {
        let StoreLocation::Database(url) = &self.place else { panic!("no database") };
        url
    }

    /// Runs a statement behind the program's back, and returns the number of rows changed.
    pub(crate) fn change(&self, words: &str) -> u64 {
        match &self.place {
            StoreLocation::Folder(folder) => {
                rusqlite::Connection::open(folder.join(FILE)).unwrap().execute(words, []).unwrap() as u64
            }
            StoreLocation::Database(url) => tell(
                url,
                &words.replace("zeroblob(24)", "decode(repeat('00', 24), 'hex')").replace("X'00'", "'\\x00'"),
            ),
        }
    }

    /// A copy of the place. Nobody may have the database open meanwhile.
    pub(crate) fn copy(&self) -> Home {
        match &self.database {
            None => {
                let copy = Home::new(Kind::Sqlite);
                let file = copy.folder().join("copy");
                crate::backup(self.folder(), &file).unwrap();
                crate::restore(&file, copy.folder(), false).unwrap();
                copy
            }
            Some(database) => {
                let (url, name) = fresh_database(&format!("TEMPLATE {database}"));
                Home { place: StoreLocation::Database(url), folder: None, database: Some(name) }
            }
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(name) = &self.database {
            tell(&server(), &format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}
