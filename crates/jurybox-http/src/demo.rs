//! The control of a running demo (`jurybox demo --serve`): the noise of two of its evaluators can
//! be swapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The control of a demo that feeds one queue. Clones share their state.
///
/// ```
/// let demo = jurybox_http::DemoControl::new("demo", ["spam rules", "LLM judge"]);
/// let feeding = demo.clone(); // for the thread that makes the scores
/// assert!(!feeding.is_swapped());
/// ```
#[derive(Debug, Clone)]
pub struct DemoControl {
    queue: Arc<str>,
    pair: [Arc<str>; 2],
    swaps: Arc<AtomicU32>,
}

impl DemoControl {
    /// A demo in which the noise of two evaluators can be swapped.
    pub fn new(queue: &str, pair: [&str; 2]) -> DemoControl {
        DemoControl { queue: queue.into(), pair: pair.map(Into::into), swaps: Arc::default() }
    }

    /// Whether the two evaluators currently have each other's noise.
    pub fn is_swapped(&self) -> bool {
        self.swaps() % 2 == 1
    }

    /// Swaps the noise of the two evaluators, and returns the number of swaps so far.
    pub fn swap(&self) -> u32 {
        self.swaps.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The queue that the demo feeds.
    pub(crate) fn queue(&self) -> &str {
        &self.queue
    }

    /// The two evaluators.
    pub(crate) fn pair(&self) -> (&str, &str) {
        (&self.pair[0], &self.pair[1])
    }

    /// The number of swaps so far.
    pub(crate) fn swaps(&self) -> u32 {
        self.swaps.load(Ordering::Relaxed)
    }
}
