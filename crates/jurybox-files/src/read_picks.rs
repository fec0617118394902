//! Picks as they were written, read back: who was picked, when, with which scores and which receipt.

use crate::pick_round::check_id;
use crate::output_rows::OutputRows;
use crate::error::{Error, RowPosition};
use crate::id;
use crate::own_columns::written_name;
use crate::table::{KeepRecords, Table, ScanRequest};
use jurybox::{Receipt, Seen};
use std::collections::HashSet;

/// As much of a cell as a message shows.
const SHOWN: usize = 60;

pub(crate) struct PickedItem {
    pub(crate) id: Box<str>,
    pub(crate) round: String,
    pub(crate) at: u64,
    /// Its row in the round: one item may be picked by several runs over the same rows.
    pub(crate) row: u64,
    pub(crate) receipt: Receipt,
    pub(crate) scores: Vec<f64>,
    /// Where it was read: which file of the table, and which row there, from 1.
    pub(crate) file: usize,
    pub(crate) place: RowPosition,
}

/// The names under which our columns are in a table of picks.
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

/// The picks of a table in the order of their time, each once though a file be named twice; rows without a receipt were not
/// picked.
pub(crate) fn read_picks(table: &Table) -> Result<Vec<PickedItem>, Error> {
    let ours = PickColumns::of(table)?;
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
                let Some(pick) = picked(&ours, &output, row, &id, scores, (at.file, place))
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

/// The pick in a row, where it is one; otherwise which cell cannot be read.
fn picked(
    ours: &PickColumns,
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
    let receipt = text(&ours.receipt);
    if receipt.is_empty() || receipt == "null" {
        return Ok(None);
    }
    let bad = |column: &String, value: String| (column.clone(), value);
    let whole = |column: &String| whole_number(&text(column)).ok_or_else(|| bad(column, text(column)));
    let at = whole(&ours.at)?;
    if at > Seen::LATEST {
        return Err(bad(&ours.at, at.to_string()));
    }
    Ok(Some(PickedItem {
        id: id::of(id).into(),
        round: text(&ours.round),
        at,
        row: whole(&ours.row)?,
        receipt: serde_json::from_str(&receipt).map_err(|_| bad(&ours.receipt, receipt.clone()))?,
        scores: scores.to_vec(),
        file,
        place,
    }))
}

/// A whole number, also as a program writes it that takes every number for a fraction: `7.0`.
fn whole_number(text: &str) -> Option<u64> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// What a message shows of a cell.
fn shortened(cell: String) -> String {
    match cell.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &cell[..end], cell.len()),
        None => cell,
    }
}
