//! Cells that travel along with a batch, for whoever takes rows elsewhere.

use crate::output_rows::{OutputColumn, OutputRows};
use crate::error::Error;
use crate::format::OutputColumns;
use crate::column_info::ColumnInfo;
use crate::cell_number::{ParsedCell, Notation};
use crate::scan::ScanPart;
use crate::table::Table;
use serde_json::Value;

/// Some columns of a batch as they stand in their source.
///
/// ```
/// use jurybox_files::{KeepRecords, Roles, Table, ScanRequest};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,text,spam\np1,hello,0.9\np2,,0.2\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// let mut said = Vec::new();
/// let want = ScanRequest { records: KeepRecords::All, ..ScanRequest::default() };
/// table.scan(want, |part| Ok((part.batch.rows(), table.travelling(&part, &["text".into()])?)), |_, (rows, cells)| {
///     said.extend((0..rows).map(|row| cells.text(row, 0)));
///     Ok(())
/// })?;
/// assert_eq!(said, ["hello", ""]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OtherColumns {
    /// Each column once, however often it was asked for.
    slab: OutputRows,
    /// Where each column that was asked for stands in `slab`; none where the table has no such column.
    places: Vec<Option<usize>>,
    /// How the numbers of each column of `slab` are written, and what words are worth that are verdicts.
    notations: Vec<Notation>,
}

impl Table {
    /// The cells of these columns, of a part of a pass that was asked for whole rows. A column may be named several times, and
    /// one that is not there has only missing cells.
    pub fn travelling(&self, part: &ScanPart<'_>, columns: &[String]) -> Result<OtherColumns, Error> {
        let mut distinct: Vec<ColumnInfo> = Vec::new();
        let places = columns
            .iter()
            .map(|name| {
                if let Some(place) = distinct.iter().position(|found| found.name == *name) {
                    return Some(place);
                }
                distinct.push(self.everything().iter().find(|found| found.name == *name)?.clone());
                Some(distinct.len() - 1)
            })
            .collect();
        let show = OutputColumns { columns: &distinct, ..self.show(part.source) };
        let slab = self.sources[part.source].whole(part, &show)?;
        let notation =
            |found| Notation { labels: self.taken().labels.clone(), ..self.notation.of_column(found) };
        let notations = distinct.iter().map(notation).collect();
        Ok(OtherColumns { slab, places, notations })
    }
}

impl OtherColumns {
    /// A cell as text, by the place of its column among those that were asked for; empty where it is missing.
    pub fn text(&self, row: usize, column: usize) -> String {
        self.column(column).map(|column| column.text(row)).unwrap_or_default()
    }

    /// A cell as a number, by the place of its column, read as a verdict is: NaN where it is missing,
    /// and none where it is no number. Yes is 1, no is 0, and a word is what a person said it is worth.
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

    /// A cell as JSON, by the place of its column among the requested ones: text unless the source
    /// knows better; null where it is missing.
    pub fn json(&self, row: usize, column: usize) -> Value {
        let text = self.column(column).and_then(|column| column.json(row));
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn column(&self, column: usize) -> Option<&OutputColumn> {
        self.slab.columns.get((*self.places.get(column)?)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::{KeepRecords, Roles, Table, ScanRequest};

    /// A column may be a tag and shown; one that the table lacks has no cells, and the others keep theirs.
    #[test]
    fn a_column_may_be_asked_for_several_times() {
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
            let mut said = Vec::new();
            table
                .scan(
                    want,
                    |part| table.travelling(&part, &asked),
                    |_, cells| {
                        said.extend((0..asked.len()).map(|at| (cells.text(0, at), cells.json(0, at))));
                        Ok(())
                    },
                )
                .unwrap();
            let texts: Vec<&str> = said.iter().map(|(text, _)| text.as_str()).collect();
            assert_eq!(texts, ["en", "", "hello", "en", "hello"], "{name}");
            assert!(said[1].1.is_null() && said[4].1 == "hello", "{name}: {said:?}");
        }
    }
}
