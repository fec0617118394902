//! The crate's error, with a stable code for each kind.

/// An error of a queue. The request has changed nothing, unless the kind of error or its message
/// says otherwise.
///
/// ```
/// let error = jurybox_server::Error::NoQueue { name: "posts".into() };
/// assert_eq!(error.code(), "no_queue");
/// assert_eq!(error.to_string(), "there is no queue `posts`");
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no queue of that name.
    #[error("there is no queue `{name}`")]
    NoQueue {
        /// The name asked for.
        name: String,
    },
    /// There is a queue of that name with another configuration.
    #[error("queue `{name}` exists already, with another configuration")]
    QueueExists {
        /// The queue's name.
        name: String,
    },
    /// The request is invalid, or the queue's configuration does not allow it.
    #[error("{0}")]
    Refused(String),
    /// The request contradicts the present state of the queue or of something in it.
    #[error("{0}")]
    Conflict(String),
    /// The idempotency key was used for another request.
    #[error("idempotency key `{key}` was used before for another request")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// An error about scores, policy or evaluators.
    #[error(transparent)]
    Library(#[from] jurybox::Error),
    /// The database cannot be reached or has failed. Nothing was changed.
    #[error("the database failed: {0}")]
    Database(String),
    /// The database's disk is full. Nothing was changed.
    #[error("the disk of the database is full: {0}")]
    DiskFull(String),
    /// Too many requests at once. Nothing was changed.
    #[error("{0}")]
    Busy(String),
    /// The database refused rows that break its rules: a fault of this program. Nothing was
    /// changed, and repeating the request will not help.
    #[error("the database refused contradictory rows: {0}")]
    Contradiction(String),
    /// The connection was lost during the commit, and it is unknown whether the commit happened.
    /// Repeat the request with the same idempotency key.
    #[error(
        "the database went away during the commit; repeat the request with the same idempotency key: {0}"
    )]
    Unknown(String),
    /// The queue writer panicked. Other queues go on, and this one is opened again after a while.
    #[error("the queue has stopped: {0}")]
    Stopped(String),
    /// The folder or database is in use, missing, or cannot be opened by this program.
    #[error("{0}")]
    Open(String),
    /// A later program has updated the tables to a version unknown to this one. Nothing was
    /// changed.
    #[error(
        "a later program has updated the tables to version {version}; this one knows version {known} and writes nothing: update it"
    )]
    Outdated {
        /// The version of the tables.
        version: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The database file was deleted or replaced while it was open. Nothing was changed.
    #[error(
        "the database file was deleted or replaced while it was in use: nothing is written until it is opened again"
    )]
    FileGone,
    /// Rows that contradict each other or cannot be read.
    #[error("the records are damaged: {0}")]
    Corrupt(String),
    /// The queue writer has ended; open the service again. A request that was waiting may have been
    /// carried out.
    #[error("the queue is closed")]
    Closed,
}

impl Error {
    /// A stable code for the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NoQueue { .. } => "no_queue",
            Error::QueueExists { .. } => "queue_exists",
            Error::Refused(_) => "refused",
            Error::Conflict(_) => "conflict",
            Error::KeyReused { .. } => "key_reused",
            Error::Library(error) => error.code(),
            Error::Database(_) => "database",
            Error::DiskFull(_) => "disk_full",
            Error::Busy(_) => "busy",
            Error::Contradiction(_) => "contradiction",
            Error::Unknown(_) => "unknown",
            Error::Stopped(_) => "stopped",
            Error::Open(_) => "open",
            Error::Outdated { .. } => "outdated",
            Error::FileGone => "file_gone",
            Error::Corrupt(_) => "corrupt",
            Error::Closed => "closed",
        }
    }

    /// Whether to send the same request again: the database was away or full, or the queue was busy
    /// or closed.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Database(_) | Error::DiskFull(_) | Error::Busy(_) | Error::Unknown(_) | Error::Closed
        )
    }

    /// How many seconds to wait before trying again.
    pub fn retry_after(&self) -> u32 {
        match self {
            Error::Stopped(_) | Error::Outdated { .. } | Error::FileGone | Error::DiskFull(_) => 10,
            _ => 1,
        }
    }

    /// Whether all requests to the queue will fail like this until somebody intervenes.
    pub(crate) fn blocks_everything(&self) -> bool {
        matches!(self, Error::Outdated { .. } | Error::FileGone | Error::DiskFull(_))
    }

    /// Whether the error makes the whole server not ready, and not only this queue.
    pub fn affects_all_queues(&self) -> bool {
        matches!(self, Error::DiskFull(_))
    }
}

/// An error for rows that this program cannot have written.
pub(crate) fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::Corrupt(what.to_string())
}
