//! Queues that cannot lose: items in, picks out, verdicts back, each exactly once and durable.
//!
//! # The design in five sentences
//!
//! A queue is one ordered log in a database, and everything else is a fold of it. The clerk answers requests against a replica in
//! memory and makes the answers true in one transaction for all that wait; only what has been committed is so, and only then is it
//! answered. What was learnt at an entry is a pure function of the log up to it, so a claim that names its model can be
//! proved to have been the exact top K, by anybody, at any time: [`verify`] does, and shares no code with those who picked. A
//! [`EmbeddedQueue`] is one queue for one command at a time; a [`Service`] serves all queues of a [`StoreLocation`] to many callers: a folder, or a
//! PostgreSQL database that several nodes share.
//! Nothing of HTTP is here.
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
    Rejected, Request,
};
pub use verdict_scale::VerdictScale;
pub use service::{Queue, Service, QueueStatus};

#[cfg(test)]
mod tests;
