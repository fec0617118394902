//! The exact top K.
//!
//! **The tie rule.** Items are ordered by value, best first. Equal values are ordered by a hash of
//! the item's number under a seed: a fair shuffle. It does not depend on the order of arrival, on
//! threads, or on how a file was cut. The top K of parts, merged, is therefore the top K of the
//! whole. Policies draw a new seed every round.

use crate::kernel;
use crate::scores::Scores;
use crate::small_round::{SmallRound, clear_border};
use crate::toolbox::hash_number;
use crate::weights::Weights;
use std::cmp::Ordering;

/// An item with its value.
///
/// ```
/// use jurybox::{Ranked, TopK};
/// let mut top = TopK::new(1, 0);
/// top.push(7, 0.5);
/// assert_eq!(top.into_sorted(), [Ranked { item: 7, value: 0.5 }]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The item's number.
    pub item: u64,
    /// The value it is ranked by.
    pub value: f64,
}

/// Collects the K best of a stream in O(K) memory, for 20 items or 100 million.
///
/// Up to K = 32, entries are kept sorted by insertion. For larger K they are collected in a buffer
/// of 2K, which a partial selection halves whenever it is full: amortised constant time per item.
/// NaN counts as minus infinity.
///
/// ```
/// use jurybox::TopK;
///
/// let (mut left, mut right) = (TopK::new(2, 42), TopK::new(2, 42));
/// for (item, value) in [(0, 0.3), (1, 0.9), (2, 0.1)] {
///     left.push(item, value);
/// }
/// right.push(3, 0.7);
/// left.merge(&right);
/// let items: Vec<u64> = left.into_sorted().iter().map(|ranked| ranked.item).collect();
/// assert_eq!(items, [1, 3]);
/// ```
#[derive(Debug, Clone)]
pub struct TopK {
    k: usize,
    tie_seed: u64,
    threshold: f64,
    entries: Vec<Ranked>,
    small: SmallRound,
}

impl TopK {
    /// An empty collector of the `k` best. Collectors that will be merged need the same seed.
    pub fn new(k: usize, tie_seed: u64) -> Self {
        let mut top = TopK {
            k: 0,
            tie_seed: 0,
            threshold: f64::NEG_INFINITY,
            entries: Vec::new(),
            small: SmallRound::default(),
        };
        top.reset(k, tie_seed);
        top
    }

    /// Empties the collector for another stream, keeping its memory.
    pub fn reset(&mut self, k: usize, tie_seed: u64) {
        (self.k, self.tie_seed, self.threshold) = (k, tie_seed, f64::NEG_INFINITY);
        self.entries.clear();
        // Reserves the whole buffer at once, but at most 4,096 entries: the stream may be short.
        self.entries.reserve(self.buffer().min(1 << 12));
    }

    fn buffer(&self) -> usize {
        self.k.saturating_mul(2)
    }

    /// Up to this K, entries are kept sorted.
    const FEW: usize = 32;

    /// Adds an item.
    #[inline]
    pub fn push(&mut self, item: u64, value: f64) {
        if value < self.threshold {
            return;
        }
        self.keep(item, value);
    }

    fn keep(&mut self, item: u64, value: f64) {
        let value = if value.is_nan() { f64::NEG_INFINITY } else { value };
        if self.k == 0 || value < self.threshold {
            return;
        }
        if self.k <= Self::FEW {
            self.insert(Ranked { item, value });
            return;
        }
        self.entries.push(Ranked { item, value });
        if self.entries.len() >= self.buffer() {
            self.shrink();
        }
    }

    fn insert(&mut self, new: Ranked) {
        let last = self.entries.len();
        if last < self.k {
            self.entries.push(new);
            self.sift(last);
        } else if better(&new, &self.entries[last - 1], self.tie_seed) == Ordering::Less {
            self.entries[last - 1] = new;
            self.sift(last - 1);
        }
        if self.entries.len() == self.k {
            self.threshold = self.entries[self.k - 1].value;
        }
    }

    /// Moves the entry at `at` to its position among the sorted entries before it.
    fn sift(&mut self, mut at: usize) {
        let (new, seed) = (self.entries[at], self.tie_seed);
        let is_better = |other: &Ranked| {
            new.value > other.value
                || (new.value == other.value && better(&new, other, seed) == Ordering::Less)
        };
        while at > 0 && is_better(&self.entries[at - 1]) {
            self.entries[at] = self.entries[at - 1];
            at -= 1;
        }
        self.entries[at] = new;
    }

    fn shrink(&mut self) {
        if self.entries.len() > self.k {
            let seed = self.tie_seed;
            self.entries.select_nth_unstable_by(self.k - 1, |a, b| better(a, b, seed));
            self.entries.truncate(self.k);
            self.threshold = self.entries[self.k - 1].value;
        }
    }

    /// Empties the collector and adds a round of values, numbered from 0. The result is that of
    /// pushing each value, but faster for small rounds.
    ///
    /// Returns whether exactly K values are at or above the K-th largest: no tie was broken at the
    /// border. False if there are fewer than K values.
    ///
    /// ```
    /// let mut top = jurybox::TopK::new(0, 0);
    /// assert!(top.fill(2, 7, &[0.3, 0.9, 0.1, 0.7]));
    /// assert_eq!(top.sorted().iter().map(|ranked| ranked.item).collect::<Vec<_>>(), [1, 3]);
    /// assert!(!top.fill(1, 7, &[0.5, 0.5]));
    /// ```
    pub fn fill(&mut self, k: usize, tie_seed: u64, values: &[f64]) -> bool {
        self.reset(k, tie_seed);
        if let Some(clear) = self.small.top(values, k, tie_seed, &mut self.entries) {
            return clear;
        }
        for (item, &value) in values.iter().enumerate() {
            self.push(item as u64, value);
        }
        let border = self.sorted().last().map_or(f64::INFINITY, |ranked| ranked.value);
        values.iter().filter(|&&value| value >= border).count() == k
    }

    /// Adds the items of another collector with the same `k` and seed.
    pub fn merge(&mut self, other: &TopK) {
        for ranked in &other.entries {
            self.push(ranked.item, ranked.value);
        }
    }

    /// Smaller values cannot be among the best K any more. Minus infinity while there is no such
    /// bound.
    ///
    /// ```
    /// let mut top = jurybox::TopK::new(1, 0);
    /// assert_eq!(top.threshold(), f64::NEG_INFINITY);
    /// (0..100).for_each(|item| top.push(item, item as f64));
    /// assert!(top.threshold() > 80.0);
    /// ```
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The best K so far, best first; fewer if fewer were pushed.
    pub fn sorted(&mut self) -> &[Ranked] {
        if self.k > Self::FEW {
            self.shrink();
            let seed = self.tie_seed;
            self.entries.sort_unstable_by(|a, b| better(a, b, seed));
        }
        &self.entries
    }

    /// The positions of the `k` largest values, best first; ties by the tie rule under seed 0.
    ///
    /// ```
    /// assert_eq!(jurybox::TopK::of(&[0.3, 0.9, 0.1, 0.7], 2), [1, 3]);
    /// ```
    pub fn of(values: &[f64], k: usize) -> Vec<usize> {
        let mut top = TopK::new(0, 0);
        top.fill(k, 0, values);
        top.sorted().iter().map(|ranked| ranked.item as usize).collect()
    }

    /// The sum of the `k` largest values.
    pub(crate) fn sum_of_best(values: &[f64], k: usize) -> f64 {
        let mut top = TopK::new(0, 0);
        top.fill(k, 0, values);
        top.sorted().iter().map(|ranked| ranked.value).sum()
    }

    /// The best K, best first; fewer if fewer were pushed.
    pub fn into_sorted(mut self) -> Vec<Ranked> {
        self.sorted();
        self.entries
    }
}

/// The ranking order: by value, best first, then by the tie rule.
pub(crate) fn better(a: &Ranked, b: &Ranked, seed: u64) -> Ordering {
    // Collectors turn NaN into minus infinity before they compare.
    b.value
        .partial_cmp(&a.value)
        .unwrap_or(Ordering::Equal)
        .then_with(|| (hash_number(seed, a.item), a.item).cmp(&(hash_number(seed, b.item), b.item)))
}

/// The number of values above a given value, and the number that equal it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TieRank {
    pub(crate) above: usize,
    pub(crate) tied: usize,
}

impl TieRank {
    pub(crate) fn of(value: f64, values: &[f64]) -> TieRank {
        let (mut above, mut tied) = (0, 0);
        for &other in values {
            above += usize::from(other > value);
            tied += usize::from(other == value);
        }
        TieRank { above, tied }
    }

    /// The probability that an item with this value is among the best `k`, over random seeds of the
    /// tie rule.
    pub(crate) fn share_of_top(self, k: usize) -> f64 {
        if self.above + self.tied <= k {
            1.0
        } else if self.above >= k {
            0.0
        } else {
            (k - self.above) as f64 / self.tied as f64
        }
    }
}

/// The probability of each item to be among the best `k` under the tie rule: 1, 0, or a fraction
/// where values tie.
pub(crate) fn shares_of_top(values: &[f64], k: usize, top: &mut TopK, out: &mut Vec<f64>) {
    // If a number between the K-th value and the next is found, it separates the picks from the
    // rest.
    if let Some(border) = clear_border(values, k) {
        out.clear();
        out.extend(values.iter().map(|&v| f64::from(u8::from(v > border))));
        return;
    }
    let clear = top.fill(k, 0, values);
    let threshold = top.sorted().last().map_or(f64::INFINITY, |ranked| ranked.value);
    out.clear();
    if clear {
        out.extend(values.iter().map(|&v| f64::from(u8::from(v >= threshold))));
        return;
    }
    let share = TieRank::of(threshold, values).share_of_top(k);
    out.extend(values.iter().map(|&v| {
        if v > threshold {
            1.0
        } else if v == threshold {
            share
        } else {
            0.0
        }
    }));
}

/// The `k` best rows of a table by [`Weights::values`], best first.
///
/// A complete table is read once, and only the best rows are kept. With missing scores the values
/// of all rows are computed first.
///
/// ```
/// use jurybox::{Scores, Weights, top_k};
///
/// let weights = Weights::oracle(&[1.0, 1.0], &[1.0, 1.0])?;
/// let table = [0.1, 0.2, 0.9, 0.8, 0.5, 0.4];
/// let best = top_k(&Scores::new(&table, 2)?, &weights, 2, 0);
/// assert_eq!(best.iter().map(|r| r.item).collect::<Vec<_>>(), [1, 2]);
/// # Ok::<(), jurybox::Error>(())
/// ```
pub fn top_k(scores: &Scores<'_>, weights: &Weights, k: usize, tie_seed: u64) -> Vec<Ranked> {
    let mut top = TopK::new(k, tie_seed);
    if scores.is_complete() {
        let mut item = 0;
        kernel::for_each_dot(scores.values(), weights.as_slice(), |value| {
            top.push(item, value);
            item += 1;
        });
    } else {
        let mut values = Vec::new();
        weights.values(scores, &mut values);
        for (item, value) in values.into_iter().enumerate() {
            top.push(item as u64, value);
        }
    }
    top.into_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_sorting(values: &[f64], k: usize, seed: u64) -> Vec<u64> {
        let mut all: Vec<Ranked> =
            values.iter().enumerate().map(|(i, &value)| Ranked { item: i as u64, value }).collect();
        all.sort_by(|a, b| better(a, b, seed));
        all.truncate(k);
        all.iter().map(|r| r.item).collect()
    }

    proptest! {
        #[test]
        fn top_k_is_what_sorting_everything_gives(
            // Few distinct values: ties everywhere.
            values in prop::collection::vec((-3_i32..3).prop_map(f64::from), 1..300),
            k in 1_usize..80, cut in 0_usize..300, seed: u64,
        ) {
            let expected = by_sorting(&values, k, seed);
            let (mut left, mut right) = (TopK::new(k, seed), TopK::new(k, seed));
            for (item, &value) in values.iter().enumerate() {
                if item < cut { left.push(item as u64, value) } else { right.push(item as u64, value) }
            }
            right.merge(&left);
            let found: Vec<u64> = right.into_sorted().iter().map(|r| r.item).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn filling_is_pushing_each(
            values in prop::collection::vec(prop_oneof![
                8 => -1.0..1.0_f64, 2 => (-2_i32..2).prop_map(f64::from), 1 => Just(f64::NEG_INFINITY), 1 => Just(f64::NAN)
            ], 1..100),
            k in 1_usize..50, seed: u64,
        ) {
            let (mut pushed, mut filled) = (TopK::new(k, seed), TopK::new(0, 0));
            for (item, &value) in values.iter().enumerate() {
                pushed.push(item as u64, value);
            }
            let clear = filled.fill(k, seed, &values);
            prop_assert_eq!(pushed.sorted(), filled.sorted());
            let border = pushed.sorted().last().unwrap().value;
            prop_assert_eq!(clear, values.iter().filter(|v| **v >= border).count() == k);
        }

        #[test]
        fn shares_sum_to_k(values in prop::collection::vec((-3_i32..3).prop_map(f64::from), 1..80), k in 1_usize..80) {
            prop_assume!(k <= values.len());
            let mut shares = Vec::new();
            shares_of_top(&values, k, &mut TopK::new(k, 0), &mut shares);
            prop_assert!((shares.iter().sum::<f64>() - k as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn ties_are_broken_fairly_by_the_seed() {
        let mut counts = [0_u32; 6];
        for seed in 0..60_000 {
            for item in by_sorting(&[1.0; 6], 2, seed) {
                counts[item as usize] += 1;
            }
        }
        // Binomial(60,000, 1/3) has standard deviation 115; the bound is five of them.
        assert!(counts.iter().all(|&c| c.abs_diff(20_000) < 577), "{counts:?}");
    }

    #[test]
    fn nan_and_minus_infinity_rank_last_and_k_beyond_the_stream_keeps_all() {
        let mut top = TopK::new(9, 1);
        for (item, value) in [f64::NAN, 1.0, f64::NEG_INFINITY, 2.0].into_iter().enumerate() {
            top.push(item as u64, value);
        }
        let items: Vec<u64> = top.into_sorted().iter().map(|r| r.item).collect();
        assert_eq!(items[..2], [3, 1]);
        assert_eq!(items.len(), 4);
    }
}
