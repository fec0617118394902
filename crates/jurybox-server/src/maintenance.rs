//! Maintenance of records: rebuilding, which computes a queue's state from its log again; comparing
//! clocks; and copying folders. PostgreSQL databases are copied with `pg_dump`.

use crate::Error;
use crate::embedded_queue::{EmbeddedQueue, find};
use crate::error::corrupt;
use crate::load::{checkpoint_of, load, refold};
use crate::replica::Replica;
use crate::request::{Answer, Call, Request};
use crate::store::sqlite::{FILE, Sqlite, check_copy, clear_journals, for_us_alone, lock, make_folder};
use crate::store::{Checkpoint, Store, set_up};
use crate::store_location::StoreLocation;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The result of a rebuild.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RebuildReport {
    /// The queue's name.
    pub queue: String,
    /// The last entry that was folded.
    pub head: u64,
    /// Checkpoints whose bytes equal those of a new fold.
    pub checkpoints: u64,
    /// The entries of checkpoints that differed. They have been replaced.
    pub mismatches: Vec<u64>,
    /// Whether the tables agree with the log; none if the fold ended before the head.
    pub tables_agree: Option<bool>,
    /// The SHA-256 of the checkpoint at the end, in hexadecimal.
    pub sha256: String,
}

/// Applies a queue's log (a fold) from the beginning up to entry `to`, or to its end, and stores a
/// checkpoint there. Compares all checkpoints up to that entry with new folds, and replaces those
/// that differ.
///
/// A checkpoint is compared with a fold that knows the facts up to the checkpoint's entry. The
/// tables are compared with the log if the fold reaches its end.
pub fn rebuild(
    place: impl Into<StoreLocation>,
    queue: Option<&str>,
    to: Option<u64>,
    wait: Duration,
) -> Result<RebuildReport, Error> {
    let mut store = place.into().open_existing(wait)?;
    let (id, name) = find(store.as_mut(), queue)?;
    rebuild_in(store.as_mut(), id, name, to)
}

fn rebuild_in(store: &mut dyn Store, id: i64, name: String, to: Option<u64>) -> Result<RebuildReport, Error> {
    let head = store.begin_reading(id)?;
    let found: Result<_, Error> = (|| {
        let until = to.unwrap_or(head.seq).min(head.seq);
        let learner = refold(store, id, until, &mut |_| Ok(()))?;
        let (mut agree, mut mismatches) = (0, Vec::new());
        for kept in store.checkpoints(id)?.iter().filter(|kept| kept.seq <= until) {
            let again = checkpoint_of(&refold(store, id, kept.seq, &mut |_| Ok(()))?);
            if are_equal(kept, &again) { agree += 1 } else { mismatches.push(again) }
        }
        let tables = if until == head.seq { Some(tables_agree(store, id)?) } else { None };
        Ok((checkpoint_of(&learner), agree, mismatches, tables))
    })();
    store.rollback();
    let (last, checkpoints, mismatches, tables_agree) = found?;
    for checkpoint in &mismatches {
        store.replace(id, checkpoint)?;
    }
    let mut hex = String::new();
    for byte in &last.sha256 {
        let _ = write!(hex, "{byte:02x}");
    }
    let head = last.seq;
    store.keep(id, &last)?;
    let mismatches = mismatches.iter().map(|checkpoint| checkpoint.seq).collect();
    Ok(RebuildReport { queue: name, head, checkpoints, mismatches, tables_agree, sha256: hex })
}

fn are_equal(a: &Checkpoint, b: &Checkpoint) -> bool {
    (a.seq, a.epoch, &a.state, &a.sha256) == (b.seq, b.epoch, &b.state, &b.sha256)
}

/// Whether the tables hold the same live queue as a fold of the log.
fn tables_agree(store: &mut dyn Store, queue: i64) -> Result<bool, Error> {
    let head = store.head(queue)?;
    let (history, _) = set_up(store, queue, head.seq)?;
    let first = store.events(queue, 0, 1, &history)?;
    let mut folded =
        Replica::new(first.first().ok_or_else(|| corrupt("the queue's log has no `create` entry"))?)?;
    while folded.live.seq < head.seq {
        for event in store.events(queue, folded.live.seq, head.seq, &history)? {
            folded.live.apply(&event)?;
            folded.live.commit();
        }
    }
    Ok(folded.live.to_bytes() == load(store, queue, head)?.0.live.to_bytes())
}

/// The time of a queue's log, compared with the clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogTime {
    /// The queue's name.
    pub queue: String,
    /// By how many seconds the last entry is ahead of the clock; 0 or negative if the entry is in
    /// the past.
    pub ahead_seconds: i64,
    /// Whether the log's time was set back to the clock's.
    pub set_back: bool,
}

/// Compares the time of every queue's log with the clock: the machine's for a folder, the
/// database's for a database. With `repair`, logs that are ahead by more than a minute are set
/// back. Their leases end, and their verdicts can no longer be undone. If a server has the folder,
/// the server does the repair.
pub fn log_times(
    place: impl Into<StoreLocation>,
    repair: bool,
    wait: Duration,
) -> Result<Vec<LogTime>, Error> {
    let place = place.into();
    let mut store: Box<dyn Store> = match &place {
        // Also works while a server has the folder.
        StoreLocation::Folder(folder) => Box::new(Sqlite::open_to_read(folder)?),
        StoreLocation::Database(_) => place.open_existing(wait)?,
    };
    let (now, heads) = (store.now()?, store.heads()?);
    let mut times = Vec::new();
    for row in store.queues()? {
        let Some((.., at)) = heads.iter().find(|(id, ..)| *id == row.id) else { continue };
        let mut time = LogTime { queue: row.name, ahead_seconds: (at - now) / 1_000_000, set_back: false };
        if repair && time.ahead_seconds > 0 {
            let mut queue = EmbeddedQueue::open(&place, Some(&time.queue), wait)?;
            let answer = queue.ask(&Call::new("server clock", Request::Clock))?;
            time.set_back = answer == Answer::Changed { changed: 1 };
        }
        times.push(time);
    }
    Ok(times)
}

/// Writes a copy of a folder's database as of now, also while a server writes to it. Errors if
/// there is a file `to` already.
pub fn backup(folder: &Path, to: &Path) -> Result<(), Error> {
    if to.exists() {
        return Err(Error::Open(format!("{}: this file exists already; choose another name", to.display())));
    }
    // Appended to the whole name, since the names of copies may differ only in their extensions.
    let mut aside = to.to_path_buf().into_os_string();
    aside.push(".unfinished");
    let aside = std::path::PathBuf::from(aside);
    let io = |error: std::io::Error| Error::Open(format!("{}: {error}", to.display()));
    let from = Sqlite::open_as_it_is(folder)?;
    let held = create_and_lock(&aside, to)?;
    // Another process may have finished the copy meanwhile.
    if to.exists() {
        let _ = std::fs::remove_file(&aside);
        return Err(Error::Open(format!("{}: this file exists already; choose another name", to.display())));
    }
    clear_journals(&aside).map_err(io)?;
    let copied = from.copy_to(&aside).and_then(|()| std::fs::rename(&aside, to).map_err(io));
    copied.inspect_err(|_| {
        let _ = clear_journals(&aside).and_then(|()| std::fs::remove_file(&aside));
    })?;
    drop(held);
    Ok(())
}

/// Creates and locks an empty file for the unfinished copy. A file left by a killed process is
/// taken over; a file that another process has locked is refused. A link is replaced and never
/// written through.
fn create_and_lock(file: &Path, to: &Path) -> Result<std::fs::File, Error> {
    let io = |error: std::io::Error| Error::Open(format!("{}: {error}", file.display()));
    let another = || Error::Open(format!("{}: another process is making this copy", to.display()));
    let there = || std::fs::symlink_metadata(file).ok();
    if there().is_some_and(|there| !has_one_name(&there)) {
        std::fs::remove_file(file).map_err(io)?;
    }
    let held = for_us_alone(file).map_err(io)?;
    held.try_lock().map_err(|_| another())?;
    // The previous holder may have finished and renamed the file before this process locked it.
    let (own, there) = (held.metadata().map_err(io)?, there().ok_or_else(another)?);
    if !has_one_name(&there) || !is_same_file(&own, &there) {
        return Err(another());
    }
    #[cfg(unix)]
    held.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(io)?;
    held.set_len(0).map_err(io)?;
    Ok(held)
}

/// Whether it is a regular file and, on Unix, has no other hard link.
fn has_one_name(there: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    let alone = std::os::unix::fs::MetadataExt::nlink(there) == 1;
    #[cfg(not(unix))]
    let alone = true;
    there.is_file() && alone
}

fn is_same_file(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }
    #[cfg(not(unix))]
    {
        a.len() == b.len()
    }
}

/// Restores a folder from a copy, and returns how many webhooks were switched off. Refuses a folder
/// with a database, and a damaged copy. A failed restore leaves no database behind.
///
/// The copy's keys are valid again, even if they were revoked since. Its webhooks are switched off
/// unless `webhooks` is true, because the original may still send to the same receivers.
pub fn restore(from: &Path, folder: &Path, webhooks: bool) -> Result<usize, Error> {
    let io = |error: std::io::Error| Error::Open(format!("{}: {error}", folder.display()));
    let mut copy =
        std::fs::File::open(from).map_err(|error| Error::Open(format!("{}: {error}", from.display())))?;
    let made = !folder.exists();
    // Two restores would overwrite each other, and a server may still hold the folder.
    let lock = lock(folder, Duration::ZERO)?;
    if folder.join(FILE).exists() {
        return Err(Error::Open(format!(
            "{}: this folder has queues already; restore into another folder",
            folder.display()
        )));
    }
    // Prepared in a subfolder: a killed restore must not leave a database with active webhooks.
    let aside = folder.join("restoring");
    let resting = restore_into(&mut copy, &aside, webhooks).and_then(|resting| {
        // An old journal would be replayed into the new database.
        clear_journals(&folder.join(FILE)).map_err(io)?;
        std::fs::rename(aside.join(FILE), folder.join(FILE)).map_err(io).map(|()| resting)
    });
    let _ = std::fs::remove_dir_all(&aside);
    if made && resting.is_err() {
        let _ = std::fs::remove_dir_all(folder);
    }
    drop(lock);
    resting
}

/// Writes the copy's database into a folder used for nothing else, and checks it.
pub(crate) fn restore_into(copy: &mut std::fs::File, folder: &Path, webhooks: bool) -> Result<usize, Error> {
    let io = |error: std::io::Error| Error::Open(format!("{}: {error}", folder.display()));
    if folder.exists() {
        // A killed restore left this folder. Its journal would be replayed into this copy.
        std::fs::remove_dir_all(folder).map_err(io)?;
    }
    make_folder(folder).map_err(io)?;
    let file = folder.join(FILE);
    let mut bytes = for_us_alone(&file).map_err(io)?;
    std::io::copy(copy, &mut bytes).map_err(io)?;
    bytes.sync_all().map_err(io)?;
    check_copy(&file)?;
    // Updates the tables of an earlier version, and refuses a later one.
    let mut store = Sqlite::open(folder, Duration::ZERO)?;
    store.queues()?;
    let resting =
        if webhooks { 0 } else { store.rest_hooks("restored from a copy: PUT it again to go on")? };
    // Only the database file is moved, so its journal must be empty.
    if store.scrub()? {
        Ok(resting)
    } else {
        Err(Error::Open(format!("{}: another process is reading it; try again", file.display())))
    }
}
