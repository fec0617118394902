//! Fetching selected rows of a Parquet file by number.

use super::panics::{broken, guarded};
use super::row_range::ParquetInput;
use crate::error::Error;
use ::parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use arrow_array::RecordBatch;

/// Reads some columns of the given rows, whose numbers must ascend strictly. Each thread reads some
/// of the row groups.
pub(super) fn rows(
    from: &ParquetInput<'_>,
    columns: &[usize],
    rows: &[u64],
    threads: usize,
) -> Result<Vec<RecordBatch>, Error> {
    let path = from.path;
    let (mut wanted, mut first, mut left) = (Vec::new(), 0_u64, rows);
    for (group, about) in from.metadata.metadata().row_groups().iter().enumerate() {
        let end = first + u64::try_from(about.num_rows()).unwrap_or(0);
        let (here, rest) = left.split_at(left.partition_point(|&row| row < end));
        left = rest;
        if !here.is_empty() {
            let mut selectors = Vec::with_capacity(2 * here.len());
            let mut at = first;
            for &row in here {
                selectors.push(RowSelector::skip((row - at) as usize));
                selectors.push(RowSelector::select(1));
                at = row + 1;
            }
            selectors.retain(|selector| selector.row_count > 0);
            wanted.push((group, RowSelection::from(selectors)));
        }
        first = end;
    }
    let fetch = |(group, selection): &(usize, RowSelection)| {
        let batches = guarded(|| {
            let reader = from.reader(columns, *group, Some(selection.clone()))?;
            Ok(reader.collect::<Result<Vec<_>, _>>()?)
        });
        batches.map_err(|e| broken(path, &e))
    };
    let share = wanted.len().div_ceil(threads.max(1)).max(1);
    let fetched = std::thread::scope(|scope| {
        let fetch = &fetch;
        let workers: Vec<_> = wanted
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(fetch).collect::<Result<Vec<_>, Error>>()))
            .collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(broken(path, &"a reading thread panicked"))));
        joined.collect::<Result<Vec<_>, Error>>()
    })?;
    let batches: Vec<RecordBatch> = fetched.into_iter().flatten().flatten().collect();
    let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if found == rows.len() {
        Ok(batches)
    } else {
        Err(broken(path, &format!("{} rows were requested and {found} found", rows.len())))
    }
}
