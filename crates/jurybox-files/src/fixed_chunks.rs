//! Passes in chunks of a fixed number of rows.
//!
//! Floating-point sums depend on where they are split. Blocks of text, Parquet pages and record
//! batches end at different rows; chunks end at the same rows in every format. A state learnt from
//! a table is therefore bitwise the same from CSV, Parquet and memory.
//!
//! A unit is a part of a source that one thread reads.

use crate::buffer_pool::BufferPool;
use crate::error::Error;
use crate::scan::{OrderedHandoff, ScanPart};
use crate::scan_plan::reviewer;
use crate::table::{BatchPosition, ScanRequest, Table};
use jurybox::Reviewer;

/// Rows per chunk: 2^17 scores, but at least 256 and at most 8,192 rows. It depends on the number
/// of evaluators alone.
pub(crate) fn chunk_rows(evaluators: usize) -> usize {
    ((1 << 17) / evaluators.max(1)).clamp(256, 1 << 13)
}

/// Consecutive rows of one source, starting at a multiple of the chunk size in that source.
pub(crate) struct FixedChunk<'a> {
    /// Index of the source.
    pub(crate) file: usize,
    /// The number of its first row over all sources.
    pub(crate) row: u64,
    /// The number of its first row in its source.
    pub(crate) row_in_file: u64,
    /// Scores, row by row, NaN where missing.
    pub(crate) scores: &'a [f64],
    /// Rewards; empty if not requested.
    pub(crate) rewards: &'a [f64],
    /// Item ids as hashes; empty if not requested.
    pub(crate) ids: &'a [u64],
    /// Reviewers; empty if not requested.
    pub(crate) reviewers: &'a [Option<Reviewer>],
}

/// Rows buffered in memory.
#[derive(Default)]
pub(crate) struct BufferedChunks {
    pub(crate) rows: usize,
    pub(crate) scores: Vec<f64>,
    rewards: Vec<f64>,
    ids: Vec<u64>,
    reviewers: Vec<Option<Reviewer>>,
}

impl BufferedChunks {
    /// Appends the rows of a batch.
    pub(crate) fn push(&mut self, part: &ScanPart<'_>) {
        self.rows += part.batch.rows();
        part.batch.push_rows(&mut self.scores);
        self.rewards.extend_from_slice(&part.batch.rewards);
        self.ids.extend_from_slice(&part.batch.ids);
        self.reviewers.extend(part.batch.reviewers.iter().map(|name| reviewer(name)));
    }

    /// Appends the rows of another buffer.
    pub(crate) fn join(&mut self, more: &BufferedChunks) {
        self.rows += more.rows;
        self.scores.extend_from_slice(&more.scores);
        self.rewards.extend_from_slice(&more.rewards);
        self.ids.extend_from_slice(&more.ids);
        self.reviewers.extend_from_slice(&more.reviewers);
    }

    /// Removes the first rows. Optional columns must cover all rows or none.
    pub(crate) fn drop_first(&mut self, rows: usize, width: usize) {
        self.rows -= rows;
        self.scores.drain(..rows * width);
        self.rewards.drain(..rows.min(self.rewards.len()));
        self.ids.drain(..rows.min(self.ids.len()));
        self.reviewers.drain(..rows.min(self.reviewers.len()));
    }

    fn clear(&mut self) {
        self.rows = 0;
        self.scores.clear();
        self.rewards.clear();
        self.ids.clear();
        self.reviewers.clear();
    }

    /// Rows `from` to `to` as a chunk, whose first row is at `at`. Optional columns cover all rows
    /// or none.
    fn chunk(&self, at: BatchPosition, from: usize, to: usize, width: usize) -> FixedChunk<'_> {
        let rewards = if self.rewards.is_empty() { &[] } else { &self.rewards[from..to] };
        let ids = if self.ids.is_empty() { &[] } else { &self.ids[from..to] };
        let reviewers = if self.reviewers.is_empty() { &[] } else { &self.reviewers[from..to] };
        let scores = &self.scores[from * width..to * width];
        FixedChunk {
            file: at.file,
            row: at.row,
            row_in_file: at.row_in_file,
            scores,
            rewards,
            ids,
            reviewers,
        }
    }

    fn append(&mut self, chunk: &FixedChunk<'_>, width: usize) {
        self.rows += chunk.scores.len() / width;
        self.scores.extend_from_slice(chunk.scores);
        self.rewards.extend_from_slice(chunk.rewards);
        self.ids.extend_from_slice(chunk.ids);
        self.reviewers.extend_from_slice(chunk.reviewers);
    }
}

/// Rows that a unit leaves for the next one, because they do not fill a chunk; `at` is the position
/// of the first.
#[derive(Default)]
struct LeftoverRows {
    at: BatchPosition,
    held: BufferedChunks,
}

/// The chunks that one unit is responsible for.
///
/// `rest` has the last rows of the previous source. `head` is the chunk that begins with rows
/// carried over. The other chunks are the whole ones among the unit's own rows.
struct UnitSlice {
    rest: Option<(BatchPosition, BufferedChunks)>,
    at: BatchPosition,
    head: BufferedChunks,
    /// The unit's own rows that form whole chunks. Rows before this range complete `head`; rows
    /// after it are carried on. If no chunk is complete, the range is empty and all rows are
    /// carried on.
    own: (usize, usize),
}

impl LeftoverRows {
    /// Assigns chunks to a unit with the rows `mine`, and keeps the rows after them for the next
    /// unit.
    fn take(&mut self, source: usize, mine: &BufferedChunks, width: usize, size: usize) -> UnitSlice {
        let mut rest = None;
        if self.at.file != source {
            let (at, held) = (self.at, std::mem::take(&mut self.held));
            self.at = BatchPosition { file: source, row: at.row + held.rows as u64, row_in_file: 0 };
            rest = (held.rows > 0).then_some((at, held));
        }
        let at = self.at;
        let whole = (self.held.rows + mine.rows) / size * size;
        if whole == 0 {
            self.held.append(&mine.chunk(self.at, 0, mine.rows, width), width);
            return UnitSlice { rest, at, head: BufferedChunks::default(), own: (mine.rows, mine.rows) };
        }
        let mut head = std::mem::take(&mut self.held);
        let (begin, end) = (size - head.rows, whole - head.rows);
        self.held.append(&mine.chunk(self.at, end, mine.rows, width), width);
        self.at.row += whole as u64;
        self.at.row_in_file += whole as u64;
        if head.rows > 0 {
            head.append(&mine.chunk(at, 0, begin, width), width);
            UnitSlice { rest, at, head, own: (begin, end) }
        } else {
            UnitSlice { rest, at, head, own: (0, end) }
        }
    }
}

impl Table {
    /// Passes over all rows in chunks: `work` on any thread for each chunk, `fold` on this thread
    /// in row order. Returns the number of rows.
    pub(crate) fn scan_fixed_chunks<T: Send>(
        &self,
        want: ScanRequest<'_>,
        work: impl Fn(FixedChunk<'_>) -> Result<T, Error> + Sync,
        mut fold: impl FnMut(BatchPosition, T) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let width = self.roles().evaluators.len();
        let size = chunk_rows(width);
        let relay = OrderedHandoff::new(LeftoverRows::default());
        let make = |share: UnitSlice,
                    mine: &BufferedChunks,
                    made: &mut Vec<(BatchPosition, T)>|
         -> Result<(), Error> {
            if let Some((at, rest)) = share.rest {
                made.push((at, work(rest.chunk(at, 0, rest.rows, width))?));
            }
            let mut at = share.at;
            let mut step = |held: &BufferedChunks, from: usize| {
                made.push((at, work(held.chunk(at, from, from + size, width))?));
                at = BatchPosition {
                    row: at.row + size as u64,
                    row_in_file: at.row_in_file + size as u64,
                    ..at
                };
                Ok::<(), Error>(())
            };
            if share.head.rows > 0 {
                step(&share.head, 0)?;
            }
            let (begin, end) = share.own;
            (begin..end).step_by(size).try_for_each(|from| step(mine, from))?;
            Ok(())
        };
        let (mut seen, pool) = (0, BufferPool::<BufferedChunks>::default());
        self.pass(
            want,
            None,
            |unit| (unit.source, relay.turn(unit.number)),
            |(source, turn), parse| {
                let (mut mine, mut made) = (pool.take(), Vec::new());
                let parsed = parse(&mut |part: ScanPart<'_>| {
                    mine.push(&part);
                    Ok(())
                });
                // After an error nothing more is folded, so the carried-over rows no longer matter.
                let share = turn.take(|carry| carry.take(source, &mine, width, size));
                let outcome =
                    parsed.and_then(|()| share.map_or(Ok(()), |share| make(share, &mine, &mut made)));
                mine.clear();
                pool.give_back(mine);
                (made, outcome.err())
            },
            |_, made| {
                for (at, result) in made {
                    seen = at.row;
                    fold(at, result)?;
                }
                Ok(seen)
            },
        )?;
        let LeftoverRows { at, held } = relay.into_inner();
        if held.rows > 0 {
            fold(at, work(held.chunk(at, 0, held.rows, width))?)?;
        }
        Ok(at.row + held.rows as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Roles;
    use std::fmt::Write;

    #[test]
    fn chunks_do_not_depend_on_blocks_and_threads() {
        // 300 evaluators: chunks of 436 rows (2^17 / 300, rounded down) and several blocks of text.
        let dir = tempfile::tempdir().unwrap();
        let header: Vec<String> = (0..300).map(|j| format!("e{j}")).collect();
        let mut paths = Vec::new();
        for (file, rows) in [5000, 436, 1, 7000].into_iter().enumerate() {
            let mut text = header.join(",");
            for row in 0..rows {
                let _ = write!(text, "\n{row}{}", ",7".repeat(299));
            }
            paths.push(dir.path().join(format!("{file}.csv")));
            std::fs::write(&paths[file], text).unwrap();
        }
        for threads in [1, 2, 5] {
            let roles = Roles { evaluators: header.clone(), ..Roles::default() };
            let table = Table::open(&paths, &roles, false).unwrap().with_threads(threads);
            let mut seen = Vec::new();
            let first = |chunk: FixedChunk<'_>| Ok((chunk.scores[0], chunk.scores.len() / 300));
            let rows = table.scan_fixed_chunks(ScanRequest::default(), first, |at, (first, rows)| {
                assert_eq!(at.row_in_file as f64, first);
                seen.push((at.file, at.row, rows));
                Ok(())
            });
            assert_eq!(rows.unwrap(), 12_437);
            let mut expected = Vec::new();
            for (file, begin, rows) in [(0, 0, 5000), (1, 5000, 436), (2, 5436, 1), (3, 5437, 7000)] {
                for from in (0..rows).step_by(436) {
                    expected.push((file, begin + from as u64, 436.min(rows - from)));
                }
            }
            assert_eq!(seen, expected);
        }
    }
}
