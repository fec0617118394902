//! JSON lines output: one object per row.

use crate::error::Error;
use crate::output_rows::OutputRows;
use crate::write::{CompressedWriter, PendingFile, TableSink};
use std::path::Path;

/// The writer of JSON lines.
pub(super) struct JsonSink {
    out: CompressedWriter,
}

impl JsonSink {
    pub(super) fn new(aside: PendingFile, name: &Path) -> Result<Self, Error> {
        Ok(JsonSink { out: CompressedWriter::new(aside, name)? })
    }
}

impl TableSink for JsonSink {
    fn write(&mut self, output: &OutputRows) -> Result<(), Error> {
        let mut text = String::new();
        for row in 0..output.rows {
            record(&mut text, output, row);
        }
        self.out.put(text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.out.finish()
    }
}

/// Appends one row as a JSON object. Keys that the row does not have are omitted.
fn record(out: &mut String, output: &OutputRows, row: usize) {
    out.push('{');
    let mut first = true;
    for (name, column) in output.names.iter().zip(&output.columns) {
        if let Some(value) = column.json(row) {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(&serde_json::Value::from(name.as_str()).to_string());
            out.push(':');
            out.push_str(&value);
        }
    }
    out.push_str("}\n");
}
