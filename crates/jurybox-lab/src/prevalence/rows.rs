//! What is read of each row, and what is refused.

use super::PrevalenceOptions;
use crate::error::Error;
use crate::replay::Items;
use jurybox_draw::counted;
use jurybox_files::{At, Records, Table, Want};
use std::collections::HashMap;
use std::path::PathBuf;

/// A row that was looked at is refused where fewer picks like it are to be expected in the whole file.
const IMPLAUSIBLE: f64 = 1e-6;
/// How many standard deviations chance is given before the weights are no longer those of these rows.
const CHANCE: f64 = 4.0;
/// What is left of weights whose probabilities were written with few digits.
const DIGITS: f64 = 0.01;

/// A period and a group; empty where nothing is told apart, or where the cell is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) period: Option<String>,
    pub(super) group: Option<String>,
}

/// The rows of a table.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// As they stand in the file, row after row.
    pub(super) scores: Vec<f64>,
    /// NaN where nobody looked.
    pub(super) rewards: Vec<f64>,
    /// NaN where it is not said, which it need not be where nobody looked.
    pub(super) probabilities: Vec<f64>,
    pub(super) items: Items,
    pub(super) parts: Vec<Part>,
    /// The part of each row; empty where there is but one.
    pub(super) part_of: Vec<usize>,
    path: PathBuf,
}

impl Rows {
    pub(super) fn read(table: &Table, options: &PrevalenceOptions) -> Result<Rows, Error> {
        let taken = table.taken();
        let columns: Vec<String> =
            options.period.iter().map(|period| &period.column).chain(&options.by).cloned().collect();
        let want = Want {
            reward: true,
            probability: true,
            ids: !taken.id().is_empty(),
            records: if columns.is_empty() { Records::None } else { Records::All },
            ..Want::default()
        };
        let mut rows = Rows { path: table.path().into(), ..Rows::default() };
        let (mut ids, mut known): (Vec<u64>, HashMap<Part, usize>) = (Vec::new(), HashMap::new());
        let mut failed = None;
        table.scan(
            want,
            |mut part| {
                let cells = if columns.is_empty() { None } else { Some(table.travelling(&part, &columns)?) };
                let scores = part.batch.scores().to_vec();
                let batch = &part.batch;
                let (rewards, probabilities) = (batch.rewards().to_vec(), batch.probabilities().to_vec());
                Ok((scores, rewards, probabilities, batch.ids().to_vec(), cells))
            },
            |at, (scores, rewards, probabilities, mine, cells)| {
                for row in 0..rewards.len() {
                    let place = || format!("row {}", at.row_in_file + row as u64 + 1);
                    if failed.is_none()
                        && let Some(reason) = unlikely(rewards[row], probabilities[row])
                    {
                        let column = taken.probability().unwrap_or_default();
                        let reason = format!("{}, column `{column}`: {reason}", place());
                        failed = Some(content(table, at, reason));
                    }
                    let Some(cells) = &cells else { continue };
                    let cell = |column: usize| Some(cells.text(row, column)).filter(|cell| !cell.is_empty());
                    let date = options.period.as_ref().and_then(|period| Some((period, cell(0)?)));
                    let period = date.as_ref().and_then(|(period, cell)| period.of(cell));
                    if let (Some((_, cell)), None, None) = (&date, &period, &failed) {
                        let reason = format!(
                            "{}, column `{}`: `{cell}` is not a date; write 2026-11-16, with or without the time of day, or the \
                             seconds since 1970",
                            place(),
                            columns[0]
                        );
                        failed = Some(content(table, at, reason));
                    }
                    let group = options.by.as_ref().and_then(|_| cell(columns.len() - 1));
                    let part = Part { period, group };
                    let number = known.len();
                    let number = *known.entry(part.clone()).or_insert_with(|| {
                        rows.parts.push(part);
                        number
                    });
                    rows.part_of.push(number);
                }
                rows.scores.extend(scores);
                rows.rewards.extend(rewards);
                rows.probabilities.extend(probabilities);
                ids.extend(mine);
                Ok(())
            },
        )?;
        if let Some(error) = failed {
            return Err(error);
        }
        rows.items = Items::of(&ids);
        if rows.labelled() == 0 {
            let column = taken.reward().unwrap_or_default().into();
            return Err(jurybox_files::Error::NoReward { path: table.path().into(), column }.into());
        }
        Ok(rows)
    }

    pub(super) fn labelled(&self) -> usize {
        self.rewards.iter().filter(|reward| !reward.is_nan()).count()
    }

    /// Whether the rewards can stand for these rows: each stands for one over its probability, and together for all.
    pub(super) fn checked(&self) -> Result<Vec<String>, Error> {
        let rows = self.rewards.len() as f64;
        let known = || self.rewards.iter().zip(&self.probabilities).filter(|(reward, _)| !reward.is_nan());
        let stand_for: f64 = known().map(|(_, p)| 1.0 / p).sum();
        let chance = CHANCE * known().map(|(_, p)| (1.0 - p) / (p * p)).sum::<f64>().sqrt() + DIGITS * rows;
        if let Some((_, p)) = known().find(|(_, p)| **p * rows < IMPLAUSIBLE) {
            let reason = format!("{p:e} is so small a probability that its row would outweigh all others");
            return Err(Error::Content { path: self.path.clone(), reason });
        }
        let sum = format!(
            "by their probabilities the {} stand for {stand_for:.0} rows, and there are {rows}",
            counted(self.labelled() as u64, "reward")
        );
        if stand_for - rows > chance {
            let reason = format!(
                "{sum}: rows that nobody looked at were left out of the file, or some rewards came otherwise than by those draws. \
                 Put the rows in; of a desk, write those that were drawn alone (`desk export --drawn`)"
            );
            return Err(Error::Content { path: self.path.clone(), reason });
        }
        let mut warnings = Vec::new();
        let certain = self.rewards.iter().zip(&self.probabilities).filter(|(r, p)| r.is_nan() && **p >= 1.0);
        let certain = certain.count() as u64;
        if rows - stand_for > chance || certain > 0 {
            let which = if certain > 0 {
                format!("; {certain} were certain to be looked at and have none")
            } else {
                String::new()
            };
            warnings.push(format!(
                "{sum}: verdicts are missing{which}. Where they are missing for a reason (late because they are hard, not written down \
                 where the answer was no), every figure is bent by it"
            ));
        }
        let repeated = self.items.repeated();
        if repeated > 0 {
            warnings.push(format!(
                "by the ids, several rows are about one item ({repeated} such items): every row counts by itself, and the intervals are \
                 too narrow by that"
            ));
        }
        Ok(warnings)
    }
}

/// What is wrong with a logged probability, if anything.
fn unlikely(reward: f64, probability: f64) -> Option<String> {
    const RULE: &str = "it must be above 0 and at most 1, and may be empty where nobody looked";
    if probability.is_nan() && !reward.is_nan() {
        Some(format!("there is a reward, but no probability with which the row was to be looked at; {RULE}"))
    } else if probability == 0.0 {
        Some(
            "a row that could not have been looked at: nothing can be said of all rows. Leave some picks to chance (`slots`, `eps`), \
             or leave such rows out and speak of the others"
                .into(),
        )
    } else if !probability.is_nan() && !(0.0..=1.0).contains(&probability) {
        Some(format!("{probability} is not the probability of a pick; {RULE}"))
    } else {
        None
    }
}

fn content(table: &Table, at: At, reason: String) -> Error {
    Error::Content { path: table.path_of(at.file).into(), reason }
}
