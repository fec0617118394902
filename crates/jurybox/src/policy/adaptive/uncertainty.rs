//! How sure the model is of each item's reward.

use super::model::Model;
use crate::matrix::{Cholesky, Symmetric};
use crate::normal;
use crate::toolbox::{GOLDEN, Interval, scatter, student_quantile};

/// So much of the noise is there whatever scores an item has.
const LEAST_NOISE: f64 = 0.25;

/// Second moments of what is not known.
#[derive(Debug, Clone)]
pub(crate) struct Uncertainty {
    /// Posterior covariance of the weights of all features, row by row.
    covariance: Vec<f64>,
    /// Variance of the reward around its expectation.
    noise: f64,
}

impl Uncertainty {
    pub(crate) fn of(model: &Model) -> Self {
        let n = model.lines().weights.len();
        let (mut covariance, mut noise) = (vec![0.0; n * n], 0.0);
        for part in &model.lines().parts {
            let own = part.regression.covariance();
            let m = part.keep.len();
            let mut off: Vec<f64> = model.lines().weights.iter().map(|w| -w).collect();
            for (a, i) in part.keep.clone().enumerate() {
                off[i] += part.regression.weights[a];
                for (b, j) in part.keep.clone().enumerate() {
                    covariance[i * n + j] += part.share * own[a * m + b];
                }
            }
            for i in 0..n {
                for j in 0..n {
                    covariance[i * n + j] += part.share * off[i] * off[j];
                }
            }
            noise += part.share * part.regression.noise;
        }
        Uncertainty { covariance, noise }
    }

    /// How many standard deviations an interval reaches: the noise is known no better than from so
    /// many rewards. One by itself says nothing of how far they lie apart, and nor do several that
    /// are all the same.
    pub(crate) fn reach(model: &Model, level: f64) -> f64 {
        if model.labels < 2.0 || model.alike {
            return f64::INFINITY;
        }
        student_quantile(0.5 + 0.5 * level, model.labels - 1.0)
    }

    /// Where the reward of an item will lie at a level, as many standard deviations to both sides
    /// as that reaches.
    pub(crate) fn predict(&self, model: &Model, row: &[f64], level: f64, reach: f64) -> Interval {
        let mut features = Vec::new();
        let mean = model.value(row, &mut features);
        let n = features.len();
        let off: Vec<f64> = features.iter().zip(&model.lines().centre).map(|(x, c)| x - c).collect();
        if reach == f64::INFINITY {
            let mean = model.levels.as_ref().map_or(mean, |levels| levels.mean(&model.landscape, row, mean));
            return Interval::around(mean, reach);
        }
        // What missing scores hide of an item on average is in the noise already.
        let spread = model.spread();
        let back = spread.back(mean);
        let unlike = if back == 0.0 { 0.0 } else { back * back / (back * back + self.noise) };
        let trees = model.trees.as_ref();
        let (left, of_trees) = trees.map_or((1.0, 0.0), |trees| trees.doubt(&model.landscape, row, unlike));
        let noise = left * self.noise * spread.at(mean);
        let hidden = model.unseen(row) - spread.unseen;
        let mut of_weights = self.noise / model.labels;
        for i in 0..n {
            for j in 0..n {
                of_weights += off[i] * self.covariance[i * n + j] * off[j];
            }
        }
        // Weights are the surer for what trees explain of the rewards that they are known by.
        let variance = (noise + hidden + of_trees).max(LEAST_NOISE * noise) + left * of_weights;
        let (mut low, high) = either_way(level, reach, variance.max(0.0).sqrt(), back.abs());
        low += spread.steeper(back) * back.abs();
        let (low, high) = if back < 0.0 { (mean - high, mean + low) } else { (mean - low, mean + high) };
        let (low, high) = spread.at_levels(low, high);
        let by_lines = Interval { mean, low: low.min(mean), high: high.max(mean) };
        match &model.levels {
            Some(levels) => levels.predict(&model.landscape, row, &by_lines, level, spread),
            None => by_lines,
        }
    }

    /// Weights drawn from the posterior, taken as normal: the same ones every time for the same
    /// model.
    pub(crate) fn draws(&self, model: &Model, count: usize) -> Vec<Vec<f64>> {
        let n = model.lines().weights.len();
        let mut matrix = Symmetric::zeros(n);
        let mut trace = 0.0;
        for i in 0..n {
            trace += self.covariance[i * n + i];
            for j in 0..=i {
                matrix.set(i, j, self.covariance[i * n + j]);
            }
        }
        let mut factor = Cholesky::default();
        if !factor.factor(&matrix, 1e-9 * trace + 1e-300) {
            return vec![model.lines().weights.clone(); count];
        }
        let mut seed = GOLDEN;
        let mut deviate = || {
            seed = seed.wrapping_add(GOLDEN);
            normal::quantile(((scatter(seed) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64)
        };
        (0..count)
            .map(|_| {
                let noise: Vec<f64> = (0..n).map(|_| deviate()).collect();
                let mut draw = factor.times(&noise);
                crate::estimate::add_all(&mut draw, &model.lines().weights);
                draw
            })
            .collect()
    }
}

/// How far an interval reaches from the expectation of an item that is unlike all that was looked
/// at, away from these and towards them. As likely as not the line goes on, and as likely as not
/// rewards stay what they were at its end, which is `back` away: an interval holds as much of both
/// laws together as of one where they are the same.
fn either_way(level: f64, reach: f64, deviation: f64, back: f64) -> (f64, f64) {
    let half = reach * deviation;
    if back <= 0.0 || half <= 0.0 {
        return (half, half + back);
    }
    // In units in which an interval of one law reaches as far as a normal one.
    let both_sides = normal::quantile(0.5 + 0.5 * level);
    let unit = half / both_sides;
    let apart = back / unit;
    // The probability within grows with the reach, and at both of these it is known to be too small
    // and too large.
    let (mut too_short, mut too_long) = (-0.5 * apart, both_sides);
    for _ in 0..40 {
        let middle = f64::midpoint(too_short, too_long);
        if normal::cdf(middle + apart) - normal::cdf(-middle) < level {
            too_short = middle;
        } else {
            too_long = middle;
        }
    }
    (unit * too_long, back + unit * too_long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Fraction;
    use crate::{Evaluators, Example, Jury, Spec};

    #[test]
    fn an_interval_of_two_laws_holds_as_much_of_both_as_one_of_one() {
        let reach = normal::quantile(0.95);
        assert_eq!(either_way(0.9, reach, 2.0, 0.0), (2.0 * reach, 2.0 * reach));
        for back in [0.1, 1.0, 5.0, 50.0] {
            let (away, towards) = either_way(0.9, reach, 2.0, back);
            let within = |mean: f64| normal::cdf((towards - mean) / 2.0) - normal::cdf((-away - mean) / 2.0);
            assert!((0.5 * (within(0.0) + within(back)) - 0.9).abs() < 1e-9, "{back}");
        }
        // Far apart, each law has its tenth on one side.
        let (away, _) = either_way(0.9, reach, 2.0, 50.0);
        assert!((away - 2.0 * normal::quantile(0.9)).abs() < 1e-6, "{away}");
        // Without any spread it is what lies between the two.
        assert_eq!(either_way(0.9, reach, 0.0, 3.0), (0.0, 3.0));
    }

    /// The width of the interval of an item, by a jury that was told these rewards of as many
    /// items.
    fn width(labels: usize, rewards: impl Fn(usize) -> f64) -> f64 {
        let mut jury = Jury::new(&Spec::new("adaptive"), Evaluators::new(["a", "b", "c"]).unwrap()).unwrap();
        for i in 0..labels {
            let row = [i * 7 % 13, i * 5 % 11, i * 3 % 17].map(|x| x as f64 / 17.0);
            jury.observe(&jury.scores(&row).unwrap(), 0).unwrap();
            jury.learn(&[Example { scores: &row, reward: rewards(i), receipt: None }], 0).unwrap();
        }
        let fitted = jury.fit();
        let level = Fraction::try_from(0.9).unwrap();
        let interval = fitted.predict(&fitted.scores(&[0.3, 0.4, 0.5]).unwrap(), level).unwrap().unwrap()[0];
        interval.high - interval.low
    }

    #[test]
    fn rewards_that_are_all_alike_say_nothing_of_how_far_others_lie() {
        for same in [0.0, 0.1, 0.3, 0.7, 1.0, 3.0, 1.0 / 3.0, -7e9, 1e-9, 1e-300] {
            for labels in [2, 3, 5, 8, 10, 60] {
                assert_eq!(width(labels, |_| same), f64::INFINITY, "{labels} of {same}");
            }
        }
        // On a line, or nearly alike, they differ all the same.
        let others: [fn(usize) -> f64; 3] =
            [|i| (i * 7 % 13) as f64, |i| 1.0 + 1e-6 * (i % 2) as f64, |i| 0.3 + 0.1 * (i % 5) as f64];
        for other in others {
            let width = width(60, other);
            assert!(width.is_finite() && width > 0.0, "{width}");
        }
    }
}
