//! JSON lines on their way out: an object a row.

use crate::column::Slab;
use crate::error::Error;
use crate::write::{Aside, Sink, Squeeze};
use std::path::Path;

pub(super) struct JsonSink {
    out: Squeeze,
}

impl JsonSink {
    pub(super) fn new(aside: Aside, name: &Path) -> Result<Self, Error> {
        Ok(JsonSink { out: Squeeze::new(aside, name)? })
    }
}

impl Sink for JsonSink {
    fn write(&mut self, slab: &Slab) -> Result<(), Error> {
        let mut text = String::new();
        for row in 0..slab.rows {
            record(&mut text, slab, row);
        }
        self.out.put(text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.out.finish()
    }
}

fn record(out: &mut String, slab: &Slab, row: usize) {
    out.push('{');
    let mut first = true;
    for (name, column) in slab.names.iter().zip(&slab.columns) {
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
