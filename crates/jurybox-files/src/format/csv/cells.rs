//! The cells of a CSV record.

use crate::format::blocks::closing_quote;
use memchr::memchr;
use std::borrow::Cow;

/// Iterates over the cells of one record, without their quotes.
pub(super) fn cells(record: &[u8], delimiter: u8) -> CellIter<'_> {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    CellIter { rest: Some(record.strip_suffix(b"\r").unwrap_or(record)), delimiter }
}

/// The iterator over the cells of a record.
pub(super) struct CellIter<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl<'a> Iterator for CellIter<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        if rest.first() == Some(&b'"') {
            let close = closing_quote(rest, 1).unwrap_or(rest.len());
            let inside = rest.get(1..close).unwrap_or_default();
            let after = rest.get(close + 1..).unwrap_or_default();
            // Text between the closing quote and the delimiter is appended to the cell.
            let end = memchr(self.delimiter, after);
            self.rest = end.map(|at| &after[at + 1..]);
            let tail = &after[..end.unwrap_or(after.len())];
            return Some(if tail.is_empty() && memchr(b'"', inside).is_none() {
                Cow::Borrowed(inside)
            } else {
                Cow::Owned([&unescaped(inside), tail].concat())
            });
        }
        let end = memchr(self.delimiter, rest);
        self.rest = end.map(|at| &rest[at + 1..]);
        Some(Cow::Borrowed(&rest[..end.unwrap_or(rest.len())]))
    }
}

/// The content of a quoted cell, with each doubled quote as one quote.
fn unescaped(inside: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(inside.len());
    let mut at = 0;
    while let Some(step) = memchr(b'"', &inside[at..]) {
        out.extend_from_slice(&inside[at..=at + step]);
        at = (at + step + 2).min(inside.len());
    }
    out.extend_from_slice(&inside[at..]);
    out
}
