//! What a server asks of a store besides what clerks do: keys, and the end of a queue.

use super::Postgres;
use super::read::{Cells as _, get, item};
use super::say::Cells;
use crate::Error;
use crate::event::Which;
use crate::keys::Key;
use crate::rows::ItemRow;
use crate::store::Store;
use crate::store::keys::{
    ADD_KEY, HAD_KEYS, KEYS, KeyStore, MARK_REVOKED, NO_HASH, REVOKE_KEY, key_of, texts_of,
};
use crate::store::lookups::{DELETE_QUEUE, EachLooked, Lookups, Said, VERDICT_ID, before_taking_back};
use crate::store::sql;
use crate::store::value::values;
use tokio_postgres::types::Type;

/// The columns of an item.
const ITEM: [Type; 8] =
    [Type::INT8, Type::INT8, Type::INT8, Type::BYTEA, Type::TEXT, Type::FLOAT8, Type::INT8, Type::INT8];

const IDS: &str = "SELECT wanted.n, found.key FROM unnest($2::bigint[]) AS wanted(n) CROSS JOIN LATERAL (SELECT i.key FROM items i WHERE i.queue = $1 AND i.n = wanted.n AND i.key IS NOT NULL LIMIT 1) AS found";

impl KeyStore for Postgres {
    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        let rows = self.ask(KEYS, Vec::new())?;
        let read = |row: &tokio_postgres::Row| {
            let (roles, queues): (String, String) = (get(row, 1)?, get(row, 2)?);
            key_of(get(row, 0)?, &roles, &queues, get(row, 3)?, &get::<Vec<u8>>(row, 4)?)
        };
        rows.iter().map(read).collect()
    }

    fn had_keys(&mut self) -> Result<bool, Error> {
        Ok(!self.ask(HAD_KEYS, Vec::new())?.is_empty())
    }

    fn add_key(&mut self, key: &Key) -> Result<bool, Error> {
        let (roles, queues) = texts_of(key);
        let added = format!("{ADD_KEY} RETURNING name");
        let values = values![&key.name, roles, queues, key.made, key.hash.to_vec()];
        Ok(!self.ask(&added, values)?.is_empty())
    }

    fn revoke_key(&mut self, name: &str) -> Result<bool, Error> {
        self.ask(MARK_REVOKED, values![name.to_string(), NO_HASH.to_vec()])?;
        Ok(!self.ask(&format!("{REVOKE_KEY} RETURNING name"), values![name])?.is_empty())
    }
}

impl Lookups for Postgres {
    fn ids(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String)>, Error> {
        let items = Cells::Ints(items.iter().map(|n| Some(n.cast_signed())).collect());
        self.many(IDS, queue, items, |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn taken_back(&mut self, queue: i64, verdict: Which, by: u64) -> Result<Option<String>, Error> {
        let rows = self.ask(VERDICT_ID, values![queue, verdict.seq, verdict.i])?;
        let id: Option<String> = rows.first().map(|row| get(row, 0)).transpose()?;
        Ok(id.and_then(|id| before_taking_back(&id, by)))
    }

    fn delete_queue(&mut self, queue: i64) -> Result<(), Error> {
        self.begin(queue)?;
        for statement in DELETE_QUEUE {
            if let Err(error) = self.ask(statement, values![queue]) {
                self.rollback();
                return Err(error);
            }
        }
        self.commit()
    }

    fn arrivals(&mut self, queue: i64) -> Result<Vec<(u64, u64, u64)>, Error> {
        let rows = self.ask(sql::ARRIVALS, values![queue])?;
        rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?))).collect()
    }

    fn looked_at(&mut self, queue: i64, each: &mut EachLooked<'_>) -> Result<(), Error> {
        // A COPY comes row by row, and takes no values.
        let query = sql::lateral(&sql::looked_at()).replace("?1", &queue.to_string());
        let kinds = [&ITEM[..], &[Type::TEXT, Type::FLOAT8, Type::FLOAT8, Type::INT8]].concat();
        self.copy_out(&query, &kinds, &mut |row| {
            let said = Said::of(row.cell(8)?, get(row, 9)?, get(row, 10)?, get(row, 11)?)?;
            each(item(row, 0)?, said)
        })
    }

    fn rewards(&mut self, queue: i64) -> Result<Vec<(Option<String>, f64, f64)>, Error> {
        let rows = self.ask(sql::REWARDS, values![queue])?;
        rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?))).collect()
    }

    fn asked_before(&mut self, queue: i64) -> Result<Vec<u64>, Error> {
        let rows = self.ask(sql::ASKED_BEFORE, values![queue])?;
        rows.iter().map(|row| get(row, 0)).collect()
    }

    fn every(
        &mut self,
        queue: i64,
        step: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let query = sql::lateral(&sql::every()).replace("?1", &queue.to_string());
        self.copy_out(&query.replace("?2", &step.to_string()), &ITEM, &mut |row| each(item(row, 0)?))
    }
}
