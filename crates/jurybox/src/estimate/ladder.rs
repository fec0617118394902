//! Exponential histograms over time: a statistic in buckets ("rungs") that get longer with age
//! (compare Datar et al. 2002, *Maintaining stream statistics over sliding windows*).
//!
//! Time is given by the caller: round numbers, seconds, microseconds. Before every time t there is
//! a possible cut between rungs. It is kept while its age is below `GRAIN` times the largest power
//! of two that divides t. Cuts at odd times are therefore dropped first. A rung of age a is about
//! `a / GRAIN` to `2 a / GRAIN` long in any unit. The number of rungs grows with the logarithm of
//! time.
//!
//! The cuts depend on the latest time alone and are only ever removed. A late observation goes to
//! the rung that would hold it by now had it come in time. So two ladders with the same latest time
//! have the same cuts and merge rung by rung, in any order.

use super::Statistic;
use serde::{Deserialize, Serialize};

/// The latest valid time. It suffices for nanoseconds, and the sum of two times does not overflow.
pub(crate) const LATEST: u64 = 1 << 62;

/// A statistic over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Statistic"))]
pub(crate) struct Ladder<T: Statistic, const GRAIN: u64> {
    /// Whether time is kept. If not, the clock stays at 0 and there is one rung.
    running: bool,
    clock: u64,
    /// The rungs with observations, oldest first.
    rungs: Vec<Rung<T>>,
}

/// The observations between two cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Statistic"))]
pub(crate) struct Rung<T: Statistic> {
    /// The cut with which the rung begins.
    start: u64,
    /// The times of the earliest and the latest observation.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) value: T,
}

impl<T: Statistic, const GRAIN: u64> Ladder<T, GRAIN> {
    pub(crate) fn new(running: bool) -> Self {
        Ladder { running, clock: 0, rungs: Vec::new() }
    }

    /// Whether time is kept.
    pub(crate) fn is_running(&self) -> bool {
        self.running
    }

    /// The rungs, oldest first.
    pub(crate) fn rungs(&self) -> &[Rung<T>] {
        &self.rungs
    }

    /// The statistic of the rung that contains a time; a copy of `empty` if the rung is new.
    pub(crate) fn at(&mut self, time: u64, empty: &T) -> &mut T {
        let time = if self.running { time } else { 0 };
        self.advance(time);
        let start = self.cut_before(time);
        let at = match self.rungs.binary_search_by_key(&start, |rung| rung.start) {
            Ok(at) => at,
            Err(at) => {
                self.rungs.insert(at, Rung { start, first: time, last: time, value: empty.clone() });
                at
            }
        };
        let rung = &mut self.rungs[at];
        (rung.first, rung.last) = (rung.first.min(time), rung.last.max(time));
        &mut rung.value
    }

    /// The ladder with each rung's statistic transformed.
    pub(crate) fn map(&self, change: impl Fn(&T) -> T) -> Self {
        let changed = |rung: &Rung<T>| Rung { value: change(&rung.value), ..*rung };
        Ladder { rungs: self.rungs.iter().map(changed).collect(), ..*self }
    }

    /// Whether a cut is kept at the present clock.
    fn is_kept(&self, cut: u64) -> bool {
        cut == 0 || (self.clock - cut) >> cut.trailing_zeros() < GRAIN
    }

    /// The latest kept cut at or before a time, found by clearing the lowest set bits of the time
    /// one by one.
    fn cut_before(&self, time: u64) -> u64 {
        let mut cut = time;
        while !self.is_kept(cut) {
            cut &= cut - 1;
        }
        cut
    }

    /// Advances the clock and joins rungs that no cut separates any more.
    fn advance(&mut self, clock: u64) {
        if clock <= self.clock {
            return;
        }
        self.clock = clock;
        let mut kept: usize = 0;
        for at in 0..self.rungs.len() {
            let start = self.cut_before(self.rungs[at].start);
            let (older, newer) = self.rungs.split_at_mut(at);
            match older[..kept].last_mut() {
                Some(last) if last.start == start => last.join(&newer[0]),
                _ => {
                    newer[0].start = start;
                    self.rungs.swap(kept, at);
                    kept += 1;
                }
            }
        }
        self.rungs.truncate(kept);
    }

    /// Adds another ladder, after both are advanced to the later of the two clocks.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.advance(other.clock);
        let mut theirs = other.clone();
        theirs.advance(self.clock);
        for rung in theirs.rungs {
            match self.rungs.binary_search_by_key(&rung.start, |mine| mine.start) {
                Ok(at) => self.rungs[at].join(&rung),
                Err(at) => self.rungs.insert(at, rung),
            }
        }
    }

    /// Whether the rungs are possible at this clock, and each statistic is sound.
    pub(crate) fn is_sound(&self, evaluators: usize) -> bool {
        self.clock <= LATEST
            && (self.running || self.clock == 0)
            && self.rungs.is_sorted_by(|a, b| a.start < b.start)
            && self.rungs.iter().all(|rung| {
                rung.first <= rung.last
                    && rung.last <= self.clock
                    && self.cut_before(rung.first) == rung.start
                    && self.cut_before(rung.last) == rung.start
                    && rung.value.is_sound(evaluators)
            })
    }
}

impl<T: Statistic> Rung<T> {
    fn join(&mut self, other: &Self) {
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
        self.value.merge(&other.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Joint;
    use proptest::prelude::*;

    type Cut = Ladder<Joint, 16>;

    /// A ladder of `rounds` observations at the times `from * step`, `(from + 1) * step`, ...
    fn ladder(from: u64, rounds: u64, step: u64) -> Cut {
        let empty = Joint::new(1);
        let mut ladder = Ladder::new(true);
        for t in from..from + rounds {
            ladder.at(t * step, &empty).add(&[t as f64], 1.0);
        }
        ladder
    }

    fn layout(ladder: &Cut) -> Vec<(u64, u64, u64, f64)> {
        ladder.rungs.iter().map(|rung| (rung.start, rung.first, rung.last, rung.value.weight())).collect()
    }

    #[test]
    fn memory_goes_with_the_logarithm_and_nothing_is_lost() {
        for (rounds, step, most) in
            [(1, 1, 1), (15, 1, 15), (100, 1, 60), (5000, 1, 90), (50_000, 1, 120), (5000, 3_600_000_000, 90)]
        {
            let ladder = ladder(1_000_000, rounds, step);
            let weight: f64 = ladder.rungs().iter().map(|rung| rung.value.weight()).sum();
            assert_eq!(weight, rounds as f64);
            assert!(ladder.rungs().len() <= most, "{rounds}: {}", ladder.rungs().len());
            assert!(ladder.is_sound(1));
            // Rungs get longer with age, up to about an eighth of it (2 / GRAIN).
            let now = ladder.clock;
            for pair in ladder.rungs().windows(2) {
                let (age, length) = (now - pair[0].first, pair[1].first - pair[0].first);
                assert!(length <= age / 8 + step, "{length} at {age}");
            }
        }
    }

    #[test]
    fn the_last_rounds_stand_alone_in_any_unit() {
        for step in [1, 60, 3600, 3_600_000_000] {
            let ladder = ladder(472_000, 1000, step);
            let alone = ladder.rungs().iter().rev().take_while(|rung| rung.value.weight() == 1.0).count();
            assert!((8..=32).contains(&alone), "{step}: {alone}");
        }
    }

    #[test]
    fn where_time_is_not_kept_there_is_one_rung() {
        let mut ladder = Cut::new(false);
        for time in [0, 7, 1 << 40] {
            ladder.at(time, &Joint::new(1)).add(&[1.0], 1.0);
        }
        assert_eq!(layout(&ladder), [(0, 0, 0, 3.0)]);
        assert!(ladder.is_sound(1));
    }

    #[test]
    fn a_rung_where_none_can_be_is_refused() {
        let sound = ladder(0, 100, 1);
        let mut other = sound.clone();
        other.rungs[1].first = other.rungs[2].first;
        assert!(sound.is_sound(1) && !other.is_sound(1));
        let mut other = sound.clone();
        other.rungs.swap(0, 1);
        assert!(!other.is_sound(1));
        let mut other = sound;
        other.clock = 1000; // by then, some of these cuts are gone
        assert!(!other.is_sound(1));
    }

    proptest! {
        #[test]
        fn merging_is_associative_and_commutative_at_any_clocks(
            a in 0..3000_u64, b in 0..3000_u64, c in 0..3000_u64, step in prop::sample::select(vec![1_u64, 7, 3600]),
        ) {
            let empty = Joint::new(1);
            let parts = [ladder(0, a, step), ladder(a, b, step), ladder(a / 2, c, step)];
            let merged = |order: [usize; 3]| {
                let mut all = parts[order[0]].clone();
                all.merge(&parts[order[1]]);
                all.merge(&parts[order[2]]);
                all
            };
            let (first, second) = (merged([0, 1, 2]), merged([2, 0, 1]));
            // Two halves of time merge into the whole, and late observations find their rungs.
            let whole = ladder(0, a + b, step);
            let mut halves = ladder(a, b, step);
            halves.merge(&ladder(0, a, step));
            let mut late = Ladder::new(true);
            (0..a + b).rev().for_each(|t| late.at(t * step, &empty).add(&[t as f64], 1.0));
            for (x, y) in [(&first, &second), (&halves, &whole), (&late, &whole)] {
                prop_assert!(x.is_sound(1));
                prop_assert_eq!(x.clock, y.clock);
                prop_assert_eq!(layout(x), layout(y));
                for (x, y) in x.rungs().iter().zip(y.rungs()) {
                    prop_assert!((x.value.mean(0) - y.value.mean(0)).abs() < 1e-6);
                }
            }
        }
    }
}
