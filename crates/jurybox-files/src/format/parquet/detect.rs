//! Detection of column kinds from the first rows of a Parquet file.

use super::panics::guarded;
use super::row_range::ParquetInput;
use crate::cell_number::Notation;
use crate::detect::ROWS;
use crate::format::arrow;
use crate::roles::ColumnInfo;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection, RowSelector};
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::statistics::Statistics;
use arrow_array::RecordBatch;

/// Approximate limit of the uncompressed bytes of the rows used for detection, over all columns
/// read.
const SAMPLE_BYTES: i64 = 1 << 24;

/// The minimum number of rows used for detection, however long their text is; a file may have
/// fewer.
const MIN_ROWS: usize = 32;

/// Sets the column kinds from the first rows. A column for which [`range_of_fractions`] finds a
/// range keeps its kind, and gets that range. Read errors are ignored here, because the pass meets
/// them again.
pub(super) fn look(columns: &mut [ColumnInfo], from: &ParquetInput<'_>, notation: &Notation) {
    let groups = from.metadata.metadata().row_groups();
    for (column, found) in columns.iter_mut().enumerate() {
        if let Some(range) = groups.first().and_then(|group| range_of_fractions(from.metadata, group, column))
        {
            (found.range, found.fractions) = (Some(range), true);
        }
    }
    let looked_at = |&column: &usize| {
        columns[column].data_type.as_ref().is_some_and(arrow::is_looked_at)
            && groups.first().is_none_or(|group| range_of_fractions(from.metadata, group, column).is_none())
    };
    let wanted: Vec<usize> = (0..columns.len()).filter(looked_at).collect();
    if wanted.is_empty() {
        return;
    }
    let mut left = groups.first().map_or(ROWS, |group| rows_of(from.metadata, group, &wanted));
    let mut batches: Vec<RecordBatch> = Vec::new();
    for (group, about) in groups.iter().enumerate() {
        let rows = usize::try_from(about.num_rows()).unwrap_or(0).min(left);
        if rows > 0 {
            let read = guarded(|| {
                let selection = RowSelection::from(vec![RowSelector::select(rows)]);
                Ok(from.reader(&wanted, group, Some(selection))?.collect::<Result<Vec<_>, _>>()?)
            });
            let Ok(read) = read else { return };
            batches.extend(read);
        }
        left -= rows;
        if left == 0 {
            break;
        }
    }
    arrow::look(columns, batches.iter(), notation);
}

/// The number of rows used for detection, given the sizes of these columns.
fn rows_of(metadata: &ArrowReaderMetadata, group: &RowGroupMetaData, wanted: &[usize]) -> usize {
    let chunks = wanted.iter().filter_map(|&column| chunk(metadata, group, column));
    let bytes: i64 = chunks.map(|chunk| chunk.uncompressed_size().max(0)).fold(0, i64::saturating_add);
    let each = bytes / group.num_rows().max(1);
    usize::try_from(SAMPLE_BYTES / each.max(1)).unwrap_or(ROWS).clamp(MIN_ROWS, ROWS)
}

/// The minimum and maximum of a column in a row group, by its statistics. `None` unless one of the
/// two has decimals and the column has no missing value.
///
/// Such a column holds measurements, not identifiers: its cells need not be looked at.
fn range_of_fractions(
    metadata: &ArrowReaderMetadata,
    group: &RowGroupMetaData,
    column: usize,
) -> Option<(f64, f64)> {
    let about = chunk(metadata, group, column).and_then(ColumnChunkMetaData::statistics);
    if about.and_then(Statistics::null_count_opt) != Some(0) {
        return None;
    }
    let (least, greatest): (f64, f64) = match about {
        Some(Statistics::Double(known)) => (*known.min_opt()?, *known.max_opt()?),
        Some(Statistics::Float(known)) => ((*known.min_opt()?).into(), (*known.max_opt()?).into()),
        _ => return None,
    };
    let broken = |value: f64| value.is_finite() && value.fract() != 0.0;
    (broken(least) || broken(greatest)).then_some((least, greatest))
}

/// Whether the statistics say that a column has only nulls in a row group.
pub(super) fn is_empty(metadata: &ArrowReaderMetadata, group: &RowGroupMetaData, column: usize) -> bool {
    let nulls = chunk(metadata, group, column).and_then(ColumnChunkMetaData::statistics);
    let nulls = nulls.and_then(Statistics::null_count_opt);
    nulls.is_some() && nulls == u64::try_from(group.num_rows()).ok()
}

/// Metadata of a flat column in a row group; `None` for a nested column.
fn chunk<'a>(
    metadata: &ArrowReaderMetadata,
    group: &'a RowGroupMetaData,
    column: usize,
) -> Option<&'a ColumnChunkMetaData> {
    let schema = metadata.parquet_schema();
    let is_of = |&leaf: &usize| schema.get_column_root_idx(leaf) == column;
    // If no earlier column is nested, the index of the leaf equals that of the column.
    let leaf = Some(column)
        .filter(|&leaf| leaf < schema.num_columns())
        .filter(is_of)
        .or_else(|| (column..schema.num_columns()).find(is_of))?;
    (schema.column(leaf).max_rep_level() == 0 && schema.column(leaf).max_def_level() <= 1)
        .then(|| group.column(leaf))
}
