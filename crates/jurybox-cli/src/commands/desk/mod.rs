//! `jurybox desk`: a desk is a folder, or a database that several machines share.

mod add;
mod export;
mod found;
mod init;
mod pick;
mod set;
mod status;
mod verdict;

pub(crate) use export::Args as Export;

use clap::Subcommand;
use jurybox_server::Desk;
use std::time::Duration;

/// Keep a desk in a folder: items in, picks out, verdicts back, each exactly once and on disk when the command ends.
///
/// For shell scripts and cron, by any number of people and jobs at once; no server is needed. Commands that change something may be run
/// again after a crash: the same items, and the same verdicts, count once.
///
///   jurybox desk init desk --evaluators spam,abuse,reports
///
///   jurybox desk add desk hour.csv --id post_id
///
///   jurybox desk pick desk --reviewer ann -k 5
///
///   jurybox desk verdict desk --reviewer ann --item p17 --reward 1
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Args),
    Set(set::Args),
    Add(add::Args),
    Pick(pick::Args),
    Verdict(verdict::Args),
    Status(status::Args),
    Report(status::Report),
    Export(export::Args),
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            Command::Init(args) => args.run(),
            Command::Set(args) => args.run(),
            Command::Add(args) => args.run(),
            Command::Pick(args) => args.run(),
            Command::Verdict(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Export(args) => args.run(),
        }
    }
}

/// Which desk.
#[derive(clap::Args)]
struct Place {
    /// The folder of the desk; or a PostgreSQL database, as env:VARIABLE or file:PATH where its URL stands, or postgres://user@host/database
    #[arg(value_name = "DIR", value_parser = super::place::parser())]
    place: jurybox_server::Place,
    /// Which of its queues, where it has several
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// How many seconds to wait while another command or a server has the folder, or while the database cannot be reached
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
}

impl Place {
    fn open(&self) -> anyhow::Result<Desk> {
        let mut desk = Desk::open(&self.place, self.queue.as_deref(), self.patience())?;
        desk.tidy()?;
        Ok(desk)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}
