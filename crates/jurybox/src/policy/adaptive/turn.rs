//! A change of what rewards mean, once it was found.
//!
//! It is kept, since it hides itself: picks follow the new rewards, and soon old and new labels are of other items, which one curve can explain
//! together, wrongly. Where states that know of several are merged, the latest counts.

use super::drift::{Alarm, Reading};
use crate::estimate::ladder::LATEST;
use serde::{Deserialize, Serialize};

/// A change shows in as many readings of rewards at the most.
const READINGS: usize = 2;

/// The last change of rewards that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// The time from which on rewards mean what they do now.
    time: u64,
    /// How it shows.
    alarms: Vec<Alarm>,
}

impl Turn {
    /// Of what was found, oldest first, the last; none where nothing was.
    pub(super) fn of((time, mut alarms): (u64, Vec<Alarm>)) -> Option<Self> {
        let last = alarms.last().map(|alarm| (alarm.since, alarm.until))?;
        alarms.retain(|alarm| (alarm.since, alarm.until) == last);
        alarms.drain(..alarms.len().saturating_sub(READINGS));
        (time > 0).then_some(Turn { time, alarms })
    }

    /// The time of the one that counts, 0 if there is none.
    pub(super) fn time(turn: Option<&Turn>) -> u64 {
        turn.map_or(0, |turn| turn.time)
    }

    pub(super) fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// The later of two.
    pub(super) fn later(mine: Option<Turn>, other: Option<Turn>) -> Option<Turn> {
        match (mine, other) {
            (Some(mine), Some(other)) => Some(if mine.order() < other.order() { other } else { mine }),
            (mine, other) => mine.or(other),
        }
    }

    /// By which any two are in the same order everywhere.
    fn order(&self) -> (u64, Vec<[u64; 5]>) {
        let bits = |alarm: &Alarm| {
            let [before, after, confidence] = [alarm.before, alarm.after, alarm.confidence].map(f64::to_bits);
            [alarm.since, alarm.until, before, after, confidence]
        };
        (self.time, self.alarms.iter().map(bits).collect())
    }

    /// Whether this could have been found.
    pub(super) fn is_sound(&self) -> bool {
        (1..=LATEST).contains(&self.time)
            && (1..=READINGS).contains(&self.alarms.len())
            && self.alarms.iter().all(|alarm| {
                alarm.evaluator.is_none()
                    && matches!(alarm.reading, Reading::Reward | Reading::Slope)
                    && alarm.since <= alarm.until
                    && alarm.until <= LATEST
                    && alarm.before.is_finite()
                    && alarm.after.is_finite()
                    && (0.0..=1.0).contains(&alarm.confidence)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_changes_the_last_is_kept() {
        let alarm = |since, reading| Alarm {
            evaluator: None,
            reading,
            since,
            until: since + 2,
            before: 0.0,
            after: 1.0,
            confidence: 0.999,
        };
        let found =
            [(40, Reading::Reward), (40, Reading::Slope), (90, Reading::Reward), (90, Reading::Slope)];
        let turn = Turn::of((91, found.map(|(since, reading)| alarm(since, reading)).into())).unwrap();
        assert!(turn.is_sound(), "{turn:?}");
        assert_eq!(turn.alarms(), [alarm(90, Reading::Reward), alarm(90, Reading::Slope)]);
        assert_eq!(Turn::of((0, Vec::new())), None);
    }
}
