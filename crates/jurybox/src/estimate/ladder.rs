//! Time, kept coarsely: a statistic cut into rungs that get longer the older they are.
//!
//! Time is what the caller says it is, in whole steps such as rounds. The newest rungs span [`BASE`] steps each; when three closed rungs of one length stand side by side, the two oldest
//! become one of twice the length, up to [`LONGEST`], and what is older still is one rung. Memory is constant, and the
//! statistic of "the last n steps" is known for about a dozen n. Where the cuts lie depends on the latest time alone, and
//! cuts only ever vanish: what comes late goes where it would lie by now had it come in time. So two ladders brought to the
//! same time have the same rungs and merge rung by rung, exactly, in any order.

use super::Statistic;
use serde::{Deserialize, Serialize};

/// Steps in the shortest rung.
pub(crate) const BASE: u64 = 16;
/// Steps in the longest rung with an end.
pub(crate) const LONGEST: u64 = 1024;

/// The latest time there is: far enough for nanoseconds, and none of the sums made with it can overflow.
pub(crate) const LATEST: u64 = 1 << 62;

/// A statistic over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Statistic"))]
pub(crate) struct Ladder<T: Statistic> {
    /// Whether time is kept at all. If not, the clock stands still and there is one rung: the plain statistic.
    running: bool,
    clock: u64,
    /// Oldest first; the last one is open. Never empty.
    rungs: Vec<Rung<T>>,
}

/// What was seen from `start` on, for `span` steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Statistic"))]
pub(crate) struct Rung<T: Statistic> {
    pub(crate) start: u64,
    span: u64,
    pub(crate) value: T,
}

/// The span of the rung that holds all that is older than the others.
const ANCIENT: u64 = u64::MAX;

impl<T: Statistic> Ladder<T> {
    pub(crate) fn new(running: bool, empty: T) -> Self {
        Ladder { running, clock: 0, rungs: vec![Rung { start: 0, span: BASE, value: empty }] }
    }

    /// Whether time is kept.
    pub(crate) fn is_running(&self) -> bool {
        self.running
    }

    /// The latest time.
    #[cfg(test)]
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// Oldest first.
    pub(crate) fn rungs(&self) -> &[Rung<T>] {
        &self.rungs
    }

    /// What holds that time: the newest rung, after the clock has been brought there, or an older one.
    pub(crate) fn at(&mut self, time: u64, empty: &T) -> &mut T {
        let mut rung = 0;
        if self.running {
            self.advance(time, empty);
            rung = self.rungs.partition_point(|rung| rung.start <= time).saturating_sub(1);
        }
        &mut self.rungs[rung].value
    }

    /// The same ladder, each rung changed.
    pub(crate) fn map(&self, change: impl Fn(&T) -> T) -> Self {
        let rungs = self.rungs.iter();
        Ladder {
            rungs: rungs
                .map(|rung| Rung { start: rung.start, span: rung.span, value: change(&rung.value) })
                .collect(),
            running: self.running,
            clock: self.clock,
        }
    }

    /// A step of time goes by.
    fn tick(&mut self, empty: &T) {
        if !self.running {
            return;
        }
        self.clock += 1;
        if self.rungs.last().is_some_and(|open| self.clock >= open.start + BASE) {
            self.rungs.push(Rung { start: self.clock, span: BASE, value: empty.clone() });
            self.shorten();
        }
    }

    /// Joins rungs until no three closed ones of a length are left.
    fn shorten(&mut self) {
        let mut span = BASE;
        loop {
            let closed = self.rungs.len() - 1;
            let same: Vec<usize> = (0..closed).filter(|&at| self.rungs[at].span == span).collect();
            if same.len() < 3 {
                return;
            }
            let older = same[0];
            if span < LONGEST {
                self.join(older);
                self.rungs[older].span = 2 * span;
                span *= 2;
            } else if older == 0 {
                self.rungs[0].span = ANCIENT;
                return;
            } else {
                self.join(older - 1);
                return;
            }
        }
    }

    /// Joins a rung with the next one, keeping its own span.
    fn join(&mut self, at: usize) {
        let next = self.rungs.remove(at + 1);
        self.rungs[at].value.merge(&next.value);
    }

    /// Lets time go by in which nothing was seen.
    fn advance(&mut self, clock: u64, empty: &T) {
        // Past this many steps everything is one rung, and the pattern of the others repeats with this period.
        const PERIOD: u64 = 8 * LONGEST;
        if clock.saturating_sub(self.clock) > 4 * PERIOD {
            let target = self.clock + 3 * PERIOD;
            self.advance(target, empty);
            let jump = (clock - self.clock) / PERIOD * PERIOD - PERIOD;
            self.clock += jump;
            self.rungs.iter_mut().skip(1).for_each(|rung| rung.start += jump);
        }
        while self.clock < clock {
            self.tick(empty);
        }
    }

    /// Adds another ladder, both brought to the later of the two clocks.
    pub(crate) fn merge(&mut self, other: &Self, empty: &T) {
        self.advance(other.clock, empty);
        let mut theirs = other.clone();
        theirs.advance(self.clock, empty);
        for (mine, theirs) in self.rungs.iter_mut().zip(&theirs.rungs) {
            mine.value.merge(&theirs.value);
        }
    }

    /// Whether the rungs are where this clock puts them, and each is sound.
    pub(crate) fn is_sound(&self, evaluators: usize) -> bool {
        if self.clock > LATEST || (!self.running && self.clock > 0) {
            return false;
        }
        let mut reference = Ladder::new(self.running, Nothing);
        reference.advance(self.clock, &Nothing);
        reference.rungs.len() == self.rungs.len()
            && reference.rungs.iter().zip(&self.rungs).all(|(a, b)| (a.start, a.span) == (b.start, b.span))
            && self.rungs.iter().all(|rung| rung.value.is_sound(evaluators))
    }
}

/// A statistic of nothing, to lay out rungs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Nothing;

impl Statistic for Nothing {
    fn merge(&mut self, _: &Self) {}

    fn reseated(&self, _: &[Option<usize>]) -> Self {
        Nothing
    }

    fn is_sound(&self, _: usize) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Joint;
    use proptest::prelude::*;

    fn ladder(from: u64, rounds: u64) -> Ladder<Joint> {
        let empty = Joint::new(1);
        let mut ladder = Ladder::new(true, empty.clone());
        for t in from..from + rounds {
            ladder.at(t, &empty).add(&[t as f64], 1.0);
        }
        ladder
    }

    #[test]
    fn memory_is_constant_and_nothing_is_lost() {
        for rounds in [1, 15, 16, 17, 100, 5000, 50_000] {
            let ladder = ladder(0, rounds);
            let weight: f64 = ladder.rungs().iter().map(|rung| rung.value.weight()).sum();
            assert_eq!(weight, rounds as f64);
            assert!(ladder.rungs().len() <= 19, "{}", ladder.rungs().len());
            let newest = ladder.rungs().last().unwrap();
            assert!(newest.value.weight() > 0.0 && newest.start < rounds);
            assert!(ladder.is_sound(1));
            // Rungs get longer with age.
            let spans: Vec<u64> = ladder.rungs().iter().map(|rung| rung.span).collect();
            assert!(spans.is_sorted_by(|a, b| a >= b), "{spans:?}");
        }
    }

    #[test]
    fn a_long_silence_is_crossed_at_once_and_lands_on_the_same_rungs() {
        let empty = Joint::new(1);
        for extra in [0, 1, 17, 5000, 12_345] {
            let (mut slow, mut fast) = (ladder(0, 700), ladder(0, 700));
            let target = 700 + 100 * LONGEST + extra;
            while slow.clock() < target {
                slow.tick(&empty);
            }
            fast.advance(target, &empty);
            assert_eq!(slow, fast);
        }
        let mut far = ladder(0, 3);
        far.advance(LATEST, &empty);
        assert!(far.is_sound(1));
    }

    proptest! {
        #[test]
        fn merging_is_associative_and_commutative_at_any_clocks(a in 0..3000_u64, b in 0..3000_u64, c in 0..3000_u64) {
            let empty = Joint::new(1);
            let parts = [ladder(0, a), ladder(a, b), ladder(a / 2, c)];
            let merged = |order: [usize; 3]| {
                let mut all = parts[order[0]].clone();
                all.merge(&parts[order[1]], &empty);
                all.merge(&parts[order[2]], &empty);
                all
            };
            let (first, second) = (merged([0, 1, 2]), merged([2, 0, 1]));
            prop_assert_eq!(first.clock(), second.clock());
            for (x, y) in first.rungs().iter().zip(second.rungs()) {
                prop_assert_eq!((x.start, x.span, x.value.weight()), (y.start, y.span, y.value.weight()));
                prop_assert!((x.value.mean(0) - y.value.mean(0)).abs() < 1e-6);
            }
            // Halves of time are the whole, and what comes late goes where it belongs.
            let mut halves = ladder(a, b);
            halves.merge(&ladder(0, a), &empty);
            let mut late = Ladder::new(true, empty.clone());
            (0..a + b).rev().for_each(|t| late.at(t, &empty).add(&[t as f64], 1.0));
            for (x, y) in [(&halves, &ladder(0, a + b)), (&late, &ladder(0, a + b))] {
                prop_assert_eq!(x.clock(), y.clock());
                for (x, y) in x.rungs().iter().zip(y.rungs()) {
                    prop_assert_eq!((x.start, x.span, x.value.weight()), (y.start, y.span, y.value.weight()));
                    prop_assert!((x.value.mean(0) - y.value.mean(0)).abs() < 1e-6);
                }
            }
        }
    }
}
