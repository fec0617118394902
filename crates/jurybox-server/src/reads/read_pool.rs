//! Connections of those who only look: a database has few, and those who claim come first.

use crate::Error;
use crate::service::held;
use crate::store::Store;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How long somebody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLength {
    /// At a page of items or of the log.
    Short,
    /// At much of the log.
    Long,
}

/// How many of each kind look at once. Those who look long do not keep the others waiting.
const AT_ONCE: [usize; 2] = [8, 4];
/// How long somebody waits for their turn; it is less than whoever asks over HTTP waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connections for looks, at whatever queue, that nobody uses now, and how many are in use.
#[derive(Default)]
pub(crate) struct ReadPool {
    kept: Mutex<Vec<Box<dyn Store>>>,
    looking: Mutex<[usize; 2]>,
    left: Condvar,
}

/// One of those who may look now. The connection is closed or given back before this is dropped.
pub(crate) struct ReadPermit<'a>(&'a ReadPool, ReadLength);

impl ReadPool {
    /// Waits until there are few enough who look. Whoever has a place must not ask for another: all could wait for each other.
    pub(crate) fn place(&self, look: ReadLength) -> Result<ReadPermit<'_>, Error> {
        self.place_within(PATIENCE, look)
    }

    fn place_within(&self, patience: Duration, look: ReadLength) -> Result<ReadPermit<'_>, Error> {
        let is_full = |looking: &mut [usize; 2]| looking[look as usize] >= AT_ONCE[look as usize];
        let waited = self.left.wait_timeout_while(held(&self.looking), patience, is_full);
        let (mut looking, waited) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if waited.timed_out() {
            return Err(Error::Busy("too many look at queues at once".into()));
        }
        looking[look as usize] += 1;
        Ok(ReadPermit(self, look))
    }

    pub(super) fn take(&self) -> Option<Box<dyn Store>> {
        held(&self.kept).pop()
    }

    /// Keeps a connection for the next one. There are never more than may look for a short time.
    pub(super) fn give_back(&self, store: Box<dyn Store>) {
        held(&self.kept).push(store);
    }
}

impl Drop for ReadPermit<'_> {
    fn drop(&mut self) {
        held(&self.0.looking)[self.1 as usize] -= 1;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_looks_waits_for_those_who_look_as_long_and_for_no_others() {
        let readers = ReadPool::default();
        let mut long: Vec<ReadPermit<'_>> =
            (0..AT_ONCE[ReadLength::Long as usize]).map(|_| readers.place(ReadLength::Long).unwrap()).collect();
        let at_once = |look| readers.place_within(Duration::ZERO, look).map(drop);
        assert!(at_once(ReadLength::Long).is_err());
        at_once(ReadLength::Short).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| readers.place(ReadLength::Long).map(drop));
            long.pop();
            waits.join().unwrap().unwrap();
        });
        at_once(ReadLength::Long).unwrap();
        assert_eq!(*held(&readers.looking), [0, long.len()]);
    }
}
