//! Escaping of text for terminals: characters that move the cursor, change colours, rename the
//! window or reverse text are shown, not obeyed.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// The text with every character that a terminal acts on written as its code, such as `\u001b` for
/// escape. Line ends are kept if `lines` is set.
///
/// ```
/// use jurybox_files::plain;
/// assert_eq!(plain("spam\u{1b}[31m\n", false), r"spam\u001b[31m\u000a");
/// assert_eq!(plain("two\nlines, \u{202e}turned", true), "two\nlines, \\u202eturned");
/// assert_eq!(plain("tab\tand ünïcode", false), "tab\tand ünïcode");
/// ```
pub fn plain(text: &str, lines: bool) -> Cow<'_, str> {
    let acts = |c: char| acts_on_a_terminal(c) && !(lines && c == '\n');
    if !text.contains(acts) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            out.push_str("\\u");
            out.extend(
                [12, 8, 4, 0]
                    .map(|shift| char::from(b"0123456789abcdef"[(u32::from(c) >> shift & 15) as usize])),
            );
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Appends a line to a text table. Line breaks in it are escaped, so that a name cannot forge a
/// line.
///
/// ```
/// let mut table = String::new();
/// jurybox_files::push_line(&mut table, "`de\nall` is fine");
/// assert_eq!(table, "`de\\u000aall` is fine\n");
/// ```
pub fn push_line(table: &mut String, line: &str) {
    table.push_str(&plain(line, false));
    table.push('\n');
}

/// Whether a character is a line separator, a mark that changes the direction of text, or a control
/// character other than a tab.
fn acts_on_a_terminal(c: char) -> bool {
    let turns =
        matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\t')
}

/// Standard output that escapes text on a terminal and passes it on unchanged to a file or a pipe.
#[derive(Debug)]
pub(crate) struct TerminalOutput {
    out: io::Stdout,
    on_terminal: bool,
    /// The start of a character whose end has not been written yet.
    begun: Vec<u8>,
}

impl TerminalOutput {
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        let on_terminal = out.is_terminal();
        TerminalOutput { out, on_terminal, begun: Vec::new() }
    }
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.on_terminal {
            return self.out.write(bytes);
        }
        let mut text = std::mem::take(&mut self.begun);
        text.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&text) {
            Err(cut) if cut.error_len().is_none() => cut.valid_up_to(),
            _ => text.len(),
        };
        self.begun = text.split_off(whole);
        self.out.write_all(plain(&String::from_utf8_lossy(&text), true).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
