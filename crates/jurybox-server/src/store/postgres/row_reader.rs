//! Reading items, verdicts and other records from rows of PostgreSQL.

use crate::Error;
use crate::error::corrupt;
use crate::event::VerdictPosition;
use crate::rows::{ItemRow, VerdictRow, scores_from_bytes, source_from_text, tags_from_text};
use crate::store::Checkpoint;
use tokio_postgres::Row;
use tokio_postgres::binary_copy::BinaryCopyOutRow;
use tokio_postgres::types::FromSql;

/// A row whose cells can be read: from a query, or from COPY.
pub(super) trait CellSource {
    fn cell<'a, T: FromSql<'a>>(&'a self, at: usize) -> Result<T, Error>;
}

impl CellSource for Row {
    fn cell<'a, T: FromSql<'a>>(&'a self, at: usize) -> Result<T, Error> {
        self.try_get(at).map_err(|error| corrupt(crate::pg_connection::PgFailure::from(error).what))
    }
}

impl CellSource for BinaryCopyOutRow {
    fn cell<'a, T: FromSql<'a>>(&'a self, at: usize) -> Result<T, Error> {
        self.try_get(at).map_err(|error| corrupt(crate::pg_connection::PgFailure::from(error).what))
    }
}

/// A type that can be read from a cell. All columns of whole numbers have eight bytes.
pub(super) trait ReadCell: Sized {
    fn read(row: &impl CellSource, at: usize) -> Result<Self, Error>;
}

macro_rules! as_it_is {
    ($($kind:ty),*) => {$(
        impl ReadCell for $kind {
            fn read(row: &impl CellSource, at: usize) -> Result<Self, Error> {
                row.cell(at)
            }
        }
    )*};
}
as_it_is!(i64, f64, String, Vec<u8>, Option<i64>, Option<f64>, Option<String>);

macro_rules! from_eight_bytes {
    ($($kind:ty),*) => {$(
        impl ReadCell for $kind {
            fn read(row: &impl CellSource, at: usize) -> Result<Self, Error> {
                row.cell::<i64>(at)?.try_into().map_err(corrupt)
            }
        }
        impl ReadCell for Option<$kind> {
            fn read(row: &impl CellSource, at: usize) -> Result<Self, Error> {
                row.cell::<Option<i64>>(at)?.map(TryInto::try_into).transpose().map_err(corrupt)
            }
        }
    )*};
}
from_eight_bytes!(u64, u32, i16);

impl ReadCell for bool {
    fn read(row: &impl CellSource, at: usize) -> Result<Self, Error> {
        Ok(row.cell::<i64>(at)? != 0)
    }
}

pub(super) fn get<T: ReadCell>(row: &impl CellSource, at: usize) -> Result<T, Error> {
    T::read(row, at)
}

/// Reads each of the rows.
pub(super) fn all<T>(rows: &[Row], read: impl Fn(&Row) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    rows.iter().map(read).collect()
}

pub(super) fn scores(row: &impl CellSource, at: usize) -> Result<Vec<f64>, Error> {
    row.cell::<Option<&[u8]>>(at)?.map_or(Ok(Vec::new()), scores_from_bytes)
}

pub(super) fn item(row: &impl CellSource, at: usize) -> Result<ItemRow, Error> {
    let tags: &str = row.cell(at + 4)?;
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

pub(super) fn verdict(row: &impl CellSource) -> Result<VerdictRow, Error> {
    let supersedes: (Option<u64>, Option<u32>) = (get(row, 11)?, get(row, 12)?);
    Ok(VerdictRow {
        which: VerdictPosition { seq: get(row, 0)?, i: get(row, 1)? },
        id: get(row, 2)?,
        n: get(row, 3)?,
        slot: get(row, 4)?,
        reviewer: get(row, 5)?,
        source: source_from_text(row.cell(6)?)?,
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

pub(super) fn checkpoint(row: &impl CellSource) -> Result<Checkpoint, Error> {
    Ok(Checkpoint { seq: get(row, 0)?, epoch: get(row, 1)?, state: get(row, 2)?, sha256: get(row, 3)? })
}
