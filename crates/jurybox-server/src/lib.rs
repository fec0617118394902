//! Durable review queues on SQLite and PostgreSQL: items in, claims out, verdicts back, each
//! exactly once.
//!
//! # The design
//!
//! A queue is one ordered log in a database; all other state is a fold of it. On each node a queue
//! writer decides requests in memory and commits all that wait in one transaction. It answers only
//! after the commit. The model at an entry is a pure function of the log up to it. So [`verify`]
//! can prove, by a separate implementation, that a claim had the exact top K under the model it
//! names.
//!
//! An [`EmbeddedQueue`] is one queue for one command at a time. A [`Service`] serves all queues of
//! a [`StoreLocation`] to many callers: a folder, or a PostgreSQL database that several nodes
//! share. HTTP is in another crate, `jurybox-http`.
#![forbid(unsafe_code)]

mod answers;
mod archive;
mod background;
mod live_queue;
mod checker;
mod queue_writer;
mod clock;
mod config;
mod create;
mod decide;
mod embedded_queue;
mod local_socket;
mod error;
mod event;
mod hooks;
mod json;
mod maintenance;
mod keys;
mod learner;
mod pg_connection;
mod load;
mod worker;
mod store_location;
mod reads;
mod replica;
mod request;
mod verdict_scale;
mod rows;
mod evaluator_history;
mod service;
mod store;
mod stored_body;
mod monitor;

pub use archive::{ArchivedQueue, archive};
pub use live_queue::{ItemCounts, Filter};
pub use checker::{QueueVerification, VerifyReport, VerifyFrom, prove, verify};
pub use config::{Config, QueueMode, FileColumns};
pub use create::check_new_queue;
pub use embedded_queue::{EmbeddedQueue, EmbeddedStatus};
pub use local_socket::LocalSocket;
pub use error::Error;
pub use event::{AddedItem, Body, ReviewVerdict, LogEvent, GivenVerdict, LeasedItem, ClaimPick, RescoredItem, VerdictSource, Tags, VerdictPosition};
pub use hooks::{DeliveryOutcome, Secret, PendingDelivery, Webhook};
pub use json::Json;
pub use maintenance::{LogTime, RebuildReport, backup, log_times, rebuild, restore};
pub use keys::{ApiKey, Keyring, NewKey, Role, hash_of_secret};
pub use store_location::StoreLocation;
pub use reads::{
    RandomCheckCounts, EvaluatorSummary, ExplainedItem, ExportPage, ExportedItem, ExportedPick, ExportedVerdict, QueueReport, ActivityEntry,
    VerdictOnItem, ListedItem, RankingModel, DriftIncident, OwnVerdict, Workload, AlarmOnset, RewardBounds, RewardMean, SkippedItem, ItemState, EvaluatorInfluence, RecentVerdict,
    mean_of,
};
pub use request::{
    Answer, Call, ConfigChange, ClaimedItem, GOLDEN, LimitedBy, MOST_AT_ONCE, MOST_BYTES, NewItem, NewVerdict,
    Rejected, RejectionCode, Request,
};
pub use verdict_scale::VerdictScale;
pub use service::{Queue, Service, QueueStatus};

#[cfg(test)]
mod tests;
