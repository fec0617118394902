//! Reading a range of log entries from PostgreSQL, with all rows that belong to them.

use super::Postgres;
use super::pipeline::BoundStatement;
use super::row_reader::{get, item, scores, verdict};
use crate::Error;
use crate::event::ClaimPick;
use crate::rows::LogChunk;
use crate::store::lookups::Lookups;
use crate::store::sql;
use crate::store::value::values;
use std::collections::HashSet;

impl Postgres {
    /// The entries after `after`, up to `until`.
    pub(super) fn stretch(&mut self, queue: i64, after: u64, until: u64) -> Result<LogChunk, Error> {
        let log = self.log_rows(queue, after, until)?;
        let mut chunk = LogChunk { log, ..LogChunk::default() };
        let kinds: HashSet<&str> = chunk.log.iter().map(|row| row.kind.as_str()).collect();
        // Only tables that these entries concern are queried, all in one round trip.
        let mut asks = Vec::new();
        let mut ask = |wanted: bool, sql: &str, values| {
            if wanted {
                asks.push(BoundStatement::new(sql, values));
            }
            wanted
        };
        let stretch = || values![queue, after, until];
        let numbers = chunk.numbers()?;
        let (first, last) = numbers.unwrap_or_default();
        let added = ask(numbers.is_some(), sql::ADDED, values![queue, first, last]);
        let rescored = ask(kinds.contains("items"), sql::RESCORED, stretch());
        let picked = ask(kinds.contains("claim"), sql::PICKED, stretch());
        let given = ask(kinds.contains("verdicts"), &sql::lateral(&sql::given()), stretch());
        let turned = chunk.turned()?;
        for (seq, n) in &turned {
            ask(true, &sql::lateral(&sql::item_at()), values![queue, *n, *seq]);
        }
        let mut answers = if asks.is_empty() { Vec::new() } else { self.ask_all(&asks)? }.into_iter();
        let mut next = |wanted: bool| if wanted { answers.next().unwrap_or_default() } else { Vec::new() };
        for row in next(added) {
            let row = item(&row, 0)?;
            chunk.items.insert(row.n, row);
        }
        for row in next(rescored) {
            let late = (get(&row, 1)?, scores(&row, 2)?);
            chunk.rescored.entry(get(&row, 0)?).or_default().push(late);
        }
        for row in next(picked) {
            let (n, slot, value) = (get(&row, 1)?, get(&row, 2)?, get(&row, 3)?);
            let pick = ClaimPick { n, slot, value, probability: get(&row, 4)?, explored: get(&row, 5)? };
            chunk.picked.entry(get(&row, 0)?).or_default().push(pick);
        }
        for row in next(given) {
            let row = (verdict(&row)?, item(&row, 18)?);
            chunk.given.entry(row.0.which.seq).or_default().push(row);
        }
        for (seq, n) in turned {
            for row in next(true) {
                chunk.turned.insert((seq, n), item(&row, 0)?);
            }
        }
        Ok(chunk)
    }
}
