//! Prevalence: the mean reward of *all* items, by group and period, from the few that people looked at.
//!
//! The mean of the rewards at hand is that of items worth a look, and far too high. Two things are known of all items: with which
//! probability each was to be looked at, and what a jury expects of it. The mean of what is expected, plus the mean by which rewards
//! that came differ from it, each weighed by one over its probability, is the mean of all, whether the jury is right or not
//! (prediction-powered inference; survey samplers call it the difference estimator). The better the jury, the narrower the interval.
//!
//! - `rows`: what is read of each row, and refused;
//! - `period`: days, weeks and months out of dates;
//! - `predict`: what a jury expects of each row that has not learnt from that row's reward;
//! - `estimate`: the mean with its interval, and `items`: where items have several rows;
//! - `errors`: how often people err, by golden items, and the mean corrected by it;
//! - `coverage`: how often the intervals hold what they claim, in worlds where the truth is known.

#[cfg(test)]
mod coverage;
mod errors;
mod estimate;
mod jackknife;
mod outcome;
mod period;
mod predict;
mod rows;
mod show;
#[cfg(test)]
mod tests;

pub use errors::{ErrorRate, ErrorRates};
pub use outcome::{Prevalence, PrevalenceLine};
pub use period::Period;

use crate::error::Error;
use crate::reward_range::RewardRange;
use estimate::Row;
use jurybox::{Jury, Spec};
use jurybox_files::Table;
use rows::PrevalenceRows;
use std::collections::BTreeMap;

/// How to estimate.
///
/// ```
/// let options = jurybox_lab::PrevalenceOptions { by: Some("language".into()), ..Default::default() };
/// assert!(options.period.is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct PrevalenceOptions {
    /// The column whose values are told apart.
    pub by: Option<String>,
    /// The column of dates, and how long a period is.
    pub period: Option<Period>,
    /// Where predictions come from.
    pub predictions: Predictions,
    /// The column of right answers, 1 or 0, of golden items, and empty for all others: how often
    /// people err is read off these, and the mean of the others is corrected by it.
    pub golden: Option<String>,
    /// The least and the greatest that a reward can be; else 0 and 1 where all are one of these.
    pub reward_range: Option<(f64, f64)>,
}

/// Where the prediction of each row's reward comes from.
///
/// ```
/// assert!(matches!(jurybox_lab::Predictions::default(), jurybox_lab::Predictions::CrossFitted(_)));
/// ```
#[derive(Debug, Clone)]
pub enum Predictions {
    /// A jury of this policy that has learnt from the rewards of the other rows at hand, in five parts.
    CrossFitted(Spec),
    /// A jury that has learnt elsewhere.
    State(Box<Jury>),
    /// The table has one evaluator, whose scores are the predictions.
    Column,
}

impl Default for Predictions {
    fn default() -> Self {
        Predictions::CrossFitted(Spec::default())
    }
}

/// The mean reward of all rows of a table, and of each group and period.
///
/// The table has a column of rewards, empty where nobody looked, and one of probabilities: how
/// likely it was that somebody would, which may be empty where nobody did. Where rows share an
/// [id](jurybox_files::Roles::id), such as that of a thread or an author, intervals take the rows
/// of an id for one witness.
///
/// ```
/// use jurybox_files::{Roles, Table};
/// use jurybox_lab::{PrevalenceOptions, prevalence};
///
/// // Of 1,000 posts every tenth was looked at, by lot; 30% are harmful, and the score nearly knows it.
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("month.csv");
/// let mut text = String::from("score,verdict,p\n");
/// for i in 0..1000_u32 {
///     let harmful = i * 7 % 10 < 3;
///     let score = f64::from(u8::from(harmful)) + f64::from(i * 379 % 1000) / 2000.0;
///     let verdict = if i * 713 % 1000 < 100 { u8::from(harmful).to_string() } else { String::new() };
///     text += &format!("{score},{verdict},0.1\n");
/// }
/// std::fs::write(&path, text)?;
/// let column = |name: &str| Some(name.to_string());
/// let roles = Roles { reward: column("verdict"), probability: column("p"), ..Roles::default() };
/// let found = prevalence(&Table::open(&[path], &roles, false)?, &PrevalenceOptions::default())?;
/// assert!((found.all.mean.unwrap() - 0.3).abs() < 0.02);
/// assert!(found.all.low.unwrap() < 0.3 && 0.3 < found.all.high.unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prevalence(table: &Table, options: &PrevalenceOptions) -> Result<Prevalence, Error> {
    let rows = PrevalenceRows::read(table, options)?;
    let range = RewardRange::of(&rows.rewards, options.reward_range)?;
    let errors = options.golden.as_deref().map(|column| error_rates(&rows, column, range)).transpose()?;
    let (errors, unjudged) = errors.unzip();
    let mut warnings = rows.checked()?;
    let predictions = predict::predictions(&rows, table.taken().evaluators(), &options.predictions, range)?;
    warnings.extend(predictions.warning);
    if let Some(share) = unjudged.filter(|share| *share > 1e-9) {
        warnings.push(format!(
            "{:.0}% of the rows that were looked at were judged by people without golden items of both kinds: the others stand for them",
            100.0 * share
        ));
    }
    let row = |at: usize| Row {
        reward: rows.rewards[at],
        probability: rows.probabilities[at],
        prediction: predictions.values[at],
        item: rows.items.repeat().then(|| rows.items.of_row(at)),
        outstanding: rows.outstanding(at),
    };
    let all: Vec<Row> = (0..rows.rewards.len()).map(row).collect();
    // In the order of periods, then of groups.
    let mut parts: BTreeMap<&rows::Segment, Vec<Row>> = BTreeMap::new();
    for (at, part) in rows.part_of.iter().enumerate() {
        parts.entry(&rows.parts[*part]).or_default().push(all[at]);
    }
    let line = |part: rows::Segment, rows: &[Row]| PrevalenceLine::of(part, rows, range, errors.as_ref());
    let lines = parts.into_iter().map(|(part, rows)| line(part.clone(), &rows)).collect();
    let all = line(rows::Segment::default(), &all);
    let repeated = rows.items.repeat().then(|| rows.items.count(rows.rewards.len()) as u64);
    Ok(Prevalence {
        reward: table.taken().reward().unwrap_or_default().into(),
        by: options.by.clone(),
        period: options.period.as_ref().map(ToString::to_string),
        predictions: predictions.from,
        reward_range: range.ends(),
        reward_range_from: range.from,
        items: repeated,
        errors,
        all,
        lines,
        warnings,
    }
    .warned(range))
}

/// How often people err, with the share of rows whose reviewers have judged no golden items.
fn error_rates(rows: &PrevalenceRows, column: &str, range: RewardRange) -> Result<(ErrorRates, f64), Error> {
    let are_binary = |mut values: Box<dyn Iterator<Item = f64> + '_>| values.all(|x| x == 0.0 || x == 1.0);
    let said = rows.golden.iter().flat_map(|one| [one.right, one.reward]);
    let looked_at = rows.rewards.iter().copied().filter(|reward| !reward.is_nan());
    if range.ends() != (0.0, 1.0) || !are_binary(Box::new(said.chain(looked_at))) {
        let reason =
            "errors are known of yes and no: rewards and right answers that are 1 or 0, and nothing else";
        return Err(Error::setting("golden", column, reason));
    }
    ErrorRates::of(&rows.golden, &rows.shares()).map_err(|reason| Error::setting("golden", column, reason))
}
