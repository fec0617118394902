//! Prevalence: the mean reward of *all* items, by group and period, from a reviewed sample.
//!
//! The mean of the reviewed rows is too high, because reviewers look at suspicious items. But every
//! row has a known probability of review, and a reward predicted by a jury. Take the mean of all
//! predictions, plus the mean error of the predictions on reviewed rows, weighted by one over the
//! probability. This sum is nearly unbiased whether the jury is right or not (prediction-powered
//! inference; the difference estimator of survey sampling). A better jury narrows the interval.
//!
//! - `rows` reads the table, and refuses samples that cannot represent all rows;
//! - `period` makes days, weeks and months of dates;
//! - `predict` predicts each row's reward, by default by a jury that has not learnt from it;
//! - `estimate` has the mean with its interval, `jackknife` the variance over items;
//! - `errors` corrects for reviewers' errors, by golden items;
//! - `coverage` tests the intervals on simulated tables.

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
use crate::rounded::RewardUnit;
use estimate::Row;
use jurybox::{Jury, Spec};
use jurybox_files::Table;
use rows::PrevalenceRows;
use std::collections::BTreeMap;

/// Options of [`prevalence`].
///
/// ```
/// use jurybox_lab::PrevalenceOptions;
/// let options = PrevalenceOptions { by: Some("language".into()), ..PrevalenceOptions::default() };
/// assert!(options.period.is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct PrevalenceOptions {
    /// Column whose values are the groups.
    pub by: Option<String>,
    /// Column of dates, with the length of a period.
    pub period: Option<Period>,
    /// Source of the predicted rewards.
    pub predictions: Predictions,
    /// Column of right answers, 1 or 0, for golden items; empty for all other rows. Error rates are
    /// measured on golden items. The mean is over the other rows, and is corrected for the errors.
    pub golden: Option<String>,
    /// Least and greatest possible reward. The default is 0 and 1 if all rewards are 0 or 1, else
    /// the range of the rewards in the table.
    pub reward_range: Option<(f64, f64)>,
}

/// The source of each row's predicted reward.
///
/// ```
/// use jurybox_lab::Predictions;
/// assert!(matches!(Predictions::default(), Predictions::CrossFitted(_)));
/// ```
#[derive(Debug, Clone)]
pub enum Predictions {
    /// Juries of this policy, by cross-fitting: each learns from about four fifths of the rewards
    /// and predicts the other rows.
    CrossFitted(Spec),
    /// A saved jury, which should have learnt from other rows only.
    State(Box<Jury>),
    /// The scores of the table's only evaluator.
    Column,
}

impl Default for Predictions {
    fn default() -> Self {
        Predictions::CrossFitted(Spec::default())
    }
}

/// Estimates the mean reward of all rows of a table, and of each group and period.
///
/// The table has a column of rewards and a column of probabilities of review. For unreviewed rows
/// the reward is empty, and the probability may be. Rows with one [id](jurybox_files::Roles::id),
/// such as that of a thread or an author, count as one item in the intervals.
///
/// ```
/// use jurybox_files::{Roles, Table};
/// use jurybox_lab::{PrevalenceOptions, prevalence};
///
/// // A random tenth of 1,000 posts was reviewed; 30% are harmful, and the score is a good guide.
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("month.csv");
/// let mut text = String::from("score,verdict,p\n");
/// for i in 0..1000_u32 {
///     let harmful = i * 7 % 10 < 3;
///     let score = f64::from(u8::from(harmful)) + f64::from(i * 379 % 1000) / 2000.0;
///     let is_reviewed = i * 713 % 1000 < 100;
///     let verdict = if is_reviewed { u8::from(harmful).to_string() } else { String::new() };
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
    let predictions = predict::predictions(&rows, table.roles().evaluators(), &options.predictions, range)?;
    warnings.extend(predictions.warning);
    if let Some(share) = unjudged.filter(|share| *share > 1e-9) {
        warnings.push(format!(
            "{:.0}% of the reviewed rows are by reviewers who judged no golden items of one kind: \
             error rates are those of the others",
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
    // In the order of periods and, within a period, of groups.
    let mut parts: BTreeMap<&rows::Segment, Vec<Row>> = BTreeMap::new();
    for (at, part) in rows.part_of.iter().enumerate() {
        parts.entry(&rows.parts[*part]).or_default().push(all[at]);
    }
    let line = |part: rows::Segment, rows: &[Row]| PrevalenceLine::of(part, rows, range, errors.as_ref());
    let lines = parts.into_iter().map(|(part, rows)| line(part.clone(), &rows)).collect();
    let all = line(rows::Segment::default(), &all);
    let repeated = rows.items.repeat().then(|| rows.items.count(rows.rewards.len()) as u64);
    Ok(Prevalence {
        reward: table.roles().reward().unwrap_or_default().into(),
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
        unit: RewardUnit::within(&rows.rewards, range),
    }
    .warned(range))
}

/// Error rates of the reviewers, and the share of rows whose reviewers judged no golden items of
/// one kind (right answer 0 or 1).
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
