//! Options for reading files.

use crate::cell_number::{Decimal, MissingWords, Notation};
use crate::format::Format;
use crate::long_format::LongFormat;
use crate::roles::ColumnInfo;
use std::sync::Arc;

/// Options for reading files. Format, delimiter and decimal mark are detected if not set.
///
/// ```
/// use jurybox_files::{Decimal, ReadOptions, Roles, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.txt");
/// std::fs::write(&path, "p1;1,250;weg\np2;2,500;0,5\n")?;
/// let reading = ReadOptions {
///     header: Some(false),
///     decimal: Decimal::Comma,
///     na: vec!["weg".into()],
///     ..ReadOptions::default()
/// };
/// let table = Table::open_as(&[path], &reading, &Roles::default(), false)?;
/// assert_eq!(table.roles().evaluators().to_string(), "column2, column3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format of every file, regardless of its name and its first bytes.
    pub format: Option<Format>,
    /// The delimiter of CSV cells.
    pub delimiter: Option<u8>,
    /// Whether CSV starts with column names, as is assumed if not set. Without them, columns are
    /// `column1`, `column2` and so on.
    pub header: Option<bool>,
    /// The decimal mark of numbers in text.
    pub decimal: Decimal,
    /// Further words for "missing", in upper or lower case. A number such as `-99` means "missing"
    /// in every format, however it is written.
    pub na: Vec<String>,
    /// Set if the table is long, with one score per row: it is made wide.
    pub long: Option<LongFormat>,
}

impl ReadOptions {
    /// The notation of cells, as far as the user has set it.
    pub(crate) fn notation(&self) -> Notation {
        Notation { decimal: self.decimal, na: Arc::new(MissingWords::new(&self.na)), ..Notation::default() }
    }
}

impl Notation {
    /// The notation of a column: as the user has set it, otherwise as detected.
    pub(crate) fn of_column(&self, found: &ColumnInfo) -> Notation {
        let decimal = if self.decimal == Decimal::Either { found.decimal } else { self.decimal };
        let labels = self.labels.clone();
        Notation { decimal, no_shares: found.no_shares, shares: found.shares, na: self.na.clone(), labels }
    }
}
