//! Keys: who may ask a server for what. Secrets are shown once and kept as hashes.

use crate::Error;
use crate::place::Place;
use crate::store::Store;
use crate::store::sqlite::{FILE, Sqlite};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// What a key may do. `Admin` may do everything.
///
/// ```
/// use jurybox_server::Role;
/// assert_eq!("review".parse(), Ok(Role::Review));
/// assert!(Role::Admin.covers(Role::Write) && !Role::Read.covers(Role::Review));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look at queues, items, evaluators and reports.
    Read,
    /// Send items and scores.
    Write,
    /// Claim items and give verdicts.
    Review,
    /// Everything, also making, changing and deleting queues.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 4] = [Role::Read, Role::Write, Role::Review, Role::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Review => "review",
            Role::Admin => "admin",
        }
    }

    /// Whether who has this role may do what takes the other.
    pub fn covers(self, other: Role) -> bool {
        self == Role::Admin || self == other
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Role::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| {
            let names = Role::ALL.map(Role::name).join(", ");
            format!("there is no role `{text}`; there are {names}")
        })
    }
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Key {
    /// Its name: what the log calls whoever uses it.
    pub name: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// In which queues; all of them where none is named.
    pub queues: Vec<String>,
    /// When it was made, in microseconds since 1970.
    pub made: i64,
    /// The SHA-256 of its secret.
    #[serde(skip)]
    pub hash: [u8; 32],
}

/// The hash by which a secret is known.
pub fn hash_of_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The keys of a folder. They can be changed while a server runs: it looks at them every second.
///
/// ```
/// use jurybox_server::{Keyring, Role, hash_of_secret};
///
/// let folder = tempfile::tempdir()?;
/// let mut keyring = Keyring::open(folder.path())?;
/// let secret = keyring.add("intake", &[Role::Write], &["posts".into()])?;
/// assert_eq!(keyring.list()?[0].hash, hash_of_secret(&secret));
/// assert!(keyring.revoke("intake")?);
/// assert!(keyring.list()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Keyring {
    store: Box<dyn Store>,
}

impl Keyring {
    /// Opens the keys of a folder or a database, and makes its tables where there are none.
    pub fn open(place: impl Into<Place>) -> Result<Self, Error> {
        let folder = match place.into() {
            Place::Folder(folder) => folder,
            database @ Place::Database(_) => return Ok(Keyring { store: database.open(Duration::ZERO)? }),
        };
        let folder = folder.as_path();
        if !folder.join(FILE).exists() {
            drop(Sqlite::open(folder, Duration::ZERO)?);
        }
        // A server has the folder while it runs; a key is one row, and needs no more than the database's own lock.
        match Sqlite::open_to_read(folder) {
            Ok(store) => Ok(Keyring { store: Box::new(store) }),
            // An older one is brought up to date, where nobody has it.
            Err(Error::Open(_)) => Ok(Keyring { store: Box::new(Sqlite::open(folder, Duration::ZERO)?) }),
            Err(error) => Err(error),
        }
    }

    /// Opens the keys of a folder or a database that is there, and makes none.
    pub fn open_what_is_there(place: impl Into<Place>) -> Result<Self, Error> {
        let place = place.into();
        place.check_is_there()?;
        Keyring::open(place)
    }

    /// Makes a key, and tells its secret: this once.
    pub fn add(&mut self, name: &str, roles: &[Role], queues: &[String]) -> Result<String, Error> {
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(Error::Refused(format!("{name:?} is no name for a key: 1 to 64 characters")));
        }
        if roles.is_empty() {
            return Err(Error::Refused(
                "a key needs a role: one or more of read, write, review, admin".into(),
            ));
        }
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random).map_err(|error| Error::Open(format!("no randomness: {error}")))?;
        let mut secret = String::from("jury_");
        for byte in random {
            use std::fmt::Write;
            let _ = write!(secret, "{byte:02x}");
        }
        let mut roles = roles.to_vec();
        roles.sort_unstable();
        roles.dedup();
        let (name, queues, made) = (name.to_string(), queues.to_vec(), self.store.now()?);
        let key = Key { name, roles, queues, made, hash: hash_of_secret(&secret) };
        if !self.store.add_key(&key)? {
            return Err(Error::Refused(format!("there is a key `{}` already: revoke it first", key.name)));
        }
        Ok(secret)
    }

    /// All keys, the first made first.
    pub fn list(&mut self) -> Result<Vec<Key>, Error> {
        self.store.keys()
    }

    /// Takes a key away. False if there was none of that name.
    pub fn revoke(&mut self, name: &str) -> Result<bool, Error> {
        self.store.revoke_key(name)
    }
}
