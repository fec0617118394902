//! Who errs with whom: correlations of errors between evaluators, and how many independent ones they are worth, with an interval.

use jurybox::Interval;
use jurybox::toolbox::student_quantile;

/// How many items that were looked at it takes to speak of errors.
pub(super) const ENOUGH: usize = 30;
/// Groups that are left out one after the other, to see how much hangs on who is among the items; and Student's 97.5% for as many.
const GROUPS: usize = 20;
const STUDENT: f64 = 2.093;
/// Products of two errors that are taken at the most, each of them in every group: more items than that are not looked at.
const PRODUCTS: usize = 5_000_000;

/// What was found out about the errors of evaluators.
pub(super) struct ErrorCorrelations {
    /// Items that it was found out from.
    pub(super) items: usize,
    /// The correlations of errors between every two: of what their scores say beyond what the items were worth; NaN where too few have both.
    pub(super) correlations: Vec<Vec<f64>>,
    /// The share of what each one's scores vary by that says nothing of what the items were worth; NaN where it has scored too few.
    pub(super) noise: Vec<f64>,
    /// The evaluators whose scores go with what items were worth, beyond chance. Errors of the others are independent because they know nothing.
    pub(super) telling: Vec<usize>,
    /// How many evaluators with independent errors those of `telling` are worth: their number squared over the sum of squared error correlations,
    /// with its 95% interval. None of fewer than two, or where two of them never scored the same item.
    pub(super) worth: Option<Interval>,
}

/// A correlation, and how many items it is of.
type Correlation = (f64, usize);

impl ErrorCorrelations {
    /// From scores that all point up and what their items were worth, the last ones last; none where there are too few of either.
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
            worth: worth(squares(&all, &telling), &parts, telling.len() as f64).filter(|_| telling.len() > 1),
            telling,
        })
    }

    /// How far from zero a correlation of so many items comes by chance, in 19 of 20 cases.
    pub(super) fn by_chance(&self) -> f64 {
        1.96 / (self.items as f64 - 1.0).sqrt()
    }
}

/// By the sum of squares, and by those sums with one group left out (the jackknife). All of them erring by themselves the sum is J, all of
/// them alike it is J squared, and nothing else can be so.
fn worth(sum: f64, parts: &[f64], many: f64) -> Option<Interval> {
    let groups = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / groups;
    let spread = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>();
    let half = STUDENT * (spread * (groups - 1.0) / groups).sqrt();
    let of = |sum: f64| many * many / sum.clamp(many, many * many);
    half.is_finite().then(|| Interval { mean: of(sum), low: of(sum + half), high: of(sum - half) })
}

/// The sum of the squared correlations among some evaluators, each less what chance adds to the square of one of so few items.
fn squares(correlations: &[Vec<Correlation>], among: &[usize]) -> f64 {
    let square = |(r, items): &Correlation| {
        let items = *items as f64;
        1.0 - (1.0 - r * r) * (items - 2.0) / (items - 3.0)
    };
    among.iter().flat_map(|&i| among.iter().map(move |&j| &correlations[i][j])).map(square).sum()
}

/// The correlations of errors among some of the lessons; NaN where fewer than four have both.
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

/// What an evaluator's scores say beyond what the items were worth; NaN where it has not scored.
fn errors(lessons: &[&(Vec<f64>, f64)], j: usize) -> Vec<f64> {
    let pairs: Vec<(f64, f64)> =
        lessons.iter().map(|(row, worth)| (*worth, row[j])).filter(|(_, score)| !score.is_nan()).collect();
    let (base, slope) = fit_line(&pairs);
    lessons.iter().map(|(row, worth)| row[j] - base - slope * worth).collect()
}

/// What is left of the variance of an evaluator's scores once they are told what the items were worth.
fn noise(lessons: &[(Vec<f64>, f64)], j: usize) -> f64 {
    let pairs = lessons.iter().map(|(row, worth)| (*worth, row[j])).filter(|(_, score)| !score.is_nan());
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let (xx, xy, yy) = moments(&pairs);
    let left = 1.0 - xy * xy / (xx * yy);
    if pairs.len() >= ENOUGH && left.is_finite() { left.clamp(0.0, 1.0) } else { f64::NAN }
}

/// Whether an evaluator's scores go with what items were worth: by the t test of their correlation, at 5% for all of `width` evaluators
/// together (Bonferroni).
fn tells(lessons: &[(Vec<f64>, f64)], j: usize, width: usize) -> bool {
    let left = noise(lessons, j);
    let freedom = lessons.iter().filter(|(row, _)| !row[j].is_nan()).count() as f64 - 2.0;
    // NaN, where too few are scored, is no proof.
    (1.0 - left) * freedom > left * student_quantile(1.0 - 0.025 / width as f64, freedom.max(1.0)).powi(2)
}

fn moments(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
    let many = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0 / many, sum.1 + pair.1 / many));
    pairs.iter().fold((0.0, 0.0, 0.0), |sum, pair| {
        let (dx, dy) = (pair.0 - x, pair.1 - y);
        (sum.0 + dx * dx, sum.1 + dx * dy, sum.2 + dy * dy)
    })
}

/// Least squares: where the line is at zero, and how steep.
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

    /// Evaluators whose errors have one part in common, as many as `alike`, and others who err by themselves.
    fn lessons(seed: u64, items: u64, alike: usize, width: usize, common: f64) -> Vec<(Vec<f64>, f64)> {
        let uniform = |what: u64| (jurybox::toolbox::hash_number(seed, what) % 10_000) as f64 / 10_000.0;
        // Nearly normal: the sum of four.
        let noise =
            |what: u64| (0..4).map(|part| uniform(4 * what + part) - 0.5).sum::<f64>() * 3.0_f64.sqrt();
        (0..items)
            .map(|at| {
                let first = 64 * at;
                let worth = f64::from(u8::from(uniform(4 * (first + 63)) < 0.3));
                let shared = noise(first);
                let own = |j: usize| noise(first + 1 + j as u64);
                let error = |j: usize| {
                    if j < alike { common.sqrt() * shared + (1.0 - common).sqrt() * own(j) } else { own(j) }
                };
                ((0..width).map(|j| worth + error(j)).collect(), worth)
            })
            .collect()
    }

    /// A twin repeats the errors of the first; the third errs by itself.
    #[test]
    fn twins_err_together_and_are_worth_one() {
        let mut all = lessons(9, 2000, 2, 3, 1.0);
        all.iter_mut().for_each(|(row, _)| row[1] *= 2.0);
        let alike = ErrorCorrelations::of(&all, 3).unwrap();
        let r = |i: usize, j: usize| alike.correlations[i][j];
        assert!((r(0, 1) - 1.0).abs() < 0.1 && r(0, 2).abs() < 0.1 && r(1, 1) == 1.0);
        let worth = alike.worth.unwrap();
        assert!(
            (worth.mean - 1.8).abs() < 0.1 && worth.low < worth.mean && worth.mean <= worth.high,
            "{worth:?}"
        );
        assert!(ErrorCorrelations::of(&all[..ENOUGH - 1], 3).is_none());
        // Two who never scored the same item cannot be compared, and nothing is said of all.
        let apart = |(at, (row, worth)): (usize, &(Vec<f64>, f64))| {
            let (one, other) = if at % 2 == 0 { (row[0], f64::NAN) } else { (f64::NAN, row[1]) };
            (vec![one, other], *worth)
        };
        let apart: Vec<(Vec<f64>, f64)> = all.iter().enumerate().map(apart).collect();
        let alike = ErrorCorrelations::of(&apart, 2).unwrap();
        assert!(alike.worth.is_none() && alike.correlations[0][1].is_nan());
    }

    /// Worlds in which it is known what evaluators are worth, with few items and with more: the interval holds it in nine of ten at the least.
    #[test]
    fn the_interval_holds_what_they_are_worth() {
        for (items, alike, width, common) in
            [(40, 2_usize, 4_usize, 0.8), (40, 0, 6, 0.0), (150, 3, 6, 0.5), (400, 2, 4, 0.9)]
        {
            let (mut held, mut told) = (0, 0);
            for world in 0..200 {
                let found = ErrorCorrelations::of(&lessons(1000 + world, items, alike, width, common), width).unwrap();
                let Some(worth) = found.worth else { continue };
                let (many, together) =
                    (found.telling.len(), found.telling.iter().filter(|j| **j < alike).count());
                let pairs = (together * together.saturating_sub(1)) as f64;
                let many = many as f64;
                let truth = many * many / (many + pairs * common * common);
                told += 1;
                held += usize::from((worth.low..=worth.high).contains(&truth));
            }
            assert!(told >= 100, "{told} with {items} items of {width} evaluators");
            assert!(10 * held >= 9 * told, "{held} of {told} with {items} items of {width} evaluators");
        }
    }

    /// Twenty columns of noise are independent, and nobody's use.
    #[test]
    fn noise_is_worth_no_evaluators() {
        let told = (0..200).filter(|world| {
            let mut all = lessons(5000 + world, 300, 0, 20, 0.0);
            all.iter_mut().for_each(|(row, worth)| row.iter_mut().for_each(|score| *score -= *worth));
            (0..20).filter(|&j| tells(&all, j, 20)).count() > 1
        });
        let told = told.count();
        assert!(told <= 4, "{told} of 200");
    }
}
