//! What can go wrong with rows: what, where, the value, and a code that stays. What a person can do about it is for the
//! program to say, which knows by which options or arguments they asked.

use crate::roles::spoken;
use crate::warning::OddColumn;
use jurybox::Evaluator;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The one error of this crate. Nothing has been written when it is returned.
///
/// ```
/// use jurybox_files::{Error, RowPosition};
/// let error = Error::Ragged { path: "scores.csv".into(), place: RowPosition::Line(3), found: 2, expected: 4 };
/// assert_eq!(error.to_string(), "scores.csv, line 3: 2 cells, but the header has 4");
/// assert_eq!(error.code(), "ragged-row");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file.
    #[error("{}: no such file", path.display())]
    NoFile {
        /// What was asked for.
        path: PathBuf,
    },
    /// A directory where a file was expected.
    #[error("{}: is a directory", path.display())]
    Directory {
        /// What was asked for.
        path: PathBuf,
    },
    /// A pattern that no file matches.
    #[error("{pattern}: no file matches this pattern")]
    NoMatch {
        /// The pattern.
        pattern: String,
    },
    /// Reading or writing failed.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A file without a byte in it.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file that is to be written by a name that says another format than is written.
    #[error("{}: the name says {what}, which is not written: end it with .csv, .jsonl or .parquet", path.display())]
    ForeignOutput {
        /// The file.
        path: PathBuf,
        /// What its name says.
        what: &'static str,
    },
    /// A file that is something else.
    #[error("{}: this is {what}, which is not read", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A file with columns and no rows.
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
        /// Its cells.
        found: usize,
        /// The header's.
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
    /// A column of scores or rewards in which too many cells are no numbers.
    #[error("{}, more than one in twenty: {}", .0.counted(), .0.named())]
    OddCells(Box<OddColumn>),
    /// A word that cannot stand for a verdict.
    #[error("label `{word}`: {why}")]
    Label {
        /// The word.
        word: String,
        /// Why not.
        why: &'static str,
    },
    /// A number that no estimate could be made with.
    #[error("{}, {place}, column `{column}`: {value} is not usable; a score is a number within ±1e100, or empty where it is missing", path.display())]
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
    /// Bytes that are not text.
    #[error("{}, {place}: not valid UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
    },
    /// A column of text in memory whose bytes are not text.
    #[error("{}{}, column `{column}`: not valid UTF-8", path.display(), row.map_or(String::new(), |row| format!(", row {row}")))]
    NotText {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The row, where the text is not inside of something else.
        row: Option<u64>,
    },
    /// A quoted cell that does not end.
    #[error("{}, {place}: a quote is opened and never closed", path.display())]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        place: RowPosition,
    },
    /// A record too long to be one.
    #[error("{}, {place}: a record of more than {limit} bytes", path.display())]
    LongRecord {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        place: RowPosition,
        /// The most that is read.
        limit: usize,
    },
    /// A line that is not a JSON object.
    #[error("{}, {place}: not a JSON object: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The line.
        place: RowPosition,
        /// What the parser said.
        reason: String,
    },
    /// Two columns of one name.
    #[error("{}: two columns are named `{column}` (the {first}. and the {second}.)", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// Position of the first, from 1.
        first: usize,
        /// Position of the second.
        second: usize,
    },
    /// A column that no file has.
    #[error("{}: there is no column `{column}`; {}", path.display(), meant(nearest.as_deref(), columns))]
    UnknownColumn {
        /// The first file.
        path: PathBuf,
        /// What was asked for.
        column: String,
        /// The name most like it, where one is.
        nearest: Option<String>,
        /// Every column there is.
        columns: Vec<String>,
    },
    /// No column is left to be an evaluator.
    #[error("{}: no evaluator column is left: {}", path.display(), left(others))]
    NoEvaluator {
        /// The file.
        path: PathBuf,
        /// The columns, and why each is no evaluator.
        others: Vec<(String, &'static str)>,
    },
    /// Not one of the evaluators that are wanted has a column.
    #[error("{}: it has a column of none of the evaluators {}", path.display(), evaluators.join(", "))]
    NoneOfTheEvaluators {
        /// The file.
        path: PathBuf,
        /// The evaluators.
        evaluators: Vec<String>,
    },
    /// A number for an evaluator that the table does not have.
    #[error("there is no evaluator `{evaluator}`; {}", meant(nearest.as_deref(), evaluators))]
    UnknownEvaluator {
        /// What was asked for.
        evaluator: String,
        /// The name most like it, where one is.
        nearest: Option<String>,
        /// Every evaluator there is.
        evaluators: Vec<String>,
    },
    /// Two numbers for one evaluator.
    #[error("`{evaluator}` is set twice")]
    SetTwice {
        /// The evaluator.
        evaluator: String,
    },
    /// A weight or a noise level that nothing can be ranked by.
    #[error("`{evaluator}`: {value:?} is not usable; it must be a number within ±1e100")]
    UnusableNumber {
        /// The evaluator.
        evaluator: String,
        /// What was given.
        value: f64,
    },
    /// An evaluator for which a number is needed.
    #[error("no value for the evaluator `{evaluator}`")]
    NoValue {
        /// The evaluator.
        evaluator: String,
    },
    /// An evaluator that a jury has learnt over the other way round.
    #[error("the state was learnt with high scores of `{column}` meaning high; it cannot be turned now")]
    DirectionChanged {
        /// The evaluator.
        column: String,
    },
    /// A column that cannot be inverted, because it is not read as a number.
    #[error("column `{column}` cannot be inverted: it is neither an evaluator nor the reward")]
    NotInvertible {
        /// The column.
        column: String,
    },
    /// No rows are asked for.
    #[error("k = 0: at least one row must be asked for")]
    ZeroRows,
    /// A probability, or a reward beside it, from which nothing can be told of the rows that nobody looked at.
    #[error("{}, {place}, column `{column}`: {reason}", path.display())]
    BadProbability {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column of probabilities.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// Something that no look can be worth.
    #[error("minimum reward {min_reward}: not a finite number")]
    BadMinReward {
        /// What was asked for.
        min_reward: f64,
    },
    /// What rows must be worth was said, and values are no expected rewards.
    #[error("{} not expected rewards: `adaptive` has those, once it has learnt from rewards", by_what(policy.as_deref()))]
    NotRewards {
        /// The policy, where one ranks.
        policy: Option<String>,
    },
    /// No file is named.
    #[error("no file is named")]
    NoFiles,
    /// Standard input named more than once.
    #[error("standard input (`-`) is named twice, and can be read only once")]
    StdinTwice,
    /// A stream that has been read already.
    #[error("{}: it can be read only once, and has been", path.display())]
    ReadOnce {
        /// The stream.
        path: PathBuf,
    },
    /// A column asked to be two things.
    #[error("column `{column}` cannot be both {one} and {other}")]
    TwoRoles {
        /// The column.
        column: String,
        /// One role.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// The reward column has no value anywhere.
    #[error("{}: the reward column `{column}` is empty in every row; nothing can be learnt or measured from it", path.display())]
    NoReward {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A file that ends before it should.
    #[error("{}: {what} ends early; the file is truncated or was still being written", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What ended.
        what: &'static str,
    },
    /// A file that is no longer what it was when it was opened.
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
        /// The most there may be.
        limit: usize,
    },
    /// A long table that would be too wide in memory.
    #[error("{}: {items} items by {judges} judges are more than can be held in memory as a wide table", path.display())]
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
        /// What the reader said.
        reason: String,
    },
    /// Arrow arrays that cannot be used.
    #[error("{}: {reason}", path.display())]
    Arrow {
        /// What they are called.
        path: PathBuf,
        /// What is wrong with them.
        reason: String,
    },
    /// Rows that were read without what was asked for: our own mistake, and better said than passed over.
    #[error("{}: {rows} rows came with {count} {what}: this is a defect of the reader", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// What there is too little or too much of.
        what: &'static str,
        /// How much of it there is.
        count: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// Something is to be written over a file that is read.
    #[error("{}: this would be written over {}, which is read", path.display(), input.display())]
    Overwrites {
        /// Where it was to be written.
        path: PathBuf,
        /// The same file among those that are read.
        input: PathBuf,
    },
    /// Another process holds a file, and went on holding it.
    #[error("{}: another process has been working on it for {seconds} s", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Another reward than the one that was learnt.
    #[error("the state was learnt with the reward `{}`, not with `{}`", spoken(learnt), spoken(asked))]
    OtherReward {
        /// What was learnt.
        learnt: Box<Evaluator>,
        /// What was asked for.
        asked: Box<Evaluator>,
    },
    /// States that were taught with the same, and would count it twice.
    #[error("{}: {shared} of the files and rounds it was taught with are in the other states already", path.display())]
    SharedHistory {
        /// The state.
        path: PathBuf,
        /// How many.
        shared: usize,
    },
    /// A state that was learnt by another policy, or with other options.
    #[error("the state was learnt by `{learnt}`, not by `{asked}`")]
    OtherPolicy {
        /// What it was learnt by.
        learnt: String,
        /// What was asked for.
        asked: String,
    },
    /// A state that was learnt over other evaluators.
    #[error("the state was learnt over the evaluators {learnt}; this table has {here}")]
    OtherEvaluators {
        /// Those that were learnt over.
        learnt: String,
        /// Those of the table.
        here: String,
    },
    /// An evaluator of a state that would be forgotten.
    #[error(
        "what was learnt of `{evaluator}` would be forgotten: the state knows it, and it is not among the evaluators"
    )]
    WouldForget {
        /// The evaluator.
        evaluator: String,
    },
    /// An evaluator to forget that the state does not know.
    #[error("there is no evaluator `{evaluator}` to forget")]
    NotInState {
        /// The evaluator.
        evaluator: String,
    },
    /// An evaluator that is to be forgotten and to score.
    #[error("`{evaluator}` is named both as an evaluator and as one to forget")]
    ForgottenAndNamed {
        /// The evaluator.
        evaluator: String,
    },
    /// Every evaluator of a state is to be forgotten.
    #[error("every evaluator of the state would be forgotten; learn a new state instead")]
    AllForgotten,
    /// A row without an id where rows are known by their ids.
    #[error("{}, {place}: there is no id in column `{column}`", path.display())]
    NoId {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column of ids.
        column: String,
    },
    /// An id that has been a floating-point number and is too large to be one exactly: it may have been another.
    #[error(
        "{}, {place}: the id {value} in column `{column}` is a floating-point number, too large to tell from its neighbours", path.display()
    )]
    RoundedId {
        /// The file.
        path: PathBuf,
        /// The row.
        place: RowPosition,
        /// The column of ids.
        column: String,
        /// The id as it is now.
        value: String,
    },
    /// Files that are to be learnt and whose rows the state has been shown by picking from them.
    #[error("{}: its rows were picked from, and the state has seen them", path.display())]
    PickedFrom {
        /// The file.
        path: PathBuf,
    },
    /// Picks that are to be learnt like any table, without their receipts.
    #[error("{}: these are picks, with their receipts in column `{column}`", path.display())]
    UnexpectedPicks {
        /// The file.
        path: PathBuf,
        /// The column of receipts.
        column: String,
    },
    /// A column of picks that was written with them, and is asked for as the verdicts on them.
    #[error("`{column}` was written with the picks, and is not what a person found")]
    NotAVerdict {
        /// The column.
        column: String,
    },
    /// Verdicts without the column that they should be in.
    #[error("{}: there is no column `{column}`, in which the verdicts should be", path.display())]
    NoVerdictColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A table that is not one of picks.
    #[error("{}: these are no picks: there is no column `{column}`", path.display())]
    NotPicks {
        /// The file.
        path: PathBuf,
        /// What is not there.
        column: &'static str,
    },
    /// A cell of a table of picks that is not as it was written.
    #[error("{}, {place}, column `{column}`: `{value}` is not what was written with a pick", path.display())]
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
    /// A pick and its verdict that cannot be learnt from.
    #[error("{}, {place}, item `{id}`: {reason}", path.display())]
    Verdict {
        /// The file of the pick.
        path: PathBuf,
        /// Its row.
        place: RowPosition,
        /// The id of the item.
        id: String,
        /// What is wrong with them.
        reason: String,
    },
    /// Somebody said that it is enough.
    #[error("stopped before the end")]
    Stopped,
    /// A replay that cannot be made.
    #[error("{0}")]
    Usage(String),
    /// The library's word.
    #[error(transparent)]
    Jury(#[from] jurybox::Error),
    /// The library's word about a state file.
    #[error("{}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: jurybox::Error,
    },
}

/// Where in a file: a line of text (from 1), or a row of Parquet (from 1).
///
/// ```
/// assert_eq!(jurybox_files::RowPosition::Row(7).to_string(), "row 7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowPosition {
    /// A line of a text file.
    Line(u64),
    /// A row of a table.
    Row(u64),
}

impl RowPosition {
    /// The same place, counted from so many lines or rows further up.
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

/// What may have been meant: the nearest name, or else all of them.
fn meant(nearest: Option<&str>, all: &[String]) -> String {
    match nearest {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", all.join(", ")),
    }
}

/// Whose values are told of.
fn by_what(policy: Option<&str>) -> String {
    policy.map_or("the sums of fixed weights are".into(), |policy| format!("the values of `{policy}` are"))
}

fn left(others: &[(String, &'static str)]) -> String {
    let what = |(name, why): &(String, &str)| format!("`{name}` ({why})");
    match others.iter().map(what).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "every column is named as something else".into(),
        some => format!("the other columns are {some}"),
    }
}

impl Error {
    /// What kind of error this is, in a word that stays the same whatever becomes of the message.
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

    /// The same error, found in a block that begins `by` lines or rows further down.
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

    pub(crate) fn io(path: &std::path::Path, doing: &'static str, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            return Error::NoFile { path: path.into() };
        }
        Error::Io { path: path.into(), doing, source }
    }
}

/// What goes wrong with record batches. Whoever streams them can say it in our words: such an error stays what it is.
impl From<arrow_schema::ArrowError> for Error {
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
