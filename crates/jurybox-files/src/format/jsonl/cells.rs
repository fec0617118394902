//! Cells of JSON lines on their way to an output, kept as the JSON of the input.

use super::parse::{plain, read};
use crate::cell_number::{Notation, ParsedCell};
use crate::output_rows::FormatCells;
use arrow_array::{ArrayRef, Float64Array, StringArray};
use serde_json::value::RawValue;
use std::sync::Arc;

/// One column of cells as raw JSON; `None` where the key was absent.
#[derive(Debug)]
pub(super) struct JsonCells {
    pub(super) cells: Vec<Option<Box<RawValue>>>,
    /// Number notation, if the column was read as numbers.
    pub(super) numeric: Option<Notation>,
}

impl FormatCells for JsonCells {
    fn text(&self, row: usize) -> String {
        self.cells[row].as_deref().map_or(String::new(), |raw| plain(raw.get()))
    }

    fn json(&self, row: usize) -> Option<String> {
        self.cells[row].as_deref().map(|raw| raw.get().into())
    }

    fn array(&self) -> ArrayRef {
        let cells = self.cells.iter().map(Option::as_deref);
        if let Some(notation) = &self.numeric {
            // Parsed as on reading: true and false become 1 and 0.
            let number = |raw: &RawValue| match read(notation, raw.get()) {
                ParsedCell::Number(value) => Some(value),
                _ => None,
            };
            return Arc::new(cells.map(|cell| cell.and_then(number)).collect::<Float64Array>());
        }
        let text = |raw: &RawValue| plain(raw.get());
        Arc::new(cells.map(|cell| cell.filter(|raw| raw.get() != "null").map(text)).collect::<StringArray>())
    }

    fn slice(&self, from: usize, to: usize) -> Arc<dyn FormatCells> {
        Arc::new(JsonCells { cells: self.cells[from..to].to_vec(), numeric: self.numeric.clone() })
    }
}
