//! Queries for pages, reports, archives and the deletion of queues: the trait `Lookups`, and its
//! implementation for SQLite.

use super::sqlite::Sqlite;
use super::sqlite::read::{get, item, log_row, plain_row, verdict};
use super::value::SqlValue;
use super::{Store, sql};
use crate::error::corrupt;
use crate::event::{VerdictPosition, VerdictSource};
use crate::reads::recent::RecentVerdictRow;
use crate::reads::{ItemRecord, OwnVerdict, SkippedItem, VerdictRecord};
use crate::rows::{ItemRow, LogRow, source_from_text, tags_from_text};
use crate::{Error, Tags};
use rusqlite::params;

const ID: &str = "SELECT key FROM items WHERE queue = ?1 AND n = ?2 AND key IS NOT NULL";

pub(crate) const VERDICT_ID: &str = "SELECT id FROM verdicts WHERE queue = ?1 AND seq = ?2 AND i = ?3";

/// The original id of a verdict, without the suffix that the statement `TAKE_BACK` appended in
/// entry `by`. None if the id has no such suffix.
pub(crate) fn before_taking_back(id: &str, by: u64) -> Option<String> {
    id.strip_suffix(&format!(" (taken back by {by})")).map(Into::into)
}

/// Deletes a queue in one short transaction. The queue disappears at once; its rows are deleted
/// later, step by step.
pub(crate) const DELETE_QUEUE: [&str; 3] = [
    "DELETE FROM webhooks WHERE queue = ?1",
    "INSERT INTO deleted_queues(queue) VALUES (?1)",
    "DELETE FROM queues WHERE id = ?1",
];

/// The tables with rows of queues, apart from `queues` and `webhooks`, each with the column that
/// orders its rows.
pub(crate) const ROWS: [(&str, &str); 11] = [
    ("leases", "item"),
    ("claims", "seq"),
    ("skips", "item"),
    ("verdicts", "seq"),
    ("payloads", "n"),
    ("notes", "n"),
    ("rescored", "n"),
    ("items", "n"),
    ("checkpoints", "seq"),
    ("idempotency", "key"),
    ("log", "seq"),
];

/// The number of rows deleted or read in one step; further rows with the key of the last one are
/// included. Writers wait while a step deletes.
const AT_ONCE: i64 = 500;
/// Free pages returned to the file system in one step.
const PAGES: i64 = 512;

/// The first deleted queue that may still have rows.
pub(crate) const DELETED_QUEUE: &str =
    "SELECT queue FROM deleted_queues WHERE queue NOT IN (SELECT id FROM queues) ORDER BY queue LIMIT 1";
pub(crate) const FORGET_QUEUE: &str = "DELETE FROM deleted_queues WHERE queue = ?1";

/// The statements that delete the first rows of a queue, one for each table.
pub(crate) fn delete_first() -> impl Iterator<Item = String> {
    ROWS.iter().map(|(table, key)| {
        format!(
            "DELETE FROM {table} WHERE queue = ?1 AND {key} <= (SELECT MAX({key}) FROM (SELECT {key} FROM {table} WHERE queue = ?1 ORDER BY {key} LIMIT {AT_ONCE}) AS first)"
        )
    })
}

pub(crate) const HAS_OPEN: &str = "SELECT n FROM items WHERE queue = ?1 AND closed_seq IS NULL LIMIT 1";
pub(crate) const SEALED_FROM: &str = "SELECT sealed FROM queues WHERE id = ?1";

/// The query for the next rows of a table after a key. Further rows with the key of the last one
/// are included.
pub(crate) fn next_rows(table: &str, key: &str) -> String {
    format!(
        "SELECT * FROM {table} WHERE queue = ?1 AND {key} > ?2 AND {key} <= (SELECT MAX({key}) FROM (SELECT {key} FROM {table} WHERE queue = ?1 AND {key} > ?2 ORDER BY {key} LIMIT {AT_ONCE}) AS next) ORDER BY {key}"
    )
}

/// The error for deleting a queue that was written to meanwhile.
pub(crate) fn written_meanwhile() -> Error {
    Error::Conflict("the queue was written to meanwhile and is not deleted; try again".into())
}

/// Queries for pages, reports, archives and the deletion of queues.
pub(crate) trait Lookups {
    /// The ids of items by number; erased items are left out.
    fn ids(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String)>, Error>;
    /// The log entries after `after`, up to `until`, without the rows of other tables.
    fn log_rows(&mut self, queue: i64, after: u64, until: u64) -> Result<Vec<LogRow>, Error>;
    /// The first `most` items that an entry rescored, by number.
    fn first_rescored(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error>;
    /// The first `most` items that an entry claimed.
    fn first_picked(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error>;
    /// The first `most` verdicts of an entry, with the numbers of their items.
    fn first_given(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<(u64, VerdictSummary)>, Error>;
    /// The original id of a verdict that entry `by` took back; None if its item was erased.
    fn taken_back(&mut self, queue: i64, verdict: VerdictPosition, by: u64) -> Result<Option<String>, Error>;
    /// Deletes a queue, which disappears at once; [`clear_away`](Self::clear_away) deletes its
    /// rows. [`Error::Conflict`] if `head` is given and is not the queue's last entry.
    fn delete_queue(&mut self, queue: i64, head: Option<u64>) -> Result<(), Error>;
    /// Whether the queue has an open item.
    fn has_open(&mut self, queue: i64) -> Result<bool, Error>;
    /// The entry from which on every entry of the queue has a seal.
    fn sealed_from(&mut self, queue: i64) -> Result<u64, Error>;
    /// The next rows of a table after a key, with all their cells.
    fn plain_rows(
        &mut self,
        table: &str,
        key: &str,
        queue: i64,
        after: i64,
    ) -> Result<Vec<Vec<SqlValue>>, Error>;
    /// Deletes some rows of a deleted queue in a transaction. Without deleted queues, SQLite
    /// returns free space to the file system instead. True if there may be more to do.
    fn clear_away(&mut self) -> Result<bool, Error>;
    /// Counts of the items that each entry added.
    fn arrivals(&mut self, queue: i64) -> Result<Vec<Arrivals>, Error>;
    /// Calls `each` for every item with a valid verdict, once per verdict, and for every random
    /// check without one; in order of numbers.
    fn reviewed(&mut self, queue: i64, each: &mut ForEachItem<'_>) -> Result<(), Error>;
    /// The items that anybody had claimed before they got a valid verdict without a claim.
    fn asked_before(&mut self, queue: i64) -> Result<Vec<u64>, Error>;
    /// The number of claimed items that nobody holds at time `at` and that have no valid verdict.
    /// Random checks and golden items do not count.
    fn released(&mut self, queue: i64, at: i64) -> Result<u64, Error>;
    /// The labels of valid verdicts, each with its lowest and highest reward.
    fn rewards(&mut self, queue: i64) -> Result<Vec<(Option<String>, f64, f64)>, Error>;
    /// The last valid verdicts, at most `most`, newest first.
    fn recent_verdicts(&mut self, queue: i64, most: u64) -> Result<Vec<RecentVerdictRow>, Error>;
    /// The last skips, at most `most`, newest first.
    fn skipped(&mut self, queue: i64, most: u64) -> Result<Vec<SkippedItem>, Error>;
    /// The skips of items numbered `after + 1` to `last`, by item, oldest first.
    fn skipped_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<(u64, SkippedItem)>, Error>;
    /// The arrival times of the last `most` items, newest first.
    fn last_arrivals(&mut self, queue: i64, most: u64) -> Result<Vec<i64>, Error>;
    /// The last `most` valid verdicts that a reviewer gave after an entry, newest first. Verdicts
    /// on erased items are left out.
    fn own_verdicts(
        &mut self,
        queue: i64,
        reviewer: &str,
        after: u64,
        most: u64,
    ) -> Result<Vec<OwnVerdict>, Error>;
    /// The number of valid verdicts that a reviewer gave after an entry, also on erased items.
    fn count_own(&mut self, queue: i64, reviewer: &str, after: u64) -> Result<u64, Error>;
    /// The time of an entry.
    fn at_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error>;
    /// The time of the last entry whose time is at most `by`.
    fn at_before(&mut self, queue: i64, by: i64) -> Result<Option<i64>, Error>;
    /// The last `most` entries that added, rescored, claimed, skipped, judged or closed an item, or
    /// superseded a verdict on it; newest first.
    fn entries_about(&mut self, queue: i64, n: u64, most: u64) -> Result<Vec<u64>, Error>;
    /// Calls `each` for every item whose number is a multiple of `step`, in order of numbers;
    /// erased items are left out.
    fn every(
        &mut self,
        queue: i64,
        step: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// Calls `each` for the items numbered `after + 1` to `last`, in order of numbers; erased items
    /// are left out.
    fn scored(
        &mut self,
        queue: i64,
        after: u64,
        last: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// The items numbered `after + 1` to `last` with present scores; erased items are left out.
    fn kept(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<ItemRecord>, Error>;
    /// The valid verdicts on items numbered `after + 1` to `last`, by item, in log order.
    fn told_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<VerdictRecord>, Error>;
    /// Calls `each` for every distinct set of tags of items that were not erased, except the empty
    /// set.
    fn tag_sets(&mut self, queue: i64, each: &mut dyn FnMut(Tags) -> Result<(), Error>) -> Result<(), Error>;
}

/// A function that takes an item, and one of its valid verdicts if it has any.
pub(crate) type ForEachItem<'a> = dyn FnMut(ItemRow, Option<StandingVerdict>) -> Result<(), Error> + 'a;

/// A verdict as shown on pages: id, reviewer, source, reward, and the item's final reward if this
/// verdict decides it.
pub(crate) type VerdictSummary = (String, String, VerdictSource, f64, Option<f64>);

/// Counts of the items that an entry added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrivals {
    pub(crate) seq: u64,
    /// Items added.
    pub(crate) came: u64,
    /// Items added and not erased.
    pub(crate) kept: u64,
    /// Golden items added.
    pub(crate) golden: u64,
    /// Golden items added and not erased.
    pub(crate) golden_kept: u64,
}

/// A valid verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StandingVerdict {
    pub(crate) source: VerdictSource,
    pub(crate) reward: f64,
    pub(crate) decides: Option<f64>,
    /// The claim that it answers, if any.
    pub(crate) claim: Option<u64>,
}

impl StandingVerdict {
    /// A verdict from the cells of its row; None if they are null, for an item without a verdict.
    pub(crate) fn of(
        source: Option<&str>,
        reward: Option<f64>,
        decides: Option<f64>,
        claim: Option<u64>,
    ) -> Result<Option<StandingVerdict>, Error> {
        let Some((source, reward)) = source.zip(reward) else { return Ok(None) };
        Ok(Some(StandingVerdict { source: source_from_text(source)?, reward, decides, claim }))
    }
}

/// Adds to a query the index by which SQLite is to find the valid verdicts on an item. Without the
/// index's name, SQLite would scan all verdicts of a queue for each item.
fn by_item(query: &str) -> String {
    query.replacen(" verdicts v ", " verdicts v INDEXED BY verdicts_that_stand ", 1)
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

    fn log_rows(&mut self, queue: i64, after: u64, until: u64) -> Result<Vec<LogRow>, Error> {
        self.rows(sql::LOG, params![queue, after, until], log_row)
    }

    fn first_rescored(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error> {
        self.rows(sql::FIRST_RESCORED, params![queue, seq, most], |row| get(row, 0))
    }

    fn first_picked(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error> {
        self.rows(sql::FIRST_PICKED, params![queue, seq, most], |row| get(row, 0))
    }

    fn first_given(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<(u64, VerdictSummary)>, Error> {
        self.rows(sql::FIRST_GIVEN, params![queue, seq, most], |row| {
            let source = source_from_text(&get::<String>(row, 3)?)?;
            Ok((get(row, 0)?, (get(row, 1)?, get(row, 2)?, source, get(row, 4)?, get(row, 5)?)))
        })
    }

    fn taken_back(&mut self, queue: i64, verdict: VerdictPosition, by: u64) -> Result<Option<String>, Error> {
        let id = self.rows(VERDICT_ID, params![queue, verdict.seq, verdict.i], |row| get(row, 0))?.pop();
        Ok(id.and_then(|id: String| before_taking_back(&id, by)))
    }

    fn delete_queue(&mut self, queue: i64, head: Option<u64>) -> Result<(), Error> {
        let last = self.begin(queue)?.seq;
        if head.is_some_and(|head| head != last) {
            self.rollback();
            return Err(written_meanwhile());
        }
        for statement in DELETE_QUEUE {
            if let Err(error) = self.execute(statement, [queue]) {
                self.rollback();
                return Err(error);
            }
        }
        self.commit()
    }

    fn has_open(&mut self, queue: i64) -> Result<bool, Error> {
        Ok(!self.rows(HAS_OPEN, [queue], |row| get::<i64>(row, 0))?.is_empty())
    }

    fn sealed_from(&mut self, queue: i64) -> Result<u64, Error> {
        let sealed = self.rows(SEALED_FROM, [queue], |row| get(row, 0))?.pop();
        sealed.ok_or_else(|| corrupt("the queue's row is missing"))
    }

    fn plain_rows(
        &mut self,
        table: &str,
        key: &str,
        queue: i64,
        after: i64,
    ) -> Result<Vec<Vec<SqlValue>>, Error> {
        self.rows(&next_rows(table, key), params![queue, after], plain_row)
    }

    fn clear_away(&mut self) -> Result<bool, Error> {
        let Some(queue) = self.rows(DELETED_QUEUE, [], |row| get::<i64>(row, 0))?.pop() else {
            return self.give_back(PAGES);
        };
        self.begin_writing()?;
        let cleared = delete_first()
            .find_map(|statement| {
                let gone = self.execute(&statement, [queue]);
                (!matches!(gone, Ok(0))).then_some(gone)
            })
            .unwrap_or_else(|| self.execute(FORGET_QUEUE, [queue]));
        if let Err(error) = cleared {
            self.rollback();
            return Err(error);
        }
        self.commit()?;
        Ok(true)
    }

    fn arrivals(&mut self, queue: i64) -> Result<Vec<Arrivals>, Error> {
        self.rows(sql::ARRIVALS, [queue], |row| {
            let (seq, came, kept) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
            Ok(Arrivals { seq, came, kept, golden: get(row, 3)?, golden_kept: get(row, 4)? })
        })
    }

    fn reviewed(&mut self, queue: i64, each: &mut ForEachItem<'_>) -> Result<(), Error> {
        self.rows(&by_item(&sql::reviewed()), [queue], |row| {
            let source: Option<String> = get(row, 8)?;
            let said = StandingVerdict::of(source.as_deref(), get(row, 9)?, get(row, 10)?, get(row, 11)?)?;
            each(item(row, 0)?, said)
        })?;
        Ok(())
    }

    fn rewards(&mut self, queue: i64) -> Result<Vec<(Option<String>, f64, f64)>, Error> {
        self.rows(sql::REWARDS, [queue], |row| Ok((get(row, 0)?, get(row, 1)?, get(row, 2)?)))
    }

    fn recent_verdicts(&mut self, queue: i64, most: u64) -> Result<Vec<RecentVerdictRow>, Error> {
        self.rows(&sql::recent_verdicts(), (queue, most), |row| {
            Ok(RecentVerdictRow {
                item: item(row, 0)?,
                at: get(row, 8)?,
                claimed: get(row, 9)?,
                reviewer: get(row, 10)?,
                source: source_from_text(&get::<String>(row, 11)?)?,
                label: get(row, 12)?,
                reward: get(row, 13)?,
                decides: get(row, 14)?,
                explored: get(row, 15)?,
                seen: get(row, 16)?,
            })
        })
    }

    fn skipped(&mut self, queue: i64, most: u64) -> Result<Vec<SkippedItem>, Error> {
        self.rows(sql::SKIPPED, (queue, most), |row| {
            Ok(SkippedItem { at: get(row, 0)?, reviewer: get(row, 1)?, reason: get(row, 2)? })
        })
    }

    fn skipped_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<(u64, SkippedItem)>, Error> {
        self.rows(sql::SKIPPED_OF, (queue, after, last), |row| {
            Ok((get(row, 0)?, SkippedItem { at: get(row, 1)?, reviewer: get(row, 2)?, reason: get(row, 3)? }))
        })
    }

    fn last_arrivals(&mut self, queue: i64, most: u64) -> Result<Vec<i64>, Error> {
        self.rows(sql::LAST_ARRIVALS, (queue, most), |row| get(row, 0))
    }

    fn own_verdicts(
        &mut self,
        queue: i64,
        reviewer: &str,
        after: u64,
        most: u64,
    ) -> Result<Vec<OwnVerdict>, Error> {
        self.rows(sql::OWN_VERDICTS, params![queue, after, reviewer, most], |row| {
            Ok(OwnVerdict {
                id: get(row, 0)?,
                item: get(row, 1)?,
                at: get(row, 2)?,
                undo_until: get(row, 3)?,
                label: get(row, 4)?,
                reward: get(row, 5)?,
                note: get(row, 6)?,
            })
        })
    }

    fn count_own(&mut self, queue: i64, reviewer: &str, after: u64) -> Result<u64, Error> {
        let counts = self.rows(sql::COUNT_OWN, params![queue, after, reviewer], |row| get(row, 0))?;
        Ok(counts.first().copied().unwrap_or(0))
    }

    fn at_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error> {
        Ok(self.rows(sql::AT_OF, (queue, seq), |row| get(row, 0))?.pop())
    }

    fn at_before(&mut self, queue: i64, by: i64) -> Result<Option<i64>, Error> {
        Ok(self.rows(sql::AT_BEFORE, (queue, by), |row| get(row, 0))?.pop())
    }

    fn entries_about(&mut self, queue: i64, n: u64, most: u64) -> Result<Vec<u64>, Error> {
        self.rows(sql::ABOUT, (queue, n, most), |row| get(row, 0))
    }

    fn asked_before(&mut self, queue: i64) -> Result<Vec<u64>, Error> {
        self.rows(&by_item(sql::ASKED_BEFORE), [queue], |row| get(row, 0))
    }

    fn released(&mut self, queue: i64, at: i64) -> Result<u64, Error> {
        let counts = self.rows(&by_item(sql::GIVEN_BACK), (queue, at), |row| get(row, 0))?;
        Ok(counts.first().copied().unwrap_or(0))
    }

    fn every(
        &mut self,
        queue: i64,
        step: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.rows(&sql::every(), (queue, step), |row| each(item(row, 0)?))?;
        Ok(())
    }

    fn scored(
        &mut self,
        queue: i64,
        after: u64,
        last: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.rows(&sql::scored(), (queue, after, last), |row| each(item(row, 0)?))?;
        Ok(())
    }

    fn kept(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<ItemRecord>, Error> {
        self.rows(&sql::kept(), (queue, after, last), |row| {
            Ok(ItemRecord { item: item(row, 0)?, id: get(row, 8)?, payload: get(row, 9)? })
        })
    }

    fn told_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<VerdictRecord>, Error> {
        self.rows(&sql::told_of(), (queue, after, last), |row| {
            let (given, model, claimed) = (get(row, 18)?, get(row, 19)?, get(row, 20)?);
            Ok(VerdictRecord {
                verdict: verdict(row)?,
                given,
                model,
                claimed,
                note: get(row, 21)?,
                seen: get(row, 22)?,
            })
        })
    }

    fn tag_sets(&mut self, queue: i64, each: &mut dyn FnMut(Tags) -> Result<(), Error>) -> Result<(), Error> {
        self.rows(sql::TAG_SETS, [queue], |row| each(tags_from_text(&get::<String>(row, 0)?)?))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// SQLite's query plan of a statement.
    fn plan(store: &Sqlite, statement: &str) -> Vec<String> {
        let values = (1..=3).filter(|at| statement.contains(&format!("?{at}"))).map(|_| 1_i64);
        let (explain, values) = (format!("EXPLAIN QUERY PLAN {statement}"), values.collect::<Vec<_>>());
        store.rows(&explain, rusqlite::params_from_iter(values), |row| get(row, 3)).unwrap()
    }

    // Regression test: a report scanned all leases of the queue for each item.
    #[test]
    fn what_a_report_reads_it_finds_by_queue_and_item() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path(), Duration::ZERO).unwrap();
        let of_report = [by_item(sql::GIVEN_BACK), by_item(sql::ASKED_BEFORE), by_item(&sql::reviewed())];
        for statement in of_report {
            let plan = plan(&store, &statement);
            assert!(plan.iter().any(|step| step.starts_with("SEARCH ")), "{plan:#?}");
            for step in &plan {
                let inner = step.starts_with("SEARCH l ") || step.starts_with("SEARCH v ");
                assert!(!inner || step.contains("(queue=? AND item=?"), "{step} of {plan:#?}");
                assert!(!step.starts_with("SCAN") || step == "SCAN given", "{step} of {plan:#?}");
            }
        }
    }
}
