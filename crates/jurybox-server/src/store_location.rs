//! The location of stored queues: a folder, or a PostgreSQL database.

use crate::Error;
use crate::pg_connection::Address;
use crate::store::Store;
use crate::store::postgres::Postgres;
use crate::store::sqlite::{Sqlite, check_exists};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder or database where queues are stored.
///
/// ```
/// use jurybox_server::StoreLocation;
/// assert_eq!(StoreLocation::from(std::path::Path::new("review")).to_string(), "review");
/// let database = StoreLocation::Database("postgres://jurybox:secret@db.example/queues".into());
/// assert_eq!(database.to_string(), "postgres://jurybox:***@db.example/queues");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A local folder, with an SQLite database in it.
    Folder(PathBuf),
    /// A PostgreSQL database by its URL, as in `DATABASE_URL`. Several nodes can serve it at once.
    Database(String),
}

impl From<&Path> for StoreLocation {
    fn from(folder: &Path) -> Self {
        StoreLocation::Folder(folder.into())
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(folder: &PathBuf) -> Self {
        StoreLocation::Folder(folder.clone())
    }
}

impl From<&StoreLocation> for StoreLocation {
    fn from(place: &StoreLocation) -> Self {
        place.clone()
    }
}

impl std::fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreLocation::Folder(folder) => write!(f, "{}", folder.display()),
            StoreLocation::Database(url) => f.write_str(&crate::pg_connection::without_password(url)),
        }
    }
}

/// Like `Display`, hides the password.
impl std::fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl StoreLocation {
    /// Opens the location, creating the tables if there are none.
    pub(crate) fn open(&self, wait: Duration) -> Result<Box<dyn Store>, Error> {
        Ok(match self {
            StoreLocation::Folder(folder) => Box::new(Sqlite::open(folder, wait)?),
            StoreLocation::Database(url) => Box::new(Postgres::open(Address::parse(url)?, wait)?),
        })
    }

    /// Opens the location, but fails for a folder without a database.
    pub(crate) fn open_existing(&self, wait: Duration) -> Result<Box<dyn Store>, Error> {
        self.check_exists()?;
        self.open(wait)
    }

    /// Fails for a folder without a database.
    pub(crate) fn check_exists(&self) -> Result<(), Error> {
        match self {
            StoreLocation::Folder(folder) => check_exists(folder),
            StoreLocation::Database(_) => Ok(()),
        }
    }
}
