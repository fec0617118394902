//! Reading of picks that were written before: ids, rounds, scores and receipts.

use crate::error::{Error, RowPosition};
use crate::id;
use crate::output_rows::OutputRows;
use crate::own_columns::written_name;
use crate::pick_round::check_id;
use crate::table::{KeepRecords, ScanRequest, Table};
use jurybox::{Receipt, Seen};
use std::collections::HashSet;

/// Maximum number of characters of a cell that a message shows.
const SHOWN: usize = 60;

/// A pick that was read back.
pub(crate) struct PickedItem {
    pub(crate) id: Box<str>,
    pub(crate) round: String,
    pub(crate) at: u64,
    /// Row number in the round, from 1. It tells apart picks of rows that share an id.
    pub(crate) row: u64,
    pub(crate) receipt: Receipt,
    pub(crate) scores: Vec<f64>,
    /// Index of the file from which it was read; `place` is the row in that file.
    pub(crate) file: usize,
    pub(crate) place: RowPosition,
}

/// The names of the columns that `pick` has added to a table.
struct PickColumns {
    round: String,
    at: String,
    row: String,
    receipt: String,
}

impl PickColumns {
    fn of(table: &Table) -> Result<PickColumns, Error> {
        let find = |name: &'static str| {
            written_name(table.columns(), name)
                .ok_or(Error::NotPicks { path: table.path().into(), column: name })
        };
        Ok(PickColumns {
            round: find("round")?,
            at: find("picked_at")?,
            row: find("row")?,
            receipt: find("receipt")?,
        })
    }
}

/// The picks of a table in the order of their time, each once even if a file is named twice. Rows
/// without a receipt were not picked.
pub(crate) fn read_picks(table: &Table) -> Result<Vec<PickedItem>, Error> {
    let columns = PickColumns::of(table)?;
    let width = table.roles().evaluators().len();
    let mut picks: Vec<PickedItem> = Vec::new();
    table.scan(
        ScanRequest { key: true, records: KeepRecords::All, ..ScanRequest::default() },
        |mut part| {
            let output = table.sources[part.source].whole_rows(&part, &table.output_columns(part.source))?;
            Ok((part.batch.take_scores(), part.batch.keys, output))
        },
        |at, (scores, ids, output)| {
            for (row, id) in ids.into_iter().enumerate() {
                let place = RowPosition::Row(at.row_in_file + row as u64 + 1);
                let path = table.sources[at.file].path();
                let scores = &scores[row * width..(row + 1) * width];
                let refuse = |column: &str, value: String| Error::BadPick {
                    path: path.into(),
                    place,
                    column: column.into(),
                    value,
                };
                let Some(pick) = picked(&columns, &output, row, &id, scores, (at.file, place))
                    .map_err(|(column, value)| refuse(&column, shortened(value)))?
                else {
                    continue;
                };
                check_id(table, at, row, &id)?;
                picks.push(pick);
            }
            Ok(())
        },
    )?;
    picks.sort_by_key(|pick| pick.at);
    let mut seen: HashSet<(String, u64)> = HashSet::new();
    picks.retain(|pick| seen.insert((pick.round.clone(), pick.row)));
    Ok(picks)
}

/// The pick in a row, or `None` if the row was not picked. The error has the column and the cell
/// that cannot be read.
fn picked(
    columns: &PickColumns,
    output: &OutputRows,
    row: usize,
    id: &str,
    scores: &[f64],
    (file, place): (usize, RowPosition),
) -> Result<Option<PickedItem>, (String, String)> {
    let text = |column: &String| {
        let at = output.names.iter().position(|name| name == column);
        at.map_or_else(String::new, |at| output.columns[at].text(row))
    };
    let receipt = text(&columns.receipt);
    if receipt.is_empty() || receipt == "null" {
        return Ok(None);
    }
    let bad = |column: &String, value: String| (column.clone(), value);
    let whole = |column: &String| whole_number(&text(column)).ok_or_else(|| bad(column, text(column)));
    let at = whole(&columns.at)?;
    if at > Seen::LATEST {
        return Err(bad(&columns.at, at.to_string()));
    }
    Ok(Some(PickedItem {
        id: id::of(id).into(),
        round: text(&columns.round),
        at,
        row: whole(&columns.row)?,
        receipt: serde_json::from_str(&receipt).map_err(|_| bad(&columns.receipt, receipt.clone()))?,
        scores: scores.to_vec(),
        file,
        place,
    }))
}

/// Parses a whole number, also one that a program wrote as a float: `7.0`.
fn whole_number(text: &str) -> Option<u64> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// The beginning of a cell, for a message.
fn shortened(cell: String) -> String {
    match cell.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &cell[..end], cell.len()),
        None => cell,
    }
}
