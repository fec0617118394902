//! Tables written row by row from records of the program, in any format.

use crate::error::Error;
use crate::output_rows::{FormatCells, OutputColumn, OutputRows};
use crate::own_columns::free_name;
use crate::write::{OutputLayout, PendingFile, TableWriter};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Returns the cell of a record; `None` if missing.
type Get<R, T> = Box<dyn Fn(&R) -> Option<T> + Send>;

/// The type of a column, with a function that returns its cell for a record.
pub enum RecordCell<R> {
    /// Text.
    Text(Get<R, String>),
    /// A number.
    Number(Get<R, f64>),
    /// A whole number.
    Whole(Get<R, u64>),
    /// True or false.
    Flag(Get<R, bool>),
    /// A time in microseconds since 1970, in UTC.
    Time(Get<R, i64>),
    /// JSON: embedded in JSON lines, text in other formats.
    Json(Get<R, String>),
}

/// The writer of a table of records, in any format, to a file or any other output.
///
/// ```
/// use jurybox_files::{RecordCell, Format, RecordTable};
///
/// type Post = (u64, f64);
/// let post = |post: &Post| Some(format!("p{}", post.0));
/// let spam = |post: &Post| Some(post.1).filter(|spam| !spam.is_nan());
/// let columns = vec![
///     ("post".to_string(), RecordCell::Text(Box::new(post))),
///     ("spam".to_string(), RecordCell::Number(Box::new(spam))),
/// ];
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("posts.csv");
/// let mut sheet = RecordTable::to_file(&path, Format::Csv, columns)?;
/// sheet.write(&[(1, 0.5), (2, f64::NAN)])?;
/// sheet.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "post,spam\np1,0.5\np2,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RecordTable<R> {
    writer: TableWriter,
    columns: Vec<(String, RecordCell<R>)>,
    /// Whether nothing has been written yet, not even the header.
    first: bool,
}

impl<R> RecordTable<R> {
    /// Writes to a file, or to standard output for `-`. The format is that of the file name,
    /// otherwise that of the layout. A repeated column name gets a prefix.
    pub fn to_file(
        path: &Path,
        layout: impl Into<OutputLayout>,
        columns: Vec<(String, RecordCell<R>)>,
    ) -> Result<Self, Error> {
        Ok(Self::by(TableWriter::new(path, layout)?, columns))
    }

    /// Writes to any writer.
    pub fn to_stream(
        out: Box<dyn Write + Send>,
        layout: impl Into<OutputLayout>,
        columns: Vec<(String, RecordCell<R>)>,
    ) -> Result<Self, Error> {
        Ok(Self::by(TableWriter::over(PendingFile::stream(out), layout)?, columns))
    }

    fn by(writer: TableWriter, columns: Vec<(String, RecordCell<R>)>) -> Self {
        let mut named: Vec<(String, RecordCell<R>)> = Vec::with_capacity(columns.len());
        let mut taken: Vec<String> = Vec::with_capacity(columns.len());
        for (name, cell) in columns {
            let name = free_name(&taken, &name);
            taken.push(name.clone());
            named.push((name, cell));
        }
        RecordTable { writer, columns: named, first: true }
    }

    /// Writes rows, after the header if they are the first.
    pub fn write(&mut self, rows: &[R]) -> Result<(), Error> {
        if rows.is_empty() && !self.first {
            return Ok(());
        }
        self.first = false;
        let mut output = OutputRows { rows: rows.len(), ..OutputRows::default() };
        for (name, cell) in &self.columns {
            output.push(name, cell.column(rows));
        }
        self.writer.write(&output)
    }

    /// Completes the table and renames the file to its final name. A table without rows still has
    /// its column names, if the format has any.
    pub fn finish(mut self) -> Result<(), Error> {
        self.write(&[])?;
        self.writer.finish()
    }
}

impl<R> RecordCell<R> {
    fn column(&self, rows: &[R]) -> OutputColumn {
        let array: ArrayRef = match self {
            RecordCell::Text(get) => Arc::new(rows.iter().map(get).collect::<StringArray>()),
            RecordCell::Number(get) => Arc::new(rows.iter().map(get).collect::<Float64Array>()),
            RecordCell::Whole(get) => Arc::new(rows.iter().map(get).collect::<UInt64Array>()),
            RecordCell::Flag(get) => Arc::new(rows.iter().map(get).collect::<BooleanArray>()),
            RecordCell::Time(get) => {
                Arc::new(rows.iter().map(get).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
            }
            RecordCell::Json(get) => {
                return OutputColumn::Cells(Arc::new(JsonTexts(rows.iter().map(get).collect())));
            }
        };
        OutputColumn::Array(array)
    }
}

/// Cells that hold JSON.
#[derive(Debug)]
struct JsonTexts(Vec<Option<String>>);

impl FormatCells for JsonTexts {
    fn text(&self, row: usize) -> String {
        self.0[row].clone().unwrap_or_default()
    }

    fn json(&self, row: usize) -> Option<String> {
        Some(self.0[row].clone().unwrap_or_else(|| "null".into()))
    }

    fn array(&self) -> ArrayRef {
        Arc::new(self.0.iter().map(Option::as_deref).collect::<StringArray>())
    }

    fn slice(&self, from: usize, to: usize) -> Arc<dyn FormatCells> {
        Arc::new(JsonTexts(self.0[from..to].to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Roles, Table};

    fn columns() -> Vec<(String, RecordCell<u64>)> {
        vec![
            ("item".into(), RecordCell::Text(Box::new(|n| (*n != 2).then(|| format!("p,{n}"))))),
            ("spam".into(), RecordCell::Number(Box::new(|n| (*n != 2).then_some(0.5)))),
            ("item".into(), RecordCell::Whole(Box::new(|n| Some(*n)))),
            ("explored".into(), RecordCell::Flag(Box::new(|n| (*n != 2).then_some(true)))),
            ("given_at".into(), RecordCell::Time(Box::new(|n| (*n != 2).then_some(1_500_000)))),
            ("payload".into(), RecordCell::Json(Box::new(|n| (*n != 2).then(|| r#"{"a":"x"}"#.into())))),
        ]
    }

    fn written(format: Format) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        let mut sheet = RecordTable::to_file(&path, format, columns()).unwrap();
        sheet.write(&[1]).unwrap();
        sheet.write(&[2]).unwrap();
        sheet.finish().unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_table_is_the_same_in_every_format() {
        let header = "item,spam,jurybox_item,explored,given_at,payload\n";
        let first = "\"p,1\",0.5,1,true,1970-01-01T00:00:01.5Z,\"{\"\"a\"\":\"\"x\"\"}\"\n";
        assert_eq!(String::from_utf8(written(Format::Csv)).unwrap(), format!("{header}{first},,2,,,\n"));
        let first = r#"{"item":"p,1","spam":0.5,"jurybox_item":1,"explored":true,"given_at":"1970-01-01T00:00:01.5Z","payload":{"a":"x"}}"#;
        let second =
            r#"{"item":null,"spam":null,"jurybox_item":2,"explored":null,"given_at":null,"payload":null}"#;
        assert_eq!(String::from_utf8(written(Format::JsonLines)).unwrap(), format!("{first}\n{second}\n"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.parquet");
        std::fs::write(&path, written(Format::Parquet)).unwrap();
        let table = Table::open(&[path], &Roles::default(), false).unwrap();
        assert_eq!(table.columns().join(","), header.trim());
        // Columns of numbers are read back as numbers.
        assert_eq!(table.roles().evaluators().to_string(), "spam, jurybox_item");
    }

    #[test]
    fn a_table_without_rows_has_columns() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["empty.csv", "empty.parquet"] {
            let path = dir.path().join(name);
            RecordTable::to_file(&path, Format::Csv, columns()).unwrap().finish().unwrap();
            let first = std::fs::read(&path).unwrap();
            assert!(first.starts_with(b"item,spam") || first.starts_with(b"PAR1"), "{name}");
        }
    }
}
