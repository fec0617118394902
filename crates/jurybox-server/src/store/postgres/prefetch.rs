//! Fewer round trips: a transaction looks up announced keys when it begins, and holds back writes
//! until the next statement. On a slow network, ten statements in one round trip take as long as
//! one.

use super::Postgres;
use super::pipeline::{BoundStatement, StatementParam};
use super::row_reader::{get, verdict};
use crate::Error;
use crate::pg_connection::QueryInFlight;
use crate::rows::{FoundItem, StoredAnswer, VerdictRow};
use crate::store::{Prefetch, sql};
use std::collections::{HashMap, HashSet};
use tokio_postgres::Row;

// The lateral join looks up each key by its index. A plan from the time when the table was empty
// might otherwise scan a whole queue.
const FIND: &str = "SELECT wanted.key, found.n FROM unnest($2::text[]) AS wanted(key) CROSS JOIN LATERAL (SELECT i.n FROM items i WHERE i.queue = $1 AND i.key = wanted.key LIMIT 1) AS found";
const REMEMBERED: &str = "SELECT wanted.key, found.hash, found.answer FROM unnest($2::text[]) AS wanted(key) CROSS JOIN LATERAL (SELECT a.hash, a.answer FROM idempotency a WHERE a.queue = $1 AND a.key = wanted.key LIMIT 1) AS found";

fn by_ids() -> String {
    let one = sql::verdict_by_id().replace("?1", "$1").replace("?2", "wanted.id");
    format!(
        "SELECT found.* FROM unnest($2::text[]) AS wanted(id) CROSS JOIN LATERAL ({one} LIMIT 1) AS found"
    )
}

/// The keys that can be stored. PostgreSQL refuses text with a NUL character, which would fail the
/// whole transaction.
fn storable(keys: &[String]) -> StatementParam {
    let fit = keys.iter().filter(|key| !key.contains('\0'));
    StatementParam::Texts(fit.map(|key| Some(key.clone())).collect())
}

/// The keys that were looked up, and the rows that were found.
#[derive(Debug)]
struct Prefetched<T> {
    asked: HashSet<String>,
    found: HashMap<String, T>,
}

impl<T: Clone> Prefetched<T> {
    fn new(asked: Vec<String>, found: impl IntoIterator<Item = (String, T)>) -> Self {
        Prefetched { asked: asked.into_iter().collect(), found: found.into_iter().collect() }
    }

    /// The rows of these keys; None unless all these keys were looked up.
    fn of(&self, keys: &[String]) -> Option<Vec<(String, T)>> {
        let found = |key: &String| Some((key.clone(), self.found.get(key)?.clone()));
        keys.iter().all(|key| self.asked.contains(key)).then(|| keys.iter().filter_map(found).collect())
    }
}

/// What a transaction has looked up in advance, and the writes it has not sent or confirmed.
#[derive(Debug, Default)]
pub(super) struct TransactionBuffer {
    foreseen: Prefetch,
    items: Option<Prefetched<FoundItem>>,
    verdicts: Option<Prefetched<VerdictRow>>,
    answers: Option<Prefetched<StoredAnswer>>,
    /// Writes to be sent with the next statement.
    pub(super) held_back: Vec<BoundStatement>,
    /// Writes that were sent and not yet confirmed.
    pub(super) under_way: QueryInFlight<Vec<Row>>,
}

impl TransactionBuffer {
    pub(super) fn prefetch(&mut self, foreseen: Prefetch) {
        self.foreseen = foreseen;
    }

    /// Discards the rows looked up in advance, which a write may have changed.
    pub(super) fn forget(&mut self) {
        (self.items, self.verdicts, self.answers) = (None, None, None);
    }

    /// The lookups to send when a transaction begins.
    pub(super) fn asks(&mut self, queue: i64) -> (Prefetch, Vec<BoundStatement>) {
        let foreseen = std::mem::take(&mut self.foreseen);
        let Prefetch { items, verdicts, answers } = &foreseen;
        let lists = [(FIND, items), (&by_ids(), verdicts), (REMEMBERED, answers)];
        let asks = lists.iter().filter(|(_, keys)| !keys.is_empty());
        let asks = asks.map(|(sql, keys)| BoundStatement::with_keys(sql, queue, storable(keys))).collect();
        (foreseen, asks)
    }

    /// Stores the results of the lookups.
    pub(super) fn take(&mut self, foreseen: Prefetch, rows: Vec<Vec<Row>>) -> Result<(), Error> {
        let mut rows = rows.into_iter();
        let Prefetch { items, verdicts, answers } = foreseen;
        if !items.is_empty() {
            let found = read(&rows.next().unwrap_or_default(), found)?;
            self.items = Some(Prefetched::new(items, found));
        }
        if !verdicts.is_empty() {
            let found = read(&rows.next().unwrap_or_default(), verdict)?;
            let found = found.into_iter().map(|row| (row.id.clone(), row));
            self.verdicts = Some(Prefetched::new(verdicts, found));
        }
        if !answers.is_empty() {
            let found = read(&rows.next().unwrap_or_default(), remembered)?;
            let found = found.into_iter().map(|there| (there.key.clone(), there));
            self.answers = Some(Prefetched::new(answers, found));
        }
        Ok(())
    }
}

fn read<T>(rows: &[Row], read: impl Fn(&Row) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    rows.iter().map(read).collect()
}

fn found(row: &Row) -> Result<(String, FoundItem), Error> {
    Ok((get(row, 0)?, FoundItem { n: get(row, 1)? }))
}

fn remembered(row: &Row) -> Result<StoredAnswer, Error> {
    Ok(StoredAnswer { key: get(row, 0)?, hash: get(row, 1)?, answer: get(row, 2)? })
}

impl Postgres {
    pub(super) fn find_items(
        &mut self,
        queue: i64,
        keys: &[String],
    ) -> Result<Vec<(String, FoundItem)>, Error> {
        match self.ahead_of.items.as_ref().and_then(|brought| brought.of(keys)) {
            Some(there) => Ok(there),
            None => self.many(FIND, queue, storable(keys), found),
        }
    }

    pub(super) fn find_verdicts(&mut self, queue: i64, ids: &[String]) -> Result<Vec<VerdictRow>, Error> {
        match self.ahead_of.verdicts.as_ref().and_then(|brought| brought.of(ids)) {
            Some(there) => Ok(there.into_iter().map(|(_, row)| row).collect()),
            None => self.many(&by_ids(), queue, storable(ids), verdict),
        }
    }

    pub(super) fn find_answers(&mut self, queue: i64, keys: &[String]) -> Result<Vec<StoredAnswer>, Error> {
        match self.ahead_of.answers.as_ref().and_then(|brought| brought.of(keys)) {
            Some(there) => Ok(there.into_iter().map(|(_, answer)| answer).collect()),
            None => self.many(REMEMBERED, queue, storable(keys), remembered),
        }
    }
}
