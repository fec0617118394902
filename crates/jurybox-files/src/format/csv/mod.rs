//! CSV: columns are named by the header, and rows are parsed in parallel blocks of whole records.

mod cells;
mod header;
mod parse;
mod write;

use super::blocks::{LONGEST, RecordEnds, TextUnits, record_end};
use super::{
    BatchCallback, Format, FormatInfo, OutputColumns, ParsedBatch, RowRequest, RowSource, StoredRow,
    UnitReader, WorkUnit,
};
use crate::detect::{ColumnDetector, ROWS};
use crate::error::{Error, RowPosition};
use crate::input::{InputFile, InputStart};
use crate::output_rows::{OutputColumn, OutputRows};
use crate::roles::ColumnInfo;
use crate::scan::ScanPart;
use crate::scan_plan::ScanPlan;
use crate::skip_bad_rows::remove_record;
use crate::warning::Warning;
use header::Header;
use memchr::{memchr, memchr_iter};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub(super) const ABOUT: FormatInfo = FormatInfo {
    endings: &["csv", "tsv", "tab", "txt"],
    begins: |_| true,
    streams: true,
    open: |input| Ok(Box::new(Csv::open(input)?)),
    create: |aside, name| Ok(Box::new(write::CsvSink::new(aside, name)?)),
};

/// A CSV file.
#[derive(Debug)]
struct Csv {
    input: InputFile,
    header: Header,
    columns: Vec<ColumnInfo>,
}

impl Csv {
    fn open(input: InputFile) -> Result<Csv, Error> {
        let says = header::HeaderOptions { delimiter: input.reading.delimiter, header: input.reading.header };
        let enough = |text: &[u8]| says.is_enough(text);
        let begun = input.beginning(enough)?;
        if !begun.whole && !enough(&begun.text) {
            return Err(too_long(&input.path, &begun.text));
        }
        let header = says.read(&input.path, &begun.text)?;
        let columns = columns(&input, &begun, &header)?;
        Ok(Csv { input, header, columns })
    }

    /// Converts records to the columns of `show`.
    fn output_rows<'a>(
        &self,
        records: impl ExactSizeIterator<Item = &'a [u8]>,
        show: &OutputColumns<'_>,
    ) -> OutputRows {
        let rows = records.len();
        let mut cells: Vec<Vec<Box<str>>> = vec![Vec::with_capacity(rows); self.columns.len()];
        for record in records {
            let mut found = cells::cells(record, self.header.delimiter);
            for column in &mut cells {
                column.push(String::from_utf8_lossy(&found.next().unwrap_or_default()).into());
            }
        }
        let places: HashMap<&str, usize> =
            self.columns.iter().enumerate().map(|(at, found)| (&*found.name, at)).collect();
        OutputRows::new(rows, show, |name| {
            let at = *places.get(name)?;
            Some(OutputColumn::Text {
                cells: std::mem::take(&mut cells[at]),
                numeric: show.notation_of(name),
            })
        })
    }
}

impl RowSource for Csv {
    fn path(&self) -> &Path {
        &self.input.path
    }

    fn format(&self) -> Format {
        Format::Csv
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn detection_warning(&self) -> Option<Warning> {
        let named = self.input.reading.header != Some(false) && self.header.is_of_numbers();
        named.then(|| Warning::HeaderOfNumbers {
            path: self.input.path.clone(),
            header: self.header.names.iter().take(4).cloned().collect(),
        })
    }

    fn size(&self) -> Option<u64> {
        self.input.size
    }

    fn lines_before(&self) -> u64 {
        self.header.lines
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
        let mut text = self.input.text(bytes)?;
        text.read_exact(&mut vec![0; self.header.bytes]).map_err(|e| self.input.reading(e))?;
        Ok(Box::new(TextUnits::new(&self.input, text, RecordEnds::Quoted(self.header.delimiter))))
    }

    fn lines(&self, unit: &WorkUnit) -> u64 {
        memchr_iter(b'\n', &unit.text).count() as u64
    }

    fn parse(&self, unit: &mut WorkUnit, plan: &ScanPlan, each: &mut BatchCallback<'_>) -> Result<(), Error> {
        let batch = parse::parse(self.path(), &unit.text, self.header.delimiter, plan)?;
        each(ParsedBatch { batch, text: &unit.text, arrays: None })
    }

    fn remove_record(&self, unit: &mut WorkUnit, line: u64) -> bool {
        remove_record(&mut unit.text, line, |text, at| record_end(text, at, self.header.delimiter))
    }

    fn whole_rows(&self, part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        Ok(self.output_rows((0..part.batch.rows()).map(|row| part.text_of(row)), show))
    }

    fn fetch(&self, rows: &[RowRequest<'_>], show: &OutputColumns<'_>) -> Result<OutputRows, Error> {
        Ok(self.output_rows(rows.iter().map(|row| row.record.text()), show))
    }
}

impl StoredRow {
    /// The text that was kept of the row; empty if none was.
    pub(super) fn text(&self) -> &[u8] {
        match self {
            StoredRow::Text(text) => text,
            StoredRow::None | StoredRow::Row(_) => &[],
        }
    }
}

/// The error for a text whose first two records do not end within the bytes used for detection.
fn too_long(path: &Path, text: &[u8]) -> Error {
    let (path, place) = (path.to_path_buf(), RowPosition::Line(1));
    match memchr(b'"', text) {
        Some(_) => Error::OpenQuote { path, place },
        None => Error::LongRecord { path, place, limit: LONGEST },
    }
}

/// The columns named by the header, each with its kind as detected from the first rows. Errors if
/// there are no rows.
fn columns(input: &InputFile, begun: &InputStart, header: &Header) -> Result<Vec<ColumnInfo>, Error> {
    let notation = input.reading.notation();
    let mut looks: Vec<ColumnDetector> = header.names.iter().map(|_| ColumnDetector::default()).collect();
    let rest = &begun.text[header.bytes..];
    if rest.trim_ascii().is_empty() {
        return Err(Error::NoRows { path: input.path.clone(), columns: header.names.clone() });
    }
    let mut at = 0;
    for _ in 0..ROWS {
        let end = match record_end(rest, at, header.delimiter) {
            Some(end) => end,
            // Without a line end, this is the file's last row if all was read, else a part of a
            // row.
            None if begun.whole && at < rest.len() => rest.len(),
            None => break,
        };
        if rest[at..end].trim_ascii().is_empty() {
            at = end;
            continue;
        }
        for (look, cell) in looks.iter_mut().zip(cells::cells(&rest[at..end], header.delimiter)) {
            look.see(&cell, &notation);
        }
        at = end;
    }
    let found = |(name, look): (&String, &ColumnDetector)| look.found(name.clone());
    Ok(header.names.iter().zip(&looks).map(found).collect())
}
