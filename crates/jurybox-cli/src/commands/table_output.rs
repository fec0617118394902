//! Options about how tables are written.

use super::columns::OUTPUT;
use jurybox_files::{Format, OutputLayout};

/// How a table is written.
#[derive(clap::Args)]
pub(crate) struct TableOutput {
    /// For spreadsheets: put an apostrophe before CSV text that they would run as a formula, ids
    /// too
    #[arg(long, help_heading = OUTPUT)]
    safe_csv: bool,
}

impl TableOutput {
    /// The layout with this format. If the name of the output file tells another format, that one
    /// is used.
    pub(crate) fn layout(&self, format: Format) -> OutputLayout {
        OutputLayout { format, safe_csv: self.safe_csv }
    }
}
