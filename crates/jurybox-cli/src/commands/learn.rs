//! `jurybox learn`: a state from files, or from the verdicts on picks.

use super::columns::{Columns, Labels, warn};
use super::concerns;
use super::names::{self, Names};
use super::state::{Turn, read_if_there, told, write_back};
use super::verdicts;
use crate::{advice, output};
use anyhow::{anyhow, bail};
use jurybox::Spec;
use jurybox_files::{
    Error, Given, Host, Learning, Lesson, Remembered, Roles, State, Table, Told, Warning, counted, expand,
    learn_rows,
};
use serde_json::json;
use std::path::PathBuf;

/// Learn from the scores of files and from the rewards where they have them, or from the verdicts on picks.
///
/// Adds to the state if the file is there already. Scores alone teach the policies that look at them; rewards teach the
/// rest. A state remembers which files it has learnt, and passes over those that come again.
///
/// With --picks, the verdicts are joined by --id to what `jurybox pick` wrote, in the same file or in others. They may come late
/// and in parts: each is learnt once, with the scores, the probability and the time of its pick.
///
///   jurybox learn monday.csv --reward verdict --state model.json
///
///   jurybox learn --picks 'picks-*.csv' --verdicts verdicts.csv --id post_id --reward verdict --state model.json
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) columns: Columns,
    /// The state to write, or to add to
    #[arg(long, value_name = "FILE")]
    pub(super) state: PathBuf,
    /// The column of rewards; empty where there is no verdict [with --picks: that of the state]
    #[arg(long, value_name = "COLUMN")]
    pub(super) reward: Option<String>,
    #[command(flatten)]
    pub(super) labels: Labels,
    /// The column that says who gave each verdict, beside that of the rewards: severity and noise of each are learnt, and a verdict
    /// counts for what it tells
    #[arg(long, value_name = "COLUMN")]
    pub(super) reviewer: Option<String>,
    /// Columns that say which group an item belongs to, such as its language: weights differ by group as far as the rewards say so.
    /// A state remembers them
    #[arg(long, value_name = "COLUMNS")]
    context: Vec<Names>,
    /// What `jurybox pick` wrote; patterns are fine
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["files", "evaluators", "drop", "round", "at", "policy", "long", "context"], requires = "id")]
    pub(super) picks: Vec<String>,
    /// The verdicts on the picks, with the same --id [default: a column of the picks themselves]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "picks")]
    pub(super) verdicts: Vec<String>,
    /// The column that names the round of each row: rows that follow each other with the same value are one round, and
    /// rounds are learnt in their order [default: each file is one round]
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// Which policy learns [default: that of the state, or the default policy]
    #[arg(long)]
    policy: Option<Spec>,
    /// The time of the first round, a whole number; each further round is one later. It
    /// can be a timestamp in any unit [default: one after the latest that the state has seen]
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Learn also what the state has learnt already, and count it twice
    #[arg(long)]
    pub(super) again: bool,
    #[command(flatten)]
    turn: Turn,
    /// Evaluators of the state to forget; without it, none that the state knows may be left out of --evaluators
    #[arg(long, value_name = "NAMES")]
    drop: Vec<Names>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let _lock = self.turn.with(&self.state)?;
        if self.reviewer.is_some() && self.reward.is_none() && self.picks.is_empty() {
            bail!("--reviewer says who gave the verdicts: pass --reward, the column that they are in");
        }
        // The parser does not ask for --picks where files stand in their way.
        if !self.verdicts.is_empty() && self.picks.is_empty() {
            bail!(
                "--verdicts are joined to what `jurybox pick` wrote: pass that with --picks; rows that nobody picked from are learnt with their verdicts in a column of their own, named by --reward"
            );
        }
        let before = read_if_there(&self.state)?;
        if !self.picks.is_empty() {
            let Some(before) = before else {
                bail!(
                    "{}: there is no such state; picks are learnt by the one that `jurybox pick` wrote",
                    self.state.display()
                );
            };
            return verdicts::run(self, &before);
        }
        let files = Given::Files(expand(&self.columns.files)?);
        let learnt = learn_rows(before.as_ref(), files, &self.learning(), &mut self.person(before.as_ref()));
        let Some(lesson) = learnt.map_err(|error| self.in_our_words(error))? else {
            return match before.filter(|_| self.json) {
                Some(before) => output::versioned("learn", told(&before.jury, &json!({"rows": 0}))),
                None => Ok(()),
            };
        };
        write_back(&lesson.state, &self.state, |what| self.columns.say(what))?;
        self.tell(&lesson);
        lesson.remarks().into_iter().for_each(|remark| self.person(None).tell(remark));
        concerns::tell(&lesson.state.jury.fit());
        let Lesson { state, taught } = &lesson;
        if self.json { output::versioned("learn", told(&state.jury, &json!(taught))) } else { Ok(()) }
    }

    fn learning(&self) -> Learning {
        let roles = Roles {
            reward: self.reward.clone(),
            labels: self.labels.all(),
            key: self.round.clone(),
            reviewer: self.reviewer.clone(),
            context: names::all(&self.context),
            ..self.columns.roles()
        };
        Learning {
            reading: self.columns.reading(),
            roles,
            policy: self.policy.clone(),
            at: self.at,
            drop: names::all(&self.drop),
            again: self.again,
        }
    }

    /// Whoever sits before the terminal.
    pub(super) fn person<'a>(&'a self, before: Option<&'a State>) -> Person<'a> {
        Person(&self.columns, before.map(|state| &state.memory))
    }

    fn tell(&self, Lesson { state, taught }: &Lesson) {
        self.columns.say(format_args!(
            "{} in {}, {} with a reward, {} of them learnt from, by {}",
            counted(taught.rows, "row"),
            counted(taught.rounds, "round"),
            taught.labelled,
            taught.used,
            state.jury.spec()
        ));
    }

    /// The error about an option that is of this command alone, by its name.
    fn in_our_words(&self, error: Error) -> anyhow::Error {
        let state = self.state.display();
        match error {
            Error::NotSeated { evaluator } => anyhow!("--drop {evaluator}: {state} knows no such evaluator"),
            Error::ForgottenAndNamed { evaluator } => {
                anyhow!("`{evaluator}` is named by both --drop and --evaluators")
            }
            Error::AllForgotten => {
                anyhow!("--drop names every evaluator of {state}; learn a new state instead")
            }
            other => other.into(),
        }
    }
}

/// Whoever sits before the terminal: sees a bar where there is one, and is told things as they are found.
pub(super) struct Person<'a>(&'a Columns, Option<&'a Remembered>);

impl Host for Person<'_> {
    fn hold(&self, table: Table, worth: fn(&Warning) -> bool) -> Table {
        self.0.watched(table).heard(move |warning| {
            if worth(warning) {
                warn(warning);
            }
        })
    }

    fn tell(&mut self, told: Told) {
        let warning = if told.is_warning() { "warning: " } else { "" };
        if let Told::Warning(warning) = &told {
            return warn(warning);
        }
        match advice::on_told(&told) {
            Some(advice) => self.0.say(format_args!("{warning}{told}; {advice}")),
            None => self.0.say(format_args!("{warning}{told}")),
        }
        if let Told::Taken(taken) = &told {
            self.0.warn_of_unknown(taken, self.1);
        }
    }
}
