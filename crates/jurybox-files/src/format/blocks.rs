//! Text in blocks that end where a record ends, so that blocks can be parsed apart from each other.

use super::{Cut, Unit};
use crate::error::{Error, Place};
use crate::input::Input;
use memchr::{memchr, memchr_iter, memrchr};
use std::io::Read;

/// How much text is read at a time. It does not depend on the number of threads, and so neither does any result.
const BLOCK: usize = 1 << 20;

/// The longest record: beyond it, this is not a file with line ends, or a quote was never closed.
pub(crate) const LONGEST: usize = 1 << 26;

/// Where records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// At every line end.
    Lines,
    /// At every line end outside quotes, for cells separated by this byte.
    Quoted(u8),
}

/// Reads a text in blocks.
struct Blocks {
    text: Box<dyn Read + Send>,
    ends: Ends,
    /// What was read beyond the last record's end.
    rest: Vec<u8>,
    ended: bool,
    lines: u64,
}

impl Blocks {
    fn new(text: Box<dyn Read + Send>, ends: Ends) -> Self {
        Blocks { text, ends, rest: Vec::new(), ended: false, lines: 0 }
    }

    /// The next block into `block`, whose memory is used again; false at the end.
    fn next(&mut self, input: &Input, block: &mut Vec<u8>) -> Result<bool, Error> {
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
                let place = Place::Line(self.lines + 1);
                let path = input.path.clone();
                return Err(if self.ends != Ends::Lines && memchr(b'"', block).is_some() {
                    Error::OpenQuote { path, place }
                } else {
                    Error::LongRecord { path, place, limit: LONGEST }
                });
            }
            size *= 2;
        }
    }
}

/// A text as units of work: a block each.
pub(crate) struct TextUnits<'a> {
    input: &'a Input,
    blocks: Blocks,
}

impl<'a> TextUnits<'a> {
    pub(crate) fn new(input: &'a Input, text: Box<dyn Read + Send>, ends: Ends) -> Self {
        TextUnits { input, blocks: Blocks::new(text, ends) }
    }
}

impl Cut for TextUnits<'_> {
    fn next(&mut self, unit: &mut Unit) -> Result<bool, Error> {
        self.blocks.next(self.input, &mut unit.text)
    }
}

/// Just behind the last record that ends within the block.
fn last_end(block: &[u8], ends: Ends) -> Option<usize> {
    let Ends::Quoted(delimiter) = ends else {
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

/// Just behind the line end of the record that begins at `at`, if that is within the text.
///
/// A quote opens only at the beginning of a cell; within quotes, two of them stand for one.
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

/// The quote that closes a cell whose inside begins at `at`.
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
