//! Reliability curves and the top K, which are computed from the sample.

use super::duplicate_scores::DuplicateRows;
use super::gather::{ReportData, RowSample};
use super::rank_correlation::HeavyTails;
use super::top_count::TopByReward;
use super::{CurveBin, Relation, Report, TopCount};
use crate::error::Error;
use crate::ranker::{new_jury, scores};
use jurybox::toolbox::{Standard, student_quantile};
use jurybox::{Evaluators, Example, Spec};

/// The number of bins of a curve.
const BINS: usize = 10;
/// Minimum mean number of rows per bin for the test of a curve.
const LEAST_TO_A_BIN: usize = 5;
/// The name of the ranking by the rewards themselves.
const BEST_POSSIBLE: &str = "best possible";

/// Adds to each evaluator its reliability curve: mean rewards over tenths of its scores or, without
/// rewards, mean standardised scores of the other evaluators. Tests for nonlinear relations.
pub(super) fn curves(data: &ReportData, report: &mut Report) {
    let sample = &data.sample;
    let rewarded = report.labelled > 0;
    let standard: Vec<(f64, f64)> = report.evaluators.iter().map(|e| (e.mean, e.deviation)).collect();
    let others = |row: &[f64], j: usize| {
        let present = row.iter().enumerate().filter(|(i, x)| *i != j && !x.is_nan() && standard[*i].1 > 0.0);
        let (sum, count) = present.fold((0.0, 0.0), |(sum, count), (i, x)| {
            (sum + (x - standard[i].0) / standard[i].1, count + 1.0)
        });
        sum / count
    };
    let family = report.evaluators.iter().filter(|about| about.deviation > 0.0).count();
    let two = data.outcomes.two().filter(|_| rewarded);
    for (j, about) in report.evaluators.iter_mut().enumerate() {
        let pairs = sample.rows().zip(&sample.rewards);
        let pairs = pairs.map(|(row, &reward)| (row[j], if rewarded { reward } else { others(row, j) }));
        let mut pairs: Vec<(f64, f64)> = pairs.filter(|(x, y)| !x.is_nan() && !y.is_nan()).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let parts = parts(&pairs);
        about.curve = bins(&parts, two);
        about.nonlinear =
            matches!(about.relation, Relation::NotSeen | Relation::BesideOthers) && differ(&parts, family);
    }
}

/// Splits sorted pairs into bins of about equal size, keeping equal scores together.
fn parts(pairs: &[(f64, f64)]) -> Vec<&[(f64, f64)]> {
    let (mut parts, mut start): (Vec<&[(f64, f64)]>, usize) = (Vec::new(), 0);
    for bin in 1..=BINS {
        let mut end = (pairs.len() * bin / BINS).max(start);
        while end > 0 && end < pairs.len() && pairs[end].0 == pairs[end - 1].0 {
            end += 1;
        }
        if end > start {
            parts.push(&pairs[start..end]);
        }
        start = end;
    }
    parts
}

/// The mean score and the mean reward of a bin.
fn means(part: &[(f64, f64)]) -> (f64, f64) {
    let n = part.len() as f64;
    (part.iter().map(|p| p.0).sum::<f64>() / n, part.iter().map(|p| p.1).sum::<f64>() / n)
}

/// The sum of squared deviations of the rewards of a bin.
fn square(part: &[(f64, f64)]) -> f64 {
    let (_, reward) = means(part);
    part.iter().map(|p| (p.1 - reward).powi(2)).sum()
}

/// Whether the mean rewards of bins differ beyond chance: a one-way analysis of variance at level
/// 5%, divided by `family` curves (Bonferroni). F is made normal by Paulson's approximation (1942).
fn differ(parts: &[&[(f64, f64)]], family: usize) -> bool {
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    if parts.len() < 3 || rows < LEAST_TO_A_BIN * parts.len() {
        return false;
    }
    let within: f64 = parts.iter().map(|part| square(part)).sum();
    let whole = parts.iter().flat_map(|part| part.iter()).map(|pair| pair.1).sum::<f64>() / rows as f64;
    let between: f64 = parts.iter().map(|part| part.len() as f64 * (means(part).1 - whole).powi(2)).sum();
    let (above, below) = ((parts.len() - 1) as f64, (rows - parts.len()) as f64);
    if between <= 1e-12 * (within + between) {
        return false;
    }
    let root = (between / above / (within / below)).cbrt();
    let (a, b) = (2.0 / (9.0 * above), 2.0 / (9.0 * below));
    // Without variance within the bins, F is infinite.
    let z = if root.is_finite() {
        ((1.0 - b) * root - (1.0 - a)) / (b * root * root + a).sqrt()
    } else {
        f64::MAX
    };
    z > student_quantile(1.0 - 0.05 / family.max(1) as f64, f64::MAX)
}

/// Bins with their 95% intervals. `two` has the rewards if there are exactly two.
fn bins(parts: &[&[(f64, f64)]], two: Option<(f64, f64)>) -> Vec<CurveBin> {
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    let freedom = (rows.saturating_sub(parts.len()) as f64).max(1.0);
    let pooled = parts.iter().map(|part| square(part)).sum::<f64>() / freedom;
    let bin = |part: &&[(f64, f64)]| {
        let n = part.len() as f64;
        let (score, reward) = means(part);
        let (low, high) = if let Some((least, most)) = two {
            let (low, high) = wilson((reward - least) / (most - least), n);
            (least + (most - least) * low, least + (most - least) * high)
        } else {
            // The pooled variance of one row is added, because a few equal rewards would look
            // certain.
            let half = student_quantile(0.975, n - 1.0) * ((square(part) + pooled) / n / n).sqrt();
            (reward - half, reward + half)
        };
        CurveBin { score, reward, low, high, rows: part.len() }
    };
    parts.iter().map(bin).collect()
}

/// Wilson's score interval of a share at 95%, which holds for small `n` and for shares of 0 and 1.
pub(super) fn wilson(share: f64, n: f64) -> (f64, f64) {
    let z2 = 1.96_f64.powi(2);
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// What the top K by each way of ranking would find.
///
/// Policies that learn do so from one half of the sample and rank the other, both ways
/// (cross-fitting). No row is thus ranked by its own reward. Rows with the same scores are in the
/// same half, unless scores are coarse. Empty if there are fewer than 20 rows.
pub(super) fn top_counts(
    data: &ReportData,
    duplicate_scores: &DuplicateRows,
    names: &Evaluators,
) -> Result<Vec<TopCount>, Error> {
    let sample = data.sample_as_written();
    let rewarded = data.labelled > 0;
    let rows: Vec<usize> =
        (0..sample.rewards.len()).filter(|&row| !rewarded || !sample.rewards[row].is_nan()).collect();
    if rows.len() < 20 {
        return Ok(Vec::new());
    }
    let default = Spec::default();
    let esag = Spec::new("esag").with("current_round", true);
    let mut ways: Vec<(String, Vec<f64>)> = vec![
        ("drawn at random".into(), vec![0.0; rows.len()]),
        ("plain mean".into(), plain_means(sample, &rows, names)?),
        ("z-mean".into(), z_means(sample, &rows, names.len())),
        ("esag".into(), by_policy(sample, duplicate_scores, &rows, names, &esag, rewarded)?),
    ];
    if default.name() != "esag" {
        ways.push((
            format!("{default} (default)"),
            by_policy(sample, duplicate_scores, &rows, names, &default, rewarded)?,
        ));
    }
    for (_, values) in &mut ways {
        // Rows without scores come last, and minus zero becomes zero.
        values.iter_mut().for_each(|v| *v = if v.is_nan() { f64::NEG_INFINITY } else { *v + 0.0 });
    }
    // Without rewards, the other rankings are compared with the last one, which is not listed.
    let truth: Vec<f64> = if rewarded {
        let rewards: Vec<f64> = rows.iter().map(|&row| sample.rewards[row] + 0.0).collect();
        ways.push((BEST_POSSIBLE.into(), rewards.clone()));
        rewards
    } else {
        ways.pop().map(|(_, values)| values).unwrap_or_default()
    };
    let largest = data.outcomes.two().map(|(_, most)| truth.iter().filter(|&&r| r == most).count() as f64);
    // With heavy tails, the intervals would be too narrow.
    let is_heavy = HeavyTails::of(data).reward;
    let mut counts = Vec::new();
    for k in [10, 30, 100, 300, 1000, 3000].into_iter().filter(|&k| 2 * k <= rows.len()) {
        let Some(best) = TopByReward::new(&truth, k) else { continue };
        counts.extend(ways.iter().map(|(name, values)| {
            let expected = best.expected(values, &truth);
            let sure = rewarded && name != BEST_POSSIBLE && !is_heavy;
            let ends = sure.then(|| best.interval(values, &truth, data.outcomes.two()));
            TopCount {
                name: name.clone(),
                k,
                reward: rewarded.then_some(expected.reward),
                low: ends.map(|(low, _)| low),
                high: ends.map(|(_, high)| high),
                found: expected.found,
                recall: largest.map(|largest| expected.largest / largest),
            }
        }));
    }
    Ok(counts)
}

/// The scores of a row of the sample.
fn row_of(sample: &RowSample, row: usize) -> &[f64] {
    &sample.scores[row * sample.width..(row + 1) * sample.width]
}

/// The values of rows by a policy that has learnt from the other half.
///
/// The values of two juries may have different scales. Each value is therefore replaced by the
/// share of smaller values in its half.
fn by_policy(
    sample: &RowSample,
    duplicate_scores: &DuplicateRows,
    rows: &[usize],
    names: &Evaluators,
    spec: &Spec,
    rewarded: bool,
) -> Result<Vec<f64>, Error> {
    let mut values = vec![0.0; rows.len()];
    let known = || sample.rewards.iter().copied().filter(|r| !r.is_nan());
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let span = if high > low { high - low } else { 1.0 };
    for side in [false, true] {
        let mut jury = new_jury(spec, names)?;
        let of =
            |half: bool| (0..rows.len()).filter(move |&at| duplicate_scores.half(sample, rows[at]) == half);
        let table =
            |half: bool| -> Vec<f64> { of(half).flat_map(|at| row_of(sample, rows[at])).copied().collect() };
        jury.observe(&scores(&table(!side), names.len())?, 0)?;
        if rewarded {
            let example = |at: usize| Example {
                scores: row_of(sample, rows[at]),
                reward: (sample.rewards[rows[at]] - low) / span,
                receipt: None,
            };
            jury.learn(&of(!side).map(example).collect::<Vec<_>>(), 0)?;
        }
        let found = jury.fit().values(&scores(&table(side), names.len())?)?;
        of(side).zip(shares_below(&found)).for_each(|(at, value)| values[at] = value);
    }
    Ok(values)
}

/// The mean of each row's scores, by the policy `average`. It learns nothing, so that no halves are
/// needed.
fn plain_means(sample: &RowSample, rows: &[usize], names: &Evaluators) -> Result<Vec<f64>, Error> {
    let table: Vec<f64> = rows.iter().flat_map(|&row| row_of(sample, row)).copied().collect();
    Ok(new_jury(&Spec::new("average"), names)?.fit().values(&scores(&table, names.len())?)?)
}

/// For each value, the share of smaller values; equal values, itself included, count half.
fn shares_below(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = |value: &f64| {
        let below = sorted.partition_point(|x| x.total_cmp(&(value + 0.0)).is_lt());
        let upto = sorted.partition_point(|x| x.total_cmp(&(value + 0.0)).is_le());
        (below + upto) as f64 / (2 * values.len()) as f64
    };
    values.iter().map(|value| if value.is_nan() { f64::NAN } else { place(value) }).collect()
}

fn z_means(sample: &RowSample, rows: &[usize], width: usize) -> Vec<f64> {
    let mut standard = Standard::new(width);
    rows.iter().for_each(|&row| standard.observe(row_of(sample, row)));
    rows.iter().map(|&row| standard.row_mean(row_of(sample, row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Simulates scores from 0 to 1, and rewards of three kinds around the square of the score.
    #[test]
    fn the_intervals_of_a_curve_hold_what_they_promise() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for kind in ["yes or no", "marks", "bent noise"] {
            let (mut held, mut count) = (0.0, 0.0);
            for _ in 0..300 {
                let mut scores: Vec<f64> = (0..200).map(|_| rng.random()).collect();
                scores.sort_by(f64::total_cmp);
                let mut reward = |x: f64| match kind {
                    "yes or no" => f64::from(rng.random::<f64>() < x * x),
                    "marks" => (0..4).map(|_| f64::from(rng.random::<f64>() < x * x)).sum::<f64>() / 4.0,
                    _ => x * x + 0.2 * x * (rng.random::<f64>().powi(2) - 1.0 / 3.0),
                };
                let pairs: Vec<(f64, f64)> = scores.iter().map(|&x| (x, reward(x))).collect();
                for (part, bin) in
                    pairs.chunks(20).zip(bins(&parts(&pairs), (kind == "yes or no").then_some((0.0, 1.0))))
                {
                    let truth = part.iter().map(|(x, _)| x * x).sum::<f64>() / 20.0;
                    held += f64::from(bin.low <= truth && truth <= bin.high);
                    count += 1.0;
                }
            }
            let share = held / count;
            assert!(share > 0.94, "{kind}: {share}");
        }
    }

    /// Tests the false positive rate on flat curves, and the power on a parabola.
    #[test]
    fn a_curve_is_told_from_a_flat_one() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        for kind in ["even", "yes or no", "skewed"] {
            let (mut flat, mut nonlinear) = (0, 0);
            for _ in 0..400 {
                let mut scores: Vec<f64> = (0..200).map(|_| rng.random::<f64>() - 0.5).collect();
                scores.sort_by(f64::total_cmp);
                let mut noise = || match kind {
                    "even" => rng.random::<f64>(),
                    "yes or no" => f64::from(rng.random::<f64>() < 0.2),
                    _ => -rng.random::<f64>().ln(),
                };
                let pairs: Vec<(f64, f64)> = scores.iter().map(|&x| (x, noise())).collect();
                flat += usize::from(differ(&parts(&pairs), 1));
                let pairs: Vec<(f64, f64)> = pairs.iter().map(|&(x, y)| (x, 6.0 * x * x + y)).collect();
                nonlinear += usize::from(differ(&parts(&pairs), 1));
            }
            // 20 of 400 are expected by chance; 38 are four standard errors more.
            assert!(flat <= 38 && nonlinear > 300, "{kind}: {flat} {nonlinear}");
        }
    }

    #[test]
    fn places_keep_ties_and_forget_scales() {
        assert_eq!(shares_below(&[30.0, -1.0, 30.0, 0.0]), [0.75, 0.125, 0.75, 0.375]);
        assert_eq!(shares_below(&[0.0, -0.0]), [0.5, 0.5]);
    }
}
