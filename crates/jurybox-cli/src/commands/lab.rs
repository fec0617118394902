//! What the lab's commands share: threads, Ctrl-C, a progress bar, a folder that can be written to.

use crate::messages::{can_move, say};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether somebody pressed Ctrl-C.
pub(crate) fn interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Set by Ctrl-C. The second one ends the program at once.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    static HANDLER: OnceLock<()> = OnceLock::new();
    HANDLER.get_or_init(|| {
        // Without a handler Ctrl-C still ends the program; finished runs are on disk either way.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(crate::INTERRUPTED.into());
            }
            say(format_args!("stopping; what is finished is kept (Ctrl-C again to leave at once)"));
        });
    });
    &STOP
}

/// More threads than this are not begun.
const MOST_THREADS: usize = 256;

/// Uses that many threads, 256 at the most; all cores when not said.
pub(crate) fn use_threads(threads: Option<usize>) -> anyhow::Result<()> {
    if let Some(threads) = threads {
        anyhow::ensure!(threads > 0, "threads = 0: there must be at least one");
        rayon::ThreadPoolBuilder::new().num_threads(threads.min(MOST_THREADS)).build_global()?;
    }
    Ok(())
}

/// Makes the folder and finds out now, not after minutes of work, whether it can be written to.
pub(crate) fn writable(folder: &Path) -> anyhow::Result<PathBuf> {
    let cannot = || format!("cannot write to the folder {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let probe = folder.join(".jurybox-probe");
    std::fs::write(&probe, b"").with_context(cannot)?;
    std::fs::remove_file(&probe).with_context(cannot)?;
    Ok(folder.into())
}

/// Writes one file of results.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A bar with the time left on a terminal, nothing elsewhere.
pub(crate) fn progress_bar(what: &str) -> ProgressBar {
    let target = if can_move() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len} runs, {elapsed} gone, {eta} left")
        .expect("a fixed template")
        .progress_chars("=> ");
    bar.set_style(style);
    bar.set_message(what.to_string());
    bar
}
