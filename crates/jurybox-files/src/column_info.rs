//! Columns as detected from their first cells, and their combination over several sources.

use crate::cell_number::Decimal;
use arrow_schema::DataType;
use std::collections::HashMap;

/// A column of a source, as detected.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the cells, whatever the others say"
)]
pub(crate) struct ColumnInfo {
    pub(crate) name: String,
    /// What its first rows hold.
    pub(crate) kind: ColumnKind,
    /// Its Arrow type; `None` for columns of text files.
    pub(crate) data_type: Option<DataType>,
    /// Its decimal mark.
    pub(crate) decimal: Decimal,
    /// Whether shares such as `13%` are odd cells, because numbers beyond 0 to 1 prevail.
    pub(crate) no_shares: bool,
    /// Whether numbers beyond 0 to 1 are odd cells, because shares prevail.
    pub(crate) shares: bool,
    /// Its smallest and largest number; `None` without numbers.
    pub(crate) range: Option<(f64, f64)>,
    /// Whether any of its numbers is a fraction.
    pub(crate) fractions: bool,
    /// Hashes of its first cells in row order; dropped once the roles are decided.
    pub(crate) cells: Vec<u32>,
    /// Missing and repeated values of a column that looks like identifiers all the same.
    pub(crate) flaws: Option<IdFlaws>,
    /// Whether it is a field of a nested object: it is written by itself only if it was read.
    pub(crate) nested: bool,
}

/// Numbers of missing and repeated cells in a column of identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IdFlaws {
    pub(crate) missing: usize,
    pub(crate) repeated: usize,
}

/// The content of a column, judged by its first cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Missing cells only.
    Empty,
    Text,
    /// Nothing but yes, or nothing but no.
    OneWord,
    /// Whole numbers that hardly repeat or count up: identifiers.
    Serial,
    /// Whole numbers all as large as timestamps and telephone numbers.
    Long,
    /// Mostly cells such as `1,234`, which may be thousands or decimals.
    TwoNumbers,
    Number,
}

impl ColumnKind {
    /// The kind of a column over two sources. The first source that is not empty decides, except
    /// that numbers in the other one win over identifiers, long numbers and constants.
    pub(crate) fn and(self, other: ColumnKind) -> ColumnKind {
        match (self, other) {
            (ColumnKind::Empty, other) => other,
            (ColumnKind::Serial | ColumnKind::OneWord | ColumnKind::Long, ColumnKind::Number) => {
                ColumnKind::Number
            }
            (mine, _) => mine,
        }
    }
}

impl ColumnInfo {
    /// A column of a text file, with nothing detected but its kind.
    pub(crate) fn new(name: String, kind: ColumnKind) -> Self {
        ColumnInfo {
            name,
            kind,
            data_type: None,
            decimal: Decimal::Either,
            no_shares: false,
            shares: false,
            range: None,
            fractions: false,
            cells: Vec::new(),
            flaws: None,
            nested: false,
        }
    }
}

/// The columns of several sources: those of the first, then the additional ones of the others.
pub(crate) fn together<'a>(columns: impl Iterator<Item = &'a ColumnInfo>) -> Vec<ColumnInfo> {
    let mut all: Vec<ColumnInfo> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for column in columns {
        match places.get(&*column.name).map(|&at| &mut all[at]) {
            None => {
                places.insert(&column.name, all.len());
                all.push(column.clone());
            }
            Some(known) => {
                known.kind = known.kind.and(column.kind);
                known.flaws = known.flaws.or(column.flaws);
                known.fractions |= column.fractions;
                known.range = match (known.range, column.range) {
                    (Some((low, high)), Some((least, greatest))) => {
                        Some((low.min(least), high.max(greatest)))
                    }
                    (one, other) => one.or(other),
                };
                known.nested &= column.nested;
            }
        }
    }
    all
}
