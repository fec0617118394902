//! Where queues are: a folder, or a database that several nodes share.

use crate::Error;
use crate::line::Address;
use crate::store::Store;
use crate::store::postgres::Postgres;
use crate::store::sqlite::{Sqlite, check_is_there};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where queues are kept.
///
/// ```
/// use jurybox_server::Place;
/// assert_eq!(Place::from(std::path::Path::new("desk")).to_string(), "desk");
/// let database = Place::Database("postgres://jurybox:secret@db.example/queues".into());
/// assert_eq!(database.to_string(), "postgres://jurybox:***@db.example/queues");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// A folder on a disk of this machine, with an SQLite database in it.
    Folder(PathBuf),
    /// A PostgreSQL database by its URL, as in `DATABASE_URL`. Any number of nodes may serve it at once.
    Database(String),
}

impl From<&Path> for Place {
    fn from(folder: &Path) -> Self {
        Place::Folder(folder.into())
    }
}

impl From<&PathBuf> for Place {
    fn from(folder: &PathBuf) -> Self {
        Place::Folder(folder.clone())
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Self {
        place.clone()
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Folder(folder) => write!(f, "{}", folder.display()),
            Place::Database(url) => f.write_str(&crate::line::without_password(url)),
        }
    }
}

/// Without the password.
impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Place {
    /// Opens it, and makes its tables where there are none.
    pub(crate) fn open(&self, wait: Duration) -> Result<Box<dyn Store>, Error> {
        Ok(match self {
            Place::Folder(folder) => Box::new(Sqlite::open(folder, wait)?),
            Place::Database(url) => Box::new(Postgres::open(Address::parse(url)?, wait)?),
        })
    }

    /// Opens it if there is something.
    pub(crate) fn open_what_is_there(&self, wait: Duration) -> Result<Box<dyn Store>, Error> {
        self.check_is_there()?;
        self.open(wait)
    }

    /// Refuses a folder in which there is nothing.
    pub(crate) fn check_is_there(&self) -> Result<(), Error> {
        match self {
            Place::Folder(folder) => check_is_there(folder),
            Place::Database(_) => Ok(()),
        }
    }
}
