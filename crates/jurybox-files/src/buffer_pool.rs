//! A pool of buffers that threads reuse: clearing fresh memory often costs more than the work in
//! it.

use std::sync::{Mutex, PoisonError};

/// A pool of buffers, which grows to as many as are in use at once.
#[derive(Debug, Default)]
pub(crate) struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    /// Calls `work` with a buffer. Its content is what the last user left.
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
