//! A first pass over the scores of a table, for policies that learn their scales and weights from
//! scores alone: means, variances and correlations.
//!
//! Of a large table, a systematic sample is read: chunks of rows at equal distances. The chunks are
//! the same for every format and any number of threads. If they differ too much, as in a sorted
//! table, every row is read.

use crate::error::Error;
use crate::fixed_chunks::{BufferedChunks, chunk_rows};
use crate::sampled_chunks::SampledChunks;
use crate::table::{ScanRequest, Table};
use crate::teach::{PerFileJury, observe_all, observe_batch};
use jurybox::Jury;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// The rows that [`survey`] reads.
///
/// ```
/// assert_eq!(jurybox_files::SurveyScope::default(), jurybox_files::SurveyScope::Sample);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SurveyScope {
    /// A sample if the table is large and homogeneous, otherwise every row.
    #[default]
    Sample,
    /// Every row.
    EveryRow,
}

/// The size of a table, and of the part of it that [`survey`] has read.
///
/// ```
/// let seen = jurybox_files::SurveySize::default();
/// assert!(!seen.is_sample());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SurveySize {
    /// Rows of the table; 0 if the policy does not learn from scores, so that none was read.
    pub rows: u64,
    /// Rows that the jury has observed.
    pub shown: u64,
    /// Chunks of the sample; 0 if every row was observed.
    pub chunks: u64,
    /// Whether the chunks of the sample differed too much, so that every row was observed.
    pub uneven: bool,
}

impl SurveySize {
    /// Whether the jury has observed only a sample.
    pub fn is_sample(&self) -> bool {
        self.chunks > 0
    }
}

/// Rows of a chunk of the sample, except at the end of a table.
pub(crate) const CHUNK_ROWS: u64 = 1 << 14;
/// Maximum number of chunks of a sample. A table with no more chunks is read in full.
const MOST_CHUNKS: u64 = 16;
/// Maximum number of evaluators of a sampled table: the correlations of more need every row.
const WIDEST: usize = 64;
/// Maximum number of files of a sampled table. Every file is a round, so that a chunk over several
/// files takes memory for each of them.
const MOST_FILES: usize = 64;
/// Of every n = 2, 4, 8, … chunks, the one at position `OFFSET % n` is sampled. Each sample
/// therefore contains the samples of half its size.
const OFFSET: u64 = 0x5555_5555_5555_5555;

/// Whether a chunk that begins at `row` is in the sample of one chunk in `2^power`.
fn is_sampled(power: u32, row: u64) -> bool {
    let every = 1 << power;
    (row / CHUNK_ROWS) % every == OFFSET % every
}

/// The smallest power for which at most [`MOST_CHUNKS`] chunks are sampled, if the last rows of the
/// table begin at row `last`.
fn power_for(last: u64) -> u32 {
    let chunks = last / CHUNK_ROWS + 1;
    (0..63).find(|power| chunks.div_ceil(1 << power) <= MOST_CHUNKS).unwrap_or(63)
}

/// Lets a jury observe the scores of a table before its rows are ranked, without rewards. Reads
/// nothing if the policy does not learn from scores. After an error the jury is unchanged.
///
/// ```
/// use jurybox_files::{Roles, SurveyScope, Table, new_jury, survey};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "a,b\n1,2\n3,4\n5,6\n")?;
/// let table = Table::open(&[path], &Roles::default(), true)?;
/// for (policy, shown) in [("esag", 3), ("average", 0)] {
///     let mut jury = new_jury(&policy.parse()?, table.roles().evaluators())?;
///     assert_eq!(survey(&table, &mut jury, SurveyScope::Sample)?.shown, shown);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn survey(table: &Table, jury: &mut Jury, look: SurveyScope) -> Result<SurveySize, Error> {
    let mut after = jury.clone();
    let seen = if !jury.learns_from_scores() {
        // The jury still counts the rounds.
        for at in 0..table.sources.len() as u64 {
            after.observe(&crate::ranker::scores(&[], jury.evaluators().len())?, at)?;
        }
        SurveySize::default()
    } else if table.roles().key.is_some()
        || look == SurveyScope::EveryRow
        || jury.evaluators().len() > WIDEST
        || table.sources.len() > MOST_FILES
    {
        every_row(table, &mut after)?
    } else {
        match table.sources.iter().map(|source| source.rows()).collect::<Option<Vec<u64>>>() {
            Some(rows) => sample_by_number(table, &mut after, &rows)?,
            None => sample_stream(table, &mut after)?,
        }
    };
    *jury = after;
    Ok(seen)
}

/// Observes every row.
fn every_row(table: &Table, jury: &mut Jury) -> Result<SurveySize, Error> {
    let rows = observe_all(table, jury)?;
    Ok(SurveySize { rows, shown: rows, ..SurveySize::default() })
}

/// Lets the jury observe the sample, or every row if the chunks differ too much.
fn use_sample(table: &Table, jury: &mut Jury, chunks: SampledChunks, rows: u64) -> Result<SurveySize, Error> {
    if !chunks.are_alike() {
        return Ok(SurveySize { uneven: true, ..every_row(table, jury)? });
    }
    let (shown, count) = (chunks.rows(), chunks.len() as u64);
    chunks.merge_into(jury)?;
    Ok(SurveySize { rows, shown, chunks: count, uneven: false })
}

/// Reads only the rows of the sample, from sources with `rows` rows each.
fn sample_by_number(table: &Table, jury: &mut Jury, rows: &[u64]) -> Result<SurveySize, Error> {
    let width = jury.evaluators().len();
    let size = chunk_rows(width) as u64;
    let total: u64 = rows.iter().sum();
    let firsts: Vec<u64> =
        rows.iter().scan(0, |first, rows| Some(std::mem::replace(first, *first + rows))).collect();
    let Some((first, count)) = firsts.iter().zip(rows).rev().find(|(_, count)| **count > 0) else {
        return every_row(table, jury);
    };
    let power = power_for(first + (count - 1) / size * size);
    if power == 0 {
        return every_row(table, jury);
    }
    let mut wanted: Vec<Vec<Range<u64>>> = Vec::new();
    for (&first, &count) in firsts.iter().zip(rows) {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for start in (0..count).step_by(size as usize).filter(|start| is_sampled(power, first + start)) {
            let end = (start + size).min(count);
            match ranges.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => ranges.push(start..end),
            }
        }
        wanted.push(ranges);
    }
    let mut chunks = SampledChunks::new(jury)?;
    let (mut coming, mut held) = (Vec::new(), BufferedChunks::default());
    for (source, ranges) in wanted.iter().enumerate() {
        coming.extend(ranges.iter().map(|range| (source, range.clone())));
    }
    let mut coming = coming.into_iter().peekable();
    read_ranges(table, &wanted, |more| {
        held.join(&more);
        // A unit may end within a range. A range is taken once all of its rows are there.
        while let Some((source, range)) =
            coming.peek().filter(|(_, range)| held.rows as u64 >= range.end - range.start)
        {
            let mut start = range.start;
            let count = (range.end - range.start) as usize;
            for chunk in held.scores[..count * width].chunks(size as usize * width) {
                let mut learnt = chunks.blank().clone();
                observe_batch(&mut learnt, chunk, &[], &[], *source as u64)?;
                chunks.add(*source, firsts[*source] + start, learnt, SampledChunks::measure(chunk, width))?;
                start += size;
            }
            held.drop_first(count, width);
            coming.next();
        }
        Ok(chunks.rows())
    })?;
    if let Some((source, _)) = coming.next() {
        let path = table.sources[source].path().into();
        return Err(Error::Changed { path });
    }
    use_sample(table, jury, chunks, total)
}

/// Reads ranges of rows of each source, and hands them to `take` in order.
fn read_ranges(
    table: &Table,
    wanted: &[Vec<Range<u64>>],
    mut take: impl FnMut(BufferedChunks) -> Result<u64, Error>,
) -> Result<(), Error> {
    table.pass(
        ScanRequest::default(),
        Some(wanted),
        |_| {},
        |(), parse| {
            let mut held = BufferedChunks::default();
            let error = parse(&mut |part| {
                held.push(&part);
                Ok(())
            });
            (held, error.err())
        },
        |_, held| take(held),
    )
}

/// Samples a table whose number of rows is not known. All chunks are sampled at first, and a
/// smaller share whenever there are too many. Chunks that leave the sample are dropped.
fn sample_stream(table: &Table, jury: &mut Jury) -> Result<SurveySize, Error> {
    let mut chunks = SampledChunks::new(jury)?;
    let blank = chunks.blank().clone();
    let power = AtomicU32::new(0);
    let mut last = 0;
    // The jury after every row, as long as no chunk was left out.
    let mut whole = PerFileJury::new(jury)?;
    let rows = table.scan_fixed_chunks(
        ScanRequest::default(),
        |chunk| {
            // A thread that reads an old power does too much work, never too little.
            if !is_sampled(power.load(Ordering::Relaxed), chunk.row) {
                return Ok(None);
            }
            let mut learnt = blank.clone();
            observe_batch(&mut learnt, chunk.scores, &[], &[], chunk.file as u64)?;
            Ok(Some((learnt, SampledChunks::measure(chunk.scores, blank.evaluators().len()))))
        },
        |at, observed| {
            last = at.row;
            let now = power_for(last);
            if now > power.load(Ordering::Relaxed) {
                power.store(now, Ordering::Relaxed);
                chunks.keep(|row| is_sampled(now, row));
            }
            if let Some((learnt, measured)) = observed.filter(|_| is_sampled(now, at.row)) {
                if now == 0 {
                    whole.take(at.file, &learnt)?;
                }
                chunks.add(at.file, at.row, learnt, measured)?;
            }
            Ok(())
        },
    )?;
    if power_for(last) > 0 {
        return use_sample(table, jury, chunks, rows);
    }
    *jury = whole.finish()?;
    Ok(SurveySize { rows, shown: rows, ..SurveySize::default() })
}
