//! `jurybox learn`: a state from labelled rows, or from verdicts on picks.

use super::columns::{COLUMNS, ColumnArgs, LabelArgs, OUTPUT, warn};
use super::fit_warnings;
use super::learn_picks;
use super::names::{self, NameList};
use super::state::{LockWait, most_trusted, read_if_there, summary_with_warnings, write_back};
use crate::messages::{next, shell, wrote};
use crate::{advice, output};
use anyhow::{anyhow, bail};
use jurybox::Spec;
use jurybox_files::{
    Error, LearnHost, LearnNotice, LearnOptions, LearnResult, Roles, RowInput, State, StateMemory, Table,
    Warning, counted, expand, learn_rows,
};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # From rows that have a verdict
  jurybox learn history.csv --id post_id --reward verdict --state model.json
  # From verdicts on picks; run it again whenever more have come
  jurybox learn --picks picks.csv --verdicts verdicts.csv --id post_id --state model.json";

/// Learn from scores and rewards of files, or from verdicts on picks
///
/// Adds to the state if there is one, else creates it. Rewards teach which evaluators to trust;
/// some policies learn from scores alone, too. A file or a verdict that was learnt before is not
/// counted again.
///
/// With --picks, verdicts are joined by --id to the files that `jurybox pick` wrote. They may come
/// late and in parts: each is learnt once, with the scores, the probability and the time of its
/// pick.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    /// The state to create or to add to
    #[arg(long, value_name = "FILE")]
    pub(super) state: PathBuf,
    /// The column of rewards, empty where there is no verdict [with --picks: that of the state]
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    pub(super) reward: Option<String>,
    #[command(flatten)]
    pub(super) labels: LabelArgs,
    /// The column that names who gave each verdict: severity and noise of each reviewer are learnt
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    pub(super) reviewer: Option<String>,
    /// Columns with the group of an item, such as its language: weights may differ by group
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    context: Vec<NameList>,
    /// Files that `jurybox pick` wrote, or patterns
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["files", "evaluators", "drop", "round", "at", "policy", "long", "context"], requires = "id")]
    pub(super) picks: Vec<String>,
    /// Files with the verdicts on the picks, by the same --id [default: a column of the picks]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "picks")]
    pub(super) verdicts: Vec<String>,
    /// The column that names the round of each row; successive rows with one value are one round
    /// [default: each file is a round]
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    round: Option<String>,
    /// Which policy learns [default: that of the state, else adaptive]
    #[arg(long)]
    policy: Option<Spec>,
    /// The time of the first round, a whole number such as a timestamp; each further round is one
    /// later [default: one after the latest in the state]
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Learn again what the state has learnt before, and count it twice
    #[arg(long)]
    pub(super) again: bool,
    #[command(flatten)]
    lock: LockWait,
    /// Evaluators of the state to forget; all others must be in --evaluators
    #[arg(long, value_name = "NAMES", help_heading = COLUMNS)]
    drop: Vec<NameList>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let _lock = self.lock.acquire(&self.state)?;
        if self.reviewer.is_some() && self.reward.is_none() && self.picks.is_empty() {
            bail!("--reviewer names who gave the verdicts: pass the column of the verdicts with --reward");
        }
        // clap does not enforce `requires = "picks"` if files are given, because files conflict
        // with `--picks`.
        if !self.verdicts.is_empty() && self.picks.is_empty() {
            bail!(
                "--verdicts belong to picks: pass the output of `jurybox pick` with --picks; for other rows, put the verdicts into a column and name it with --reward"
            );
        }
        let before = read_if_there(&self.state)?;
        if !self.picks.is_empty() {
            let Some(before) = before else {
                bail!(
                    "{}: there is no such state; pass the one that `jurybox pick` wrote with the picks",
                    self.state.display()
                );
            };
            return learn_picks::run(self, &before);
        }
        let files = RowInput::Files(expand(&self.columns.files)?);
        let learnt = learn_rows(before.as_ref(), files, &self.learning(), &mut self.host(before.as_ref()));
        let Some(lesson) = learnt.map_err(|error| self.with_options(error))? else {
            if let Some(before) = before.filter(|_| self.json) {
                let summary = summary_with_warnings(&before.jury, &json!({"rows": 0}));
                output::versioned("learn", summary)?;
            }
            return Ok(());
        };
        write_back(&lesson.state, &self.state, |message| self.columns.say(message))?;
        self.tell(&lesson);
        lesson.notices().into_iter().for_each(|remark| self.host(None).notify(remark));
        fit_warnings::print(&lesson.state.jury.fit());
        let LearnResult { state, taught } = &lesson;
        if self.json {
            let counts = serde_json::to_value(taught)?;
            output::versioned("learn", summary_with_warnings(&state.jury, &counts))?;
        }
        wrote([&*self.state]);
        next(format_args!(
            "pick FILE --id {} --state {} --out picks.csv",
            self.columns.id_argument(),
            shell(self.state.display())
        ));
        Ok(())
    }

    fn learning(&self) -> LearnOptions {
        let roles = Roles {
            reward: self.reward.clone(),
            labels: self.labels.all(),
            key: self.round.clone(),
            reviewer: self.reviewer.clone(),
            context: names::all(&self.context),
            ..self.columns.roles()
        };
        LearnOptions {
            reading: self.columns.reading(),
            roles,
            policy: self.policy.clone(),
            at: self.at,
            drop: names::all(&self.drop),
            again: self.again,
        }
    }

    /// The host of learning, which prints to the terminal. `before` is the state as it was read.
    pub(super) fn host<'a>(&'a self, before: Option<&'a State>) -> TerminalHost<'a> {
        TerminalHost(&self.columns, before.map(|state| &state.memory))
    }

    fn tell(&self, LearnResult { state, taught }: &LearnResult) {
        let trusted = (taught.used > 0).then(|| most_trusted(&state.jury.fit())).flatten();
        self.columns.say(format_args!(
            "Learnt from {} in {} ({}), with `{}`.{}",
            counted(taught.used, "reward"),
            counted(taught.rows, "row"),
            counted(taught.rounds, "round"),
            state.jury.spec(),
            trusted.map_or(String::new(), |trusted| format!(" {trusted}"))
        ));
    }

    /// Rewords errors about `--drop` in terms of the command line. Other errors are passed on.
    fn with_options(&self, error: Error) -> anyhow::Error {
        let state = self.state.display();
        match error {
            Error::NotInState { evaluator } => anyhow!("--drop {evaluator}: {state} has no such evaluator"),
            Error::ForgottenAndNamed { evaluator } => {
                anyhow!("`{evaluator}` is in both --drop and --evaluators")
            }
            Error::AllForgotten => {
                anyhow!("--drop names every evaluator of {state}; learn a new state instead")
            }
            other => other.into(),
        }
    }
}

/// The host of learning: shows progress on the terminal, and prints notices as they come.
pub(super) struct TerminalHost<'a>(&'a ColumnArgs, Option<&'a StateMemory>);

impl LearnHost for TerminalHost<'_> {
    fn prepare(&self, table: Table, worth: fn(&Warning) -> bool) -> Table {
        self.0.watched(table).on_warning(move |warning| {
            if worth(warning) {
                warn(warning);
            }
        })
    }

    fn notify(&mut self, told: LearnNotice) {
        let warning = if told.is_warning() { "warning: " } else { "" };
        if let LearnNotice::Warning(warning) = &told {
            return warn(warning);
        }
        match advice::on_told(&told) {
            Some(advice) => self.0.say(format_args!("{warning}{told}; {advice}")),
            None => self.0.say(format_args!("{warning}{told}")),
        }
        if let LearnNotice::Columns(taken) = &told {
            self.0.warn_of_unknown(taken, self.1);
        }
    }
}
