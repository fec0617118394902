//! What a server asks of a store besides what clerks do: the contract, and SQLite, which keeps it.

use super::Store;
use super::sqlite::Sqlite;
use crate::Error;
use crate::error::corrupt;
use rusqlite::params;

const ID: &str = "SELECT key FROM items WHERE queue = ?1 AND n = ?2 AND key IS NOT NULL";

/// Every table with rows of a queue; the queue's own row goes last.
pub(crate) const DELETE_QUEUE: [&str; 11] = [
    "DELETE FROM leases WHERE queue = ?1",
    "DELETE FROM claims WHERE queue = ?1",
    "DELETE FROM skips WHERE queue = ?1",
    "DELETE FROM verdicts WHERE queue = ?1",
    "DELETE FROM payloads WHERE queue = ?1",
    "DELETE FROM rescored WHERE queue = ?1",
    "DELETE FROM items WHERE queue = ?1",
    "DELETE FROM checkpoints WHERE queue = ?1",
    "DELETE FROM idempotency WHERE queue = ?1",
    "DELETE FROM log WHERE queue = ?1",
    "DELETE FROM queues WHERE id = ?1",
];

/// What a server asks of a store besides what clerks do.
pub(crate) trait Lookups {
    /// The ids of items, by their numbers; erased ones have none.
    fn ids(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String)>, Error>;
    /// Deletes a queue with all that belongs to it, in a transaction of its own.
    fn delete_queue(&mut self, queue: i64) -> Result<(), Error>;
}

impl Lookups for Sqlite {
    fn ids(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String)>, Error> {
        let mut ids = Vec::with_capacity(items.len());
        for n in items {
            let id = self.rows(ID, params![queue, n], |row| row.get(0).map_err(corrupt))?;
            ids.extend(id.into_iter().map(|id| (*n, id)));
        }
        Ok(ids)
    }

    fn delete_queue(&mut self, queue: i64) -> Result<(), Error> {
        self.begin(queue)?;
        for statement in DELETE_QUEUE {
            if let Err(error) = self.execute(statement, [queue]) {
                self.rollback();
                return Err(error);
            }
        }
        self.commit()
    }
}
