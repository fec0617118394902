//! What `prevalence` says, as one document.

use super::errors::ErrorRates;
use super::estimate::{PrevalenceEstimate, Row};
use super::rows::Segment;
use crate::reward_range::RewardRange;
use jurybox::Interval;
use jurybox_draw::short;
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
    /// How many items the rows are about, where items have several rows: intervals take an item for
    /// one witness.
    pub items: Option<u64>,
    /// How often people err, by golden items; none where there are none, and rates are as reviewers
    /// call them.
    pub errors: Option<ErrorRates>,
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
    /// How many were picked and have no reward yet. The interval holds whatever those will be.
    pub outstanding: u64,
    /// How many rewards of equal weight would tell as much; where items have several rows, how many
    /// items.
    pub effective_labels: f64,
    /// The mean reward of all of them; none from fewer than two rewards. With golden items it is
    /// corrected by how often people err, and none where those errors leave nothing to be known.
    pub mean: Option<f64>,
    /// The lower end of its 95% interval; where nothing is known but the range of rewards, the end of that.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The mean with its interval as reviewers call it, where golden items correct it.
    pub uncorrected: Option<Interval>,
    /// The standard error of the mean as reviewers call it.
    pub standard_error: Option<f64>,
    /// How far the predictions are believed, from 0 (not at all) to 1.
    pub lambda: Option<f64>,
    /// Whether the interval can be believed. Not so where rewards may be larger than those seen, and too few were; where probabilities differ
    /// by more than tenfold; and where nobody was drawn among the rows of a group or period that were left to chance.
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
        // Without a figure there is still the range that rewards are in.
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

/// The interval that holds whatever the verdicts that are outstanding will be: from all of them at
/// the least to all at the most that a reward can be.
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
    /// With what the figures themselves give reason to warn of.
    pub(super) fn warned(mut self, range: RewardRange) -> Prevalence {
        let lines = || self.lines.iter().chain([&self.all]);
        let (is_doubtful, is_unknown) = (
            lines().any(|line| !line.reliable && line.mean.is_some()),
            lines().any(|line| line.uncorrected.is_some() && line.mean.is_none()),
        );
        if is_doubtful {
            self.warnings.push(format!(
                "intervals with a `?` cannot be reliable: rewards may be larger or smaller than the {} to {} that were seen and too few \
                 were to tell (declare what they can be: --reward-range); or probabilities differ by more than tenfold, so that a few \
                 rows stand for most; or none was drawn of those of a group or period that were left to chance. Look at more",
                short(range.low),
                short(range.high)
            ));
        }
        if is_unknown {
            self.warnings.push(
                "some rates cannot be corrected: by the golden items people call more of what is a no a yes than they call yes of all rows, \
                 or are not known to be better than a coin. More golden items would tell, of the kind that the rows are"
                    .into(),
            );
        }
        self
    }
}
