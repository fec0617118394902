//! `jurybox report`: which evaluators to trust.

use super::columns::{COLUMNS, ColumnArgs, CommandColumns, LabelArgs, OUTPUT};
use super::fit_warnings::FitWarnings;
use super::names::{self, NameList};
use super::state::check_outputs;
use crate::messages::{next, shell, wrote};
use crate::output;
use anyhow::Context;
use jurybox_files::{AllowedChange, EvaluatorChange, State, report, without_contexts, write_whole};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const EXAMPLES: &str = "\
Examples:
  # Measured against verdicts
  jurybox report history.csv --id post_id --reward verdict
  # Without verdicts, as a page with figures
  jurybox report posts.csv --id post_id --out report.html";

/// Report which evaluators to trust, and how many items a top K would find
///
/// For each evaluator: gain, noise, weight, redundancy and reliability, most useful first. With
/// rewards the report measures against them; without, it uses the scores alone. It begins with
/// advice in two sentences. The page (--out) also has figures.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: ColumnArgs,
    /// The column of rewards, empty where there is no verdict
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    reward: Option<String>,
    #[command(flatten)]
    labels: LabelArgs,
    /// The column with each row's probability of being reviewed, as `pick --all` writes it: bounds
    /// the share that is missed
    #[arg(long, value_name = "COLUMN", requires = "reward", help_heading = COLUMNS)]
    probability: Option<String>,
    /// The column that names who gave each verdict: reports how severe and how noisy each reviewer
    /// is
    #[arg(long, value_name = "COLUMN", requires = "reward", help_heading = COLUMNS)]
    reviewer: Option<String>,
    /// Columns with the group of an item, such as its language: not evaluators; weights are those
    /// of all groups
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    context: Vec<NameList>,
    /// A column of rounds: not an evaluator
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    round: Option<String>,
    /// A state as written by `jurybox learn`: reports its weights with intervals, and its alarms
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Write the report as an HTML page
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let page_to_stdout = output::uses_stdout(&self.out, self.json)?;
        let (mut state, memory) = self
            .state
            .as_deref()
            .map(State::read)
            .transpose()?
            .map(|state| (state.jury, state.memory))
            .unzip();
        // The report shows the weights that all groups share.
        let contexts = match &mut state {
            Some(jury) => without_contexts(jury)?,
            None => Vec::new(),
        };
        let aside = [self.round.iter().cloned().collect(), names::all(&self.context), contexts].concat();
        let known = state.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice());
        let table = self.columns.open(&CommandColumns {
            reward: self.reward.as_ref(),
            labels: self.labels.all(),
            probability: self.probability.as_ref(),
            reviewer: self.reviewer.as_ref(),
            again: self.probability.is_some() || self.reviewer.is_some(),
            aside,
            known,
            memory: memory.as_ref(),
            ..CommandColumns::default()
        })?;
        check_outputs(&table, self.state.as_slice(), &self.out)?;
        if let Some(jury) = &mut state {
            EvaluatorChange::apply(jury, table.roles().evaluators(), AllowedChange::Subset)?;
        }
        let report = report(&table, state.as_ref())?.dated(now()?);
        if let Some(out) = &self.out {
            write_whole(out, &report.to_html())?;
        }
        if self.json {
            let warnings = state.map_or_else(FitWarnings::default, |jury| FitWarnings::of(&jury.fit()));
            output::versioned("report", warnings.after(&report))?;
        } else if !page_to_stdout {
            output::text_to_stdout(&report.to_table())?;
        }
        wrote(self.out.as_deref());
        let (files, id) = (self.columns.files_argument(), self.columns.id_argument());
        match (&self.reward, &self.state) {
            (Some(reward), None) => {
                next(format_args!("learn {files} --id {id} --reward {} --state model.json", shell(reward)));
            }
            (_, Some(state)) => {
                let state = shell(state.display());
                next(format_args!("pick FILE --id {id} --state {state} --out picks.csv"));
            }
            _ => next(format_args!("pick {files} --id {id} --state model.json --out picks.csv")),
        }
        Ok(())
    }
}

/// The current time; the time in the variable `SOURCE_DATE_EPOCH` if it is set, for reproducible
/// output.
fn now() -> anyhow::Result<SystemTime> {
    let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(SystemTime::now()) };
    let seconds =
        text.parse().with_context(|| format!("SOURCE_DATE_EPOCH is `{text}`, not a number of seconds"))?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).context("SOURCE_DATE_EPOCH is too late a time")
}
