//! What verdicts say of those who gave them, one thing after the other: noise, slope, severity.

use super::habits::{Alone, Habits};
use super::pooled::{Estimate, median, pooled};
use super::sums::{Sums, wide};

/// The scales of a, in units of the noise; of b; and of ln v.
const SEVERITIES: [f64; 6] = [0.0, 0.1, 0.2, 0.4, 0.8, 1.6];
const SLOPES: [f64; 5] = [0.0, 0.15, 0.3, 0.6, 1.2];
const NOISES: [f64; 5] = [0.0, 0.3, 0.6, 1.2, 2.4];
/// A variance is measured as if so many verdicts had been of the common one, times what squares
/// vary by: a handful that agree are no proof of care, nor are the first thirty no where one in ten
/// should be yes.
const PRIOR_SPREADS: f64 = 2.0;
/// Fewer verdicts than this leave no room for noise around a line of their own.
const LEAST: f64 = 4.0;
/// The middle reviewer must follow what is expected at least so far.
pub(super) const LEAST_SLOPE: f64 = 0.25;
/// The variance of a median, beside that of a mean.
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// The three things that reviewers may differ in.
pub(super) const NOISE: usize = 0;
pub(super) const SLOPE: usize = 1;
pub(super) const SEVERITY: usize = 2;

#[derive(Debug, Clone, Default)]
pub(super) struct Compared {
    pub(super) habits: Vec<Habits>,
    /// The log odds that reviewers differ in each.
    pub(super) odds: [f64; 3],
}

impl Compared {
    /// By the sums over each reviewer's verdicts; nothing where they leave no noise to compare by.
    /// Slopes may be taken to be all alike.
    pub(super) fn of(groups: &[Sums], alike_in_slope: bool) -> Option<Self> {
        let (wide, over_all) = wide(groups)?;
        let enough = groups.iter().filter(|sums| sums.verdicts >= LEAST).map(Sums::left);
        let (squares, freedom) = enough.fold((0.0, 0.0), |sum, left| (sum.0 + left.0, sum.1 + left.1));
        let common = squares / freedom;
        if freedom < 1.0 || common <= 0.0 {
            return None;
        }
        let verdicts = || groups.iter().map(|sums| sums.verdicts);
        let prior = PRIOR_SPREADS * wide;
        let own = groups.iter().map(|sums| {
            let (squares, freedom) = if sums.verdicts >= LEAST { sums.left() } else { (0.0, 0.0) };
            (squares / common, freedom)
        });
        let own: Vec<(f64, f64)> = own.collect();
        let drawn: Vec<f64> = own.iter().map(|(off, own)| ((off + prior) / (own + prior)).ln()).collect();
        let measured = drawn.iter().zip(&own).map(|(noise, (_, own))| (*noise, wide / (own + prior)));
        let (mut noises, of_noise) = pooled(&measured.collect::<Vec<_>>(), &NOISES);
        let middle = median(noises.iter().map(|noise| noise.mean).zip(verdicts()));
        noises.iter_mut().for_each(|noise| noise.mean -= middle);
        // How far a verdict may be off is itself read off those near by, of which it is one:
        // squares are known no better than over all.
        let alone = alone(&own, &drawn, verdicts(), over_all);
        let common = common * middle.exp();
        let variance = |noise: &Estimate| common * noise.mean.exp();

        let slopes = groups.iter().zip(&noises).map(|(sums, noise)| match sums.slope() {
            Some(slope) => (1.0 + slope, variance(noise) / sums.around_means().0),
            None => (1.0, 1e6),
        });
        let (mut slopes, mut of_slope) = pooled(&slopes.collect::<Vec<_>>(), &SLOPES);
        let middle = median(slopes.iter().map(|slope| slope.mean).zip(verdicts()));
        // An expectation that is drawn towards the mean is outdone by everyone: only who does so
        // less counts. Where most do not follow it, it is the expectation that is wrong, and tells
        // nobody apart.
        let follow = middle > LEAST_SLOPE;
        let unit = if follow { middle } else { 1.0 };
        if !follow {
            of_slope = f64::NEG_INFINITY;
        }
        slopes.iter_mut().for_each(|slope| {
            *slope = if alike_in_slope {
                Estimate { mean: 1.0, variance: 0.0 }
            } else {
                let mean = if follow { slope.mean / unit } else { 1.0 };
                Estimate { mean, variance: slope.variance / (unit * unit) }
            };
        });

        let severities = groups.iter().zip(&noises).zip(&slopes).map(|((sums, noise), slope)| {
            let above = (sums.y - (unit * slope.mean - 1.0) * sums.x) / sums.weight;
            (above / common.sqrt(), variance(noise) / sums.weight / common)
        });
        let (severities, of_severity) = pooled(&severities.collect::<Vec<_>>(), &SEVERITIES);
        let each = noises.into_iter().zip(alone).zip(slopes).zip(severities).zip(groups);
        let each = each.map(|((((noise, noise_alone), slope), severity), sums)| Habits {
            verdicts: sums.verdicts,
            place: sums.x / sums.weight,
            severity,
            slope,
            noise,
            noise_alone,
        });
        let mut habits: Vec<Habits> = each.collect();
        let told = |habits: &Habits| habits.verdicts * habits.telling();
        let all: f64 = habits.iter().map(told).sum::<f64>().max(f64::MIN_POSITIVE);
        let anchor: f64 = habits.iter().map(|habits| habits.severity.mean * told(habits) / all).sum();
        for Habits { severity, .. } in &mut habits {
            severity.mean = (severity.mean - anchor) * common.sqrt();
            severity.variance *= common;
        }
        Some(Compared { habits, odds: [of_noise, of_slope, of_severity] })
    }
}

/// ln of each reviewer's variance beside the middle reviewer's, with its chance, by squares and how
/// many verdicts each is the sum of: between what these verdicts alone say and the same drawn
/// towards the others', since neither is right where few of the squares are most of them.
fn alone(own: &[(f64, f64)], drawn: &[f64], verdicts: impl Iterator<Item = f64>, wide: f64) -> Vec<Alone> {
    // What varies so much cannot be told from nothing by less than this.
    let noise = |&(squares, freedom): &(f64, f64)| (squares.max(wide) / freedom).ln();
    let known = own.iter().zip(drawn).zip(verdicts).filter(|(((_, own), _), _)| *own > 0.0);
    let known: Vec<(f64, f64, f64)> =
        known.map(|((own, drawn), verdicts)| (noise(own), *drawn, verdicts)).collect();
    let middle = median(known.iter().map(|known| (known.0, known.2)));
    let middle_drawn = median(known.iter().map(|known| (known.1, known.2)));
    let of_middle = OF_MEDIAN * wide / own.iter().map(|own| own.1).sum::<f64>();
    let one = |(own, drawn): (&(f64, f64), &f64)| {
        if own.1 <= 0.0 {
            return Alone { low: 0.0, high: 0.0, variance: f64::INFINITY };
        }
        let (alone, drawn) = (noise(own) - middle, drawn - middle_drawn);
        Alone { low: alone.min(drawn), high: alone.max(drawn), variance: wide / own.1 + of_middle }
    };
    own.iter().zip(drawn).map(one).collect()
}
