//! Rows that cannot be read, in a pass that goes on without them.

use crate::error::{Error, RowPosition};
use crate::table::Table;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a pass does with rows that cannot be read: it goes on without so many of them.
#[derive(Debug, Default)]
pub(crate) struct SkippedRows {
    pub(crate) most: usize,
    /// How many were struck, by all threads.
    struck: AtomicUsize,
    /// Why, in the order of the rows.
    refused: Mutex<Vec<Error>>,
}

impl SkippedRows {
    /// The line of an error that one row is to blame for, as long as there is room for one more.
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
        let room = |struck: usize| (struck < self.most).then_some(struck + 1);
        self.struck.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok().map(|_| *line)
    }

    pub(crate) fn note(&self, refused: impl IntoIterator<Item = Error>) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).extend(refused);
    }
}

impl Table {
    /// The same table, read without the rows that cannot be: lines with too many or too few cells, numbers that are none or beyond all use,
    /// what is no text and no JSON. A word among numbers is a missing score, and one in two cells may be. So many of them at the most, all passes together; one more is the error it was. Only a text in lines can
    /// do without some.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, ScanRequest};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, "spam,abuse\n0.1,0.2\n0.3\n0.5,inf\n0.7,0.8\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?.sparing(10);
    /// assert_eq!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))?, 2);
    /// let refused: Vec<String> = table.refused().iter().map(ToString::to_string).collect();
    /// assert!(refused[0].contains("line 3: 1 cells") && refused[1].contains("line 4, column `abuse`"), "{refused:?}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sparing(mut self, most: usize) -> Self {
        self.spare = SkippedRows { most, ..SkippedRows::default() };
        self
    }

    /// Why rows were passed over, in their order; asked once, it is forgotten.
    pub fn refused(&self) -> Vec<Error> {
        std::mem::take(&mut self.spare.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Empties the record of a text to which a line belongs, and keeps its lines: whatever else is told by their numbers stays where it is. Whether
/// there is one; `end` says where the record that begins somewhere ends.
pub(crate) fn strike(text: &mut Vec<u8>, line: u64, end: impl Fn(&[u8], usize) -> Option<usize>) -> bool {
    let line_end =
        |at: usize, text: &[u8]| memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |step| at + step + 1);
    let (mut at, mut number) = (0, 1);
    while at < text.len() {
        // A record without an end, such as one whose quote is never closed, is but its first line.
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
    use super::strike;
    use crate::format::blocks::record_end;

    fn without(text: &str, line: u64) -> String {
        let mut text = text.as_bytes().to_vec();
        assert!(strike(&mut text, line, |text, at| record_end(text, at, b',')));
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_record_goes_and_its_lines_stay() {
        assert_eq!(without("a,b\nc,d\ne,f\n", 2), "a,b\n\ne,f\n");
        assert_eq!(without("a,\"b\nc\"\nd,e\n", 2), "\n\nd,e\n");
        assert_eq!(without("a,\"b\nc\"\nd,e", 3), "a,\"b\nc\"\n\n");
        // What a quote swallows that is never closed comes back.
        assert_eq!(without("a,\"b\nc,d\n", 1), "\nc,d\n");
        assert!(!strike(&mut b"a\n".to_vec(), 2, |_, _| None));
    }
}
