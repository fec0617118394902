//! Normal scores by the rankit formula (Bliss 1967): ranks as normal quantiles, a monotone change
//! of scale.
//!
//! The normal score of a number with middle rank `rank` among n is `Phi^-1((rank - 1/2) / n)`,
//! where Phi is the normal distribution function. A monotone transformation of an evaluator's
//! scores does not change it. Ties share their middle rank. The result is scaled to mean 0 and
//! standard deviation 1.

use super::grid::{Grid, MOST_KNOTS, with_halvings};
use crate::normal;

/// The normal score of a number among a sample: piecewise linear between knots, constant beyond.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct NormalScore {
    at: Vec<f64>,
    score: Vec<f64>,
    /// At each knot, its normal score and the increase to the next knot.
    pieces: Vec<[f64; 2]>,
    grid: Grid,
    /// How much the numbers differ: see [`distinct`](Self::distinct).
    distinct: f64,
}

/// Each knot but the last is at least this far above the one before, in quantiles before scaling.
/// The tails, where picks are made, are as fine as the middle. About 2,000 different numbers have
/// at most 80 knots (tested).
const STEP: f64 = 0.1;

/// The standard deviation of the quantiles of `count` numbers of which one is larger and the others
/// tie.
fn one_of(count: f64) -> f64 {
    let share = 1.0 / count;
    if share >= 1.0 {
        return 1.0;
    }
    let apart = normal::quantile(1.0 - 0.5 * share) - normal::quantile(0.5 - 0.5 * share);
    (share * (1.0 - share)).sqrt() * apart
}

impl NormalScore {
    /// Fits a sample of numbers with counts. The normal scores of the sample have mean 0 and
    /// standard deviation 1, or are all 0.
    pub(crate) fn fit(seen: &mut [(f64, f64)], quantiles: &mut Quantiles) -> Self {
        sort(seen);
        let total: f64 = seen.iter().map(|(_, weight)| weight).sum();
        let mut curve = NormalScore::default();
        let (mut below, mut last) = (0.0, f64::NEG_INFINITY);
        let (mut sum, mut square) = (0.0, 0.0);
        let mut rest = &*seen;
        while let Some(&(x, _)) = rest.first() {
            let same = rest.iter().take_while(|(y, _)| *y <= x).count(); // mostly one
            let weight: f64 = rest[..same].iter().map(|(_, weight)| weight).sum();
            rest = &rest[same..];
            let score = quantiles.at(below + 0.5 * weight, total);
            below += weight;
            sum += weight * score;
            square += weight * score * score;
            if (score - last >= STEP && curve.at.len() < MOST_KNOTS - 3) || rest.is_empty() {
                curve.at.push(x);
                curve.score.push(score);
                last = score;
            }
        }
        let mean = sum / total;
        let deviation = (square / total - mean * mean).max(0.0).sqrt();
        let scale = if deviation > 1e-9 { 1.0 / deviation } else { 0.0 };
        curve.distinct = deviation.max(one_of(total + 1.0)).min(1.0);
        curve.score.iter_mut().for_each(|score| *score = (*score - mean) * scale);
        let rise = |i: usize| curve.score.get(i + 1).map_or(0.0, |next| next - curve.score[i]);
        curve.pieces = (0..curve.score.len()).map(|i| [curve.score[i], rise(i)]).collect();
        curve.grid = Grid::new(&curve.at);
        curve
    }

    /// How much the numbers differ from each other. It is almost 1 if many numbers are all
    /// different, and about a quarter if one in a hundred differs from the rest. It is at least the
    /// value for as many equal numbers and a different one, because a few equal numbers prove
    /// little.
    pub(crate) fn distinct(&self) -> f64 {
        self.distinct
    }

    /// The knots: some of the numbers, and their normal scores.
    pub(crate) fn knots(&self) -> (&[f64], &[f64]) {
        (&self.at, &self.score)
    }

    /// The first knot whose normal score is at least `score`; none if there is none.
    pub(crate) fn first_at(&self, score: f64) -> Option<f64> {
        self.at.get(self.score.partition_point(|known| *known < score)).copied()
    }

    /// The normal score of a number; 0 for an empty sample.
    #[inline]
    pub(crate) fn at(&self, x: f64) -> f64 {
        let Some(ends) = self.ends() else { return 0.0 };
        with_halvings!(self.grid.halvings(), N => self.within::<N>(x, ends))
    }

    /// Calls a function with each number of a column of a table and its normal score. The number of
    /// bisections is resolved once for the whole column.
    #[inline]
    pub(crate) fn each(&self, table: &[f64], width: usize, column: usize, mut take: impl FnMut(f64, f64)) {
        let rows = table.chunks_exact(width);
        let Some(ends) = self.ends() else {
            return rows.for_each(|row| take(row[column], 0.0));
        };
        with_halvings!(self.grid.halvings(), N => for row in rows {
            take(row[column], self.within::<N>(row[column], ends));
        });
    }

    fn ends(&self) -> Option<(f64, f64)> {
        self.at.first().copied().zip(self.at.last().copied())
    }

    #[expect(clippy::inline_always, reason = "the loops over many numbers are few instructions each")]
    #[inline(always)]
    fn within<const HALVINGS: usize>(&self, x: f64, (first, last): (f64, f64)) -> f64 {
        let x = x.clamp(first, last);
        let piece = self.grid.piece::<HALVINGS>(x);
        let [score, rise] = self.pieces[piece.max(1) - 1];
        // The knot after the last is infinity, so that nothing is added there.
        let (from, to) = (self.grid.knot(piece), self.grid.knot(piece + 1));
        score + (x - from) / (to - from) * rise
    }
}

/// Sorts numbers with counts. If all counts are 1, only the numbers are sorted, as integers in the
/// same order, which is faster.
fn sort(seen: &mut [(f64, f64)]) {
    if seen.iter().any(|&(_, count)| count != 1.0) {
        return seen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    }
    let turned = |bits: i64| bits ^ (((bits >> 63).cast_unsigned() >> 1).cast_signed());
    let mut keys: Vec<i64> = seen.iter().map(|(x, _)| turned(x.to_bits().cast_signed())).collect();
    keys.sort_unstable();
    for (slot, key) in seen.iter_mut().zip(keys) {
        slot.0 = f64::from_bits(turned(key).cast_unsigned());
    }
}

/// A cache of normal quantiles at middle ranks, for columns with the same total count.
#[derive(Debug, Default)]
pub(crate) struct Quantiles {
    total: f64,
    known: Vec<f64>,
}

impl Quantiles {
    /// The normal quantile at `below / total`.
    fn at(&mut self, below: f64, total: f64) -> f64 {
        if total > 4096.0 {
            // The clamp keeps the outermost quantiles finite.
            return normal::quantile((below / total).clamp(f64::EPSILON, 1.0 - f64::EPSILON));
        }
        if total != self.total {
            self.total = total;
            self.known.clear();
            self.known.resize(2 * total as usize + 1, f64::NAN);
        }
        // For integer counts the middle of a run of ties is a multiple of 1/2. By symmetry, the
        // mirrored quantile has the opposite sign.
        let at = (2.0 * below) as usize;
        if self.known[at].is_nan() {
            let quantile = normal::quantile(below / total);
            let mirrored = self.known.len() - 1 - at;
            self.known[at] = quantile;
            self.known[mirrored] = -quantile;
        }
        self.known[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(values: impl Iterator<Item = f64>) -> NormalScore {
        NormalScore::fit(&mut values.map(|x| (x, 1.0)).collect::<Vec<_>>(), &mut Quantiles::default())
    }

    #[test]
    fn normal_numbers_keep_their_values_and_monotone_changes_do_not_matter() {
        let grid = || (1..2000).map(|i| normal::quantile(f64::from(i) / 2000.0));
        let (plain, curved) = (fitted(grid()), fitted(grid().map(f64::exp)));
        for x in [-2.0, -1.0, -0.3, 0.0, 0.5, 1.7] {
            assert!((plain.at(x) - x).abs() < 0.02, "{x} {}", plain.at(x));
            assert!((curved.at(x.exp()) - x).abs() < 0.03, "{x} {}", curved.at(x.exp()));
        }
        assert!(plain.knots().0.len() <= 80);
        assert!(plain.at(1e9).is_finite() && plain.at(-1e9).is_finite());
    }

    #[test]
    fn ties_share_the_middle_of_their_ranks() {
        // Seven of ten are zero: all of them have (rank - 1/2) / n = 0.35.
        let curve = fitted([0.0; 7].into_iter().chain([1.0, 2.0, 3.0]));
        assert_eq!(curve.knots().0, [0.0, 1.0, 2.0, 3.0]);
        let raw = [0.35, 0.75, 0.85, 0.95].map(normal::quantile);
        let spread = (curve.at(3.0) - curve.at(0.0)) / (raw[3] - raw[0]);
        assert!(((curve.at(1.0) - curve.at(0.0)) - spread * (raw[1] - raw[0])).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_constants_are_zero() {
        assert_eq!(NormalScore::fit(&mut [], &mut Quantiles::default()).at(3.0), 0.0);
        assert_eq!(fitted([5.0; 9].into_iter()).at(5.0), 0.0);
    }
}
