//! Cells that travel along: kept as the file had them, turned into something else only when the output asks for it.

use crate::arrow::{self, shortest};
use crate::number::{self, Cell};
use crate::{csv, jsonl};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use serde_json::value::RawValue;
use std::sync::Arc;

/// One column of a slab.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// Text as it stood in a CSV file. Scores and rewards are known to be numbers; the rest stays text.
    Text { cells: Vec<Box<str>>, numeric: bool },
    /// Values as they stood in JSON lines; `None` where the key was absent.
    Json { cells: Vec<Option<Box<RawValue>>>, numeric: bool },
    /// An array as it stood in a Parquet file.
    Array(ArrayRef),
    /// Numbers that we add; NaN = missing.
    Number(Vec<f64>),
    /// Counts that we add.
    Count(Vec<u64>),
}

/// Some rows with their columns, on the way out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slab {
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
}

impl Slab {
    pub(crate) fn push(&mut self, name: impl Into<String>, column: Column) {
        self.names.push(name.into());
        self.columns.push(column);
    }

    /// Puts a column in the place of the one of that name.
    pub(crate) fn set(&mut self, name: &str, column: Column) {
        if let Some(at) = self.names.iter().position(|other| other == name) {
            self.columns[at] = column;
        }
    }

    /// CSV records as columns, in the order of `names`; `header` is the file's own order.
    pub(crate) fn of_csv(
        names: &[String],
        header: &csv::Header,
        numeric: impl Fn(&str) -> bool,
        records: &[&[u8]],
    ) -> Slab {
        let mut cells: Vec<Vec<Box<str>>> = vec![Vec::with_capacity(records.len()); header.names.len()];
        for record in records {
            let mut found = csv::cells(record, header.delimiter);
            for column in &mut cells {
                column.push(String::from_utf8_lossy(&found.next().unwrap_or_default()).into());
            }
        }
        let mut slab = Slab { rows: records.len(), ..Slab::default() };
        for name in names {
            let at = header.names.iter().position(|other| other == name);
            let cells =
                at.map_or_else(|| vec![Box::from(""); records.len()], |at| std::mem::take(&mut cells[at]));
            slab.push(name, Column::Text { cells, numeric: numeric(name) });
        }
        slab
    }

    /// JSON lines as columns. Every line has been parsed before, so one that cannot be is treated as empty.
    pub(crate) fn of_json(names: &[String], numeric: impl Fn(&str) -> bool, records: &[&[u8]]) -> Slab {
        let mut cells: Vec<Vec<Option<Box<RawValue>>>> = vec![Vec::with_capacity(records.len()); names.len()];
        for record in records {
            let mut fields = jsonl::fields(record).unwrap_or_default();
            for (name, column) in names.iter().zip(&mut cells) {
                let at = fields.iter().position(|(key, _)| key == name);
                column.push(at.map(|at| fields.swap_remove(at).1));
            }
        }
        let mut slab = Slab { rows: records.len(), ..Slab::default() };
        for (name, cells) in names.iter().zip(cells) {
            slab.push(name, Column::Json { cells, numeric: numeric(name) });
        }
        slab
    }

    /// Arrays as columns, in the order of `names`.
    pub(crate) fn of_arrays(names: &[String], arrays: &RecordBatch) -> Slab {
        let mut slab = Slab { rows: arrays.num_rows(), ..Slab::default() };
        for name in names {
            let column = arrays.column_by_name(name).map_or_else(
                || Column::Text { cells: vec![Box::from(""); arrays.num_rows()], numeric: false },
                |array| Column::Array(array.clone()),
            );
            slab.push(name, column);
        }
        slab
    }
}

impl Column {
    /// A cell for CSV: nothing where it is missing.
    pub(crate) fn text(&self, row: usize) -> String {
        match self {
            Column::Text { cells, .. } => cells[row].to_string(),
            Column::Json { cells, .. } => {
                cells[row].as_deref().map_or(String::new(), |raw| jsonl::plain(raw.get()))
            }
            Column::Array(array) => arrow::text(array, row).unwrap_or_default(),
            Column::Number(values) => shortest(values[row]),
            Column::Count(values) => values[row].to_string(),
        }
    }

    /// A cell for JSON lines; `None` where the key is to be left out.
    pub(crate) fn json(&self, row: usize) -> Option<String> {
        Some(match self {
            Column::Text { cells, numeric: true } => match number::parse(cells[row].as_bytes()) {
                Cell::Number(value) => shortest(value),
                Cell::Missing => "null".into(),
                _ => serde_json::Value::from(&*cells[row]).to_string(),
            },
            Column::Text { cells, numeric: false } => serde_json::Value::from(&*cells[row]).to_string(),
            Column::Json { cells, .. } => return cells[row].as_deref().map(|raw| raw.get().into()),
            Column::Array(array) => arrow::json(array, row),
            Column::Number(values) if values[row].is_nan() => "null".into(),
            Column::Number(values) => shortest(values[row]),
            Column::Count(values) => values[row].to_string(),
        })
    }

    /// The column as an array for Parquet: numbers where they are known to be, otherwise text, arrays as they are.
    pub(crate) fn array(&self) -> ArrayRef {
        let number = |text: &str| match number::parse(text.as_bytes()) {
            Cell::Number(value) => Some(value),
            _ => None,
        };
        match self {
            Column::Array(array) => array.clone(),
            Column::Number(values) => {
                Arc::new(values.iter().map(|&v| (!v.is_nan()).then_some(v)).collect::<Float64Array>())
            }
            Column::Count(values) => Arc::new(UInt64Array::from(values.clone())),
            Column::Text { cells, numeric: true } => {
                Arc::new(cells.iter().map(|cell| number(cell)).collect::<Float64Array>())
            }
            Column::Text { cells, numeric: false } => {
                Arc::new(StringArray::from_iter_values(cells.iter().map(|cell| &**cell)))
            }
            Column::Json { cells, numeric: true } => Arc::new(
                cells
                    .iter()
                    .map(|cell| cell.as_deref().and_then(|raw| number(&jsonl::plain(raw.get()))))
                    .collect::<Float64Array>(),
            ),
            Column::Json { cells, numeric: false } => Arc::new(
                cells
                    .iter()
                    .map(|cell| {
                        cell.as_deref().filter(|raw| raw.get() != "null").map(|raw| jsonl::plain(raw.get()))
                    })
                    .collect::<StringArray>(),
            ),
        }
    }
}
