//! Archiving: finished queues are copied into another folder, verified there, and then deleted from
//! their own database.

use crate::embedded_queue::find;
use crate::rows::LogRow;
use crate::store::lookups::{Lookups, ROWS};
use crate::store::sqlite::Sqlite;
use crate::store::{LogHead, QueueRow, Store};
use crate::store_location::StoreLocation;
use crate::{Error, verify};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The pause between two steps of a deletion, so that others can use the database.
const REST: Duration = Duration::from_millis(10);

/// A queue moved into an archive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArchivedQueue {
    /// The queue's name.
    pub queue: String,
    /// The number of entries of the queue's log.
    pub entries: u64,
}

/// Moves finished queues into the folder `to`. A queue is finished if it has had items, none is
/// open, and its last log entry is from before `before` (microseconds since 1970). With `only`,
/// moves that queue, or says why it is not finished. The archive is an SQLite folder, which may
/// have other queues already.
///
/// The copies are checked first by [`verify`]; if that fails, no queue is deleted. Rows are deleted
/// a few at a time. A running server no longer finds the queues. Keys, webhooks and remembered
/// answers are not moved.
pub fn archive(
    place: impl Into<StoreLocation>,
    to: &Path,
    before: i64,
    only: Option<&str>,
    wait: Duration,
) -> Result<Vec<ArchivedQueue>, Error> {
    let place = place.into();
    let mut store: Box<dyn Store> = match &place {
        // Also works while a server has the folder.
        StoreLocation::Folder(folder) => Box::new(Sqlite::open_to_read(folder)?),
        StoreLocation::Database(_) => place.open_existing(wait)?,
    };
    if let StoreLocation::Folder(folder) = &place
        && let (Ok(from), Ok(to)) = (folder.canonicalize(), to.canonicalize())
        && from == to
    {
        return Err(Error::Refused(format!(
            "{}: a folder cannot be archived into itself; choose another folder",
            folder.display()
        )));
    }
    let done = queues_done(store.as_mut(), before, only)?;
    if done.is_empty() {
        clear_away(store.as_mut())?;
        return Ok(Vec::new());
    }
    let mut moved = Vec::new();
    let mut archive = Sqlite::open(to, wait)?;
    for row in done {
        let head = store.begin_reading(row.id)?;
        let copied = copy(store.as_mut(), &mut archive, &row, head);
        store.rollback();
        copied?;
        moved.push((row, head));
    }
    let proved = verify(to)?;
    let of_these =
        |checked: &&crate::QueueVerification| moved.iter().any(|(row, _)| row.name == checked.queue);
    if let Some(checked) = proved.iter().filter(of_these).find(|checked| !checked.is_ok()) {
        // The copies would be in the way of the next attempt.
        for (row, _) in &moved {
            forget(&mut archive, &row.name)?;
        }
        return Err(Error::Corrupt(format!(
            "the copy of {} in {} failed verification, and nothing was deleted: {}",
            checked.queue,
            to.display(),
            checked.problems.first().map_or("not all of its claims are exact", String::as_str)
        )));
    }
    let mut archived = Vec::new();
    for (QueueRow { id, name }, head) in moved {
        store.delete_queue(id, Some(head.seq))?;
        archived.push(ArchivedQueue { queue: name, entries: head.seq });
    }
    clear_away(store.as_mut())?;
    Ok(archived)
}

/// Deletes a queue's copy from the archive, if there is one.
fn forget(archive: &mut Sqlite, name: &str) -> Result<(), Error> {
    if let Some(there) = archive.queues()?.into_iter().find(|there| there.name == name) {
        archive.delete_queue(there.id, None)?;
        clear_away(archive)?;
    }
    Ok(())
}

/// Deletes all rows that deleted queues have left, also those of an interrupted command.
fn clear_away(store: &mut dyn Store) -> Result<(), Error> {
    while store.clear_away()? {
        std::thread::sleep(REST);
    }
    // Overwrites the deleted rows in SQLite's journal. If another connection reads now, a later
    // checkpoint does it.
    let _ = store.scrub();
    Ok(())
}

/// Whether a queue ever had items. A queue that never had any is new, not finished.
fn has_items(store: &mut dyn Store, queue: i64) -> Result<bool, Error> {
    Ok(!store.plain_rows("items", "n", queue, i64::MIN)?.is_empty())
}

/// The queues that can be archived. With `only`, that queue alone, or an error that says why it
/// cannot be archived.
fn queues_done(store: &mut dyn Store, before: i64, only: Option<&str>) -> Result<Vec<QueueRow>, Error> {
    let heads = store.heads()?;
    let mut queues = store.queues()?;
    if let Some(name) = only {
        let (id, _) = find(store, Some(name))?;
        queues.retain(|queue| queue.id == id);
    }
    let mut done = Vec::new();
    for queue in queues {
        let late = heads.iter().any(|(id, _, at)| *id == queue.id && *at >= before);
        let open = store.has_open(queue.id)?;
        if !late && !open && !has_items(store, queue.id)? {
            if let Some(name) = only {
                return Err(Error::Refused(format!(
                    "{name}: it has no items yet; there is nothing to archive"
                )));
            }
            continue;
        }
        match (late, open, only) {
            (false, false, _) => done.push(queue),
            (true, _, Some(name)) => {
                return Err(Error::Refused(format!("{name}: its log has entries since that time")));
            }
            (_, true, Some(name)) => {
                return Err(Error::Refused(format!("{name}: it has open items; close them first")));
            }
            _ => {}
        }
    }
    Ok(done)
}

/// Copies a queue, without leases and remembered answers, in one transaction of the archive. If an
/// interrupted command left a copy, it is kept if complete, and replaced if the queue has new
/// entries. Errors if the archive has another queue of that name.
pub(crate) fn copy(
    store: &mut dyn Store,
    archive: &mut Sqlite,
    row: &QueueRow,
    head: LogHead,
) -> Result<(), Error> {
    if let Some(there) = archive.queues()?.into_iter().find(|there| there.name == row.name) {
        // It is a copy of this queue if its first and its last entry are the same. The first entry
        // contains a random number, the queue's secret.
        let copied = archive.head(there.id)?.seq;
        let mut ends_alike = copied <= head.seq;
        for (after, until) in [(0, 1), (copied - 1, copied)] {
            let body = |rows: Vec<LogRow>| rows.into_iter().map(|row| row.body).next();
            let here = body(store.log_rows(row.id, after, until)?);
            ends_alike &= here.is_some() && here == body(archive.log_rows(there.id, after, until)?);
        }
        if !ends_alike {
            return Err(Error::Refused(format!(
                "{}: the archive has another queue of that name; take another folder",
                row.name
            )));
        }
        if copied == head.seq {
            return Ok(());
        }
        forget(archive, &row.name)?;
    }
    archive.begin_writing()?;
    let copied = store.sealed_from(row.id).and_then(|sealed| {
        let queue = archive.insert_queue(&row.name, head, sealed)?;
        for (table, key) in ROWS.iter().filter(|(table, _)| !matches!(*table, "leases" | "idempotency")) {
            let mut after = i64::MIN;
            loop {
                let rows = store.plain_rows(table, key, row.id, after)?;
                let Some(last) = rows.last() else { break };
                // The first two cells of a row are the queue's number and the column `key`.
                let crate::store::value::SqlValue::Int(Some(key)) = last[1] else { break };
                after = key;
                archive.insert_rows(table, queue, &rows)?;
            }
        }
        Ok(())
    });
    match copied {
        Ok(()) => archive.commit(),
        Err(error) => {
            archive.rollback();
            Err(error)
        }
    }
}
