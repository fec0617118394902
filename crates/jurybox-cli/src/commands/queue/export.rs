//! `jurybox export` and `jurybox queue export`: all items with their verdicts, as a table.

use super::super::columns::OUTPUT;
use super::QueueAddress;
use crate::messages::{next, say, shell, wrote};
use crate::output::is_stdout;
use jurybox_files::{Format, OutputLayout, RecordTable, counted};
use jurybox_http::{export_columns, export_pages};
use jurybox_server::ExportedItem;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # A queue of a running server, as CSV
  jurybox export --queue posts --out posts.csv
  # A queue in a folder, as Parquet
  jurybox queue export review --out review.parquet";

/// Export every item with its scores, tags, payload and verdicts as a table
///
/// One row per item; works while a server runs. `reward` is what people decided, empty if they have
/// not or if only a rule has. `probability` is that of the claim, empty if nobody claimed the item.
/// `verdicts` has all verdicts that stand, `skips` who declined the item and why. `jurybox learn`,
/// `replay` and `report` read the file. Erased items are left out.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    /// Output file; its name may say the format [default: standard output]
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// jsonl, csv or parquet [default: by the name, else jsonl]
    #[arg(long = "as", value_name = "FORMAT", value_parser = super::super::columns::format, help_heading = OUTPUT)]
    format: Option<Format>,
    /// Keep rewards of random checks only (`--random-check-rate`), with their probability, for
    /// `replay --probability`: good items are reviewed anyway and would count twice
    #[arg(long, help_heading = OUTPUT)]
    random_checks_only: bool,
    /// In CSV, put an apostrophe before text that a spreadsheet would run as a formula
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set, help_heading = OUTPUT)]
    safe_csv: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut queue = self.address.open()?;
        let tags = queue.tag_names()?;
        let out = self.out.clone().unwrap_or_else(|| "-".into());
        if let (Some(asked), Some(named)) = (self.format, Format::of_name(&out.to_string_lossy())) {
            anyhow::ensure!(asked == named, "{}: its name says another format than --as", out.display());
        }
        let format = self.format.unwrap_or(Format::JsonLines);
        let layout = OutputLayout { format, safe_csv: self.safe_csv };
        let (mut sheet, mut rows, mut decided): (Option<RecordTable<ExportedItem>>, u64, u64) = (None, 0, 0);
        export_pages(
            |after, many| queue.export_page(after, many),
            |page| -> anyhow::Result<()> {
                if sheet.is_none() {
                    sheet = Some(RecordTable::to_file(
                        &out,
                        layout,
                        export_columns(&page.evaluators, &tags, self.random_checks_only),
                    )?);
                }
                rows += page.items.len() as u64;
                let has_reward = |item: &&ExportedItem| {
                    item.reward.is_some() && (!self.random_checks_only || item.random_check.is_some())
                };
                decided += page.items.iter().filter(has_reward).count() as u64;
                Ok(sheet.as_mut().map_or(Ok(()), |sheet| sheet.write(&page.items))?)
            },
        )?;
        sheet.map_or(Ok(()), RecordTable::finish)?;
        say(format_args!("Exported {}, {decided} decided.", counted(rows, "item")));
        wrote([&*out]);
        let file = if is_stdout(&out) { "FILE".into() } else { shell(out.display()) };
        next(format_args!("learn {file} --id item --reward reward --state model.json"));
        Ok(())
    }
}
