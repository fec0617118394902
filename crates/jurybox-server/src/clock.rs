//! A clock that is not believed at its word: what it says is held against the steady count of the machine, and against the log.

use crate::Error;
use std::time::{Duration, Instant};

/// How far a clock may be from where it should be, in microseconds.
const TOLERANCE: i64 = 60_000_000;
/// How long a clock that jumped must go on from there as it should before it is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// How long a clock must have gone steadily before something is deleted by it for good.
const STEADY: Duration = Duration::from_hours(1);

/// What a clock said, and when that was by the machine's count.
type Sighting = (i64, Instant);

/// How far a clock is from where it should be, if it was right once.
fn off(now: i64, (before, then): Sighting) -> i64 {
    now - before - i64::try_from(then.elapsed().as_micros()).unwrap_or(i64::MAX)
}

/// A clock by which leases run.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// When it was last right.
    right: Option<Sighting>,
    /// The same since it jumped: one that goes on from there as it should was set right.
    jumped: Option<Sighting>,
}

impl Clock {
    /// What it should say now, if it was ever right.
    pub(crate) fn reckoned(&self) -> Option<i64> {
        let (then, at) = self.right?;
        Some(then + i64::try_from(at.elapsed().as_micros()).unwrap_or(0))
    }

    /// Refuses to act by a clock that cannot be right: leases would run out all at once, or never. One that has jumped while the
    /// program ran may have been set right, or the machine was asleep: if it goes on from there as it should, it is believed.
    pub(crate) fn check(&mut self, now: i64, last_entry: i64) -> Result<(), Error> {
        if now + TOLERANCE < last_entry {
            let behind = last_entry - now;
            return Err(Error::Clock {
                why: format!(
                    "it is {} behind the last entry of the log; nothing is done until it has caught up or is set right",
                    said(behind)
                ),
                seconds: (behind / 1_000_000).cast_unsigned(),
            });
        }
        if let Some(jumped) = self.right.map(|from| off(now, from))
            && jumped.abs() > TOLERANCE
        {
            let since = *self.jumped.get_or_insert((now, Instant::now()));
            if off(now, since).abs() > TOLERANCE {
                // It is not where it was after the jump either.
                self.jumped = Some((now, Instant::now()));
            }
            let steady = self.jumped.map_or(Duration::ZERO, |(_, then)| then.elapsed());
            if let Some(left) = BELIEVED.checked_sub(steady).filter(|left| !left.is_zero()) {
                let seconds = left.as_secs() + 1;
                return Err(Error::Clock {
                    why: format!(
                        "it has jumped {} by {} while the program ran; if it goes on steadily from there, it is believed in {} seconds",
                        if jumped > 0 { "ahead" } else { "back" },
                        said(jumped.abs()),
                        seconds
                    ),
                    seconds,
                });
            }
        }
        // From the last time that it was right: clocks drift apart over days.
        (self.right, self.jumped) = (Some((now, Instant::now())), None);
        Ok(())
    }

    /// So many seconds pass after it has jumped.
    #[cfg(test)]
    pub(crate) fn wait_after_jump(&mut self, seconds: u32) {
        if let Some(jumped) = &mut self.jumped {
            *jumped = earlier(*jumped, seconds);
        }
    }
}

/// A clock by which something may be deleted for good: one that is wrong once is seen to be wrong later, and what it would have deleted is
/// there no more.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    seen: Option<Sighting>,
}

impl Steady {
    /// Looks at the clock. What it says, where it has gone as it should for an hour since it was looked at before.
    pub(crate) fn seen(&mut self, now: i64) -> Option<i64> {
        let before = self.seen.filter(|before| off(now, *before).abs() <= TOLERANCE);
        let long = before.is_some_and(|(_, then)| then.elapsed() >= STEADY);
        if before.is_none() || long {
            self.seen = Some((now, Instant::now()));
        }
        long.then_some(now)
    }

    /// So many seconds pass.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.seen = self.seen.map(|seen| earlier(seen, seconds));
    }
}

/// The same, so many seconds earlier.
#[cfg(test)]
fn earlier((at, then): Sighting, seconds: u32) -> Sighting {
    let then = then.checked_sub(Duration::from_secs(seconds.into())).unwrap();
    (at - crate::config::micros(seconds), then)
}

/// A time as a person says it.
fn said(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_steady_when_it_has_gone_as_it_should_for_an_hour() {
        const DAY: i64 = 86_400_000_000;
        let (now, mut clock) = (1_000 * DAY, Steady::default());
        assert_eq!(clock.seen(now), None, "seen once");
        clock.wait(3000);
        assert_eq!(clock.seen(now), None, "for less than an hour");
        clock.wait(601);
        assert_eq!(clock.seen(now), Some(now));
        clock.wait(3601);
        assert_eq!(clock.seen(now + 2 * DAY), None, "it has jumped");
        clock.wait(3601);
        assert_eq!(clock.seen(now), None, "and back");
        clock.wait(3601);
        assert_eq!(clock.seen(now), Some(now));
    }
}
