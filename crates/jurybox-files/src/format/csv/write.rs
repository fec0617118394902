//! CSV output: a header, then records. Only cells that need quotes have them.

use crate::error::Error;
use crate::output_rows::OutputRows;
use crate::write::{CompressedWriter, PendingFile, TableSink};
use std::path::Path;

/// The writer of CSV tables.
pub(super) struct CsvSink {
    out: CompressedWriter,
    /// Whether the header has yet to be written.
    first: bool,
}

impl CsvSink {
    pub(super) fn new(aside: PendingFile, name: &Path) -> Result<Self, Error> {
        Ok(CsvSink { out: CompressedWriter::new(aside, name)?, first: true })
    }
}

impl TableSink for CsvSink {
    fn write(&mut self, output: &OutputRows) -> Result<(), Error> {
        let mut text = Vec::new();
        if std::mem::take(&mut self.first) {
            record(&mut text, output.names.iter().cloned());
        }
        for row in 0..output.rows {
            record(&mut text, output.columns.iter().map(|column| column.text(row)));
        }
        self.out.put(&text)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.out.finish()
    }
}

/// Appends one record.
fn record(out: &mut Vec<u8>, cells: impl Iterator<Item = String>) {
    let start = out.len();
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            out.push(b'"');
            out.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(cell.as_bytes());
        }
    }
    if out.len() == start {
        // A record of one empty cell would otherwise read as a blank line.
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}
