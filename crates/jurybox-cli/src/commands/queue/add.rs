//! `jurybox queue add`: items from files.

use super::super::columns::{ColumnArgs, OUTPUT};
use super::super::item_files::{ItemColumns, ItemFiles};
use super::QueueAddress;
use crate::messages::{next, say};
use crate::output;
use anyhow::{bail, ensure};
use jurybox_server::{Call, ConfigChange, Request};

const EXAMPLES: &str = "\
Examples:
  # Reviewers see the text; claims can filter by language
  jurybox queue add review hour.csv --id post_id --tag language --show text
  # The next file: the columns are remembered
  jurybox queue add review next-hour.csv";

/// Add items with their scores; known items get the scores that are new
///
/// Repeated with the same file, it changes nothing. Closed items are counted and left as they are.
/// If some items are refused, the others are added and the command ends with exit code 1. The
/// columns of id, tags and payload are remembered for the next file.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    item_columns: ItemColumns,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut queue = self.address.open()?;
        let now = queue.status()?.config;
        let (evaluators, before) = (now.evaluators.as_slice(), now.columns.as_ref());
        let files = ItemFiles::open(&self.columns, &self.item_columns, evaluators, before, false)?;
        let summary = files.add_to(|request| Ok(queue.ask(&Call::new("desk", request))?))?;
        if before != Some(files.uses()) {
            let columns = Some(files.uses().clone());
            queue.ask(&Call::new(
                "desk",
                Request::Configure(ConfigChange { columns, ..ConfigChange::default() }),
            ))?;
        }
        say(format_args!("{}.", summary.line()));
        summary.warn();
        if self.json {
            output::versioned("queue-add", summary.document())?;
        }
        let added = summary.accepted + summary.updated + summary.unchanged + summary.closed;
        let Some(first) = summary.rejected.first() else {
            next(format_args!("queue claim {} --reviewer NAME", self.address.argument()));
            return Ok(());
        };
        ensure!(added > 0, "no item was added; the first, {}: {}", first.id, first.why);
        let (refused, all) = (summary.refused, added + summary.refused);
        bail!(
            "{refused} of {all} items were refused, the others were added; the first, {}: {}",
            first.id,
            first.why
        )
    }
}
