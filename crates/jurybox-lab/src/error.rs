//! The errors of the lab, with their codes.

use std::path::PathBuf;

/// An error of the lab.
///
/// ```
/// use jurybox_lab::Setting;
/// let error = Setting { k: 60, ..Setting::default() }.check().unwrap_err();
/// assert_eq!(error.code(), "setting");
/// assert!(matches!(error, jurybox_lab::Error::Setting { name: "k", .. }));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting with an impossible value.
    #[error("{name} = {value}: {reason}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// The value.
        value: String,
        /// Why it is refused.
        reason: String,
    },
    /// A policy or its input was refused.
    #[error(transparent)]
    Jury(#[from] jurybox::Error),
    /// A table of scores cannot be read.
    #[error(transparent)]
    Table(#[from] jurybox_files::Error),
    /// A file or folder cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file has unusable content.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Work on a number of runs was stopped; finished runs are kept on disk if a folder was given.
    #[error("stopped with {done} of {total} runs finished")]
    Interrupted {
        /// Runs that were finished, or read back, before the stop.
        done: usize,
        /// Runs asked for.
        total: usize,
    },
}

impl Error {
    /// The kind of error as a word that stays the same from version to version.
    ///
    /// ```
    /// use jurybox_lab::Setting;
    /// assert_eq!(Setting { k: 60, ..Setting::default() }.check().unwrap_err().code(), "setting");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Error::Setting { .. } => "setting",
            Error::Jury(error) => error.code(),
            Error::Table(error) => error.code(),
            Error::File { .. } => "file",
            Error::Content { .. } => "content",
            Error::Interrupted { .. } => "interrupted",
        }
    }

    pub(crate) fn setting(
        name: &'static str,
        value: impl std::fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Error::Setting { name, value: format!("{value}"), reason: reason.into() }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Error::File { path, source }
    }
}
