//! References that refit a regression as labels come in: ridge and logistic regression.
//!
//! Scores are standardised by the means and deviations of all rows shown so far; a missing one
//! counts as its evaluator's mean. Up to 500 labels the model is refitted in every step with new
//! labels. After that it is refitted whenever the labels have grown by more than a twentieth.
//!
//! *Ridge:* least squares with an unpenalised intercept. The penalty is the one of seven from 0.1
//! to 100 with the least leave-one-out error (PRESS, Allen 1974); in a tie, the largest. While all
//! labels are equal, rows are ranked by the sum of their standardised scores.
//!
//! *Logistic:* `log-odds(y) = c + b·z` for standardised scores z, where y says whether the reward
//! is high: the higher one if there are two different rewards, else any above the median of the
//! labels so far. The intercept c is not penalised. The prior is `b ~ N(1.5 d, I)`, where all
//! entries of d are equal and `d·z` has variance one. The mode is found by Newton's method with
//! shortened steps. While all labels are equal, rows are ranked by the sum of their standardised
//! scores.

use super::ReviewLog;
use super::pickers::{CandidateRows, PickRequest, PickedPosition, RowPicker, highest};
use super::review_log::at_mean_if_missing;
use crate::error::Error;
use crate::linear::{CholeskyFactor, LinearFit, RegressionSums};
use jurybox::toolbox::Standard;
use rand_chacha::ChaCha8Rng;

/// Ridges to choose from. A ridge of 1 weighs as much as one row of standardised scores.
const RIDGES: [f64; 7] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// Number of labels up to which the model is refitted in every step with new labels.
const EVERY_STEP: usize = 500;

/// The type of regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegressionKind {
    Ridge,
    /// Logistic regression on whether the reward is high.
    Logistic,
}

/// A picker that ranks by a regression on the labels so far.
pub(crate) struct RegressionPicker {
    kind: RegressionKind,
    moments: Standard,
    /// Number, mean, and sum of squared deviations of the rows' sums of standardised scores.
    sums: (f64, f64, f64),
    /// The lower reward if there are exactly two different ones.
    lower_of_two: Option<f64>,
    scores: Vec<f64>,
    rewards: Vec<f64>,
    /// Slopes on the standardised scores. The intercept does not affect the order of rows.
    slopes: Vec<f64>,
    fitted_at: Option<usize>,
    values: Vec<f64>,
}

impl RegressionPicker {
    pub(crate) fn new(kind: RegressionKind, log: &ReviewLog) -> RegressionPicker {
        let width = log.width();
        RegressionPicker {
            kind,
            moments: Standard::new(width),
            sums: (0.0, 0.0, 0.0),
            lower_of_two: log.lower_of_two(),
            scores: Vec::new(),
            rewards: Vec::new(),
            slopes: vec![1.0; width],
            fitted_at: None,
            values: Vec::new(),
        }
    }

    fn observe(&mut self, scores: &[f64]) {
        self.moments.observe(scores);
        for row in scores.chunks_exact(self.slopes.len()) {
            let sum: f64 =
                row.iter().enumerate().map(|(j, &x)| at_mean_if_missing(self.moments.of(j, x))).sum();
            self.sums.0 += 1.0;
            let off = sum - self.sums.1;
            self.sums.1 += off / self.sums.0;
            self.sums.2 += off * (sum - self.sums.1);
        }
    }

    fn fit(&mut self) {
        let labels = self.rewards.len();
        let due =
            self.fitted_at.is_none_or(|at| labels > at && (labels <= EVERY_STEP || 20 * labels > 21 * at));
        if !due {
            return;
        }
        self.fitted_at = Some(labels);
        let width = self.slopes.len();
        let standard: Vec<f64> = self
            .scores
            .iter()
            .enumerate()
            .map(|(at, &x)| at_mean_if_missing(self.moments.of(at % width, x)))
            .collect();
        self.slopes = match self.kind {
            RegressionKind::Ridge => match ridge(&standard, &self.rewards, width) {
                Some(fit) if fit.slopes.iter().any(|b| *b != 0.0) => fit.slopes,
                _ => vec![1.0; width],
            },
            RegressionKind::Logistic => {
                let cut = self.lower_of_two.unwrap_or_else(|| median(&self.rewards));
                let above: Vec<bool> = self.rewards.iter().map(|r| *r > cut).collect();
                let deviation = (self.sums.2 / (self.sums.0 - 1.0)).sqrt();
                let prior = if deviation > 0.0 { 1.5 / deviation } else { 1.5 };
                logistic(&standard, &above, width, prior)
            }
        };
    }
}

impl RowPicker for RegressionPicker {
    fn study(&mut self, log: &ReviewLog, rows: &[usize]) -> Result<usize, Error> {
        let mut candidates = CandidateRows::default();
        candidates.load(log, rows);
        self.observe(&candidates.scores);
        self.scores.extend(candidates.scores);
        self.rewards.extend(rows.iter().map(|&row| log.rewards[row]));
        Ok(rows.len())
    }

    fn pick(
        &mut self,
        request: &PickRequest<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<PickedPosition>, Error> {
        let scores = &request.candidates.scores;
        if request.new {
            self.observe(scores);
        }
        self.fit();
        let width = self.slopes.len();
        let per_score: Vec<f64> = (0..width).map(|j| self.slopes[j] * self.moments.per_unit(j)).collect();
        let means: Vec<f64> = (0..width).map(|j| self.moments.mean(j)).collect();
        self.values.clear();
        self.values.extend(scores.chunks_exact(width).map(|row| {
            let parts = row.iter().zip(&means).zip(&per_score);
            parts.map(|((x, mean), slope)| if x.is_nan() { 0.0 } else { slope * (x - mean) }).sum::<f64>()
        }));
        Ok(highest(&self.values, request.k, rng))
    }

    fn learn(&mut self, log: &ReviewLog, rows: &[usize], verdicts: &[f64]) -> Result<(), Error> {
        rows.iter().for_each(|&row| log.push_row(row, &mut self.scores));
        self.rewards.extend_from_slice(verdicts);
        Ok(())
    }
}

/// The ridge regression with the least leave-one-out error. None from fewer than two rows.
fn ridge(standard: &[f64], rewards: &[f64], width: usize) -> Option<LinearFit> {
    ridge_of(width, |see| standard.chunks_exact(width).zip(rewards).for_each(|(row, &y)| see(row, y)))
}

/// The ridge regression with the least leave-one-out error, of rows that need not be in one slice.
/// `each` passes every row with its reward, and is called twice at most. None from fewer than two
/// rows.
pub(crate) fn ridge_of(width: usize, each: impl Fn(&mut dyn FnMut(&[f64], f64))) -> Option<LinearFit> {
    let mut sums = RegressionSums::new(width);
    each(&mut |row, y| sums.learn(row, y));
    let fits = RIDGES.into_iter().rev().map(|ridge| sums.fit_with_leverage(ridge));
    let fits = fits.collect::<Option<Vec<_>>>()?;
    let mut errors = [0.0; RIDGES.len()];
    each(&mut |row, y| {
        for ((fit, leverage), error) in fits.iter().zip(&mut errors) {
            *error += ((y - fit.predict(row)) / (1.0 - leverage.of(row)).max(1e-6)).powi(2);
        }
    });
    let mut best: Option<(f64, LinearFit)> = None;
    for ((fit, _), error) in fits.into_iter().zip(errors) {
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, fit));
        }
    }
    best.map(|(_, fit)| fit)
}

/// The slopes of the penalised logistic regression; `prior` is the prior mean of each slope.
fn logistic(standard: &[f64], above: &[bool], width: usize, prior: f64) -> Vec<f64> {
    let wide = width + 1;
    let mut b = vec![prior; width];
    let highs = above.iter().filter(|high| **high).count();
    if highs == 0 || highs == above.len() {
        // With equal labels the intercept would grow without bound; the slopes keep their prior.
        return b;
    }
    // The intercept is the last coefficient.
    b.push((highs as f64 / (above.len() - highs) as f64).ln());
    for _ in 0..50 {
        let mut gradient: Vec<f64> = (0..width).map(|j| prior - b[j]).collect();
        gradient.push(0.0);
        let mut hessian = vec![0.0; wide * wide];
        (0..width).for_each(|j| hessian[j * wide + j] = 1.0);
        for (row, &y) in standard.chunks_exact(width).zip(above) {
            let x = |j: usize| if j < width { row[j] } else { 1.0 };
            let odds: f64 = (0..wide).map(|j| b[j] * x(j)).sum();
            let p = 1.0 / (1.0 + (-odds).exp());
            let off = f64::from(u8::from(y)) - p;
            for i in 0..wide {
                gradient[i] += off * x(i);
                let weight = p * (1.0 - p) * x(i);
                (0..=i).for_each(|j| hessian[i * wide + j] += weight * x(j));
            }
        }
        let Some(factor) = CholeskyFactor::of(hessian, wide) else { break };
        let step = factor.solve(&gradient);
        // The log posterior is concave. Long steps are shortened, because the quadratic
        // approximation is good only near the current point.
        let length = step.iter().map(|s| s.abs()).fold(0.0, f64::max);
        let shrink = if length > 2.0 { 2.0 / length } else { 1.0 };
        b.iter_mut().zip(&step).for_each(|(b, s)| *b += shrink * s);
        if length < 1e-8 {
            break;
        }
    }
    b.truncate(width);
    b
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals divided by one minus the leverage are those of fits without the row.
    #[test]
    fn leverages_leave_one_out_exactly() {
        let rows: Vec<[f64; 2]> = (0..9).map(|i| [f64::from(i % 4), f64::from(i * i % 7)]).collect();
        let y: Vec<f64> = (0..9).map(|i| f64::from(i * 3 % 5)).collect();
        let sums = |skip: usize| {
            let mut sums = RegressionSums::new(2);
            (0..9).filter(|&i| i != skip).for_each(|i| sums.learn(&rows[i], y[i]));
            sums
        };
        let (fit, leverage) = sums(99).fit_with_leverage(1.0).unwrap();
        for i in 0..9 {
            let promised = (y[i] - fit.predict(&rows[i])) / (1.0 - leverage.of(&rows[i]));
            let left_out = y[i] - sums(i).fit(1.0).unwrap().predict(&rows[i]);
            assert!((promised - left_out).abs() < 1e-6, "{i}: {promised} {left_out}");
        }
    }

    #[test]
    fn the_gradient_vanishes_at_the_logistic_fit() {
        let standard = [0.5, -1.0, 1.5, 0.3, -0.7, 0.9, 2.0, -0.2];
        let above = [true, false, true, false];
        let b = logistic(&standard, &above, 2, 0.7);
        // The intercept is not returned; given the slopes, bisection finds it.
        let off = |c: f64| -> Vec<f64> {
            let odds = |i: usize| c + b[0] * standard[2 * i] + b[1] * standard[2 * i + 1];
            (0..4).map(|i| f64::from(u8::from(above[i])) - 1.0 / (1.0 + (-odds(i)).exp())).collect()
        };
        let (mut low, mut high) = (-20.0, 20.0);
        for _ in 0..200 {
            let c = f64::midpoint(low, high);
            if off(c).iter().sum::<f64>() > 0.0 { low = c } else { high = c }
        }
        for j in 0..2 {
            let gradient: f64 = (0..4).map(|i| off(low)[i] * standard[2 * i + j]).sum::<f64>() + 0.7 - b[j];
            assert!(gradient.abs() < 1e-6, "{j}: {gradient}");
        }
    }

    #[test]
    fn without_labels_or_with_equal_ones_the_mean_z_ranks() {
        assert_eq!(logistic(&[], &[], 3, 0.5), [0.5, 0.5, 0.5]);
        assert_eq!(logistic(&[1.0, -1.0, 0.3, 2.0], &[false, false], 2, 0.5), [0.5, 0.5]);
        let fit = ridge(&[1.0, 2.0, 0.0, 1.0, 4.0, 3.0], &[2.0, 2.0, 2.0], 2).unwrap();
        assert!(fit.slopes.iter().all(|b| *b == 0.0), "{fit:?}");
    }
}
