//! The time of entries: what the clock says is held against the steady count of the machine, and
//! against the log.

use std::time::{Duration, Instant};

/// How far a clock may be from where it should be, in microseconds.
pub(crate) const TOLERANCE: i64 = 60_000_000;
/// How long a clock that jumped must go on from there as it should before it is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// How long a clock must have gone steadily before something is deleted by it for good.
const STEADY: Duration = Duration::from_hours(1);

/// What a clock said, and when that was by the machine's count.
type ClockReading = (i64, Instant);

/// What a clock that was right then says now.
fn since((before, then): ClockReading) -> i64 {
    before.saturating_add(i64::try_from(then.elapsed().as_micros()).unwrap_or(i64::MAX))
}

/// How far a clock is from where it should be, if it was right once.
fn off(now: i64, right: ClockReading) -> i64 {
    now.saturating_sub(since(right))
}

/// The clock by which entries get their times: it never goes back, and does not follow a jump at
/// once.
///
/// While the clock of the machine is where nobody can believe it yet, time goes on by the machine's
/// steady count. While the log is ahead of the clock, since an entry was made by a clock that was
/// wrong, time goes on from the last entry at half its speed until the clock has caught up: writes
/// are taken in, leases run out and verdicts are learnt, each in twice the time at most.
#[derive(Debug, Default)]
pub(crate) struct LogClock {
    /// When it was last right.
    right: Option<ClockReading>,
    /// When it was first seen where it jumped to: one that goes on from there as it should was set
    /// right.
    jumped: Option<ClockReading>,
    /// The time of the last entry when the log was found to be ahead.
    ahead: Option<ClockReading>,
}

impl LogClock {
    /// What the clock should say now, if it was ever right.
    pub(crate) fn reckoned(&self) -> Option<i64> {
        self.right.map(since)
    }

    /// The time for an entry that follows one of that time; `now` is what the clock says.
    pub(crate) fn time(&mut self, now: i64, last_entry: i64) -> i64 {
        self.look(now);
        self.after(last_entry).unwrap_or(now)
    }

    /// The time for an entry that follows one of that time, without a look at the clock; none where
    /// nobody has looked yet.
    pub(crate) fn after(&mut self, last_entry: i64) -> Option<i64> {
        let clock = self.reckoned()?;
        if clock >= last_entry {
            self.ahead = None;
            return Some(clock);
        }
        let ahead = *self.ahead.get_or_insert((last_entry, Instant::now()));
        Some(last_entry.max(ahead.0 + (since(ahead) - ahead.0) / 2))
    }

    /// Takes note of what the clock says. One that has jumped may have been set right, or the
    /// machine was asleep: it is believed once it has gone on from there as it should.
    fn look(&mut self, now: i64) {
        if self.right.is_some_and(|right| off(now, right).abs() > TOLERANCE) {
            let jumped = *self.jumped.get_or_insert((now, Instant::now()));
            if off(now, jumped).abs() > TOLERANCE {
                // It is not where it was after the jump either.
                self.jumped = Some((now, Instant::now()));
                return;
            }
            if jumped.1.elapsed() < BELIEVED {
                return;
            }
        }
        // From the last time that it was right: clocks drift apart over days.
        (self.right, self.jumped) = (Some((now, Instant::now())), None);
    }

    /// All that was seen was seen so many seconds earlier.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.right = self.right.map(|right| earlier(right, seconds));
        self.jumped = self.jumped.map(|jumped| earlier(jumped, seconds));
        // The entry that is ahead stays where it is.
        self.ahead = self.ahead.map(|ahead| (ahead.0, earlier(ahead, seconds).1));
    }
}

/// A clock by which something may be deleted for good: one that is wrong once is seen to be wrong later, and what it would have deleted is
/// there no more.
#[derive(Debug, Default)]
pub(crate) struct SteadyClock {
    seen: Option<ClockReading>,
}

impl SteadyClock {
    /// Looks at the clock. Whether it has gone as it should for an hour since it was looked at
    /// before.
    pub(crate) fn seen(&mut self, now: i64) -> bool {
        let before = self.seen.filter(|before| off(now, *before).abs() <= TOLERANCE);
        let long = before.is_some_and(|(_, then)| then.elapsed() >= STEADY);
        if before.is_none() || long {
            self.seen = Some((now, Instant::now()));
        }
        long
    }

    /// So many seconds pass.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.seen = self.seen.map(|seen| earlier(seen, seconds));
    }
}

/// The same, so many seconds earlier.
#[cfg(test)]
fn earlier((at, then): ClockReading, seconds: u32) -> ClockReading {
    let then = then.checked_sub(Duration::from_secs(seconds.into())).unwrap();
    (at - crate::config::micros(seconds), then)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    /// Equal but for what passes while the test runs.
    fn is_about(time: i64, wanted: i64) -> bool {
        (0..TOLERANCE).contains(&(time - wanted))
    }

    #[test]
    fn time_goes_on_by_the_steady_count_until_a_jump_is_believed() {
        let (now, mut clock) = (1_000 * DAY, LogClock::default());
        assert!(is_about(clock.time(now, now - DAY), now));
        assert!(is_about(clock.time(now + 3 * DAY, now), now), "ahead: not yet");
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
        assert!(!clock.seen(now), "and back");
        clock.wait(3601);
        assert!(clock.seen(now));
    }
}
