//! What needs rows rather than moments: reliability curves, and what a top K would catch.

use super::gather::Sample;
use super::{Bin, Catch, Report};
use crate::error::Error;
use crate::judge::{scores, seat};
use jurybox::{Example, Spec, TopK};

/// Bins of a curve.
const BINS: usize = 10;

/// Mean reward over tenths of each evaluator's scores; without rewards, the mean standardised score of the others.
pub(super) fn curves(sample: &Sample, report: &mut Report) {
    let rewarded = report.labelled > 0;
    let standard: Vec<(f64, f64)> = report.evaluators.iter().map(|e| (e.mean, e.deviation)).collect();
    let others = |row: &[f64], j: usize| {
        let present = row.iter().enumerate().filter(|(i, x)| *i != j && !x.is_nan() && standard[*i].1 > 0.0);
        let (sum, count) = present.fold((0.0, 0.0), |(sum, count), (i, x)| {
            (sum + (x - standard[i].0) / standard[i].1, count + 1.0)
        });
        sum / count
    };
    for (j, about) in report.evaluators.iter_mut().enumerate() {
        let pairs = sample.rows().zip(&sample.rewards);
        let pairs = pairs.map(|(row, &reward)| (row[j], if rewarded { reward } else { others(row, j) }));
        let mut pairs: Vec<(f64, f64)> = pairs.filter(|(x, y)| !x.is_nan() && !y.is_nan()).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        about.curve = bins(&pairs);
    }
}

/// About equal numbers of rows to a bin; equal scores are never parted.
fn bins(pairs: &[(f64, f64)]) -> Vec<Bin> {
    let (mut bins, mut start) = (Vec::new(), 0);
    for bin in 1..=BINS {
        let mut end = (pairs.len() * bin / BINS).max(start);
        while end > 0 && end < pairs.len() && pairs[end].0 == pairs[end - 1].0 {
            end += 1;
        }
        let part = &pairs[start..end];
        start = end;
        if part.is_empty() {
            continue;
        }
        let n = part.len() as f64;
        let mean = |f: fn(&(f64, f64)) -> f64| part.iter().map(f).sum::<f64>() / n;
        let (score, reward) = (mean(|p| p.0), mean(|p| p.1));
        let square: f64 = part.iter().map(|p| (p.1 - reward).powi(2)).sum();
        let ci95 = if n > 1.0 { 1.96 * (square / (n - 1.0) / n).sqrt() } else { f64::NAN };
        bins.push(Bin { score, reward, ci95, rows: part.len() });
    }
    bins
}

/// What the top K by each way of ranking would catch.
///
/// Learning happens on one half of the sample and ranking on the other, both ways round, so that no row is judged by
/// its own reward.
pub(super) fn catches(sample: &Sample, names: &[String]) -> Result<Vec<Catch>, Error> {
    let rewarded = sample.rewards.iter().any(|reward| !reward.is_nan());
    let rows: Vec<usize> =
        (0..sample.rewards.len()).filter(|&row| !rewarded || !sample.rewards[row].is_nan()).collect();
    let width = names.len();
    let default = Spec::default();
    let mut ways: Vec<(String, Vec<f64>)> = vec![
        ("plain mean".into(), by_policy(sample, &rows, names, &Spec::new("average"), rewarded)?),
        ("z-mean".into(), z_means(sample, &rows, width)),
        (
            "esag".into(),
            by_policy(sample, &rows, names, &Spec::new("esag").with("current_round", true), rewarded)?,
        ),
    ];
    if default.name() != "esag" {
        ways.push((format!("{default} (default)"), by_policy(sample, &rows, names, &default, rewarded)?));
    }
    let truth: Vec<f64> = rows.iter().map(|&row| sample.rewards[row]).collect();
    let mut catches = Vec::new();
    for k in [10, 30, 100, 300, 1000, 3000].into_iter().filter(|&k| 2 * k <= rows.len()) {
        let best = if rewarded { top(&truth, k) } else { top(&ways[ways.len() - 1].1, k) };
        for (name, values) in &ways {
            let chosen = top(values, k);
            let common = chosen.iter().filter(|row| best.binary_search(row).is_ok()).count();
            let reward = chosen.iter().map(|&row| truth[row]).sum::<f64>() / k as f64;
            let reward = rewarded.then_some(reward);
            catches.push(Catch { name: name.clone(), k, reward, caught: common as f64 / k as f64 });
        }
        if rewarded {
            let reward = best.iter().map(|&row| truth[row]).sum::<f64>() / k as f64;
            catches.push(Catch { name: "best possible".into(), k, reward: Some(reward), caught: 1.0 });
        }
    }
    Ok(catches)
}

/// The rows of the k largest values, ascending.
fn top(values: &[f64], k: usize) -> Vec<usize> {
    let mut top = TopK::new(k, 0);
    values.iter().enumerate().for_each(|(row, &value)| top.push(row as u64, value));
    let mut rows: Vec<usize> = top.sorted().iter().map(|ranked| ranked.item as usize).collect();
    rows.sort_unstable();
    rows
}

fn row_of(sample: &Sample, row: usize) -> &[f64] {
    &sample.scores[row * sample.width..(row + 1) * sample.width]
}

/// Values of rows by a policy that has learnt from the other half of them.
fn by_policy(
    sample: &Sample,
    rows: &[usize],
    names: &[String],
    spec: &Spec,
    rewarded: bool,
) -> Result<Vec<f64>, Error> {
    let mut values = vec![0.0; rows.len()];
    let known = || sample.rewards.iter().copied().filter(|r| !r.is_nan());
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let span = if high > low { high - low } else { 1.0 };
    for side in 0..2 {
        let mut jury = seat(spec, names)?;
        let table = |of: usize| -> Vec<f64> {
            let part = rows.iter().enumerate().filter(|(at, _)| at % 2 == of);
            part.flat_map(|(_, &row)| row_of(sample, row)).copied().collect()
        };
        let (mine, others) = (table(side), table(1 - side));
        jury.observe(&scores(&others, names.len())?)?;
        if rewarded {
            let part = rows.iter().enumerate().filter(|(at, _)| at % 2 != side);
            let examples: Vec<Example<'_>> = part
                .map(|(_, &row)| Example {
                    scores: row_of(sample, row),
                    reward: (sample.rewards[row] - low) / span,
                    receipt: None,
                })
                .collect();
            jury.learn(&examples)?;
        }
        let found = jury.values(&scores(&mine, names.len())?)?;
        let places = (0..rows.len()).filter(|at| at % 2 == side);
        places.zip(found).for_each(|(at, value)| values[at] = value);
    }
    Ok(values)
}

fn z_means(sample: &Sample, rows: &[usize], width: usize) -> Vec<f64> {
    let mut standard = Vec::new();
    for j in 0..width {
        let column = || rows.iter().map(|&row| row_of(sample, row)[j]).filter(|x| !x.is_nan());
        let count = column().count() as f64;
        let mean = column().sum::<f64>() / count;
        standard.push((mean, (column().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()));
    }
    let value = |&row: &usize| {
        let cells = row_of(sample, row).iter().zip(&standard);
        let present = cells.filter(|(x, (_, deviation))| !x.is_nan() && *deviation > 0.0);
        let (sum, count) = present.fold((0.0, 0.0), |(s, c), (x, (m, d))| (s + (x - m) / d, c + 1.0));
        sum / count
    };
    rows.iter().map(value).collect()
}
