//! `jurybox man`: the manual, made by the program that it is about.

use super::lab;
use crate::messages::say;
use crate::{Cli, output};
use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::{Man, generate_to};
use std::path::PathBuf;

/// Print the manual page, or write one page per command into a folder.
///
///   jurybox man | man -l -
///
///   jurybox man ~/.local/share/man/man1
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for jurybox.1, jurybox-rank.1, ... [default: jurybox.1 alone, to standard output]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if let Some(folder) = &self.folder {
            let folder = lab::writable(folder)?;
            generate_to(Cli::command(), &folder)
                .with_context(|| format!("cannot write to the folder {}", folder.display()))?;
            say(format_args!("the pages are in {}", folder.display()));
            return Ok(());
        }
        let mut page = Vec::new();
        Man::new(Cli::command()).render(&mut page)?;
        output::text_to_stdout(&String::from_utf8(page)?)
    }
}
