//! The result of a prevalence estimate as a document.

use super::errors::ErrorRates;
use super::estimate::{PrevalenceEstimate, Row};
use super::rows::Segment;
use crate::reward_range::RewardRange;
use crate::rounded::RewardUnit;
use jurybox::Interval;
use jurybox_draw::short;
use serde::Serialize;

/// The mean reward of all rows; the document of `jurybox prevalence --json`.
///
/// ```
/// fn highest(found: &jurybox_lab::Prevalence) -> Option<&str> {
///     let lines = found.lines.iter();
///     let known = lines.filter_map(|line| Some((line.mean?, line.group.as_deref()?)));
///     known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, group)| group)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prevalence {
    /// Name of the column of rewards.
    pub reward: String,
    /// Name of the column of groups.
    pub by: Option<String>,
    /// Column of dates and length of a period, such as `created/week`.
    pub period: Option<String>,
    /// Source of the predictions, as a phrase.
    pub predictions: String,
    /// The least and the greatest possible reward.
    pub reward_range: (f64, f64),
    /// Source of `reward_range`, as a phrase.
    pub reward_range_from: &'static str,
    /// Number of items, if some have several rows: intervals then count items, not rows.
    pub items: Option<u64>,
    /// Error rates of the reviewers, if there are golden items. Otherwise rates are uncorrected.
    pub errors: Option<ErrorRates>,
    /// All rows together.
    pub all: PrevalenceLine,
    /// Each period and group, in order; empty without either.
    pub lines: Vec<PrevalenceLine>,
    /// What limits the figures, as sentences.
    pub warnings: Vec<String>,
    #[serde(skip)]
    pub(super) unit: RewardUnit,
}

/// The mean reward of some rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrevalenceLine {
    /// The period. None without periods, or for rows without a date.
    pub period: Option<String>,
    /// The group. None without groups, or for rows with an empty cell.
    pub group: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Number of rows with a reward.
    pub labelled: u64,
    /// Number of picked rows without a reward yet. The interval holds whatever their rewards are.
    pub outstanding: u64,
    /// Number of rewards of equal weight with as much information. If items have several rows, it
    /// is a number of items.
    pub effective_labels: f64,
    /// Mean reward of all rows. None from fewer than two rewards, or if one item has all of them.
    /// With golden items it is corrected for errors of reviewers, and None if it cannot be.
    pub mean: Option<f64>,
    /// Lower end of the 95% interval. Without a mean, the lower end of a known reward range.
    pub low: Option<f64>,
    /// Upper end of the 95% interval. Without a mean, the upper end of a known reward range.
    pub high: Option<f64>,
    /// The mean with its interval before the correction. None without golden items or an estimate.
    pub uncorrected: Option<Interval>,
    /// Standard error of the uncorrected mean.
    pub standard_error: Option<f64>,
    /// Weight of the predictions, from 0 (not used) to 1.
    pub lambda: Option<f64>,
    /// Whether the interval is reliable. It is not if the reward range is unknown and rewards are
    /// too few or some are outstanding. It is not if probabilities below 1 differ more than
    /// tenfold, or if none of the rows with a probability below 1 was reviewed.
    pub reliable: bool,
}

impl PrevalenceLine {
    pub(super) fn of(part: Segment, rows: &[Row], range: RewardRange, errors: Option<&ErrorRates>) -> Self {
        let estimate = PrevalenceEstimate::of(rows, range);
        let called = estimate.map(|estimate| with_outstanding(estimate.interval, rows, range));
        let told = match errors {
            Some(errors) => called.and_then(|called| errors.corrected(called)),
            None => called,
        };
        // Without an estimate, the reward range still bounds the mean.
        let end = |of: fn(Interval) -> f64, end: f64| told.map(of).or(range.known.then_some(end));
        let outstanding = rows.iter().filter(|row| row.outstanding).count() as u64;
        let is_bounded =
            range.known || outstanding == 0 && estimate.is_some_and(|estimate| estimate.enough_labels);
        PrevalenceLine {
            period: part.period,
            group: part.group,
            rows: rows.len() as u64,
            labelled: rows.iter().filter(|row| !row.reward.is_nan()).count() as u64,
            outstanding,
            effective_labels: estimate.map_or(0.0, |estimate| estimate.effective_labels),
            mean: told.map(|told| told.mean),
            low: end(|told| told.low, range.low),
            high: end(|told| told.high, range.high),
            uncorrected: called.filter(|_| errors.is_some()),
            standard_error: estimate.map(|estimate| estimate.standard_error),
            lambda: estimate.map(|estimate| estimate.lambda),
            reliable: is_bounded && !is_uneven(rows),
        }
    }
}

/// The interval for every possible outcome of the outstanding verdicts: from all at the lowest
/// possible reward to all at the highest.
fn with_outstanding(interval: Interval, rows: &[Row], range: RewardRange) -> Interval {
    if rows.iter().all(|row| !row.outstanding) {
        return interval;
    }
    let with = |reward: f64| {
        let of = |row: &Row| Row { reward: if row.outstanding { reward } else { row.reward }, ..*row };
        let rows: Vec<Row> = rows.iter().map(of).collect();
        PrevalenceEstimate::of(&rows, range).map_or(interval, |estimate| estimate.interval)
    };
    let (least, most) = (with(range.low), with(range.high));
    Interval { low: interval.low.min(least.low), high: interval.high.max(most.high), ..interval }
}

/// Whether, among the rows left to chance (probability below 1), probabilities are very unequal or
/// no row was reviewed.
fn is_uneven(rows: &[Row]) -> bool {
    /// Largest ratio of probabilities.
    const STEEPEST: f64 = 10.0;
    let by_lot = || rows.iter().filter(|row| row.probability < 1.0);
    let ends = by_lot().fold((f64::INFINITY, 0.0_f64), |(least, most), row| {
        (least.min(row.probability), most.max(row.probability))
    });
    let is_blind = by_lot().next().is_some() && by_lot().all(|row| row.reward.is_nan());
    is_blind || ends.1 > STEEPEST * ends.0
}

impl Prevalence {
    /// Adds the warnings that follow from the figures.
    pub(super) fn warned(mut self, range: RewardRange) -> Prevalence {
        let lines = || self.lines.iter().chain([&self.all]);
        let (is_doubtful, is_unknown) = (
            lines().any(|line| !line.reliable && line.mean.is_some()),
            lines().any(|line| line.uncorrected.is_some() && line.mean.is_none()),
        );
        if is_doubtful {
            self.warnings.push(format!(
                "intervals with a `?` are not reliable: rewards outside of {} to {} may exist (if \
                 not, declare the range with --reward-range); or probabilities differ more than \
                 tenfold, so that a few rows stand for most; or none of the rows of a group or \
                 period that were left to chance was reviewed. Review more rows",
                short(range.low),
                short(range.high)
            ));
        }
        if is_unknown {
            self.warnings.push(
                "some rates cannot be corrected: by the golden items reviewers have more false \
                 positives than positives in all rows, or may be no better than a coin. Use more \
                 golden items, of the same kind as the rows"
                    .into(),
            );
        }
        self
    }
}
