//! The subcommands, each in a file or a folder, and the helpers that they share.

mod columns;
mod completions;
mod demo;
mod fit_warnings;
mod item_files;
mod key;
mod lab;
mod learn;
mod learn_picks;
mod location;
mod man;
mod merge;
mod names;
mod pick;
mod policies;
mod prevalence;
mod progress;
mod queue;
mod queue_settings;
mod range;
mod rank;
mod replay;
mod report;
mod reproduce;
mod serve;
mod server;
mod simulate;
mod state;
mod table_output;

use clap::Subcommand;

pub(crate) use lab::interrupted;

// If a variant has no doc comment, its help is the doc comment of its arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    Completions(completions::Args),
    Demo(demo::Args),
    // The command `queue export`, with a server's default folder as the default.
    #[command(mut_arg("place", |place| place.required(false).default_value("jurybox-data")))]
    Export(queue::Export),
    // With --picks, no files of scores are needed.
    #[command(mut_arg("files", |files| files.required(false).required_unless_present("picks")))]
    Learn(learn::Args),
    Man(man::Args),
    Merge(merge::Args),
    Pick(pick::Args),
    Policies(policies::Args),
    Prevalence(prevalence::Args),
    Queue(queue::Args),
    Rank(rank::Args),
    Replay(replay::Args),
    Report(report::Args),
    Reproduce(reproduce::Args),
    // Files are optional for a server, and given by --import.
    #[command(mut_arg("files", |files| files.required(false).long("import").num_args(1..).help_heading(serve::IMPORT)))]
    Serve(Box<serve::Args>),
    Server(server::Args),
    Simulate(simulate::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Completions(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Export(args) => args.run(),
            Command::Learn(args) => args.run(),
            Command::Man(args) => args.run(),
            Command::Merge(args) => args.run(),
            Command::Pick(args) => args.run(),
            Command::Policies(args) => args.run(),
            Command::Prevalence(args) => args.run(),
            Command::Queue(args) => args.run(),
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
