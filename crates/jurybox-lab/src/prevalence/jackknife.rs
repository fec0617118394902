//! The spread of the mean where rows come in items, such as threads or authors: the delete-one-item
//! jackknife (Quenouille, Tukey).
//!
//! Rows of one item may have rewards that are alike, and may have been picked together. A variance
//! over rows takes each for a witness of its own, and is too small. Items are independent: leaving
//! out one at a time measures what the mean varies by, whatever goes on within them.

use super::estimate::Row;
use std::collections::HashMap;

/// What the rows of an item add to the mean of all rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemSums {
    rows: f64,
    predictions: f64,
    /// The sum of one over the probability, of the rows with a reward.
    pub(super) weight: f64,
    /// The same, times how far each reward is from what was predicted of it.
    pub(super) off: f64,
}

/// The sums of each item, in the order of their first rows; none where no row names its item.
pub(super) fn by_item(rows: &[Row], off: impl Fn(&Row) -> f64) -> Option<Vec<ItemSums>> {
    rows.iter().find_map(|row| row.item)?;
    let (mut items, mut places): (Vec<ItemSums>, HashMap<usize, usize>) = (Vec::new(), HashMap::new());
    for row in rows {
        let next = items.len();
        let place = row.item.map_or(next, |item| *places.entry(item).or_insert(next));
        if place == next {
            items.push(ItemSums::default());
        }
        let sums = &mut items[place];
        sums.rows += 1.0;
        sums.predictions += row.prediction;
        if !row.reward.is_nan() {
            sums.weight += 1.0 / row.probability;
            sums.off += off(row) / row.probability;
        }
    }
    Some(items)
}

/// The variance of `slope * mean of predictions + weighted mean of off`; none where one item has
/// all rewards.
pub(super) fn jackknife(items: &[ItemSums], slope: f64) -> Option<f64> {
    if items.iter().filter(|item| item.weight > 0.0).count() < 2 {
        return None;
    }
    let all = items.iter().fold(ItemSums::default(), |all, item| ItemSums {
        rows: all.rows + item.rows,
        predictions: all.predictions + item.predictions,
        weight: all.weight + item.weight,
        off: all.off + item.off,
    });
    let without = |item: &ItemSums| {
        slope * (all.predictions - item.predictions) / (all.rows - item.rows)
            + (all.off - item.off) / (all.weight - item.weight)
    };
    let count = items.len() as f64;
    let mean = items.iter().map(without).sum::<f64>() / count;
    let squares: f64 = items.iter().map(|item| (without(item) - mean).powi(2)).sum();
    Some((count - 1.0) / count * squares)
}
