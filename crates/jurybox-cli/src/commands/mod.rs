//! The subcommands, one file each.

mod policies;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List every policy: what it assumes and where it stands in the paper
    Policies(policies::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Policies(args) => args.run(),
        }
    }
}
