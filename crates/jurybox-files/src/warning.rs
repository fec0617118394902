//! Warnings about tables: oddities that are not errors.

use crate::cell_number::{self, Notation, ParsedCell};
use crate::error::RowPosition;
use std::fmt;
use std::path::{Path, PathBuf};

/// A warning about a table: a result is possible, but may not be the intended one.
///
/// ```
/// let warning = jurybox_files::Warning::MissingColumn {
///     path: "mon.csv".into(),
///     more: 2,
///     column: "spam".into(),
///     what: "scores",
/// };
/// assert_eq!(
///     warning.to_string(),
///     "mon.csv and 2 more files: there is no column `spam`: its scores are missing"
/// );
/// assert_eq!(warning.code(), "missing-column");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// A column with a role that some files do not have.
    MissingColumn {
        /// The first file.
        path: PathBuf,
        /// The number of further files without it.
        more: usize,
        /// The column.
        column: String,
        /// The values that are missing, such as `scores`.
        what: &'static str,
    },
    /// A column in which a few cells are not numbers; they count as missing.
    OddCells(OddColumn),
    /// A column that is not an evaluator because its first rows are empty, but has values further
    /// down.
    LateValues(OddColumn),
    /// A column of scores without any value.
    NoValues {
        /// The first file.
        path: PathBuf,
        /// The number of further files without a value in it.
        more: usize,
        /// The column.
        column: String,
    },
    /// Keys of JSON lines that first appear below the lines from which columns are found.
    LateKeys {
        /// The file.
        path: PathBuf,
        /// The first such keys, each with its first position.
        keys: Vec<(String, RowPosition)>,
    },
    /// A CSV file whose header may be a row, because at least half of its names are numbers.
    HeaderOfNumbers {
        /// The file.
        path: PathBuf,
        /// The first names in it.
        header: Vec<String>,
    },
    /// A column that is not an evaluator because its cells, such as `1,234`, can be read in two
    /// ways.
    TwoNumbers {
        /// The first file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A column that is not an evaluator because it looks like ids, though some are empty or
    /// repeated.
    NearlyIds {
        /// The first file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The number of empty cells among the first rows.
        missing: usize,
        /// The number of repeated cells among the first rows.
        repeated: usize,
    },
    /// A numeric column named like a verdict. It is an evaluator only if there is no other one.
    NamedLikeAVerdict {
        /// The first file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Whether it is an evaluator.
        is_evaluator: bool,
    },
    /// Evaluators of large whole numbers beside others whose scores are from 0 to 1.
    OtherScale {
        /// The first file.
        path: PathBuf,
        /// The evaluators, each with the range of its numbers among the first rows.
        columns: Vec<(String, String)>,
    },
    /// A table with one score per row that looks like a long table.
    LooksLong {
        /// The first file.
        path: PathBuf,
        /// The column that seems to hold items.
        item: String,
        /// The column that seems to hold judges.
        judge: String,
        /// The only evaluator.
        grade: String,
    },
    /// Ranked rows that all have the same value, so that their order means nothing.
    NoOrder {
        /// The first file.
        path: PathBuf,
        /// The number of rows.
        rows: u64,
    },
    /// A finding about a long table that was made wide.
    Long {
        /// The first file.
        path: PathBuf,
        /// The finding, in words.
        what: String,
    },
    /// An ignored column of an evaluator that the jury has learnt.
    IgnoredColumn {
        /// The first file.
        path: PathBuf,
        /// The number of further files in which it is ignored.
        more: usize,
        /// The column.
        column: String,
    },
}

impl Warning {
    /// The code of this kind of warning, which does not change when messages do.
    pub fn code(&self) -> &'static str {
        match self {
            Warning::MissingColumn { .. } => "missing-column",
            Warning::OddCells(_) => "odd-cells",
            Warning::LateValues(_) => "late-values",
            Warning::NoValues { .. } => "no-values",
            Warning::LateKeys { .. } => "late-keys",
            Warning::HeaderOfNumbers { .. } => "header-of-numbers",
            Warning::TwoNumbers { .. } => "two-numbers",
            Warning::NearlyIds { .. } => "nearly-ids",
            Warning::NamedLikeAVerdict { .. } => "named-like-a-verdict",
            Warning::OtherScale { .. } => "other-scale",
            Warning::LooksLong { .. } => "looks-long",
            Warning::NoOrder { .. } => "no-order",
            Warning::Long { .. } => "long-table",
            Warning::IgnoredColumn { .. } => "ignored-column",
        }
    }
}

impl Warning {
    /// Code, column and number of further files of a warning that can be joined over files.
    fn column(&mut self) -> Option<(&'static str, &str, &mut usize)> {
        let code = self.code();
        match self {
            Warning::MissingColumn { column, more, .. }
            | Warning::NoValues { column, more, .. }
            | Warning::IgnoredColumn { column, more, .. } => Some((code, column, more)),
            _ => None,
        }
    }
}

/// Joins warnings about the same column of several files into one.
pub(crate) fn together(warnings: impl IntoIterator<Item = Warning>) -> Vec<Warning> {
    let mut joined: Vec<Warning> = Vec::new();
    'next: for mut warning in warnings {
        if let Some((code, column, _)) = warning.column() {
            for known in &mut joined {
                if let Some((other, of, more)) = known.column()
                    && (other, of) == (code, column)
                {
                    *more += 1;
                    continue 'next;
                }
            }
        }
        joined.push(warning);
    }
    joined
}

/// `mon.csv and 2 more files`
fn and_more(path: &Path, more: usize) -> String {
    let files = if more == 1 { "file" } else { "files" };
    if more == 0 { path.display().to_string() } else { format!("{} and {more} more {files}", path.display()) }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::MissingColumn { path, more, column, what } => {
                write!(f, "{}: there is no column `{column}`: its {what} are missing", and_more(path, *more))
            }
            Warning::OddCells(odd) => {
                write!(f, "{}, and count as missing: {}", odd.counted(), odd.named())
            }
            Warning::LateValues(odd) => write!(
                f,
                "{}, column `{}` is not used as an evaluator, because its first rows are empty; {} cells further down have a value: {}",
                odd.path.display(),
                odd.column,
                odd.odd,
                odd.named()
            ),
            Warning::NoValues { path, more, column } => {
                write!(f, "{}: column `{column}` has no value in any row", and_more(path, *more))
            }
            Warning::LateKeys { path, keys } => {
                let name = |(key, place): &(String, RowPosition)| format!("`{key}` ({place})");
                let keys: Vec<String> = keys.iter().map(name).collect();
                write!(
                    f,
                    "{}: these keys first appear far down and are not written out: {}",
                    path.display(),
                    keys.join(", ")
                )
            }
            Warning::HeaderOfNumbers { path, header } => write!(
                f,
                "{}: the first line is read as the names of the columns, but has numbers in it: {}",
                path.display(),
                header.join(", ")
            ),
            Warning::TwoNumbers { path, column } => write!(
                f,
                "{}: column `{column}` is not used as an evaluator: numbers such as 1,234 may be thousands or decimals",
                path.display()
            ),
            Warning::NearlyIds { path, column, missing, repeated } => {
                let flaw = |count: &usize, flaw: &str| (*count > 0).then(|| format!("{count} {flaw}"));
                let flaws = [flaw(missing, "empty"), flaw(repeated, "repeated")];
                let flaws = flaws.into_iter().flatten().collect::<Vec<_>>().join(" and ");
                write!(
                    f,
                    "{}: column `{column}` is not used as an evaluator: it looks like ids ({flaws})",
                    path.display()
                )
            }
            Warning::NamedLikeAVerdict { path, column, is_evaluator } => {
                let used = if *is_evaluator {
                    "used as an evaluator, because there is no other"
                } else {
                    "not used as an evaluator"
                };
                write!(f, "{}: column `{column}` is named like a verdict and {used}", path.display())
            }
            Warning::OtherScale { path, columns } => {
                let name = |(column, range): &(String, String)| format!("`{column}` ({range})");
                let list = columns.iter().map(name).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "{}: evaluators have large whole numbers, while others have scores from 0 to 1: {list}",
                    path.display()
                )
            }
            Warning::LooksLong { path, item, judge, grade } => write!(
                f,
                "{}: each row is used as an item, but seems to be one grade: `{grade}` of `{item}` by `{judge}`",
                path.display()
            ),
            Warning::NoOrder { path, rows } => write!(
                f,
                "{}: all {rows} rows have the same value: their order means nothing, and those with a score share the first rank",
                path.display()
            ),
            Warning::Long { path, what } => write!(f, "{}: {what}", path.display()),
            Warning::IgnoredColumn { path, more, column } => {
                write!(f, "{}: column `{column}` is ignored: its scores are missing", and_more(path, *more))
            }
        }
    }
}

/// The odd cells of a column: words where numbers were expected, or values in a column whose first
/// rows are empty.
///
/// ```
/// use jurybox_files::{OddColumn, RowPosition};
/// let first = vec![(RowPosition::Line(7), "high".to_string())];
/// let odd = OddColumn {
///     path: "mon.csv".into(),
///     column: "spam".into(),
///     odd: 1,
///     of: 90,
///     first,
///     is_reward: false,
/// };
/// assert_eq!(odd.first[0].1, "high");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OddColumn {
    /// The file.
    pub path: PathBuf,
    /// The column.
    pub column: String,
    /// The number of odd cells.
    pub odd: u64,
    /// The number of cells that are not missing.
    pub of: u64,
    /// The first odd cells of different text, with their positions.
    pub first: Vec<(RowPosition, String)>,
    /// Whether it is a column of verdicts, which may hold words.
    pub is_reward: bool,
}

impl OddColumn {
    /// Whether the first odd cells may be thousands or decimals, such as `1,234`.
    ///
    /// ```
    /// use jurybox_files::{OddColumn, RowPosition};
    /// let first = vec![(RowPosition::Line(7), "1,234".to_string())];
    /// assert!(
    ///     OddColumn {
    ///         path: "mon.csv".into(),
    ///         column: "spam".into(),
    ///         odd: 1,
    ///         of: 90,
    ///         first,
    ///         is_reward: false
    ///     }
    ///     .may_be_two_numbers()
    /// );
    /// ```
    pub fn may_be_two_numbers(&self) -> bool {
        !self.first.is_empty() && self.first.iter().all(|(_, cell)| Notation::is_either(cell.as_bytes()))
    }

    /// Whether the first odd cells are numbers of another scale than the column: `20` among `13%`,
    /// or `99%` among grades.
    ///
    /// ```
    /// use jurybox_files::{OddColumn, RowPosition};
    /// let first = vec![(RowPosition::Line(7), "20".to_string())];
    /// assert!(
    ///     OddColumn {
    ///         path: "mon.csv".into(),
    ///         column: "spam".into(),
    ///         odd: 1,
    ///         of: 90,
    ///         first,
    ///         is_reward: false
    ///     }
    ///     .is_of_another_scale()
    /// );
    /// ```
    pub fn is_of_another_scale(&self) -> bool {
        let number = |cell: &str| matches!(cell_number::parse(cell.as_bytes()), ParsedCell::Number(_));
        !self.first.is_empty() && self.first.iter().all(|(_, cell)| number(cell))
    }

    /// The file and the column, with the number of odd cells, as text.
    pub(crate) fn counted(&self) -> String {
        let OddColumn { path, column, odd, of, .. } = self;
        let (cells, are) = if *of == 1 { ("cell", "is not a number") } else { ("cells", "are not numbers") };
        format!("{}, column `{column}`: {odd} of {of} {cells} {are}", path.display())
    }

    /// The first odd cells with their positions, as a list.
    pub(crate) fn named(&self) -> String {
        let name = |(place, cell): &(RowPosition, String)| format!("`{cell}` ({place})");
        self.first.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
