//! Tasks on several threads, with results that do not depend on the number of threads.

use crate::error::Error;
use jurybox_files::{Progress, Table};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reports progress to the watcher of a table, who may also stop the work. None stands for nobody.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunProgress<'a>(pub(crate) Option<&'a Table>);

impl RunProgress<'_> {
    #[cfg(test)]
    pub(crate) const NOBODY: RunProgress<'static> = RunProgress(None);

    fn tell(self, done: usize, of: usize) {
        if let Some(table) = self.0 {
            table.tell(Progress::Runs { done, of });
        }
    }

    /// Errors if the work was stopped.
    pub(crate) fn go_on(self) -> Result<(), Error> {
        match self.0 {
            Some(table) if table.is_stopped() => Err(jurybox_files::Error::Stopped.into()),
            _ => Ok(()),
        }
    }
}

/// Runs tasks 0 to `tasks - 1` on the given number of threads. Returns the results in the order of
/// the tasks, or the error of the first task that has one.
pub(crate) fn in_parallel<T: Send>(
    tasks: usize,
    threads: usize,
    watch: RunProgress<'_>,
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let threads = threads.clamp(1, tasks.max(1));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(tasks)));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    if task >= tasks {
                        return;
                    }
                    let result = watch.go_on().and_then(|()| work(task));
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((task, result));
                    watch.tell(done.len(), tasks);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(task, _)| *task);
    done.into_iter().map(|(_, result)| result).collect()
}
