//! The time of log entries: the database's clock, checked against the machine's monotonic clock and
//! against the log.

use std::time::{Duration, Instant};

/// How far a clock may be from its expected time, in microseconds (one minute).
pub(crate) const TOLERANCE: i64 = 60_000_000;
/// How long a clock that jumped must run steadily before it is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// How long a clock must run steadily before rows are deleted by it.
const STEADY: Duration = Duration::from_hours(1);

/// A clock's time in microseconds since 1970, and the monotonic time at which it was read.
type ClockReading = (i64, Instant);

/// The time that a clock should show now, if it was right at this reading.
fn reading_now((before, then): ClockReading) -> i64 {
    before.saturating_add(i64::try_from(then.elapsed().as_micros()).unwrap_or(i64::MAX))
}

/// How far a clock is from its expected time, in microseconds.
fn deviation(now: i64, believed: ClockReading) -> i64 {
    now.saturating_sub(reading_now(believed))
}

/// The clock for new log entries. It never gives a time before the last entry's, and it does not
/// follow a jump of more than [`TOLERANCE`] at once.
///
/// After such a jump of the database's clock, time goes on by the machine's monotonic clock until
/// the new time is believed. If a wrong clock wrote an entry, the log may be ahead of the clock.
/// Then time goes on from that entry at half speed until the clock has caught up. Leases and undo
/// windows then last up to twice as long.
#[derive(Debug, Default)]
pub(crate) struct LogClock {
    /// The last reading that was right.
    believed: Option<ClockReading>,
    /// The first reading after a jump. If the clock runs steadily from there for [`BELIEVED`], its
    /// new time is believed.
    jumped: Option<ClockReading>,
    /// The last entry's time, and when the log was found to be ahead of the clock.
    ahead: Option<ClockReading>,
}

impl LogClock {
    /// What the clock should show now; none before the first reading.
    pub(crate) fn reckoned(&self) -> Option<i64> {
        self.believed.map(reading_now)
    }

    /// The time of the next entry, if the last one has the time `last_entry` and the database's
    /// clock shows `now`.
    pub(crate) fn time(&mut self, now: i64, last_entry: i64) -> i64 {
        self.look(now);
        self.after(last_entry).unwrap_or(now)
    }

    /// The time of the next entry, if the last one has the time `last_entry`, without a new reading
    /// of the clock. None before the first reading.
    pub(crate) fn after(&mut self, last_entry: i64) -> Option<i64> {
        let clock = self.reckoned()?;
        if clock >= last_entry {
            self.ahead = None;
            return Some(clock);
        }
        let ahead = *self.ahead.get_or_insert((last_entry, Instant::now()));
        Some(last_entry.max(ahead.0 + (reading_now(ahead) - ahead.0) / 2))
    }

    /// Takes a reading. After a jump, the clock may have been corrected, or the machine suspended.
    /// So the new time is believed once the clock has run steadily for [`BELIEVED`].
    fn look(&mut self, now: i64) {
        if self.believed.is_some_and(|believed| deviation(now, believed).abs() > TOLERANCE) {
            let jumped = *self.jumped.get_or_insert((now, Instant::now()));
            if deviation(now, jumped).abs() > TOLERANCE {
                // It has jumped again.
                self.jumped = Some((now, Instant::now()));
                return;
            }
            if jumped.1.elapsed() < BELIEVED {
                return;
            }
        }
        // Expected times start from the last right reading, since clocks drift over days.
        (self.believed, self.jumped) = (Some((now, Instant::now())), None);
    }

    /// Pretends that all readings were taken this many seconds earlier.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.believed = self.believed.map(|believed| earlier(believed, seconds));
        self.jumped = self.jumped.map(|jumped| earlier(jumped, seconds));
        // The time of the entry that is ahead does not change.
        self.ahead = self.ahead.map(|ahead| (ahead.0, earlier(ahead, seconds).1));
    }
}

/// A clock that is trusted for deleting rows only after it has run steadily for an hour. A wrong
/// clock may be noticed later, and deleted rows cannot be restored.
#[derive(Debug, Default)]
pub(crate) struct SteadyClock {
    seen: Option<ClockReading>,
}

impl SteadyClock {
    /// Takes a reading. True if the clock has run steadily for an hour since the reading that was
    /// noted. A new reading is noted after a jump, and whenever the hour is over.
    pub(crate) fn seen(&mut self, now: i64) -> bool {
        let before = self.seen.filter(|before| deviation(now, *before).abs() <= TOLERANCE);
        let long = before.is_some_and(|(_, then)| then.elapsed() >= STEADY);
        if before.is_none() || long {
            self.seen = Some((now, Instant::now()));
        }
        long
    }

    /// Pretends that the noted reading was taken this many seconds earlier.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.seen = self.seen.map(|seen| earlier(seen, seconds));
    }
}

/// A reading that a right clock would have given this many seconds earlier.
#[cfg(test)]
fn earlier((at, then): ClockReading, seconds: u32) -> ClockReading {
    let then = then.checked_sub(Duration::from_secs(seconds.into())).unwrap();
    (at - crate::config::micros(seconds), then)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    /// Whether `time` is `wanted`, or up to a minute later because the test takes time.
    fn is_about(time: i64, wanted: i64) -> bool {
        (0..TOLERANCE).contains(&(time - wanted))
    }

    #[test]
    fn time_goes_on_by_the_steady_count_until_a_jump_is_believed() {
        let (now, mut clock) = (1_000 * DAY, LogClock::default());
        assert!(is_about(clock.time(now, now - DAY), now));
        assert!(is_about(clock.time(now + 3 * DAY, now), now), "a jump is not believed at once");
        clock.wait(29);
        assert!(is_about(clock.time(now + 3 * DAY, now), now), "not for less than half a minute");
        assert!(is_about(clock.time(now, now), now), "it is right again");
        clock.time(now + 3 * DAY, now);
        clock.wait(31);
        assert!(is_about(clock.time(now + 3 * DAY, now), now + 3 * DAY), "it has stayed there");
    }

    #[test]
    fn time_goes_on_from_the_last_entry_until_the_clock_has_caught_up() {
        let (now, mut clock) = (1_000 * DAY, LogClock::default());
        let last = now + DAY;
        assert!(is_about(clock.time(now, last), last));
        clock.wait(7200);
        assert!(is_about(clock.time(now, last), last + DAY / 24), "at half its speed");
        assert!(is_about(clock.time(now, now - DAY), now), "it has caught up");
    }

    #[test]
    fn a_clock_is_steady_when_it_has_gone_as_it_should_for_an_hour() {
        let (now, mut clock) = (1_000 * DAY, SteadyClock::default());
        assert!(!clock.seen(now), "seen once");
        clock.wait(3000);
        assert!(!clock.seen(now), "for less than an hour");
        clock.wait(601);
        assert!(clock.seen(now));
        clock.wait(3601);
        assert!(!clock.seen(now + 2 * DAY), "it has jumped");
        clock.wait(3601);
        assert!(!clock.seen(now), "it has jumped back");
        clock.wait(3601);
        assert!(clock.seen(now));
    }
}
