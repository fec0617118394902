//! Telling the columns of a file from its beginning.

use crate::blocks::record_end;
use crate::csv;
use crate::error::{Error, Place};
use crate::groups;
use crate::input::{Format, Input};
use crate::jsonl;
use crate::number::{self, Cell};
use crate::positioned::Positioned;
use crate::roles::Found;
use crate::table::Kind;

/// How much of a text is looked at, in bytes and rows.
const BYTES: usize = 1 << 18;
const ROWS: usize = 1000;

/// The columns of a file, which of them hold numbers, and how to read it.
pub(crate) fn columns(input: &Input) -> Result<(Vec<Found>, Kind), Error> {
    match input.format {
        Format::Parquet => {
            let file = Positioned::new(input.file()?).map_err(|e| input.reading(e))?;
            let metadata = groups::open(&input.path, &file)?;
            if metadata.metadata().file_metadata().num_rows() == 0 {
                return Err(Error::NoRows { path: input.path.clone() });
            }
            let found = groups::columns(&input.path, metadata.schema())?;
            Ok((found, Kind::Parquet(file, metadata)))
        }
        Format::Csv => {
            let text = input.beginning(BYTES)?;
            let header = csv::header(&input.path, &text)?;
            let found = csv_columns(input, &text, &header)?;
            Ok((found, Kind::Csv(header)))
        }
        Format::JsonLines => Ok((json_columns(input, &input.beginning(BYTES)?)?, Kind::JsonLines)),
    }
}

fn csv_columns(input: &Input, text: &[u8], header: &csv::Header) -> Result<Vec<Found>, Error> {
    let mut found: Vec<Found> =
        header.names.iter().map(|name| Found { name: name.clone(), numeric: None }).collect();
    let rest = &text[header.bytes..];
    if rest.trim_ascii().is_empty() {
        return Err(Error::NoRows { path: input.path.clone() });
    }
    let mut at = 0;
    for _ in 0..ROWS {
        let end = match record_end(rest, at, header.delimiter) {
            Some(end) => end,
            // The last row of a short file may lack its line end; that of a long one was cut by the looking.
            None if text.len() < BYTES && at < rest.len() => rest.len(),
            None => break,
        };
        for (column, cell) in found.iter_mut().zip(csv::cells(&rest[at..end], header.delimiter)) {
            match number::parse(&cell) {
                Cell::Missing => {}
                Cell::Number(_) | Cell::Unusable => column.numeric = column.numeric.or(Some(true)),
                Cell::NotANumber => column.numeric = Some(false),
            }
        }
        at = end;
    }
    Ok(found)
}

fn json_columns(input: &Input, text: &[u8]) -> Result<Vec<Found>, Error> {
    let mut found: Vec<Found> = Vec::new();
    let mut rows = 0;
    for (number, start, line) in jsonl::lines(text).take(ROWS) {
        if !line.ends_with(b"\n") && start > 0 && text.len() >= BYTES {
            break;
        }
        rows += 1;
        let place = Place::Line(number);
        let fields = jsonl::fields(line).map_err(|e| Error::Json {
            path: input.path.clone(),
            place,
            reason: jsonl::reason(&e),
        })?;
        for (key, value) in fields {
            let numeric = jsonl::is_number(value.get());
            match found.iter_mut().find(|found| found.name == key) {
                None => found.push(Found { name: key, numeric }),
                Some(column) => {
                    column.numeric = match (column.numeric, numeric) {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (before, now) => before.or(now),
                    };
                }
            }
        }
    }
    if rows == 0 { Err(Error::Empty { path: input.path.clone() }) } else { Ok(found) }
}
