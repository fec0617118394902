//! Progress and warnings of a pass, and stopping it.

use crate::table::Table;
use crate::warning::Warning;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The progress of a long operation.
///
/// ```
/// use jurybox_files::{Progress, Roles, Table, ScanRequest};
/// use std::sync::{Arc, Mutex};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "spam\n0.9\n0.2\n")?;
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let list = seen.clone();
/// let table = Table::open(&[path], &Roles::default(), false)?
///     .on_progress(move |progress| list.lock().unwrap().push(progress));
/// table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))?;
/// let last = Progress::Rows { rows: 2, bytes: 13, of: Some(13) };
/// assert_eq!(seen.lock().unwrap().last(), Some(&last));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// In a pass over the rows.
    Rows {
        /// Rows read so far.
        rows: u64,
        /// Bytes read so far.
        bytes: u64,
        /// Total size of all files in bytes; `None` if unknown.
        of: Option<u64>,
    },
    /// In a replay.
    Runs {
        /// Finished runs.
        done: usize,
        /// Total number of runs.
        of: usize,
    },
}

/// The progress callback and the stop flag of a table.
#[derive(Clone, Default)]
pub(crate) struct ProgressWatch {
    pub(crate) callback: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl ProgressWatch {
    /// Calls the progress callback, if there is one.
    pub(crate) fn tell(&self, progress: Progress) {
        if let Some(watch) = &self.callback {
            watch(progress);
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for ProgressWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.callback.is_some() { "watched" } else { "unwatched" })
    }
}

type WarningHandler = Arc<dyn Fn(&Warning) + Send + Sync>;

/// The warning callback of a table, with the warnings already reported.
#[derive(Default)]
pub(crate) struct WarningListener {
    handler: Option<WarningHandler>,
    reported: Mutex<HashSet<Warning>>,
}

impl WarningListener {
    pub(crate) fn new(handler: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        WarningListener { handler: Some(Arc::new(handler)), reported: Mutex::default() }
    }

    /// Reports a warning once, even if several passes raise it.
    pub(crate) fn tell(&self, warning: Warning) {
        let Some(handler) = &self.handler else { return };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if !reported.contains(&warning) {
            handler(&warning);
            reported.insert(warning);
        }
    }
}

impl fmt::Debug for WarningListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.handler.is_some() { "listening" } else { "silent" })
    }
}

/// A reader that counts the bytes read through it.
pub(crate) struct CountingReader<R> {
    pub(crate) from: R,
    pub(crate) bytes: Arc<AtomicU64>,
}

impl<R: std::io::Read> std::io::Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Table {
    /// Calls `watch` with the progress of each pass over the table.
    #[must_use]
    pub fn on_progress(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watch.callback = Some(Arc::new(watch));
        self
    }

    /// Lets passes over the table end with [`Error::Stopped`](crate::Error::Stopped) once `stop` is
    /// true.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, ScanRequest};
    /// # use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "spam\n0.9\n0.2\n")?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let table = Table::open(&[path], &Roles::default(), false)?.stop_when(stop.clone());
    /// assert!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).is_ok());
    /// stop.store(true, Ordering::Relaxed);
    /// let error = table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap_err();
    /// assert_eq!(error.code(), "stopped");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.watch.stop = Some(stop);
        self
    }

    /// Whether work on this table should end.
    pub fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }

    /// Calls `handler` with the warnings that only a pass can raise, each once. Examples are cells
    /// that are not numbers in a column of numbers, and columns without a value.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, ScanRequest};
    /// # use std::sync::{Arc, Mutex};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, format!("spam\n{}high\n", "0.5\n".repeat(30)))?;
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let ear = seen.clone();
    /// let table = Table::open(&[path], &Roles::default(), false)?
    ///     .on_warning(move |warning| ear.lock().unwrap().push(warning.code()));
    /// table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))?;
    /// assert_eq!(*seen.lock().unwrap(), ["odd-cells"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_warning(mut self, handler: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        self.listener = WarningListener::new(handler);
        self
    }

    /// Passes on the progress of other work on this table, such as a replay.
    pub fn tell(&self, progress: Progress) {
        self.watch.tell(progress);
    }
}
