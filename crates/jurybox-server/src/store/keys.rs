//! Storage of API keys: the trait `KeyStore`, its SQL statements, and its implementation for
//! SQLite.

use super::sqlite::Sqlite;
use super::sqlite::read::get;
use crate::Error;
use crate::error::corrupt;
use crate::keys::ApiKey;
use rusqlite::params;

pub(crate) const KEYS: &str = "SELECT name, roles, queues, made, hash, reviewer, expires, used FROM api_keys WHERE name <> '' ORDER BY made, name";
pub(crate) const ADD_KEY: &str = "INSERT INTO api_keys(name, roles, queues, made, hash, reviewer, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
/// Finds a row if there is a key, or if one was ever revoked.
pub(crate) const HAD_KEYS: &str = "SELECT name FROM api_keys LIMIT 1";
/// Marks that there was a key: inserts a row without a name before a key is deleted. So a server
/// whose last key was revoked stays closed. No key has an empty name, and no secret hashes to the
/// hash of this row.
pub(crate) const MARK_REVOKED: &str = "INSERT INTO api_keys(name, roles, queues, made, hash) SELECT '', '[]', '[]', made, ?2 FROM api_keys WHERE name = ?1 AND name <> '' ON CONFLICT DO NOTHING";
/// The hash of the row that marks revocation.
pub(crate) const NO_HASH: [u8; 32] = [0; 32];
/// Moves the time of last use forward only, because several servers may write it in any order.
pub(crate) const USE_KEY: &str = "UPDATE api_keys SET used = ?2 WHERE name = ?1 AND COALESCE(used, 0) < ?2";
pub(crate) const REVOKE_KEY: &str = "DELETE FROM api_keys WHERE name = ?1 AND name <> ''";

/// Storage of API keys. Each statement is a transaction of its own.
pub(crate) trait KeyStore {
    /// All keys, oldest first.
    fn keys(&mut self) -> Result<Vec<ApiKey>, Error>;
    /// Whether there is a key, or ever was one.
    fn had_keys(&mut self) -> Result<bool, Error>;
    /// Adds a key. False if there is one of that name or secret.
    fn add_key(&mut self, key: &ApiKey) -> Result<bool, Error>;
    /// Records when a key was last used.
    fn use_key(&mut self, name: &str, at: i64) -> Result<(), Error>;
    /// Deletes a key, and leaves a mark that there was one. False if there is none of that name.
    fn revoke_key(&mut self, name: &str) -> Result<bool, Error>;
}

/// A key from the texts of its row; reviewer, expiry and last use are set separately.
pub(crate) fn key_of(
    name: String,
    roles: &str,
    queues: &str,
    made: i64,
    hash: &[u8],
) -> Result<ApiKey, Error> {
    Ok(ApiKey {
        name,
        roles: serde_json::from_str(roles).map_err(corrupt)?,
        queues: serde_json::from_str(queues).map_err(corrupt)?,
        reviewer: None,
        made,
        expires: None,
        used: None,
        hash: hash.try_into().map_err(corrupt)?,
    })
}

/// The roles and the queues of a key as JSON texts.
pub(crate) fn texts_of(key: &ApiKey) -> (String, String) {
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_else(|_| "[]".into());
    (text(serde_json::to_string(&key.roles)), text(serde_json::to_string(&key.queues)))
}

impl KeyStore for Sqlite {
    fn keys(&mut self) -> Result<Vec<ApiKey>, Error> {
        self.rows(KEYS, [], |row| {
            let text = |at: usize| row.get::<_, String>(at).map_err(corrupt);
            let hash: Vec<u8> = row.get(4).map_err(corrupt)?;
            let key = key_of(text(0)?, &text(1)?, &text(2)?, get(row, 3)?, &hash)?;
            Ok(ApiKey { reviewer: get(row, 5)?, expires: get(row, 6)?, used: get(row, 7)?, ..key })
        })
    }

    fn had_keys(&mut self) -> Result<bool, Error> {
        Ok(!self.rows(HAD_KEYS, [], |_| Ok(()))?.is_empty())
    }

    fn add_key(&mut self, key: &ApiKey) -> Result<bool, Error> {
        let (roles, queues) = texts_of(key);
        let ApiKey { name, made, hash, reviewer, expires, .. } = key;
        Ok(self.execute(ADD_KEY, params![name, roles, queues, made, hash, reviewer, expires])? > 0)
    }

    fn use_key(&mut self, name: &str, at: i64) -> Result<(), Error> {
        self.execute(USE_KEY, params![name, at]).map(drop)
    }

    fn revoke_key(&mut self, name: &str) -> Result<bool, Error> {
        // Marked first: if the process ends in between, the key still works, and the server is not
        // left open.
        self.execute(MARK_REVOKED, params![name, NO_HASH])?;
        Ok(self.execute(REVOKE_KEY, [name])? > 0)
    }
}
