//! Options that every command over files shares: which files, and which column is what.

use super::names::{self, Names, Pairs};
use super::progress;
use crate::{advice, messages};
use jurybox::Evaluator;
use jurybox_files::{Decimal, Format, Long, Reading, Remembered, Roles, Table, Taken, Warning, expand};
use std::path::PathBuf;

/// Columns that are named to somebody who has to choose one.
const NAMED: usize = 12;

/// Which column is what. Without --evaluators, every numeric column not named otherwise is one.
#[derive(clap::Args)]
pub(crate) struct Columns {
    /// CSV, JSON lines or Parquet files, plain, gz or zst; patterns such as 'day-*.csv.gz'; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// The evaluators' columns, separated by commas; a name with a comma in double quotes: 'spam,"abuse, strict"'; a field of nested
    /// JSON by its way: scores.gpt [default: all numeric columns not named otherwise, nor named or numbered like an id]
    #[arg(long, value_name = "COLUMNS")]
    evaluators: Vec<Names>,
    /// Columns that name items
    #[arg(long, value_name = "COLUMNS")]
    id: Vec<Names>,
    /// Columns that are not evaluators
    #[arg(long, value_name = "COLUMNS")]
    ignore: Vec<Names>,
    /// Evaluators, or the reward, where low means high
    #[arg(long, value_name = "COLUMNS")]
    invert: Vec<Names>,
    #[command(flatten)]
    written: Written,
    /// How many threads read; the result is the same
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// The heading of [`Written`] in the help. Named argument by argument: a heading of the whole struct would go on over the
/// arguments that a command has after it.
const WRITTEN: &str = "How the files are written";

/// How the files are written, where that cannot be told from them.
#[derive(clap::Args)]
struct Written {
    /// The format of every file: csv, jsonl or parquet [default: told by the first bytes and the name]
    #[arg(long, help_heading = WRITTEN, value_name = "FORMAT", value_parser = format)]
    input_format: Option<Format>,
    /// What separates the cells of CSV: a character, or `tab` [default: told by the first two lines]
    #[arg(long, help_heading = WRITTEN, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// CSV has no header: columns are named column1, column2 and so on
    #[arg(long, help_heading = WRITTEN)]
    no_header: bool,
    /// What stands before the decimals, `,` or `.` [default: a point, and a comma where it can be nothing else]
    #[arg(long, help_heading = WRITTEN, value_name = "CHARACTER")]
    decimal: Option<Decimal>,
    /// What else means that a score is missing, such as 'k.A.,-99', beside an empty cell, NA, N/A, #N/A, NaN, null, none, - and ?
    #[arg(long, help_heading = WRITTEN, value_name = "WORDS", allow_hyphen_values = true)]
    na: Vec<Names>,
    /// The files are long, one grade a row: the columns of the item, of who graded it, and of the grade. They are made wide in
    /// memory, 8 bytes for each item and judge; other columns travel along as their first value
    #[arg(long, help_heading = WRITTEN, value_name = "ITEM,JUDGE,GRADE", value_parser = long)]
    long: Option<Long>,
}

impl Written {
    fn reading(&self) -> Reading {
        Reading {
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

fn long(text: &str) -> Result<Long, String> {
    match &*text.parse::<Names>()? {
        [item, judge, grade] => Ok(Long { item: item.clone(), judge: judge.clone(), grade: grade.clone() }),
        _ => Err("write three columns, such as item,judge,grade".into()),
    }
}

/// Says what is to be known though nothing failed, and what can be done about it.
pub(crate) fn warn(warning: &Warning) {
    match advice::on_warning(warning) {
        Some(advice) => messages::warn(&format!("{warning}; {advice}")),
        None => messages::warn(&warning.to_string()),
    }
}

/// What verdicts that are words are worth, for every command that reads rewards.
#[derive(clap::Args)]
pub(crate) struct Labels {
    /// What a word in the reward column is worth, such as remove=1; once for each word: --label remove=1 --label keep=0
    #[arg(long = "label", value_name = "WORD=NUMBER")]
    labels: Vec<Pairs>,
}

impl Labels {
    pub(crate) fn all(&self) -> Vec<(String, f64)> {
        Pairs::all(&self.labels)
    }
}

/// Columns that only some commands have.
#[derive(Default)]
pub(crate) struct Special<'a> {
    pub(crate) reward: Option<&'a String>,
    pub(crate) probability: Option<&'a String>,
    pub(crate) key: Option<&'a String>,
    pub(crate) reviewer: Option<&'a String>,
    /// What words in the reward column are worth.
    pub(crate) labels: Vec<(String, f64)>,
    /// Columns that say which group an item belongs to.
    pub(crate) context: Vec<String>,
    /// The one column that is an evaluator here.
    pub(crate) only: Option<&'a String>,
    /// Columns that have a meaning elsewhere, and are no evaluators here.
    pub(crate) aside: Vec<String>,
    /// What those are, in a word.
    pub(crate) called: Vec<(String, &'static str)>,
    /// Evaluators that a state knows.
    pub(crate) known: &'a [Evaluator],
    /// What the state was taught with.
    pub(crate) memory: Option<&'a Remembered>,
    /// Whether the rows will be read more than once.
    pub(crate) again: bool,
}

impl Columns {
    /// The first flag that was given and is about scores.
    pub(crate) fn of_scores(&self) -> Option<&'static str> {
        let given =
            [("--evaluators", &self.evaluators), ("--ignore", &self.ignore), ("--invert", &self.invert)];
        given.into_iter().find(|(_, names)| !names.is_empty()).map(|(flag, _)| flag)
    }

    /// Opens the files, and says what was taken as what.
    pub(crate) fn open(&self, special: &Special<'_>) -> anyhow::Result<Table> {
        self.open_paths(&expand(&self.files)?, special)
    }

    /// The same of these files.
    pub(crate) fn open_paths(&self, paths: &[PathBuf], special: &Special<'_>) -> anyhow::Result<Table> {
        let roles = self.roles();
        let roles = Roles {
            evaluators: special.only.map_or(roles.evaluators, |only| vec![only.clone()]),
            seated: special.known.to_vec(),
            ignore: [&roles.ignore[..], &special.aside].concat(),
            called: special.called.clone(),
            reward: special.reward.cloned(),
            labels: special.labels.clone(),
            learnt_reward: special.memory.and_then(Remembered::reward).map(|reward| reward.name),
            probability: special.probability.cloned(),
            key: special.key.cloned(),
            reviewer: special.reviewer.cloned(),
            context: special.context.clone(),
            ..roles
        };
        // What only reading them shows is said when it is known.
        let table = Table::open_as(paths, &self.reading(), &roles, special.again)?;
        let table = self.watched(table).heard(warn);
        self.say(format_args!("{}", table.taken()));
        self.warn_of_unknown(table.taken(), special.memory);
        self.warn(&table);
        Ok(table)
    }

    /// The columns of these files, whose evaluators may be known, and nothing said of them; none where one of them can be read
    /// only once.
    pub(crate) fn found(
        &self,
        paths: &[PathBuf],
        known: &[Evaluator],
    ) -> anyhow::Result<Option<Vec<String>>> {
        if !paths.iter().all(|path| path.is_file()) {
            return Ok(None);
        }
        let roles = Roles { seated: known.to_vec(), ..self.roles() };
        let table = Table::open_as(paths, &self.reading(), &roles, false)?;
        Ok(Some(table.whole_columns().cloned().collect()))
    }

    /// What to say to somebody who has not named the one column that items are known by: what it is for, and what there is to choose from.
    pub(crate) fn which_id(&self) -> anyhow::Result<String> {
        let found = self.found(&expand(&self.files)?, &[])?.unwrap_or_default();
        let (like, others): (Vec<&String>, Vec<&String>) =
            found.iter().partition(|name| jurybox_files::names_items(name));
        let listed: Vec<&str> = like.iter().chain(&others).take(NAMED).map(|name| name.as_str()).collect();
        let listed =
            if listed.is_empty() { String::new() } else { format!(" (there are: {})", listed.join(", ")) };
        let none = if found.is_empty() || !like.is_empty() {
            ""
        } else {
            "; none of them looks like one: where no column is different in every row, add one with numbers"
        };
        Ok(format!(
            "items are known by one column: pass one --id{listed}; verdicts go by it, and a row that comes again under its id is the same item{none}"
        ))
    }

    /// Whether somebody has said who the evaluators are.
    pub(crate) fn names_evaluators(&self) -> bool {
        !self.evaluators.is_empty()
    }

    /// Which column is what, as far as it was said here.
    pub(crate) fn roles(&self) -> Roles {
        Roles {
            evaluators: names::all(&self.evaluators),
            id: self.id(),
            ignore: names::all(&self.ignore),
            invert: names::all(&self.invert),
            ..Roles::default()
        }
    }

    /// Says what is known before anything is read.
    #[expect(clippy::unused_self, reason = "said where the columns are at hand")]
    pub(crate) fn warn(&self, table: &Table) {
        table.warnings().iter().for_each(warn);
    }

    /// Says which columns a state leaves out that may be meant for evaluators: it has those of its first table, and nobody has said
    /// that these are all.
    #[expect(clippy::unused_self, reason = "said where the columns are at hand")]
    pub(crate) fn warn_of_unknown(&self, taken: &Taken, memory: Option<&Remembered>) {
        let unknown: Vec<String> = taken.unknown_to_the_jury().map(|name| format!("`{name}`")).collect();
        if unknown.is_empty() || !memory.is_some_and(Remembered::took_evaluators_by_rule) {
            return;
        }
        let [are, join] = if unknown.len() == 1 { ["is", "It joins"] } else { ["are", "They join"] };
        messages::warn(&format!(
            "{} {are} left out, because the state began without. {join} the evaluators when `jurybox learn` learns rows with all of them named by --evaluators; what is no evaluator is named by --ignore",
            unknown.join(", ")
        ));
    }

    /// How the files are written, as far as that was said.
    pub(crate) fn reading(&self) -> Reading {
        self.written.reading()
    }

    pub(crate) fn id(&self) -> Vec<String> {
        names::all(&self.id)
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
