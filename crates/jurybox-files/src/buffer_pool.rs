//! A pool of buffers that threads reuse: clearing fresh memory often costs more than the work in
//! it.

use std::sync::{Mutex, PoisonError};

/// A pool of buffers, which grows to as many as are in use at once.
#[derive(Debug, Default)]
pub(crate) struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    /// Calls `work` with a buffer. Its content is what the last user left.
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
