//! JSON lines: one object a line, columns by the keys of the first lines.

mod cells;
mod parse;
mod write;

use super::blocks::{Ends, LONGEST, TextUnits};
use super::{About, Cut, Each, Fetch, Format, Parsed, Show, Source, Unit, distinct};
use crate::ask::Ask;
use crate::column::{Column, Slab};
use crate::error::{Error, Place};
use crate::input::{Beginning, Input};
use crate::roles::Found;
use crate::scan::Part;
use cells::JsonCells;
use memchr::memchr_iter;
use serde_json::value::RawValue;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub(super) const ABOUT: About = About {
    endings: &["jsonl", "ndjson", "json"],
    begins: |text| {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || [0xef, 0xbb, 0xbf].contains(byte);
        text.iter().find(|byte| !blank(byte)) == Some(&b'{')
    },
    streams: true,
    open: |input| Ok(Box::new(JsonLines::open(input)?)),
    create: |aside, name| Ok(Box::new(write::JsonSink::new(aside, name)?)),
};

/// How many lines are looked at to tell the columns.
const ROWS: usize = 1000;

/// A file of JSON lines.
#[derive(Debug)]
struct JsonLines {
    input: Input,
    columns: Vec<Found>,
}

impl JsonLines {
    fn open(input: Input) -> Result<JsonLines, Error> {
        let begun = input.beginning(has_a_line)?;
        if !begun.whole && !has_a_line(&begun.text) {
            let (path, place) = (input.path.clone(), Place::Line(1));
            return Err(Error::LongRecord { path, place, limit: LONGEST });
        }
        let columns = columns(&input.path, &begun)?;
        Ok(JsonLines { input, columns })
    }

    /// Lines as columns, in the order that is asked for. Every line has been parsed before, so one that cannot be is
    /// treated as empty.
    fn slab<'a>(records: impl ExactSizeIterator<Item = &'a [u8]>, show: &Show<'_>) -> Slab {
        let rows = records.len();
        let mut cells: Vec<Vec<Option<Box<RawValue>>>> = vec![Vec::with_capacity(rows); show.columns.len()];
        for record in records {
            let mut fields = parse::fields(record).unwrap_or_default();
            for (found, column) in show.columns.iter().zip(&mut cells) {
                let at = fields.iter().position(|(key, _)| *key == found.name);
                column.push(at.map(|at| fields.swap_remove(at).1));
            }
        }
        let mut cells = cells.into_iter();
        Slab::new(rows, show, |name| {
            let cells = cells.next()?;
            Some(Column::Cells(Arc::new(JsonCells { cells, numeric: show.is_number(name) })))
        })
    }
}

impl Source for JsonLines {
    fn path(&self) -> &Path {
        &self.input.path
    }

    fn format(&self) -> Format {
        Format::JsonLines
    }

    fn columns(&self) -> &[Found] {
        &self.columns
    }

    fn size(&self) -> Option<u64> {
        self.input.size
    }

    fn by_number(&self) -> bool {
        false
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        self.input.check_unchanged()
    }

    fn fingerprint(&self) -> Result<Option<String>, Error> {
        self.input.fingerprint()
    }

    fn cut(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn Cut + '_>, Error> {
        Ok(Box::new(TextUnits::new(&self.input, self.input.text(bytes)?, Ends::Lines)))
    }

    fn lines(&self, unit: &Unit) -> u64 {
        memchr_iter(b'\n', &unit.text).count() as u64
    }

    fn parse(&self, unit: &mut Unit, ask: &Ask, each: &mut Each<'_>) -> Result<(), Error> {
        let batch = parse::parse(self.path(), &unit.text, ask)?;
        each(Parsed { batch, text: &unit.text, arrays: None })
    }

    fn whole(&self, part: &Part<'_>, show: &Show<'_>) -> Result<Slab, Error> {
        Ok(Self::slab((0..part.batch.rows()).map(|row| part.text_of(row)), show))
    }

    fn fetch(&self, rows: &[Fetch<'_>], show: &Show<'_>) -> Result<Slab, Error> {
        Ok(Self::slab(rows.iter().map(|row| row.record.text()), show))
    }
}

/// Whether a text holds a whole line that is not blank.
fn has_a_line(text: &[u8]) -> bool {
    parse::lines(text).next().is_some_and(|(_, _, line)| line.ends_with(b"\n"))
}

/// The columns by the keys of the first lines, and which of them hold numbers.
fn columns(path: &Path, begun: &Beginning) -> Result<Vec<Found>, Error> {
    let mut found: Vec<Found> = Vec::new();
    let mut rows = 0;
    for (number, _, line) in parse::lines(&begun.text).take(ROWS) {
        // The last line of a short file may lack its end; that of a long one was cut by the looking.
        if !line.ends_with(b"\n") && !begun.whole {
            break;
        }
        rows += 1;
        let place = Place::Line(number);
        let fields = parse::fields(line).map_err(|e| Error::Json {
            path: path.into(),
            place,
            reason: parse::reason(&e),
        })?;
        for (key, value) in fields {
            let numeric = parse::is_number(value.get());
            match found.iter_mut().find(|found| found.name == key) {
                None => found.push(Found::new(key, numeric)),
                Some(column) => {
                    column.numeric = match (column.numeric, numeric) {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (before, now) => before.or(now),
                    };
                }
            }
        }
    }
    distinct(path, found.iter().map(|found| found.name.as_str()))?;
    if rows == 0 { Err(Error::Empty { path: path.into() }) } else { Ok(found) }
}
