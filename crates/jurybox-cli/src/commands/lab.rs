//! Helpers of several commands: threads, Ctrl-C, a progress bar, writable folders.

use crate::messages::{can_redraw, say};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first Ctrl-C after [`stop_flag`] was called.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed after [`stop_flag`] was called.
pub(crate) fn interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// A flag that Ctrl-C sets from now on. A second Ctrl-C ends the program at once.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    static HANDLER: OnceLock<()> = OnceLock::new();
    HANDLER.get_or_init(|| {
        // If the handler cannot be set, the first Ctrl-C ends the program.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(crate::INTERRUPTED.into());
            }
            say(format_args!("Stopping; finished runs are kept. Ctrl-C again to leave at once."));
        });
    });
    &STOP
}

/// The largest number of threads.
const MOST_THREADS: usize = 256;

/// Sets the number of threads, at most [`MOST_THREADS`]. None leaves the default, all cores. Zero
/// is an error.
pub(crate) fn use_threads(threads: Option<usize>) -> anyhow::Result<()> {
    if let Some(threads) = threads {
        anyhow::ensure!(threads > 0, "threads = 0: pass 1 or more");
        rayon::ThreadPoolBuilder::new().num_threads(threads.min(MOST_THREADS)).build_global()?;
    }
    Ok(())
}

/// Creates the folder, and checks before minutes of work that it can be written to.
pub(crate) fn writable(folder: &Path) -> anyhow::Result<PathBuf> {
    let cannot = || format!("cannot write to the folder {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let probe = folder.join(".jurybox-probe");
    std::fs::write(&probe, b"").with_context(cannot)?;
    std::fs::remove_file(&probe).with_context(cannot)?;
    Ok(folder.into())
}

/// Writes a file of results.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A progress bar with the time left. It is hidden where standard error cannot redraw lines.
pub(crate) fn progress_bar(what: &str) -> ProgressBar {
    let target = if can_redraw() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len} runs, {elapsed} gone, {eta} left")
        .expect("a fixed template")
        .progress_chars("=> ");
    bar.set_style(style);
    bar.set_message(what.to_string());
    bar
}
