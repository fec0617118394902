//! Each reviewer beside all the others, by the labels alone.
//!
//! Habits lean on a prior: reviewers are alike until verdicts say otherwise, which makes good
//! corrections. And what the fit expects has already taken in a part of what a reviewer adds. An
//! interval around them would be drawn towards nothing with them. So intervals of severity are
//! those of plain least squares: of how far verdicts are off, on the scores and on whether that
//! reviewer gave them. What the fit has taken in along the scores comes back that way, and the
//! chance is that of both, the reviewer's verdicts and the others'.

use super::super::chance::{Chance, ENDLESS, Told};
use super::super::landscape::Landscape;
use super::super::least_squares::{COPIES, inverse};
use super::super::regression::Rows;
use super::proof::Verdict;
use crate::estimate::SampledRow;
use crate::kernel::dot;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Labelled rows with who judged them; what they tell of each is worked out when it is first asked
/// for.
#[derive(Debug, Clone)]
pub(super) struct Beside {
    /// Standardised scores, then how far the verdict is from what was expected.
    rows: Rows,
    tags: Vec<Option<u64>>,
    known: OnceLock<BTreeMap<Option<u64>, Contrast>>,
}

/// How far a reviewer's verdicts lie above the others'.
#[derive(Debug, Clone, Copy)]
struct Contrast {
    above: f64,
    /// Where the noise is the same everywhere, and where it is each verdict's own.
    chances: [Chance; 2],
}

/// A reviewer with at most this many verdicts has no interval: it would be unbounded.
const FEW: f64 = 3.0;
/// Of so many reviewers, rows and scores, multiplied, nothing is reckoned: nobody waits for an
/// hour.
const LONGEST: usize = 1 << 32;
const UNKNOWN: Contrast = Contrast { above: 0.0, chances: [ENDLESS; 2] };

impl Beside {
    pub(super) fn of<'a>(
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>>,
        verdicts: &[Verdict],
    ) -> Self {
        let width = landscape.width();
        let mut table = Vec::with_capacity((verdicts.len() + 1) * (width + 1) + 2 * width);
        let mut tags = Vec::with_capacity(verdicts.len());
        for (row, (_, off, ..)) in labelled.zip(verdicts) {
            landscape.add_features(&row.values[..width], width, &mut table);
            table.push(*off);
            tags.push(row.tag);
        }
        let counts = verdicts.iter().map(|verdict| verdict.2).collect();
        Beside { rows: Rows::new(table, width + 1, counts), tags, known: OnceLock::new() }
    }

    /// The ends of what holds the severity of a reviewer at a level.
    pub(super) fn interval(&self, tag: Option<u64>, level: f64) -> (f64, f64) {
        let known = self.known.get_or_init(|| self.contrasts());
        let contrast = known.get(&tag).unwrap_or(&UNKNOWN);
        let reach = contrast.chances.iter().map(|chance| chance.reach(level)).fold(0.0, f64::max);
        (contrast.above - reach, contrast.above + reach)
    }

    fn contrasts(&self) -> BTreeMap<Option<u64>, Contrast> {
        let unknown = || self.tags.iter().map(|&tag| (tag, UNKNOWN)).collect();
        let moments = self.rows.joint();
        let width = moments.columns() - 1;
        let varies: Vec<usize> = (0..width).filter(|&j| moments.spread(j, j) > 0.0).collect();
        let labels = moments.weight();
        let freedom = labels - varies.len() as f64 - 2.0;
        let Some(inverse) = inverse(&moments, &varies).filter(|_| freedom >= 1.0) else { return unknown() };
        let with_off: Vec<f64> = varies.iter().map(|&j| moments.spread(j, width)).collect();
        let line: Vec<f64> = inverse.iter().map(|row| dot(row, &with_off)).collect();
        // Row by row: scores, how far off the line the verdict is, how much of it the line leaves,
        // and for how many it counts.
        let rows: Vec<(Vec<f64>, f64, f64, f64)> = self
            .rows
            .each()
            .map(|(row, count)| {
                let root = count.sqrt();
                let scores: Vec<f64> = varies.iter().map(|&j| row[j] / root).collect();
                let own: f64 =
                    scores.iter().zip(&inverse).map(|(x, inverse)| x * dot(inverse, &scores)).sum();
                let off = row[width] / root - dot(&scores, &line);
                (scores, off, 1.0 - own - 1.0 / labels, count)
            })
            .collect();
        let mut given: BTreeMap<Option<u64>, (f64, Vec<f64>)> = BTreeMap::new();
        for (tag, (scores, _, _, count)) in self.tags.iter().zip(&rows) {
            let (verdicts, sums) = given.entry(*tag).or_insert_with(|| (0.0, vec![0.0; varies.len()]));
            *verdicts += count;
            sums.iter_mut().zip(scores).for_each(|(sum, x)| *sum += count * x);
        }
        let many = given.values().filter(|(verdicts, _)| *verdicts > FEW).count();
        let too_long = many.saturating_mul(rows.len()).saturating_mul(varies.len() + 1) > LONGEST;
        let contrast = |(tag, (verdicts, sums)): (Option<u64>, (f64, Vec<f64>))| {
            if too_long || verdicts <= FEW {
                return (tag, UNKNOWN);
            }
            let share = verdicts / labels;
            let by_scores: Vec<f64> = inverse.iter().map(|row| dot(row, &sums)).collect();
            // Whether the reviewer gave it, beyond what the scores of the item say of that.
            let beyond = self.tags.iter().zip(&rows).map(|(other, (scores, ..))| {
                f64::from(u8::from(*other == tag)) - share - dot(scores, &by_scores)
            });
            let beyond: Vec<f64> = beyond.collect();
            let each = || beyond.iter().zip(&rows);
            let all: f64 = each().map(|(beyond, row)| row.3 * beyond * beyond).sum();
            if verdicts * (1.0 - share) >= COPIES * all {
                return (tag, UNKNOWN);
            }
            let above = each().map(|(beyond, row)| row.3 * beyond * row.1).sum::<f64>() / all;
            let (mut told, mut squares) = (Told::default(), 0.0);
            for (beyond, (_, off, left, count)) in each() {
                let off = off - above * beyond;
                squares += count * off * off;
                told.add(beyond / all, off, left - beyond * beyond / all, *count);
            }
            if told.rests_on_few(labels) {
                return (tag, Contrast { above, ..UNKNOWN });
            }
            let even = Chance { variance: squares / freedom / all, freedom };
            (tag, Contrast { above, chances: [even, told.uneven(1.0, freedom)] })
        };
        given.into_iter().map(contrast).collect()
    }
}
