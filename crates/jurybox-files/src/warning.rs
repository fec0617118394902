//! What a person should know before believing a result.

use crate::error::Place;
use std::fmt;
use std::path::PathBuf;

/// What a person should know though nothing failed.
///
/// ```
/// let warning = jurybox_files::Warning::MissingColumn { path: "mon.csv".into(), column: "spam".into(), what: "scores" };
/// assert_eq!(warning.to_string(), "mon.csv: there is no column `spam`: its scores are missing");
/// assert_eq!(warning.code(), "missing-column");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// A column that is wanted, and that this file does not have.
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What is missing with it.
        what: &'static str,
    },
    /// A column in which a few cells are no numbers: they count as missing.
    OddCells(Odd),
    /// A column that is no evaluator because its first rows are empty, and that has values further down.
    LateValues(Odd),
    /// A column that is to be read, and in which no row has a value.
    NoValues {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// Keys of JSON lines that are on none of the first lines, by which columns are told.
    LateKeys {
        /// The file.
        path: PathBuf,
        /// The first of them, and where each first stands.
        keys: Vec<(String, Place)>,
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
        /// The file.
        path: PathBuf,
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
            Warning::Long { .. } => "long-table",
            Warning::IgnoredColumn { .. } => "ignored-column",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::MissingColumn { path, column, what } => {
                write!(f, "{}: there is no column `{column}`: its {what} are missing", path.display())
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
            Warning::NoValues { path, column } => {
                write!(f, "{}: column `{column}` has no value in any row", path.display())
            }
            Warning::LateKeys { path, keys } => {
                let name = |(key, place): &(String, Place)| format!("`{key}` ({place})");
                let keys: Vec<String> = keys.iter().map(name).collect();
                write!(
                    f,
                    "{}: keys that first come late, and that nobody asked for, do not travel along: {}",
                    path.display(),
                    keys.join(", ")
                )
            }
            Warning::Long { path, what } => write!(f, "{}: {what}", path.display()),
            Warning::IgnoredColumn { path, column } => {
                write!(f, "{}: column `{column}` is ignored: its scores are missing", path.display())
            }
        }
    }
}

/// Cells of a column that were not expected: no numbers where numbers are read, or values where there were none.
///
/// ```
/// use jurybox_files::{Odd, Place};
/// let first = vec![(Place::Line(7), "high".to_string())];
/// let odd = Odd { path: "mon.csv".into(), column: "spam".into(), odd: 1, of: 90, first };
/// assert_eq!(odd.first[0].1, "high");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Odd {
    /// The file.
    pub path: PathBuf,
    /// The column.
    pub column: String,
    /// How many there are.
    pub odd: u64,
    /// Of how many that are not missing.
    pub of: u64,
    /// The first of them, and where they stand.
    pub first: Vec<(Place, String)>,
}

impl Odd {
    pub(crate) fn counted(&self) -> String {
        let Odd { path, column, odd, of, .. } = self;
        let (cells, are) = if *of == 1 { ("cell", "is no number") } else { ("cells", "are no numbers") };
        format!("{}, column `{column}`: {odd} of {of} {cells} {are}", path.display())
    }

    pub(crate) fn named(&self) -> String {
        let name = |(place, cell): &(Place, String)| format!("`{cell}` ({place})");
        self.first.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
