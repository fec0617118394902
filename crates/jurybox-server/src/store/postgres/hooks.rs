//! The trait `HookStore` for PostgreSQL.

use super::Postgres;
use super::row_reader::get;
use crate::Error;
use crate::hooks::{DeliveryOutcome, Secret, Webhook};
use crate::store::hooks::{
    DELIVERED, DROP_HOOK, FAILED, GIVE_BACK, HOOKS, HookStore, PUT_HOOK, SECRET, TAKE_HOOK, webhook,
};
use crate::store::value::{SqlValue, values};

impl Postgres {
    /// Runs a statement; true if it changed a row.
    fn changes(&mut self, statement: &str, values: Vec<SqlValue>) -> Result<bool, Error> {
        Ok(!self.ask(&format!("{statement} RETURNING name"), values)?.is_empty())
    }
}

impl HookStore for Postgres {
    fn hooks(&mut self) -> Result<Vec<Webhook>, Error> {
        let rows = self.ask(HOOKS, Vec::new())?;
        rows.iter().map(|row| Ok(webhook!(row))).collect()
    }

    fn put_hook(&mut self, hook: &Webhook, secret: &Secret) -> Result<(), Error> {
        let Webhook { id, name, url, seen, made, .. } = hook;
        self.ask(PUT_HOOK, values![*id, name, url, secret.bytes().to_vec(), *seen, *made])?;
        Ok(())
    }

    fn secret(&mut self, queue: i64, name: &str) -> Result<Option<(Secret, u64)>, Error> {
        let rows = self.ask(SECRET, values![queue, name])?;
        rows.first().map(|row| Ok((Secret::of(get(row, 0)?), get(row, 1)?))).transpose()
    }

    fn drop_hook(&mut self, queue: i64, name: &str) -> Result<bool, Error> {
        self.changes(DROP_HOOK, values![queue, name])
    }

    fn take_hook(
        &mut self,
        queue: i64,
        name: &str,
        holder: i64,
        now: i64,
        until: i64,
    ) -> Result<bool, Error> {
        self.changes(TAKE_HOOK, values![queue, name, holder, now, until])
    }

    fn give_back_hooks(&mut self, holder: i64) -> Result<(), Error> {
        self.ask(GIVE_BACK, values![holder]).map(drop)
    }

    fn note_hook(
        &mut self,
        queue: i64,
        name: &str,
        holder: i64,
        outcome: &DeliveryOutcome,
    ) -> Result<bool, Error> {
        match outcome {
            DeliveryOutcome::Delivered { seen } => {
                self.changes(DELIVERED, values![queue, name, holder, *seen])
            }
            DeliveryOutcome::Failed { at, next_try, why, off } => {
                self.changes(FAILED, values![queue, name, holder, *at, *next_try, why, *off])
            }
        }
    }
}
