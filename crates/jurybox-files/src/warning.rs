//! What a person should know before believing a result.

use std::fmt;
use std::path::PathBuf;

/// What a person should know though nothing failed.
///
/// ```
/// let warning = jurybox_files::Warning::MissingColumn { path: "mon.csv".into(), column: "spam".into(), what: "scores" };
/// assert_eq!(warning.to_string(), "mon.csv: there is no column `spam`: its scores are missing");
/// assert_eq!(warning.code(), "missing-column");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
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
            Warning::IgnoredColumn { path, column } => {
                write!(f, "{}: column `{column}` is ignored: its scores are missing", path.display())
            }
        }
    }
}
