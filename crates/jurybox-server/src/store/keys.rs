//! The table of keys: the contract, and SQLite, which keeps it.

use super::sqlite::Sqlite;
use crate::Error;
use crate::error::corrupt;
use crate::keys::Key;
use rusqlite::params;

pub(crate) const KEYS: &str = "SELECT name, roles, queues, made, hash FROM api_keys ORDER BY made, name";
pub(crate) const ADD_KEY: &str = "INSERT INTO api_keys(name, roles, queues, made, hash) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
pub(crate) const REVOKE_KEY: &str = "DELETE FROM api_keys WHERE name = ?1";

/// Where keys are kept. Each call is a transaction of its own.
pub(crate) trait KeyStore {
    /// All of them, the first made first.
    fn keys(&mut self) -> Result<Vec<Key>, Error>;
    /// Adds one. False if there is one of that name.
    fn add_key(&mut self, key: &Key) -> Result<bool, Error>;
    /// Takes one away. False if there is none of that name.
    fn revoke_key(&mut self, name: &str) -> Result<bool, Error>;
}

/// A key from the texts of its row.
pub(crate) fn key_of(name: String, roles: &str, queues: &str, made: i64, hash: &[u8]) -> Result<Key, Error> {
    Ok(Key {
        name,
        roles: serde_json::from_str(roles).map_err(corrupt)?,
        queues: serde_json::from_str(queues).map_err(corrupt)?,
        made,
        hash: hash.try_into().map_err(corrupt)?,
    })
}

/// The roles and the queues of a key, as texts.
pub(crate) fn texts_of(key: &Key) -> (String, String) {
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_else(|_| "[]".into());
    (text(serde_json::to_string(&key.roles)), text(serde_json::to_string(&key.queues)))
}

impl KeyStore for Sqlite {
    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        self.rows(KEYS, [], |row| {
            let text = |at: usize| row.get::<_, String>(at).map_err(corrupt);
            let hash: Vec<u8> = row.get(4).map_err(corrupt)?;
            key_of(text(0)?, &text(1)?, &text(2)?, row.get(3).map_err(corrupt)?, &hash)
        })
    }

    fn add_key(&mut self, key: &Key) -> Result<bool, Error> {
        let (roles, queues) = texts_of(key);
        Ok(self.execute(ADD_KEY, params![key.name, roles, queues, key.made, key.hash])? > 0)
    }

    fn revoke_key(&mut self, name: &str) -> Result<bool, Error> {
        Ok(self.execute(REVOKE_KEY, [name])? > 0)
    }
}
