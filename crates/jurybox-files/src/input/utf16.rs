//! Conversion of UTF-16, as spreadsheets save "Unicode text", to UTF-8.

use std::io::{self, ErrorKind, Read};

/// The byte order of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// The byte order of a text in UTF-16, by its byte order mark or by zero bytes beside its first two
/// characters. `None` if it does not look like UTF-16.
pub(super) fn order(head: &[u8]) -> Option<ByteOrder> {
    match head {
        [0xff, 0xfe, ..] | [1..=255, 0, 1..=255, 0, ..] => Some(ByteOrder::Little),
        [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255, ..] => Some(ByteOrder::Big),
        _ => None,
    }
}

/// A reader that converts UTF-16 to UTF-8 and keeps a byte order mark.
pub(super) struct Utf8<R> {
    from: R,
    order: ByteOrder,
    /// Bytes not decoded yet: a read may end within a character.
    raw: Vec<u8>,
    text: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf8<R> {
    pub(super) fn new(from: R, order: ByteOrder) -> Self {
        Utf8 { from, order, raw: Vec::new(), text: Vec::new(), given: 0 }
    }

    /// Decodes all complete characters. `ended` says that no more bytes will come.
    fn decode(&mut self, ended: bool) -> io::Result<()> {
        let unit = |pair: [u8; 2]| match self.order {
            ByteOrder::Little => u16::from_le_bytes(pair),
            ByteOrder::Big => u16::from_be_bytes(pair),
        };
        let mut units: Vec<u16> = self.raw.as_chunks().0.iter().map(|&pair| unit(pair)).collect();
        // The first half of a surrogate pair waits for the second half.
        if !ended && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            units.pop();
        }
        let used = 2 * units.len();
        let mut text = String::with_capacity(units.len());
        for character in char::decode_utf16(units) {
            let bad = |_| io::Error::new(ErrorKind::InvalidData, "this is not valid UTF-16");
            text.push(character.map_err(bad)?);
        }
        self.raw.drain(..used);
        if ended && !self.raw.is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidData, "UTF-16 with an odd number of bytes"));
        }
        (self.text, self.given) = (text.into_bytes(), 0);
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            let read = self.from.by_ref().take(1 << 16).read_to_end(&mut self.raw)?;
            if read == 0 && self.raw.is_empty() {
                return Ok(0);
            }
            self.decode(read == 0)?;
        }
        let count = out.len().min(self.text.len() - self.given);
        out[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte per read.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = out.len().min(1);
            self.0.read(&mut out[..count])
        }
    }

    #[test]
    fn both_byte_orders_are_read_and_truncated_text_is_refused() {
        let text = "post;spam\np\u{1f600};0,5\n";
        for (order, bytes) in [
            (ByteOrder::Little, text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
            (ByteOrder::Big, text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ] {
            assert_eq!(super::order(&bytes), Some(order), "{bytes:?}");
            let mut read = String::new();
            Utf8::new(Drip(&bytes), order).read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
            // Cuts after half a letter, and within the emoji, which is at bytes 22 to 25.
            for cut in [1, 23, 24] {
                let mut rest = Vec::new();
                let cut = Utf8::new(&bytes[..cut], order).read_to_end(&mut rest);
                assert_eq!(cut.unwrap_err().kind(), ErrorKind::InvalidData);
            }
        }
        assert_eq!(order(b"post,spam"), None);
    }
}
