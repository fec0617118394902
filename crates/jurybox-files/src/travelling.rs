//! Cells that travel along with a batch, for whoever takes rows elsewhere.

use crate::column::Slab;
use crate::error::Error;
use crate::format::Show;
use crate::found::Found;
use crate::scan::Part;
use crate::table::Table;
use serde_json::Value;

/// Some columns of a batch as they stand in their source.
///
/// ```
/// use jurybox_files::{Records, Roles, Table, Want};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,text,spam\np1,hello,0.9\np2,,0.2\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// let mut said = Vec::new();
/// let want = Want { records: Records::All, ..Want::default() };
/// table.scan(want, |part| Ok((part.batch.rows(), table.travelling(&part, &["text".into()])?)), |_, (rows, cells)| {
///     said.extend((0..rows).map(|row| cells.text(row, 0)));
///     Ok(())
/// })?;
/// assert_eq!(said, ["hello", ""]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Travelling(Slab);

impl Table {
    /// The cells of these columns, of a part of a pass that was asked for whole rows. A column that is not there has none.
    pub fn travelling(&self, part: &Part<'_>, columns: &[String]) -> Result<Travelling, Error> {
        let found = |name: &String| self.everything().iter().find(|found| found.name == *name).cloned();
        let columns: Vec<Found> = columns.iter().filter_map(found).collect();
        let show = Show { columns: &columns, ..self.show(part.source) };
        Ok(Travelling(self.sources[part.source].whole(part, &show)?))
    }
}

impl Travelling {
    /// A cell as text, by the place of its column; nothing where it is missing.
    pub fn text(&self, row: usize, column: usize) -> String {
        self.0.columns.get(column).map(|column| column.text(row)).unwrap_or_default()
    }

    /// A cell as JSON: text unless the source knows better; null where it is missing.
    pub fn json(&self, row: usize, column: usize) -> Value {
        let text = self.0.columns.get(column).and_then(|column| column.json(row));
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}
