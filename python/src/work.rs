//! Long work on a thread of its own, while the caller's thread handles signals and progress.
//!
//! After Ctrl-C the work is asked to stop, which it does at the end of its current unit. If that
//! takes longer than `PATIENCE`, it is abandoned and stops by itself later, without having changed
//! anything. Before a permanent change the work asks the caller's thread, which first checks for
//! signals (`confirm`).

use crate::errors::{Error, Result};
use jurybox_files::{Progress, Table, Warning};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two checks for signals by the caller's thread.
const LOOK: Duration = Duration::from_millis(50);
/// Time that interrupted work is waited for.
const PATIENCE: Duration = Duration::from_millis(400);

/// Lets work be watched and stopped.
#[derive(Clone, Default)]
pub(crate) struct WorkControl {
    pub(crate) stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Option<Progress>>>,
    heard: Arc<Mutex<Vec<String>>>,
    /// Asks the caller's thread whether to go on.
    ask_caller: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// A message from the worker to the caller's thread.
enum WorkMessage<T> {
    /// The work is about to make a permanent change; the answer says whether it may.
    MayChange(SyncSender<bool>),
    Done(T),
}

impl WorkControl {
    /// The table with progress, warnings and interrupts attached.
    pub(crate) fn hold(&self, table: Table) -> Table {
        let progress = self.progress.clone();
        let table = table.stop_when(self.stop.clone()).on_progress(move |now| *lock(&progress) = Some(now));
        self.hear(table, |_| true)
    }

    /// The table; those of its warnings that `worth` selects are collected.
    pub(crate) fn hear(&self, table: Table, worth: fn(&Warning) -> bool) -> Table {
        let heard = self.heard.clone();
        table.on_warning(move |warning| {
            if worth(warning) {
                lock(&heard).push(warning.to_string());
            }
        })
    }

    /// The warnings collected so far; the list is emptied.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.heard))
    }

    /// Errors if the work was asked to stop.
    pub(crate) fn still_wanted(&self) -> std::result::Result<(), jurybox_files::Error> {
        if self.stop.load(Ordering::Relaxed) { Err(jurybox_files::Error::Stopped) } else { Ok(()) }
    }

    /// Errors if the caller no longer wants the result, after a last check for signals. That check
    /// runs the caller's code, so no lock may be held.
    pub(crate) fn confirm(&self) -> std::result::Result<(), jurybox_files::Error> {
        let told_to_stop = self.ask_caller.as_ref().is_some_and(|ask_caller| !ask_caller());
        if told_to_stop { Err(jurybox_files::Error::Stopped) } else { self.still_wanted() }
    }
}

/// Runs `work` without holding the interpreter. `watch` is called with the rows or runs done, the
/// position in bytes or runs, its end (or None), and the unit, `rows` or `runs`.
pub(crate) fn run<T, E>(
    py: Python<'_>,
    watch: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&WorkControl) -> std::result::Result<T, E> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    E: Into<Error> + Send + 'static,
{
    let control = WorkControl::default();
    let (sender, mut receiver) = channel();
    let asking = sender.clone();
    let ask_caller = move || {
        let (answer, answered) = sync_channel(1);
        // Sending fails if the caller has stopped waiting.
        asking.send(WorkMessage::MayChange(answer)).is_ok() && answered.recv().unwrap_or(false)
    };
    let held = WorkControl { ask_caller: Some(Arc::new(ask_caller)), ..control.clone() };
    let worker = py.detach(|| {
        std::thread::Builder::new().name("jurybox".into()).spawn(move || {
            let _ = sender.send(WorkMessage::Done(work(&held)));
        })
    });
    let worker = worker.map_err(PyErr::from)?;
    let mut shown: Option<Progress> = None;
    loop {
        let (waited, returned) = py.detach(move || (receiver.recv_timeout(LOOK), receiver));
        receiver = returned;
        let asked = match waited {
            Ok(WorkMessage::Done(result)) => return result.map_err(Into::into),
            Ok(WorkMessage::MayChange(answer)) => Some(answer),
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(py.detach(|| worker.join()))),
            Err(RecvTimeoutError::Timeout) => None,
        };
        let now = *lock(&control.progress);
        let told = match (watch, now) {
            (Some(watch), Some(now)) if Some(now) != shown => tell(watch, now),
            _ => Ok(()),
        };
        shown = now;
        if let Err(error) = told.and_then(|()| py.check_signals()) {
            control.stop.store(true, Ordering::Relaxed);
            drop((asked, receiver));
            py.detach(move || {
                let begun = Instant::now();
                while !worker.is_finished() && begun.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            return Err(error.into());
        }
        if let Some(answer) = asked {
            let _ = answer.send(true);
        }
    }
}

fn tell(watch: &Bound<'_, PyAny>, now: Progress) -> PyResult<()> {
    match now {
        Progress::Rows { rows, bytes, of } => watch.call1((rows, bytes, of, "rows"))?,
        Progress::Runs { done, of } => watch.call1((done, done, of, "runs"))?,
    };
    Ok(())
}

/// The error for a panic, which is a defect of ours.
fn panicked(joined: std::thread::Result<()>) -> Error {
    let what = match joined {
        Err(panic) => match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(text), _) => text.clone(),
            (_, Some(text)) => (*text).to_string(),
            _ => "unknown reason".into(),
        },
        Ok(()) => "it ended without a result".into(),
    };
    pyo3::exceptions::PyRuntimeError::new_err(format!("this is a bug in jurybox, please report it: {what}"))
        .into()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
