//! Errors for unreadable Parquet files, including panics of the Parquet library.

use super::positioned_file::PositionedFile;
use crate::error::Error;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, Length};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Runs a read and converts a panic to an error: the Parquet library panics on some damaged files.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("the file is damaged".into()));
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged);
    GUARDED.set(before);
    result
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of the current thread would be caught as the error of a damaged Parquet file. A
/// program's panic hook can then stay silent.
///
/// ```
/// let report = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !jurybox_files::panic_is_caught() {
///         report(panic);
///     }
/// }));
/// assert!(!jurybox_files::panic_is_caught());
/// ```
pub fn panic_is_caught() -> bool {
    GUARDED.get()
}

/// The error for a file that cannot be opened. A file that starts as Parquet, but lacks the mark at
/// its end, is truncated.
pub(super) fn unreadable(path: &Path, file: &PositionedFile, error: &ParquetError) -> Error {
    let mark = |at: u64| file.get_bytes(at, 4).ok().is_some_and(|bytes| *bytes == *b"PAR1");
    if mark(0) && !mark(file.len().saturating_sub(4)) {
        return Error::Truncated { path: path.into(), what: "the Parquet file" };
    }
    broken(path, error)
}

/// The error for a Parquet file that cannot be read.
pub(super) fn broken(path: &Path, error: &impl ToString) -> Error {
    Error::Parquet { path: path.into(), reason: error.to_string() }
}
