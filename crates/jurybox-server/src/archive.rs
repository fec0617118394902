//! Archives: queues that are done move into a folder of their own, which is proved before anything
//! is deleted.

use crate::embedded_queue::find;
use crate::store_location::StoreLocation;
use crate::rows::LogRow;
use crate::store::lookups::{Lookups, ROWS};
use crate::store::sqlite::Sqlite;
use crate::store::{LogHead, QueueRow, Store};
use crate::{Error, verify};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// How long others have the database between two steps of a deletion.
const REST: Duration = Duration::from_millis(10);

/// A queue that was moved into an archive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArchivedQueue {
    /// Its name.
    pub queue: String,
    /// Entries of its log.
    pub entries: u64,
}

/// Moves queues in which no item is open, and whose last entry is older than `before` (microseconds
/// since 1970), into the folder `to`: all of them, or the one that is named. The folder is a desk
/// with an SQLite database, whatever the queues were in, and may have others already.
///
/// The copies are proved first, as by [`verify`]; where they do not hold, nothing is deleted. What
/// is deleted is deleted a few rows at a time. A server may have the queues' folder meanwhile: it
/// does not find them any more. Keys, webhooks and remembered answers are not moved.
pub fn archive(
    place: impl Into<StoreLocation>,
    to: &Path,
    before: i64,
    only: Option<&str>,
    wait: Duration,
) -> Result<Vec<ArchivedQueue>, Error> {
    let place = place.into();
    let mut store: Box<dyn Store> = match &place {
        // Also while a server has it.
        StoreLocation::Folder(folder) => Box::new(Sqlite::open_to_read(folder)?),
        StoreLocation::Database(_) => place.open_what_is_there(wait)?,
    };
    if let StoreLocation::Folder(folder) = &place
        && let (Ok(from), Ok(to)) = (folder.canonicalize(), to.canonicalize())
        && from == to
    {
        return Err(Error::Refused(format!("{}: a folder is no archive of itself", folder.display())));
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
    let of_these = |checked: &&crate::QueueVerification| moved.iter().any(|(row, _)| row.name == checked.queue);
    if let Some(checked) = proved.iter().filter(of_these).find(|checked| !checked.is_ok()) {
        // What does not hold is of no use to anybody, and would be in the way of the next try.
        for (row, _) in &moved {
            forget(&mut archive, &row.name)?;
        }
        return Err(Error::Corrupt(format!(
            "the copy of {} in {} does not hold, and nothing was deleted: {}",
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

/// Deletes the copy of a queue from an archive, if there is one.
fn forget(archive: &mut Sqlite, name: &str) -> Result<(), Error> {
    if let Some(there) = archive.queues()?.into_iter().find(|there| there.name == name) {
        archive.delete_queue(there.id, None)?;
        clear_away(archive)?;
    }
    Ok(())
}

/// Deletes the rows of queues that were deleted, also of those that a command before has left.
fn clear_away(store: &mut dyn Store) -> Result<(), Error> {
    while store.clear_away()? {
        std::thread::sleep(REST);
    }
    // Where somebody reads now, what was deleted is overwritten with a later checkpoint.
    let _ = store.scrub();
    Ok(())
}

/// Whether a queue has had items. One that waits for its first is not done.
fn has_items(store: &mut dyn Store, queue: i64) -> Result<bool, Error> {
    Ok(!store.plain_rows("items", "n", queue, i64::MIN)?.is_empty())
}

/// The queues that can be archived; where one is named, that one, or why it cannot.
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
                return Err(Error::Refused(format!("{name}: something happened in it since that time")));
            }
            (_, true, Some(name)) => {
                return Err(Error::Refused(format!("{name}: it has open items; close them first")));
            }
            _ => {}
        }
    }
    Ok(done)
}

/// Copies a queue with all its rows, in one transaction of the archive. A copy that is there already
/// is left if it is the same, and made anew if the queue has gone on since: a command before was
/// ended between its copy and its deletion.
pub(crate) fn copy(
    store: &mut dyn Store,
    archive: &mut Sqlite,
    row: &QueueRow,
    head: LogHead,
) -> Result<(), Error> {
    if let Some(there) = archive.queues()?.into_iter().find(|there| there.name == row.name) {
        // The first entry has the queue's secret, which no other queue has.
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
                // The queue comes first in every table, and then the key.
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
