//! Cells of other columns in a batch, for callers that copy rows elsewhere.

use crate::cell_number::{Notation, ParsedCell};
use crate::column_info::ColumnInfo;
use crate::error::Error;
use crate::format::OutputColumns;
use crate::output_rows::{OutputColumn, OutputRows};
use crate::scan::ScanPart;
use crate::table::Table;
use serde_json::Value;

/// Some columns of a batch, with their cells as in the source.
///
/// ```
/// use jurybox_files::{KeepRecords, Roles, Table, ScanRequest};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,text,spam\np1,hello,0.9\np2,,0.2\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// let mut texts = Vec::new();
/// let want = ScanRequest { records: KeepRecords::All, ..ScanRequest::default() };
/// table.scan(
///     want,
///     |part| Ok((part.batch.rows(), table.other_columns(&part, &["text".into()])?)),
///     |_, (rows, cells)| Ok(texts.extend((0..rows).map(|row| cells.text(row, 0)))),
/// )?;
/// assert_eq!(texts, ["hello", ""]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OtherColumns {
    /// Each requested column once, even if requested repeatedly.
    output: OutputRows,
    /// By requested column, its index in `output`; `None` if the table has no such column.
    places: Vec<Option<usize>>,
    /// Notations of the columns of `output`, with the words for verdicts.
    notations: Vec<Notation>,
}

impl Table {
    /// The cells of the named columns in a part of a pass with
    /// [`KeepRecords::All`](crate::KeepRecords::All).
    ///
    /// A column may be named several times. One that does not exist has only missing cells.
    pub fn other_columns(&self, part: &ScanPart<'_>, columns: &[String]) -> Result<OtherColumns, Error> {
        let mut distinct: Vec<ColumnInfo> = Vec::new();
        let places = columns
            .iter()
            .map(|name| {
                if let Some(place) = distinct.iter().position(|found| found.name == *name) {
                    return Some(place);
                }
                distinct.push(self.all_columns().iter().find(|found| found.name == *name)?.clone());
                Some(distinct.len() - 1)
            })
            .collect();
        let show = OutputColumns { columns: &distinct, ..self.output_columns(part.source) };
        let output = self.sources[part.source].whole_rows(part, &show)?;
        let notation =
            |found| Notation { labels: self.roles().labels.clone(), ..self.notation.of_column(found) };
        let notations = distinct.iter().map(notation).collect();
        Ok(OtherColumns { output, places, notations })
    }
}

impl OtherColumns {
    /// A cell as text, by the index of its column in the request; empty if missing.
    pub fn text(&self, row: usize, column: usize) -> String {
        self.column(column).map(|column| column.text(row)).unwrap_or_default()
    }

    /// A cell read as a verdict, by the index of its column in the request.
    ///
    /// NaN if missing, `None` if it is not a usable number. Yes is 1, no is 0, and words have their
    /// labels' rewards.
    pub fn number(&self, row: usize, column: usize) -> Option<f64> {
        let Some(notation) = self.places.get(column).and_then(|place| self.notations.get((*place)?)) else {
            return Some(f64::NAN);
        };
        match notation.read(self.text(row, column).as_bytes()) {
            ParsedCell::Number(value) => Some(value),
            ParsedCell::Missing => Some(f64::NAN),
            ParsedCell::Unusable | ParsedCell::NotANumber => None,
        }
    }

    /// A cell as JSON, by the index of its column in the request. It has the source's own type if
    /// the source has types, otherwise it is text; null if missing.
    pub fn json(&self, row: usize, column: usize) -> Value {
        let text = self.column(column).and_then(|column| column.json(row));
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn column(&self, column: usize) -> Option<&OutputColumn> {
        self.output.columns.get((*self.places.get(column)?)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::{KeepRecords, Roles, ScanRequest, Table};

    /// A column that was requested twice has its cells twice. A column that the table lacks has
    /// only missing cells.
    #[test]
    fn a_column_may_be_requested_repeatedly() {
        let dir = tempfile::tempdir().unwrap();
        for (name, rows) in [
            ("a.csv", "post,text,lang,spam\np1,hello,en,0.9\n"),
            ("a.jsonl", "{\"post\":\"p1\",\"text\":\"hello\",\"lang\":\"en\",\"spam\":0.9}\n"),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, rows).unwrap();
            let table = Table::open(&[path], &Roles::default(), false).unwrap();
            let asked = ["lang", "nothing", "text", "lang", "text"].map(String::from);
            let want = ScanRequest { records: KeepRecords::All, ..ScanRequest::default() };
            let mut cells_read = Vec::new();
            table
                .scan(
                    want,
                    |part| table.other_columns(&part, &asked),
                    |_, cells| {
                        cells_read.extend((0..asked.len()).map(|at| (cells.text(0, at), cells.json(0, at))));
                        Ok(())
                    },
                )
                .unwrap();
            let texts: Vec<&str> = cells_read.iter().map(|(text, _)| text.as_str()).collect();
            assert_eq!(texts, ["en", "", "hello", "en", "hello"], "{name}");
            assert!(cells_read[1].1.is_null() && cells_read[4].1 == "hello", "{name}: {cells_read:?}");
        }
    }
}
