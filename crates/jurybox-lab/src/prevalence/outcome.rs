//! What `prevalence` says, as one document.

use super::PrevalenceOptions;
use super::estimate::{Estimate, Row};
use crate::range::Range;
use jurybox_draw::short;
use jurybox_files::Table;
use serde::Serialize;

/// The mean reward of all items; the document of `jurybox prevalence --json`.
///
/// ```
/// fn highest(found: &jurybox_lab::Prevalence) -> Option<&str> {
///     let known = found.lines.iter().filter_map(|line| Some((line.mean?, line.group.as_deref()?)));
///     known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, group)| group)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prevalence {
    /// The column of rewards.
    pub reward: String,
    /// The column whose values are told apart.
    pub by: Option<String>,
    /// The column of dates and the length of a period, such as `created/week`.
    pub period: Option<String>,
    /// Where predictions come from.
    pub predictions: String,
    /// The least and the greatest that a reward can be.
    pub reward_range: (f64, f64),
    /// Where `reward_range` is from.
    pub reward_range_from: &'static str,
    /// All rows together.
    pub all: PrevalenceLine,
    /// Each period and group, in their order; empty where nothing is told apart.
    pub lines: Vec<PrevalenceLine>,
    /// What a person should know before believing any of it.
    pub warnings: Vec<String>,
}

/// The mean reward of some rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrevalenceLine {
    /// Their period; none where there are no periods, or the row has no date.
    pub period: Option<String>,
    /// Their group; none where there are no groups, or the cell is empty.
    pub group: Option<String>,
    /// How many there are.
    pub rows: u64,
    /// How many have a reward.
    pub labelled: u64,
    /// How many rewards of equal weight would tell as much.
    pub effective: f64,
    /// The mean reward of all of them; none from fewer than two rewards.
    pub mean: Option<f64>,
    /// The lower end of its 95% interval; where nothing is known but the range of rewards, the end of that.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The standard error of the mean.
    pub standard_error: Option<f64>,
    /// How far the predictions are believed, from 0 (not at all) to 1.
    pub lambda: Option<f64>,
    /// Whether the interval can be believed. Not so where rewards may be larger than those seen, and too few were; where probabilities differ
    /// by more than tenfold; and where nobody was drawn among rows that were left to chance.
    pub trusted: bool,
}

impl PrevalenceLine {
    pub(super) fn of(period: Option<String>, group: Option<String>, rows: &[Row], range: Range) -> Self {
        let estimate = Estimate::of(rows, range);
        // Without a figure there is still the range that rewards are in.
        let end = |of: fn(&Estimate) -> f64, end: f64| match &estimate {
            Some(estimate) => Some(of(estimate)),
            None => range.known.then_some(end),
        };
        PrevalenceLine {
            period,
            group,
            rows: rows.len() as u64,
            labelled: rows.iter().filter(|row| !row.reward.is_nan()).count() as u64,
            effective: estimate.map_or(0.0, |estimate| estimate.effective),
            mean: estimate.map(|estimate| estimate.interval.mean),
            low: end(|estimate| estimate.interval.low, range.low),
            high: end(|estimate| estimate.interval.high, range.high),
            standard_error: estimate.map(|estimate| estimate.standard_error),
            lambda: estimate.map(|estimate| estimate.lambda),
            trusted: (range.known || estimate.is_some_and(|estimate| estimate.settled)) && !is_uneven(rows),
        }
    }
}

/// Whether few rows stand for many, or none for some: of those that were left to chance.
fn is_uneven(rows: &[Row]) -> bool {
    /// How many times the least probability the largest may be.
    const STEEPEST: f64 = 10.0;
    let by_lot = || rows.iter().filter(|row| row.probability < 1.0);
    let ends = by_lot().fold((f64::INFINITY, 0.0_f64), |(least, most), row| {
        (least.min(row.probability), most.max(row.probability))
    });
    let is_blind = by_lot().next().is_some() && by_lot().all(|row| row.reward.is_nan());
    is_blind || ends.1 > STEEPEST * ends.0
}

impl Prevalence {
    pub(super) fn new(
        table: &Table,
        options: &PrevalenceOptions,
        predictions: String,
        range: Range,
        all: &[Row],
        lines: Vec<PrevalenceLine>,
        mut warnings: Vec<String>,
    ) -> Prevalence {
        let all = PrevalenceLine::of(None, None, all, range);
        if lines.iter().chain([&all]).any(|line| !line.trusted && line.mean.is_some()) {
            warnings.push(format!(
                "intervals with a `?` cannot be trusted: rewards may be larger or smaller than the {} to {} that were seen and too few \
                 were to tell (declare what they can be: --reward-range); or probabilities differ by more than tenfold, so that a few \
                 rows stand for most; or none was drawn of those that were left to chance. Look at more",
                short(range.low),
                short(range.high)
            ));
        }
        Prevalence {
            reward: table.taken().reward().unwrap_or_default().into(),
            by: options.by.clone(),
            period: options.period.as_ref().map(ToString::to_string),
            predictions,
            reward_range: range.ends(),
            reward_range_from: range.from,
            all,
            lines,
            warnings,
        }
    }
}
