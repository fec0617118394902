//! Conversion of long tables (one score per row) to wide ones (one item per row, one column per
//! judge).
//!
//! It needs the whole table in memory: 8 bytes per item and judge, and the other columns as text.

use crate::error::{Error, RowPosition};
use crate::format::memory::MemoryTable;
use crate::format::{MOST_COLUMNS, RowSource};
use crate::read_options::ReadOptions;
use crate::roles::Roles;
use crate::table::{KeepRecords, ScanRequest, Table};
use crate::warning::Warning;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use jurybox_draw::counted;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The columns of a long table: the item, who scored it, and the score.
///
/// ```
/// use jurybox_files::{LongFormat, ReadOptions, Roles, Table};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("grades.csv");
/// std::fs::write(&path, "answer,judge,grade\na1,gpt,4/5\na1,claude,3/5\na2,gpt,1/5\n")?;
/// let long = LongFormat { item: "answer".into(), judge: "judge".into(), grade: "grade".into() };
/// let reading = ReadOptions { long: Some(long), ..ReadOptions::default() };
/// let table = Table::open_as(&[path], &reading, &Roles::default(), false)?;
/// assert_eq!(table.roles().evaluators().to_string(), "gpt, claude");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongFormat {
    /// The column that identifies the item.
    pub item: String,
    /// The column that names who scored it.
    pub judge: String,
    /// The column of scores.
    pub grade: String,
}

/// Maximum number of items times judges: 8 GiB of scores.
const MOST_CELLS: u64 = 1 << 30;

/// A table made wide, with its warnings.
pub(crate) struct WideTable {
    pub(crate) source: MemoryTable,
    pub(crate) warnings: Vec<Warning>,
    /// A summary of the conversion.
    pub(crate) says: String,
}

/// Makes the rows of all sources wide.
pub(crate) fn widen(
    sources: Vec<Box<dyn RowSource>>,
    reading: &ReadOptions,
    long: &LongFormat,
) -> Result<WideTable, Error> {
    let Some(path) = sources.first().map(|source| source.path().to_path_buf()) else {
        return Err(Error::NoFiles);
    };
    let roles = Roles {
        evaluators: vec![long.grade.clone()],
        key: Some(long.item.clone()),
        id: vec![long.judge.clone()],
        ..Roles::default()
    };
    let collected = Arc::new(Mutex::new(Vec::new()));
    let list = collected.clone();
    let table = Table::of(sources, reading, &roles)?
        .on_warning(move |warning| list.lock().unwrap_or_else(PoisonError::into_inner).push(warning.clone()));
    let mut wide = WideBuilder::new(&table, long, path);
    let judge = long.judge.as_str();
    let place = table.output_columns(0).columns.iter().position(|found| found.name == judge).unwrap_or(0);
    let columns: Vec<usize> = wide.others.iter().map(|other| other.column).collect();
    let rows = table.scan(
        ScanRequest { key: true, records: KeepRecords::All, ..ScanRequest::default() },
        |mut part| {
            let output = table.sources[part.source].whole_rows(&part, &table.output_columns(part.source))?;
            let rows = 0..part.batch.rows();
            let judges: Vec<String> = rows.clone().map(|row| output.columns[place].text(row)).collect();
            let texts = |&column: &usize| rows.clone().map(|row| output.columns[column].text(row)).collect();
            let others: Vec<Vec<String>> = columns.iter().map(texts).collect();
            Ok((part.batch.take_scores(), part.batch.keys, judges, others))
        },
        |at, (grades, items, judges, mut others)| {
            for (row, ((item, judge), grade)) in items.into_iter().zip(judges).zip(grades).enumerate() {
                let texts = others.iter_mut().map(|column| std::mem::take(&mut column[row]));
                wide.take(item, judge, grade, texts, RowPosition::Row(at.row_in_file + row as u64 + 1))?;
            }
            Ok(())
        },
    )?;
    let mut warnings = table.warnings().to_vec();
    drop(table);
    warnings.extend(collected.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
    wide.finish(rows, warnings)
}

/// A wide table under construction.
struct WideBuilder {
    path: PathBuf,
    item: String,
    items: HashMap<Box<str>, usize>,
    names: Vec<Box<str>>,
    judges: HashMap<String, usize>,
    /// By judge: the name, and the score of each item.
    grades: Vec<(String, Vec<f64>)>,
    /// Repeated scores by judge and item: their sum and number.
    repeated: HashMap<(usize, usize), (f64, u64)>,
    others: Vec<OtherColumn>,
    /// Rows without an item or a judge.
    nameless: u64,
    first_nameless: Option<RowPosition>,
}

/// A column other than item, judge and score: its first non-empty value for each item.
struct OtherColumn {
    name: String,
    column: usize,
    cells: Vec<String>,
    /// Rows whose value is not empty and differs from the first value of their item.
    contradicted: u64,
}

impl WideBuilder {
    fn new(table: &Table, long: &LongFormat, path: PathBuf) -> WideBuilder {
        let columns = table.output_columns(0).columns.iter().enumerate();
        let of_ours = |name: &String| [&long.item, &long.judge, &long.grade].contains(&name);
        let other = |(column, found): (usize, &crate::roles::ColumnInfo)| OtherColumn {
            name: found.name.clone(),
            column,
            cells: Vec::new(),
            contradicted: 0,
        };
        WideBuilder {
            path,
            item: long.item.clone(),
            items: HashMap::new(),
            names: Vec::new(),
            judges: HashMap::new(),
            grades: Vec::new(),
            repeated: HashMap::new(),
            others: columns.filter(|(_, found)| !of_ours(&found.name)).map(other).collect(),
            nameless: 0,
            first_nameless: None,
        }
    }

    /// Adds one row of the long table.
    fn take(
        &mut self,
        item: Box<str>,
        judge: String,
        grade: f64,
        texts: impl Iterator<Item = String>,
        place: RowPosition,
    ) -> Result<(), Error> {
        if item.trim().is_empty() || judge.trim().is_empty() {
            self.nameless += 1;
            self.first_nameless.get_or_insert(place);
            return Ok(());
        }
        let item = match self.items.entry(item) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.names.push(new.key().clone());
                *new.insert(self.names.len() - 1)
            }
        };
        for (other, text) in self.others.iter_mut().zip(texts) {
            match other.cells.get_mut(item) {
                None => other.cells.push(text),
                Some(cell) if cell.is_empty() => *cell = text,
                Some(cell) => other.contradicted += u64::from(!text.is_empty() && *cell != text),
            }
        }
        let judge = match self.judges.entry(judge) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.grades.push((new.key().clone(), Vec::new()));
                *new.insert(self.grades.len() - 1)
            }
        };
        if judge >= MOST_COLUMNS {
            return Err(Error::TooManyColumns { path: self.path.clone(), limit: MOST_COLUMNS });
        }
        if (self.names.len() as u64).saturating_mul(self.grades.len() as u64) > MOST_CELLS {
            let (items, judges) = (self.names.len() as u64, self.grades.len() as u64);
            return Err(Error::TooWide { path: self.path.clone(), items, judges });
        }
        let column = &mut self.grades[judge].1;
        if grade.is_nan() {
            return Ok(());
        }
        if column.len() <= item {
            column.resize(item + 1, f64::NAN);
        }
        if column[item].is_nan() {
            column[item] = grade;
        } else {
            let (sum, count) = self.repeated.entry((judge, item)).or_insert((column[item], 1));
            *sum += grade;
            *count += 1;
        }
        Ok(())
    }

    fn finish(mut self, rows: u64, mut warnings: Vec<Warning>) -> Result<WideTable, Error> {
        let (items, judges) = (self.names.len(), self.grades.len());
        if items == 0 {
            return Err(Error::NoRows { path: self.path, columns: Vec::new() });
        }
        for (&(judge, item), &(sum, count)) in &self.repeated {
            self.grades[judge].1[item] = sum / count as f64;
        }
        let warning = |what: String| Warning::Long { path: self.path.clone(), what };
        if self.nameless > 0 {
            let place = self.first_nameless.map_or(String::new(), |place| format!(", first in {place}"));
            warnings.push(warning(format!(
                "{} without an item or a judge, left out{place}",
                counted(self.nameless, "row")
            )));
        }
        if !self.repeated.is_empty() {
            let count = counted(self.repeated.len() as u64, "grade");
            warnings.push(warning(format!("{count} given more than once: the mean is used")));
        }
        for other in self.others.iter().filter(|other| other.contradicted > 0) {
            let OtherColumn { name, contradicted, .. } = other;
            let what = format!(
                "column `{name}` differs within an item in {}: the first value is used",
                counted(*contradicted, "row")
            );
            warnings.push(warning(what));
        }
        let mut columns: Vec<(String, ArrayRef)> =
            vec![(self.item, Arc::new(StringArray::from_iter_values(&self.names)))];
        for other in self.others {
            let cells = other.cells.iter().map(|cell| (!cell.is_empty()).then_some(cell));
            columns.push((other.name, Arc::new(cells.collect::<StringArray>())));
        }
        for (judge, grades) in self.grades {
            let grade = |item| grades.get(item).copied().filter(|grade: &f64| !grade.is_nan());
            columns.push((judge, Arc::new((0..items).map(grade).collect::<Float64Array>())));
        }
        crate::format::distinct(&self.path, columns.iter().map(|(name, _)| name.as_str()))?;
        let refused =
            |e: arrow_schema::ArrowError| Error::Arrow { path: self.path.clone(), reason: e.to_string() };
        let nullable = columns.into_iter().map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(nullable).map_err(refused)?;
        let says = format!(
            "{} of {} by {}, made wide in memory",
            counted(rows, "grade"),
            counted(items as u64, "item"),
            counted(judges as u64, "judge")
        );
        let source = MemoryTable::new(&batch.schema(), vec![batch])?.called(&self.path);
        Ok(WideTable { source, warnings, says })
    }
}
