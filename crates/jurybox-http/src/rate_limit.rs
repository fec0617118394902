//! A rate limit per caller: a token bucket that holds as many tokens as are added in two seconds.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// The token buckets by caller: the tokens left, and when they were last counted.
pub(crate) struct RateLimits {
    per_second: Option<f64>,
    full: f64,
    levels: Mutex<HashMap<String, (f64, Instant)>>,
}

/// With this many buckets, full ones are dropped when a new caller comes. A full bucket equals a
/// new one.
const MOST_BUCKETS: usize = 10_000;

impl RateLimits {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        let per_second = per_second.map(f64::from);
        RateLimits { per_second, full: per_second.unwrap_or(0.0) * 2.0, levels: Mutex::default() }
    }

    /// Takes a token, or returns the whole seconds until there is one, at least 1.
    pub(crate) fn take(&self, who: &str, now: Instant) -> Result<(), u32> {
        let (Some(rate), Ok(mut levels)) = (self.per_second, self.levels.lock()) else { return Ok(()) };
        let filled = |(level, since): (f64, Instant)| {
            (level + now.saturating_duration_since(since).as_secs_f64() * rate).min(self.full)
        };
        if levels.len() >= MOST_BUCKETS && !levels.contains_key(who) {
            levels.retain(|_, bucket| filled(*bucket) < self.full);
        }
        let level = levels.get(who).map_or(self.full, |bucket| filled(*bucket));
        let enough = level >= 1.0;
        levels.insert(who.into(), (if enough { level - 1.0 } else { level }, now));
        if enough { Ok(()) } else { Err(((1.0 - level) / rate).ceil().max(1.0) as u32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_runs_dry_and_fills_again() {
        let (buckets, start) = (RateLimits::new(Some(2)), Instant::now());
        for _ in 0..4 {
            assert_eq!(buckets.take("ann", start), Ok(()));
        }
        assert_eq!(buckets.take("ann", start), Err(1));
        assert_eq!(buckets.take("bob", start), Ok(()));
        assert_eq!(buckets.take("ann", start + Duration::from_millis(600)), Ok(()));
        assert_eq!(buckets.take("ann", start + Duration::from_millis(600)), Err(1));
    }
}
