//! Memory that threads use again: fresh memory costs the kernel time to clear, often more than the work done in it.

use std::sync::{Mutex, PoisonError};

/// Things to work with that are lent and come back; as many as are in use at once.
#[derive(Debug, Default)]
pub(crate) struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    /// Works with one of them; what is in it is whatever the last one left.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut lent = self.take();
        let result = work(&mut lent);
        self.give_back(lent);
        result
    }

    pub(crate) fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&self, lent: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lent);
    }
}
