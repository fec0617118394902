//! API keys: who may ask a server for what. Only hashes of the secrets are stored.

use crate::Error;
use crate::store::Store;
use crate::store::sqlite::{FILE, Sqlite};
use crate::store_location::StoreLocation;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A permission of a key. `Admin` covers all others.
///
/// ```
/// use jurybox_server::Role;
/// assert_eq!("review".parse(), Ok(Role::Review));
/// assert!(Role::Admin.covers(Role::Write) && !Role::Read.covers(Role::Review));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read queues, items, evaluators and reports.
    Read,
    /// Send items and scores.
    Write,
    /// Claim items and give verdicts.
    Review,
    /// Everything, including creating, changing and deleting queues.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [Role::Read, Role::Write, Role::Review, Role::Admin];

    /// The role's name, as written in commands and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Review => "review",
            Role::Admin => "admin",
        }
    }

    /// Whether a key with this role may do what needs the role `other`.
    pub fn covers(self, other: Role) -> bool {
        self == Role::Admin || self == other
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Role::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| {
            let names = Role::ALL.map(Role::name).join(", ");
            format!("there is no role `{text}`; the roles are {names}")
        })
    }
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApiKey {
    /// The key's name, which the activity log shows as the actor.
    pub name: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// The queues it is limited to; empty for all.
    pub queues: Vec<String>,
    /// The one reviewer that it acts as; none if it may name any reviewer.
    pub reviewer: Option<String>,
    /// When it was made, in microseconds since 1970.
    pub made: i64,
    /// When it expires, in microseconds since 1970; none for never.
    pub expires: Option<i64>,
    /// When it was last used, in microseconds since 1970, accurate to
    /// [`USED_WITHIN`](ApiKey::USED_WITHIN).
    pub used: Option<i64>,
    /// The SHA-256 of its secret.
    #[serde(skip)]
    pub hash: [u8; 32],
}

impl ApiKey {
    /// How far `used` may lag behind, in microseconds (ten minutes), so that not every use of a key
    /// is written.
    pub const USED_WITHIN: i64 = 600_000_000;

    /// Whether it has expired at a time, in microseconds since 1970.
    pub fn has_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether the key can review in the name of any reviewer: a key for a program, not for a
    /// person.
    pub fn speaks_for_any(&self) -> bool {
        self.reviewer.is_none() && self.roles.iter().any(|role| role.covers(Role::Review))
    }
}

/// A key to make.
#[derive(Debug, Clone, Default)]
pub struct NewKey {
    /// The key's name, which the activity log shows as the actor.
    pub name: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// The queues it is limited to; empty for all.
    pub queues: Vec<String>,
    /// The one reviewer that it acts as; none if it may name any reviewer.
    pub reviewer: Option<String>,
    /// When it expires, in microseconds since 1970; none for never.
    pub expires: Option<i64>,
}

/// The SHA-256 by which a secret is looked up.
pub fn hash_of_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The keys of a folder or database. A running server notices changes.
///
/// ```
/// use jurybox_server::{Keyring, NewKey, Role, hash_of_secret};
///
/// let folder = tempfile::tempdir()?;
/// let mut keyring = Keyring::open(folder.path())?;
/// let (name, reviewer) = ("ann".to_string(), Some("ann".to_string()));
/// let ann = NewKey { name, roles: vec![Role::Review], reviewer, ..NewKey::default() };
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
    /// Opens the keys of a folder or database, and creates its tables if there are none.
    pub fn open(place: impl Into<StoreLocation>) -> Result<Self, Error> {
        let folder = match place.into() {
            StoreLocation::Folder(folder) => folder,
            database @ StoreLocation::Database(_) => {
                return Ok(Keyring { store: database.open(Duration::ZERO)? });
            }
        };
        let folder = folder.as_path();
        if !folder.join(FILE).exists() {
            drop(Sqlite::open(folder, Duration::ZERO)?);
        }
        // A server may hold the folder's lock. Keys need only the database's own lock.
        match Sqlite::open_to_read(folder) {
            Ok(store) => Ok(Keyring { store: Box::new(store) }),
            // Tables of an earlier version are updated, if no server has the folder.
            Err(Error::Open(_)) => Ok(Keyring { store: Box::new(Sqlite::open(folder, Duration::ZERO)?) }),
            Err(error) => Err(error),
        }
    }

    /// Opens the keys of an existing folder or database. Fails for a folder without a database.
    pub fn open_existing(place: impl Into<StoreLocation>) -> Result<Self, Error> {
        let place = place.into();
        place.check_exists()?;
        Keyring::open(place)
    }

    /// Makes a key and returns its secret, which cannot be read again.
    pub fn add(&mut self, key: NewKey) -> Result<String, Error> {
        let NewKey { name, mut roles, queues, reviewer, expires } = key;
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(Error::Refused(format!(
                "{name:?} is not a valid key name: use 1 to 64 printable characters"
            )));
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
            return Err(Error::Refused("the expiry of the key is in the past".into()));
        }
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random)
            .map_err(|error| Error::Open(format!("no random numbers from the system: {error}")))?;
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

    /// All keys, oldest first.
    pub fn list(&mut self) -> Result<Vec<ApiKey>, Error> {
        self.store.keys()
    }

    /// Deletes a key. False if there is none of that name.
    pub fn revoke(&mut self, name: &str) -> Result<bool, Error> {
        self.store.revoke_key(name)
    }
}
