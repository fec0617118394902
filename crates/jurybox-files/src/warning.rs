//! What a person should know before believing a result.

use crate::error::RowPosition;
use crate::cell_number::{self, ParsedCell, Notation};
use std::fmt;
use std::path::{Path, PathBuf};

/// What a person should know though nothing failed.
///
/// ```
/// let warning = jurybox_files::Warning::MissingColumn { path: "mon.csv".into(), more: 2, column: "spam".into(), what: "scores" };
/// assert_eq!(warning.to_string(), "mon.csv and 2 more files: there is no column `spam`: its scores are missing");
/// assert_eq!(warning.code(), "missing-column");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// A column that is wanted, and that some files do not have.
    MissingColumn {
        /// The first file.
        path: PathBuf,
        /// Of how many files behind it the same holds.
        more: usize,
        /// The column.
        column: String,
        /// What is missing with it.
        what: &'static str,
    },
    /// A column in which a few cells are no numbers: they count as missing.
    OddCells(OddColumn),
    /// A column that is no evaluator because its first rows are empty, and that has values further down.
    LateValues(OddColumn),
    /// A column that is to be read, and in which no row has a value.
    NoValues {
        /// The first file.
        path: PathBuf,
        /// Of how many files behind it the same holds.
        more: usize,
        /// The column.
        column: String,
    },
    /// Keys of JSON lines that are on none of the first lines, by which columns are told.
    LateKeys {
        /// The file.
        path: PathBuf,
        /// The first of them, and where each first stands.
        keys: Vec<(String, RowPosition)>,
    },
    /// A CSV file whose header looks like a row.
    HeaderOfNumbers {
        /// The file.
        path: PathBuf,
        /// The first names in it.
        header: Vec<String>,
    },
    /// A column that is no evaluator because its cells, such as `1,234`, may be thousands or decimals.
    TwoNumbers {
        /// The first file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A column that is no evaluator because it looks like ids, though some of them are missing or come again.
    NearlyIds {
        /// The first file.
        path: PathBuf,
        /// The column.
        column: String,
        /// How many cells are empty, among the rows looked at.
        missing: usize,
        /// How many are as another one before.
        repeated: usize,
    },
    /// A column of numbers that is no evaluator because it is named like a verdict, or is one because there is no other.
    NamedLikeAVerdict {
        /// The first file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Whether it is taken for an evaluator.
        taken: bool,
    },
    /// Evaluators of large whole numbers beside others whose scores are from 0 to 1.
    OtherScale {
        /// The first file.
        path: PathBuf,
        /// Each with its least and its greatest number, among the rows looked at.
        columns: Vec<(String, String)>,
    },
    /// A table that has one score a row, and looks like a long one.
    LooksLong {
        /// The first file.
        path: PathBuf,
        /// The column that seems to name items.
        item: String,
        /// The one that seems to name who graded them.
        judge: String,
        /// The one evaluator.
        grade: String,
    },
    /// Rows that no evaluator tells apart: they were ranked, and are in no order.
    NoOrder {
        /// The first file.
        path: PathBuf,
        /// How many rows there are.
        rows: u64,
    },
    /// Something about a long table that was made wide.
    Long {
        /// The first file.
        path: PathBuf,
        /// What.
        what: String,
    },
    /// The column of an evaluator that a jury knows, and that is not to be read.
    IgnoredColumn {
        /// The first file.
        path: PathBuf,
        /// Of how many files behind it the same holds.
        more: usize,
        /// The column.
        column: String,
    },
}

impl Warning {
    /// What kind of warning this is, in a word that stays the same whatever becomes of the message.
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
    /// What it is about, where it is about a whole column of a file, and in how many files beside the first.
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

/// What is to be said of a column in many files, said once.
pub(crate) fn together(warnings: impl IntoIterator<Item = Warning>) -> Vec<Warning> {
    let mut told: Vec<Warning> = Vec::new();
    'next: for mut warning in warnings {
        if let Some((code, column, _)) = warning.column() {
            for known in &mut told {
                if let Some((other, of, more)) = known.column()
                    && (other, of) == (code, column)
                {
                    *more += 1;
                    continue 'next;
                }
            }
        }
        told.push(warning);
    }
    told
}

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
                "{}, column `{}`: its first rows are empty, and so it is no evaluator; {} cells further down have a value: {}",
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
                    "{}: keys that first come late, and that nobody asked for, do not travel along: {}",
                    path.display(),
                    keys.join(", ")
                )
            }
            Warning::HeaderOfNumbers { path, header } => write!(
                f,
                "{}: the first line is taken as the names of the columns, and it has numbers in it: {}",
                path.display(),
                header.join(", ")
            ),
            Warning::TwoNumbers { path, column } => write!(
                f,
                "{}: column `{column}` has numbers such as 1,234, which may be thousands or decimals, and is no evaluator",
                path.display()
            ),
            Warning::NearlyIds { path, column, missing, repeated } => {
                let flaw = |count: &usize, flaw: &str| (*count > 0).then(|| format!("{count} {flaw}"));
                let flaws = [flaw(missing, "empty"), flaw(repeated, "repeated")];
                let flaws = flaws.into_iter().flatten().collect::<Vec<_>>().join(" and ");
                write!(
                    f,
                    "{}: column `{column}` looks like ids, {flaws}, and is no evaluator",
                    path.display()
                )
            }
            Warning::NamedLikeAVerdict { path, column, taken } => {
                let is =
                    if *taken { "taken for an evaluator, since there is no other" } else { "no evaluator" };
                write!(f, "{}: column `{column}` is named like a verdict, and is {is}", path.display())
            }
            Warning::OtherScale { path, columns } => {
                let name = |(column, range): &(String, String)| format!("`{column}` ({range})");
                let list = columns.iter().map(name).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "{}: large whole numbers beside scores from 0 to 1 are taken for evaluators: {list}",
                    path.display()
                )
            }
            Warning::LooksLong { path, item, judge, grade } => write!(
                f,
                "{}: a row seems to be one grade, `{grade}` of `{item}` by `{judge}`, and each is taken for an item",
                path.display()
            ),
            Warning::NoOrder { path, rows } => write!(
                f,
                "{}: nothing tells the {rows} rows apart: they are in no order, and those with a score share the first rank",
                path.display()
            ),
            Warning::Long { path, what } => write!(f, "{}: {what}", path.display()),
            Warning::IgnoredColumn { path, more, column } => {
                write!(f, "{}: column `{column}` is ignored: its scores are missing", and_more(path, *more))
            }
        }
    }
}

/// Cells of a column that were not expected: no numbers where numbers are read, or values where there were none.
///
/// ```
/// use jurybox_files::{OddColumn, RowPosition};
/// let first = vec![(RowPosition::Line(7), "high".to_string())];
/// let odd = OddColumn { path: "mon.csv".into(), column: "spam".into(), odd: 1, of: 90, first, is_reward: false };
/// assert_eq!(odd.first[0].1, "high");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OddColumn {
    /// The file.
    pub path: PathBuf,
    /// The column.
    pub column: String,
    /// How many there are.
    pub odd: u64,
    /// Of how many that are not missing.
    pub of: u64,
    /// The first of them, and where they stand.
    pub first: Vec<(RowPosition, String)>,
    /// Whether it is a column of verdicts, in which words may stand.
    pub is_reward: bool,
}

impl OddColumn {
    /// Whether the cells that are named may be thousands or decimals: `1,234`.
    ///
    /// ```
    /// use jurybox_files::{OddColumn, RowPosition};
    /// let first = vec![(RowPosition::Line(7), "1,234".to_string())];
    /// assert!(OddColumn { path: "mon.csv".into(), column: "spam".into(), odd: 1, of: 90, first, is_reward: false }.may_be_two_numbers());
    /// ```
    pub fn may_be_two_numbers(&self) -> bool {
        !self.first.is_empty() && self.first.iter().all(|(_, cell)| Notation::is_either(cell.as_bytes()))
    }

    /// Whether the cells that are named are numbers, and of another scale than the column: `20` among `13%`, or `99%` among marks.
    ///
    /// ```
    /// use jurybox_files::{OddColumn, RowPosition};
    /// let first = vec![(RowPosition::Line(7), "20".to_string())];
    /// assert!(OddColumn { path: "mon.csv".into(), column: "spam".into(), odd: 1, of: 90, first, is_reward: false }.is_of_another_scale());
    /// ```
    pub fn is_of_another_scale(&self) -> bool {
        let number = |cell: &str| matches!(cell_number::parse(cell.as_bytes()), ParsedCell::Number(_));
        !self.first.is_empty() && self.first.iter().all(|(_, cell)| number(cell))
    }

    pub(crate) fn counted(&self) -> String {
        let OddColumn { path, column, odd, of, .. } = self;
        let (cells, are) = if *of == 1 { ("cell", "is no number") } else { ("cells", "are no numbers") };
        format!("{}, column `{column}`: {odd} of {of} {cells} {are}", path.display())
    }

    pub(crate) fn named(&self) -> String {
        let name = |(place, cell): &(RowPosition, String)| format!("`{cell}` ({place})");
        self.first.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
