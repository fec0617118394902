//! `jurybox completions`: a completion script for a shell.

use crate::{command_line, output};
use clap_complete::{Shell, generate};

const EXAMPLES: &str = "\
Examples:
  # Bash: complete from the next shell on
  jurybox completions bash > ~/.local/share/bash-completion/completions/jurybox
  # Zsh, with ~/.zfunc in fpath
  jurybox completions zsh > ~/.zfunc/_jurybox
  # Fish
  jurybox completions fish > ~/.config/fish/completions/jurybox.fish";

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    /// Prints nothing but the script, because a shell may run this command whenever it starts.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        generate(self.shell, &mut command_line(), "jurybox", &mut script);
        output::text_to_stdout(&String::from_utf8(script)?)
    }
}
