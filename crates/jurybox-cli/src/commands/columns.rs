//! Options shared by the commands that read files: the files, their format and the roles of
//! columns.

use super::names::{self, NameList, NameNumbers};
use super::progress;
use crate::{advice, messages};
use jurybox::Evaluator;
use jurybox_files::{
    ColumnRoles, Decimal, Format, LongFormat, ReadOptions, Role, Roles, StateMemory, Table, Warning, expand,
};
use std::path::PathBuf;

/// The most columns that a message lists.
const LISTED: usize = 12;

/// The heading of the options that say which column is what.
pub(crate) const COLUMNS: &str = "Columns";
/// The heading of the options about how results are written.
pub(crate) const OUTPUT: &str = "Output";
const FILE_FORMAT: &str = "File format";

/// The input files and the roles of their columns.
#[derive(clap::Args)]
pub(crate) struct ColumnArgs {
    /// CSV, JSON lines or Parquet, plain, .gz or .zst; a pattern such as 'day-*.csv'; - for
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Columns of scores, such as 'spam,"abuse, strict",gpt.score' [default: numeric columns
    /// without another role that do not look like ids]
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    evaluators: Vec<NameList>,
    /// Columns that identify an item
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    id: Vec<NameList>,
    /// Columns that are not scores
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    ignore: Vec<NameList>,
    /// Evaluators, or the reward, whose low values mean high
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    invert: Vec<NameList>,
    #[command(flatten)]
    format: FileFormatArgs,
    /// Threads that read; results do not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// How the input files are written, where the program cannot tell.
///
/// Each option names its heading: a heading of the whole struct would also apply to the options
/// after it.
#[derive(clap::Args)]
struct FileFormatArgs {
    /// csv, jsonl or parquet [default: by content and name]
    #[arg(long, help_heading = FILE_FORMAT, value_name = "FORMAT", value_parser = format)]
    input_format: Option<Format>,
    /// Separator of CSV cells: a character, or `tab` [default: detected]
    #[arg(long, help_heading = FILE_FORMAT, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// CSV without a header: columns are called column1, column2, ...
    #[arg(long, help_heading = FILE_FORMAT)]
    no_header: bool,
    /// Decimal sign, `,` or `.` [default: detected]
    #[arg(long, help_heading = FILE_FORMAT, value_name = "CHARACTER")]
    decimal: Option<Decimal>,
    /// More words for a missing score, such as 'k.A.,-99', besides NA, #N/A, NaN, null, none, - and
    /// ?
    #[arg(long, help_heading = FILE_FORMAT, value_name = "WORDS", allow_hyphen_values = true)]
    na: Vec<NameList>,
    /// One grade per row: columns of item, judge and grade, pivoted in memory; other columns keep
    /// their first value
    #[arg(long, help_heading = FILE_FORMAT, value_name = "ITEM,JUDGE,GRADE", value_parser = long)]
    long: Option<LongFormat>,
}

impl FileFormatArgs {
    fn reading(&self) -> ReadOptions {
        ReadOptions {
            format: self.input_format,
            delimiter: self.delimiter,
            header: self.no_header.then_some(false),
            decimal: self.decimal.unwrap_or_default(),
            na: names::all(&self.na),
            long: self.long.clone(),
        }
    }
}

pub(crate) fn format(text: &str) -> Result<Format, String> {
    Format::of_name(&format!("x.{}", text.trim_start_matches('.')))
        .ok_or("write csv, jsonl or parquet".into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, &[byte]) if byte.is_ascii() && !b"\"\n\r".contains(&byte) => Ok(byte),
        _ => Err("write one character, such as ';', or tab".into()),
    }
}

fn long(text: &str) -> Result<LongFormat, String> {
    match &*text.parse::<NameList>()? {
        [item, judge, grade] => {
            Ok(LongFormat { item: item.clone(), judge: judge.clone(), grade: grade.clone() })
        }
        _ => Err("write three columns, such as item,judge,grade".into()),
    }
}

/// Prints a warning about a table, with advice.
pub(crate) fn warn(warning: &Warning) {
    match advice::on_warning(warning) {
        Some(advice) => messages::warn(&format!("{warning}; {advice}")),
        None => messages::warn(&warning.to_string()),
    }
}

/// The rewards of verdicts that are words, for commands that read a reward column.
#[derive(clap::Args)]
pub(crate) struct LabelArgs {
    /// Reward of a word in the reward column; repeat it per word: --label remove=1 --label keep=0
    #[arg(long = "label", value_name = "WORD=NUMBER", help_heading = COLUMNS)]
    labels: Vec<NameNumbers>,
}

impl LabelArgs {
    pub(crate) fn all(&self) -> Vec<(String, f64)> {
        NameNumbers::all(&self.labels)
    }
}

/// Roles of columns that a command gives besides those of [`ColumnArgs`].
#[derive(Default)]
pub(crate) struct CommandColumns<'a> {
    pub(crate) reward: Option<&'a String>,
    pub(crate) probability: Option<&'a String>,
    pub(crate) key: Option<&'a String>,
    /// The role under which `key` is shown.
    pub(crate) key_role: Role,
    pub(crate) reviewer: Option<&'a String>,
    /// Rewards of words in the reward column.
    pub(crate) labels: Vec<(String, f64)>,
    /// Columns with the group of an item, such as its language.
    pub(crate) context: Vec<String>,
    /// The only evaluator, where a command takes one column of predictions.
    pub(crate) only: Option<&'a String>,
    /// Columns that the command uses itself. They are not evaluators.
    pub(crate) aside: Vec<String>,
    /// Columns with the word for their use that messages show in place of "ignored".
    pub(crate) called: Vec<(String, &'static str)>,
    /// Evaluators of the state or the queue.
    pub(crate) known: &'a [Evaluator],
    /// The files and columns that the state has learnt from.
    pub(crate) memory: Option<&'a StateMemory>,
    /// Whether rows are read more than once.
    pub(crate) again: bool,
}

impl ColumnArgs {
    /// The first of `--evaluators`, `--ignore` and `--invert` that was given.
    pub(crate) fn of_scores(&self) -> Option<&'static str> {
        let given =
            [("--evaluators", &self.evaluators), ("--ignore", &self.ignore), ("--invert", &self.invert)];
        given.into_iter().find(|(_, names)| !names.is_empty()).map(|(flag, _)| flag)
    }

    /// Opens the files, and prints the roles of their columns.
    pub(crate) fn open(&self, special: &CommandColumns<'_>) -> anyhow::Result<Table> {
        self.open_paths(&expand(&self.files)?, special)
    }

    /// Opens these files in place of those on the command line, and prints the roles of their
    /// columns.
    pub(crate) fn open_paths(
        &self,
        paths: &[PathBuf],
        special: &CommandColumns<'_>,
    ) -> anyhow::Result<Table> {
        let roles = self.roles();
        let roles = Roles {
            evaluators: special.only.map_or(roles.evaluators, |only| vec![only.clone()]),
            learnt_evaluators: special.known.to_vec(),
            ignore: [&roles.ignore[..], &special.aside].concat(),
            ignored_as: special.called.clone(),
            reward: special.reward.cloned(),
            labels: special.labels.clone(),
            learnt_reward: special.memory.and_then(StateMemory::reward).map(|reward| reward.name),
            probability: special.probability.cloned(),
            key: special.key.cloned(),
            key_role: special.key_role,
            reviewer: special.reviewer.cloned(),
            context: special.context.clone(),
            ..roles
        };
        // Warnings that arise while rows are read are printed at once.
        let table = Table::open_as(paths, &self.reading(), &roles, special.again)?;
        let table = self.watched(table).on_warning(warn);
        self.say(format_args!("{}", table.roles()));
        self.warn_of_unknown(table.roles(), special.memory);
        self.warn(&table);
        Ok(table)
    }

    /// The columns of these files, without a message. None unless every path is a plain file: a
    /// pipe can be read only once.
    pub(crate) fn found(
        &self,
        paths: &[PathBuf],
        known: &[Evaluator],
    ) -> anyhow::Result<Option<Vec<String>>> {
        if !paths.iter().all(|path| path.is_file()) {
            return Ok(None);
        }
        let roles = Roles { learnt_evaluators: known.to_vec(), ..self.roles() };
        let table = Table::open_as(paths, &self.reading(), &roles, false)?;
        Ok(Some(table.whole_columns().cloned().collect()))
    }

    /// The error for a missing `--id`. It says what the option is for, and lists columns of the
    /// files.
    pub(crate) fn which_id(&self) -> anyhow::Result<String> {
        let found = self.found(&expand(&self.files)?, &[])?.unwrap_or_default();
        let (like, others): (Vec<&String>, Vec<&String>) =
            found.iter().partition(|name| jurybox_files::names_items(name));
        let listed: Vec<&str> = like.iter().chain(&others).take(LISTED).map(|name| name.as_str()).collect();
        let listed =
            if listed.is_empty() { String::new() } else { format!(" (there are: {})", listed.join(", ")) };
        let none = if found.is_empty() || !like.is_empty() {
            ""
        } else {
            "; none looks like an id: if no column is different in every row, add one with row numbers"
        };
        Ok(format!(
            "pass one --id, the column that identifies an item{listed}: verdicts are joined by it, and a row with a known id is the same item{none}"
        ))
    }

    /// Whether `--evaluators` was given.
    pub(crate) fn names_evaluators(&self) -> bool {
        !self.evaluators.is_empty()
    }

    /// The input files as arguments of a suggested command; `FILE` for standard input.
    pub(crate) fn files_argument(&self) -> String {
        let file = |file: &String| if file == "-" { "FILE".into() } else { messages::shell(file) };
        self.files.iter().map(file).collect::<Vec<_>>().join(" ")
    }

    /// The id column as an argument of a suggested command; `COLUMN` where none was named.
    pub(crate) fn id_argument(&self) -> String {
        match &self.id()[..] {
            [] => "COLUMN".into(),
            names => messages::shell(names.join(",")),
        }
    }

    /// The roles of columns given by these options.
    pub(crate) fn roles(&self) -> Roles {
        Roles {
            evaluators: names::all(&self.evaluators),
            id: self.id(),
            ignore: names::all(&self.ignore),
            invert: names::all(&self.invert),
            ..Roles::default()
        }
    }

    /// Prints the warnings that are known before any row is read.
    #[expect(clippy::unused_self, reason = "said where the columns are at hand")]
    pub(crate) fn warn(&self, table: &Table) {
        table.warnings().iter().for_each(warn);
    }

    /// Warns of numeric columns that the state does not know and that may be evaluators. There is
    /// no warning without a state, or if its evaluators were named by an option.
    #[expect(clippy::unused_self, reason = "said where the columns are at hand")]
    pub(crate) fn warn_of_unknown(&self, taken: &ColumnRoles, memory: Option<&StateMemory>) {
        let unknown: Vec<String> = taken.unknown_to_jury().map(|name| format!("`{name}`")).collect();
        if unknown.is_empty() || !memory.is_some_and(StateMemory::took_evaluators_by_rule) {
            return;
        }
        let are = if unknown.len() == 1 { "is" } else { "are" };
        messages::warn(&format!(
            "{} {are} not used: the state began without. To add evaluators, run `jurybox learn` with all of them in --evaluators; name other columns with --ignore",
            unknown.join(", ")
        ));
    }

    /// The options about the file format.
    pub(crate) fn reading(&self) -> ReadOptions {
        self.format.reading()
    }

    pub(crate) fn id(&self) -> Vec<String> {
        names::all(&self.id)
    }

    /// The table with `--threads`, and with a progress bar where standard error can redraw lines.
    pub(crate) fn watched(&self, mut table: Table) -> Table {
        if let Some(threads) = self.threads {
            table = table.with_threads(threads);
        }
        if let Some(watch) = progress::on_terminal() {
            table = table.on_progress(watch);
        }
        table
    }

    /// Prints a message.
    #[expect(clippy::unused_self, reason = "said where the columns are at hand")]
    pub(crate) fn say(&self, what: std::fmt::Arguments<'_>) {
        messages::say(what);
    }
}
