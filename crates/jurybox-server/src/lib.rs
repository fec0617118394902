//! Durable review queues on SQLite and PostgreSQL. Programs send items with scores; reviewers claim
//! the best ones and send verdicts. A request repeated with the same idempotency key counts once.
//!
//! # The design
//!
//! A queue is one ordered log in a database. All other state follows from the log's entries,
//! applied in order (a fold). On each node a queue writer decides waiting requests in memory and
//! commits them together in one transaction. It answers only after the commit. The model at an
//! entry is a pure function of the log up to it. So [`verify`] can compute again, by a separate
//! implementation, which items a claim should have got under the model it names.
//!
//! An [`EmbeddedQueue`] is one queue for one command at a time. A [`Service`] serves all queues of
//! a [`StoreLocation`] to many callers. A location is a folder, or a PostgreSQL database that
//! several nodes share. HTTP is in another crate, `jurybox-http`.
#![forbid(unsafe_code)]

mod answers;
mod archive;
mod background;
mod checker;
mod clock;
mod config;
mod create;
mod decide;
mod embedded_queue;
mod error;
mod evaluator_history;
mod event;
mod hooks;
mod json;
mod keys;
mod learner;
mod live_queue;
mod load;
mod local_socket;
mod maintenance;
mod monitor;
mod pg_connection;
mod queue_writer;
mod reads;
mod replica;
mod request;
mod rows;
mod service;
mod store;
mod store_location;
mod stored_body;
mod verdict_scale;
mod worker;

pub use archive::{ArchivedQueue, archive};
pub use checker::{QueueVerification, VerifyFrom, VerifyReport, prove, verify};
pub use config::{Config, FileColumns, QueueMode};
pub use create::check_new_queue;
pub use embedded_queue::{EmbeddedQueue, EmbeddedStatus};
pub use error::Error;
pub use event::{
    AddedItem, Body, ClaimPick, GivenVerdict, LeasedItem, LogEvent, RescoredItem, ReviewVerdict, Tags,
    VerdictPosition, VerdictSource,
};
pub use hooks::{DeliveryOutcome, PendingDelivery, Secret, Webhook};
pub use json::Json;
pub use keys::{ApiKey, Keyring, NewKey, Role, hash_of_secret};
pub use live_queue::{Filter, ItemCounts};
pub use local_socket::LocalSocket;
pub use maintenance::{LogTime, RebuildReport, backup, log_times, rebuild, restore};
pub use reads::{
    ActivityEntry, AlarmOnset, DriftIncident, EvaluatorInfluence, EvaluatorSummary, ExplainedItem,
    ExportPage, ExportedItem, ExportedPick, ExportedVerdict, ItemState, ListedItem, OwnVerdict, QueueReport,
    RandomCheckCounts, RankingModel, RecentVerdict, RewardBounds, RewardMean, SkippedItem, VerdictOnItem,
    Workload, mean_of,
};
pub use request::{
    Answer, Call, ClaimedItem, ConfigChange, GOLDEN, LimitedBy, MOST_AT_ONCE, MOST_BYTES, NewItem,
    NewVerdict, Rejected, RejectionCode, Request,
};
pub use service::{Queue, QueueStatus, Service};
pub use store_location::StoreLocation;
pub use verdict_scale::VerdictScale;

#[cfg(test)]
mod tests;
