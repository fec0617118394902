//! Columns as they were found: what their first cells are, over all sources.

use crate::cell_number::Decimal;
use arrow_schema::DataType;
use std::collections::HashMap;

/// A column of a source as it was found.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the cells, whatever the others say"
)]
pub(crate) struct ColumnInfo {
    pub(crate) name: String,
    /// What the rows looked at hold.
    pub(crate) kind: ColumnKind,
    /// Its type, where columns have one.
    pub(crate) data_type: Option<DataType>,
    /// What its decimals follow.
    pub(crate) decimal: Decimal,
    /// Whether it has numbers beyond 0 to 1, among which a share is an odd cell.
    pub(crate) no_shares: bool,
    /// Whether it has shares and none of those, among which they are odd cells.
    pub(crate) shares: bool,
    /// The least and the greatest of its numbers, where it has any.
    pub(crate) range: Option<(f64, f64)>,
    /// Whether some of its numbers are not whole.
    pub(crate) fractions: bool,
    /// A hash of each cell that was looked at, in the order of the rows, until it is decided what the columns are for.
    pub(crate) cells: Vec<u32>,
    /// What is wrong with its names of things, where it looks like some all the same.
    pub(crate) flaws: Option<IdFlaws>,
    /// Whether it is a field within a column: it is written out only where it was read.
    pub(crate) nested: bool,
}

/// Among names of things: cells that are empty, and such as were there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IdFlaws {
    pub(crate) missing: usize,
    pub(crate) repeated: usize,
}

/// What the cells of a column are, as far as they were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// All of them are missing.
    Empty,
    Text,
    /// Yes all the way down, or no.
    OneWord,
    /// Whole numbers, no two the same: names of things.
    Serial,
    /// Whole numbers that all are as long as times and telephone numbers.
    Long,
    /// Cells such as `1,234`, which may be thousands or decimals.
    TwoNumbers,
    Number,
}

impl ColumnKind {
    /// What a column is that holds the one here and the other there. The first source that can tell tells it for all; what
    /// only looks like names of things in one is numbers if it is so in another.
    pub(crate) fn and(self, other: ColumnKind) -> ColumnKind {
        match (self, other) {
            (ColumnKind::Empty, other) => other,
            (ColumnKind::Serial | ColumnKind::OneWord | ColumnKind::Long, ColumnKind::Number) => ColumnKind::Number,
            (mine, _) => mine,
        }
    }
}

impl ColumnInfo {
    /// A column of text, in which cells have no type.
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

/// The columns of several sources: those of the first, then what the others have beside them.
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
