//! `jurybox export` and `jurybox desk export`: everything, to take elsewhere.

use super::Place;
use crate::messages::say;
use jurybox_files::{Format, Layout, Sheet, counted};
use jurybox_http::{export_columns, export_pages};
use jurybox_server::Exported;
use std::path::PathBuf;

/// Write every item with its scores, tags, payload and what was said of it, as a table: JSON lines, CSV or Parquet.
///
/// Of a desk, or of a queue of `jurybox serve`, also while that is running. An item is a row. `reward` is what people decided, and empty where they have not, or where only a rule has; `probability` is that of the
/// pick, and empty where nobody had been given the item; `verdicts` has all verdicts that stand, `skips` who did not want it and why. `jurybox learn`, `replay` and `report`
/// read it. Erased items are not in it.
///
///   jurybox export --queue posts --out posts.csv
///
///   jurybox desk export desk --out desk.parquet
///
///   jurybox learn desk.parquet --id item --reward reward --state state.json
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Where to write; its name may say the format [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The format: jsonl, csv or parquet [default: what the name says, else jsonl]
    #[arg(long = "as", value_name = "FORMAT", value_parser = super::super::columns::format)]
    written: Option<Format>,
    /// Leave out the rewards of items that were not drawn on arrival (`--audit-rate`), and give the probability of that: what
    /// `replay --probability` weighs. A good item is looked at whether it is drawn or not, and would count twice
    #[arg(long)]
    drawn: bool,
    /// Whether text in CSV that a spreadsheet would run as a formula begins with an apostrophe, ids too; false for the cells as they are
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    safe_csv: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut desk = self.place.open()?;
        let tags = desk.tag_names()?;
        let out = self.out.clone().unwrap_or_else(|| "-".into());
        if let (Some(asked), Some(said)) = (self.written, Format::of_name(&out.to_string_lossy())) {
            anyhow::ensure!(asked == said, "{}: its name says another format than --as", out.display());
        }
        let format = self.written.unwrap_or(Format::JsonLines);
        let layout = Layout { format, safe_csv: self.safe_csv };
        let (mut sheet, mut rows, mut decided): (Option<Sheet<Exported>>, u64, u64) = (None, 0, 0);
        export_pages(
            |after, many| desk.exported(after, many),
            |page| -> anyhow::Result<()> {
                if sheet.is_none() {
                    sheet = Some(Sheet::to_file(
                        &out,
                        layout,
                        export_columns(&page.evaluators, &tags, self.drawn),
                    )?);
                }
                rows += page.items.len() as u64;
                let told = |item: &&Exported| item.reward.is_some() && (!self.drawn || item.audit.is_some());
                decided += page.items.iter().filter(told).count() as u64;
                Ok(sheet.as_mut().map_or(Ok(()), |sheet| sheet.write(&page.items))?)
            },
        )?;
        sheet.map_or(Ok(()), Sheet::finish)?;
        say(format_args!("{}, {decided} of them decided", counted(rows, "item")));
        Ok(())
    }
}
