//! `jurybox man`: the manual pages and the reference of the book, made from the command line's
//! help.

use super::lab;
use crate::messages::{say, shell};
use crate::{command_line, output, reference};
use anyhow::Context;
use clap_mangen::{Man, generate_to};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # Read the manual page of the program
  jurybox man | man -l -
  # Install one page per command
  jurybox man ~/.local/share/man/man1";

/// Print the manual page, or write one page per command into a folder
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for jurybox.1, jurybox-rank.1, ... [default: jurybox.1 to standard output]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Write Markdown pages into this folder instead: index.md, rank.md, ...
    #[arg(long, value_name = "DIR", conflicts_with = "folder")]
    markdown: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if let Some(folder) = &self.markdown {
            let folder = lab::writable(folder)?;
            let pages = reference::pages(command_line());
            for (name, text) in &pages {
                lab::write(&folder.join(name), text)?;
            }
            say(format_args!("Wrote {} pages to {}.", pages.len(), folder.display()));
            return Ok(());
        }
        if let Some(folder) = &self.folder {
            let folder = lab::writable(folder)?;
            generate_to(command_line(), &folder)
                .with_context(|| format!("cannot write to the folder {}", folder.display()))?;
            say(format_args!("Wrote the manual pages to {}.", folder.display()));
            say(format_args!("Next: man {}", shell(folder.join("jurybox-rank.1").display())));
            return Ok(());
        }
        let mut page = Vec::new();
        Man::new(command_line()).render(&mut page)?;
        output::text_to_stdout(&String::from_utf8(page)?)
    }
}
