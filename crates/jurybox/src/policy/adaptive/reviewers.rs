//! Who judged: some are severe, some are careless, and a verdict should count for what it tells.
//!
//! Different reviewers see different items, so it is how far a verdict is from what the fit expects of its item that is compared.
//! For the verdicts y of reviewer r on items of which f is expected, c being the mean of all f,
//!
//! ```text
//! y = f + a_r + (b_r - 1) (f - c) + noise of variance v_r u(f)
//! ```
//!
//! with u the spread of rewards by what is expected of them. a is severity. What a verdict tells of f is `b^2 / v`: one who
//! answers at random half of the time has b = 1/2, and one who always says yes, who is not noisy at all, has b = 0.
//!
//! Each of the three is taken to vary among reviewers by a normal law whose scale is averaged over by evidence, on a grid that
//! begins with 0: all alike, half of the prior. Unless one of them varies with a probability of 0.8, nothing changes. Otherwise the
//! labels are fitted anew as what the middle reviewer would have said, `c + (y - a - c) / b`, each with weight `b^2 / v` beside the
//! middle reviewer's. That takes single rows: all of the fit then rests on the sample.

use super::corrected::Corrected;
use super::model::Model;
use crate::estimate::SampledRow;
use crate::normal;
use crate::reviewer::{Reviewer, Standing};
use crate::toolbox::Interval;
use std::collections::BTreeMap;

/// The scales of a, in units of the noise; of b; and of ln v.
const SEVERITIES: [f64; 6] = [0.0, 0.1, 0.2, 0.4, 0.8, 1.6];
const SLOPES: [f64; 5] = [0.0, 0.15, 0.3, 0.6, 1.2];
const NOISES: [f64; 5] = [0.0, 0.3, 0.6, 1.2, 2.4];
/// The prior probability that reviewers are all alike in one of the three.
const ALIKE: f64 = 0.5;
/// Nothing is corrected unless they differ in one of the three with this probability: what hardly matters is not worth another fit.
const SURE: f64 = 0.8;
/// A variance is measured as if so many verdicts had been of the common one: a handful that agree are no proof of care.
const PRIOR_VERDICTS: f64 = 2.0;
/// Fewer verdicts than this leave no room for noise around a line of their own.
const LEAST: f64 = 4.0;
/// A verdict counts for at most so many of the middle reviewer's, and is stretched at most so many times.
const MOST_WEIGHT: f64 = 2.0;
const LEAST_SLOPE: f64 = 0.25;
/// Weights are whole multiples of this: sums of them do not depend on the order.
pub(super) const GRAIN: f64 = 1.0 / 1024.0;
/// No verdict is expected to be nearer than this to its expectation, as a multiple of the mean variance.
const LEAST_SPREAD: f64 = 0.05;

/// What the verdicts of each reviewer say beside the others'.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reviewers {
    each: BTreeMap<Option<u64>, Habits>,
    /// The mean of what was expected.
    centre: f64,
    /// Whether they surely differ.
    pub(super) differ: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Habits {
    verdicts: f64,
    severity: Estimate,
    slope: Estimate,
    /// ln of the variance beside the middle reviewer's.
    noise: Estimate,
}

#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    mean: f64,
    variance: f64,
}

/// Sums over a reviewer's verdicts: x is what was expected less the centre, y how far off the verdict was.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    verdicts: f64,
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn add(&mut self, x: f64, y: f64, count: f64, weight: f64) {
        self.verdicts += count;
        self.weight += weight;
        self.x += weight * x;
        self.y += weight * y;
        self.xx += weight * x * x;
        self.xy += weight * x * y;
        self.yy += weight * y * y;
    }

    /// Spread of x, its product with y, and spread of y, around their means.
    fn around_means(&self) -> (f64, f64, f64) {
        let within = |product: f64, a: f64, b: f64| product - a * b / self.weight;
        (
            within(self.xx, self.x, self.x).max(0.0),
            within(self.xy, self.x, self.y),
            within(self.yy, self.y, self.y).max(0.0),
        )
    }

    /// The slope of y on x, where x varies.
    fn slope(&self) -> Option<f64> {
        let (xx, xy, _) = self.around_means();
        (xx > 1e-12 * self.xx.max(f64::MIN_POSITIVE)).then(|| xy / xx)
    }

    /// The squares that its own line leaves, and by how many verdicts more than it takes.
    fn left(&self) -> (f64, f64) {
        let (_, xy, yy) = self.around_means();
        let squares = (yy - self.slope().unwrap_or(0.0) * xy).max(0.0);
        (squares, self.verdicts - 2.0)
    }
}

impl Reviewers {
    /// From a fit, and labelled rows (scores, then the reward) with their reviewers as tags; nothing unless there are two to compare.
    pub(super) fn of<'a>(model: &Model, labelled: impl Iterator<Item = SampledRow<'a>> + Clone) -> Self {
        let mut groups: BTreeMap<Option<u64>, Sums> = BTreeMap::new();
        labelled.clone().for_each(|row| _ = groups.entry(row.tag).or_default());
        let mut rewards = labelled.clone().filter_map(|row| row.values.last().copied());
        let first = rewards.next();
        if groups.len() < 2 || rewards.all(|reward| Some(reward) == first) {
            return Reviewers::default(); // what is left of verdicts that are all alike is the prior's
        }
        let mut expected = model.expected(labelled.clone());
        for (expected, row) in expected.iter_mut().zip(labelled.clone()) {
            *expected += model.groups.shift(model, &row.values[..model.landscape.width()]);
        }
        let counts: f64 = labelled.clone().map(|row| row.weight).sum();
        let centre = expected.iter().zip(labelled.clone()).map(|(f, row)| f * row.weight / counts).sum();
        let width = model.landscape.width();
        let (mut squares, mut fourths) = (0.0, 0.0);
        for (&f, row) in expected.iter().zip(labelled) {
            let (y, spread) = (row.values[width] - f, model.spread().at(f).max(LEAST_SPREAD));
            let square = y * y / spread;
            squares += row.weight * square / counts;
            fourths += row.weight * square * square / counts;
            groups.entry(row.tag).or_default().add(f - centre, y, row.weight, row.weight / spread);
        }
        if squares <= 0.0 || !fourths.is_finite() {
            return Reviewers::default(); // every verdict is as expected
        }
        // The square of a number varies by this times its mean squared: 2 for normal ones.
        let wide = (fourths / (squares * squares) - 1.0).clamp(1.0, 10.0);
        Self::compared(&groups, centre, wide)
    }

    fn compared(groups: &BTreeMap<Option<u64>, Sums>, centre: f64, wide: f64) -> Self {
        let enough = groups.values().filter(|sums| sums.verdicts >= LEAST).map(Sums::left);
        let (squares, freedom) = enough.fold((0.0, 0.0), |sum, left| (sum.0 + left.0, sum.1 + left.1));
        let common = squares / freedom;
        if freedom < 1.0 || common <= 0.0 {
            return Reviewers { centre, ..Reviewers::default() };
        }
        let verdicts: Vec<f64> = groups.values().map(|sums| sums.verdicts).collect();
        let noises = groups.values().map(|sums| {
            let (squares, freedom) = if sums.verdicts >= LEAST { sums.left() } else { (0.0, 0.0) };
            let known = freedom + PRIOR_VERDICTS;
            (((squares / common + PRIOR_VERDICTS) / known).ln(), wide / known)
        });
        let (mut noises, noises_differ) = pooled(&noises.collect::<Vec<_>>(), &NOISES);
        let middle = median(noises.iter().map(|noise| noise.mean).zip(verdicts.iter().copied()));
        noises.iter_mut().for_each(|noise| noise.mean -= middle);
        let common = common * middle.exp();
        let variance = |noise: &Estimate| common * noise.mean.exp();

        let slopes = groups.values().zip(&noises).map(|(sums, noise)| match sums.slope() {
            Some(slope) => (1.0 + slope, variance(noise) / sums.around_means().0),
            None => (1.0, 1e6),
        });
        let (mut slopes, mut slopes_differ) = pooled(&slopes.collect::<Vec<_>>(), &SLOPES);
        let middle = median(slopes.iter().map(|slope| slope.mean).zip(verdicts.iter().copied()));
        // An expectation that is drawn towards the mean is outdone by everyone: only who does so less counts. Where most do not follow
        // it, it is the expectation that is wrong, and tells nobody apart.
        let unit = if middle > LEAST_SLOPE { middle } else { 1.0 };
        slopes_differ &= middle > LEAST_SLOPE;
        slopes.iter_mut().for_each(|slope| {
            let mean = if middle > LEAST_SLOPE { slope.mean / unit } else { 1.0 };
            (slope.mean, slope.variance) = (mean, slope.variance / (unit * unit));
        });

        let severities = groups.values().zip(&noises).zip(&slopes).map(|((sums, noise), slope)| {
            let above = (sums.y - (unit * slope.mean - 1.0) * sums.x) / sums.weight;
            (above / common.sqrt(), variance(noise) / sums.weight / common)
        });
        let (mut severities, severities_differ) = pooled(&severities.collect::<Vec<_>>(), &SEVERITIES);
        let told =
            noises.iter().zip(&slopes).zip(&verdicts).map(|((noise, slope), n)| n * telling(noise, slope));
        let told: Vec<f64> = told.collect();
        let all: f64 = told.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let anchor: f64 =
            severities.iter().zip(&told).map(|(severity, told)| severity.mean * told / all).sum();
        severities.iter_mut().for_each(|severity| {
            severity.mean = (severity.mean - anchor) * common.sqrt();
            severity.variance *= common;
        });
        let habits = noises.into_iter().zip(slopes).zip(severities).zip(verdicts);
        let habits =
            habits.map(|(((noise, slope), severity), verdicts)| Habits { verdicts, severity, slope, noise });
        Reviewers {
            each: groups.keys().copied().zip(habits).collect(),
            centre,
            differ: noises_differ || slopes_differ || severities_differ,
        }
    }

    /// The labelled rows as the middle reviewer would have judged them, each with its weight.
    pub(super) fn corrected<'a>(&self, labelled: impl Iterator<Item = SampledRow<'a>>) -> Corrected {
        let mut corrected = Corrected::default();
        for row in labelled {
            let Some((reward, scores)) = row.values.split_last() else { continue };
            let (reward, weight) = self.each.get(&row.tag).map_or((*reward, 1.0), |habits| {
                let off = reward - habits.severity.mean - self.centre;
                (self.centre + off / habits.slope.mean.max(LEAST_SLOPE), habits.weight())
            });
            // What tells nothing is not a row that is near anything, either.
            if weight > 0.0 {
                corrected.push(&row, scores, reward, row.weight * weight);
            }
        }
        corrected
    }

    /// Everyone, where there are two or more, with intervals of that probability.
    pub(super) fn standings(&self, level: f64) -> Vec<Standing> {
        let reach = normal::quantile(0.5 + 0.5 * level);
        let standing = |(&tag, habits): (&Option<u64>, &Habits)| {
            let (others, of_others) = self.severity_of_others(tag);
            let variance = habits.severity.variance + of_others;
            Standing {
                reviewer: tag.and_then(Reviewer::from_code),
                labels: habits.verdicts as u64,
                severity: Interval::around(habits.severity.mean - others, reach * variance.sqrt()),
                noise: habits.noise_beside_the_middle(reach),
                weight: if self.differ { habits.weight() } else { 1.0 },
            }
        };
        self.each.iter().map(standing).collect()
    }
}

impl Reviewers {
    /// The mean severity of all but one, each as far as its verdicts tell anything; and its variance.
    fn severity_of_others(&self, one: Option<u64>) -> (f64, f64) {
        let others = || self.each.iter().filter(|(tag, _)| **tag != one).map(|(_, habits)| habits);
        let told = |habits: &Habits| habits.verdicts * telling(&habits.noise, &habits.slope);
        let all = others().map(told).sum::<f64>().max(f64::MIN_POSITIVE);
        others().fold((0.0, 0.0), |(mean, variance), habits| {
            let share = told(habits) / all;
            (mean + share * habits.severity.mean, variance + share * share * habits.severity.variance)
        })
    }
}

impl Habits {
    fn weight(&self) -> f64 {
        (telling(&self.noise, &self.slope).min(MOST_WEIGHT) / GRAIN).round() * GRAIN
    }

    /// Standard deviation over slope: the noise of what the verdict tells.
    fn noise_beside_the_middle(&self, reach: f64) -> Interval {
        let (noise, slope) = (self.noise, self.slope);
        let at =
            |noise: f64, slope: f64| if slope > 0.0 { (0.5 * noise).exp() / slope } else { f64::INFINITY };
        let (off_noise, off_slope) =
            (0.5 * noise.variance.sqrt(), slope.variance.sqrt() / slope.mean.max(GRAIN));
        // Shares of one reach, as far as each of the two is not known.
        let both = off_noise.hypot(off_slope).max(f64::MIN_POSITIVE);
        let (by_noise, by_slope) =
            (reach * 2.0 * off_noise * off_noise / both, reach * slope.variance.sqrt() * off_slope / both);
        Interval {
            mean: at(noise.mean, slope.mean),
            low: at(noise.mean - by_noise, slope.mean + by_slope),
            high: at(noise.mean + by_noise, slope.mean - by_slope),
        }
    }
}

/// What a verdict tells, beside one of the middle reviewer.
fn telling(noise: &Estimate, slope: &Estimate) -> f64 {
    slope.mean.max(0.0).powi(2) * (-noise.mean).exp()
}

/// Measurements, each with its variance, drawn to their common mean as far as they seem to be alike; and whether they surely differ.
fn pooled(measured: &[(f64, f64)], scales: &[f64]) -> (Vec<Estimate>, bool) {
    let others = scales.len() as f64 - 1.0;
    let mut fits = Vec::with_capacity(scales.len());
    for &scale in scales {
        let between = scale * scale;
        let precision: f64 = measured.iter().map(|(_, own)| 1.0 / (between + own)).sum();
        let mean = measured.iter().map(|(value, own)| value / (between + own)).sum::<f64>() / precision;
        let off = measured.iter().map(|(value, own)| {
            let variance = between + own;
            variance.ln() + (value - mean).powi(2) / variance
        });
        let prior = if scale == 0.0 { ALIKE } else { (1.0 - ALIKE) / others };
        let evidence = prior.ln() - 0.5 * (off.sum::<f64>() + precision.ln());
        fits.push((evidence, between, mean, 1.0 / precision));
    }
    let most = fits.iter().map(|fit| fit.0).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = fits.iter().map(|fit| (fit.0 - most).exp()).sum();
    let share = |evidence: f64| (evidence - most).exp() / total;
    let one = |&(value, own): &(f64, f64)| {
        let mut estimate = Estimate::default();
        let mut square = 0.0;
        for &(evidence, between, mean, of_mean) in &fits {
            let (share, trust) = (share(evidence), between / (between + own));
            let at = mean + trust * (value - mean);
            estimate.mean += share * at;
            square += share * (trust * own + (1.0 - trust).powi(2) * of_mean + at * at);
        }
        estimate.variance = (square - estimate.mean * estimate.mean).max(0.0);
        estimate
    };
    (measured.iter().map(one).collect(), share(fits[0].0) < 1.0 - SURE)
}

/// The value that half of the weight is at or below.
fn median(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * values.iter().map(|value| value.1).sum::<f64>();
    let mut sum = 0.0;
    let middle = values.iter().find(|value| {
        sum += value.1;
        sum >= half
    });
    middle.or(values.last()).map_or(0.0, |value| value.0)
}
