//! Correlations of errors between evaluators, and the effective number of independent evaluators.
//! For J evaluators it is J² over the sum of squared correlations, the participation ratio of the
//! correlation matrix. Its interval is by the delete-a-group jackknife (Efron & Tibshirani, 1993,
//! ch. 11).

use jurybox::Interval;
use jurybox::toolbox::student_quantile;

/// The fewest items with a reward from which correlations are shown.
pub(super) const ENOUGH: usize = 30;
/// The number of jackknife groups.
const GROUPS: usize = 20;
/// Student's 97.5% quantile with 19 degrees of freedom, one less than the groups.
const STUDENT: f64 = 2.093;
/// About the most products of two errors in one pass over the items. Beyond that, the earliest
/// items are left out, but the last 500 are always kept.
const PRODUCTS: usize = 5_000_000;

/// Correlations of errors, and statistics derived from them.
pub(super) struct ErrorCorrelations {
    /// The number of items that the correlations are estimated from.
    pub(super) items: usize,
    /// The error correlation of every two evaluators. An error is the residual of a score regressed
    /// on the reward. NaN if fewer than 30 items have both scores.
    pub(super) correlations: Vec<Vec<f64>>,
    /// The share of the variance of each evaluator's scores that rewards do not explain; NaN with
    /// fewer than 30 scores.
    pub(super) noise: Vec<f64>,
    /// The evaluators whose scores correlate with rewards, upwards or downwards, beyond chance.
    /// Only these are counted: errors of useless evaluators are independent, too.
    pub(super) telling: Vec<usize>,
    /// The effective number of independent evaluators among `telling`, with a 95% interval. None
    /// for fewer than two of them, or if two of them have too few items in common.
    pub(super) effective: Option<Interval>,
}

/// A correlation, and the number of items that it was computed from.
type Correlation = (f64, usize);

impl ErrorCorrelations {
    /// Estimates from the scores and the reward of each item, oldest first. Scores for which low is
    /// good must be negated. None with fewer than 30 items or fewer than two evaluators.
    pub(super) fn of(lessons: &[(Vec<f64>, f64)], width: usize) -> Option<ErrorCorrelations> {
        if lessons.len() < ENOUGH || width < 2 {
            return None;
        }
        let most = (PRODUCTS / (width * width)).max(500);
        let lessons = &lessons[lessons.len().saturating_sub(most)..];
        let all = correlations(lessons, width, |_| true);
        let telling: Vec<usize> = (0..width).filter(|&j| tells(lessons, j, width)).collect();
        let parts: Vec<f64> = (0..GROUPS)
            .map(|group| squares(&correlations(lessons, width, |at| at % GROUPS != group), &telling))
            .collect();
        let map = |(r, items): &Correlation| if *items >= ENOUGH { *r } else { f64::NAN };
        Some(ErrorCorrelations {
            items: lessons.len(),
            noise: (0..width).map(|j| noise(lessons, j)).collect(),
            correlations: all.iter().map(|row| row.iter().map(map).collect()).collect(),
            effective: effective_number(squares(&all, &telling), &parts, telling.len() as f64)
                .filter(|_| telling.len() > 1),
            telling,
        })
    }

    /// In 19 of 20 pairs of evaluators with independent errors, the correlation is at most this in
    /// size.
    pub(super) fn by_chance(&self) -> f64 {
        1.96 / (self.items as f64 - 1.0).sqrt()
    }
}

/// The effective number among `many` evaluators, from the `sum` of squared correlations between all
/// of them. The interval is from `parts`, the sums that leave out one group each. A sum is `many`
/// for independent errors and the square of `many` for equal ones; sums outside of this range are
/// moved to its ends.
fn effective_number(sum: f64, parts: &[f64], many: f64) -> Option<Interval> {
    let groups = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / groups;
    let spread = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>();
    let half = STUDENT * (spread * (groups - 1.0) / groups).sqrt();
    let of = |sum: f64| many * many / sum.clamp(many, many * many);
    half.is_finite().then(|| Interval { mean: of(sum), low: of(sum + half), high: of(sum - half) })
}

/// The sum of squared correlations over all ordered pairs of some evaluators, each paired with
/// itself too. Squares are corrected for their bias in small samples, as adjusted R².
fn squares(correlations: &[Vec<Correlation>], among: &[usize]) -> f64 {
    let square = |(r, items): &Correlation| {
        let items = *items as f64;
        1.0 - (1.0 - r * r) * (items - 2.0) / (items - 3.0)
    };
    among.iter().flat_map(|&i| among.iter().map(move |&j| &correlations[i][j])).map(square).sum()
}

/// The error correlations over the items that satisfy `among`. NaN if fewer than four have both
/// scores, or if one evaluator's errors are all equal.
fn correlations(
    lessons: &[(Vec<f64>, f64)],
    width: usize,
    among: impl Fn(usize) -> bool,
) -> Vec<Vec<Correlation>> {
    let kept: Vec<&(Vec<f64>, f64)> =
        lessons.iter().enumerate().filter(|(at, _)| among(*at)).map(|(_, lesson)| lesson).collect();
    let errors: Vec<Vec<f64>> = (0..width).map(|j| errors(&kept, j)).collect();
    let mut all = vec![vec![(1.0, usize::MAX); width]; width];
    for i in 0..width {
        for j in 0..i {
            let pairs = errors[i].iter().copied().zip(errors[j].iter().copied());
            let pairs: Vec<(f64, f64)> = pairs.filter(|(x, y)| !x.is_nan() && !y.is_nan()).collect();
            let (xx, xy, yy) = moments(&pairs);
            let r = xy / (xx * yy).sqrt();
            let r = if pairs.len() >= 4 && r.is_finite() { r.clamp(-1.0, 1.0) } else { f64::NAN };
            (all[i][j], all[j][i]) = ((r, pairs.len()), (r, pairs.len()));
        }
    }
    all
}

/// An evaluator's errors: the residuals of its scores regressed on rewards. NaN for a missing
/// score.
fn errors(lessons: &[&(Vec<f64>, f64)], j: usize) -> Vec<f64> {
    let pairs: Vec<(f64, f64)> =
        lessons.iter().map(|(row, reward)| (*reward, row[j])).filter(|(_, score)| !score.is_nan()).collect();
    let (base, slope) = fit_line(&pairs);
    lessons.iter().map(|(row, reward)| row[j] - base - slope * reward).collect()
}

/// The share of the variance of an evaluator's scores that rewards do not explain (1 - R²). NaN
/// with fewer than 30 scores.
fn noise(lessons: &[(Vec<f64>, f64)], j: usize) -> f64 {
    let pairs = lessons.iter().map(|(row, reward)| (*reward, row[j])).filter(|(_, score)| !score.is_nan());
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let (xx, xy, yy) = moments(&pairs);
    let left = 1.0 - xy * xy / (xx * yy);
    if pairs.len() >= ENOUGH && left.is_finite() { left.clamp(0.0, 1.0) } else { f64::NAN }
}

/// Whether an evaluator's scores correlate with rewards: the two-sided t-test of the correlation at
/// 5%, Bonferroni-corrected for `width` evaluators.
fn tells(lessons: &[(Vec<f64>, f64)], j: usize, width: usize) -> bool {
    let left = noise(lessons, j);
    let freedom = lessons.iter().filter(|(row, _)| !row[j].is_nan()).count() as f64 - 2.0;
    // From too few scores, `left` is NaN, and the comparison is false.
    (1.0 - left) * freedom > left * student_quantile(1.0 - 0.025 / width as f64, freedom.max(1.0)).powi(2)
}

/// The sums of squares and products of the deviations from the means: xx, xy and yy.
fn moments(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
    let many = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0 / many, sum.1 + pair.1 / many));
    pairs.iter().fold((0.0, 0.0, 0.0), |sum, pair| {
        let (dx, dy) = (pair.0 - x, pair.1 - y);
        (sum.0 + dx * dx, sum.1 + dx * dy, sum.2 + dy * dy)
    })
}

/// The intercept and the slope of the least-squares line.
fn fit_line(pairs: &[(f64, f64)]) -> (f64, f64) {
    let (xx, xy, _) = moments(pairs);
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    let many = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0 / many, sum.1 + pair.1 / many));
    (y - slope * x, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random scores. The errors of the first `alike` evaluators have the correlation `common`; the
    /// errors of the others are independent.
    fn lessons(seed: u64, items: u64, alike: usize, width: usize, common: f64) -> Vec<(Vec<f64>, f64)> {
        let uniform = |what: u64| (jurybox::toolbox::hash_number(seed, what) % 10_000) as f64 / 10_000.0;
        // Nearly normal: the sum of four uniform numbers.
        let noise =
            |what: u64| (0..4).map(|part| uniform(4 * what + part) - 0.5).sum::<f64>() * 3.0_f64.sqrt();
        (0..items)
            .map(|at| {
                let first = 64 * at;
                let reward = f64::from(u8::from(uniform(4 * (first + 63)) < 0.3));
                let shared = noise(first);
                let own = |j: usize| noise(first + 1 + j as u64);
                let error = |j: usize| {
                    if j < alike { common.sqrt() * shared + (1.0 - common).sqrt() * own(j) } else { own(j) }
                };
                ((0..width).map(|j| reward + error(j)).collect(), reward)
            })
            .collect()
    }

    /// The second evaluator has the errors of the first, the third has its own. So the effective
    /// number is 9 / 5.
    #[test]
    fn twins_have_the_same_errors_and_count_once() {
        let mut all = lessons(9, 2000, 2, 3, 1.0);
        all.iter_mut().for_each(|(row, _)| row[1] *= 2.0);
        let alike = ErrorCorrelations::of(&all, 3).unwrap();
        let r = |i: usize, j: usize| alike.correlations[i][j];
        assert!((r(0, 1) - 1.0).abs() < 0.1 && r(0, 2).abs() < 0.1 && r(1, 1) == 1.0);
        let effective = alike.effective.unwrap();
        assert!(
            (effective.mean - 1.8).abs() < 0.1
                && effective.low < effective.mean
                && effective.mean <= effective.high,
            "{effective:?}"
        );
        assert!(ErrorCorrelations::of(&all[..ENOUGH - 1], 3).is_none());
        // Two evaluators without a common item cannot be compared, so there is no effective number.
        let apart = |(at, (row, reward)): (usize, &(Vec<f64>, f64))| {
            let (one, other) = if at % 2 == 0 { (row[0], f64::NAN) } else { (f64::NAN, row[1]) };
            (vec![one, other], *reward)
        };
        let apart: Vec<(Vec<f64>, f64)> = all.iter().enumerate().map(apart).collect();
        let alike = ErrorCorrelations::of(&apart, 2).unwrap();
        assert!(alike.effective.is_none() && alike.correlations[0][1].is_nan());
    }

    /// Simulated errors with a known effective number: at least 90% of the intervals contain it.
    #[test]
    fn the_interval_covers_the_effective_number() {
        for (items, alike, width, common) in
            [(40, 2_usize, 4_usize, 0.8), (40, 0, 6, 0.0), (150, 3, 6, 0.5), (400, 2, 4, 0.9)]
        {
            let (mut held, mut known) = (0, 0);
            for world in 0..200 {
                let found = ErrorCorrelations::of(&lessons(1000 + world, items, alike, width, common), width)
                    .unwrap();
                let Some(effective) = found.effective else { continue };
                let (many, together) =
                    (found.telling.len(), found.telling.iter().filter(|j| **j < alike).count());
                let pairs = (together * together.saturating_sub(1)) as f64;
                let many = many as f64;
                let truth = many * many / (many + pairs * common * common);
                known += 1;
                held += usize::from((effective.low..=effective.high).contains(&truth));
            }
            assert!(known >= 100, "{known} with {items} items of {width} evaluators");
            assert!(10 * held >= 9 * known, "{held} of {known} with {items} items of {width} evaluators");
        }
    }

    /// Scores without relation to rewards: in at most 4 of 200 simulations, more than one of 20
    /// such evaluators passes the test.
    #[test]
    fn noise_does_not_agree_with_rewards() {
        let known = (0..200).filter(|world| {
            let mut all = lessons(5000 + world, 300, 0, 20, 0.0);
            all.iter_mut().for_each(|(row, reward)| row.iter_mut().for_each(|score| *score -= *reward));
            (0..20).filter(|&j| tells(&all, j, 20)).count() > 1
        });
        let known = known.count();
        assert!(known <= 4, "{known} of 200");
    }
}
