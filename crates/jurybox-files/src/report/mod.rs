//! The report on the evaluators of a table: which to trust, by rewards if there are any.
//!
//! A pass computes the moments of every pair of columns, in twenty groups of rows, and draws a
//! sample of the rows. The moments give gains, noise, weights and redundancy; their intervals come
//! from leaving out one group at a time (grouped jackknife). The sample gives reliability curves
//! and what a top K would find.
//!
//! Rows are assumed to be drawn independently. If several rows have the same id, this is assumed of
//! items instead. All rows of an item are then in the same group, and the sample has one of them.

mod advice;
mod basis;
mod charts;
mod copies;
#[cfg(test)]
mod coverage;
mod curves;
mod duplicate_scores;
mod evaluator_groups;
mod evaluators;
mod few_rows;
mod gather;
mod id_counts;
mod jackknife;
mod missed;
mod page;
mod policy;
mod rank_correlation;
mod reviewers;
mod selection_bias;
mod summary;
mod tables;
mod text;
mod timestamp;
mod top_count;
mod warnings;

use crate::error::Error;
use crate::roles::spoken;
use crate::table::Table;
use gather::ReportData;
use jurybox::{Evaluators, Interval, Jury};
use serde::Serialize;
use std::time::SystemTime;

pub use advice::Advice;
pub use basis::Basis;
pub use missed::MissedEstimate;
pub use reviewers::ReviewerReport;

/// A report; the document of `jurybox report --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The files of the table.
    pub files: Vec<String>,
    /// The program that made the report, with its version.
    pub made_by: String,
    /// When the report was made, in UTC; set by [`Report::dated`].
    pub made_at: Option<String>,
    /// Advice in two sentences.
    pub summary: Vec<String>,
    /// Rows read.
    pub rows: u64,
    /// Rows with a reward.
    pub labelled: u64,
    /// The column of rewards, if there is one.
    pub reward: Option<String>,
    /// Rows in the sample, which gives the curves and the top K.
    pub sampled: usize,
    /// Rows of the sample that have the same scores as another row, in every column.
    pub duplicate_scores: usize,
    /// Items with several rows, by their ids. An estimate if there are more than 100,000 ids.
    pub repeated_items: u64,
    /// The source of gains, noise, weights and error correlations.
    pub from: Basis,
    /// One entry per evaluator.
    pub evaluators: Vec<EvaluatorReport>,
    /// Correlations of the evaluators' errors; 1 on the diagonal.
    pub error_correlation: Vec<Vec<f64>>,
    /// The number of independent evaluators that carry as much information as the evaluators
    /// related to the reward (without rewards: to each other). `None` if fewer than two are
    /// related.
    pub effective_evaluators: Option<f64>,
    /// What a top K would find, by several ways of ranking.
    pub top: Vec<TopCount>,
    /// The rewards found and possibly missed, if the table has the review probability of
    /// each row.
    pub missed: Option<MissedEstimate>,
    /// The reviewers, if a column names them and they can be compared.
    pub reviewers: Vec<ReviewerReport>,
    /// The weights by the policy of the state or, without a state, by the default policy.
    pub policy: PolicyReport,
    /// Warnings, in sentences.
    pub warnings: Vec<String>,
}

/// What a policy has learnt about the evaluators.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyReport {
    /// The policy with its options.
    pub name: String,
    /// The data from which it has learnt, in words.
    pub from: String,
    /// One per evaluator, in their order. Empty if the policy has no weights.
    pub weights: Vec<LearntWeight>,
    /// Drift alarms and diagnostics, in sentences.
    pub alarms: Vec<String>,
    /// Names of the evaluators with a drift alarm.
    pub changed: Vec<String>,
    /// Whether the weights are those of a state.
    #[serde(skip)]
    of_state: bool,
}

/// The weight that a policy gives an evaluator, per standard deviation of its scores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LearntWeight {
    /// The weight. For copies, the sum of their weights.
    pub mean: f64,
    /// Lower end of its interval, if the policy of a state has one. By the policy's own model, the
    /// intervals of all evaluators hold together with 95% probability. `None` for copies.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// The figures of one evaluator.
#[derive(Debug, Clone, Serialize)]
pub struct EvaluatorReport {
    /// Its name.
    pub name: String,
    /// The advice.
    pub advice: Advice,
    /// The share of rows with a score.
    pub coverage: f64,
    /// Whether missing scores count as 0, because all scores are the same, as those of a rule that
    /// writes 1 or nothing.
    #[serde(skip)]
    missing_is_zero: bool,
    /// Mean score. If all scores of an evaluator are the same number other than 0, missing ones
    /// count as 0, as in `adaptive`. This holds for all figures but the coverage and the top K.
    pub mean: f64,
    /// Standard deviation of the scores.
    pub deviation: f64,
    /// The slope of the score over the reward. Without rewards, over one standard deviation of the
    /// factor that the evaluators share.
    pub gain: Option<f64>,
    /// The score at reward 0, by the same line. Without rewards, the mean score.
    pub offset: Option<f64>,
    /// The standard deviation of the scores around that line.
    pub noise: Option<f64>,
    /// What one standard deviation of the score adds to the prediction, the other scores being
    /// equal. For copies, the sum of their weights.
    #[serde(serialize_with = "as_value")]
    pub weight: Option<Interval>,
    /// Correlation with the reward. The intervals of all evaluators hold together in about 95 of
    /// 100 reports. They do so less often with amounts or grades that are nearly all 0, and if the
    /// rarer of two rewards occurs less than ten times. The latter is one of the
    /// [warnings](Report::warnings).
    #[serde(serialize_with = "as_value")]
    pub correlation: Option<Interval>,
    /// Whether it is Spearman's rank correlation, because scores or rewards have heavy tails.
    pub rank_correlation: bool,
    /// The relation to the reward that the intervals of weight and correlation show.
    pub relation: Relation,
    /// Whether the curve shows a relation beyond chance although the correlation shows none.
    pub nonlinear: bool,
    /// Its copies: other evaluators with the same scores up to a linear map.
    pub copies: Vec<String>,
    /// -1 if it is an inverted copy of the evaluator that represents its copies, otherwise 1.
    #[serde(skip)]
    sign: f64,
    /// The reliability curve: mean rewards over tenths of the scores. Without rewards, mean
    /// standardised scores of the other evaluators.
    pub curve: Vec<CurveBin>,
}

/// Serialises an optional estimate as `{"value", "low", "high"}`.
#[expect(clippy::ref_option, reason = "the shape that serde asks for")]
fn as_value<S: serde::Serializer>(estimate: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Form {
        value: f64,
        low: f64,
        high: f64,
    }
    estimate.map(|Interval { mean: value, low, high }| Form { value, low, high }).serialize(serializer)
}

/// Serialises an estimate as `{"value", "low", "high"}`.
fn as_estimate<S: serde::Serializer>(estimate: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    as_value(&Some(*estimate), serializer)
}

/// The relation of an evaluator to the reward that the intervals show. Without rewards, its
/// relation to the other evaluators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Both rise together.
    With,
    /// One falls as the other rises.
    Against,
    /// Related only if the other scores are equal.
    BesideOthers,
    /// No linear relation beyond chance.
    NotSeen,
    /// There is no interval, as with too few rows or equal scores.
    Unknown,
}

/// A bin of a reliability curve.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CurveBin {
    /// Mean score.
    pub score: f64,
    /// Mean reward or, without rewards, mean standardised score of the other evaluators.
    pub reward: f64,
    /// Lower end of the 95% interval of `reward`.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of rows.
    pub rows: usize,
}

/// What the top K by one way of ranking would find, averaged over the orders of tied scores.
#[derive(Debug, Clone, Serialize)]
pub struct TopCount {
    /// The way of ranking.
    pub name: String,
    /// K.
    pub k: usize,
    /// Mean reward of the K rows, if there are rewards.
    pub reward: Option<f64>,
    /// Lower end of its 95% interval for new rows of the same kind and number. `None` for the best
    /// possible ranking, and for rewards with heavy tails, where the interval would be too narrow.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// The share of the K best rewards that is found. Without rewards, the share of the default
    /// policy's top K that is found.
    ///
    /// Among rows whose reward ties with the K-th best, all count alike; rows with the smallest
    /// reward never count. With binary rewards it is the share of "yes" among the K, or of all
    /// "yes" if there are fewer.
    pub found: f64,
    /// With two different rewards, the share of all rows with the larger one that is found.
    pub recall: Option<f64>,
}

/// Makes a report, with the weights that `state` has learnt if there is one.
///
/// ```
/// use jurybox_files::{Roles, Table, report};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// let rows: String =
///     (0..200).map(|i| format!("{},{},7,{}\n", i % 10, 20 - i % 10, i % 10)).collect();
/// std::fs::write(&path, format!("good,upside_down,constant,verdict\n{rows}"))?;
/// let roles = Roles { reward: Some("verdict".into()), ..Roles::default() };
/// let report = report(&Table::open(&[path], &roles, false)?, None)?;
/// assert!(report.warnings.iter().any(|w| w.contains("`constant`")));
/// assert!(report.warnings.iter().any(|w| w.contains("`upside_down`")));
/// assert!(report.to_html().starts_with("<!doctype html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn report(table: &Table, state: Option<&Jury>) -> Result<Report, Error> {
    let data = ReportData::read(table)?;
    if let Some(column) = table.roles().reward().filter(|_| data.labelled == 0) {
        return Err(Error::NoReward { path: table.path().into(), column: column.into() });
    }
    // Inverted scores are negated on reading, so that `-name` is treated like any other evaluator.
    let names: Vec<String> = table.roles().evaluators.as_slice().iter().map(spoken).collect();
    let (evaluators, errors, from) = evaluators::evaluators(&data, &names);
    let policy = match state {
        Some(jury) => policy::of_state(jury, &evaluators),
        None => policy::of_sample(&data.sample, &evaluators)?,
    };
    let duplicate_scores = duplicate_scores::DuplicateRows::among(&data.sample);
    let mut report = Report {
        files: table.sources.iter().map(|source| source.path().display().to_string()).collect(),
        made_by: concat!("jurybox ", env!("CARGO_PKG_VERSION")).into(),
        made_at: None,
        summary: Vec::new(),
        rows: data.rows,
        labelled: data.labelled,
        reward: table.roles().reward().map(Into::into),
        sampled: data.sample.rewards.len(),
        duplicate_scores: duplicate_scores.rows,
        repeated_items: data.repeated_items,
        from,
        effective_evaluators: evaluators::effective(&errors, &evaluators),
        error_correlation: errors,
        evaluators,
        policy,
        top: Vec::new(),
        missed: table.roles().probability().map(|_| MissedEstimate::of(table)).transpose()?,
        reviewers: table.roles().reviewer().map_or(Ok(Vec::new()), |_| reviewers::of(table, state))?,
        warnings: Vec::new(),
    };
    curves::curves(&data, &mut report);
    report.top = curves::top_counts(&data, &duplicate_scores, &Evaluators::new(&names)?)?;
    for (at, advice) in advice::advise(&report, &data).into_iter().enumerate() {
        report.evaluators[at].advice = advice;
    }
    report.summary = summary::sentences(&report, &data);
    report.warnings = warnings::warnings(&report, &data);
    report.warnings.extend(report.missed.iter().flat_map(MissedEstimate::warnings));
    if let Some(column) = table.roles().reviewer().filter(|_| report.reviewers.is_empty()) {
        report.warnings.push(format!(
            "No reviewer in `{column}` can be compared with another: this needs rewards that differ, and several verdicts each by two reviewers or more."
        ));
    }
    Ok(report)
}

impl Report {
    /// Sets the time at which the report was made. Reports do not read the clock.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, report};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n3,5\n")?;
    /// let report = report(&Table::open(&[path], &Roles::default(), false)?, None)?
    ///     .dated(std::time::UNIX_EPOCH);
    /// assert_eq!(report.made_at.as_deref(), Some("1970-01-01T00:00:00Z"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dated(self, moment: SystemTime) -> Report {
        Report { made_at: Some(timestamp::utc(moment)), ..self }
    }
}
