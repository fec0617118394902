//! `jurybox prevalence`: the mean reward of all items, estimated from reviewed ones.

use super::columns::{COLUMNS, ColumnArgs, CommandColumns, LabelArgs, OUTPUT};
use super::range::range;
use super::state::read_jury;
use crate::messages::{next, shell};
use crate::output;
use jurybox_files::{AllowedChange, EvaluatorChange};
use jurybox_lab::{Period, Predictions, PrevalenceOptions, prevalence};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # The harm rate of a month, from items reviewed with a known probability
  jurybox prevalence month.csv --id post_id --reward harmful --probability p
  # Week by week
  jurybox prevalence month.csv --id post_id --reward harmful --probability p --period created/week";

/// Estimate the mean reward of all rows (such as a harm rate) from reviewed rows
///
/// Rows are all items, with a reward where one was reviewed and with the probability of being
/// reviewed. Rewards are weighted by one over this probability; predictions of a jury for the other
/// rows make the interval narrower (prediction-powered inference, cross-fitted in five folds). 95%
/// intervals hold if the range of rewards is known and probabilities are not extreme; others are
/// marked `?`.
///
/// Rates count verdicts as reviewers give them, unless --golden corrects them. Rows with the same
/// --id (a thread, an author) count as one cluster. Picks without a verdict widen the interval by
/// every verdict they may get. Scores, rewards and probabilities are held in memory (8 bytes per
/// number).
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: ColumnArgs,
    /// The column of rewards, empty where nobody reviewed
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    reward: String,
    #[command(flatten)]
    labels: LabelArgs,
    /// The column with each row's probability of being reviewed; may be empty where nobody reviewed
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    probability: String,
    /// The column with the right answer of golden items, 1 or 0, else empty: rates are corrected by
    /// how often reviewers err on them; golden items count for nothing else
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    golden: Option<String>,
    /// The column that names who gave each verdict: weights each reviewer's errors by their share
    /// of the other verdicts
    #[arg(long, value_name = "COLUMN", requires = "golden", help_heading = COLUMNS)]
    reviewer: Option<String>,
    /// Estimate each value of this column apart, such as language
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    by: Option<String>,
    /// Estimate each day, week or month of a date column apart, such as created/week
    #[arg(long, value_name = "COLUMN/day|week|month", help_heading = COLUMNS)]
    period: Option<Period>,
    /// A column of predicted rewards, used instead of a jury
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["evaluators", "state"], help_heading = COLUMNS)]
    prediction: Option<String>,
    /// A state to predict with; it must not have learnt from these rewards
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The least and the greatest possible reward, such as 1,5 [default: 0,1 if all are 0 or 1]
    #[arg(long, value_parser = range, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    reward_range: Option<(f64, f64)>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if let (Some(by), Some(period)) = (&self.by, &self.period) {
            anyhow::ensure!(
                *by != period.column,
                "--by and --period both name `{by}`: leave one of them out"
            );
        }
        let mut state = self.state.as_deref().map(read_jury).transpose()?;
        let known = state.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice());
        let other: Vec<(String, &'static str)> = [
            (self.by.as_ref(), "group"),
            (self.golden.as_ref(), "golden"),
            (self.period.as_ref().map(|period| &period.column), "period"),
        ]
        .into_iter()
        .filter_map(|(column, purpose)| Some((column?.clone(), purpose)))
        .collect();
        let table = self.columns.open(&CommandColumns {
            reward: Some(&self.reward),
            labels: self.labels.all(),
            probability: Some(&self.probability),
            reviewer: self.reviewer.as_ref(),
            aside: other.iter().map(|(column, _)| column.clone()).collect(),
            called: other,
            only: self.prediction.as_ref(),
            known,
            ..CommandColumns::default()
        })?;
        if let Some(jury) = &mut state {
            EvaluatorChange::apply(jury, table.roles().evaluators(), AllowedChange::Subset)?;
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
        let estimate = prevalence(&table, &options)?;
        if self.json {
            output::versioned("prevalence", &estimate)?;
        } else {
            output::text_to_stdout(&estimate.to_table())?;
        }
        next(format_args!(
            "report {} --id {} --reward {} --probability {}",
            self.columns.files_argument(),
            self.columns.id_argument(),
            shell(&self.reward),
            shell(&self.probability)
        ));
        Ok(())
    }
}
