//! Tasks on several threads, with results that do not depend on how many.

use crate::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs tasks on so many threads; results in the order of the tasks. `told` hears how many are done, and of how many.
pub(crate) fn in_parallel<T: Send>(
    tasks: usize,
    threads: usize,
    told: &(dyn Fn(usize, usize) + Sync),
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
                    let result = work(task);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((task, result));
                    told(done.len(), tasks);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(task, _)| *task);
    done.into_iter().map(|(_, result)| result).collect()
}
