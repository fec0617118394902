//! The subcommands, one file each.

mod demo;
mod lab;
mod policies;
mod reproduce;
mod simulate;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Watch a review desk learn whom to trust: no files, no network, a few seconds
    Demo(demo::Args),
    /// List every policy: what it assumes and where it stands in the paper
    Policies(policies::Args),
    /// Reproduce the paper: figures, tables, and a verdict on every claim
    Reproduce(reproduce::Args),
    /// Set policies against each other on a simulated review desk
    Simulate(simulate::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Demo(args) => args.run(),
            Command::Policies(args) => args.run(),
            Command::Reproduce(args) => args.run(),
            Command::Simulate(args) => args.run(),
        }
    }
}
