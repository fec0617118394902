//! What the scores say by themselves: scales, correlations, a common factor, and directions to
//! start from.
//!
//! Nothing here needs a label. Scores become features with mean 0 and variance 1, twice over:
//! standardised, and as normal scores. A missing score is replaced by its expectation given the
//! present ones under the one-factor model, and its bends by theirs, so that a prediction stays the
//! posterior mean given what is there. That it is missing is a feature too.

use crate::estimate::normal_score::{NormalScore, Quantiles};
use crate::estimate::{Moments, SampledRow, one_factor};
use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};
use crate::normal;
use crate::toolbox::hash_number;

/// Least share of an evaluator's variance that is called its own: a factor never explains a score
/// entirely.
const LEAST_NOISE: f64 = 0.002;

/// Loadings below this are none.
const LEAST_LOADING: f64 = 1e-8;

/// No score of a law with a mean is so many standard deviations away.
const FAR: f64 = 1e9;

/// Evaluators are copies of one another from the second of these correlations on, and not at all up
/// to the first.
const UNLIKE: f64 = 0.95;
const ALIKE: f64 = 0.99;

/// Whether a score is missing is a feature where so many of those seen are, and so many are not.
const LEAST_BLANKS: f64 = 5.0;

/// An evaluator whose scores are missing now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Blank {
    pub(crate) evaluator: usize,
    /// The feature of a missing score, whose deviation over the items is one; that of one that is
    /// there is 0.
    pub(crate) size: f64,
}

#[derive(Debug, Clone)]
pub(crate) struct Landscape {
    pub(crate) centre: Vec<f64>,
    /// One over the standard deviation, 0 for an evaluator that never varies.
    pub(crate) scale: Vec<f64>,
    /// Correlations, shrunk towards none as far as chance could have made them.
    pub(crate) correlation: Symmetric,
    /// Loadings on the common factor, and the variance it leaves, in standardised units.
    pub(crate) loading: Vec<f64>,
    pub(crate) noise: Vec<f64>,
    pub(crate) curves: Vec<NormalScore>,
    /// Features per evaluator: 1 standardised score, 2 with the normal score, 4 with its bends.
    pub(crate) blocks: usize,
    /// Those whose scores are missing now and then, each with one more feature, behind the blocks.
    pub(crate) blanks: Vec<Blank>,
    /// Whether the labels have shown that it matters which scores are missing.
    pub(crate) blanks_tell: bool,
    /// Where all scores are shares of one, the natural neutral point of each evaluator: one half,
    /// or minus one half for one that was turned round.
    neutral: Option<Vec<f64>>,
}

impl Landscape {
    pub(crate) fn new<'a>(
        moments: &Moments,
        rows: &(impl Iterator<Item = SampledRow<'a>> + Clone),
        blocks: usize,
    ) -> Self {
        let width = moments.evaluators();
        let centre: Vec<f64> = (0..width).map(|j| moments.mean(j)).collect();
        let scale: Vec<f64> = (0..width).map(|j| scale(moments, j)).collect();
        let correlation = shrunk_correlation(moments, &scale);
        let (mut loading, noise) = one_factor(&correlation, LEAST_NOISE);
        // What is left of no loading by rounding would give whoever is missing a spread, too small
        // to divide by.
        loading.iter_mut().filter(|loading| loading.abs() < LEAST_LOADING).for_each(|loading| *loading = 0.0);
        let mut quantiles = Quantiles::default();
        let mut neutral = Some(Vec::with_capacity(width));
        let (mut curves, mut blanks) = (Vec::with_capacity(width), Vec::new());
        let shown: f64 = rows.clone().map(|row| row.count as f64).sum();
        // As many columns at a time as a cache line of a row has.
        let mut columns: [Vec<(f64, f64)>; 8] = Default::default();
        for first in (0..width).step_by(columns.len()) {
            columns.iter_mut().for_each(Vec::clear);
            for row in rows.clone() {
                let present = row.values[first..width].iter().zip(&mut columns).filter(|(x, _)| !x.is_nan());
                present.for_each(|(&x, column)| column.push((x, row.count as f64)));
            }
            for (evaluator, seen) in (first..width).zip(&mut columns) {
                let present: f64 = seen.iter().map(|(_, count)| count).sum();
                if (LEAST_BLANKS..=shown - LEAST_BLANKS).contains(&present) {
                    let share = present / shown;
                    blanks.push(Blank { evaluator, size: 1.0 / (share * (1.0 - share)).sqrt() });
                }
                match (&mut neutral, neutral_share(seen)) {
                    (Some(points), Some(point)) => points.push(point),
                    _ => neutral = None,
                }
                curves.push(NormalScore::fit(seen, &mut quantiles));
            }
        }
        Landscape {
            centre,
            scale,
            correlation,
            loading,
            noise,
            curves,
            blocks,
            blanks,
            blanks_tell: false,
            neutral,
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.centre.len()
    }

    /// How many features an item has that are functions of its scores: blocks of one for each
    /// evaluator.
    pub(crate) fn in_blocks(&self) -> usize {
        self.blocks * self.width()
    }

    /// How many features an item has.
    pub(crate) fn features_len(&self) -> usize {
        self.in_blocks() + self.blanks.len()
    }

    /// Standardised scores, then normal scores, then their bends, as many as there are, then what
    /// is missing, into `out`.
    pub(crate) fn features(&self, row: &[f64], out: &mut Vec<f64>) {
        out.clear();
        self.add_features(row, self.features_len(), out);
    }

    /// The first so many features, whole blocks of them or all, behind what is in `all`.
    pub(crate) fn add_features(&self, row: &[f64], count: usize, all: &mut Vec<f64>) {
        let (width, start) = (self.width(), all.len());
        all.resize(start + 2 * width, 0.0);
        let (plain, ranked) = all[start..].split_at_mut(width);
        let known = self.place(row, plain, ranked);
        for block in 2..count.min(self.in_blocks()) / width.max(1) {
            for j in 0..width {
                let score = all[start + width + j];
                all.push(match known {
                    Some(known) if row[j].is_nan() => self.expected_bend(j, score, known, block - 1),
                    _ => bend(score, block - 1),
                });
            }
        }
        all.truncate(start + count.min(self.in_blocks()));
        if count > self.in_blocks() {
            let feature = |blank: &Blank| if row[blank.evaluator].is_nan() { blank.size } else { 0.0 };
            all.extend(self.blanks.iter().map(feature));
        }
    }

    /// The standardised scores of a row, and its normal scores; 0 for evaluators that never vary.
    /// Where scores are missing, the precision with which the present ones and its prior know the
    /// common factor.
    pub(crate) fn place(&self, row: &[f64], plain: &mut [f64], ranked: &mut [f64]) -> Option<f64> {
        let mut complete = true;
        for (j, &x) in row.iter().enumerate() {
            (plain[j], ranked[j]) = (0.0, 0.0);
            if x.is_nan() {
                complete = false;
            } else if self.scale[j] != 0.0 {
                plain[j] = (x - self.centre[j]) * self.scale[j];
                ranked[j] = self.curves[j].at(x);
            }
        }
        if complete {
            return None;
        }
        let (mut precision, mut plain_factor, mut ranked_factor) = (1.0, 0.0, 0.0);
        for (j, x) in row.iter().enumerate() {
            if !x.is_nan() && self.scale[j] != 0.0 {
                let share = self.loading[j] / self.noise[j];
                precision += share * self.loading[j];
                plain_factor += share * plain[j];
                ranked_factor += share * ranked[j];
            }
        }
        for (j, _) in row.iter().enumerate().filter(|(_, x)| x.is_nan()) {
            plain[j] = self.loading[j] * plain_factor / precision;
            ranked[j] = self.loading[j] * ranked_factor / precision;
        }
        Some(precision)
    }

    /// The same of many rows: into rows of so many numbers, those of an evaluator at the place of
    /// its column and so many further on. Complete rows go evaluator by evaluator, which takes
    /// less.
    pub(crate) fn place_all(
        &self,
        rows: &[f64],
        plain: &mut [f64],
        ranked: &mut [f64],
        [order, first]: [usize; 2],
    ) {
        let width = self.width();
        if rows.iter().any(|x| x.is_nan()) {
            let places = plain.chunks_exact_mut(order).zip(ranked.chunks_exact_mut(order));
            for (row, (plain, ranked)) in rows.chunks_exact(width).zip(places) {
                self.place(row, &mut plain[first..], &mut ranked[first..]);
            }
            return;
        }
        for j in (0..width).filter(|&j| self.scale[j] != 0.0) {
            let (centre, scale) = (self.centre[j], self.scale[j]);
            let mut at = first + j;
            self.curves[j].each(rows, width, j, |x, score| {
                (plain[at], ranked[at]) = ((x - centre) * scale, score);
                at += order;
            });
        }
    }

    /// What a missing normal score exceeds a bend by on average, given what is expected of it and
    /// what is known of the common factor.
    pub(crate) fn expected_bend(&self, j: usize, expected: f64, known: f64, which: usize) -> f64 {
        if self.scale[j] == 0.0 { 0.0 } else { expected_bend(expected, self.deviation(j, known), which) }
    }

    /// How far a missing score may be from what is expected of it, in standard units, given what is
    /// known of the common factor.
    pub(crate) fn deviation(&self, j: usize, known: f64) -> f64 {
        (self.noise[j] + self.loading[j] * self.loading[j] / known).sqrt()
    }

    /// Directions in standardised units, each of unit variance over the items: guesses at the best
    /// weights that need no label, each right in a world of its own.
    pub(crate) fn directions(&self) -> Vec<Vec<f64>> {
        let width = self.width();
        let each = |f: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..width).map(|j| if self.scale[j] == 0.0 { 0.0 } else { f(j) }).collect()
        };
        // What the reward's covariance with each standardised score would be, up to a factor, if
        // ...
        let equal = each(&|j| self.curves[j].distinct()); // ... all were equally good, as far as they tell items apart;
        let units = each(&|j| self.scale[j]); // ... all had the same gain in their own units;
        let means = each(&|j| self.centre[j] * self.scale[j]); // ... gains showed in the means (Alg. 2 of the paper);
        let common = each(&|j| self.loading[j]); // ... what they share were the reward.
        // Given that, the weights: if errors are independent, by each one's own noise; if not, by
        // the correlations.
        let own = |covariance: &[f64]| -> Vec<f64> {
            covariance.iter().zip(&self.noise).map(|(c, noise)| c / noise).collect()
        };
        let mut factor = Cholesky::default();
        let invertible = factor.factor(&self.correlation, 1e-3);
        let correlated = |covariance: &[f64]| -> Vec<f64> {
            let mut weights = covariance.to_vec();
            if invertible {
                factor.solve(&mut weights);
            }
            weights
        };
        let mut directions = vec![
            equal.clone(),
            own(&units),
            own(&means),
            own(&common),
            correlated(&equal),
            correlated(&means),
        ];
        if let Some(neutral) = &self.neutral {
            // ... gains showed in the distance of the means from the neutral point.
            let halves = each(&|j| (self.centre[j] - neutral[j]) * self.scale[j]);
            directions.push(own(&halves));
            directions.push(correlated(&halves));
        }
        directions.into_iter().map(|direction| self.unit(direction)).collect()
    }

    /// The plain mean, in which copies share a vote, at unit variance.
    pub(crate) fn equal(&self) -> Vec<f64> {
        self.unit(self.votes())
    }

    /// One vote for each evaluator that varies; those that say nearly the same share theirs. At
    /// unit variance, who hits one item in a hundred and says the same of all others would outvote
    /// everybody there: it counts as far as it tells items apart.
    fn votes(&self) -> Vec<f64> {
        let width = self.width();
        let alike = |j: usize, k: usize| {
            if k == j {
                1.0
            } else {
                ((self.correlation.get(j, k) - UNLIKE) / (ALIKE - UNLIKE)).clamp(0.0, 1.0)
            }
        };
        let vote = |j: usize| 1.0 / (0..width).map(|k| alike(j, k)).sum::<f64>();
        (0..width)
            .map(|j| if self.scale[j] == 0.0 { 0.0 } else { vote(j) * self.curves[j].distinct() })
            .collect()
    }

    /// Whether a score is so far from those seen that sums over labels could hold nothing else.
    pub(crate) fn is_far(&self, row: &[f64]) -> bool {
        let scores = row.iter().zip(self.centre.iter().zip(&self.scale));
        scores.into_iter().any(|(x, (centre, scale))| ((x - centre) * scale).abs() > FAR)
    }

    /// A hash of the scores that vary. Groups, whose columns do not vary here, go by other numbers
    /// under other names.
    pub(super) fn key(&self, row: &[f64]) -> u64 {
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
        let varying = row.iter().zip(&self.scale).filter(|(_, scale)| **scale != 0.0);
        varying.fold(0, |key, (&x, _)| hash_number(key, bits(x)))
    }

    /// A direction scaled to unit variance over the items; all zero if it has none.
    pub(crate) fn unit(&self, mut direction: Vec<f64>) -> Vec<f64> {
        let variance = dot(&direction, &self.correlation.times(&direction));
        let unit = if variance > 1e-24 { 1.0 / variance.sqrt() } else { 0.0 };
        direction.iter_mut().for_each(|d| *d *= unit);
        direction
    }
}

/// One over the standard deviation of an evaluator's scores; 0 for one that never varies.
pub(super) fn scale(moments: &Moments, j: usize) -> f64 {
    // Rounding alone leaves a spread of this size on a constant column.
    let deviation = moments.covariance(j, j).unwrap_or(0.0).max(0.0).sqrt();
    if deviation > 1e-12 * moments.mean(j).abs() && deviation > 0.0 { 1.0 / deviation } else { 0.0 }
}

/// The middle of the shares that an evaluator's scores are: of [0, 1], or of [-1, 0] where it was
/// turned round at the border.
fn neutral_share(seen: &[(f64, f64)]) -> Option<f64> {
    let within = |low: f64| seen.iter().all(|(x, _)| (low..=low + 1.0).contains(x)).then_some(low + 0.5);
    within(0.0).or_else(|| within(-1.0))
}

/// Where the bends of a normal score are: at the median, and at the best eighth.
pub(super) const BENDS: [f64; 2] = [0.0, 1.15];

/// The normal score itself (0), or what it exceeds a bend by (1, 2).
pub(crate) fn bend(score: f64, which: usize) -> f64 {
    if which == 0 { score } else { (score - BENDS[which - 1]).max(0.0) }
}

/// The expectation of [`bend`] over a normal law with that mean and standard deviation, which is
/// positive; for a bend, not the score itself.
pub(crate) fn expected_bend(mean: f64, deviation: f64, which: usize) -> f64 {
    let over = mean - BENDS[which - 1];
    let units = over / deviation;
    over * normal::cdf(units) + deviation * normal::pdf(units)
}

/// The mean slope of a block of features in normal score: the share of items beyond the bend.
pub(crate) fn mean_slope(block: usize) -> f64 {
    if block < 2 { 1.0 } else { normal::cdf(-BENDS[block - 2]) }
}

/// Correlations times `1 - lambda`, lambda the share of their squares that chance explains (Schäfer
/// and Strimmer 2005).
fn shrunk_correlation(moments: &Moments, scale: &[f64]) -> Symmetric {
    let width = scale.len();
    let mut correlation = Symmetric::zeros(width);
    let (mut chance, mut squares) = (0.0, 0.0);
    for i in 0..width {
        correlation.set(i, i, 1.0);
        for j in 0..i {
            let covariance = moments.covariance(i, j).unwrap_or(0.0);
            let c = (covariance * scale[i] * scale[j]).clamp(-0.9999, 0.9999);
            correlation.set(i, j, c);
            if moments.count(i, j) >= 2.0 {
                chance += (1.0 - c * c).powi(2) / moments.count(i, j);
                squares += c * c;
            }
        }
    }
    let keep = if squares > 0.0 { (1.0 - chance / squares).max(0.0) } else { 0.0 };
    for i in 0..width {
        for j in 0..i {
            correlation.set(i, j, correlation.get(i, j) * keep);
        }
    }
    correlation
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of rows of three scores, each seen once.
    fn seen(table: &[f64], blocks: usize) -> Landscape {
        let mut moments = Moments::new(3);
        moments.observe(&crate::Scores::new(table, 3).unwrap());
        let row = |values| SampledRow { values, count: 1, clock: 0, tag: None, weight: 1.0 };
        Landscape::new(&moments, &table.chunks_exact(3).map(row), blocks)
    }

    #[test]
    fn a_missing_score_is_its_expectation_given_the_others() {
        let loading = vec![0.8, 0.6, 0.5];
        let landscape = Landscape {
            centre: vec![10.0, 0.0, 5.0],
            scale: vec![0.5, 1.0, 2.0],
            correlation: Symmetric::of_one_factor(&loading),
            noise: loading.iter().map(|l| 1.0 - l * l).collect(),
            loading,
            curves: vec![NormalScore::default(); 3],
            blocks: 1,
            blanks: Vec::new(),
            blanks_tell: false,
            neutral: None,
        };
        let mut features = Vec::new();
        landscape.features(&[12.0, -0.5, f64::NAN], &mut features);
        assert_eq!(features[..2], [1.0, -0.5]);
        // The regression of the third on the first two: covariances over their correlation matrix.
        let (c, a, b) = (0.48, 0.4, 0.3);
        let expected = ((a - b * c) * 1.0 + (b - a * c) * -0.5) / (1.0 - c * c);
        assert!((features[2] - expected).abs() < 1e-9, "{} {expected}", features[2]);
    }

    #[test]
    fn the_bends_of_a_missing_score_are_averaged_over_what_it_may_be() {
        for (mean, deviation) in [(0.0, 1.0), (-1.3, 0.4), (1.4, 0.7), (3.0, 0.1)] {
            for which in [1, 2] {
                // The middles of 10,000 equally likely parts of the law.
                let part = |i: i32| mean + deviation * normal::quantile((f64::from(i) + 0.5) / 1e4);
                let average = (0..10_000).map(|i| bend(part(i), which)).sum::<f64>() / 1e4;
                let expected = expected_bend(mean, deviation, which);
                assert!(
                    (expected - average).abs() < 1e-4,
                    "{mean} {deviation} {which}: {expected} {average}"
                );
            }
        }
    }

    #[test]
    fn whether_a_score_is_missing_is_a_feature_where_some_are_and_some_are_not() {
        let row = |i: u32| {
            let x = f64::from(i * 7 % 50);
            [x, if i.is_multiple_of(4) { f64::NAN } else { x + f64::from(i % 5) }, f64::NAN]
        };
        let table: Vec<f64> = (0..200).flat_map(row).collect();
        let landscape = seen(&table, 2);
        // A quarter is missing: one over the root of 1/4 times 3/4.
        let size = 1.0 / 0.1875_f64.sqrt();
        assert_eq!(landscape.blanks, [Blank { evaluator: 1, size }]);
        let mut features = Vec::new();
        landscape.features(&table[..3], &mut features);
        assert_eq!((features.len(), features[6]), (7, size));
        landscape.features(&table[3..6], &mut features);
        assert_eq!((features.len(), features[6]), (7, 0.0));
    }

    /// An evaluator that never scores has no share in the common factor, and none that rounding
    /// leaves it either: its features are 0 in every row, and not 1e-161.
    #[test]
    fn an_evaluator_that_never_scores_has_no_features() {
        let row = |i: u32| [f64::from(i * 7 % 50), f64::from(i * 7 % 50 + i % 5), f64::NAN];
        let table: Vec<f64> = (0..200).flat_map(row).collect();
        let landscape = seen(&table, 4);
        assert!(landscape.loading[0] > 0.5);
        let mut features = Vec::new();
        landscape.features(&table[..3], &mut features);
        assert!(features.iter().skip(2).step_by(3).take(2).all(|&feature| feature == 0.0), "{features:?}");
    }

    #[test]
    fn shares_keep_their_neutral_point_when_turned_round() {
        let table: Vec<f64> = (0..60).map(|i| f64::from(i * 7 % 60) / 60.0).collect();
        let turned: Vec<f64> =
            table.iter().enumerate().map(|(at, x)| if at % 3 == 1 { -x } else { *x }).collect();
        let neutral = |table: &[f64]| seen(table, 1).neutral;
        assert_eq!(neutral(&table), Some(vec![0.5, 0.5, 0.5]));
        assert_eq!(neutral(&turned), Some(vec![0.5, -0.5, 0.5]));
        assert_eq!(neutral(&table.iter().map(|x| x + 0.5).collect::<Vec<_>>()), None);
    }
}
