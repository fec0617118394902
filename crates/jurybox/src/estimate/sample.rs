//! Bottom-k sampling (Cohen and Kaplan 2007): a uniform sample of distinct rows, of limited size,
//! which merges exactly.
//!
//! Every row has a key, a hash of its own numbers and, if the caller wants, its time. The sample is
//! the `capacity` rows with the smallest keys. It depends only on which rows were seen, not on
//! their order or on how they were split over machines. A key that is among the smallest at the end
//! was so at all times, so the count of each kept row is exact. Distinct rows are kept with equal
//! probability. The share of distinct rows with some property has a standard error of at most about
//! `0.5 / sqrt(capacity)`. It is exact until the sample is full.
//!
//! A row may have a tag, an integer. Rows that differ only in their tag are different rows. The tag
//! is saved as one more number at the end, so samples without tags keep their format.

use super::ladder::LATEST;
use super::{MOST_COUNTED, Statistic, selected};
use crate::scores::usable_or_missing;
use serde::{Deserialize, Serialize};

/// The rows with the smallest keys, in ascending order of the key.
///
/// ```
/// use jurybox::estimate::{Sample, Statistic};
///
/// let mut whole = Sample::new(2, 8);
/// let (mut left, mut right) = (whole.clone(), whole.clone());
/// for i in 0..1000 {
///     let row = [f64::from(i), f64::from(i % 7)];
///     if i % 3 == 0 { left.offer(&row, 0) } else { right.offer(&row, 0) }
///     whole.offer(&row, 0);
/// }
/// left.merge(&right);
/// assert!(left.rows().map(|row| row.values).eq(whole.rows().map(|row| row.values)));
/// assert_eq!(whole.rows().len(), 8);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    width: usize,
    capacity: usize,
    kept: Vec<ReservoirRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ReservoirRow {
    key: u64,
    /// How many times the row was seen.
    count: u64,
    /// The latest time at which the row was seen.
    clock: u64,
    #[serde(with = "missing_as_null")]
    values: Vec<f64>,
}

/// A row of the sample.
///
/// ```
/// let mut sample = jurybox::estimate::Sample::new(1, 4);
/// sample.offer(&[0.5], 3);
/// sample.offer(&[0.5], 9);
/// let row = sample.rows().next().unwrap();
/// assert_eq!((row.count, row.clock), (2, 9));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledRow<'a> {
    /// The numbers, NaN where missing.
    pub values: &'a [f64],
    /// How many times the row was seen.
    pub count: u64,
    /// The latest time at which the row was seen.
    pub clock: u64,
    /// The tag of the row, if it has one.
    pub tag: Option<u64>,
    /// The weight of the row in a fit: its count, or less if its label is partly discounted.
    pub weight: f64,
}

/// Tags are below this, so that a float holds them exactly.
const TAGS: f64 = (1_u64 << 53) as f64;

impl Sample {
    /// An empty sample of at most `capacity` rows of this width.
    pub fn new(width: usize, capacity: usize) -> Self {
        Sample { width, capacity, kept: Vec::new() }
    }

    /// The width of a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The kept rows, in order of their keys.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = SampledRow<'_>> + Clone {
        self.kept.iter().map(|kept| SampledRow {
            values: &kept.values[..self.width],
            count: kept.count,
            clock: kept.clock,
            tag: kept.values.get(self.width).map(|&tag| tag as u64),
            weight: kept.count as f64,
        })
    }

    /// The total count of the kept rows.
    pub(crate) fn counted(&self) -> u64 {
        self.kept.iter().fold(0_u64, |sum, kept| sum.saturating_add(kept.count)).min(MOST_COUNTED)
    }

    /// The sample with missing scores of the given columns set to 0. Rows that become equal stay
    /// apart.
    pub(crate) fn filled(&self, columns: &[usize]) -> Sample {
        let mut filled = self.clone();
        for kept in &mut filled.kept {
            for &column in columns.iter().filter(|&&column| column < self.width) {
                if kept.values[column].is_nan() {
                    kept.values[column] = 0.0;
                }
            }
        }
        filled
    }

    /// Offers a row to the sample.
    pub fn offer(&mut self, row: &[f64], clock: u64) {
        let key = key_of(row);
        if self.kept.len() == self.capacity && self.kept.last().is_none_or(|last| key > last.key) {
            return;
        }
        self.insert(key, 1, clock, row);
    }

    /// Offers a row with a tag below 2^53.
    pub(crate) fn offer_tagged(&mut self, row: &mut Vec<f64>, tag: u64, clock: u64) {
        row.push(tag as f64);
        self.offer(row, clock);
        row.pop();
    }

    /// Offers a row, tagged or not, with its time as part of its key: equal rows of different times
    /// are different rows.
    pub(crate) fn offer_of_its_time(&mut self, row: &mut Vec<f64>, tag: Option<u64>, clock: u64) {
        let length = row.len();
        row.extend(tag.map(|tag| tag as f64));
        let key = mixed(key_of(row) ^ mixed(clock));
        if self.kept.len() < self.capacity || self.kept.last().is_some_and(|last| key <= last.key) {
            self.insert(key, 1, clock, row);
        }
        row.truncate(length);
    }

    /// Offers many contiguous rows. The result is that of offering them one by one, but faster.
    ///
    /// ```
    /// use jurybox::estimate::Sample;
    ///
    /// let rows: Vec<f64> = (0..2000).map(|i| f64::from(i % 700)).collect();
    /// let (mut at_once, mut one_by_one) = (Sample::new(2, 8), Sample::new(2, 8));
    /// at_once.offer_all(&rows, 3);
    /// rows.chunks(2).for_each(|row| one_by_one.offer(row, 3));
    /// assert_eq!(at_once, one_by_one);
    /// ```
    pub fn offer_all(&mut self, rows: &[f64], clock: u64) {
        let count = rows.len() / self.width.max(1);
        if count < MANY {
            return rows.chunks_exact(self.width.max(1)).for_each(|row| self.offer(row, clock));
        }
        let full = self.kept.len() == self.capacity;
        let most = if full { self.kept.last().map_or(0, |last| last.key) } else { u64::MAX };
        let mut keys: Vec<(u64, usize)> =
            rows.chunks_exact(self.width).map(key_of).zip(0..).filter(|(key, _)| *key <= most).collect();
        // Keys are uniform: almost always the kept ones lie below this bound, and the other keys
        // need no sorting.
        let share = (1.3 * self.capacity as f64 + 64.0) / count as f64;
        let below = (share * u64::MAX as f64) as u64;
        let low = keys.iter().filter(|(key, _)| *key <= below).copied();
        let mut low: Vec<(u64, usize)> = low.collect();
        low.sort_unstable();
        if low.chunk_by(|a, b| a.0 == b.0).count() >= self.capacity {
            keys = low;
        } else {
            keys.sort_unstable();
        }
        self.take_in(&keys, rows, clock);
    }

    /// Merges rows into the sample. `keys` has the key and the position of each row, ascending.
    fn take_in(&mut self, keys: &[(u64, usize)], rows: &[f64], clock: u64) {
        let mut old = std::mem::take(&mut self.kept).into_iter().peekable();
        let mut new = keys.chunk_by(|a, b| a.0 == b.0).peekable();
        while self.kept.len() < self.capacity {
            let (mine, theirs) = (old.peek().map(|kept| kept.key), new.peek().map(|same| same[0].0));
            let first = match (mine, theirs) {
                (Some(mine), Some(theirs)) => mine.min(theirs),
                (Some(key), None) | (None, Some(key)) => key,
                (None, None) => break,
            };
            let same = new.next_if(|same| same[0].0 == first);
            let (count, at) = same.map_or((0, 0), |same| (same.len() as u64, same[0].1));
            self.kept.push(match old.next_if(|kept| kept.key == first) {
                Some(kept) if count == 0 => kept,
                Some(kept) => ReservoirRow {
                    count: kept.count.saturating_add(count).min(MOST_COUNTED),
                    clock: kept.clock.max(clock),
                    ..kept
                },
                None => {
                    let row = &rows[at * self.width..(at + 1) * self.width];
                    let values = row.iter().map(|&value| plain(value)).collect();
                    ReservoirRow { key: first, count, clock, values }
                }
            });
        }
    }

    fn insert(&mut self, key: u64, count: u64, clock: u64, row: &[f64]) {
        match self.kept.binary_search_by_key(&key, |kept| kept.key) {
            Ok(at) => {
                self.kept[at].count = self.kept[at].count.saturating_add(count).min(MOST_COUNTED);
                self.kept[at].clock = self.kept[at].clock.max(clock);
            }
            Err(at) if at < self.capacity => {
                // The memory of the removed row is reused.
                let spare = if self.kept.len() == self.capacity { self.kept.pop() } else { None };
                let mut values = spare.map(|kept| kept.values).unwrap_or_default();
                values.clear();
                values.extend(row.iter().map(|&value| plain(value)));
                self.kept.insert(at, ReservoirRow { key, count, clock, values });
            }
            Err(_) => {}
        }
    }
}

/// From this many rows on, merging sorted keys is faster than offering the rows one by one.
const MANY: usize = 256;

/// The canonical form of a number: rows with equal keys must have equal bytes.
fn plain(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

/// A hash of the numbers; all missing values are equal, and so are the two zeros.
fn key_of(row: &[f64]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    for &value in row {
        let bits = if value.is_nan() { u64::MAX } else { plain(value).to_bits() };
        let product = u128::from(hash ^ bits) * u128::from(0xd6e8_feb8_6659_fd93_u64);
        hash = (product as u64) ^ ((product >> 64) as u64) ^ hash.rotate_left(23);
    }
    mixed(hash)
}

/// Mixes all bits of a hash.
fn mixed(mut hash: u64) -> u64 {
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 32)
}

impl Statistic for Sample {
    fn merge(&mut self, other: &Self) {
        for kept in &other.kept {
            self.insert(kept.key, kept.count, kept.clock, &kept.values);
        }
    }

    /// Rows keep the keys by which they were sampled, so that they compete fairly with later rows.
    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        let kept = self.kept.iter().map(|kept| {
            let (numbers, tag) = kept.values.split_at(self.width);
            let mut values = selected(numbers, columns, f64::NAN);
            values.extend_from_slice(tag);
            ReservoirRow { values, ..*kept }
        });
        Sample { width: columns.len(), capacity: self.capacity, kept: kept.collect() }
    }

    fn is_sound(&self, width: usize) -> bool {
        self.width == width
            && self.kept.len() <= self.capacity
            && self.kept.is_sorted_by(|a, b| a.key < b.key)
            && self.kept.iter().all(|kept| {
                (1..=MOST_COUNTED).contains(&kept.count)
                    && kept.clock <= LATEST
                    && kept.values.len() >= width
                    && kept.values[..width].iter().all(|&v| usable_or_missing(v))
                    && match kept.values[width..] {
                        [] => true,
                        [tag] => tag.fract() == 0.0 && (0.0..TAGS).contains(&tag),
                        _ => false,
                    }
            })
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        (self.width, self.capacity) == (other.width, other.capacity)
    }
}

/// JSON has no NaN: a missing number is null.
mod missing_as_null {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|v| (!v.is_nan()).then_some(v)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_in_any_order_are_the_whole(
            rows in prop::collection::vec((0_u32..60, 0_u32..4, 0_usize..3), 0..300),
        ) {
            let mut parts = vec![Sample::new(2, 20); 3];
            let mut whole = Sample::new(2, 20);
            for &(a, b, part) in &rows {
                let row = [f64::from(a), if b == 0 { f64::NAN } else { f64::from(b) }];
                for sample in [&mut parts[part], &mut whole] {
                    if a % 5 == 0 {
                        sample.offer_tagged(&mut row.to_vec(), u64::from(b), u64::from(a));
                    } else {
                        sample.offer(&row, u64::from(a));
                    }
                }
            }
            for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
                let mut merged = parts[order[0]].clone();
                merged.merge(&parts[order[1]]);
                merged.merge(&parts[order[2]]);
                prop_assert_eq!(serde_json::to_string(&merged).unwrap(), serde_json::to_string(&whole).unwrap());
            }
            prop_assert!(whole.is_sound(2));
        }
    }

    proptest! {
        #[test]
        fn many_at_once_are_one_by_one(
            rows in prop::collection::vec(0_u32..400, 0..1500), distinct in prop::sample::select(vec![1_u32, 7, 400]),
            capacity in prop::sample::select(vec![1_usize, 20, 600]), before in 0_usize..900,
        ) {
            let value = |i: u32| if i.is_multiple_of(11) { f64::NAN } else { f64::from(i % distinct) };
            let table: Vec<f64> = rows.iter().flat_map(|&i| [value(i), f64::from(i % 3)]).collect();
            let (first, second) = table.split_at(2 * before.min(rows.len()));
            let (mut at_once, mut one_by_one) = (Sample::new(2, capacity), Sample::new(2, capacity));
            for (part, clock) in [(first, 5), (second, 2)] {
                at_once.offer_all(part, clock);
                part.chunks(2).for_each(|row| one_by_one.offer(row, clock));
            }
            let text = |sample: &Sample| serde_json::to_string(sample).unwrap();
            prop_assert_eq!(text(&at_once), text(&one_by_one));
        }
    }

    #[test]
    fn a_tag_stays_with_its_row_and_nothing_else_passes_for_one() {
        let mut sample = Sample::new(2, 8);
        sample.offer_tagged(&mut vec![0.5, 1.0], 7, 0);
        sample.offer_tagged(&mut vec![0.5, 1.0], 8, 0);
        sample.offer(&[0.5, 1.0], 0);
        let tags = |sample: &Sample| -> std::collections::BTreeSet<Option<u64>> {
            assert!(sample.rows().all(|row| row.values == [0.5, 1.0] || row.values.len() == 1));
            sample.rows().map(|row| row.tag).collect()
        };
        let all = [None, Some(7), Some(8)].into();
        assert_eq!(tags(&sample), all);
        let narrow = sample.with_columns(&[Some(1)]);
        assert_eq!(tags(&narrow), all);
        assert!(narrow.is_sound(1) && sample.is_sound(2) && !sample.is_sound(3));
        for wrong in [0.5, -1.0, TAGS, f64::NAN] {
            let mut forged = sample.clone();
            forged.kept[0].values.truncate(2);
            forged.kept[0].values.push(wrong);
            assert!(!forged.is_sound(2), "{wrong}");
        }
    }

    #[test]
    fn the_sample_is_fair() {
        let mut sample = Sample::new(1, 2000);
        for i in 0..50_000 {
            sample.offer(&[f64::from(i) / 50_000.0], 0);
        }
        let mean = sample.rows().map(|row| row.values[0]).sum::<f64>() / 2000.0;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0_f64 / 2000.0).sqrt(), "{mean}");
    }

    #[test]
    fn a_missing_number_survives_both_saved_forms() {
        let mut sample = Sample::new(2, 4);
        sample.offer(&[1.0, f64::NAN], 5);
        let json = serde_json::to_string(&sample).unwrap();
        let back: Sample = serde_json::from_str(&json).unwrap();
        assert!(back.is_sound(2) && back.rows().next().unwrap().values[1].is_nan());
        let back: Sample = postcard::from_bytes(&postcard::to_allocvec(&sample).unwrap()).unwrap();
        assert!(back.is_sound(2) && back.rows().next().unwrap().values[1].is_nan());
    }
}
