//! A pool of buffers that threads reuse: clearing fresh memory often costs more than the work in
//! it.

use std::sync::{Mutex, PoisonError};

/// A pool of buffers. It holds at most as many as were in use at the same time.
#[derive(Debug, Default)]
pub(crate) struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    /// Calls `work` with a buffer. The buffer is new, or still holds what its last user left in it.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut item = self.take();
        let result = work(&mut item);
        self.give_back(item);
        result
    }

    pub(crate) fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&self, item: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }
}
