//! An exclusive lock for reading, changing and writing back a file.

use crate::destination::{DestinationKind, folder_of};
use crate::error::Error;
use crate::open_regular::open_plain;
use crate::temporary_files::copy_owner;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval between attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Waiting time before the caller is notified.
const NOTICE_AFTER: Duration = Duration::from_millis(500);

/// The exclusive right to change a file, held until dropped or until the process ends.
///
/// The system's lock is on a separate file `.NAME.lock` next to the file that the path leads to. A
/// lock on the file itself would be lost when the file is replaced. The lock file is empty and is
/// never removed, because two processes could then hold the lock at once. A new lock file gets the
/// owner and permissions of the file, if that exists.
///
/// Standard output, devices and pipes have no lock: for them, this does nothing.
///
/// ```
/// use jurybox_files::FileLock;
/// use std::time::Duration;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("model.json");
/// let held = FileLock::of(&path, Duration::ZERO, || {})?;
/// let refused = FileLock::of(&path, Duration::ZERO, || {}).unwrap_err();
/// assert_eq!(refused.code(), "locked");
/// drop(held);
/// FileLock::of(&path, Duration::ZERO, || {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileLock {
    _held: Option<File>,
}

impl FileLock {
    /// Waits up to `at_most` for the lock of a file. `waiting` is called once, after half a second
    /// of waiting.
    pub fn of(path: &Path, at_most: Duration, waiting: impl FnOnce()) -> Result<FileLock, Error> {
        let DestinationKind::ToFile { path: file, about } = DestinationKind::of(path)? else {
            return Ok(FileLock { _held: None });
        };
        let lock_path = lock_path(&file);
        let failed = |source| Error::Io { path: lock_path.clone(), doing: "lock", source };
        let file = open(&lock_path, about.as_ref()).map_err(failed)?;
        let begun = Instant::now();
        let mut waiting = Some(waiting);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(FileLock { _held: Some(file) }),
                Err(TryLockError::Error(e)) => return Err(failed(e)),
                Err(TryLockError::WouldBlock) => {}
            }
            let waited = begun.elapsed();
            if waited >= at_most {
                return Err(Error::Locked { path: path.into(), seconds: at_most.as_secs() });
            }
            if waited >= NOTICE_AFTER
                && let Some(waiting) = waiting.take()
            {
                waiting();
            }
            std::thread::sleep(RETRY_INTERVAL.min(at_most.saturating_sub(waited)));
        }
    }
}

/// Opens the lock file, or creates it with the owner and permissions in `about`.
fn open(lock_path: &Path, about: Option<&Metadata>) -> io::Result<File> {
    // Checked before opening it, so that links are not followed.
    match std::fs::symlink_metadata(lock_path) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is not a regular file")),
        Ok(_) => {}
        Err(_) => match OpenOptions::new().read(true).write(true).create_new(true).open(lock_path) {
            Ok(file) => {
                if let Some(about) = about {
                    copy_owner(about, &file)?;
                }
                return Ok(file);
            }
            // Another process created it first.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        },
    }
    // Read access is enough for a lock, except on some network file systems.
    match open_plain(lock_path, Some(OpenOptions::new().read(true).write(true))) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => open_plain(lock_path, None),
        opened => opened,
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder_of(path).join(format!(".{name}.lock"))
}
