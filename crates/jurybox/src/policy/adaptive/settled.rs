//! Changes of evaluators that are settled: they were believed, and need not be found again.
//!
//! Evaluators that change places, and back, and once more, look like a wave to whoever sees all of
//! it at once, and the spans in which old readings are kept grow longer than what lay between two
//! changes. So a change is kept once it has lasted and another one follows, or once it is old, and
//! only what comes after it is searched. What comes and goes faster than that is never kept: a
//! season stays scatter. While a jury knows of one young change, nothing is kept, and states that
//! are merged are those of the whole.
//!
//! Of each evaluator the last change is kept. Where states are merged, that is the later of two.

use super::drift::{Alarm, Changed, Pulses, Reading, rounds_between};
use crate::estimate::ladder::LATEST;
use crate::estimate::pulse::READINGS;
use serde::{Deserialize, Serialize};

/// Rounds that a change lasts before the next, or it may be a season.
const LASTING: f64 = 32.0;
/// Rounds after which a change is settled though nothing follows: later, spans are too long to tell
/// it from what was before.
const OLD: f64 = 256.0;

/// What is settled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Settled {
    /// The time from which on scores are what they became with the last of them; 0 if there is
    /// none.
    since: u64,
    /// How each evaluator's last change shows, in the order of evaluators.
    alarms: Vec<Alarm>,
}

impl Settled {
    /// The time from which on is searched.
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    /// Keeps those changes that are found, oldest first, up to the last that can be kept.
    pub(super) fn keep(&mut self, found: &[Changed], pulses: &Pulses) {
        let is_settled = |at: usize| match found.get(at + 1) {
            Some(next) => rounds_between(pulses, found[at].since, next.since) >= LASTING,
            None => rounds_between(pulses, found[at].since, u64::MAX) >= OLD,
        };
        if let Some(last) = (0..found.len()).rev().find(|&at| is_settled(at)) {
            found[..=last].iter().for_each(|change| self.take(change));
        }
    }

    /// The time from which on scores are what they are now, 0 if they always were, and the last
    /// change of each evaluator, oldest first; given those that are found and need not be settled.
    pub(super) fn with(&self, found: &[Changed]) -> (u64, Vec<Alarm>) {
        let mut all = self.clone();
        found.iter().for_each(|change| all.take(change));
        all.alarms.sort_by_key(|alarm| (alarm.since, alarm.until));
        (all.since, all.alarms)
    }

    /// Whoever changes is no longer what the change before made of it.
    fn take(&mut self, change: &Changed) {
        self.since = self.since.max(change.since);
        self.alarms.retain(|old| !change.alarms.iter().any(|new| new.evaluator == old.evaluator));
        self.alarms.extend_from_slice(&change.alarms);
        self.alarms.sort_by_key(place);
    }

    /// Of each evaluator the later change, by an order in which any two are the same everywhere.
    pub(super) fn merge(&mut self, other: &Settled) {
        self.since = self.since.max(other.since);
        let order = |of: &[&Alarm]| of.iter().map(|alarm| alarm.order()).collect::<Vec<_>>();
        let mut merged = Vec::new();
        for evaluator in 0..self.evaluators().max(other.evaluators()) {
            let (mine, theirs) = (self.of(evaluator), other.of(evaluator));
            let later = if order(&mine) < order(&theirs) { theirs } else { mine };
            merged.extend(later.into_iter().cloned());
        }
        self.alarms = merged;
    }

    fn of(&self, evaluator: usize) -> Vec<&Alarm> {
        self.alarms.iter().filter(|alarm| alarm.evaluator == Some(evaluator)).collect()
    }

    /// How many there are, at the least.
    fn evaluators(&self) -> usize {
        self.alarms.last().and_then(|alarm| alarm.evaluator).map_or(0, |last| last + 1)
    }

    pub(super) fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let columns_kept = columns.iter().enumerate().filter_map(|(to, from)| Some((to, (*from)?)));
        let alarms = columns_kept.flat_map(|(to, from)| {
            self.of(from).into_iter().map(move |alarm| Alarm { evaluator: Some(to), ..alarm.clone() })
        });
        Settled { since: self.since, alarms: alarms.collect() }
    }

    /// Whether this could have been found.
    pub(super) fn is_sound(&self, evaluators: usize) -> bool {
        self.since <= LATEST
            && (self.since > 0 || self.alarms.is_empty())
            && self.alarms.is_sorted_by(|a, b| place(a) < place(b))
            && self.alarms.iter().all(|alarm| {
                alarm.evaluator.is_some_and(|evaluator| evaluator < evaluators)
                    && matches!(alarm.reading, Reading::Spread | Reading::Agreement | Reading::Varying)
                    && alarm.is_sound()
            })
    }
}

/// Where an alarm stands among the others.
fn place(alarm: &Alarm) -> usize {
    let reading = match alarm.reading {
        Reading::Spread => 0,
        Reading::Varying => 2,
        _ => 1,
    };
    READINGS * alarm.evaluator.unwrap_or(0) + reading
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn alarm(evaluator: usize, reading: Reading, since: u64) -> Alarm {
        let (before, after, confidence) = (0.5, since as f64, 0.999);
        Alarm { evaluator: Some(evaluator), reading, since, until: since + 2, before, after, confidence }
    }

    fn settled(changes: &[(u64, &[(usize, Reading)])]) -> Settled {
        let mut settled = Settled::default();
        for (since, of) in changes {
            let alarms = of.iter().map(|&(evaluator, reading)| alarm(evaluator, reading, *since)).collect();
            settled.take(&Changed { since: since + 1, alarms });
        }
        settled
    }

    #[test]
    fn of_each_evaluator_the_last_change_is_kept() {
        use Reading::{Agreement, Spread};
        let settled = settled(&[(40, &[(0, Spread), (0, Agreement), (2, Spread)]), (90, &[(0, Spread)])]);
        assert!(settled.is_sound(3) && !settled.is_sound(2), "{settled:?}");
        assert_eq!(settled.since(), 91);
        let (since, alarms) = settled.with(&[]);
        assert_eq!((since, &alarms[..]), (91, &[alarm(2, Spread, 40), alarm(0, Spread, 90)][..]));
        let moved = settled.with_columns(&[Some(2), None, Some(0)]);
        assert!(moved.is_sound(3), "{moved:?}");
        assert_eq!(moved.with(&[]).1, [alarm(0, Spread, 40), alarm(2, Spread, 90)]);
    }

    proptest! {
        #[test]
        fn merging_is_associative_commutative_and_idempotent(
            found in prop::collection::vec((0..3_usize, 1..6_u64, 0..2_usize, 0..3_usize), 0..12),
        ) {
            let mut parts = [Settled::default(), Settled::default(), Settled::default()];
            for (part, since, reading, evaluator) in found {
                let reading = [Reading::Spread, Reading::Agreement][reading];
                parts[part].take(&Changed { since, alarms: vec![alarm(evaluator, reading, since)] });
            }
            let merged = |order: [usize; 4]| {
                let mut all = Settled::default();
                order.iter().for_each(|&part| all.merge(&parts[part]));
                all
            };
            let mut inner = parts[1].clone();
            inner.merge(&parts[2]);
            let mut outer = parts[0].clone();
            outer.merge(&inner);
            prop_assert!(outer.is_sound(3));
            prop_assert_eq!(&merged([0, 1, 2, 2]), &outer);
            prop_assert_eq!(&merged([2, 0, 1, 0]), &outer);
        }
    }
}
