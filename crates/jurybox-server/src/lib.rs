//! Queues that cannot lose: items in, picks out, verdicts back, each exactly once and durable.
//!
//! # The design in five sentences
//!
//! A queue is one ordered log in a database, and everything else is a fold of it. The clerk answers requests against a replica in
//! memory and makes the answers true in one transaction for all that wait; only what has been committed is so, and only then is it
//! answered. What was learnt at an entry is a pure function of the log up to it, so a claim that names its model can be
//! proved to have been the exact top K, by anybody, at any time: [`verify`] does, and shares no code with those who picked. A
//! [`Desk`] is one queue for one command at a time; a [`Service`] serves all queues of a [`Place`] to many callers: a folder, or a
//! PostgreSQL database that several nodes share.
//! Nothing of HTTP is here.
#![forbid(unsafe_code)]

mod answers;
mod archive;
mod aside;
mod board;
mod checker;
mod clerk;
mod clock;
mod config;
mod create;
mod decide;
mod desk;
mod door;
mod error;
mod event;
mod hooks;
mod json;
mod keep;
mod keys;
mod learner;
mod line;
mod load;
mod office;
mod place;
mod reads;
mod replica;
mod request;
mod rewards;
mod rows;
mod seatings;
mod service;
mod store;
mod stub;
mod watch;

pub use archive::{Archived, archive};
pub use board::{Counts, Filter};
pub use checker::{Checked, Proof, Since, prove, verify};
pub use config::{Config, Doors, FileColumns};
pub use create::check_new_queue;
pub use desk::{Desk, Status};
pub use door::Door;
pub use error::Error;
pub use event::{Added, Body, Earlier, Event, Given, Held, Picked, Rescored, Source, Tags, Which};
pub use hooks::{Outcome, Secret, Sending, Webhook};
pub use json::Json;
pub use keep::{LogTime, Rebuilt, backup, log_times, rebuild, restore};
pub use keys::{Key, Keyring, NewKey, Role, hash_of_secret};
pub use place::Place;
pub use reads::{
    Drawn, Evaluated, Explained, ExportPage, Exported, ExportedPick, ExportedVerdict, Found, Happened,
    Judged, Listed, Model, Noticed, Own, Pulse, Raised, Scale, Share, Skipped, Stands, Trusted, Worked,
    mean_of,
};
pub use request::{
    Answer, Call, Change, Claimed, GOLDEN, LimitedBy, MOST_AT_ONCE, MOST_BYTES, NewItem, NewVerdict,
    Rejected, Request,
};
pub use rewards::Rewards;
pub use service::{Queue, Service, Standing};

#[cfg(test)]
mod tests;
