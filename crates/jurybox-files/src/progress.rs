//! How far a long piece of work has come, for whoever wants to show it.

use crate::table::Table;
use crate::warning::Warning;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How far a piece of work has come.
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
/// let table = Table::open(&[path], &Roles::default(), false)?.watched(move |progress| list.lock().unwrap().push(progress));
/// table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))?;
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
pub(crate) struct ProgressWatch {
    pub(crate) told: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl ProgressWatch {
    pub(crate) fn tell(&self, progress: Progress) {
        if let Some(watch) = &self.told {
            watch(progress);
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for ProgressWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.told.is_some() { "watched" } else { "unwatched" })
    }
}

type WarningHandler = Arc<dyn Fn(&Warning) + Send + Sync>;

/// Who is told of what only a pass can know, and of what they have been told.
#[derive(Default)]
pub(crate) struct WarningListener {
    hear: Option<WarningHandler>,
    told: Mutex<HashSet<Warning>>,
}

impl WarningListener {
    pub(crate) fn new(hear: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        WarningListener { hear: Some(Arc::new(hear)), told: Mutex::default() }
    }

    /// Tells a thing once, however many passes find it.
    pub(crate) fn tell(&self, warning: Warning) {
        let Some(hear) = &self.hear else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&warning) {
            hear(&warning);
            told.insert(warning);
        }
    }
}

impl fmt::Debug for WarningListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.hear.is_some() { "heard" } else { "unheard" })
    }
}

/// Counts the bytes that are read through it.
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
    /// The same table; `watch` is told how far each pass over it has come.
    #[must_use]
    pub fn watched(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watch.told = Some(Arc::new(watch));
        self
    }

    /// The same table; as soon as `stop` is true, passes over it end with [`Error::Stopped`](crate::Error::Stopped).
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, ScanRequest};
    /// # use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "spam\n0.9\n0.2\n")?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let table = Table::open(&[path], &Roles::default(), false)?.stopped_by(stop.clone());
    /// assert!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).is_ok());
    /// stop.store(true, Ordering::Relaxed);
    /// assert_eq!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap_err().code(), "stopped");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stopped_by(mut self, stop: Arc<AtomicBool>) -> Self {
        self.watch.stop = Some(stop);
        self
    }

    /// Whether work on this table is to end.
    pub fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }

    /// The same table; `hear` is told what only a pass over the rows can know, each thing once: cells that are no numbers where
    /// numbers are read, and columns without a value.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, ScanRequest};
    /// # use std::sync::{Arc, Mutex};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, format!("spam\n{}high\n", "0.5\n".repeat(30)))?;
    /// let heard = Arc::new(Mutex::new(Vec::new()));
    /// let ear = heard.clone();
    /// let table = Table::open(&[path], &Roles::default(), false)?
    ///     .heard(move |warning| ear.lock().unwrap().push(warning.to_string()));
    /// table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))?;
    /// assert!(heard.lock().unwrap()[0].ends_with("1 of 31 cells are no numbers, and count as missing: `high` (line 32)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn heard(mut self, hear: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        self.ears = WarningListener::new(hear);
        self
    }

    /// Tells whoever watches this table how far work on it has come.
    pub fn tell(&self, progress: Progress) {
        self.watch.tell(progress);
    }
}
