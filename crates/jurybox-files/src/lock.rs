//! One at a time: whoever reads a file, changes it and writes it back holds its lock meanwhile.

use crate::destination::{DestinationKind, folder_of};
use crate::error::Error;
use crate::open_regular::open_plain;
use crate::temporary_files::hand_on;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a lock that somebody else holds is tried again.
const AGAIN: Duration = Duration::from_millis(20);

/// How long one waits before saying so: most turns are over by then.
const PATIENCE: Duration = Duration::from_millis(500);

/// The right to change a file, held until it is dropped, or until the process ends in whatever way.
///
/// It is a lock of the system's on a file of its own, `.NAME.lock` beside the file that NAME leads to: the file itself is
/// replaced when it is written, and a lock on it would go with the old one. The lock file is empty and stays there; taking it
/// away would let two hold the lock at once. It belongs to whom the file belongs to, and whoever may read the one may lock the
/// other.
///
/// What is written through (standard output, a device, a pipe) is nobody's to change, and its lock is none.
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
    /// Waits for the lock of a file, at most so long; `waiting` is called once if that takes a while.
    pub fn of(path: &Path, at_most: Duration, waiting: impl FnOnce()) -> Result<FileLock, Error> {
        let DestinationKind::ToFile { path: file, about } = DestinationKind::of(path)? else { return Ok(FileLock { _held: None }) };
        let beside = beside(&file);
        let failed = |source| Error::Io { path: beside.clone(), doing: "lock", source };
        let file = open(&beside, about.as_ref()).map_err(failed)?;
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
            if waited >= PATIENCE
                && let Some(waiting) = waiting.take()
            {
                waiting();
            }
            std::thread::sleep(AGAIN.min(at_most.saturating_sub(waited)));
        }
    }
}

/// Opens the lock file, and makes it where it is not there yet; `about` is the file that it is for.
fn open(beside: &Path, about: Option<&Metadata>) -> io::Result<File> {
    // Looked at before it is opened: a link leads elsewhere.
    match std::fs::symlink_metadata(beside) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is not a plain file")),
        Ok(_) => {}
        Err(_) => match OpenOptions::new().read(true).write(true).create_new(true).open(beside) {
            Ok(file) => {
                if let Some(about) = about {
                    hand_on(about, &file)?;
                }
                return Ok(file);
            }
            // Another process was quicker.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        },
    }
    // Reading is enough to lock it, except on some network file systems.
    match open_plain(beside, Some(OpenOptions::new().read(true).write(true))) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => open_plain(beside, None),
        opened => opened,
    }
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder_of(path).join(format!(".{name}.lock"))
}
