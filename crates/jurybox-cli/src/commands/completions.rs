//! `jurybox completions`: what a shell needs to complete commands and flags.

use crate::{Cli, output};
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Print completions for a shell.
///
/// Put them where your shell looks for them:
///
///   jurybox completions bash > ~/.local/share/bash-completion/completions/jurybox
///
///   jurybox completions zsh > ~/.zfunc/_jurybox
///
///   jurybox completions fish > ~/.config/fish/completions/jurybox.fish
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "jurybox", &mut script);
        output::text_to_stdout(&String::from_utf8(script)?)
    }
}
