//! Splits a text into blocks that end at a record's end, so that blocks can be parsed in parallel.

use super::{UnitReader, WorkUnit};
use crate::error::{Error, RowPosition};
use crate::input::InputFile;
use memchr::{memchr, memchr_iter, memrchr};
use std::io::Read;

/// Maximum number of bytes per block, unless a record is longer. It is the same for any number of
/// threads, so that results do not depend on that number.
const BLOCK: usize = 1 << 20;

/// Maximum length of a record in bytes. A longer one is refused: probably the file has no line
/// ends, or a quote was never closed.
pub(crate) const LONGEST: usize = 1 << 26;

/// Where the records of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordEnds {
    /// At each line end.
    Lines,
    /// At each line end outside quotes; this byte separates the cells.
    Quoted(u8),
}

/// A reader that returns a text block by block.
struct BlockReader {
    text: Box<dyn Read + Send>,
    ends: RecordEnds,
    /// Text that was read beyond the end of the previous block.
    rest: Vec<u8>,
    ended: bool,
    lines: u64,
}

impl BlockReader {
    fn new(text: Box<dyn Read + Send>, ends: RecordEnds) -> Self {
        BlockReader { text, ends, rest: Vec::new(), ended: false, lines: 0 }
    }

    /// Reads the next block into `block`, reusing its memory. False at the end of the text.
    fn next(&mut self, input: &InputFile, block: &mut Vec<u8>) -> Result<bool, Error> {
        block.clear();
        std::mem::swap(block, &mut self.rest);
        let mut size = BLOCK;
        loop {
            while block.len() < size && !self.ended {
                let want = (size - block.len()) as u64;
                let read = self.text.by_ref().take(want).read_to_end(block).map_err(|e| input.reading(e))?;
                self.ended = read == 0;
            }
            if self.ended {
                return Ok(!block.is_empty());
            }
            if let Some(end) = last_end(block, self.ends) {
                self.rest.clear();
                self.rest.extend_from_slice(&block[end..]);
                block.truncate(end);
                self.lines += memchr_iter(b'\n', block).count() as u64;
                return Ok(true);
            }
            if size >= LONGEST {
                let place = RowPosition::Line(self.lines + 1);
                let path = input.path.clone();
                return Err(if self.ends != RecordEnds::Lines && memchr(b'"', block).is_some() {
                    Error::OpenQuote { path, place }
                } else {
                    Error::LongRecord { path, place, limit: LONGEST }
                });
            }
            size *= 2;
        }
    }
}

/// The blocks of a text as units of work.
pub(crate) struct TextUnits<'a> {
    input: &'a InputFile,
    blocks: BlockReader,
}

impl<'a> TextUnits<'a> {
    pub(crate) fn new(input: &'a InputFile, text: Box<dyn Read + Send>, ends: RecordEnds) -> Self {
        TextUnits { input, blocks: BlockReader::new(text, ends) }
    }
}

impl UnitReader for TextUnits<'_> {
    fn next(&mut self, unit: &mut WorkUnit) -> Result<bool, Error> {
        self.blocks.next(self.input, &mut unit.text)
    }
}

/// The position just after the last record that ends within the block; `None` if no record does.
fn last_end(block: &[u8], ends: RecordEnds) -> Option<usize> {
    let RecordEnds::Quoted(delimiter) = ends else {
        return memrchr(b'\n', block).map(|at| at + 1);
    };
    if memchr(b'"', block).is_none() {
        return memrchr(b'\n', block).map(|at| at + 1);
    }
    let (mut at, mut last) = (0, None);
    while let Some(end) = record_end(block, at, delimiter) {
        (at, last) = (end, Some(end));
    }
    last
}

/// The position just after the line end of the record that starts at `at`; `None` if the text has
/// no such line end.
///
/// A quote opens only at the start of a cell. Within quotes, a doubled quote stands for one.
pub(crate) fn record_end(text: &[u8], at: usize, delimiter: u8) -> Option<usize> {
    let mut at = at;
    loop {
        // At the beginning of a cell.
        if text.get(at) == Some(&b'"') {
            at = closing_quote(text, at + 1)? + 1;
        }
        let step = memchr::memchr2(delimiter, b'\n', &text[at..])?;
        at += step + 1;
        if text[at - 1] == b'\n' {
            return Some(at);
        }
    }
}

/// The position of the quote that closes a cell whose content starts at `at`; `None` if there is
/// none.
pub(crate) fn closing_quote(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        at += memchr(b'"', text.get(at..)?)?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_outside_quotes_only() {
        let text = b"a,\"x\ny\",b\n5\" pipe,2\n\"q\"\"\n\",3\n";
        let mut ends = Vec::new();
        let mut at = 0;
        while let Some(end) = record_end(text, at, b',') {
            ends.push(std::str::from_utf8(&text[at..end]).unwrap());
            at = end;
        }
        assert_eq!(ends, ["a,\"x\ny\",b\n", "5\" pipe,2\n", "\"q\"\"\n\",3\n"]);
        assert_eq!(record_end(b"\"open\n", 0, b','), None);
    }
}
