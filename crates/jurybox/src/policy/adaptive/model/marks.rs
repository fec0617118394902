//! How much of the value of marks is left to levels, once there are enough labels to tell.
//!
//! Levels are the better guess while labels are few. But they see neither bends nor, in trees that
//! are small, all that many labels tell. So where rewards are marks, the value is a mean of that by
//! levels and of that by lines, bends and trees, in the proportion that explains best what neither
//! has seen:
//!
//! ```text
//! share = sum (r - line)(level - line) / sum (level - line)^2
//! plus one standard error of it, between 0 and 1
//! ```

use super::super::kept::Kept;
use super::Model;
use std::sync::Arc;

impl Model {
    /// Leaves to levels as much of the value as labelled rows (scores, then the reward) tell;
    /// whether any is left to lines and trees. It is said what is expected of the rows by lines,
    /// and what trees add that have not seen them.
    pub(super) fn weigh_levels(&mut self, kept: &Arc<Kept>, by_lines: &[f64], of_trees: &[f64]) -> bool {
        let Some(mut levels) = self.levels.take() else { return true };
        let (width, labelled) = (self.landscape.width(), kept.rows());
        let by_levels = levels.unseen_values(&self.landscape, labelled.clone());
        let each = labelled.clone().zip(by_lines).map(|(row, line)| (row.weight, row.values[width] - line));
        let (counts, squares) =
            each.fold((0.0, 0.0), |sum, (count, off)| (sum.0 + count, sum.1 + count * off * off));
        // Lines have seen the rewards, and are nearer to them than to others: by how much, the
        // noise tells.
        let noise: f64 = self.lines().parts.iter().map(|part| part.share * part.regression.noise).sum();
        let farther = if squares > 0.0 { (noise * counts / squares).max(1.0) } else { 1.0 };
        let rows = labelled.zip(by_lines).zip(of_trees.iter().zip(&by_levels));
        let (mut unseen, mut rows_off) = (Vec::new(), Vec::new());
        for ((row, line), (more, level)) in rows {
            let (reward, shift) = (row.values[width], self.groups.shift(self, &row.values[..width]));
            let line = levels.within(reward - farther * (reward - line) + more - shift);
            rows_off.push((row.weight, reward - shift - line, level - line));
            unseen.push(line);
        }
        let share = share(&rows_off);
        levels.weigh(share);
        if share < 1.0 {
            // What became of rows is looked at by the value that they had before anybody looked at
            // them.
            unseen.iter_mut().zip(&by_levels).for_each(|(line, level)| *line = levels.joined(*level, *line));
            levels.look_back_by(kept, unseen);
        }
        let left = !levels.is_all();
        self.levels = (share > 0.0).then_some(levels);
        left
    }
}

/// The share of levels, by the count of each row, and how far its reward and its value by levels
/// are from that by lines.
fn share(rows: &[(f64, f64, f64)]) -> f64 {
    let (mut along, mut across) = (0.0, 0.0);
    for (count, reward, level) in rows {
        along += count * reward * level;
        across += count * level * level;
    }
    if across <= 0.0 {
        return 1.0;
    }
    let slope = along / across;
    let off = |(count, reward, level): &(f64, f64, f64)| (count * level * (reward - slope * level)).powi(2);
    let error = rows.iter().map(off).sum::<f64>().sqrt() / across;
    (slope + error).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_what_they_explain_and_an_error_more() {
        let row = |i: u32, of: f64| {
            let level = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            (1.0, of * level + if i % 4 < 2 { 0.5 } else { -0.5 }, level)
        };
        let rows = |of: f64| (0..100).map(|i| row(i, of)).collect::<Vec<_>>();
        // Each is half a unit off: an error of half over the root of a hundred.
        assert!((share(&rows(0.3)) - 0.35).abs() < 1e-9);
        assert_eq!(share(&rows(0.97)), 1.0);
        assert_eq!(share(&rows(-0.1)), 0.0);
        // Where both say the same, nothing is to be weighed.
        assert_eq!(share(&[(1.0, 2.0, 0.0)]), 1.0);
    }
}
