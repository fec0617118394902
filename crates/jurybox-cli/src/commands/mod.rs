//! The subcommands, one file each.

mod demo;
mod lab;
mod policies;
mod reproduce;
mod simulate;

use clap::Subcommand;

// Without a comment of its own, a variant shows the one on its arguments, all of it.
#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    /// List every policy: what it assumes and where it stands in the paper
    Policies(policies::Args),
    Reproduce(reproduce::Args),
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
