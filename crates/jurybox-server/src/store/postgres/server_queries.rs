//! The traits `KeyStore` and `Lookups` for PostgreSQL.

use super::Postgres;
use super::pipeline::StatementParam;
use super::row_reader::{CellSource as _, all, get, item, verdict};
use crate::error::corrupt;
use crate::event::VerdictPosition;
use crate::keys::ApiKey;
use crate::reads::recent::RecentVerdictRow;
use crate::reads::{ItemRecord, OwnVerdict, SkippedItem, VerdictRecord};
use crate::rows::{ItemRow, LogRow, source_from_text, tags_from_text};
use crate::store::Store;
use crate::store::keys::{
    ADD_KEY, HAD_KEYS, KEYS, KeyStore, MARK_REVOKED, NO_HASH, REVOKE_KEY, USE_KEY, key_of, texts_of,
};
use crate::store::lookups::{
    Arrivals, DELETE_QUEUE, DELETED_QUEUE, FORGET_QUEUE, ForEachItem, HAS_OPEN, Lookups, SEALED_FROM,
    StandingVerdict, VERDICT_ID, VerdictSummary, before_taking_back, delete_first, next_rows,
    written_meanwhile,
};
use crate::store::sql;
use crate::store::value::{SqlValue, values};
use crate::{Error, Tags};
use tokio_postgres::Column;
use tokio_postgres::types::Type;

/// The column types of an item.
const ITEM: [Type; 8] =
    [Type::INT8, Type::INT8, Type::INT8, Type::BYTEA, Type::TEXT, Type::FLOAT8, Type::INT8, Type::INT8];

const IDS: &str = "SELECT wanted.n, found.key FROM unnest($2::bigint[]) AS wanted(n) CROSS JOIN LATERAL (SELECT i.key FROM items i WHERE i.queue = $1 AND i.n = wanted.n AND i.key IS NOT NULL LIMIT 1) AS found";

impl KeyStore for Postgres {
    fn keys(&mut self) -> Result<Vec<ApiKey>, Error> {
        let rows = self.ask(KEYS, Vec::new())?;
        let read = |row: &tokio_postgres::Row| {
            let (roles, queues): (String, String) = (get(row, 1)?, get(row, 2)?);
            let key = key_of(get(row, 0)?, &roles, &queues, get(row, 3)?, &get::<Vec<u8>>(row, 4)?)?;
            Ok(ApiKey { reviewer: get(row, 5)?, expires: get(row, 6)?, used: get(row, 7)?, ..key })
        };
        rows.iter().map(read).collect()
    }

    fn had_keys(&mut self) -> Result<bool, Error> {
        Ok(!self.ask(HAD_KEYS, Vec::new())?.is_empty())
    }

    fn add_key(&mut self, key: &ApiKey) -> Result<bool, Error> {
        let (roles, queues) = texts_of(key);
        let added = format!("{ADD_KEY} RETURNING name");
        let (reviewer, expires) = (key.reviewer.clone(), key.expires);
        let values = values![&key.name, roles, queues, key.made, key.hash.to_vec(), reviewer, expires];
        Ok(!self.ask(&added, values)?.is_empty())
    }

    fn use_key(&mut self, name: &str, at: i64) -> Result<(), Error> {
        self.ask(USE_KEY, values![name, at]).map(drop)
    }

    fn revoke_key(&mut self, name: &str) -> Result<bool, Error> {
        self.ask(MARK_REVOKED, values![name.to_string(), NO_HASH.to_vec()])?;
        Ok(!self.ask(&format!("{REVOKE_KEY} RETURNING name"), values![name])?.is_empty())
    }
}

impl Lookups for Postgres {
    fn ids(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String)>, Error> {
        let items = StatementParam::Ints(items.iter().map(|n| Some(n.cast_signed())).collect());
        self.many(IDS, queue, items, |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn log_rows(&mut self, queue: i64, after: u64, until: u64) -> Result<Vec<LogRow>, Error> {
        let rows = self.ask(sql::LOG, values![queue, after, until])?;
        all(&rows, |row| {
            let (seq, at, actor) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
            Ok(LogRow { seq, at, actor, kind: get(row, 3)?, body: get(row, 4)? })
        })
    }

    fn first_rescored(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error> {
        all(&self.ask(sql::FIRST_RESCORED, values![queue, seq, most])?, |row| get(row, 0))
    }

    fn first_picked(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error> {
        all(&self.ask(sql::FIRST_PICKED, values![queue, seq, most])?, |row| get(row, 0))
    }

    fn first_given(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<(u64, VerdictSummary)>, Error> {
        all(&self.ask(sql::FIRST_GIVEN, values![queue, seq, most])?, |row| {
            let source = source_from_text(row.cell(3)?)?;
            Ok((get(row, 0)?, (get(row, 1)?, get(row, 2)?, source, get(row, 4)?, get(row, 5)?)))
        })
    }

    fn taken_back(&mut self, queue: i64, verdict: VerdictPosition, by: u64) -> Result<Option<String>, Error> {
        let rows = self.ask(VERDICT_ID, values![queue, verdict.seq, verdict.i])?;
        let id: Option<String> = rows.first().map(|row| get(row, 0)).transpose()?;
        Ok(id.and_then(|id| before_taking_back(&id, by)))
    }

    fn delete_queue(&mut self, queue: i64, head: Option<u64>) -> Result<(), Error> {
        let last = self.begin(queue)?.seq;
        if head.is_some_and(|head| head != last) {
            self.rollback();
            return Err(written_meanwhile());
        }
        for statement in DELETE_QUEUE {
            if let Err(error) = self.ask(statement, values![queue]) {
                self.rollback();
                return Err(error);
            }
        }
        self.commit()
    }

    fn has_open(&mut self, queue: i64) -> Result<bool, Error> {
        Ok(!self.ask(HAS_OPEN, values![queue])?.is_empty())
    }

    fn sealed_from(&mut self, queue: i64) -> Result<u64, Error> {
        let rows = self.ask(SEALED_FROM, values![queue])?;
        get(rows.first().ok_or_else(|| corrupt("the queue's row is missing"))?, 0)
    }

    fn plain_rows(
        &mut self,
        table: &str,
        key: &str,
        queue: i64,
        after: i64,
    ) -> Result<Vec<Vec<SqlValue>>, Error> {
        let rows = self.ask(&next_rows(table, key), values![queue, after])?;
        all(&rows, |row| {
            let cell = |(at, column): (usize, &Column)| {
                Ok(match *column.type_() {
                    Type::INT8 => SqlValue::Int(row.try_get(at).map_err(corrupt)?),
                    Type::FLOAT8 => SqlValue::Real(row.try_get(at).map_err(corrupt)?),
                    Type::BYTEA => SqlValue::Bytes(row.try_get(at).map_err(corrupt)?),
                    _ => SqlValue::Text(row.try_get(at).map_err(corrupt)?),
                })
            };
            row.columns().iter().enumerate().map(cell).collect()
        })
    }

    fn clear_away(&mut self) -> Result<bool, Error> {
        if self.ask(DELETED_QUEUE, Vec::new())?.is_empty() {
            return Ok(false);
        }
        self.begin_anything()?;
        let cleared: Result<(), Error> = (|| {
            let Some(queue) = self.ask(&format!("{DELETED_QUEUE} FOR UPDATE"), Vec::new())?.pop() else {
                return Ok(());
            };
            let queue: i64 = get(&queue, 0)?;
            for statement in delete_first() {
                let counted = format!("WITH gone AS ({statement} RETURNING 1) SELECT COUNT(*) FROM gone");
                let gone: i64 = get(&self.ask(&counted, values![queue])?[0], 0)?;
                if gone > 0 {
                    return Ok(());
                }
            }
            self.ask(FORGET_QUEUE, values![queue]).map(drop)
        })();
        if let Err(error) = cleared {
            self.rollback();
            return Err(error);
        }
        self.commit()?;
        Ok(true)
    }

    fn arrivals(&mut self, queue: i64) -> Result<Vec<Arrivals>, Error> {
        let rows = self.ask(sql::ARRIVALS, values![queue])?;
        all(&rows, |row| {
            let (seq, came, kept) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
            Ok(Arrivals { seq, came, kept, golden: get(row, 3)?, golden_kept: get(row, 4)? })
        })
    }

    fn reviewed(&mut self, queue: i64, each: &mut ForEachItem<'_>) -> Result<(), Error> {
        // COPY passes on each row as it arrives, but takes no parameters.
        let query = sql::lateral(&sql::reviewed()).replace("?1", &queue.to_string());
        let kinds = [&ITEM[..], &[Type::TEXT, Type::FLOAT8, Type::FLOAT8, Type::INT8]].concat();
        self.copy_out(&query, &kinds, &mut |row| {
            let said = StandingVerdict::of(row.cell(8)?, get(row, 9)?, get(row, 10)?, get(row, 11)?)?;
            each(item(row, 0)?, said)
        })
    }

    fn rewards(&mut self, queue: i64) -> Result<Vec<(Option<String>, f64, f64)>, Error> {
        let rows = self.ask(sql::REWARDS, values![queue])?;
        rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?))).collect()
    }

    fn recent_verdicts(&mut self, queue: i64, most: u64) -> Result<Vec<RecentVerdictRow>, Error> {
        let rows = self.ask(&sql::lateral(&sql::recent_verdicts()), values![queue, most])?;
        let read = |row: &tokio_postgres::Row| {
            Ok(RecentVerdictRow {
                item: item(row, 0)?,
                at: get(row, 8)?,
                claimed: get(row, 9)?,
                reviewer: get(row, 10)?,
                source: source_from_text(row.cell(11)?)?,
                label: get(row, 12)?,
                reward: get(row, 13)?,
                decides: get(row, 14)?,
                explored: get(row, 15)?,
                seen: get(row, 16)?,
            })
        };
        rows.iter().map(read).collect()
    }

    fn skipped(&mut self, queue: i64, most: u64) -> Result<Vec<SkippedItem>, Error> {
        let rows = self.ask(sql::SKIPPED, values![queue, most])?;
        let read = |row: &tokio_postgres::Row| {
            Ok(SkippedItem { at: get(row, 0)?, reviewer: get(row, 1)?, reason: get(row, 2)? })
        };
        rows.iter().map(read).collect()
    }

    fn skipped_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<(u64, SkippedItem)>, Error> {
        let rows = self.ask(sql::SKIPPED_OF, values![queue, after, last])?;
        let read = |row: &tokio_postgres::Row| {
            Ok((get(row, 0)?, SkippedItem { at: get(row, 1)?, reviewer: get(row, 2)?, reason: get(row, 3)? }))
        };
        rows.iter().map(read).collect()
    }

    fn last_arrivals(&mut self, queue: i64, most: u64) -> Result<Vec<i64>, Error> {
        let rows = self.ask(sql::LAST_ARRIVALS, values![queue, most])?;
        rows.iter().map(|row| get(row, 0)).collect()
    }

    fn own_verdicts(
        &mut self,
        queue: i64,
        reviewer: &str,
        after: u64,
        most: u64,
    ) -> Result<Vec<OwnVerdict>, Error> {
        let rows = self.ask(sql::OWN_VERDICTS, values![queue, after, reviewer, most])?;
        let read = |row: &tokio_postgres::Row| {
            Ok(OwnVerdict {
                id: get(row, 0)?,
                item: get(row, 1)?,
                at: get(row, 2)?,
                undo_until: get(row, 3)?,
                label: get(row, 4)?,
                reward: get(row, 5)?,
                note: get(row, 6)?,
            })
        };
        rows.iter().map(read).collect()
    }

    fn count_own(&mut self, queue: i64, reviewer: &str, after: u64) -> Result<u64, Error> {
        let rows = self.ask(sql::COUNT_OWN, values![queue, after, reviewer])?;
        rows.first().map_or(Ok(0), |row| get(row, 0))
    }

    fn at_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error> {
        let rows = self.ask(sql::AT_OF, values![queue, seq])?;
        rows.first().map(|row| get(row, 0)).transpose()
    }

    fn at_before(&mut self, queue: i64, by: i64) -> Result<Option<i64>, Error> {
        let rows = self.ask(sql::AT_BEFORE, values![queue, by])?;
        rows.first().map(|row| get(row, 0)).transpose()
    }

    fn entries_about(&mut self, queue: i64, n: u64, most: u64) -> Result<Vec<u64>, Error> {
        let rows = self.ask(sql::ABOUT, values![queue, n, most])?;
        rows.iter().map(|row| get(row, 0)).collect()
    }

    fn asked_before(&mut self, queue: i64) -> Result<Vec<u64>, Error> {
        let rows = self.ask(sql::ASKED_BEFORE, values![queue])?;
        rows.iter().map(|row| get(row, 0)).collect()
    }

    fn released(&mut self, queue: i64, at: i64) -> Result<u64, Error> {
        let rows = self.ask(sql::GIVEN_BACK, values![queue, at])?;
        rows.first().map_or(Ok(0), |row| get(row, 0))
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

    fn scored(
        &mut self,
        queue: i64,
        after: u64,
        last: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let rows = self.ask(&sql::lateral(&sql::scored()), values![queue, after, last])?;
        rows.iter().try_for_each(|row| each(item(row, 0)?))
    }

    fn kept(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<ItemRecord>, Error> {
        let rows = self.ask(&sql::lateral(&sql::kept()), values![queue, after, last])?;
        let read = |row| Ok(ItemRecord { item: item(row, 0)?, id: get(row, 8)?, payload: get(row, 9)? });
        rows.iter().map(read).collect()
    }

    fn told_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<VerdictRecord>, Error> {
        let rows = self.ask(&sql::told_of(), values![queue, after, last])?;
        let read = |row: &tokio_postgres::Row| {
            let (given, model, claimed) = (get(row, 18)?, get(row, 19)?, get(row, 20)?);
            Ok(VerdictRecord {
                verdict: verdict(row)?,
                given,
                model,
                claimed,
                note: get(row, 21)?,
                seen: get(row, 22)?,
            })
        };
        rows.iter().map(read).collect()
    }

    fn tag_sets(&mut self, queue: i64, each: &mut dyn FnMut(Tags) -> Result<(), Error>) -> Result<(), Error> {
        let query = sql::TAG_SETS.replace("?1", &queue.to_string());
        self.copy_out(&query, &[Type::TEXT], &mut |row| each(tags_from_text(row.cell(0)?)?))
    }
}
