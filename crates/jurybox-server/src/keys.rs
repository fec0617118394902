//! Keys: who may ask a server for what. Secrets are shown once and kept as hashes.

use crate::Error;
use crate::store_location::StoreLocation;
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
pub struct ApiKey {
    /// Its name: what the log calls whoever uses it.
    pub name: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// In which queues; all of them where none is named.
    pub queues: Vec<String>,
    /// The reviewer that it acts as, and nobody else; none where it may speak for any.
    pub reviewer: Option<String>,
    /// When it was made, in microseconds since 1970.
    pub made: i64,
    /// From when on it opens nothing any more; none where it does until it is revoked.
    pub expires: Option<i64>,
    /// When it was last used, to within [`USED_WITHIN`](ApiKey::USED_WITHIN).
    pub used: Option<i64>,
    /// The SHA-256 of its secret.
    #[serde(skip)]
    pub hash: [u8; 32],
}

impl ApiKey {
    /// How old the noted time of the last use may be, in microseconds: a key that is used all day is written down now and then.
    pub const USED_WITHIN: i64 = 600_000_000;

    /// Whether it opens nothing any more at a time.
    pub fn has_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether it can claim and judge in anybody's name: a key for a program that reviewers work with, and not for one of them.
    pub fn speaks_for_any(&self) -> bool {
        self.reviewer.is_none() && self.roles.iter().any(|role| role.covers(Role::Review))
    }
}

/// A key to make.
#[derive(Debug, Clone, Default)]
pub struct NewKey {
    /// Its name: what the log calls whoever uses it.
    pub name: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// In which queues; all of them where none is named.
    pub queues: Vec<String>,
    /// The reviewer that it acts as, and nobody else; none where it may speak for any.
    pub reviewer: Option<String>,
    /// From when on it opens nothing any more, in microseconds since 1970.
    pub expires: Option<i64>,
}

/// The hash by which a secret is known.
pub fn hash_of_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The keys of a folder. They can be changed while a server runs: it looks at them every second.
///
/// ```
/// use jurybox_server::{Keyring, NewKey, Role, hash_of_secret};
///
/// let folder = tempfile::tempdir()?;
/// let mut keyring = Keyring::open(folder.path())?;
/// let ann = NewKey { name: "ann".into(), roles: vec![Role::Review], reviewer: Some("ann".into()), ..NewKey::default() };
/// let secret = keyring.add(ann)?;
/// assert_eq!(keyring.list()?[0].hash, hash_of_secret(&secret));
/// assert!(keyring.revoke("ann")?);
/// assert!(keyring.list()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Keyring {
    store: Box<dyn Store>,
}

impl Keyring {
    /// Opens the keys of a folder or a database, and makes its tables where there are none.
    pub fn open(place: impl Into<StoreLocation>) -> Result<Self, Error> {
        let folder = match place.into() {
            StoreLocation::Folder(folder) => folder,
            database @ StoreLocation::Database(_) => return Ok(Keyring { store: database.open(Duration::ZERO)? }),
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
    pub fn open_what_is_there(place: impl Into<StoreLocation>) -> Result<Self, Error> {
        let place = place.into();
        place.check_is_there()?;
        Keyring::open(place)
    }

    /// Makes a key, and tells its secret: this once.
    pub fn add(&mut self, key: NewKey) -> Result<String, Error> {
        let NewKey { name, mut roles, queues, reviewer, expires } = key;
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(Error::Refused(format!("{name:?} is no name for a key: 1 to 64 characters")));
        }
        if roles.is_empty() {
            return Err(Error::Refused(
                "a key needs a role: one or more of read, write, review, admin".into(),
            ));
        }
        if let Some(reviewer) = &reviewer {
            crate::decide::check_name("the reviewer's name", reviewer).map_err(Error::Refused)?;
            if !roles.iter().any(|role| role.covers(Role::Review)) {
                return Err(Error::Refused(format!("a key that acts as `{reviewer}` needs the role review")));
            }
        }
        let made = self.store.now()?;
        if expires.is_some_and(|expires| expires <= made) {
            return Err(Error::Refused("the key would have expired already".into()));
        }
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random).map_err(|error| Error::Open(format!("no randomness: {error}")))?;
        let mut secret = String::from("jury_");
        for byte in random {
            use std::fmt::Write;
            let _ = write!(secret, "{byte:02x}");
        }
        roles.sort_unstable();
        roles.dedup();
        let hash = hash_of_secret(&secret);
        let key = ApiKey { name, roles, queues, reviewer, made, expires, used: None, hash };
        if !self.store.add_key(&key)? {
            return Err(Error::Refused(format!("there is a key `{}` already: revoke it first", key.name)));
        }
        Ok(secret)
    }

    /// All keys, the first made first.
    pub fn list(&mut self) -> Result<Vec<ApiKey>, Error> {
        self.store.keys()
    }

    /// Takes a key away. False if there was none of that name.
    pub fn revoke(&mut self, name: &str) -> Result<bool, Error> {
        self.store.revoke_key(name)
    }
}
