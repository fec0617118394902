//! How the commands that write tables write them.

use jurybox_files::{Format, Layout};

/// How a table is written.
#[derive(clap::Args)]
pub(crate) struct Sheet {
    /// For spreadsheets: in CSV, begin text that they would run as a formula with an apostrophe, ids too
    #[arg(long)]
    safe_csv: bool,
}

impl Sheet {
    /// This format, where the name of the file does not say another.
    pub(crate) fn layout(&self, format: Format) -> Layout {
        Layout { format, safe_csv: self.safe_csv }
    }
}
