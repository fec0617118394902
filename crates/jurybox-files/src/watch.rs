//! How far a long piece of work has come, for whoever wants to show it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a piece of work has come.
///
/// ```
/// use jurybox_files::{Progress, Roles, Table, Want};
/// use std::sync::{Arc, Mutex};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "spam\n0.9\n0.2\n")?;
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let list = seen.clone();
/// let table = Table::open(&[path], &Roles::default(), false)?.watched(move |progress| list.lock().unwrap().push(progress));
/// table.scan(Want::default(), |_| Ok(()), |_, ()| Ok(()))?;
/// assert_eq!(seen.lock().unwrap().last(), Some(&Progress::Rows { rows: 2, bytes: 13, of: Some(13) }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// In a pass over the rows.
    Rows {
        /// Rows so far.
        rows: u64,
        /// Bytes of the files so far, as they stand on disk.
        bytes: u64,
        /// Bytes of all files, where that is known: a pipe does not tell.
        of: Option<u64>,
    },
    /// In a replay.
    Runs {
        /// Runs of a policy that are through.
        done: usize,
        /// All of them.
        of: usize,
    },
}

/// Who is told, and who may say that it is enough.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    pub(crate) told: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl Watch {
    pub(crate) fn tell(&self, progress: Progress) {
        if let Some(watch) = &self.told {
            watch(progress);
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.told.is_some() { "watched" } else { "unwatched" })
    }
}

/// Counts the bytes that are read through it.
pub(crate) struct Counted<R> {
    pub(crate) from: R,
    pub(crate) bytes: Arc<AtomicU64>,
}

impl<R: std::io::Read> std::io::Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
