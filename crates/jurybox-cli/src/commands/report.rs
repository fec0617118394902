//! `jurybox report`: which evaluators to trust.

use super::columns::{Columns, Labels, Special};
use super::concerns::Concerns;
use super::names::{self, Names};
use super::state::check_outputs;
use crate::output;
use anyhow::Context;
use jurybox_files::{May, Seated, State, report, without_contexts, write_whole};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Report which evaluators to trust: gain, noise, weight, redundancy, reliability, and what a top K would catch.
///
/// With rewards, the report measures against them; without, it says what the scores alone can tell. It begins with what to do,
/// in two sentences, and lists the evaluators in the order of their use. A page for others (--out) has pictures too.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// The column of rewards; empty where there is no verdict
    #[arg(long, value_name = "COLUMN")]
    reward: Option<String>,
    #[command(flatten)]
    labels: Labels,
    /// The column with the probability of each row to be looked at, as `pick` writes it of all: what was missed is then bounded
    #[arg(long, value_name = "COLUMN", requires = "reward")]
    probability: Option<String>,
    /// The column that says who gave each verdict: how severe and how noisy each of them is, beside the others
    #[arg(long, value_name = "COLUMN", requires = "reward")]
    reviewer: Option<String>,
    /// Columns that say which group an item belongs to, such as its language: no evaluators. What all groups share is reported
    #[arg(long, value_name = "COLUMNS")]
    context: Vec<Names>,
    /// The column of rounds, where there is one: no evaluator
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// A state as written by `jurybox learn`: its weights with their intervals, and what has changed
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Where to write the page
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let given_away = output::is_given_away(&self.out, self.json)?;
        let (mut state, memory) = self
            .state
            .as_deref()
            .map(State::read)
            .transpose()?
            .map(|state| (state.jury, state.memory))
            .unzip();
        // What all groups share is reported.
        let contexts = match &mut state {
            Some(jury) => without_contexts(jury)?,
            None => Vec::new(),
        };
        let aside = [self.round.iter().cloned().collect(), names::all(&self.context), contexts].concat();
        let known = state.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice());
        let table = self.columns.open(&Special {
            reward: self.reward.as_ref(),
            labels: self.labels.all(),
            probability: self.probability.as_ref(),
            reviewer: self.reviewer.as_ref(),
            again: self.probability.is_some() || self.reviewer.is_some(),
            aside,
            known,
            memory: memory.as_ref(),
            ..Special::default()
        })?;
        check_outputs(&table, self.state.as_slice(), &self.out)?;
        if let Some(jury) = &mut state {
            Seated::again(jury, table.taken().evaluators(), May::Lack)?;
        }
        let report = report(&table, state.as_ref())?.dated(now()?);
        if let Some(out) = &self.out {
            write_whole(out, &report.to_html())?;
        }
        if self.json {
            let concerns = state.map_or_else(Concerns::default, |jury| Concerns::of(&jury.fit()));
            return output::versioned("report", concerns.behind(&report));
        }
        if given_away { Ok(()) } else { output::text_to_stdout(&report.to_table()) }
    }
}

/// The time of day, or what `SOURCE_DATE_EPOCH` says it is: for whoever needs the same bytes again.
fn now() -> anyhow::Result<SystemTime> {
    let Ok(said) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(SystemTime::now()) };
    let seconds =
        said.parse().with_context(|| format!("SOURCE_DATE_EPOCH is `{said}`, not a number of seconds"))?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).context("SOURCE_DATE_EPOCH is beyond all time")
}
