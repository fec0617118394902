//! Storage of webhooks: the trait `HookStore`, its SQL statements, and its implementation for
//! SQLite.

use super::sqlite::Sqlite;
use super::sqlite::read::get;
use crate::Error;
use crate::hooks::{DeliveryOutcome, Secret, Webhook};
use rusqlite::params;

pub(crate) const HOOKS: &str = "SELECT w.queue, q.name, w.name, w.url, w.seen, w.made, w.failures, w.failing_since, w.next_try, w.why, w.off, q.head FROM webhooks w JOIN queues q ON q.id = w.queue ORDER BY w.queue, w.name";
/// Creates a webhook, or replaces its settings and resets its state. A node that was sending loses
/// its reservation, so that it cannot record a delivery to the old address.
pub(crate) const PUT_HOOK: &str = "INSERT INTO webhooks(queue, name, url, secret, seen, made, holder, until, failures, next_try, off) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0) ON CONFLICT(queue, name) DO UPDATE SET url = excluded.url, secret = excluded.secret, seen = excluded.seen, holder = 0, until = 0, failures = 0, failing_since = NULL, next_try = 0, why = NULL, off = 0, page = NULL";
pub(crate) const SECRET: &str =
    "SELECT secret, COALESCE(page, 0) FROM webhooks WHERE queue = ?1 AND name = ?2";
pub(crate) const DROP_HOOK: &str = "DELETE FROM webhooks WHERE queue = ?1 AND name = ?2";
/// Reserves a webhook for one node until a time, unless another node has it. Also fixes a page of
/// at most 100 entries, which stays the same until it is delivered, whichever node sends it.
pub(crate) const TAKE_HOOK: &str = "UPDATE webhooks SET holder = ?3, until = ?5, page = CASE WHEN COALESCE(page, 0) > seen THEN page ELSE (SELECT CASE WHEN q.head > webhooks.seen + 100 THEN webhooks.seen + 100 ELSE q.head END FROM queues q WHERE q.id = webhooks.queue) END WHERE queue = ?1 AND name = ?2 AND off = 0 AND (holder = ?3 OR until <= ?4)";
pub(crate) const DELIVERED: &str = "UPDATE webhooks SET seen = ?4, failures = 0, failing_since = NULL, next_try = 0, why = NULL WHERE queue = ?1 AND name = ?2 AND holder = ?3 AND seen < ?4";
pub(crate) const FAILED: &str = "UPDATE webhooks SET failures = failures + 1, failing_since = COALESCE(failing_since, ?4), next_try = ?5, why = ?6, off = ?7 WHERE queue = ?1 AND name = ?2 AND holder = ?3";
/// Ends all reservations of a node that shuts down.
pub(crate) const GIVE_BACK: &str = "UPDATE webhooks SET holder = 0, until = 0 WHERE holder = ?1";
/// Switches off all webhooks of a copied database, because receivers could not tell the copy's
/// queue from the original.
const REST: &str = "UPDATE webhooks SET off = 1, why = ?1";

/// Reads a [`Webhook`] from a row of [`HOOKS`]; the function `get` of the calling module reads the
/// cells.
macro_rules! webhook {
    ($row:expr) => {
        $crate::hooks::Webhook {
            id: get($row, 0)?,
            queue: get($row, 1)?,
            name: get($row, 2)?,
            url: get($row, 3)?,
            seen: get($row, 4)?,
            made: get($row, 5)?,
            failures: get($row, 6)?,
            failing_since: get($row, 7)?,
            next_try: get($row, 8)?,
            why: get($row, 9)?,
            off: get::<i64>($row, 10)? != 0,
            head: get($row, 11)?,
        }
    };
}
pub(crate) use webhook;

/// Storage of webhooks. Each call is a transaction of its own.
pub(crate) trait HookStore {
    /// All webhooks with their delivery state.
    fn hooks(&mut self) -> Result<Vec<Webhook>, Error>;
    /// Creates or replaces a webhook, and resets its failures.
    fn put_hook(&mut self, hook: &Webhook, secret: &Secret) -> Result<(), Error>;
    /// The signing secret of a webhook and the last entry of the page being sent; None if there is
    /// no such webhook.
    fn secret(&mut self, queue: i64, name: &str) -> Result<Option<(Secret, u64)>, Error>;
    /// Deletes a webhook. False if there is none of that name.
    fn drop_hook(&mut self, queue: i64, name: &str) -> Result<bool, Error>;
    /// Reserves a webhook for the node `holder` until `until`. False if another node has it at
    /// `now`, or if it is switched off or missing.
    fn take_hook(&mut self, queue: i64, name: &str, holder: i64, now: i64, until: i64)
    -> Result<bool, Error>;
    /// Ends all reservations of `holder`.
    fn give_back_hooks(&mut self, holder: i64) -> Result<(), Error>;
    /// Records the outcome of a delivery. False if `holder` has lost its reservation, or if the
    /// delivered entries were recorded before.
    fn note_hook(
        &mut self,
        queue: i64,
        name: &str,
        holder: i64,
        outcome: &DeliveryOutcome,
    ) -> Result<bool, Error>;
}

impl HookStore for Sqlite {
    fn hooks(&mut self) -> Result<Vec<Webhook>, Error> {
        self.rows(HOOKS, [], |row| Ok(webhook!(row)))
    }

    fn put_hook(&mut self, hook: &Webhook, secret: &Secret) -> Result<(), Error> {
        let Webhook { id, name, url, seen, made, .. } = hook;
        self.execute(PUT_HOOK, params![id, name, url, secret.bytes(), seen, made])?;
        Ok(())
    }

    fn secret(&mut self, queue: i64, name: &str) -> Result<Option<(Secret, u64)>, Error> {
        let read = |row: &rusqlite::Row<'_>| Ok((Secret::of(get(row, 0)?), get(row, 1)?));
        Ok(self.rows(SECRET, params![queue, name], read)?.pop())
    }

    fn drop_hook(&mut self, queue: i64, name: &str) -> Result<bool, Error> {
        Ok(self.execute(DROP_HOOK, params![queue, name])? > 0)
    }

    fn take_hook(
        &mut self,
        queue: i64,
        name: &str,
        holder: i64,
        now: i64,
        until: i64,
    ) -> Result<bool, Error> {
        Ok(self.execute(TAKE_HOOK, params![queue, name, holder, now, until])? > 0)
    }

    fn give_back_hooks(&mut self, holder: i64) -> Result<(), Error> {
        self.execute(GIVE_BACK, params![holder]).map(drop)
    }

    fn note_hook(
        &mut self,
        queue: i64,
        name: &str,
        holder: i64,
        outcome: &DeliveryOutcome,
    ) -> Result<bool, Error> {
        let noted = match outcome {
            DeliveryOutcome::Delivered { seen } => {
                self.execute(DELIVERED, params![queue, name, holder, seen])?
            }
            DeliveryOutcome::Failed { at, next_try, why, off } => {
                self.execute(FAILED, params![queue, name, holder, at, next_try, why, i64::from(*off)])?
            }
        };
        Ok(noted > 0)
    }
}

impl Sqlite {
    /// Switches off all webhooks until each is put again, and stores the reason. Returns their
    /// number.
    pub(crate) fn rest_hooks(&mut self, why: &str) -> Result<usize, Error> {
        self.execute(REST, params![why])
    }
}
