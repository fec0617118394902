//! `jurybox prevalence`: the mean reward of all items, from those that were looked at.

use super::columns::{Columns, Labels, Special};
use super::range::range;
use super::state::read_jury;
use crate::output;
use jurybox_files::{May, Seated};
use jurybox_lab::{Period, Predictions, PrevalenceOptions, prevalence};
use std::path::PathBuf;

/// Estimate the mean reward of all rows (the harm rate, the mean quality), by group and period, from those that were looked at.
///
/// Rows are all items, with a reward where somebody looked and the probability with which somebody would. Rewards are weighed by one over
/// their probability, and what a jury expects of the other rows makes the interval narrower: it learns from the rewards at hand, for each
/// fifth of the rows from the other four (prediction-powered inference). Intervals hold the mean in 95 of 100 files or more where
/// the range of rewards is known (0 and 1, or as declared with --reward-range) and probabilities are not steep; others have a `?`.
///
/// Rates are as reviewers call them, unless there are golden items to correct them by. With --id,
/// rows of one id (a thread, an author) are taken together. Picks without a verdict are counted as
/// whatever their verdicts may be, where it is known which rows were picked.
///
///   jurybox prevalence month.csv --id post_id --reward harmful --probability p --by language --period created/week
///
/// Scores, rewards and probabilities of all rows are held in memory (8 bytes a number); the other columns are not.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// The column of rewards; empty where nobody looked
    #[arg(long, value_name = "COLUMN")]
    reward: String,
    #[command(flatten)]
    labels: Labels,
    /// The column with the probability of each row to be looked at; it may be empty where nobody did
    #[arg(long, value_name = "COLUMN")]
    probability: String,
    /// The column with the right answer of golden items, 1 or 0, empty for all others: rates are
    /// corrected by how often people err on them, and golden items count for nothing else
    #[arg(long, value_name = "COLUMN")]
    golden: Option<String>,
    /// The column that says who gave each verdict: each counts for as much of the errors as they
    /// judged of the other rows
    #[arg(long, value_name = "COLUMN", requires = "golden")]
    reviewer: Option<String>,
    /// Tell the values of this column apart, such as language
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Tell days, weeks or months of a column of dates apart, such as created/week
    #[arg(long, value_name = "COLUMN/day|week|month")]
    period: Option<Period>,
    /// A column that already is a prediction of the reward: no jury is asked
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["evaluators", "state"])]
    prediction: Option<String>,
    /// A state as written by `jurybox learn`, to predict by. It must not have learnt from these rewards
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The least and the greatest that a reward can be, such as 1,5 [default: 0,1 where all are 0 or 1]
    #[arg(long, value_parser = range, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    reward_range: Option<(f64, f64)>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if let (Some(by), Some(period)) = (&self.by, &self.period) {
            anyhow::ensure!(
                *by != period.column,
                "--by {by}: the same column as of --period; leave one of them out"
            );
        }
        let mut state = self.state.as_deref().map(read_jury).transpose()?;
        let known = state.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice());
        let table = self.columns.open(&Special {
            reward: Some(&self.reward),
            labels: self.labels.all(),
            probability: Some(&self.probability),
            reviewer: self.reviewer.as_ref(),
            aside: [&self.by, &self.golden]
                .into_iter()
                .flatten()
                .chain(self.period.as_ref().map(|period| &period.column))
                .cloned()
                .collect(),
            only: self.prediction.as_ref(),
            known,
            ..Special::default()
        })?;
        if let Some(jury) = &mut state {
            Seated::again(jury, table.taken().evaluators(), May::Lack)?;
        }
        let predictions = match (state, &self.prediction) {
            (Some(jury), _) => Predictions::State(Box::new(jury)),
            (None, Some(_)) => Predictions::Column,
            (None, None) => Predictions::default(),
        };
        let options = PrevalenceOptions {
            by: self.by.clone(),
            period: self.period.clone(),
            predictions,
            golden: self.golden.clone(),
            reward_range: self.reward_range,
        };
        let found = prevalence(&table, &options)?;
        if self.json {
            output::versioned("prevalence", &found)
        } else {
            output::text_to_stdout(&found.to_table())
        }
    }
}
