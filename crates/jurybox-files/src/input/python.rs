//! JSON as Python writes it: `NaN` and `Infinity` bare, which JSON does not know.
//!
//! `json.dumps` and `pandas` with a float column do so unless they are told not to. A bare `NaN` is the null that it stands for. A bare
//! `Infinity` becomes a number that is beyond every number, so that it is refused where a score is read, as it is in CSV, and
//! where it only travels along Python reads it back as what it was.

use crate::format::blocks::LONGEST;
use memchr::memmem;
use std::io::{self, Read};

/// What is written bare, and what it is in JSON.
const BARE: [(&[u8], &[u8]); 2] = [(b"NaN", b"null"), (b"Infinity", b"1e999")];

/// How much is read at a time.
const CHUNK: usize = 1 << 16;

/// Lines of JSON in which what Python writes bare is JSON.
pub(super) struct Bare<R> {
    from: R,
    /// Whole lines, and how much of them has been given out.
    lines: Vec<u8>,
    given: usize,
    /// The beginning of a line whose end has not been read yet.
    begun: Vec<u8>,
    ended: bool,
}

impl<R: Read> Bare<R> {
    pub(super) fn new(from: R) -> Self {
        Bare { from, lines: Vec::new(), given: 0, begun: Vec::new(), ended: false }
    }

    /// Reads until a line has its end, or everything has.
    fn more(&mut self) -> io::Result<()> {
        self.given = 0;
        self.lines.clear();
        while self.lines.is_empty() && !self.ended {
            let before = self.begun.len();
            // One read at a time: a stream that breaks off has given out all lines before.
            self.begun.resize(before + CHUNK, 0);
            let read = self.from.read(&mut self.begun[before..]);
            self.begun.truncate(before + read.as_ref().map_or(0, |&read| read));
            self.ended = read? == 0;
            let whole = match memchr::memrchr(b'\n', &self.begun[before..]) {
                Some(end) => before + end + 1,
                // A line that is too long to be read is given out as it stands, to be refused.
                None if self.ended || self.begun.len() > LONGEST => self.begun.len(),
                None => continue,
            };
            // Cut at the end of a line, at which no string is open.
            let rest = self.begun.split_off(whole);
            self.lines = std::mem::replace(&mut self.begun, rest);
            if BARE.iter().any(|(bare, _)| memmem::find(&self.lines, bare).is_some()) {
                self.lines = in_json(&self.lines);
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Bare<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.lines.len() {
            self.more()?;
        }
        let read = (&self.lines[self.given..]).read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

/// The same lines with JSON in the place of what is bare; what stands within strings stays.
fn in_json(lines: &[u8]) -> Vec<u8> {
    let mut json = Vec::with_capacity(lines.len() + lines.len() / 8);
    let (mut at, mut in_string) = (0, false);
    while let Some(&byte) = lines.get(at) {
        let rest = &lines[at..];
        let bare = BARE.iter().find(|(bare, _)| !in_string && rest.starts_with(bare));
        if let Some((bare, becomes)) = bare {
            json.extend_from_slice(becomes);
            at += bare.len();
            continue;
        }
        // What follows a backslash ends no string, and a line always does: no other line is changed by one that is broken.
        let step =
            if in_string && byte == b'\\' && rest.get(1) != Some(&b'\n') { 2.min(rest.len()) } else { 1 };
        in_string = byte != b'\n' && (in_string != (byte == b'"'));
        json.extend_from_slice(&rest[..step]);
        at += step;
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a line's end nothing could be given out, and memory would fill up.
    #[test]
    fn a_line_without_end_is_given_out_before_it_fills_the_memory() {
        let mut endless = Bare::new(io::repeat(b'1'));
        let mut first = [0; 16];
        assert_eq!(endless.read(&mut first).unwrap(), 16);
        assert!(endless.lines.len() <= LONGEST + 2 * CHUNK);
    }

    fn read(text: &str) -> String {
        let mut all = String::new();
        Bare::new(text.as_bytes()).read_to_string(&mut all).unwrap();
        all
    }

    #[test]
    fn what_is_bare_is_json_and_what_is_text_stays() {
        assert_eq!(read(r#"{"a": NaN, "b":[NaN,-Infinity]}"#), r#"{"a": null, "b":[null,-1e999]}"#);
        assert_eq!(read("{\"NaN\": \"NaN \\\" NaN\"}\n"), "{\"NaN\": \"NaN \\\" NaN\"}\n");
        assert_eq!(read("{\"a\": \"open\n{\"b\":NaN}\n"), "{\"a\": \"open\n{\"b\":null}\n");
    }

    #[test]
    fn it_does_not_matter_where_reading_is_cut() {
        let text = format!("{{\"a\":\"{}\",\"b\":NaN}}\n", "x".repeat(997)).repeat(300);
        assert_eq!(read(&text), text.replace("NaN", "null"));
        assert_eq!(read(""), "");
    }
}
