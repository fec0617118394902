//! Detection of a CSV file's header: column names, delimiter, and lines to skip before it.

use super::cells::cells;
use crate::cell_number::{self, ParsedCell};
use crate::error::{Error, ForeignKind, RowPosition};
use crate::format::blocks::record_end;
use crate::format::{MOST_COLUMNS, distinct};
use memchr::{memchr, memchr_iter};
use std::path::Path;

/// The header of a CSV text.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
    pub(super) delimiter: u8,
    /// Bytes before the first row; `lines` is the number of lines in them.
    pub(super) bytes: usize,
    pub(super) lines: u64,
}

impl Header {
    /// Whether the header looks like a row of data: at least half of its names are numbers, and one
    /// of these has decimals. Whole numbers alone are common names: programs write 0, 1, 2, ….
    pub(super) fn is_of_numbers(&self) -> bool {
        let number = |name: &&String| matches!(cell_number::parse(name.as_bytes()), ParsedCell::Number(_));
        let fraction = |name: &String| match cell_number::parse(name.as_bytes()) {
            ParsedCell::Number(value) => value.fract() != 0.0,
            _ => false,
        };
        2 * self.names.iter().filter(number).count() >= self.names.len() && self.names.iter().any(fraction)
    }
}

/// The delimiter, and whether there is a header, as stated by the user. `None`: no statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderOptions {
    pub(super) delimiter: Option<u8>,
    pub(super) header: Option<bool>,
}

const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// Delimiters that are detected. [`delimiter`] treats the first one, the comma, differently.
const DELIMITERS: &[u8] = b",\t;|";

impl HeaderOptions {
    /// The position where the header starts, and the delimiter.
    fn start_and_delimiter(self, text: &[u8]) -> (usize, u8) {
        let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let (start, said) = match excel_separator(&text[start..]) {
            Some((delimiter, length)) => (start + length, Some(delimiter)),
            None => (start, None),
        };
        let first = start + comment_bytes(&text[start..]);
        let delimiter = self.delimiter.or(said).unwrap_or_else(|| delimiter(&text[first..]));
        // A line that starts with `#` is the header if it has as many cells as the first line
        // without `#`. A header of one cell must not start with `#` and a blank.
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

    /// Whether a text holds two complete records from the header on: the header and a row, or two
    /// rows if there is no header.
    pub(super) fn is_enough(self, text: &[u8]) -> bool {
        let (start, delimiter) = self.start_and_delimiter(text);
        record_end(text, start, delimiter).is_some_and(|end| record_end(text, end, delimiter).is_some())
    }

    /// Reads the header at the start of a text. Without a header, columns are `column1`, `column2`
    /// and so on.
    pub(super) fn read(self, path: &Path, text: &[u8]) -> Result<Header, Error> {
        let (start, delimiter) = self.start_and_delimiter(text);
        let end = record_end(text, start, delimiter).unwrap_or(text.len());
        let record = &text[start..end];
        if memchr(b'\n', text).is_none() && memchr(b'\r', record.trim_ascii_end()).is_some() {
            let kind = ForeignKind::Other("text whose lines end in a carriage return alone, as on old Macs");
            return Err(Error::Foreign { path: path.into(), kind });
        }
        std::str::from_utf8(record)
            .map_err(|_| Error::NotUtf8 { path: path.into(), place: RowPosition::Line(1) })?;
        // One more than the maximum is enough for `distinct` to refuse them.
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

/// The delimiter that a first line such as `sep=;`, as used by Excel, declares; and the length of
/// that line in bytes.
fn excel_separator(text: &[u8]) -> Option<(u8, usize)> {
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

/// Total length in bytes of the complete leading lines that start with `#`; 0 if no text follows
/// them.
fn comment_bytes(text: &[u8]) -> usize {
    let mut at = 0;
    while text[at..].starts_with(b"#") {
        match memchr(b'\n', &text[at..]) {
            Some(end) => at += end + 1,
            // The text ends within a line that starts with `#`: that line is taken for the header.
            None => return at,
        }
    }
    if at == text.len() { 0 } else { at }
}

/// Names a column that has no name, such as the index written by pandas. The name is the one under
/// which pandas reads such a column.
fn named((at, name): (usize, String)) -> String {
    if name.is_empty() { format!("{}{at}", crate::own_columns::UNNAMED) } else { name }
}

/// Detects the delimiter from the first two records.
///
/// A delimiter fits if it cuts both records into the same number of cells, two or more. Of the tab,
/// semicolon and bar, the one that fits with the most cells wins, unless commas fit and give more
/// cells. If none wins, the comma is taken if the first line has one; else the most frequent of the
/// other three in that line; else the comma.
fn delimiter(text: &[u8]) -> u8 {
    let cut = |delimiter: u8| -> Option<usize> {
        let end = record_end(text, 0, delimiter)?;
        let next = record_end(text, end, delimiter).unwrap_or(text.len());
        let count = |record: &[u8]| cells(record, delimiter).count();
        let header = count(&text[..end]);
        (header > 1 && header == count(&text[end..next])).then_some(header)
    };
    // Commas that cut evenly may be decimal marks: the comma wins only with more cells.
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
    fn lines_before_the_header_are_skipped() {
        let says = HeaderOptions { delimiter: None, header: None };
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
        let says = HeaderOptions { delimiter: None, header: Some(false) };
        let header = says.read(Path::new("a.csv"), b"sep=;\n0,5;1\n").unwrap();
        assert_eq!((header.names.len(), header.bytes, header.lines), (2, 6, 1));
    }

    #[test]
    fn the_delimiter_fits_the_first_two_records() {
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
