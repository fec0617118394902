//! The `jurybox` command: of all these items, which K deserve a person's time?
//!
//! Each subcommand is one file under `commands/`: its arguments, and `run`. What a machine reads goes to standard output,
//! one document; what people read while it works goes to standard error. Errors become an exit code here and nowhere else.
#![forbid(unsafe_code)]

mod advice;
mod commands;
mod output;

use clap::Parser;
use std::process::ExitCode;

/// Pages of Parquet come and go by the megabyte: the system's allocator gives each back to the kernel and asks for it
/// anew, which was measured to take longer than decoding it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Of all these items, which K deserve a person's time?
///
/// Items arrive with scores from many evaluators: classifiers, rules, LLM judges. The scores are noisy, biased, sometimes
/// missing. Jurybox picks the K, learns from what people find whom to trust, and proves how well it does.
#[derive(Parser)]
#[command(name = "jurybox", version, max_term_width = 100)]
struct Cli {
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
    let cli = Cli::parse();
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
            eprintln!("{}", jurybox_files::plain(&message, advice::is_of_the_lab(&error)));
            ExitCode::FAILURE
        }
    }
}
