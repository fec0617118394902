//! Predicted rewards of all rows: by cross-fitted juries, by a saved jury, or from a column.

use super::Predictions;
use super::rows::PrevalenceRows;
use crate::error::Error;
use crate::reward_range::RewardRange;
use jurybox::toolbox::{hash_number, mean_of_present};
use jurybox::{Evaluators, Example, Fitted, Jury, Scores};
use jurybox_files::new_jury;

/// Number of folds of the cross-fitting.
const FOLDS: usize = 5;

/// A prediction for every row, within the reward range.
pub(super) struct RowPredictions {
    pub(super) values: Vec<f64>,
    pub(super) from: String,
    pub(super) warning: Option<String>,
}

pub(super) fn predictions(
    rows: &PrevalenceRows,
    evaluators: &Evaluators,
    how: &Predictions,
    range: RewardRange,
) -> Result<RowPredictions, Error> {
    let (mut values, from, mut warning) = match how {
        Predictions::Column => {
            let name = evaluators.names().next().unwrap_or_default();
            (rows.scores.clone(), format!("column `{name}`"), None)
        }
        Predictions::State(jury) => {
            let fitted = jury.fit();
            if !fitted.values_are_rewards() {
                let reason = "its values are not expected rewards: use a state of `adaptive` that \
                              has learnt from rewards";
                return Err(Error::setting("state", jury.spec(), reason));
            }
            let warning = "predictions are by a saved state: if it has learnt from these rewards, \
                           intervals are too narrow";
            let values = fitted.values(&Scores::new(&rows.scores, evaluators.len())?)?;
            (values, format!("a state of {}", jury.spec()), Some(warning.to_string()))
        }
        Predictions::CrossFitted(spec) => {
            let values = cross_fitted(rows, new_jury(spec, evaluators)?)?;
            (values, format!("{spec}, learnt from the rewards of other rows"), None)
        }
    };
    let gaps = values.iter().filter(|value| value.is_nan()).count();
    if gaps > 0 && warning.is_none() {
        warning = Some(format!("{gaps} rows have no prediction, and get the mean of the others"));
    }
    let usual = mean_of_present(values.iter().copied());
    for value in &mut values {
        *value = if value.is_nan() { usual } else { *value };
        *value = if value.is_nan() { range.low } else { value.clamp(range.low, range.high) };
    }
    Ok(RowPredictions { values, from, warning })
}

/// The prediction of each row is by a jury that has seen all scores, and the rewards of other
/// folds.
fn cross_fitted(rows: &PrevalenceRows, mut jury: Jury) -> Result<Vec<f64>, Error> {
    let width = jury.evaluators().len();
    jury.observe(&Scores::new(&rows.scores, width)?, 0)?;
    let folds = folds(rows);
    let row = |at: usize| &rows.scores[at * width..(at + 1) * width];
    let mut values = vec![f64::NAN; rows.rewards.len()];
    for fold in 0..FOLDS {
        let others = (0..folds.len()).filter(|&at| folds[at] != fold && !rows.rewards[at].is_nan());
        let examples: Vec<Example<'_>> =
            others.map(|at| Example { scores: row(at), reward: rows.rewards[at], receipt: None }).collect();
        let mut learnt = jury.clone();
        learnt.learn(&examples, 0)?;
        let mine: Vec<usize> = (0..folds.len()).filter(|&at| folds[at] == fold).collect();
        let table: Vec<f64> = mine.iter().flat_map(|&at| row(at)).copied().collect();
        let predicted = expected(&learnt.fit(), &table)?;
        mine.into_iter().zip(predicted).for_each(|(at, value)| values[at] = value);
    }
    Ok(values)
}

/// The values of rows if they are expected rewards, else 0 for each row.
fn expected(fitted: &Fitted, table: &[f64]) -> Result<Vec<f64>, Error> {
    let scores = fitted.scores(table)?;
    if fitted.values_are_rewards() { Ok(fitted.values(&scores)?) } else { Ok(vec![0.0; scores.items()]) }
}

/// The fold of each row, by a hash of the number of its item's first row.
///
/// If items have several rows, all rows of an item are in one fold. Otherwise rows with a reward
/// are dealt to the folds in turn, so that all juries have about equally many to learn from.
fn folds(rows: &PrevalenceRows) -> Vec<usize> {
    let item = |row: usize| hash_number(5, rows.items.of_row(row) as u64);
    let mut folds: Vec<usize> =
        (0..rows.rewards.len()).map(|row| (item(row) % FOLDS as u64) as usize).collect();
    let mut labelled: Vec<usize> = (0..folds.len()).filter(|&row| !rows.rewards[row].is_nan()).collect();
    if !rows.items.repeat() {
        labelled.sort_unstable_by_key(|&row| item(row));
        labelled.into_iter().enumerate().for_each(|(at, row)| folds[row] = at % FOLDS);
    }
    folds
}
