//! The exact top K of a small round with few branch mispredictions.
//!
//! Three steps. First find, by counting, a threshold that K items or somewhat more exceed. Then
//! gather the items above it. Then sort them by integer keys, which join the leading bits of the
//! value and the item's number. If the leading bits of two values agree, the values are compared.

use crate::rank::{Ranked, better};

/// The largest round. An item's number takes the bits of `ITEM_BITS` in a key.
const ITEMS: usize = 512;
const ITEM_BITS: u64 = ITEMS as u64 - 1;

/// A buffer that is reused from round to round.
#[derive(Debug, Clone, Default)]
pub(crate) struct SmallRound {
    keys: Vec<u64>,
    /// The threshold of the last round, which is the first guess for the next.
    border: f64,
}

impl SmallRound {
    /// Writes the best `k` into `best`, best first. Returns whether the K-th value differs from the
    /// next, so that no tie was broken at the border.
    ///
    /// None, with nothing written, if the round is too large or no threshold is found. The same if
    /// `k` is 0 or not below the number of items.
    pub(crate) fn top(
        &mut self,
        values: &[f64],
        k: usize,
        tie_seed: u64,
        best: &mut Vec<Ranked>,
    ) -> Option<bool> {
        if values.len() > ITEMS || k == 0 || k >= values.len() {
            return None;
        }
        let (border, count) = border(values, k, self.border)?;
        self.border = border;
        let keys = &mut self.keys;
        // Every item is written, but the position advances only for an item above the threshold.
        keys.clear();
        keys.resize(count + 1, 0);
        let mut kept = 0;
        for (item, &value) in values.iter().enumerate() {
            keys[kept] = item as u64;
            kept += usize::from(value > border);
        }
        keys.truncate(count);
        for key in keys.iter_mut() {
            *key |= falling(values[*key as usize]) & !ITEM_BITS;
        }
        sort(keys);
        best.extend(keys.iter().map(|key| {
            let item = key & ITEM_BITS;
            Ranked { item, value: values[item as usize] }
        }));
        if keys.windows(2).any(|pair| pair[0] | ITEM_BITS == pair[1] | ITEM_BITS) {
            best.sort_unstable_by(|a, b| better(a, b, tie_seed));
        }
        let clear = count == k || best[k - 1].value > best[k].value;
        best.truncate(k);
        Some(clear)
    }
}

/// A number that exactly `k` of the values exceed. None if there is none, if the search takes too
/// long, or if the round is too large. None too if `k` is 0 or not below the number of values.
pub(crate) fn clear_border(values: &[f64], k: usize) -> Option<f64> {
    if values.len() > ITEMS || k == 0 || k >= values.len() {
        return None;
    }
    let (mut low, mut high) = range(values);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if !(middle >= low && middle < high) {
            return None;
        }
        match count_above(values, middle) {
            count if count < k => high = middle,
            count if count > k => low = middle,
            _ => return Some(middle),
        }
    }
    None
}

/// Sorts distinct keys. Up to 24 keys are sorted without branches, by counting the smaller keys.
fn sort(keys: &mut [u64]) {
    const FEW: usize = 24;
    if keys.len() > FEW {
        return keys.sort_unstable();
    }
    let (mut place, mut sorted) = ([0; FEW], [0; FEW]);
    for (j, &key) in keys.iter().enumerate() {
        let mut larger = 0;
        for (&other, place) in keys[..j].iter().zip(&mut place) {
            let is_larger = usize::from(other > key);
            *place += is_larger;
            larger += is_larger;
        }
        place[j] = j - larger;
    }
    for (&key, &place) in keys.iter().zip(&place) {
        sorted[place] = key;
    }
    keys.copy_from_slice(&sorted[..keys.len()]);
}

/// An integer that decreases as the value increases; equal for the two zeros.
fn falling(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits(); // -0 becomes 0, which it ties with
    // The bits of positive numbers rise with the number, and those of negative numbers fall.
    if bits >> 63 == 0 { !bits & (u64::MAX >> 1) } else { bits }
}

/// A number that at least `k` and at most `k + max(k / 2, 4)` of the values exceed, with their
/// count. It is the guess if that fits, else found by bisection.
fn border(values: &[f64], k: usize, guess: f64) -> Option<(f64, usize)> {
    let enough = k..=k + (k / 2).max(4);
    let count = count_above(values, guess);
    if enough.contains(&count) {
        return Some((guess, count));
    }
    let (mut low, mut high) = range(values);
    // The answer lies in [low, high): no value is below low or above high. If `high` is infinite,
    // the midpoint is not below it.
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if !(middle >= low && middle < high) {
            return None;
        }
        let count = count_above(values, middle);
        if enough.contains(&count) {
            return Some((middle, count));
        }
        if count < k { high = middle } else { low = middle }
    }
    None
}

fn count_above(values: &[f64], border: f64) -> usize {
    let mut count = 0_u64;
    for &value in values {
        count += u64::from(value > border);
    }
    count as usize
}

/// The smallest and the largest value, ignoring NaN. Four running minima and maxima are independent
/// of each other, which is faster.
fn range(values: &[f64]) -> (f64, f64) {
    let (mut low, mut high) = ([f64::INFINITY; 4], [f64::NEG_INFINITY; 4]);
    let (chunks, rest) = values.as_chunks::<4>();
    let mut take = |lane: usize, value: f64| {
        low[lane] = if value < low[lane] { value } else { low[lane] };
        high[lane] = if value > high[lane] { value } else { high[lane] };
    };
    for chunk in chunks {
        for lane in 0..4 {
            take(lane, chunk[lane]);
        }
    }
    rest.iter().for_each(|&value| take(0, value));
    (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_fall_as_values_rise(a in -1e3..1e3_f64, b in -1e3..1e3_f64) {
            prop_assert_eq!(a < b, falling(a) > falling(b));
            prop_assert_eq!(falling(-0.0), falling(0.0));
        }

        #[test]
        fn is_what_sorting_everything_gives(
            // Includes values that differ in their last bits only.
            values in prop::collection::vec(prop_oneof![
                4 => -1.0..1.0_f64,
                2 => (0_u64..50).prop_map(|last| f64::from_bits(1.0_f64.to_bits() + last)),
                1 => (-2_i32..2).prop_map(f64::from),
                1 => Just(-0.0), 1 => Just(f64::NEG_INFINITY),
            ], 2..200),
            k in 1_usize..60, seed: u64, guess in -1.0..1.0_f64,
        ) {
            let mut all: Vec<Ranked> =
                values.iter().enumerate().map(|(item, &value)| Ranked { item: item as u64, value }).collect();
            all.sort_by(|a, b| better(a, b, seed));
            let mut best = Vec::new();
            let mut round = SmallRound { keys: Vec::new(), border: guess };
            match round.top(&values, k, seed, &mut best) {
                None => prop_assert!(best.is_empty()),
                Some(clear) => {
                    prop_assert_eq!(clear, all[k - 1].value > all[k].value);
                    all.truncate(k);
                    prop_assert_eq!(best, all);
                }
            }
        }
    }
}
