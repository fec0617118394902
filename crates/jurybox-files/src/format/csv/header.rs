//! The header of a CSV text: the names of its columns, and by what its cells are separated.

use super::cells::cells;
use crate::error::{Error, Place};
use crate::format::blocks::record_end;
use crate::format::{MOST_COLUMNS, distinct};
use memchr::{memchr, memchr_iter};
use std::path::Path;

/// The header of a CSV text.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
    pub(super) delimiter: u8,
    /// Bytes and lines until the first row.
    pub(super) bytes: usize,
    pub(super) lines: u64,
}

const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// Where the header begins, and by what its cells are separated.
fn begin(text: &[u8]) -> (usize, u8) {
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let first_line = &text[start..memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at)];
    let count = |byte: u8| memchr_iter(byte, first_line).count();
    // A comma wherever there is one; otherwise what the header has most of.
    let delimiter = match count(b',') {
        0 => *b"\t;|".iter().max_by_key(|&&byte| (count(byte), byte == b'\t')).unwrap_or(&b','),
        _ => b',',
    };
    (start, if count(delimiter) == 0 { b',' } else { delimiter })
}

/// Whether a text holds a whole header and a whole row.
pub(super) fn is_enough(text: &[u8]) -> bool {
    let (start, delimiter) = begin(text);
    record_end(text, start, delimiter).is_some_and(|end| record_end(text, end, delimiter).is_some())
}

impl Header {
/// Reads the header at the beginning of a text.
pub(super) fn read(path: &Path, text: &[u8]) -> Result<Header, Error> {
    let (start, delimiter) = begin(text);
    let end = record_end(text, start, delimiter).unwrap_or(text.len());
    let record = &text[start..end];
    std::str::from_utf8(record).map_err(|_| Error::NotUtf8 { path: path.into(), place: Place::Line(1) })?;
    let mut names = Vec::new();
    // One more than there may be is enough to refuse them.
    for cell in cells(record, delimiter).take(MOST_COLUMNS + 1) {
        names.push(String::from_utf8_lossy(&cell).trim().to_string());
    }
    if names.iter().all(String::is_empty) {
        return Err(Error::Empty { path: path.into() });
    }
    distinct(path, names.iter().map(String::as_str))?;
    let lines = memchr_iter(b'\n', &text[..end]).count() as u64;
    Ok(Header { names, delimiter, bytes: end, lines })
}
}
