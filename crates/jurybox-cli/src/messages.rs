//! Messages on standard error. `--quiet` stops messages and warnings, but neither results nor
//! errors.

use jurybox_files::plain;
use std::fmt;
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static QUIET: AtomicBool = AtomicBool::new(false);
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Turns messages off or on. They are on at the start of the process.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether messages are turned off.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a message, unless messages are turned off. Control characters are escaped, because names
/// and cells of files may have them.
pub(crate) fn say(message: fmt::Arguments<'_>) {
    if !is_quiet() {
        line(&plain(&message.to_string(), false));
    }
}

/// Prints a warning, and keeps it for the JSON documents of this run. An equal warning is kept
/// once.
pub(crate) fn warn(message: &str) {
    say(format_args!("warning: {message}"));
    let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if !warnings.iter().any(|other| other == message) {
        warnings.push(message.into());
    }
}

/// All warnings given to [`warn`] so far, each once, including warnings that `--quiet` hid.
pub(crate) fn warnings() -> Vec<String> {
    WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Prints a line even with `--quiet`. A failed write (full disk, closed pipe) does not stop the
/// work.
pub(crate) fn line(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// Names the files that a command has written. Standard output, by any of its names, is left out.
pub(crate) fn wrote<'a>(files: impl IntoIterator<Item = &'a Path>) {
    let files: Vec<String> = files
        .into_iter()
        .filter(|file| !crate::output::is_stdout(file))
        .map(|file| file.display().to_string())
        .collect();
    if !files.is_empty() {
        say(format_args!("Wrote {}.", files.join(", ")));
    }
}

/// Prints the command that makes sense next. `command` comes without `jurybox` in front.
pub(crate) fn next(command: fmt::Arguments<'_>) {
    say(format_args!("Next: jurybox {command}"));
}

/// A word as a shell reads it back: in single quotes if it is empty or has other than plain
/// characters.
pub(crate) fn shell(word: impl fmt::Display) -> String {
    let word = word.to_string();
    let is_plain = |sign: char| sign.is_alphanumeric() || "_-./:,=@+%".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether lines on standard error can be redrawn, as progress bars need. False with `--quiet`,
/// without a terminal, and on a dumb terminal.
pub(crate) fn can_redraw() -> bool {
    !is_quiet() && !is_dumb() && stderr().is_terminal()
}

/// Whether `TERM` is `dumb`: the terminal can neither redraw lines nor show colours.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::shell;

    #[test]
    fn a_shell_reads_words_back() {
        assert_eq!(shell("picks-1.csv"), "picks-1.csv");
        assert_eq!(shell("day 1.csv"), "'day 1.csv'");
        assert_eq!(shell("Ann's"), r"'Ann'\''s'");
        assert_eq!(shell(""), "''");
    }
}
