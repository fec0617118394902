//! Which evaluators to trust: a report on a table of scores, with rewards where there are any.
//!
//! One pass takes in the moments of every pair of columns, in twenty groups of rows, and a sample of the rows. From the
//! moments come gains, noise, weights and redundancy; leaving out one group at a time gives the intervals (the jackknife);
//! from the sample come the curves and what a top K would catch. Rows are taken as drawn independently of each other; where ids
//! say that several are about one item, items are: the rows of one are in one group, and the sample has one row of each.

mod advice;
mod evaluator_groups;
mod top_count;
mod copies;
#[cfg(test)]
mod coverage;
mod timestamp;
mod few_rows;
mod gather;
mod id_counts;
mod jackknife;
mod policy;
mod missed;
mod page;
mod charts;
mod rank_correlation;
mod reviewers;
mod curves;
mod selection_bias;
mod evaluators;
mod summary;
mod tables;
mod text;
mod duplicate_scores;
mod warnings;

use crate::error::Error;
use crate::roles::spoken;
use crate::table::Table;
use gather::ReportData;
use jurybox::{Evaluators, Interval, Jury};
use serde::Serialize;
use std::time::SystemTime;

pub use advice::Advice;
pub use missed::MissedEstimate;
pub use reviewers::ReviewerReport;

/// A report; the document of `jurybox report --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The files that it is about.
    pub files: Vec<String>,
    /// What made it: the program and its version.
    pub made_by: String,
    /// When it was made, in universal time, where that was [said](Report::dated).
    pub made_at: Option<String>,
    /// What to do, in two sentences.
    pub summary: Vec<String>,
    /// Rows read.
    pub rows: u64,
    /// Rows with a reward.
    pub labelled: u64,
    /// The reward column, where one was named.
    pub reward: Option<String>,
    /// Rows in the sample from which the curves and the top K come.
    pub sampled: usize,
    /// Of these, rows whose scores another has too, in every column.
    pub duplicate_scores: usize,
    /// Items that several rows are about, by their ids; about as many where there are more than a hundred thousand ids.
    pub repeated_items: u64,
    /// Whether gains, noise, weights and error correlations come from rewards, or from the scores alone.
    pub from: &'static str,
    /// One entry per evaluator.
    pub evaluators: Vec<EvaluatorReport>,
    /// How the evaluators' errors go together: 1 on the diagonal.
    pub error_correlation: Vec<Vec<f64>>,
    /// How many independent evaluators those are worth, by their errors, that go with the reward (or with the others, without rewards); none
    /// of fewer than two.
    pub effective_evaluators: Option<f64>,
    /// What top K would catch under several ways of ranking.
    pub top: Vec<TopCount>,
    /// What was found and what may have been missed, where the table has the probability of each row to be looked at.
    pub missed: Option<MissedEstimate>,
    /// Those who judged, where a column names them and there are several.
    pub reviewers: Vec<ReviewerReport>,
    /// What a policy makes of the evaluators: that of the state where one was given, otherwise the default one.
    pub policy: PolicyReport,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// What a policy has learnt of the evaluators.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyReport {
    /// The policy with its options.
    pub name: String,
    /// What it learnt from.
    pub from: String,
    /// One per evaluator, in their order; empty where the policy does not weigh them.
    pub weights: Vec<LearntWeight>,
    /// Evaluators that are not what they were, in words.
    pub alarms: Vec<String>,
    /// Their names.
    pub changed: Vec<String>,
    /// Whether this is what a state has learnt.
    #[serde(skip)]
    of_state: bool,
}

/// The weight that a policy gives an evaluator, per standard deviation of its scores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LearntWeight {
    /// The weight. For evaluators that are one, what they add together.
    pub mean: f64,
    /// The lower end of its interval, where a state was given whose policy knows one: all of them hold together in 95 of
    /// 100 states, by the policy's own account. Without a state the rows at hand are judged by [`EvaluatorReport::weight`].
    /// None for evaluators that are one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// What is known of one evaluator.
#[derive(Debug, Clone, Serialize)]
pub struct EvaluatorReport {
    /// Its name.
    pub name: String,
    /// What to do about it.
    pub advice: Advice,
    /// The share of rows that it scored.
    pub coverage: f64,
    /// Whether its missing scores count as 0: it has only ever given one score, as a rule that writes 1 or nothing.
    #[serde(skip)]
    silence_is_read: bool,
    /// Mean score. An evaluator that has only ever given one score, other than 0, gave 0 where it gave none: so `adaptive`
    /// reads it, and all figures but the coverage.
    pub mean: f64,
    /// Standard deviation of its scores.
    pub deviation: f64,
    /// By how much its score rises with the reward (or with what the evaluators share, in its standard deviations).
    pub gain: Option<f64>,
    /// Its score where the reward is zero (or its mean score, without rewards).
    pub offset: Option<f64>,
    /// The spread of its scores around that line.
    pub noise: Option<f64>,
    /// What one standard deviation of its score adds to the prediction, the others being equal. For evaluators that are
    /// one, what they add together.
    #[serde(serialize_with = "as_value")]
    pub weight: Option<Interval>,
    /// Correlation with the reward. The intervals of all evaluators hold together in about 95 of 100 reports (in 91 with amounts or
    /// marks, nearly all of them 0); in fewer with a handful of the rarer of two rewards (83 to 86), of which [`Report::warnings`] warn.
    #[serde(serialize_with = "as_value")]
    pub correlation: Option<Interval>,
    /// Whether that is the correlation of ranks: where the scores or the rewards have heavy tails.
    pub rank_correlation: bool,
    /// What the two intervals say.
    pub relation: Relation,
    /// Where the intervals show no straight line of its own: whether its curve shows a relation beyond chance.
    pub nonlinear: bool,
    /// Others that are one with it: the same scores in other units.
    pub copies: Vec<String>,
    /// -1 where it is the first of those upside down.
    #[serde(skip)]
    sign: f64,
    /// Mean reward (or mean standardised score of the others) over tenths of its scores.
    pub curve: Vec<CurveBin>,
}

/// An estimate in a document: `{"value", "low", "high"}`.
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

/// The same of one that is always there.
fn as_estimate<S: serde::Serializer>(estimate: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    as_value(&Some(*estimate), serializer)
}

/// How an evaluator goes with the reward, or with the other evaluators where there are no rewards: what the intervals show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The two rise together.
    With,
    /// One falls where the other rises.
    Against,
    /// Not by itself, but with the other scores being equal.
    BesideOthers,
    /// No straight line beyond chance.
    NotSeen,
    /// Too little is known.
    Unknown,
}

/// A bin of a curve.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CurveBin {
    /// Mean score.
    pub score: f64,
    /// Mean of what is held against it.
    pub reward: f64,
    /// The lower end of its own 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Rows in it.
    pub rows: usize,
}

/// What the top K by one way of ranking would catch, on average over the orders in which tied scores could come.
#[derive(Debug, Clone, Serialize)]
pub struct TopCount {
    /// The way of ranking.
    pub name: String,
    /// K.
    pub k: usize,
    /// Mean reward of the K, where rewards are known.
    pub reward: Option<f64>,
    /// The lower end of its 95% interval, over other rows like these of which as many are ranked in the same way; none for the best possible,
    /// and none where rewards have heavy tails: there they held in fewer than 95 of 100 reports.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The share of the K best rewards among them; the default policy's K where rewards are not known. A row that ties with
    /// the K-th best is as good as any other that does, and rows with the smallest reward of all count for nothing: with
    /// yes and no, it is the share of the yes among the K, or of all the yes where there are fewer than K.
    pub found: f64,
    /// With two different rewards: the share of all rows with the larger one that is among the K.
    pub recall: Option<f64>,
}

/// Makes a report; with what `state` has learnt, where there is one.
///
/// ```
/// use jurybox_files::{Roles, Table, report};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// let rows: String = (0..200).map(|i| format!("{},{},7,{}\n", i % 10, 20 - i % 10, i % 10)).collect();
/// std::fs::write(&path, format!("good,upside_down,constant,verdict\n{rows}"))?;
/// let roles = Roles { reward: Some("verdict".into()), ..Roles::default() };
/// let report = report(&Table::open(&[path], &roles, false)?, None)?;
/// assert!(report.warnings.iter().any(|w| w.contains("`constant`")));
/// assert!(report.warnings.iter().any(|w| w.contains("`upside_down`")));
/// assert!(report.to_html().starts_with("<!doctype html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn report(table: &Table, state: Option<&Jury>) -> Result<Report, Error> {
    let gathered = ReportData::read(table)?;
    if let Some(column) = table.roles().reward().filter(|_| gathered.labelled == 0) {
        return Err(Error::NoReward { path: table.path().into(), column: column.into() });
    }
    // Scores are read upright, so that the report speaks of `-name` as of any other evaluator.
    let names: Vec<String> = table.roles().evaluators.as_slice().iter().map(spoken).collect();
    let (evaluators, errors, from) = evaluators::evaluators(&gathered, &names);
    let policy = match state {
        Some(jury) => policy::of_state(jury, &evaluators),
        None => policy::of_sample(&gathered.sample, &evaluators)?,
    };
    let duplicate_scores = duplicate_scores::DuplicateScores::among(&gathered.sample);
    let mut report = Report {
        files: table.sources.iter().map(|source| source.path().display().to_string()).collect(),
        made_by: concat!("jurybox ", env!("CARGO_PKG_VERSION")).into(),
        made_at: None,
        summary: Vec::new(),
        rows: gathered.rows,
        labelled: gathered.labelled,
        reward: table.roles().reward().map(Into::into),
        sampled: gathered.sample.rewards.len(),
        duplicate_scores: duplicate_scores.rows,
        repeated_items: gathered.repeated_items,
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
    curves::curves(&gathered, &mut report);
    report.top = curves::catches(&gathered, &duplicate_scores, &Evaluators::new(&names)?)?;
    for (at, advice) in advice::advise(&report, &gathered).into_iter().enumerate() {
        report.evaluators[at].advice = advice;
    }
    report.summary = summary::sentences(&report, &gathered);
    report.warnings = warnings::warnings(&report, &gathered);
    report.warnings.extend(report.missed.iter().flat_map(MissedEstimate::warnings));
    if let Some(column) = table.roles().reviewer().filter(|_| report.reviewers.is_empty()) {
        report.warnings.push(format!(
            "No reviewer in `{column}` can be compared with another: that takes rewards that differ, and several verdicts each by two reviewers or more."
        ));
    }
    Ok(report)
}

impl Report {
    /// The same, made at this moment: reports know no clock.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table, report};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n3,5\n")?;
    /// let report = report(&Table::open(&[path], &Roles::default(), false)?, None)?.dated(std::time::UNIX_EPOCH);
    /// assert_eq!(report.made_at.as_deref(), Some("1970-01-01T00:00:00Z"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dated(self, moment: SystemTime) -> Report {
        Report { made_at: Some(timestamp::utc(moment)), ..self }
    }
}
