//! The `jurybox` command: of all these items, which K deserve a person's time?
//!
//! Each subcommand is one file under `commands/`: its arguments, and `run`. Results go to standard output (`output.rs`), for
//! machines as one document and for people as a table; words while it works to standard error (`messages.rs`). Errors become
//! an exit code here and nowhere else.
#![forbid(unsafe_code)]

mod advice;
mod commands;
mod messages;
mod output;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::process::ExitCode;

/// Pages of Parquet come and go by the megabyte: the system's allocator gives each back to the kernel and asks for it
/// anew, which was measured to take longer than decoding it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXIT_CODES: &str = "\
Exit codes:
  0    it is done; also when whoever read the output left early, as `| head` does
  1    it could not be done: what was wrong, where and with which value is on standard error
  2    the command line does not make sense
  130  stopped by Ctrl-C

Results go to standard output, everything else to standard error.";

/// The exit code after Ctrl-C, as shells have it: 128 and the signal's number.
const INTERRUPTED: u8 = 130;

/// Of all these items, which K deserve a person's time?
///
/// Items arrive with scores from many evaluators: classifiers, rules, LLM judges. The scores are noisy, biased, sometimes
/// missing. Jurybox picks the K, learns from what people find whom to trust, and proves how well it does.
#[derive(Parser)]
#[command(name = "jurybox", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    /// Say nothing but results and errors
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let speak = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !jurybox_files::panic_is_caught() {
            speak(panic);
        }
    }));
    let cli = parsed().unwrap_or_else(|error| refuse(&error));
    messages::hush(cli.quiet);
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has gone (`| head`): it has what it wanted.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let message = match advice::on(&error) {
                Some(advice) => format!("error: {error:#}; {advice}"),
                None => format!("error: {error:#}"),
            };
            // Names, cells and states come from anywhere. Only a settings file's errors are drawn over several lines.
            messages::line(&jurybox_files::plain(&message, advice::draws_settings(&error)));
            if commands::interrupted() { INTERRUPTED.into() } else { ExitCode::FAILURE }
        }
    }
}

/// The command line. A terminal that says it is dumb gets no colours, though a build machine's variables ask for them.
fn parsed() -> Result<Cli, clap::Error> {
    let color = if messages::is_dumb() { clap::ColorChoice::Never } else { clap::ColorChoice::Auto };
    let mut command = Cli::command().color(color);
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Says what is wrong with a command line, or what was asked of it, such as `--help`. File names come from anywhere, too.
fn refuse(error: &clap::Error) -> ! {
    let acts = |argument: std::ffi::OsString| {
        let argument = argument.to_string_lossy();
        jurybox_files::plain(&argument, false) != argument
    };
    if error.use_stderr() && std::env::args_os().any(acts) {
        messages::line(jurybox_files::plain(&error.render().to_string(), true).trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The arguments under each heading of the help, command by command.
    fn headings(command: &clap::Command, path: &str, all: &mut BTreeMap<String, Vec<(String, Vec<String>)>>) {
        let mut own: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for argument in command.get_arguments() {
            if let Some(heading) = argument.get_help_heading() {
                own.entry(heading.into()).or_default().push(argument.get_id().to_string());
            }
        }
        for (heading, arguments) in own {
            all.entry(heading).or_default().push((path.into(), arguments));
        }
        command.get_subcommands().for_each(|sub| headings(sub, &format!("{path} {}", sub.get_name()), all));
    }

    /// A heading stands over the same arguments in every command, so that it takes in none that only follow it.
    #[test]
    fn a_heading_stands_over_the_same_arguments_everywhere() {
        let (mut all, mut command) = (BTreeMap::new(), Cli::command());
        command.build();
        headings(&command, "jurybox", &mut all);
        for (heading, commands) in &all {
            let (first, expected) = &commands[0];
            for (command, arguments) in commands {
                assert_eq!(arguments, expected, "`{heading}` in `{command}` and in `{first}`");
            }
        }
        assert!(all.values().any(|commands| commands.len() > 3), "no heading is shared: {all:?}");
    }
}
