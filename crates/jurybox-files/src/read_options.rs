//! How files are written, as far as a person says so; the rest is told by the files.

use crate::format::Format;
use crate::long_format::LongFormat;
use crate::cell_number::{Decimal, MissingWords, Notation};
use crate::roles::ColumnInfo;
use std::sync::Arc;

/// How files are written, as far as a person says so.
///
/// ```
/// use jurybox_files::{Decimal, ReadOptions, Roles, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.txt");
/// std::fs::write(&path, "p1;1,250;weg\np2;2,500;0,5\n")?;
/// let reading = ReadOptions { header: Some(false), decimal: Decimal::Comma, na: vec!["weg".into()], ..ReadOptions::default() };
/// let table = Table::open_as(&[path], &reading, &Roles::default(), false)?;
/// assert_eq!(table.taken().evaluators().to_string(), "column2, column3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format of every file, whatever its name and its first bytes say.
    pub format: Option<Format>,
    /// What separates the cells of CSV.
    pub delimiter: Option<u8>,
    /// Whether CSV begins with the names of its columns; without them they are `column1`, `column2` and so on.
    pub header: Option<bool>,
    /// Which sign stands before the decimals.
    pub decimal: Decimal,
    /// What else means that a score is missing, in whatever case. A number means it in every format, however it is written.
    pub na: Vec<String>,
    /// Whether rows are grades, to be made wide.
    pub long: Option<LongFormat>,
}

impl ReadOptions {
    /// How cells are written where a column does not say otherwise.
    pub(crate) fn notation(&self) -> Notation {
        Notation { decimal: self.decimal, na: Arc::new(MissingWords::new(&self.na)), ..Notation::default() }
    }
}

impl Notation {
    /// The same for a column whose cells were looked at: what a person said holds.
    pub(crate) fn of_column(&self, found: &ColumnInfo) -> Notation {
        let decimal = if self.decimal == Decimal::Either { found.decimal } else { self.decimal };
        let labels = self.labels.clone();
        Notation { decimal, no_shares: found.no_shares, shares: found.shares, na: self.na.clone(), labels }
    }
}
