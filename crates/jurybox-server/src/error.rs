//! What can go wrong with a queue, said so that a person or a program can act on it.

/// The one error of this crate. Unless it says otherwise, nothing has been changed when it is returned.
///
/// ```
/// let error = jurybox_server::Error::NoQueue { name: "posts".into() };
/// assert_eq!((error.code(), error.to_string().as_str()), ("no_queue", "there is no queue `posts`"));
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No queue of that name.
    #[error("there is no queue `{name}`")]
    NoQueue {
        /// What was asked for.
        name: String,
    },
    /// A queue of that name is there already, with another configuration.
    #[error("there is a queue `{name}` already, and it is set up differently")]
    QueueExists {
        /// Its name.
        name: String,
    },
    /// Something asked of a queue that makes no sense, or that its configuration does not allow.
    #[error("{0}")]
    Refused(String),
    /// Something that does not fit what has happened to the item or the lease since.
    #[error("{0}")]
    Conflict(String),
    /// The same idempotency key was used for another request.
    #[error("idempotency key `{key}` was used before, for another request")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// The scores, the policy or the evaluators.
    #[error(transparent)]
    Library(#[from] jurybox::Error),
    /// The database cannot be reached or does not take what is written. What was asked for has not happened.
    #[error("the database: {0}")]
    Database(String),
    /// The database has no room left on its disk. What was asked for has not happened.
    #[error("the disk of the database is full: {0}")]
    DiskFull(String),
    /// Too much is asked for at once. What was asked for has not happened.
    #[error("{0}")]
    Busy(String),
    /// The database does not take what was to be written, because it contradicts what is there: a fault of this program. What was asked for
    /// has not happened, and will not later as it is.
    #[error("the database does not take it: {0}")]
    Contradiction(String),
    /// The connection was lost while committing, and the database cannot yet be asked whether it happened. Ask again with the
    /// same idempotency key.
    #[error("the database went away while committing; ask again with the same idempotency key: {0}")]
    Unknown(String),
    /// The queue's clerk stopped in the middle of something; other queues go on. It is tried again after a while.
    #[error("the queue has stopped: {0}")]
    Stopped(String),
    /// The folder or the database is in use, or not what this program can open.
    #[error("{0}")]
    Open(String),
    /// A later program has brought the tables to a version that this one does not know. What was asked for has not happened.
    #[error(
        "a later program has brought the tables to version {version}, and this one has version {known}: it writes nothing any more"
    )]
    Outdated {
        /// What they are of.
        version: i64,
        /// What this program has.
        known: i64,
    },
    /// The file of the database is not where it was when it was opened. What was asked for has not happened.
    #[error(
        "the database's file was deleted or replaced while it was in use: nothing is taken in until it is opened again"
    )]
    FileGone,
    /// Rows that contradict each other, or cannot be read.
    #[error("the records contradict themselves: {0}")]
    Corrupt(String),
    /// The queue's clerk has stopped; open the service again.
    #[error("the queue is closed")]
    Closed,
}

impl Error {
    /// A word for the kind of error that stays the same from version to version.
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

    /// Whether the same request may succeed later as it is.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Database(_) | Error::DiskFull(_) | Error::Busy(_) | Error::Unknown(_) | Error::Closed
        )
    }

    /// In how many seconds it is worth asking again, where it is.
    pub fn retry_after(&self) -> u32 {
        match self {
            Error::Stopped(_) | Error::Outdated { .. } | Error::FileGone | Error::DiskFull(_) => 10,
            _ => 1,
        }
    }

    /// Whether everything that is asked of the queue will be answered so until somebody sees to it.
    pub(crate) fn blocks_everything(&self) -> bool {
        matches!(self, Error::Outdated { .. } | Error::FileGone | Error::DiskFull(_))
    }

    /// Whether it concerns every queue of the database, so that the server is not ready.
    pub fn affects_all_queues(&self) -> bool {
        matches!(self, Error::DiskFull(_))
    }
}

/// Rows that cannot be what this program wrote.
pub(crate) fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::Corrupt(what.to_string())
}
