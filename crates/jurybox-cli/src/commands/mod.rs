//! The subcommands, one file each.

mod columns;
mod completions;
mod concerns;
mod demo;
mod desk;
mod intake;
mod key;
mod lab;
mod layout;
mod learn;
mod man;
mod merge;
mod names;
mod pick;
mod place;
mod policies;
mod prevalence;
mod progress;
mod range;
mod rank;
mod replay;
mod report;
mod reproduce;
mod serve;
mod server;
mod set_up;
mod simulate;
mod state;
mod verdicts;

use clap::Subcommand;

pub(crate) use lab::interrupted;

// Without a comment of its own, a variant shows the one on its arguments, all of it.
#[derive(Subcommand)]
pub(crate) enum Command {
    Completions(completions::Args),
    Demo(demo::Args),
    Desk(desk::Args),
    // The same of a queue that is served, from where a server keeps its records unless it is told otherwise.
    #[command(mut_arg("place", |place| place.required(false).default_value("jurybox-data")))]
    Export(desk::Export),
    // Verdicts on picks need no table of scores.
    #[command(mut_arg("files", |files| files.required(false).required_unless_present("picks")))]
    Learn(learn::Args),
    Man(man::Args),
    Merge(merge::Args),
    Pick(pick::Args),
    Policies(policies::Args),
    Prevalence(prevalence::Args),
    Rank(rank::Args),
    Replay(replay::Args),
    Report(report::Args),
    Reproduce(reproduce::Args),
    // The files are named by an option here: nothing is served by them.
    #[command(mut_arg("files", |files| files.required(false).long("import").num_args(1..)))]
    Serve(Box<serve::Args>),
    Server(server::Args),
    Simulate(simulate::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Completions(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Desk(args) => args.run(),
            Command::Export(args) => args.run(),
            Command::Learn(args) => args.run(),
            Command::Man(args) => args.run(),
            Command::Merge(args) => args.run(),
            Command::Pick(args) => args.run(),
            Command::Policies(args) => args.run(),
            Command::Prevalence(args) => args.run(),
            Command::Rank(args) => args.run(),
            Command::Replay(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Reproduce(args) => args.run(),
            Command::Serve(args) => args.run(),
            Command::Server(args) => args.run(),
            Command::Simulate(args) => args.run(),
        }
    }
}
