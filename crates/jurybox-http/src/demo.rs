//! A demo behind the server: what it can be told while it runs. There is none unless `jurybox demo --serve` has made it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A demo that feeds one of the queues, and can be made to go wrong.
///
/// ```
/// let demo = jurybox_http::Demo::new("demo", ["spam rules", "LLM judge"]);
/// let feeding = demo.clone(); // for whoever makes the scores
/// assert!(!feeding.is_swapped());
/// ```
#[derive(Debug, Clone)]
pub struct DemoControl {
    queue: Arc<str>,
    pair: [Arc<str>; 2],
    swaps: Arc<AtomicU32>,
}

impl DemoControl {
    /// A demo in which the noises of two evaluators can be swapped. Those who are given a clone of it see what is done to it.
    pub fn new(queue: &str, pair: [&str; 2]) -> DemoControl {
        DemoControl { queue: queue.into(), pair: pair.map(Into::into), swaps: Arc::default() }
    }

    /// Whether the two have each other's noise now.
    pub fn is_swapped(&self) -> bool {
        self.swaps() % 2 == 1
    }

    /// Swaps the noises of the two, and says how often that has been done.
    pub fn swap(&self) -> u32 {
        self.swaps.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The queue that it feeds.
    pub(crate) fn queue(&self) -> &str {
        &self.queue
    }

    /// The two evaluators.
    pub(crate) fn pair(&self) -> (&str, &str) {
        (&self.pair[0], &self.pair[1])
    }

    /// How often their noises were swapped.
    pub(crate) fn swaps(&self) -> u32 {
        self.swaps.load(Ordering::Relaxed)
    }
}
