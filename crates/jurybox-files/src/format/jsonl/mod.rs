//! JSON lines: one object per line. Columns are the keys, which are detected from the first lines.

mod cells;
mod fields;
mod parse;
mod write;

use super::blocks::{LONGEST, RecordEnds, TextUnits};
use super::{
    BatchCallback, Format, FormatInfo, MOST_COLUMNS, OutputColumns, ParsedBatch, RowRequest, RowSource,
    UnitReader, WorkUnit, distinct,
};
use crate::cell_number::Notation;
use crate::detect::{ColumnDetector, ROWS};
use crate::error::{Error, RowPosition};
use crate::input::{InputFile, InputStart, is_json};
use crate::output_rows::{OutputColumn, OutputRows};
use crate::roles::{ColumnInfo, ColumnKind};
use crate::scan::ScanPart;
use crate::scan_plan::ScanPlan;
use crate::skip_bad_rows::remove_record;
use cells::JsonCells;
use fields::FieldPaths;
use memchr::memchr_iter;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub(super) const ABOUT: FormatInfo = FormatInfo {
    endings: &["jsonl", "ndjson", "json"],
    begins: |text| is_json(text).is_some(),
    streams: true,
    open: |input| Ok(Box::new(JsonLines::open(input)?)),
    create: |aside, name| Ok(Box::new(write::JsonSink::new(aside, name)?)),
};

/// Maximum number of keys in the dotted name of a detected column.
const DEEPEST: usize = 16;

/// A file of JSON lines.
#[derive(Debug)]
struct JsonLines {
    input: InputFile,
    columns: Vec<ColumnInfo>,
    /// The path of keys to each column.
    ways: Vec<Vec<String>>,
    /// Whether the columns were detected from all lines of the file.
    whole: bool,
}

impl JsonLines {
    fn open(input: InputFile) -> Result<JsonLines, Error> {
        let begun = input.beginning(has_complete_line)?;
        if !begun.whole && !has_complete_line(&begun.text) {
            let (path, place) = (input.path.clone(), RowPosition::Line(1));
            return Err(Error::LongRecord { path, place, limit: LONGEST });
        }
        let (columns, ways, whole) = columns(&input, &begun)?;
        Ok(JsonLines { input, columns, ways, whole })
    }

    /// Converts lines to the columns of `show`. A line that is not a JSON object would give absent
    /// cells, but the pass has refused such lines before.
    fn output_rows<'a>(
        &self,
        records: impl ExactSizeIterator<Item = &'a [u8]>,
        show: &OutputColumns<'_>,
    ) -> OutputRows {
        let rows = records.len();
        let known: HashMap<&str, &[String]> =
            self.columns.iter().zip(&self.ways).map(|(found, way)| (&*found.name, &**way)).collect();
        let way = |found: &ColumnInfo| known.get(&*found.name).copied().unwrap_or_default();
        let ways: Vec<&[String]> = show.columns.iter().map(way).collect();
        let mut cells: Vec<Vec<Option<Box<RawValue>>>> = vec![Vec::with_capacity(rows); ways.len()];
        for record in records {
            let fields = fields::fields(record).unwrap_or_default();
            let by_key: HashMap<&str, &RawValue> =
                fields.iter().map(|(key, value)| (&**key, *value)).collect();
            for (way, column) in ways.iter().zip(&mut cells) {
                let value = match way {
                    [key] => by_key.get(&**key).copied(),
                    way => fields::at(&fields, way),
                };
                column.push(value.map(ToOwned::to_owned));
            }
        }
        let mut cells = cells.into_iter();
        OutputRows::new(rows, show, |name| {
            let cells = cells.next()?;
            Some(OutputColumn::Cells(Arc::new(JsonCells { cells, numeric: show.notation_of(name) })))
        })
    }

    /// Searches the whole file for a field that its first lines lack. Returns its path of keys.
    fn find_late_field(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let mut cut = self.units(&Arc::default())?;
        let mut unit = WorkUnit::default();
        while cut.next(&mut unit)? {
            for (_, _, line) in parse::lines(&unit.text) {
                if memchr::memmem::find(line, last.as_bytes()).is_some()
                    && let Ok(fields) = fields::fields(line)
                    && let Some(way) = fields::find(&fields, name)
                {
                    return Ok(Some(way));
                }
            }
        }
        Ok(None)
    }
}

impl RowSource for JsonLines {
    fn path(&self) -> &Path {
        &self.input.path
    }

    fn format(&self) -> Format {
        Format::JsonLines
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn size(&self) -> Option<u64> {
        self.input.size
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        self.input.check_unchanged()
    }

    fn fingerprint(&self) -> Result<Option<String>, Error> {
        self.input.fingerprint()
    }

    fn units(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn UnitReader + '_>, Error> {
        Ok(Box::new(TextUnits::new(&self.input, self.input.text(bytes)?, RecordEnds::Lines)))
    }

    fn lines(&self, unit: &WorkUnit) -> u64 {
        memchr_iter(b'\n', &unit.text).count() as u64
    }

    /// Adds a column whose key first appears after the lines used for detection. A file is searched
    /// for the key. A stream cannot be searched, so its key is accepted unseen.
    fn add_column(&mut self, name: &str) -> Result<(), Error> {
        if self.whole || self.columns.iter().any(|found| found.name == name) {
            return Ok(());
        }
        let way = if self.input.is_once() {
            Some(name.split('.').map(Into::into).collect())
        } else {
            self.find_late_field(name)?
        };
        if let Some(way) = way {
            self.columns.push(ColumnInfo {
                nested: way.len() > 1,
                ..ColumnInfo::new(name.into(), ColumnKind::Empty)
            });
            self.ways.push(way);
        }
        Ok(())
    }

    fn parse(&self, unit: &mut WorkUnit, plan: &ScanPlan, each: &mut BatchCallback<'_>) -> Result<(), Error> {
        let mut ways = FieldPaths::default();
        for (column, way) in self.ways.iter().enumerate() {
            ways.add(way, column);
        }
        let place = if self.input.items { RowPosition::Row } else { RowPosition::Line };
        let wanted = parse::WantedFields { path: self.path(), ways: &ways, place };
        let batch = parse::parse(&wanted, &unit.text, plan)?;
        each(ParsedBatch { batch, text: &unit.text, arrays: None })
    }

    fn remove_record(&self, unit: &mut WorkUnit, line: u64) -> bool {
        remove_record(&mut unit.text, line, |_, _| None)
    }

    fn whole_rows(&self, part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        Ok(self.output_rows((0..part.batch.rows()).map(|row| part.text_of(row)), show))
    }

    fn fetch(&self, rows: &[RowRequest<'_>], show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        Ok(self.output_rows(rows.iter().map(|row| row.record.text()), show))
    }
}

/// Whether a text holds a complete line that is not blank.
fn has_complete_line(text: &[u8]) -> bool {
    parse::lines(text).next().is_some_and(|(_, _, line)| line.ends_with(b"\n"))
}

/// The columns, the path of keys to each, and whether they were detected from all lines.
type JsonColumns = (Vec<ColumnInfo>, Vec<Vec<String>>, bool);

/// Detects the columns and their kinds from the first lines. Fields of nested objects get dotted
/// names.
fn columns(input: &InputFile, begun: &InputStart) -> Result<JsonColumns, Error> {
    let path = &input.path;
    let mut head = JsonHead { notation: input.reading.notation(), ..JsonHead::default() };
    let mut lines = parse::lines(&begun.text);
    for (number, _, line) in lines.by_ref().take(ROWS) {
        // Without a line end, this is the file's last line if all was read, else a part of a line.
        if !line.ends_with(b"\n") && !begun.whole {
            break;
        }
        head.rows += 1;
        let place = if input.items { RowPosition::Row(number) } else { RowPosition::Line(number) };
        let refuse = |reason: String| Error::Json { path: path.clone(), place, reason };
        let fields = fields::fields(line).map_err(|e| refuse(parse::reason(&e)))?;
        if number == 1 && begun.whole && is_by_columns(&fields) && lines_after(&begun.text, line) == 0 {
            return Err(refuse(
                "the file is one object with a field per column, but one object per row is needed".into(),
            ));
        }
        head.see(&fields, &[], path)?;
    }
    if head.rows == 0 {
        return Err(Error::Empty { path: path.clone() });
    }
    let whole = begun.whole && lines.next().is_none();
    let columns: Vec<ColumnInfo> = head
        .names
        .iter()
        .zip(&head.looks)
        .zip(&head.ways)
        .map(|((name, look), way)| ColumnInfo { nested: way.len() > 1, ..look.found(name.clone()) })
        .collect();
    distinct(path, columns.iter().map(|found| found.name.as_str()))?;
    Ok((columns, head.ways, whole))
}

/// The number of lines other than `line` that are not blank.
fn lines_after(text: &[u8], line: &[u8]) -> usize {
    parse::lines(text).filter(|(_, _, other)| other.as_ptr() != line.as_ptr()).count()
}

/// Whether an object is a table stored by columns, as pandas writes by default:
/// `{"spam":{"0":0.9,"1":0.2}}`.
fn is_by_columns(fields: &fields::Fields<'_>) -> bool {
    let by_row = |value: &RawValue| {
        fields::is_object(value)
            && fields::fields(value.get().as_bytes()).is_ok_and(|cells| {
                !cells.is_empty()
                    && cells.iter().all(|(key, _)| key.bytes().all(|byte| byte.is_ascii_digit()))
            })
    };
    !fields.is_empty() && fields.iter().all(|(_, value)| by_row(value))
}

/// The columns found in the first lines.
#[derive(Default)]
struct JsonHead {
    notation: Notation,
    rows: usize,
    names: Vec<String>,
    ways: Vec<Vec<String>>,
    looks: Vec<ColumnDetector>,
    by_name: HashMap<String, usize>,
}

impl JsonHead {
    /// Adds the fields of an object and of the objects within it. `before` is the path of keys to
    /// the object.
    fn see(&mut self, fields: &fields::Fields<'_>, before: &[String], path: &Path) -> Result<(), Error> {
        for (key, value) in fields {
            let way = [before, &[key.to_string()]].concat();
            let name = way.join(".");
            let column = match self.by_name.get(&name) {
                Some(&column) if self.ways[column] == way => column,
                // A key that itself contains dots is preferred to a path of that name.
                Some(_) if way.len() > 1 => continue,
                Some(&column) => {
                    self.ways[column].clone_from(&way);
                    self.looks[column] = ColumnDetector::default();
                    column
                }
                None => {
                    if self.names.len() >= MOST_COLUMNS {
                        return Err(Error::TooManyColumns { path: path.into(), limit: MOST_COLUMNS });
                    }
                    self.by_name.insert(name.clone(), self.names.len());
                    self.names.push(name);
                    self.ways.push(way.clone());
                    self.looks.push(ColumnDetector::default());
                    self.names.len() - 1
                }
            };
            self.looks[column].see_json(value.get(), &self.notation);
            if way.len() < DEEPEST
                && fields::is_object(value)
                && let Ok(within) = fields::fields(value.get().as_bytes())
            {
                self.see(&within, &way, path)?;
            }
        }
        Ok(())
    }
}

impl ColumnDetector {
    fn see_json(&mut self, text: &str, notation: &Notation) {
        match text.as_bytes().first() {
            Some(b'"') => self.see(parse::plain(text).as_bytes(), notation),
            Some(b'[' | b'{') => self.see_odd(),
            // As text, like in CSV, so that a column of `true` alone counts as one word.
            Some(b't' | b'f') => self.see(text.as_bytes(), notation),
            _ => self.see_stored(parse::read(notation, text)),
        }
    }
}
