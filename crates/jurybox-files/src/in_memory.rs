//! Tables of Arrow record batches, in memory or from a stream.

use crate::error::Error;
use crate::format::memory::{self, BatchStream, MemoryTable};
use crate::read_options::ReadOptions;
use crate::roles::Roles;
use crate::table::Table;
use arrow_array::{RecordBatch, RecordBatchReader};

impl Table {
    /// A table of record batches in memory. Batch boundaries do not influence results.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    /// use jurybox_files::{Ranker, RankOptions, Roles, Table, rank};
    /// use std::sync::Arc;
    ///
    /// let post: ArrayRef = Arc::new(StringArray::from(vec!["p1", "p2", "p3"]));
    /// let spam: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.2), None, Some(0.9)]));
    /// let batch = RecordBatch::try_from_iter([("post", post), ("spam", spam)])?;
    /// let batches = vec![batch.slice(0, 1), batch.slice(1, 2)];
    /// let table = Table::from_batches(batches, &Roles::default())?;
    /// let options = RankOptions { k: 2, ..RankOptions::default() };
    /// let ranking = rank(&table, &Ranker::Weights(vec![1.0]), options)?;
    /// let rows: Vec<u64> = ranking.winners().iter().map(|winner| winner.row).collect();
    /// assert_eq!(rows, [2, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_batches(batches: Vec<RecordBatch>, roles: &Roles) -> Result<Table, Error> {
        Table::from_batches_as(batches, &ReadOptions::default(), roles)
    }

    /// A table of record batches in memory, with reading options.
    ///
    /// Three options apply: words for "missing", the decimal mark of numbers in text, and the long
    /// format.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    /// use jurybox_files::{ReadOptions, Roles, Table, ScanRequest};
    /// use std::sync::Arc;
    ///
    /// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.2, -99.0, 0.9]));
    /// let batch = RecordBatch::try_from_iter([("spam", spam)])?;
    /// let reading = ReadOptions { na: vec!["-99".into()], ..ReadOptions::default() };
    /// let table = Table::from_batches_as(vec![batch], &reading, &Roles::default())?;
    /// let mut scores = Vec::new();
    /// table.scan(
    ///     ScanRequest::default(),
    ///     |mut part| Ok(part.batch.scores().to_vec()),
    ///     |_, part| Ok(scores.extend(part)),
    /// )?;
    /// assert!(scores[1].is_nan());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_batches_as(
        batches: Vec<RecordBatch>,
        reading: &ReadOptions,
        roles: &Roles,
    ) -> Result<Table, Error> {
        let Some(first) = batches.first() else {
            return Err(Error::NoRows { path: memory::NAME.into(), columns: Vec::new() });
        };
        let schema = first.schema();
        let memory = MemoryTable::new(&schema, batches)?.looked_at(&reading.notation());
        Table::made_wide(vec![Box::new(memory)], reading, roles)
    }

    /// A table of a stream of record batches, read as they arrive.
    ///
    /// Set `again` if the rows will be read more than once: the batches are then kept in memory.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
    /// use jurybox_files::{Ranker, RankOptions, Roles, Table, rank};
    /// use std::sync::Arc;
    ///
    /// let scores = (0..100).map(|row| f64::from(row) / 7.0);
    /// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values(scores));
    /// let batch = RecordBatch::try_from_iter([("spam", spam)])?;
    /// let batches: Vec<_> = (0..100).map(|row| Ok(batch.slice(row, 1))).collect();
    /// let stream = RecordBatchIterator::new(batches, batch.schema());
    /// let table = Table::from_stream(stream, &Roles::default(), false)?;
    /// let options = RankOptions { k: 1, ..RankOptions::default() };
    /// let ranking = rank(&table, &Ranker::Weights(vec![1.0]), options)?;
    /// assert_eq!((ranking.winners()[0].row, ranking.rows()), (99, 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_stream(
        stream: impl RecordBatchReader + Send + 'static,
        roles: &Roles,
        again: bool,
    ) -> Result<Table, Error> {
        Table::from_stream_as(stream, &ReadOptions::default(), roles, again)
    }

    /// A table of a stream, with reading options; see [`from_batches_as`](Self::from_batches_as).
    pub fn from_stream_as(
        stream: impl RecordBatchReader + Send + 'static,
        reading: &ReadOptions,
        roles: &Roles,
        again: bool,
    ) -> Result<Table, Error> {
        if !again {
            let stream = BatchStream::new(Box::new(stream), &reading.notation())?;
            return Table::made_wide(vec![Box::new(stream)], reading, roles);
        }
        let schema = stream.schema();
        let memory = MemoryTable::new(&schema, BatchStream::collect(stream)?)?.looked_at(&reading.notation());
        Table::made_wide(vec![Box::new(memory)], reading, roles)
    }
}
