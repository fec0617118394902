//! What a file that cannot be read means; and the panics of a reader that should have refused it.

use super::positioned::Positioned;
use crate::error::Error;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, Length};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Some damage makes the Parquet reader panic where it should refuse; to us that is an error like any other.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("it is damaged".into()));
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged);
    GUARDED.set(before);
    result
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, now, would be the Parquet reader's answer to a damaged file, which becomes an error: a
/// program's panic hook need not speak of it.
///
/// ```
/// let speak = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !jurybox_files::panic_is_caught() {
///         speak(panic);
///     }
/// }));
/// assert!(!jurybox_files::panic_is_caught());
/// ```
pub fn panic_is_caught() -> bool {
    GUARDED.get()
}

/// What a failed read means: without its closing mark, a file that begins as Parquet was cut off.
pub(super) fn unreadable(path: &Path, file: &Positioned, error: &ParquetError) -> Error {
    let mark = |at: u64| file.get_bytes(at, 4).ok().is_some_and(|bytes| *bytes == *b"PAR1");
    if mark(0) && !mark(file.len().saturating_sub(4)) {
        return Error::Truncated { path: path.into(), what: "the Parquet file" };
    }
    broken(path, error)
}

pub(super) fn broken(path: &Path, error: &impl ToString) -> Error {
    Error::Parquet { path: path.into(), reason: error.to_string() }
}
