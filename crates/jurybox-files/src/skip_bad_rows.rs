//! Skipping of rows that cannot be read.

use crate::error::{Error, RowPosition};
use crate::table::Table;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The maximum number of rows to skip, and the errors of those skipped.
#[derive(Debug, Default)]
pub(crate) struct SkippedRows {
    pub(crate) most: usize,
    /// Rows skipped so far, by all threads.
    count: AtomicUsize,
    /// The errors of skipped rows, in row order.
    errors: Mutex<Vec<Error>>,
}

impl SkippedRows {
    /// The line to skip for an error that concerns one row, which is counted as skipped. `None` for
    /// other errors and over the limit.
    pub(crate) fn line_of(&self, error: &Error) -> Option<u64> {
        let (Error::Ragged { place, .. }
        | Error::NotANumber { place, .. }
        | Error::Infinite { place, .. }
        | Error::NotUtf8 { place, .. }
        | Error::OpenQuote { place, .. }
        | Error::Json { place, .. }) = error
        else {
            return None;
        };
        let RowPosition::Line(line) = place else { return None };
        let room = |count: usize| (count < self.most).then_some(count + 1);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok().map(|_| *line)
    }

    /// Records the errors of skipped rows.
    pub(crate) fn note(&self, errors: impl IntoIterator<Item = Error>) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).extend(errors);
    }
}

impl Table {
    /// Skips rows that cannot be read, at most `most` of them over all passes; one more is an
    /// error.
    ///
    /// Examples are rows with too many or too few cells, infinite numbers, or invalid UTF-8 or
    /// JSON. A word in a column of numbers counts as missing instead, and up to half the cells may
    /// be words. Rows are skipped in text files only.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, ScanRequest};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, "spam,abuse\n0.1,0.2\n0.3\n0.5,inf\n0.7,0.8\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?.skip_bad_rows(10);
    /// assert_eq!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))?, 2);
    /// let errors: Vec<&str> = table.skipped_rows().iter().map(|error| error.code()).collect();
    /// assert_eq!(errors, ["ragged-row", "unusable-number"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn skip_bad_rows(mut self, most: usize) -> Self {
        self.skipped = SkippedRows { most, ..SkippedRows::default() };
        self
    }

    /// The errors of the rows skipped since the last call, in row order.
    pub fn skipped_rows(&self) -> Vec<Error> {
        std::mem::take(&mut self.skipped.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Replaces the record that contains line `line` by blank lines, so that line numbers stay the
/// same. False if there is no such line. `end` returns the end of the record that starts at a
/// position.
pub(crate) fn remove_record(
    text: &mut Vec<u8>,
    line: u64,
    end: impl Fn(&[u8], usize) -> Option<usize>,
) -> bool {
    let line_end =
        |at: usize, text: &[u8]| memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |step| at + step + 1);
    let (mut at, mut number) = (0, 1);
    while at < text.len() {
        // A record without an end, such as one with an open quote, counts as its first line.
        let end = end(text, at).unwrap_or_else(|| line_end(at, text));
        let lines = memchr::memchr_iter(b'\n', &text[at..end]).count().max(1);
        if line < number + lines as u64 {
            text.splice(at..end, std::iter::repeat_n(b'\n', lines));
            return true;
        }
        (at, number) = (end, number + lines as u64);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::remove_record;
    use crate::format::blocks::record_end;

    fn without(text: &str, line: u64) -> String {
        let mut text = text.as_bytes().to_vec();
        assert!(remove_record(&mut text, line, |text, at| record_end(text, at, b',')));
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn removed_records_keep_their_lines() {
        assert_eq!(without("a,b\nc,d\ne,f\n", 2), "a,b\n\ne,f\n");
        assert_eq!(without("a,\"b\nc\"\nd,e\n", 2), "\n\nd,e\n");
        assert_eq!(without("a,\"b\nc\"\nd,e", 3), "a,\"b\nc\"\n\n");
        // Rows swallowed by an unclosed quote are read after all.
        assert_eq!(without("a,\"b\nc,d\n", 1), "\nc,d\n");
        assert!(!remove_record(&mut b"a\n".to_vec(), 2, |_, _| None));
    }
}
