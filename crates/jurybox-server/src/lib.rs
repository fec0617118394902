//! Queues that cannot lose.
#![forbid(unsafe_code)]

mod board;
mod checker;
mod clerk;
mod config;
mod create;
mod decide;
mod desk;
mod error;
mod event;
mod keep;
mod learner;
mod load;
mod replica;
mod request;
mod rows;
mod seatings;
mod store;

pub use board::{Counts, Filter};
pub use desk::{Desk, Exported, Status};
pub use keep::{Rebuilt, backup, rebuild, restore};
pub use checker::{Checked, verify};
pub use config::{Config, Doors};
pub use error::Error;
pub use event::{Added, Body, Earlier, Event, Given, Held, Picked, Rescored, Source, Tags, Which};
pub use request::{Answer, Call, Change, Claimed, NewItem, NewVerdict, Rejected, Request};

#[cfg(test)]
mod tests;
