//! Options that every command over files shares: which files, and which column is what.

use super::progress;
use crate::messages;
use jurybox::Evaluator;
use jurybox_files::{Roles, Table, expand};
use std::path::PathBuf;

/// Which column is what. Without --evaluators, every numeric column not named otherwise is one.
#[derive(clap::Args)]
pub(crate) struct Columns {
    /// CSV, JSON lines or Parquet files, plain, gz or zst; patterns such as 'day-*.csv.gz'; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// The evaluators' columns [default: all numeric columns not named otherwise]
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) evaluators: Vec<String>,
    /// Columns that name items
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) id: Vec<String>,
    /// Columns that are not evaluators
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    ignore: Vec<String>,
    /// Evaluators, or the reward, where low means high
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) invert: Vec<String>,
    /// How many threads read; the result is the same
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Columns that only some commands have.
#[derive(Default)]
pub(crate) struct Special<'a> {
    pub(crate) reward: Option<&'a String>,
    pub(crate) probability: Option<&'a String>,
    pub(crate) key: Option<&'a String>,
    /// Columns that have a meaning elsewhere, and are no evaluators here.
    pub(crate) aside: Vec<String>,
    /// Evaluators that a state knows.
    pub(crate) known: &'a [Evaluator],
    /// Columns where low means high beside those that were named so: a state remembers its reward's direction.
    pub(crate) invert: Vec<String>,
    /// Whether the rows will be read more than once.
    pub(crate) again: bool,
}

impl Columns {
    /// Opens the files, and says what was taken as what.
    pub(crate) fn open(&self, special: &Special<'_>) -> anyhow::Result<Table> {
        self.open_paths(&expand(&self.files)?, special)
    }

    /// Opens these files instead.
    pub(crate) fn open_paths(&self, paths: &[PathBuf], special: &Special<'_>) -> anyhow::Result<Table> {
        let roles = Roles {
            evaluators: self.evaluators.clone(),
            seated: special.known.to_vec(),
            id: self.id.clone(),
            ignore: [&self.ignore[..], &special.aside].concat(),
            invert: [&self.invert[..], &special.invert].concat(),
            reward: special.reward.cloned(),
            probability: special.probability.cloned(),
            key: special.key.cloned(),
        };
        let table = self.watched(Table::open(paths, &roles, special.again)?);
        self.say(format_args!("{}", table.taken()));
        for warning in table.warnings() {
            self.say(format_args!("warning: {warning}"));
        }
        Ok(table)
    }

    /// A table with the threads that were asked for, and with a bar where somebody looks.
    pub(crate) fn watched(&self, mut table: Table) -> Table {
        if let Some(threads) = self.threads {
            table = table.with_threads(threads);
        }
        if let Some(watch) = progress::on_terminal() {
            table = table.watched(watch);
        }
        table
    }

    /// A word to the person, on the terminal.
    #[expect(clippy::unused_self, reason = "said where the columns are at hand")]
    pub(crate) fn say(&self, what: std::fmt::Arguments<'_>) {
        messages::say(what);
    }
}

/// `name=value` with a number.
pub(crate) fn pair(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("write name=number, such as spam=0.2")?;
    let number: f64 = value.trim().parse().map_err(|_| format!("`{}` is not a number", value.trim()))?;
    // As far as scores may reach: their products stay finite.
    if number.abs() <= 1e100 {
        Ok((name.trim().into(), number))
    } else {
        Err(format!("`{}` is not usable; it must be a number within ±1e100", value.trim()))
    }
}
