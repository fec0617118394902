//! What can go wrong with a file, said so that a person can act on it: what, where, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The one error of this crate. Nothing has been written when it is returned.
///
/// ```
/// use jurybox_files::{Error, Place};
/// let error = Error::Ragged { path: "scores.csv".into(), place: Place::Line(3), found: 2, expected: 4 };
/// assert_eq!(error.to_string(), "scores.csv, line 3: 2 cells, but the header has 4; every row needs one cell per column");
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
    #[error("{0}: is a directory; name its files, or a pattern such as '{0}/*.csv'", path.display())]
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
    #[error("{}: the file is empty; expected a header and rows, JSON lines, or Parquet", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file with columns and no rows.
    #[error("{}: there are columns but no rows", path.display())]
    NoRows {
        /// The file.
        path: PathBuf,
    },
    /// A row with too few or too many cells.
    #[error("{}, {place}: {found} cells, but the header has {expected}; every row needs one cell per column", path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// The row.
        place: Place,
        /// Its cells.
        found: usize,
        /// The header's.
        expected: usize,
    },
    /// A cell that should be a number.
    #[error("{}, {place}, column `{column}`: `{value}` is not a number; correct it, leave the cell empty where the score is missing, or leave the column out with --ignore", path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// The row.
        place: Place,
        /// The column.
        column: String,
        /// The cell.
        value: String,
    },
    /// A number that no estimate could be made with.
    #[error("{}, {place}, column `{column}`: {value} is not usable; a score is a number within ±1e100, or empty where it is missing", path.display())]
    Infinite {
        /// The file.
        path: PathBuf,
        /// The row.
        place: Place,
        /// The column.
        column: String,
        /// The cell.
        value: String,
    },
    /// Bytes that are not text.
    #[error("{}, {place}: not valid UTF-8; convert the file first, for instance with `iconv -f latin1 -t utf-8`", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The row.
        place: Place,
    },
    /// A quoted cell that does not end.
    #[error("{}, {place}: a quote is opened and never closed", path.display())]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        place: Place,
    },
    /// A record too long to be one.
    #[error("{}, {place}: a record of more than {limit} bytes; is this a text file with line ends?", path.display())]
    LongRecord {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        place: Place,
        /// The most that is read.
        limit: usize,
    },
    /// A line that is not a JSON object.
    #[error("{}, {place}: not a JSON object: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The line.
        place: Place,
        /// What the parser said.
        reason: String,
    },
    /// Two columns of one name.
    #[error("{}: two columns are named `{column}` (the {first}. and the {second}.); rename one", path.display())]
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
    /// A column that the file does not have.
    #[error("{}: there is no column `{column}`; {hint}", path.display())]
    UnknownColumn {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        column: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// No column is left to be an evaluator.
    #[error("{}: no evaluator column is left: {reason}; name them with --evaluators", path.display())]
    NoEvaluator {
        /// The file.
        path: PathBuf,
        /// What became of the columns.
        reason: String,
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
    #[error("{}: {what} ends early; the file is truncated or was still being written: copy it again", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What ended.
        what: &'static str,
    },
    /// A Parquet file that cannot be read.
    #[error("{}: cannot be read as Parquet: {reason}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the reader said.
        reason: String,
    },
    /// Something asked for that does not go together.
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
/// assert_eq!(jurybox_files::Place::Row(7).to_string(), "row 7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file.
    Line(u64),
    /// A row of a table.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "line {n}"),
            Place::Row(n) => write!(f, "row {n}"),
        }
    }
}

impl Error {
    /// The same error, found in a block that begins `by` lines or rows further down.
    pub(crate) fn moved_down(mut self, by: u64) -> Self {
        if let Error::Ragged { place, .. }
        | Error::NotANumber { place, .. }
        | Error::Infinite { place, .. }
        | Error::NotUtf8 { place, .. }
        | Error::OpenQuote { place, .. }
        | Error::LongRecord { place, .. }
        | Error::Json { place, .. } = &mut self
        {
            match place {
                Place::Line(n) | Place::Row(n) => *n += by,
            }
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
