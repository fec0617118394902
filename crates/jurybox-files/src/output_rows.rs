//! Rows on their way to an output, with cells kept as in the input until the format needs them.

use crate::cell_number::{self, Notation, ParsedCell};
use crate::format::OutputColumns;
use crate::format::arrow::{self, shortest};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::fmt;
use std::sync::Arc;

/// Cells in a representation that only one format has.
pub(crate) trait FormatCells: fmt::Debug + Send + Sync {
    /// A cell for CSV; empty if missing.
    fn text(&self, row: usize) -> String;

    /// A cell for JSON lines; `None` to omit the key.
    fn json(&self, row: usize) -> Option<String>;

    /// All cells for Parquet.
    fn array(&self) -> ArrayRef;

    /// The cells of rows `from` to `to`.
    fn slice(&self, from: usize, to: usize) -> Arc<dyn FormatCells>;
}

/// One column of output rows.
#[derive(Debug, Clone)]
pub(crate) enum OutputColumn {
    /// Text as read from a file; with a notation if the column was read as numbers.
    Text { cells: Vec<Box<str>>, numeric: Option<Notation> },
    /// An Arrow array from the input.
    Array(ArrayRef),
    /// Cells of a specific format.
    Cells(Arc<dyn FormatCells>),
    /// This many missing cells of this type, for a column that a source lacks.
    Missing(usize, DataType),
    /// Numbers added by Jurybox; NaN if missing.
    Number(Vec<f64>),
    /// Whole numbers added by Jurybox.
    Count(Vec<u64>),
}

/// Rows with named columns, ready to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputRows {
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) rows: usize,
}

impl OutputColumn {
    /// The column in a form that reads back the same without reading options, such as a decimal
    /// mark: numbers as parsed, and empty cells for all other cells. A column that needs no change
    /// is returned as it is.
    pub(crate) fn as_read(&self, rows: usize, notation: &Notation) -> OutputColumn {
        let cells: Vec<(ParsedCell, bool)> = (0..rows)
            .map(|row| {
                let text = self.text(row);
                let read = notation.read(text.as_bytes());
                (read, cell_number::is_plainly(text.as_bytes(), read))
            })
            .collect();
        if cells.iter().all(|(_, plain)| *plain) && !notation.na.has_numbers() {
            return self.clone();
        }
        let value = |(read, _): (ParsedCell, bool)| {
            if let ParsedCell::Number(value) = read { value } else { f64::NAN }
        };
        OutputColumn::Number(cells.into_iter().map(value).collect())
    }
}

impl OutputRows {
    /// Appends a column.
    pub(crate) fn push(&mut self, name: impl Into<String>, column: OutputColumn) {
        self.names.push(name.into());
        self.columns.push(column);
    }

    /// Replaces the column of this name, if there is one.
    pub(crate) fn set(&mut self, name: &str, column: OutputColumn) {
        if let Some(at) = self.names.iter().position(|other| other == name) {
            self.columns[at] = column;
        }
    }

    /// The columns of `show` in order. `column` returns each by its name; where it returns `None`,
    /// all cells are missing.
    pub(crate) fn new(
        rows: usize,
        show: &OutputColumns<'_>,
        mut column: impl FnMut(&str) -> Option<OutputColumn>,
    ) -> OutputRows {
        let mut output = OutputRows { rows, ..OutputRows::default() };
        for found in show.columns {
            let missing = || OutputColumn::Missing(rows, show.data_type(found));
            output.push(&found.name, column(&found.name).unwrap_or_else(missing));
        }
        output
    }

    /// The rows as an Arrow record batch.
    pub(crate) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(OutputColumn::array).collect();
        let fields = self.names.iter().zip(&arrays);
        let fields: Vec<Field> =
            fields.map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }

    /// The rows as JSON objects; omitted cells become null.
    pub(crate) fn objects(&self) -> Vec<serde_json::Value> {
        let cell = |column: &OutputColumn, row| {
            let value = column.json(row).and_then(|text| serde_json::from_str(&text).ok());
            value.unwrap_or(serde_json::Value::Null)
        };
        let object = |row| {
            let cells = self.names.iter().zip(&self.columns);
            serde_json::Value::Object(cells.map(|(name, column)| (name.clone(), cell(column, row))).collect())
        };
        (0..self.rows).map(object).collect()
    }

    /// Rows `from` to `to`.
    pub(crate) fn slice(&self, from: usize, to: usize) -> OutputRows {
        let columns = self.columns.iter().map(|column| column.slice(from, to)).collect();
        OutputRows { names: self.names.clone(), columns, rows: to - from }
    }
}

impl OutputColumn {
    /// A cell for CSV. Text is as read, even if it means "missing"; other missing cells are empty.
    pub(crate) fn text(&self, row: usize) -> String {
        match self {
            OutputColumn::Text { cells, .. } => cells[row].to_string(),
            OutputColumn::Cells(cells) => cells.text(row),
            OutputColumn::Missing(..) => String::new(),
            OutputColumn::Array(array) => arrow::text(array, row).unwrap_or_default(),
            OutputColumn::Number(values) => shortest(values[row]),
            OutputColumn::Count(values) => values[row].to_string(),
        }
    }

    /// A cell for JSON lines; `None` to omit the key.
    pub(crate) fn json(&self, row: usize) -> Option<String> {
        Some(match self {
            OutputColumn::Text { cells, numeric: Some(notation) } => {
                match notation.read(cells[row].as_bytes()) {
                    ParsedCell::Number(value) => shortest(value),
                    ParsedCell::Missing => "null".into(),
                    _ => serde_json::Value::from(&*cells[row]).to_string(),
                }
            }
            OutputColumn::Text { cells, numeric: None } => serde_json::Value::from(&*cells[row]).to_string(),
            OutputColumn::Cells(cells) => return cells.json(row),
            OutputColumn::Missing(..) => return None,
            OutputColumn::Array(array) => arrow::json(array, row),
            OutputColumn::Number(values) if values[row].is_nan() => "null".into(),
            OutputColumn::Number(values) => shortest(values[row]),
            OutputColumn::Count(values) => values[row].to_string(),
        })
    }

    /// The column as an Arrow array. In a column of numbers, text becomes numbers, or null where it
    /// is not a number. An array from the input is unchanged.
    pub(crate) fn array(&self) -> ArrayRef {
        match self {
            OutputColumn::Array(array) => array.clone(),
            OutputColumn::Number(values) => {
                Arc::new(values.iter().map(|&v| (!v.is_nan()).then_some(v)).collect::<Float64Array>())
            }
            OutputColumn::Count(values) => Arc::new(UInt64Array::from(values.clone())),
            OutputColumn::Text { cells, numeric: Some(notation) } => {
                let number = |cell: &str| match notation.read(cell.as_bytes()) {
                    ParsedCell::Number(value) => Some(value),
                    _ => None,
                };
                Arc::new(cells.iter().map(|cell| number(cell)).collect::<Float64Array>())
            }
            OutputColumn::Text { cells, numeric: None } => {
                Arc::new(StringArray::from_iter_values(cells.iter().map(|cell| &**cell)))
            }
            OutputColumn::Cells(cells) => cells.array(),
            OutputColumn::Missing(rows, data_type) => new_null_array(data_type, *rows),
        }
    }

    /// Rows `from` to `to`.
    pub(crate) fn slice(&self, from: usize, to: usize) -> OutputColumn {
        match self {
            OutputColumn::Text { cells, numeric } => {
                OutputColumn::Text { cells: cells[from..to].to_vec(), numeric: numeric.clone() }
            }
            OutputColumn::Array(array) => OutputColumn::Array(array.slice(from, to - from)),
            OutputColumn::Cells(cells) => OutputColumn::Cells(cells.slice(from, to)),
            OutputColumn::Missing(_, data_type) => OutputColumn::Missing(to - from, data_type.clone()),
            OutputColumn::Number(values) => OutputColumn::Number(values[from..to].to_vec()),
            OutputColumn::Count(values) => OutputColumn::Count(values[from..to].to_vec()),
        }
    }
}
