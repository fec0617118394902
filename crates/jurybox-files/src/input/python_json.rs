//! Conversion of Python's `NaN` and `Infinity`, which are not valid JSON.
//!
//! Python's `json.dumps` writes them for floats by default. `NaN` becomes `null`. `Infinity`
//! becomes `1e999`, which is refused as a score, and which Python reads as infinity.

use crate::format::blocks::LONGEST;
use memchr::memmem;
use std::io::{self, Read};

/// The constants, each with its replacement in JSON.
const BARE: [(&[u8], &[u8]); 2] = [(b"NaN", b"null"), (b"Infinity", b"1e999")];

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// A reader of JSON lines that replaces Python's constants.
pub(super) struct PythonJson<R> {
    from: R,
    /// Complete lines. `given` of their bytes have been returned.
    lines: Vec<u8>,
    given: usize,
    /// The start of a line whose end has not been read yet.
    begun: Vec<u8>,
    ended: bool,
}

impl<R: Read> PythonJson<R> {
    pub(super) fn new(from: R) -> Self {
        PythonJson { from, lines: Vec::new(), given: 0, begun: Vec::new(), ended: false }
    }

    /// Reads until a line is complete or over the maximum length, or the input ends.
    fn more(&mut self) -> io::Result<()> {
        self.given = 0;
        self.lines.clear();
        while self.lines.is_empty() && !self.ended {
            let before = self.begun.len();
            // One read at a time, so that all lines before a read error are returned.
            self.begun.resize(before + CHUNK, 0);
            let read = self.from.read(&mut self.begun[before..]);
            self.begun.truncate(before + read.as_ref().map_or(0, |&read| read));
            self.ended = read? == 0;
            let whole = match memchr::memrchr(b'\n', &self.begun[before..]) {
                Some(end) => before + end + 1,
                // A line over the maximum length is passed on, to be refused later.
                None if self.ended || self.begun.len() > LONGEST => self.begun.len(),
                None => continue,
            };
            // Parts are split at a line end, so that no string extends over two of them.
            let rest = self.begun.split_off(whole);
            self.lines = std::mem::replace(&mut self.begun, rest);
            if BARE.iter().any(|(bare, _)| memmem::find(&self.lines, bare).is_some()) {
                self.lines = in_json(&self.lines);
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for PythonJson<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.lines.len() {
            self.more()?;
        }
        let read = (&self.lines[self.given..]).read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

/// Replaces the constants outside of strings.
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
        // An escaped quote does not end a string. A line end does, so that a broken line affects no
        // other line.
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

    /// A reader that waits for the end of an endless line would fill the memory.
    #[test]
    fn an_endless_line_is_returned_before_it_fills_the_memory() {
        let mut endless = PythonJson::new(io::repeat(b'1'));
        let mut first = [0; 16];
        assert_eq!(endless.read(&mut first).unwrap(), 16);
        assert!(endless.lines.len() <= LONGEST + 2 * CHUNK);
    }

    fn read(text: &str) -> String {
        let mut all = String::new();
        PythonJson::new(text.as_bytes()).read_to_string(&mut all).unwrap();
        all
    }

    #[test]
    fn constants_are_replaced_outside_strings() {
        assert_eq!(read(r#"{"a": NaN, "b":[NaN,-Infinity]}"#), r#"{"a": null, "b":[null,-1e999]}"#);
        assert_eq!(read("{\"NaN\": \"NaN \\\" NaN\"}\n"), "{\"NaN\": \"NaN \\\" NaN\"}\n");
        assert_eq!(read("{\"a\": \"open\n{\"b\":NaN}\n"), "{\"a\": \"open\n{\"b\":null}\n");
    }

    #[test]
    fn results_do_not_depend_on_read_sizes() {
        let text = format!("{{\"a\":\"{}\",\"b\":NaN}}\n", "x".repeat(997)).repeat(300);
        assert_eq!(read(&text), text.replace("NaN", "null"));
        assert_eq!(read(""), "");
    }
}
