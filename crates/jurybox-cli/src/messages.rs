//! Standard error: words to the person while it works. `--quiet` stops them; results and errors it does not.

use jurybox_files::plain;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static QUIET: AtomicBool = AtomicBool::new(false);
static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Says nothing from here on, where that was asked for.
pub(crate) fn hush(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether nothing is to be said.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line to the person; what a terminal would act on is written out.
pub(crate) fn say(what: std::fmt::Arguments<'_>) {
    if !QUIET.load(Ordering::Relaxed) {
        line(&plain(&what.to_string(), false));
    }
}

/// A warning to the person, which documents have too: it is about the table that a result rests on.
pub(crate) fn warn(what: &str) {
    say(format_args!("warning: {what}"));
    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if !warned.iter().any(|other| other == what) {
        warned.push(what.into());
    }
}

/// What was warned of, quiet or not.
pub(crate) fn warned() -> Vec<String> {
    WARNED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A line on standard error, quiet or not. That nobody can read it (a full disk, a reader that has gone) does not stop the work.
pub(crate) fn line(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// Whether somebody looks at a terminal that can take back what it has shown: bars and moving figures are for nobody else.
pub(crate) fn can_move() -> bool {
    !QUIET.load(Ordering::Relaxed) && !is_dumb() && stderr().is_terminal()
}

/// Whether the terminal says that it can do nothing but print.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
