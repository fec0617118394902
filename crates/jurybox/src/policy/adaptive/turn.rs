//! A change of what rewards mean, once it was found.
//!
//! It is kept, since it hides itself: picks follow the new rewards, and soon old and new labels are
//! of other items, which one curve can explain together, wrongly. Where states that know of several
//! are merged, the latest counts.

use super::drift::{Alarm, Changed, Reading};
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
    pub(super) fn of(mut found: Vec<Changed>) -> Option<Self> {
        let Changed { since: time, alarms } = found.pop()?;
        (time > 0 && !alarms.is_empty()).then_some(Turn { time, alarms })
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
    fn order(&self) -> (u64, Vec<[u64; 6]>) {
        (self.time, self.alarms.iter().map(Alarm::order).collect())
    }

    /// Whether this could have been found.
    pub(super) fn is_sound(&self) -> bool {
        (1..=LATEST).contains(&self.time)
            && (1..=READINGS).contains(&self.alarms.len())
            && self.alarms.iter().all(|alarm| {
                alarm.evaluator.is_none()
                    && matches!(alarm.reading, Reading::Reward | Reading::Slope)
                    && alarm.is_sound()
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
        let both = |since| vec![alarm(since, Reading::Reward), alarm(since, Reading::Slope)];
        let found = [40, 90].map(|since| Changed { since: since + 1, alarms: both(since) });
        let turn = Turn::of(found.into()).unwrap();
        assert!(turn.is_sound(), "{turn:?}");
        assert_eq!((turn.time, turn.alarms()), (91, &both(90)[..]));
        assert_eq!(Turn::of(Vec::new()), None);
    }
}
