//! The header of a CSV text: the names of its columns, and by what its cells are separated.

use super::cells::cells;
use crate::error::{Error, Place};
use crate::format::blocks::record_end;
use crate::format::{MOST_COLUMNS, distinct};
use crate::number::{self, Cell};
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

impl Header {
    /// Whether it may be a row: it has fractions for names. Whole numbers are names that programs give, 0, 1 and so on.
    pub(super) fn is_of_numbers(&self) -> bool {
        let number = |name: &&String| matches!(number::parse(name.as_bytes()), Cell::Number(_));
        let fraction = |name: &String| match number::parse(name.as_bytes()) {
            Cell::Number(value) => value.fract() != 0.0,
            _ => false,
        };
        2 * self.names.iter().filter(number).count() >= self.names.len() && self.names.iter().any(fraction)
    }
}

/// What a person said about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Says {
    pub(super) delimiter: Option<u8>,
    pub(super) header: Option<bool>,
}

const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// What may separate cells, the likeliest first.
const DELIMITERS: &[u8] = b",\t;|";

impl Says {
    /// Where the header begins, and by what its cells are separated.
    fn begin(self, text: &[u8]) -> (usize, u8) {
        let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let (start, said) = match excels(&text[start..]) {
            Some((delimiter, length)) => (start + length, Some(delimiter)),
            None => (start, None),
        };
        let first = start + lines_of_comments(&text[start..]);
        let delimiter = self.delimiter.or(said).unwrap_or_else(|| delimiter(&text[first..]));
        // `#` may also begin the header itself: then it is cut into as many cells as the first line that has none.
        let count = |from: usize| {
            let end = record_end(text, from, delimiter).unwrap_or(text.len());
            cells(&text[from..end], delimiter).count()
        };
        let columns = count(first);
        let mut at = start;
        while at < first {
            if count(at) == columns && (columns > 1 || !text[at..].starts_with(b"# ")) {
                break;
            }
            at = memchr(b'\n', &text[at..first]).map_or(first, |end| at + end + 1);
        }
        (at, delimiter)
    }

    /// Whether a text holds a whole header and a whole row.
    pub(super) fn is_enough(self, text: &[u8]) -> bool {
        let (start, delimiter) = self.begin(text);
        record_end(text, start, delimiter).is_some_and(|end| record_end(text, end, delimiter).is_some())
    }

    /// Reads the header at the beginning of a text.
    pub(super) fn read(self, path: &Path, text: &[u8]) -> Result<Header, Error> {
        let (start, delimiter) = self.begin(text);
        let end = record_end(text, start, delimiter).unwrap_or(text.len());
        let record = &text[start..end];
        if memchr(b'\n', text).is_none() && memchr(b'\r', record.trim_ascii_end()).is_some() {
            let what = "text whose lines end in a carriage return alone, as on old Macs";
            return Err(Error::Foreign { path: path.into(), what });
        }
        std::str::from_utf8(record)
            .map_err(|_| Error::NotUtf8 { path: path.into(), place: Place::Line(1) })?;
        // One more than there may be is enough to refuse them.
        let cells = cells(record, delimiter).take(MOST_COLUMNS + 1);
        let names: Vec<String> = if self.header == Some(false) {
            cells.enumerate().map(|(at, _)| format!("column{}", at + 1)).collect()
        } else {
            cells.map(|cell| String::from_utf8_lossy(&cell).trim().to_string()).collect()
        };
        if names.iter().all(String::is_empty) {
            return Err(Error::Empty { path: path.into() });
        }
        let names: Vec<String> = names.into_iter().enumerate().map(named).collect();
        distinct(path, names.iter().map(String::as_str))?;
        if self.header == Some(false) {
            let lines = memchr_iter(b'\n', &text[..start]).count() as u64;
            return Ok(Header { names, delimiter, bytes: start, lines });
        }
        let lines = memchr_iter(b'\n', &text[..end]).count() as u64;
        Ok(Header { names, delimiter, bytes: end, lines })
    }
}

/// What a first line such as `sep=;` says, which Excel writes and reads, and how long it is.
fn excels(text: &[u8]) -> Option<(u8, usize)> {
    let end = memchr(b'\n', text)?;
    match text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]) {
        [s, e, p, b'=', delimiter]
            if [s, e, p].map(u8::to_ascii_lowercase) == *b"sep" && *delimiter != b'"' =>
        {
            Some((*delimiter, end + 1))
        }
        _ => None,
    }
}

/// How long the lines at the beginning are together that begin with `#`.
fn lines_of_comments(text: &[u8]) -> usize {
    let mut at = 0;
    while text[at..].starts_with(b"#") {
        match memchr(b'\n', &text[at..]) {
            Some(end) => at += end + 1,
            // Nothing but comments: the last of them is taken for the header.
            None => return at,
        }
    }
    if at == text.len() { 0 } else { at }
}

/// A column without a name, such as the index that pandas writes, gets the one that pandas reads it under.
fn named((at, name): (usize, String)) -> String {
    if name.is_empty() { format!("{}{at}", crate::own::UNNAMED) } else { name }
}

/// What separates the cells: a comma where it cuts the first two records into as many cells each; otherwise whatever does so
/// into the most; otherwise a comma wherever there is one, and then what the header has most of.
fn delimiter(text: &[u8]) -> u8 {
    let cut = |delimiter: u8| -> Option<usize> {
        let end = record_end(text, 0, delimiter)?;
        let next = record_end(text, end, delimiter).unwrap_or(text.len());
        let count = |record: &[u8]| cells(record, delimiter).count();
        let header = count(&text[..end]);
        (header > 1 && header == count(&text[end..next])).then_some(header)
    };
    // Where commas cut as well, they may stand before decimals: they must cut into more cells.
    if let Some((cells, best)) =
        DELIMITERS[1..].iter().filter_map(|&byte| Some((cut(byte)?, byte))).max_by_key(|(cells, _)| *cells)
        && cut(b',').is_none_or(|commas| cells >= commas)
    {
        return best;
    }
    let first_line = &text[..memchr(b'\n', text).unwrap_or(text.len())];
    let count = |byte: u8| memchr_iter(byte, first_line).count();
    if count(b',') > 0 {
        return b',';
    }
    let most = DELIMITERS[1..].iter().copied().max_by_key(|&byte| (count(byte), byte == b'\t'));
    most.filter(|&byte| count(byte) > 0).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_header_is_passed_over() {
        let says = Says { delimiter: None, header: None };
        let read = |text: &str| says.read(Path::new("a.csv"), text.as_bytes()).unwrap();
        for (text, names, delimiter, lines) in [
            ("sep=;\r\npost;spam\r\np1;0,5\r\n", vec!["post", "spam"], b';', 2),
            ("SEP=,\npost,spam\np1,1\n", vec!["post", "spam"], b',', 2),
            ("# made, by me, today\n#\npost,spam\np1,1\n", vec!["post", "spam"], b',', 3),
            ("##v1\n#post\tspam\np1\t0.5\n", vec!["#post", "spam"], b'\t', 2),
            ("#,spam\n1,0.5\n", vec!["#", "spam"], b',', 1),
            ("# one score\nspam\n0.5\n", vec!["spam"], b',', 2),
            ("#spam\n0.5\n", vec!["#spam"], b',', 1),
            ("#by, \"me, today\npost,spam\np1,1\n", vec!["post", "spam"], b',', 2),
        ] {
            let header = read(text);
            assert_eq!(
                (header.names, header.delimiter, header.lines),
                (names.iter().map(ToString::to_string).collect(), delimiter, lines),
                "{text}"
            );
        }
        let says = Says { delimiter: None, header: Some(false) };
        let header = says.read(Path::new("a.csv"), b"sep=;\n0,5;1\n").unwrap();
        assert_eq!((header.names.len(), header.bytes, header.lines), (2, 6, 1));
    }

    #[test]
    fn cells_are_separated_by_what_fits_the_first_two_records() {
        for (text, says) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n0,5;0,7\n", b';'),
            ("post;score, strict;abuse\np1;0,5;0,7\n", b';'),
            ("a\tb\n1\t2\n", b'\t'),
            ("a|b\n1|2\n", b'|'),
            ("a;0,25;0,31\nb;0,7;0,8\n", b';'),
            ("a\t0,25\nb\t0,7\n", b'\t'),
            ("id,note;x,v\n1,a;b,2\n", b','),
            ("a\n1\n", b','),
            ("\"a;b\",c\n1,2\n", b','),
            ("a,b;c\n", b','),
        ] {
            assert_eq!(delimiter(text.as_bytes()), says, "{text}");
        }
    }
}
