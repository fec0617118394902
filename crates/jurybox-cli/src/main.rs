//! The `jurybox` command: parsing, exit codes and the text of errors.
//!
//! Each subcommand has a file or a folder under `commands/`, with its arguments and `run`. Results
//! go to standard output (`output.rs`), messages to standard error (`messages.rs`). Exit codes are
//! chosen here, except that of a second Ctrl-C (`commands/lab.rs`).
#![forbid(unsafe_code)]

mod advice;
mod commands;
mod groups;
mod messages;
mod output;
mod reference;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::process::ExitCode;

/// Replaces the system's allocator, which returns freed memory to the kernel. Decoding Parquet
/// allocates and frees megabytes per page: returning them was measured to take longer than
/// decoding.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const AFTER_HELP: &str = "\
Exit codes:
  0    success, also when the reader of the output left early, as `| head` does
  1    failure: standard error says what was wrong, where, and what to do
  2    the command line is not valid
  130  stopped by Ctrl-C

Results go to standard output, everything else to standard error.
`jurybox COMMAND --help` shows the options of a command, with examples.";

/// The exit code after Ctrl-C, as in shells: 128 plus 2, the number of the signal SIGINT.
const INTERRUPTED: u8 = 130;

/// Of all these items, which K deserve a person's time?
///
/// Items arrive with scores from many evaluators: classifiers, rules, LLM judges. The scores are
/// noisy, biased, sometimes missing. Jurybox picks the K best items, learns from verdicts which
/// evaluators to trust, and measures how well it does.
#[derive(Parser)]
#[command(name = "jurybox", version, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    /// Print results and errors only
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: commands::Command,
}

/// The parser of the command line, whose `--help` lists the subcommands in groups.
fn command_line() -> clap::Command {
    let command = Cli::command();
    let template = groups::help_template(&command);
    command.help_template(template)
}

fn main() -> ExitCode {
    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !jurybox_files::panic_is_caught() {
            print_panic(panic);
        }
    }));
    let cli = parse().unwrap_or_else(|error| exit_with(&error));
    messages::set_quiet(cli.quiet);
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has left, as `| head` does once it has enough lines.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let message = match advice::on(&error) {
                Some(advice) => format!("error: {error:#}; {advice}"),
                None => format!("error: {error:#}"),
            };
            // An error may repeat names and cells of files, with control characters in them. Line
            // ends are kept only where `draws_settings` allows it.
            messages::line(&jurybox_files::plain(&message, advice::draws_settings(&error)));
            if commands::interrupted() { INTERRUPTED.into() } else { ExitCode::FAILURE }
        }
    }
}

/// Parses the command line. A terminal with `TERM=dumb` gets no colours, whatever other environment
/// variables say.
fn parse() -> Result<Cli, clap::Error> {
    let color = if messages::is_dumb() { clap::ColorChoice::Never } else { clap::ColorChoice::Auto };
    let mut command = command_line().color(color);
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Prints help, the version or an error of the command line, and exits with its code.
///
/// If an argument has control characters, those in the printed error are escaped, except line ends.
fn exit_with(error: &clap::Error) -> ! {
    let has_control = |argument: std::ffi::OsString| {
        let argument = argument.to_string_lossy();
        jurybox_files::plain(&argument, false) != argument
    };
    if error.use_stderr() && std::env::args_os().any(has_control) {
        messages::line(jurybox_files::plain(&error.render().to_string(), true).trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Calls `visit` with every command and its full name.
    fn walk(command: &clap::Command, name: &str, visit: &mut impl FnMut(&str, &clap::Command)) {
        visit(name, command);
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            walk(sub, &format!("{name} {}", sub.get_name()), visit);
        }
    }

    fn built() -> clap::Command {
        let mut command = command_line();
        command.build();
        command
    }

    /// A heading is shared if several commands use it. An option under a shared heading in one
    /// command is under it in every command that has the option.
    #[test]
    fn options_stand_under_the_same_heading_everywhere() {
        let mut uses: BTreeMap<String, Vec<(String, BTreeSet<String>)>> = BTreeMap::new();
        let mut options: BTreeMap<String, Vec<(String, Option<String>)>> = BTreeMap::new();
        // `--reward COLUMN` and `--reward NUMBER` count as two options.
        let key = |option: &clap::Arg| {
            let value = option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            format!("{} {}", option.get_id(), value.unwrap_or_default())
        };
        walk(&built(), "jurybox", &mut |name, command| {
            let mut headings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for option in command.get_arguments().filter(|option| !option.is_positional()) {
                let heading = option.get_help_heading().map(String::from);
                if let Some(heading) = &heading {
                    headings.entry(heading.clone()).or_default().insert(key(option));
                }
                options.entry(key(option)).or_default().push((name.into(), heading));
            }
            for (heading, ids) in headings {
                uses.entry(heading).or_default().push((name.into(), ids));
            }
        });
        let shared: Vec<&String> =
            uses.iter().filter(|(_, uses)| uses.len() > 1).map(|(one, _)| one).collect();
        assert!(shared.len() > 2, "{shared:?}");
        for heading in shared {
            for id in uses[heading].iter().flat_map(|(_, ids)| ids) {
                for (command, other) in &options[id] {
                    assert_eq!(other.as_ref(), Some(heading), "`{id}` in `{command}`");
                }
            }
        }
    }

    /// In each command, the heading "File format" is missing or has exactly these six options.
    #[test]
    fn the_file_format_has_no_other_options() {
        let format = ["decimal", "delimiter", "input_format", "long", "na", "no_header"];
        let mut found = 0;
        walk(&built(), "jurybox", &mut |name, command| {
            let mut ids: Vec<String> = command
                .get_arguments()
                .filter(|option| option.get_help_heading() == Some("File format"))
                .map(|option| option.get_id().to_string())
                .collect();
            ids.sort();
            found += usize::from(!ids.is_empty());
            assert!(ids.is_empty() || ids == format, "{name}: {ids:?}");
        });
        assert!(found > 5, "{found}");
    }

    #[test]
    fn every_command_says_what_it_does() {
        walk(&built(), "jurybox", &mut |name, command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && about.len() <= 90, "{name}: {about}");
        });
    }
}
