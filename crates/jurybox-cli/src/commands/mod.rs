//! The subcommands, one file each.

mod columns;
mod demo;
mod lab;
mod learn;
mod policies;
mod rank;
mod replay;
mod report;
mod reproduce;
mod simulate;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Watch a review desk learn whom to trust: no files, no network, a few seconds
    Demo(demo::Args),
    /// Learn from the scores of files, and from the rewards where they have them
    Learn(learn::Args),
    /// Add states that were learnt apart
    Merge(learn::MergeArgs),
    /// List every policy: what it assumes and where it stands in the paper
    Policies(policies::Args),
    /// Rank the rows of files and write the top K, best first
    Rank(rank::Args),
    /// Replay a history of scores and rewards under each policy
    Replay(replay::Args),
    /// Report which evaluators to trust
    Report(report::Args),
    /// Reproduce the paper: figures, tables, and a verdict on every claim
    Reproduce(reproduce::Args),
    /// Set policies against each other on a simulated review desk
    Simulate(simulate::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Demo(args) => args.run(),
            Command::Learn(args) => args.run(),
            Command::Merge(args) => args.run(),
            Command::Policies(args) => args.run(),
            Command::Rank(args) => args.run(),
            Command::Replay(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Reproduce(args) => args.run(),
            Command::Simulate(args) => args.run(),
        }
    }
}
