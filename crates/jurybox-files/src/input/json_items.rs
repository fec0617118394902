//! Conversion of JSON to one object per line, from an array or from objects over several lines.

use std::io::{self, ErrorKind, Read};

/// Detects JSON by the beginning of a text: `None` if it is not JSON, else whether it must be
/// converted to lines.
pub(crate) fn is_json(text: &[u8]) -> Option<bool> {
    let unmarked = text.strip_prefix(&[0xef, 0xbb, 0xbf]);
    let begin = unmarked.unwrap_or(text).trim_ascii_start();
    let second = begin.get(1..)?.trim_ascii_start().first();
    match (begin.first()?, second) {
        (b'[', Some(b'{' | b']')) => Some(true),
        (b'{', Some(b'"' | b'}')) => {
            let line = memchr::memchr(b'\n', begin).map(|end| &begin[..end]);
            let cut = |line: &[u8]| {
                serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err_and(|error| error.is_eof())
            };
            // The conversion also removes a byte order mark.
            Some(unmarked.is_some() || line.is_some_and(cut))
        }
        _ => None,
    }
}

/// A reader that returns the items of a JSON text, one per line. Invalid items are passed on to the
/// parser, which refuses them.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing about the place in the text")]
pub(super) struct JsonItems<R> {
    from: R,
    buffer: Vec<u8>,
    out: Vec<u8>,
    given: usize,
    depth: usize,
    quoted: bool,
    escaped: bool,
    /// Whether an item has begun and not ended.
    within: bool,
    /// `None` outside of an array, `Some(false)` within one, and `Some(true)` after its end.
    array: Option<bool>,
    begun: bool,
}

impl<R: Read> JsonItems<R> {
    pub(super) fn new(from: R) -> Self {
        JsonItems {
            from,
            buffer: vec![0; 1 << 16],
            out: Vec::new(),
            given: 0,
            depth: 0,
            quoted: false,
            escaped: false,
            within: false,
            array: None,
            begun: false,
        }
    }

    /// Processes one byte of the JSON text.
    fn take(&mut self, byte: u8) -> io::Result<()> {
        if self.quoted {
            // A line end within a string is invalid JSON. It becomes a NUL, which the parser
            // refuses.
            self.out.push(if byte == b'\n' { 0 } else { byte });
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.quoted = false,
                _ => {}
            }
            return Ok(());
        }
        let first = !self.within;
        if first {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => return Ok(()),
                b'[' if !self.begun => {
                    (self.array, self.begun) = (Some(false), true);
                    return Ok(());
                }
                b',' if self.array == Some(false) => return Ok(()),
                b']' if self.array == Some(false) => {
                    self.array = Some(true);
                    return Ok(());
                }
                _ if self.array == Some(true) => {
                    return Err(io::Error::new(
                        ErrorKind::InvalidData,
                        "there is text after the end of the JSON array",
                    ));
                }
                _ => (self.within, self.begun) = (true, true),
            }
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => self.depth -= 1,
            // An item without brackets, such as a number, ends at the next separator.
            b',' | b']' | b'\n' if self.depth == 0 && !first => {
                self.end();
                return self.take(byte);
            }
            _ => {}
        }
        self.out.push(if byte == b'\n' { b' ' } else { byte });
        if self.depth == 0 && matches!(byte, b'}' | b']') {
            self.end();
        }
        Ok(())
    }

    fn end(&mut self) {
        self.out.push(b'\n');
        self.within = false;
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.quoted || self.depth > 0 || self.array == Some(false) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if self.within {
            self.end();
        }
        Ok(())
    }
}

impl<R: Read> Read for JsonItems<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() {
            self.out.clear();
            self.given = 0;
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.from.read(&mut buffer)?;
            let taken = buffer[..read].iter().try_for_each(|&byte| self.take(byte));
            self.buffer = buffer;
            taken?;
            if read == 0 {
                self.finish()?;
                if self.out.is_empty() {
                    return Ok(0);
                }
            }
        }
        let count = out.len().min(self.out.len() - self.given);
        out[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<String, ErrorKind> {
        let mut all = String::new();
        JsonItems::new(text.as_bytes()).read_to_string(&mut all).map_err(|e| e.kind())?;
        Ok(all)
    }

    #[test]
    fn items_are_written_one_per_line() {
        for (text, says) in [
            ("[{\"a\":1},{\"a\":[2,{}]}]\n", "{\"a\":1}\n{\"a\":[2,{}]}\n"),
            ("\u{feff} [ {\"a\":\n1} ,\n{\"b\":\"],[\\\"\"} ] ", "{\"a\": 1}\n{\"b\":\"],[\\\"\"}\n"),
            ("{\n \"a\": 1\n}\n{\n \"a\": 2\n}\n", "{  \"a\": 1 }\n{  \"a\": 2 }\n"),
            ("[]", ""),
            ("[1, 2]", "1\n2\n"),
            ("{},]}", "{}\n,\n]\n}\n"),
        ] {
            assert_eq!(lines(text).as_deref(), Ok(says), "{text}");
        }
        for (text, says) in [
            ("[{\"a\":1},", ErrorKind::UnexpectedEof),
            ("[{\"a\":1", ErrorKind::UnexpectedEof),
            ("[{\"a\":\"", ErrorKind::UnexpectedEof),
            ("[{\"a\":1}] {\"a\":2}", ErrorKind::InvalidData),
        ] {
            assert_eq!(lines(text), Err(says), "{text}");
        }
    }

    #[test]
    fn json_is_detected_by_its_start() {
        assert_eq!(is_json(b"{\"a\":1}\n{\"a\":2}\n"), Some(false));
        assert_eq!(is_json(b"{\n\"a\":1}\n"), Some(true));
        assert_eq!(is_json(b"[\n {\"a\":1}]\n"), Some(true));
        assert_eq!(is_json(b"\xef\xbb\xbf{\"a\":1}\n{\"a\":2}\n"), Some(true));
        assert_eq!(is_json(b"{\"a\":1}"), Some(false));
        assert_eq!(is_json(b"[a],b\n1,2\n"), None);
        assert_eq!(is_json(b"{a},b\n1,2\n"), None);
    }
}
