//! How far rewards lie from what is expected of them: not as far everywhere.
//!
//! Noise is one number in the regression, which is right for weights. Of single rewards it is not:
//! verdicts of yes and no, say, rarely yes, are all but certain for most items, and wide open for
//! the best, which are those that people look at. So it is measured how far the rewards of the
//! labelled rows were off, by what was expected of them; where few are near, the one number counts.

use super::levels::{MOST_LEVELS, levels_of};
use super::model::Model;
use super::near::Near;
use crate::estimate::SampledRow;

/// For so many more rows than those near by the regression's own noise counts.
const PRIOR: f64 = 5.0;
/// Where rewards that were met are at an end, the line may fall so much more beyond them, times
/// what it falls.
const STEEPER: f64 = 2.0;

/// The best marks are met within so many labels for each that was.
const SOON: f64 = 10.0;

/// How far off rewards were, by what was expected of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Spread {
    near: Near,
    /// Summed up to each row: how often it was seen, its rewards, and the squares of how far off
    /// these were.
    sums: Vec<[f64; 3]>,
    /// The values that rewards take, ascending, where they are few.
    levels: Vec<f64>,
    /// The skewness of how far rewards were off.
    skewness: f64,
    /// The variance that missing scores left in the values of the rows on average: part of the
    /// noise that was seen.
    pub(super) unseen: f64,
}

impl Spread {
    /// By labelled rows (scores, then the reward), and what was expected of each.
    pub(super) fn around<'a>(
        model: &Model,
        labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
        values: &[f64],
    ) -> Spread {
        let width = model.landscape.width();
        let complete = labelled.clone().all(|row| row.values[..width].iter().all(|score| !score.is_nan()));
        let rewards = || labelled.clone().map(|row| (row.values[width], row.weight));
        let of_each = values.iter().zip(rewards()).map(|(&value, (reward, count))| {
            (value, [count, count * reward, count * (reward - value).powi(2)])
        });
        let (near, sums) = Near::of(of_each.collect());
        let levels = levels_of(rewards()).unwrap_or_default();
        let (mut cubes, mut unseen) = (0.0, 0.0);
        for (value, row) in values.iter().zip(labelled) {
            cubes += row.weight * (row.values[width] - value).powi(3);
            unseen += if complete { 0.0 } else { row.weight * model.unseen(&row.values[..width]) };
        }
        let [count, _, squares] = sums.last().copied().unwrap_or([1.0, 0.0, 0.0]);
        let skewness = if squares > 0.0 { cubes / count / (squares / count).powf(1.5) } else { 0.0 };
        Spread { near, sums, levels, skewness, unseen: unseen / count }
    }

    /// The variance of a reward around its expectation, as a multiple of what it is on average.
    pub(super) fn at(&self, expected: f64) -> f64 {
        let Some(&[counts, _, squares]) = self.sums.last() else { return 1.0 };
        if squares <= 0.0 {
            return 1.0;
        }
        let [own_counts, _, own_squares] = self.near.sum(&self.sums, expected);
        (PRIOR + own_squares * counts / squares) / (PRIOR + own_counts)
    }

    /// How far it is from an expectation to the mean reward of the nearest labelled rows, where it
    /// is below or above nearly all of theirs; nothing where it is not.
    pub(super) fn back(&self, expected: f64) -> f64 {
        if !self.near.is_beyond(expected) {
            return 0.0;
        }
        let [counts, rewards, _] = self.near.sum(&self.sums, expected);
        rewards / counts - expected
    }

    /// How much further than the line an expectation may be from rewards that were met, the mean of
    /// which is so far back, as a multiple of that. Where rewards have an end that many of those
    /// looked at are at, which skews them, these tell little of how they fall elsewhere.
    pub(super) fn steeper(&self, back: f64) -> f64 {
        let to_an_end = if back > 0.0 { -self.skewness } else { self.skewness };
        let labels = self.sums.last().map_or(1.0, |sums| sums[0]);
        let by_chance = 2.0 * (6.0 / labels).sqrt();
        let marks = self.on_scale(0.0).is_some();
        STEEPER * if marks { 1.0 } else { (to_an_end - by_chance).clamp(0.0, 1.0) }
    }

    /// Where rewards have few levels: an interval whose ends between two of them go to the nearer
    /// one, and that goes on to the first of them where it ends below them all or begins above.
    pub(super) fn at_levels(&self, low: f64, high: f64) -> (f64, f64) {
        let (Some(&lowest), Some(&highest)) = (self.levels.first(), self.levels.last()) else {
            return (low, high);
        };
        let nearest = |end: f64| {
            let above = self.levels.partition_point(|&level| level < end);
            match (above.checked_sub(1).map(|below| self.levels[below]), self.levels.get(above)) {
                (Some(below), Some(&above)) if end - below < above - end => below,
                (Some(_), Some(&above)) => above,
                _ => end,
            }
        };
        (nearest(low).min(highest), nearest(high).max(lowest))
    }

    /// Where rewards have levels of which some may not have been met, what an end of an interval
    /// that may reach them is on their scale. Marks are at most five, as far apart as those that
    /// were met, and begin at 0 or 1 if these do; the best of them are met soon. Yes and no, or
    /// other shares of one, are all there is.
    pub(super) fn on_scale(&self, end: f64) -> Option<f64> {
        let (&lowest, &highest) = (self.levels.first()?, self.levels.last()?);
        let (met, shares) = (self.levels.len(), lowest >= 0.0 && highest <= 1.0);
        if shares || !(2..MOST_LEVELS).contains(&met) {
            return None;
        }
        let gap = (highest - lowest) / (met - 1) as f64;
        let more = (MOST_LEVELS - met) as f64;
        let below = if lowest == 0.0 || lowest == 1.0 { 0.0 } else { more };
        let soon = SOON * met as f64;
        let above = if self.sums.last().is_some_and(|sums| sums[0] >= soon) { 0.0 } else { more };
        Some(lowest + gap * ((end - lowest) / gap).round().clamp(-below, (met - 1) as f64 + above))
    }
}
