//! Reading items, verdicts and other records from rows of SQLite.

use crate::Error;
use crate::error::corrupt;
use crate::event::VerdictPosition;
use crate::rows::{ItemRow, LogRow, VerdictRow, scores_from_bytes, source_from_text, tags_from_text};
use crate::store::Checkpoint;
use crate::store::value::SqlValue;
use rusqlite::Row;
use rusqlite::types::ValueRef;

pub(in crate::store) fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, at: usize) -> Result<T, Error> {
    row.get(at).map_err(corrupt)
}

pub(super) fn scores(row: &Row<'_>, at: usize) -> Result<Vec<f64>, Error> {
    match row.get_ref(at).map_err(corrupt)?.as_blob_or_null().map_err(corrupt)? {
        Some(bytes) => scores_from_bytes(bytes),
        None => Ok(Vec::new()),
    }
}

pub(in crate::store) fn item(row: &Row<'_>, at: usize) -> Result<ItemRow, Error> {
    let tags = row.get_ref(at + 4).map_err(corrupt)?.as_str().map_err(corrupt)?;
    Ok(ItemRow {
        n: get(row, at)?,
        arrived: get(row, at + 1)?,
        seq: get(row, at + 2)?,
        scores: scores(row, at + 3)?,
        tags: if tags == "{}" { crate::Tags::new() } else { tags_from_text(tags)? },
        random_check: get(row, at + 5)?,
        due: get(row, at + 6)?,
        closed: get(row, at + 7)?,
    })
}

pub(in crate::store) fn verdict(row: &Row<'_>) -> Result<VerdictRow, Error> {
    let supersedes: (Option<u64>, Option<u32>) = (get(row, 11)?, get(row, 12)?);
    Ok(VerdictRow {
        which: VerdictPosition { seq: get(row, 0)?, i: get(row, 1)? },
        id: get(row, 2)?,
        n: get(row, 3)?,
        slot: get(row, 4)?,
        reviewer: get(row, 5)?,
        source: source_from_text(&get::<String>(row, 6)?)?,
        label: get(row, 7)?,
        reward: get(row, 8)?,
        observed_at: get(row, 9)?,
        claim: get(row, 10)?,
        supersedes: supersedes.0.zip(supersedes.1).map(|(seq, i)| VerdictPosition { seq, i }),
        superseded_by: get(row, 13)?,
        decides: get(row, 14)?,
        probability: get(row, 15)?,
        explored: get(row, 16)?,
        stands_from: get(row, 17)?,
    })
}

pub(in crate::store) fn log_row(row: &Row<'_>) -> Result<LogRow, Error> {
    let (seq, at, actor) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
    Ok(LogRow { seq, at, actor, kind: get(row, 3)?, body: get(row, 4)? })
}

/// All cells of a row. A null has no type here, and is read as a null integer.
pub(in crate::store) fn plain_row(row: &Row<'_>) -> Result<Vec<SqlValue>, Error> {
    let cells = 0..row.as_ref().column_count();
    let cell = |at| {
        Ok(match row.get_ref(at).map_err(corrupt)? {
            ValueRef::Null => SqlValue::Int(None),
            ValueRef::Integer(x) => SqlValue::Int(Some(x)),
            ValueRef::Real(x) => SqlValue::Real(Some(x)),
            ValueRef::Text(x) => SqlValue::Text(Some(std::str::from_utf8(x).map_err(corrupt)?.into())),
            ValueRef::Blob(x) => SqlValue::Bytes(Some(x.into())),
        })
    };
    cells.map(cell).collect()
}

pub(super) fn checkpoint(row: &Row<'_>) -> Result<Checkpoint, Error> {
    Ok(Checkpoint { seq: get(row, 0)?, epoch: get(row, 1)?, state: get(row, 2)?, sha256: get(row, 3)? })
}
