//! The table of webhooks: the contract, and SQLite, which keeps it.

use super::sqlite::Sqlite;
use super::sqlite::read::get;
use crate::Error;
use crate::hooks::{DeliveryOutcome, Secret, Webhook};
use rusqlite::params;

pub(crate) const HOOKS: &str = "SELECT w.queue, q.name, w.name, w.url, w.seen, w.made, w.failures, w.failing_since, w.next_try, w.why, w.off, q.head FROM webhooks w JOIN queues q ON q.id = w.queue ORDER BY w.queue, w.name";
/// One that is changed is nobody's: whoever was sending to what it was cannot say that it arrived.
pub(crate) const PUT_HOOK: &str = "INSERT INTO webhooks(queue, name, url, secret, seen, made, holder, until, failures, next_try, off) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0) ON CONFLICT(queue, name) DO UPDATE SET url = excluded.url, secret = excluded.secret, seen = excluded.seen, holder = 0, until = 0, failures = 0, failing_since = NULL, next_try = 0, why = NULL, off = 0, page = NULL";
pub(crate) const SECRET: &str =
    "SELECT secret, COALESCE(page, 0) FROM webhooks WHERE queue = ?1 AND name = ?2";
pub(crate) const DROP_HOOK: &str = "DELETE FROM webhooks WHERE queue = ?1 AND name = ?2";
/// One node at a time has it, until it says so again or its time is up. What is sent is a page of 100 entries at the most, and stays that page
/// until it has arrived, whoever tries it.
pub(crate) const TAKE_HOOK: &str = "UPDATE webhooks SET holder = ?3, until = ?5, page = CASE WHEN COALESCE(page, 0) > seen THEN page ELSE (SELECT CASE WHEN q.head > webhooks.seen + 100 THEN webhooks.seen + 100 ELSE q.head END FROM queues q WHERE q.id = webhooks.queue) END WHERE queue = ?1 AND name = ?2 AND off = 0 AND (holder = ?3 OR until <= ?4)";
pub(crate) const DELIVERED: &str = "UPDATE webhooks SET seen = ?4, failures = 0, failing_since = NULL, next_try = 0, why = NULL WHERE queue = ?1 AND name = ?2 AND holder = ?3 AND seen < ?4";
pub(crate) const FAILED: &str = "UPDATE webhooks SET failures = failures + 1, failing_since = COALESCE(failing_since, ?4), next_try = ?5, why = ?6, off = ?7 WHERE queue = ?1 AND name = ?2 AND holder = ?3";
/// What a node has that ends.
pub(crate) const GIVE_BACK: &str = "UPDATE webhooks SET holder = 0, until = 0 WHERE holder = ?1";
/// Those of a copy are the original's, whose receivers would be told of two queues as if they were one.
const REST: &str = "UPDATE webhooks SET off = 1, why = ?1";

/// A webhook from a row of [`HOOKS`], by whatever `get` reads a cell of it.
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

/// Where webhooks are kept. Each call is a transaction of its own.
pub(crate) trait HookStore {
    /// All of them, with how they stand.
    fn hooks(&mut self) -> Result<Vec<Webhook>, Error>;
    /// Makes one, or changes it: then it is as good as new.
    fn put_hook(&mut self, hook: &Webhook, secret: &Secret) -> Result<(), Error>;
    /// What one signs with, where there is one of that name; and the last entry of the page that is being sent.
    fn secret(&mut self, queue: i64, name: &str) -> Result<Option<(Secret, u64)>, Error>;
    /// Takes one away. False if there is none of that name.
    fn drop_hook(&mut self, queue: i64, name: &str) -> Result<bool, Error>;
    /// Has one to oneself until a time. False where another has it, or it is off.
    fn take_hook(&mut self, queue: i64, name: &str, holder: i64, now: i64, until: i64)
    -> Result<bool, Error>;
    /// Gives back all that somebody has.
    fn give_back_hooks(&mut self, holder: i64) -> Result<(), Error>;
    /// Notes what became of sending, for whoever has it. False where that is another.
    fn note_hook(&mut self, queue: i64, name: &str, holder: i64, outcome: &DeliveryOutcome) -> Result<bool, Error>;
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

    fn note_hook(&mut self, queue: i64, name: &str, holder: i64, outcome: &DeliveryOutcome) -> Result<bool, Error> {
        let noted = match outcome {
            DeliveryOutcome::Delivered { seen } => self.execute(DELIVERED, params![queue, name, holder, seen])?,
            DeliveryOutcome::Failed { at, next_try, why, off } => {
                self.execute(FAILED, params![queue, name, holder, at, next_try, why, i64::from(*off)])?
            }
        };
        Ok(noted > 0)
    }
}

impl Sqlite {
    /// Leaves all webhooks alone until each is put again.
    pub(crate) fn rest_hooks(&mut self, why: &str) -> Result<usize, Error> {
        self.execute(REST, params![why])
    }
}
