//! The progress bar on a terminal for reading files and for replays that take more than a second.

use crate::messages;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jurybox_files::Progress;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long work lasts before it gets a bar.
const DELAY: Duration = Duration::from_secs(1);

/// A piece of work with its beginning and its last position, and its bar once there is one.
struct FileProgress {
    bar: Option<ProgressBar>,
    what: &'static str,
    begun: Instant,
    last: u64,
}

/// A callback that draws progress. None if standard error cannot redraw lines.
pub(crate) fn on_terminal() -> Option<impl Fn(Progress) + Send + Sync + 'static> {
    if !messages::can_redraw() {
        return None;
    }
    let shown = Mutex::new(FileProgress { bar: None, what: "", begun: Instant::now(), last: 0 });
    Some(move |progress: Progress| shown.lock().unwrap_or_else(PoisonError::into_inner).update(progress))
}

impl FileProgress {
    fn update(&mut self, progress: Progress) {
        let (what, position, of) = match progress {
            Progress::Rows { bytes, of, .. } => ("reading", bytes, of),
            Progress::Runs { done, of } => ("replaying", done as u64, Some(of as u64)),
        };
        // A position before the last one means a second pass over the files, which is timed anew.
        if what != self.what || position < self.last {
            self.clear();
            (self.what, self.begun) = (what, Instant::now());
        }
        self.last = position;
        if of.is_some_and(|of| position >= of) {
            self.clear();
            return;
        }
        if self.begun.elapsed() < DELAY {
            return;
        }
        let (begun, new) = (self.begun, self.bar.is_none());
        let bar = self.bar.get_or_insert_with(|| bar(what, of).with_elapsed(begun.elapsed()));
        bar.set_position(position);
        if let Progress::Rows { rows, .. } = progress {
            let rate = rows as f64 / self.begun.elapsed().as_secs_f64();
            bar.set_message(format!("{:.1} M rows, {:.1} M/s", rows as f64 / 1e6, rate / 1e6));
        }
        if new {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for FileProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bar(what: &'static str, of: Option<u64>) -> ProgressBar {
    let template = match (what, of) {
        ("replaying", _) => "{prefix} [{bar:32}] {pos}/{len} runs, {elapsed} gone, {eta} left",
        (_, Some(_)) => "{prefix} [{bar:32}] {bytes}/{total_bytes}, {msg}, {eta} left",
        (_, None) => "{prefix} {bytes}, {msg}, {elapsed} gone",
    };
    // The caller shows the bar once it has a position and a message.
    let bar = ProgressBar::with_draw_target(of, ProgressDrawTarget::hidden());
    // The templates are fixed; a wrong one would leave the default style.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(what);
    bar
}
