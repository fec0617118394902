//! The delete-one-item jackknife (Quenouille, Tukey): the variance of the mean if rows come in
//! items, such as threads or authors.
//!
//! Rows of one item may have similar rewards and may have been picked together, so that a variance
//! over rows is too small. Items are taken to be independent: leaving out one at a time shows how
//! the mean varies, whatever the dependence within items. The `slope` is the weight of the
//! predictions, as in `estimate`.

use super::estimate::Row;
use std::collections::HashMap;

/// Sums over the rows of an item.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemSums {
    rows: f64,
    predictions: f64,
    /// Sum of one over the probability, over the rows with a reward.
    pub(super) weight: f64,
    /// Sum of (reward - slope * prediction) / probability, over the rows with a reward.
    pub(super) off: f64,
}

/// The sums of each item, in the order of their first rows. A row without an item is one by itself.
/// None if no row has an item.
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

/// The variance of `slope * mean of predictions + weighted mean of (reward - slope * prediction)`.
/// None if fewer than two items have rewards.
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
