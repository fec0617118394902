//! `jurybox queue`: a queue in a folder, or in a database that several machines share.

mod add;
mod claim;
mod export;
mod init;
mod report;
mod results;
mod set;
mod status;
mod verdict;

pub(crate) use export::Args as Export;

use super::location;
use crate::advice::Advised;
use crate::messages::shell;
use clap::Subcommand;
use jurybox_server::{EmbeddedQueue, Error};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # A queue in the folder `review`, and its first items
  jurybox queue init review --evaluators spam,abuse,reports
  jurybox queue add review hour.csv --id post_id
  # Ann claims five items and gives a verdict on one
  jurybox queue claim review --reviewer ann -k 5
  jurybox queue verdict review --reviewer ann --item p17 --reward 1";

/// Keep a review queue in a folder or a database: items in, claims out, verdicts back
///
/// For scripts and cron, without a server, by any number of people and jobs at once. A command has
/// stored its effect when it ends, and may be repeated after a crash: items and verdicts count
/// once.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: QueueCommand,
}

#[derive(Subcommand)]
enum QueueCommand {
    Init(init::Args),
    Set(set::Args),
    Add(add::Args),
    Claim(claim::Args),
    Verdict(verdict::Args),
    Status(status::Args),
    Report(report::Args),
    Export(export::Args),
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            QueueCommand::Init(args) => args.run(),
            QueueCommand::Set(args) => args.run(),
            QueueCommand::Add(args) => args.run(),
            QueueCommand::Claim(args) => args.run(),
            QueueCommand::Verdict(args) => args.run(),
            QueueCommand::Status(args) => args.run(),
            QueueCommand::Report(args) => args.run(),
            QueueCommand::Export(args) => args.run(),
        }
    }
}

/// Where a queue is, and its name.
#[derive(clap::Args)]
struct QueueAddress {
    /// Folder of the queue; or a PostgreSQL database, as env:VARIABLE or file:PATH with its URL, or
    /// postgres://user@host/database
    #[arg(value_name = "DIR", value_parser = location::parser())]
    place: jurybox_server::StoreLocation,
    /// The queue, if there are several
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// Seconds to wait for another process that has the folder, or for the database
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
}

impl QueueAddress {
    /// Opens the queue. Deletes expired payloads, unless a server holds the folder and does so
    /// itself.
    fn open(&self) -> anyhow::Result<EmbeddedQueue> {
        let mut queue =
            EmbeddedQueue::open(&self.place, self.queue.as_deref(), self.timeout()).map_err(|error| {
                match error {
                    // Without --queue, this error means that there are several queues or none.
                    Error::Refused(_) if self.queue.is_none() => Advised::error(
                        error,
                        "name a queue with --queue, or create one with `jurybox queue init`",
                    ),
                    error => error.into(),
                }
            })?;
        queue.tidy()?;
        Ok(queue)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.wait)
    }

    /// The location as an argument of a suggested command, with `--queue` if it was given.
    fn argument(&self) -> String {
        let place = location::argument(&self.place);
        self.queue.as_ref().map_or(place.clone(), |name| format!("{place} --queue {}", shell(name)))
    }
}
