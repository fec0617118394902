//! The errors of reading, ranking, picking and learning rows, each with a stable code.
//!
//! Messages name the problem and its place. Advice that depends on options or arguments is left to
//! callers; they choose it by variant, code and fields, never by the message.

use crate::roles::{NotEvaluator, Role, spoken};
use crate::warning::OddColumn;
use jurybox::{Evaluator, Evaluators};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The error of this crate.
///
/// ```
/// use jurybox_files::{Error, RowPosition};
/// let place = RowPosition::Line(3);
/// let error = Error::Ragged { path: "scores.csv".into(), place, found: 2, expected: 4 };
/// assert_eq!(error.to_string(), "scores.csv, line 3: 2 cells, but the header has 4");
/// assert_eq!(error.code(), "ragged-row");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that does not exist.
    #[error("{}: no such file", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// A directory where a file was expected.
    #[error("{}: is a directory", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A pattern that matches no file.
    #[error("{pattern}: no file matches this pattern")]
    NoMatch {
        /// The pattern.
        pattern: String,
    },
    /// A failed operation on a file.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation, such as `read`.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file without any bytes.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// An output file whose name belongs to a format that cannot be written.
    #[error("{}: the name says {what}, which cannot be written: end it with .csv, .jsonl or .parquet", path.display())]
    ForeignOutput {
        /// The file.
        path: PathBuf,
        /// The format that the name belongs to.
        what: &'static str,
    },
    /// An input file of a kind that cannot be read.
    #[error("{}: this is {kind}, which cannot be read", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The kind of file.
        kind: ForeignKind,
    },
    /// A file with columns but no rows.
    #[error("{}: there are columns but no rows", path.display())]
    NoRows {
        /// The file.
        path: PathBuf,
        /// Its columns, where they are known.
        columns: Vec<String>,
    },
    /// A row with too few or too many cells.
    #[error("{}, {place}: {found} cells, but the header has {expected}", path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The number of its cells.
        found: usize,
        /// The number of the header's cells.
        expected: usize,
    },
    /// A cell that should be a number.
    #[error("{}, {place}, column `{column}`: `{value}` is not a number", path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column.
        column: String,
        /// The cell.
        value: String,
    },
    /// A column of scores or rewards in which too many cells are not numbers.
    #[error("{}, more than one in twenty: {}", .0.counted(), .0.named())]
    OddCells(Box<OddColumn>),
    /// A word that cannot stand for a verdict.
    #[error("label `{word}`: {why}")]
    Label {
        /// The word.
        word: String,
        /// The reason.
        why: &'static str,
    },
    /// A score or reward outside of ±1e100, or an infinite one.
    #[error("{}, {place}, column `{column}`: {value} is not usable; a score is a number within ±1e100, or empty if it is missing", path.display())]
    Infinite {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column.
        column: String,
        /// The cell.
        value: String,
    },
    /// Text in a file that is not UTF-8.
    #[error("{}, {place}: not valid UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
    },
    /// Text in an Arrow column that is not UTF-8.
    #[error("{}{}, column `{column}`: not valid UTF-8", path.display(), row.map_or(String::new(), |row| format!(", row {row}")))]
    NotText {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The row, unless the text is within a list or struct.
        row: Option<u64>,
    },
    /// A quoted cell without an end.
    #[error("{}, {place}: a quote is opened and never closed", path.display())]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// The first line of the record.
        place: RowPosition,
    },
    /// A record that is longer than the limit.
    #[error("{}, {place}: a record of more than {limit} bytes", path.display())]
    LongRecord {
        /// The file.
        path: PathBuf,
        /// The first line of the record.
        place: RowPosition,
        /// The limit in bytes.
        limit: usize,
    },
    /// A line that is not a JSON object.
    #[error("{}, {place}: not a JSON object: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The line.
        place: RowPosition,
        /// The parser's message.
        reason: String,
    },
    /// Two columns of the same name.
    #[error("{}: two columns are named `{column}` (columns {first} and {second})", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// Position of the first, from 1.
        first: usize,
        /// Position of the second, from 1.
        second: usize,
    },
    /// A column that does not exist in any file.
    #[error("{}: there is no column `{column}`; {}", path.display(), meant(nearest.as_deref(), columns))]
    UnknownColumn {
        /// The first file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
        /// All columns.
        columns: Vec<String>,
    },
    /// A table without any column that can be an evaluator.
    #[error("{}: no column can be an evaluator: {}", path.display(), left(others))]
    NoEvaluator {
        /// The file.
        path: PathBuf,
        /// The columns, and why each is not an evaluator.
        others: Vec<(String, NotEvaluator)>,
    },
    /// A file without a column of any of the evaluators.
    #[error("{}: it has no column of any of the evaluators {}", path.display(), evaluators.join(", "))]
    NoneOfTheEvaluators {
        /// The file.
        path: PathBuf,
        /// The evaluators.
        evaluators: Vec<String>,
    },
    /// A number that was set for an evaluator that the table does not have.
    #[error("there is no evaluator `{evaluator}`; {}", meant(nearest.as_deref(), evaluators))]
    UnknownEvaluator {
        /// The evaluator that was asked for.
        evaluator: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
        /// All evaluators.
        evaluators: Vec<String>,
    },
    /// Two numbers that were set for one evaluator.
    #[error("`{evaluator}` is set twice")]
    SetTwice {
        /// The evaluator.
        evaluator: String,
    },
    /// A weight or a noise level outside of ±1e100, or NaN.
    #[error("`{evaluator}`: {value:?} is not usable; it must be a number within ±1e100")]
    UnusableNumber {
        /// The evaluator.
        evaluator: String,
        /// The number.
        value: f64,
    },
    /// An evaluator without a number where every evaluator needs one.
    #[error("no value for the evaluator `{evaluator}`")]
    NoValue {
        /// The evaluator.
        evaluator: String,
    },
    /// An evaluator that a state has learnt in the opposite direction.
    #[error(
        "the state was learnt with high scores of `{column}` meaning high; the direction cannot be changed"
    )]
    DirectionChanged {
        /// The evaluator.
        column: String,
    },
    /// A column to invert that is neither an evaluator nor the reward.
    #[error("column `{column}` cannot be inverted: it is neither an evaluator nor the reward")]
    NotInvertible {
        /// The column.
        column: String,
    },
    /// A ranking or a pick of zero rows.
    #[error("k = 0: at least one row must be asked for")]
    ZeroRows,
    /// A review probability, or a reward, from which missed rewards cannot be estimated.
    #[error("{}, {place}, column `{column}`: {reason}", path.display())]
    BadProbability {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column of probabilities.
        column: String,
        /// The problem.
        reason: String,
    },
    /// A minimum reward that is not a finite number.
    #[error("minimum reward {min_reward}: not a finite number")]
    BadMinReward {
        /// The minimum reward.
        min_reward: f64,
    },
    /// A minimum reward where the values of rows are not expected rewards.
    #[error("{} not expected rewards: `adaptive` predicts them once it has learnt from rewards", by_what(policy.as_deref()))]
    NotRewards {
        /// The policy, or `None` for fixed weights.
        policy: Option<String>,
    },
    /// A command without input files.
    #[error("no file is named")]
    NoFiles,
    /// Standard input named more than once.
    #[error("standard input (`-`) is named twice, but can be read only once")]
    StdinTwice,
    /// A stream that has been read already.
    #[error("{}: it can be read only once, and was read already", path.display())]
    ReadOnce {
        /// The stream.
        path: PathBuf,
    },
    /// A column with two roles that exclude each other.
    #[error("column `{column}` cannot be both {one} and {other}")]
    TwoRoles {
        /// The column.
        column: String,
        /// One role.
        one: Role,
        /// The other role.
        other: Role,
    },
    /// A reward column without any value.
    #[error("{}: the reward column `{column}` is empty in every row; nothing can be learnt or measured from it", path.display())]
    NoReward {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A file that ends too early.
    #[error("{}: {what} ends early; the file is truncated or is still being written", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The part that ends early.
        what: &'static str,
    },
    /// A file that has changed since it was opened.
    #[error("{}: the file changed while it was being read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// More columns than a table may have.
    #[error("{}: there are more than {limit} columns, the most that a table may have", path.display())]
    TooManyColumns {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// A long table that is too large to be made wide in memory.
    #[error("{}: {items} items by {judges} judges are too many to be held in memory as a wide table", path.display())]
    TooWide {
        /// The first file.
        path: PathBuf,
        /// Items so far.
        items: u64,
        /// Judges so far.
        judges: u64,
    },
    /// A Parquet file that cannot be read.
    #[error("{}: cannot be read as Parquet: {reason}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The reader's message.
        reason: String,
    },
    /// Arrow arrays that cannot be used.
    #[error("{}: {reason}", path.display())]
    Arrow {
        /// The name of the table.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// Rows that were read without all requested cells: a defect of this crate.
    #[error("{}: {rows} rows came with {count} {what}: this is a defect of the reader", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The kind of cells.
        what: &'static str,
        /// The number of these cells.
        count: usize,
        /// The number of rows.
        rows: usize,
    },
    /// An output file that is also an input file.
    #[error("{}: this would overwrite {}, which is an input", path.display(), input.display())]
    Overwrites {
        /// The output file.
        path: PathBuf,
        /// The input file.
        input: PathBuf,
    },
    /// A file whose lock another process did not release in time.
    #[error("{}: another process has been working on it for {seconds} s", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The seconds waited.
        seconds: u64,
    },
    /// A reward other than the one that the state has learnt.
    #[error("the state was learnt with the reward `{}`, not with `{}`", spoken(learnt), spoken(asked))]
    OtherReward {
        /// The reward of the state.
        learnt: Box<Evaluator>,
        /// The reward that was asked for.
        asked: Box<Evaluator>,
    },
    /// States to merge that have learnt from the same files or rounds, which would count twice.
    #[error("{}: {shared} of its files and rounds are in the other states as well", path.display())]
    SharedHistory {
        /// The state.
        path: PathBuf,
        /// The number of shared files and rounds.
        shared: usize,
    },
    /// A policy, or policy options, other than those of the state.
    #[error("the state was learnt by `{learnt}`, not by `{asked}`")]
    OtherPolicy {
        /// The policy of the state.
        learnt: String,
        /// The policy that was asked for.
        asked: String,
    },
    /// A table whose evaluators are not those of the state.
    #[error("the state was learnt over the evaluators {learnt}; this table has {here}")]
    OtherEvaluators {
        /// The evaluators of the state.
        learnt: Box<Evaluators>,
        /// The evaluators of the table.
        here: Box<Evaluators>,
    },
    /// An evaluator of the state that is neither among the named evaluators nor named to be
    /// dropped.
    #[error(
        "the state would forget `{evaluator}`, which it has learnt: it is not among the named evaluators"
    )]
    WouldForget {
        /// The evaluator.
        evaluator: String,
    },
    /// An evaluator to drop that the state does not have.
    #[error("there is no evaluator `{evaluator}` to drop")]
    NotInState {
        /// The evaluator.
        evaluator: String,
    },
    /// An evaluator that is named both to be used and to be dropped.
    #[error("`{evaluator}` is named both as an evaluator and as one to drop")]
    ForgottenAndNamed {
        /// The evaluator.
        evaluator: String,
    },
    /// All evaluators of a state are to be dropped.
    #[error("every evaluator of the state would be dropped; learn a new state instead")]
    AllForgotten,
    /// An empty id where every row needs one.
    #[error("{}, {place}: there is no id in column `{column}`", path.display())]
    NoId {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column of ids.
        column: String,
    },
    /// An id stored as a floating-point number that is too large to be exact.
    #[error(
        "{}, {place}: the id {value} in column `{column}` is a floating-point number too large to be exact", path.display()
    )]
    RoundedId {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column of ids.
        column: String,
        /// The id as it is stored.
        value: String,
    },
    /// A file to learn from, although the state observed its rows when it picked from them.
    #[error("{}: the state has picked from these rows, and would count them twice", path.display())]
    PickedFrom {
        /// The file.
        path: PathBuf,
    },
    /// Picks given as plain rows, so that their receipts would not be used.
    #[error("{}: these are picks, with their receipts in column `{column}`", path.display())]
    UnexpectedPicks {
        /// The file.
        path: PathBuf,
        /// The column of receipts.
        column: String,
    },
    /// A column that `pick` wrote, named as the column of verdicts.
    #[error("column `{column}` was written by `pick` and holds no verdicts")]
    NotAVerdict {
        /// The column.
        column: String,
    },
    /// A file of verdicts without the column in which they should be.
    #[error("{}: there is no column `{column}`, in which the verdicts should be", path.display())]
    NoVerdictColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A table that `pick` did not write, given as picks.
    #[error("{}: these are not picks: there is no column `{column}`", path.display())]
    NotPicks {
        /// The file.
        path: PathBuf,
        /// The missing column.
        column: &'static str,
    },
    /// A changed cell in a table of picks.
    #[error("{}, {place}, column `{column}`: `{value}` is not what `pick` wrote", path.display())]
    BadPick {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column.
        column: String,
        /// The cell.
        value: String,
    },
    /// A pick whose verdict cannot be learnt.
    #[error("{}, {place}, item `{id}`: {reason}", path.display())]
    Verdict {
        /// The file of the pick.
        path: PathBuf,
        /// The row of the pick.
        place: RowPosition,
        /// The id of the item.
        id: String,
        /// The problem.
        reason: String,
    },
    /// Work that the caller stopped.
    #[error("stopped before the end")]
    Stopped,
    /// A replay that is not possible.
    #[error("{0}")]
    Usage(String),
    /// An error of the `jurybox` crate.
    #[error(transparent)]
    Jury(#[from] jurybox::Error),
    /// A state file that cannot be used.
    #[error("{}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: jurybox::Error,
    },
}

/// A kind of file that cannot be read.
///
/// ```
/// use jurybox_files::ForeignKind;
/// assert_eq!(ForeignKind::Compressed("xz").to_string(), "compressed by xz");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForeignKind {
    /// A spreadsheet, such as "an Excel workbook".
    Spreadsheet(&'static str),
    /// A zip archive.
    ZipArchive,
    /// A compressed file; the field is the program that decompresses it.
    Compressed(&'static str),
    /// Another kind, such as "an ORC file".
    Other(&'static str),
}

impl fmt::Display for ForeignKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignKind::Spreadsheet(what) | ForeignKind::Other(what) => f.write_str(what),
            ForeignKind::ZipArchive => f.write_str("a zip archive"),
            ForeignKind::Compressed(by) => write!(f, "compressed by {by}"),
        }
    }
}

/// The position of a row in a file.
///
/// ```
/// assert_eq!(jurybox_files::RowPosition::Row(7).to_string(), "row 7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowPosition {
    /// Line number in a text file, from 1.
    Line(u64),
    /// Row number in a table, from 1.
    Row(u64),
}

impl RowPosition {
    /// The position `by` lines or rows further down.
    pub(crate) fn moved_down(self, by: u64) -> RowPosition {
        match self {
            RowPosition::Line(n) => RowPosition::Line(n + by),
            RowPosition::Row(n) => RowPosition::Row(n + by),
        }
    }
}

impl fmt::Display for RowPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowPosition::Line(n) => write!(f, "line {n}"),
            RowPosition::Row(n) => write!(f, "row {n}"),
        }
    }
}

/// A hint at the right name: the most similar one, or else all names.
fn meant(nearest: Option<&str>, all: &[String]) -> String {
    match nearest {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", all.join(", ")),
    }
}

/// The beginning of the message of [`Error::NotRewards`].
fn by_what(policy: Option<&str>) -> String {
    policy.map_or("the sums of fixed weights are".into(), |policy| format!("the values of `{policy}` are"))
}

/// The columns of [`Error::NoEvaluator`] with their reasons.
fn left(others: &[(String, NotEvaluator)]) -> String {
    let what = |(name, why): &(String, NotEvaluator)| format!("`{name}` ({why})");
    match others.iter().map(what).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "every column has another role".into(),
        some => format!("the other columns are {some}"),
    }
}

impl Error {
    /// The code of this kind of error, which does not change when messages do.
    ///
    /// ```
    /// assert_eq!(jurybox_files::Error::NoFile { path: "a.csv".into() }.code(), "no-file");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Error::NoFile { .. } => "no-file",
            Error::Directory { .. } => "directory",
            Error::NoMatch { .. } => "no-match",
            Error::Io { .. } => "io",
            Error::Empty { .. } => "empty",
            Error::Foreign { .. } => "foreign",
            Error::ForeignOutput { .. } => "foreign-output",
            Error::NoRows { .. } => "no-rows",
            Error::Ragged { .. } => "ragged-row",
            Error::NotANumber { .. } => "not-a-number",
            Error::OddCells(_) => "odd-cells",
            Error::Label { .. } => "label",
            Error::Infinite { .. } | Error::UnusableNumber { .. } => "unusable-number",
            Error::NotUtf8 { .. } | Error::NotText { .. } => "not-utf8",
            Error::OpenQuote { .. } => "open-quote",
            Error::LongRecord { .. } => "long-record",
            Error::Json { .. } => "json",
            Error::DuplicateColumn { .. } => "duplicate-column",
            Error::UnknownColumn { .. } => "unknown-column",
            Error::NoEvaluator { .. } => "no-evaluator",
            Error::NoneOfTheEvaluators { .. } => "none-of-the-evaluators",
            Error::UnknownEvaluator { .. } => "unknown-evaluator",
            Error::SetTwice { .. } => "set-twice",
            Error::NoValue { .. } => "no-value",
            Error::NotInvertible { .. } => "not-invertible",
            Error::DirectionChanged { .. } => "turned",
            Error::ZeroRows => "none-wanted",
            Error::BadProbability { .. } => "bad-probability",
            Error::BadMinReward { .. } => "no-worth",
            Error::NotRewards { .. } => "not-rewards",
            Error::NoFiles => "no-files",
            Error::StdinTwice => "stdin-twice",
            Error::ReadOnce { .. } => "read-once",
            Error::TwoRoles { .. } => "two-roles",
            Error::NoReward { .. } => "no-reward",
            Error::Truncated { .. } => "truncated",
            Error::Changed { .. } => "changed",
            Error::TooManyColumns { .. } => "too-many-columns",
            Error::TooWide { .. } => "too-wide",
            Error::Parquet { .. } => "parquet",
            Error::Arrow { .. } => "arrow",
            Error::Incomplete { .. } => "incomplete",
            Error::Overwrites { .. } => "overwrites-input",
            Error::Locked { .. } => "locked",
            Error::OtherReward { .. } => "other-reward",
            Error::SharedHistory { .. } => "shared",
            Error::OtherPolicy { .. } => "other-policy",
            Error::OtherEvaluators { .. } => "other-evaluators",
            Error::WouldForget { .. } => "would-forget",
            Error::NotInState { .. } => "not-seated",
            Error::ForgottenAndNamed { .. } => "forgotten-and-named",
            Error::AllForgotten => "all-forgotten",
            Error::NoId { .. } => "no-id",
            Error::RoundedId { .. } => "rounded-id",
            Error::PickedFrom { .. } => "picked-from",
            Error::UnexpectedPicks { .. } => "are-picks",
            Error::NotAVerdict { .. } => "not-a-verdict",
            Error::NoVerdictColumn { .. } => "no-verdict-column",
            Error::NotPicks { .. } => "not-picks",
            Error::BadPick { .. } => "bad-pick",
            Error::Verdict { .. } => "verdict",
            Error::Stopped => "stopped",
            Error::Usage(_) => "replay",
            Error::Jury(_) => "jury",
            Error::State { .. } => "state",
        }
    }

    /// This error with its position moved down by `by` lines or rows: parsers count positions from
    /// the beginning of a block. Errors that no parser returns are unchanged.
    pub(crate) fn moved_down(mut self, by: u64) -> Self {
        if let Error::Ragged { place, .. }
        | Error::NotANumber { place, .. }
        | Error::Infinite { place, .. }
        | Error::NotUtf8 { place, .. }
        | Error::RoundedId { place, .. }
        | Error::OpenQuote { place, .. }
        | Error::LongRecord { place, .. }
        | Error::Json { place, .. } = &mut self
        {
            *place = place.moved_down(by);
        }
        self
    }

    /// An error of the operating system: [`Error::NoFile`] or [`Error::Io`].
    pub(crate) fn io(path: &std::path::Path, doing: &'static str, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            return Error::NoFile { path: path.into() };
        }
        Error::Io { path: path.into(), doing, source }
    }
}

impl From<arrow_schema::ArrowError> for Error {
    /// Converts an error of a stream of record batches. An [`Error`] inside of it stays what it is.
    fn from(error: arrow_schema::ArrowError) -> Error {
        let reason = match error {
            arrow_schema::ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
                Ok(ours) => return *ours,
                Err(inner) => inner.to_string(),
            },
            other => other.to_string(),
        };
        Error::Arrow { path: crate::format::memory::NAME.into(), reason }
    }
}
