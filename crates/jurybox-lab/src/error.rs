//! What can go wrong in the lab, in words for the person who asked.

use std::path::PathBuf;

/// An error of the lab.
///
/// ```
/// use jurybox_lab::Setting;
/// let error = Setting { k: 60, ..Setting::default() }.check().unwrap_err();
/// assert_eq!(error.to_string(), "k = 60: must be below items = 60, or there is nothing to choose");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting that makes no sense.
    #[error("{name} = {value}: {reason}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What was given.
        value: String,
        /// What to do about it.
        reason: String,
    },
    /// The library refused a policy or its input.
    #[error(transparent)]
    Jury(#[from] jurybox::Error),
    /// A table of scores cannot be read.
    #[error(transparent)]
    Table(#[from] jurybox_files::Error),
    /// A file or folder cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {reason}", path.display())]
    Content {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The run was stopped; what was finished is kept.
    #[error("stopped with {done} of {total} runs finished")]
    Interrupted {
        /// Runs finished, in this and in earlier calls.
        done: usize,
        /// Runs asked for.
        total: usize,
    },
}

impl Error {
    /// A word for the kind of error that stays the same from version to version, for programs that act on it.
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
