//! What a server asks of a store besides what clerks do: the contract, and SQLite, which keeps it.

use super::sqlite::Sqlite;
use super::sqlite::read::{get, item, log_row, plain_row, verdict};
use super::value::SqlValue;
use super::{Store, sql};
use crate::error::corrupt;
use crate::event::{VerdictSource, VerdictPosition};
use crate::reads::recent::RecentVerdictRow;
use crate::reads::{ItemRecord, OwnVerdict, SkippedItem, VerdictRecord};
use crate::rows::{ItemRow, LogRow, source_from_text, tags_from_text};
use crate::{Error, Tags};
use rusqlite::params;

const ID: &str = "SELECT key FROM items WHERE queue = ?1 AND n = ?2 AND key IS NOT NULL";

pub(crate) const VERDICT_ID: &str = "SELECT id FROM verdicts WHERE queue = ?1 AND seq = ?2 AND i = ?3";

/// The id of a verdict without what `TAKE_BACK` puts behind it.
pub(crate) fn before_taking_back(id: &str, by: u64) -> Option<String> {
    id.strip_suffix(&format!(" (taken back by {by})")).map(Into::into)
}

/// How a queue is deleted, in one short transaction: nobody finds it any more, and its rows are
/// deleted step by step.
pub(crate) const DELETE_QUEUE: [&str; 3] = [
    "DELETE FROM webhooks WHERE queue = ?1",
    "INSERT INTO deleted_queues(queue) VALUES (?1)",
    "DELETE FROM queues WHERE id = ?1",
];

/// Every other table with rows of a queue, and by what those are found in order.
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

/// Rows that are deleted at once: whoever writes waits for that long.
const AT_ONCE: i64 = 500;
/// Pages that are given back at once.
const PAGES: i64 = 512;

/// The first queue that was deleted and has rows. Several servers of one database take turns.
pub(crate) const DELETED_QUEUE: &str =
    "SELECT queue FROM deleted_queues WHERE queue NOT IN (SELECT id FROM queues) ORDER BY queue LIMIT 1";
pub(crate) const FORGET_QUEUE: &str = "DELETE FROM deleted_queues WHERE queue = ?1";

/// The statements that delete the first rows of a queue from each of its tables.
pub(crate) fn delete_first() -> impl Iterator<Item = String> {
    ROWS.iter().map(|(table, key)| {
        format!(
            "DELETE FROM {table} WHERE queue = ?1 AND {key} <= (SELECT MAX({key}) FROM (SELECT {key} FROM {table} WHERE queue = ?1 ORDER BY {key} LIMIT {AT_ONCE}) AS first)"
        )
    })
}

pub(crate) const HAS_OPEN: &str = "SELECT n FROM items WHERE queue = ?1 AND closed_seq IS NULL LIMIT 1";
pub(crate) const SEALED_FROM: &str = "SELECT sealed FROM queues WHERE id = ?1";

/// The rows of a table after a key, all of those that share the last one.
pub(crate) fn next_rows(table: &str, key: &str) -> String {
    format!(
        "SELECT * FROM {table} WHERE queue = ?1 AND {key} > ?2 AND {key} <= (SELECT MAX({key}) FROM (SELECT {key} FROM {table} WHERE queue = ?1 AND {key} > ?2 ORDER BY {key} LIMIT {AT_ONCE}) AS next) ORDER BY {key}"
    )
}

/// What is said where a queue that was to be moved is still in use.
pub(crate) fn written_meanwhile() -> Error {
    Error::Conflict("it was written to meanwhile, and is not deleted: once more".into())
}

/// What a server asks of a store besides what clerks do.
pub(crate) trait Lookups {
    /// The ids of items, by their numbers; erased ones have none.
    fn ids(&mut self, queue: i64, items: &[u64]) -> Result<Vec<(u64, String)>, Error>;
    /// The entries of the log after one and up to another, without the rows that belong to them.
    fn log_rows(&mut self, queue: i64, after: u64, until: u64) -> Result<Vec<LogRow>, Error>;
    /// The first items that an entry scored anew.
    fn first_rescored(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error>;
    /// The first items that an entry gave out.
    fn first_picked(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<u64>, Error>;
    /// The first verdicts of an entry, with the numbers of their items.
    fn first_given(&mut self, queue: i64, seq: u64, most: u64) -> Result<Vec<(u64, VerdictSummary)>, Error>;
    /// The id of a verdict as it was before an entry took it back; none where its item was erased.
    fn taken_back(&mut self, queue: i64, verdict: VerdictPosition, by: u64) -> Result<Option<String>, Error>;
    /// Deletes a queue: nobody finds it any more. Its rows are there until they are [cleared
    /// away](Self::clear_away). Refuses where an entry is named, and it is not the last one.
    fn delete_queue(&mut self, queue: i64, head: Option<u64>) -> Result<(), Error>;
    /// Whether an item of the queue is open.
    fn has_open(&mut self, queue: i64) -> Result<bool, Error>;
    /// From which entry on every entry of the queue has a seal.
    fn sealed_from(&mut self, queue: i64) -> Result<u64, Error>;
    /// The next rows of a table after a key, with all their cells.
    fn plain_rows(
        &mut self,
        table: &str,
        key: &str,
        queue: i64,
        after: i64,
    ) -> Result<Vec<Vec<SqlValue>>, Error>;
    /// Deletes a few rows of queues that were deleted, in a transaction of its own, or gives back
    /// space that is free. True where there may be more to do.
    fn clear_away(&mut self) -> Result<bool, Error>;
    /// What each entry brought that brought items.
    fn arrivals(&mut self, queue: i64) -> Result<Vec<Arrivals>, Error>;
    /// Every item that was drawn on arrival or has a verdict that stands, by number, once for each such verdict.
    fn reviewed(&mut self, queue: i64, each: &mut ForEachItem<'_>) -> Result<(), Error>;
    /// Items with a verdict that names no claim, which had been given out before, to whomever.
    fn asked_before(&mut self, queue: i64) -> Result<Vec<u64>, Error>;
    /// How many items were given out for their value or their date, that are in nobody's hands at a time, and have no verdict that stands.
    fn released(&mut self, queue: i64, at: i64) -> Result<u64, Error>;
    /// The labels of verdicts that stand, with the lowest and the highest reward of each.
    fn rewards(&mut self, queue: i64) -> Result<Vec<(Option<String>, f64, f64)>, Error>;
    /// The last verdicts that stand, so many at the most, newest first.
    fn recent_verdicts(&mut self, queue: i64, most: u64) -> Result<Vec<RecentVerdictRow>, Error>;
    /// The last items that reviewers did not want, newest first.
    fn skipped(&mut self, queue: i64, most: u64) -> Result<Vec<SkippedItem>, Error>;
    /// Items after one number and up to another that reviewers did not want, with their numbers, oldest first.
    fn skipped_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<(u64, SkippedItem)>, Error>;
    /// When the last items came in, newest first.
    fn last_arrivals(&mut self, queue: i64, most: u64) -> Result<Vec<i64>, Error>;
    /// The last verdicts of a reviewer after an entry that stand, newest first.
    fn own_verdicts(&mut self, queue: i64, reviewer: &str, after: u64, most: u64) -> Result<Vec<OwnVerdict>, Error>;
    /// How many verdicts of a reviewer after an entry stand.
    fn count_own(&mut self, queue: i64, reviewer: &str, after: u64) -> Result<u64, Error>;
    /// When an entry was made.
    fn at_of(&mut self, queue: i64, seq: u64) -> Result<Option<i64>, Error>;
    /// When the last of the entries was made that were made by that time.
    fn at_before(&mut self, queue: i64, by: i64) -> Result<Option<i64>, Error>;
    /// The entries that brought an item, scored it anew, gave it to somebody, judged it, took that back or ended it; newest first.
    fn entries_about(&mut self, queue: i64, n: u64, most: u64) -> Result<Vec<u64>, Error>;
    /// Every so manieth item that came in and was not erased, by number.
    fn every(
        &mut self,
        queue: i64,
        step: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// The same of all items after one number and up to another.
    fn scored(
        &mut self,
        queue: i64,
        after: u64,
        last: u64,
        each: &mut dyn FnMut(ItemRow) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// Items after one number and up to another, as they are; not those that were erased.
    fn kept(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<ItemRecord>, Error>;
    /// The verdicts that stand on those, by item, in the order of the log.
    fn told_of(&mut self, queue: i64, after: u64, last: u64) -> Result<Vec<VerdictRecord>, Error>;
    /// Every set of tags that an item has.
    fn tag_sets(&mut self, queue: i64, each: &mut dyn FnMut(Tags) -> Result<(), Error>) -> Result<(), Error>;
}

/// Takes an item, and a verdict on it where there is one.
pub(crate) type ForEachItem<'a> = dyn FnMut(ItemRow, Option<StandingVerdict>) -> Result<(), Error> + 'a;

/// A verdict as pages tell it: its id, its reviewer, where it comes from, its reward, and what the item is worth where that decides it.
pub(crate) type VerdictSummary = (String, String, VerdictSource, f64, Option<f64>);

/// What an entry brought.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrivals {
    pub(crate) seq: u64,
    /// How many items.
    pub(crate) came: u64,
    /// How many of them have not been erased.
    pub(crate) kept: u64,
    /// How many of those that came are golden, and of those that are there.
    pub(crate) golden: u64,
    pub(crate) golden_kept: u64,
}

/// What a verdict that stands says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StandingVerdict {
    pub(crate) source: VerdictSource,
    pub(crate) reward: f64,
    pub(crate) decides: Option<f64>,
    /// The claim that it answers, if any.
    pub(crate) claim: Option<u64>,
}

impl StandingVerdict {
    /// Nothing where the item has no verdict.
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

/// Verdicts are found by their item. SQLite, which knows nothing of how many there are, would go through all of a queue for each.
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
        sealed.ok_or_else(|| corrupt("the queue is not there"))
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

    fn own_verdicts(&mut self, queue: i64, reviewer: &str, after: u64, most: u64) -> Result<Vec<OwnVerdict>, Error> {
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

    /// The steps by which a statement is carried out.
    fn plan(store: &Sqlite, statement: &str) -> Vec<String> {
        let values = (1..=3).filter(|at| statement.contains(&format!("?{at}"))).map(|_| 1_i64);
        let (explain, values) = (format!("EXPLAIN QUERY PLAN {statement}"), values.collect::<Vec<_>>());
        store.rows(&explain, rusqlite::params_from_iter(values), |row| get(row, 3)).unwrap()
    }

    /// With 90,000 items in reviewers' hands a report took two minutes: all leases were looked through for each item.
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
