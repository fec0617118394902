//! Limits and connections for reads, so that they do not delay claims.

use crate::Error;
use crate::service::lock_mutex;
use crate::store::Store;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// The length of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLength {
    /// A page of items or of the log.
    Short,
    /// Large parts of the log.
    Long,
}

/// The most short and the most long reads at a time. Long reads do not delay short ones.
const AT_ONCE: [usize; 2] = [8, 4];
/// How long a read waits for its permit.
const PATIENCE: Duration = Duration::from_secs(10);

/// Idle read connections for all queues, and the number of running reads of each length.
#[derive(Default)]
pub(crate) struct ReadPool {
    kept: Mutex<Vec<Box<dyn Store>>>,
    looking: Mutex<[usize; 2]>,
    left: Condvar,
}

/// A permit for one read. Its connection must be closed or returned before the permit is dropped.
pub(crate) struct ReadPermit<'a>(&'a ReadPool, ReadLength);

impl ReadPool {
    /// Waits for a permit; [`Error::Busy`] after ten seconds. A thread must not hold two permits,
    /// because threads could then wait for each other.
    pub(crate) fn place(&self, look: ReadLength) -> Result<ReadPermit<'_>, Error> {
        self.place_within(PATIENCE, look)
    }

    fn place_within(&self, patience: Duration, look: ReadLength) -> Result<ReadPermit<'_>, Error> {
        let is_full = |looking: &mut [usize; 2]| looking[look as usize] >= AT_ONCE[look as usize];
        let waited = self.left.wait_timeout_while(lock_mutex(&self.looking), patience, is_full);
        let (mut looking, waited) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if waited.timed_out() {
            return Err(Error::Busy("too many reads at once; try again".into()));
        }
        looking[look as usize] += 1;
        Ok(ReadPermit(self, look))
    }

    pub(super) fn take(&self) -> Option<Box<dyn Store>> {
        lock_mutex(&self.kept).pop()
    }

    /// Keeps a connection for the next short read. The number of permits limits their number.
    pub(super) fn give_back(&self, store: Box<dyn Store>) {
        lock_mutex(&self.kept).push(store);
    }
}

impl Drop for ReadPermit<'_> {
    fn drop(&mut self) {
        lock_mutex(&self.0.looking)[self.1 as usize] -= 1;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_looks_waits_for_those_who_look_as_long_and_for_no_others() {
        let readers = ReadPool::default();
        let mut long: Vec<ReadPermit<'_>> = (0..AT_ONCE[ReadLength::Long as usize])
            .map(|_| readers.place(ReadLength::Long).unwrap())
            .collect();
        let at_once = |look| readers.place_within(Duration::ZERO, look).map(drop);
        assert!(at_once(ReadLength::Long).is_err());
        at_once(ReadLength::Short).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| readers.place(ReadLength::Long).map(drop));
            long.pop();
            waits.join().unwrap().unwrap();
        });
        at_once(ReadLength::Long).unwrap();
        assert_eq!(*lock_mutex(&readers.looking), [0, long.len()]);
    }
}
