//! The order in which items are handed out under one model. All items are sorted once, and a cursor
//! moves through the order. A small sorted set has the newcomers: items that came, came back or
//! changed since.

use crate::live_queue::score_blocks::{FREE, IN_SET, OPEN, ScoreBlock, ScoreBlocks};
use crate::live_queue::value_rule::ValueRule;
use jurybox::{Evaluators, Fitted, Scratch};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// An item's position in the ranking: the larger key first, then the lower number, which is the
/// older item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankKey {
    pub(crate) key: f64,
    pub(crate) n: u64,
}

impl Eq for RankKey {}

impl Ord for RankKey {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.total_cmp(&self.key).then(self.n.cmp(&other.n))
    }
}

impl PartialOrd for RankKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Linear ageing: how an item's key depends on its arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ageing {
    /// By how much an item's value grows a day, in units of the value.
    pub(crate) per_day: f64,
    /// When the queue was created, in microseconds since 1970. Arrivals count from there, which
    /// keeps the numbers small.
    pub(crate) since: i64,
}

impl Ageing {
    /// An item's position. The key is the item's value less the ageing rate times its arrival in
    /// days. All items age at the same rate, so their order does not change as time passes.
    pub(crate) fn key(self, n: u64, value: f64, arrived: i64) -> RankKey {
        let days = (arrived - self.since) as f64 / 86_400e6;
        // Adding zero turns -0 into 0, so that equal values are ties.
        RankKey { key: value - self.per_day * days + 0.0, n }
    }
}

/// An item number in five bytes, enough for a trillion items, to save memory in large queues.
#[derive(Debug, Clone, Copy)]
struct PackedNumber([u8; 5]);

impl PackedNumber {
    fn of(n: u64) -> Self {
        debug_assert!(n < 1 << 40, "a trillion items");
        let [a, b, c, d, e, ..] = n.to_le_bytes();
        PackedNumber([a, b, c, d, e])
    }

    fn get(self) -> u64 {
        let [a, b, c, d, e] = self.0;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }
}

/// A position in twelve bytes, for sorting: ascending order of these is descending order of `key`,
/// ties by ascending `row`.
fn sortable(key: f64, row: u32) -> [u32; 3] {
    let bits = key.to_bits();
    let rising = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    [(!rising >> 32) as u32, !rising as u32, row]
}

/// All open items in the order of one model.
#[derive(Debug)]
pub(crate) struct ItemRanking {
    /// The log entry up to which the model has learnt.
    pub(crate) model: u64,
    pub(crate) fitted: Fitted,
    pub(crate) value_rule: ValueRule,
    ageing: Ageing,
    /// The numbers of the items that were open at the sorting, best first. Their keys are not kept:
    /// they can be computed from the scores.
    order: Vec<PackedNumber>,
    /// No item before this index of `order` can be claimed by its place there.
    pub(crate) cursor: usize,
    /// Free items that came, came back or changed since the sorting.
    pub(crate) newcomers: BTreeSet<RankKey>,
    /// Reused to value single rows.
    buffers: Box<RefCell<(Scratch, Vec<f64>)>>,
}

impl ItemRanking {
    /// Values and sorts all open items.
    pub(crate) fn of(
        model: u64,
        fitted: Fitted,
        blocks: &ScoreBlocks,
        evaluators: &Evaluators,
        ageing: Ageing,
        value_rule: ValueRule,
    ) -> Result<ItemRanking, jurybox::Error> {
        let (mut scratch, mut table) = (Scratch::new(), Vec::new());
        let mut places: Vec<[u32; 3]> = Vec::with_capacity(blocks.open());
        // The number of rows before each block.
        let (mut before, mut rows) = (Vec::new(), 0);
        for block in blocks.iter() {
            before.push(rows);
            let values = value_rule.values(&fitted, &block.scores, evaluators, &mut scratch, &mut table)?;
            let open = (0..block.flags.len()).filter(|&row| block.flags[row] & OPEN != 0);
            places.extend(open.map(|row| {
                let place = ageing.key(block.number(row), sortable_value(values[row]), block.arrived[row]);
                sortable(place.key, (rows + row) as u32)
            }));
            rows += block.flags.len();
        }
        places.sort_unstable();
        let all: Vec<&ScoreBlock> = blocks.iter().collect();
        let order = places.iter().map(|&[_, _, row]| {
            let at = before.partition_point(|first| *first <= row as usize) - 1;
            PackedNumber::of(all[at].number(row as usize - before[at]))
        });
        let order = order.collect();
        let (newcomers, buffers) = (BTreeSet::new(), Box::default());
        Ok(ItemRanking { model, fitted, value_rule, ageing, order, cursor: 0, newcomers, buffers })
    }

    /// The value of one row, whose columns are these evaluators; 0 if the model gives NaN.
    pub(crate) fn value(&self, row: &[f64], evaluators: &Evaluators) -> Result<f64, jurybox::Error> {
        let (scratch, table) = &mut *self.buffers.borrow_mut();
        let values = self.value_rule.values(&self.fitted, row, evaluators, scratch, table)?;
        Ok(sortable_value(values[0]))
    }

    pub(crate) fn key(&self, n: u64, value: f64, arrived: i64) -> RankKey {
        self.ageing.key(n, value, arrived)
    }

    /// Moves the cursor past items that are closed, not free, or in the set of newcomers.
    pub(crate) fn advance(&mut self, blocks: &ScoreBlocks) {
        while self.order.get(self.cursor).is_some_and(|number| !in_order(blocks, number.get())) {
            self.cursor += 1;
        }
    }

    /// Free items of the sorted order, best first, without the set of newcomers. Only for the
    /// blocks that the ranking was made from.
    pub(crate) fn best<'a>(&'a self, blocks: &'a ScoreBlocks) -> impl Iterator<Item = u64> + 'a {
        let free = |n: &u64| blocks.flags(*n) & (OPEN | FREE) == OPEN | FREE;
        self.order.iter().map(|number| number.get()).filter(free)
    }

    /// Free items for which `wanted` holds, best first. A key in the sorted order is only computed
    /// when there is a newcomer to compare it with.
    pub(crate) fn walk<'a>(
        &'a self,
        blocks: &'a ScoreBlocks,
        evaluators: &'a Evaluators,
        wanted: impl Fn(u64) -> bool + Copy + 'a,
    ) -> impl Iterator<Item = u64> + 'a {
        let place = move |n: u64| {
            let value = self.value(blocks.scores(n).unwrap_or_default(), evaluators).unwrap_or(0.0);
            self.key(n, value, blocks.arrived(n).unwrap_or_default())
        };
        let sorted = self.order[self.cursor..].iter().map(|number| number.get());
        let mut sorted = sorted.filter(move |n| in_order(blocks, *n) && wanted(*n));
        let mut set = self.newcomers.iter().filter(move |place| wanted(place.n)).peekable();
        let mut next = sorted.next();
        let mut next_place: Option<RankKey> = None;
        std::iter::from_fn(move || {
            if let (Some(n), Some(other)) = (next, set.peek())
                && *next_place.get_or_insert_with(|| place(n)) > **other
            {
                return set.next().map(|place| place.n);
            }
            let Some(n) = next else { return set.next().map(|place| place.n) };
            (next, next_place) = (sorted.next(), None);
            Some(n)
        })
    }
}

/// A value that can be sorted: NaN, where the model cannot value a row, becomes 0.
fn sortable_value(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

fn in_order(blocks: &ScoreBlocks, n: u64) -> bool {
    blocks.flags(n) & (OPEN | FREE | IN_SET) == OPEN | FREE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_sorted_as_they_compare() {
        let keys = [0.5, -2.0, f64::NEG_INFINITY, 0.5, 1e300, 0.0, -1e-300, f64::INFINITY];
        let mut places: Vec<RankKey> = keys.iter().zip(0..).map(|(&key, n)| RankKey { key, n }).collect();
        let mut short: Vec<[u32; 3]> =
            places.iter().map(|place| sortable(place.key, place.n as u32)).collect();
        places.sort();
        short.sort_unstable();
        let rows = |row: &[u32; 3]| u64::from(row[2]);
        assert_eq!(
            short.iter().map(rows).collect::<Vec<_>>(),
            places.iter().map(|p| p.n).collect::<Vec<_>>()
        );
        assert_eq!(PackedNumber::of((1 << 40) - 7).get(), (1 << 40) - 7);
    }
}
