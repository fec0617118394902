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
    /// The kind of its first cells.
    pub(crate) kind: ColumnKind,
    /// Its Arrow type; `None` for columns of text files.
    pub(crate) data_type: Option<DataType>,
    /// The decimal mark of its numbers.
    pub(crate) decimal: Decimal,
    /// Whether shares such as `13%` are odd cells, because they do not outnumber the plain numbers
    /// beyond 0 to 1.
    pub(crate) no_shares: bool,
    /// Whether plain numbers beyond 0 to 1 are odd cells, because shares outnumber them.
    pub(crate) shares: bool,
    /// The smallest and largest number among its first cells; `None` without numbers.
    pub(crate) range: Option<(f64, f64)>,
    /// Whether any number among its first cells has a fractional part.
    pub(crate) fractions: bool,
    /// Hashes of its first cells in row order; dropped once the roles are decided.
    pub(crate) cells: Vec<u32>,
    /// Counts of missing and repeated values, if it looks like identifiers in spite of them.
    pub(crate) flaws: Option<IdFlaws>,
    /// Whether it is a field of a nested object: then it is written by itself only if it has a
    /// role.
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
    /// Its numbers are all the word yes, without missing cells, or all the word no.
    OneWord,
    /// Identifiers: whole numbers that hardly repeat, or that count up by one.
    Serial,
    /// At least five whole numbers, all as large as timestamps and telephone numbers.
    Long,
    /// Fewer numbers than other cells. Most of the other cells are like `1,234`: thousands or
    /// decimals.
    TwoNumbers,
    Number,
}

impl ColumnKind {
    /// The kind of a column over two sources. The first source that is not empty decides, except
    /// that a `Number` in `other` wins over identifiers, long numbers and a single word.
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

/// The columns of several sources in order of appearance, each name once.
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
