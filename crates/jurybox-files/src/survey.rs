//! A first look at the scores of a table, for policies that learn their scales and weights from scores alone.
//!
//! What is measured there are means, spreads and correlations. Of a large table a sample tells them as well as all rows would: some
//! of its rows in places spread evenly over it, the same ones whatever the format and however many threads. Whether the places are
//! alike is looked at: where a table changes from place to place more than chance lets it (it is sorted, an evaluator failed
//! at noon), a few places do not stand for the whole, and every row is looked at.

use crate::error::Error;
use crate::fixed_chunks::{BufferedChunks, chunk_rows};
use crate::sampled_chunks::SampledChunks;
use crate::table::{Table, ScanRequest};
use crate::teach::{PerFileJury, observe_batch, observe_all};
use jurybox::Jury;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Which rows a first look goes over.
///
/// ```
/// assert_eq!(jurybox_files::SurveyScope::default(), jurybox_files::SurveyScope::RowSample);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SurveyScope {
    /// A sample, where the table is large and the same all over; otherwise every row.
    #[default]
    Sample,
    /// Every row.
    EveryRow,
}

/// What a first look has seen.
///
/// ```
/// let seen = jurybox_files::SurveySize::default();
/// assert!(!seen.is_sample());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SurveySize {
    /// How many rows there are; 0 where none was looked at, because the policy does not learn from scores.
    pub rows: u64,
    /// How many of them were shown to the jury.
    pub shown: u64,
    /// In how many places they stand; 0 where all rows were shown.
    pub chunks: u64,
    /// Whether a sample was looked at and found to differ too much from place to place: then every row was shown.
    pub uneven: bool,
}

impl SurveySize {
    /// Whether what was measured rests on a sample.
    pub fn is_sample(&self) -> bool {
        self.chunks > 0
    }
}

/// The rows of a place.
pub(crate) const PLACE: u64 = 1 << 14;
/// The most places; up to so many, every row is looked at.
const MOST_PLACES: u64 = 16;
/// Wider tables are looked at as a whole: their correlations want all the rows they can get.
const WIDEST: usize = 64;
/// Tables in more files are looked at as a whole: every file is a round, and what each has shown of a place is held by itself.
const MOST_FILES: usize = 64;
/// Which of every 2, 4, 8, ... places is taken: one near the middle, and among those of half as many.
const OFFSET: u64 = 0x5555_5555_5555_5555;

/// Whether a chunk that begins at this row is in the sample of one place in `2^power`.
fn is_taken(power: u32, row: u64) -> bool {
    let every = 1 << power;
    (row / PLACE) % every == OFFSET % every
}

/// The power that leaves few enough places of a table whose last chunk begins at this row.
fn power_for(last: u64) -> u32 {
    let places = last / PLACE + 1;
    (0..63).find(|power| places.div_ceil(1 << power) <= MOST_PLACES).unwrap_or(63)
}

/// Shows a jury the scores of a table before its rows are ranked; rewards are not looked at. Nothing is read for a policy that does
/// not learn from scores. After an error the jury is as it was.
///
/// ```
/// use jurybox_files::{SurveyScope, Roles, Table, new_jury, survey};
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
        // Rounds count all the same.
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
            Some(rows) => by_number(table, &mut after, &rows)?,
            None => as_it_comes(table, &mut after)?,
        }
    };
    *jury = after;
    Ok(seen)
}

fn every_row(table: &Table, jury: &mut Jury) -> Result<SurveySize, Error> {
    let rows = observe_all(table, jury)?;
    Ok(SurveySize { rows, shown: rows, ..SurveySize::default() })
}

/// Makes a sample's places what the jury has seen, unless they differ too much.
fn settle(table: &Table, jury: &mut Jury, places: SampledChunks, rows: u64) -> Result<SurveySize, Error> {
    if !places.are_alike() {
        return Ok(SurveySize { uneven: true, ..every_row(table, jury)? });
    }
    let (shown, count) = (places.rows(), places.len() as u64);
    places.merge_into(jury)?;
    Ok(SurveySize { rows, shown, chunks: count, uneven: false })
}

/// A table that says how many rows it has: only those of the sample are read.
fn by_number(table: &Table, jury: &mut Jury, rows: &[u64]) -> Result<SurveySize, Error> {
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
        for start in (0..count).step_by(size as usize).filter(|start| is_taken(power, first + start)) {
            let end = (start + size).min(count);
            match ranges.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => ranges.push(start..end),
            }
        }
        wanted.push(ranges);
    }
    let mut places = SampledChunks::new(jury)?;
    let (mut coming, mut held) = (Vec::new(), BufferedChunks::default());
    for (source, ranges) in wanted.iter().enumerate() {
        coming.extend(ranges.iter().map(|range| (source, range.clone())));
    }
    let mut coming = coming.into_iter().peekable();
    read(table, &wanted, |more| {
        held.join(&more);
        // A row group may end within a place: it is complete when all of its rows are there.
        while let Some((source, range)) =
            coming.peek().filter(|(_, range)| held.rows as u64 >= range.end - range.start)
        {
            let mut start = range.start;
            let count = (range.end - range.start) as usize;
            for chunk in held.scores[..count * width].chunks(size as usize * width) {
                let mut learnt = places.blank().clone();
                observe_batch(&mut learnt, chunk, &[], &[], *source as u64)?;
                places.add(*source, firsts[*source] + start, learnt, SampledChunks::measure(chunk, width))?;
                start += size;
            }
            held.drop_first(count, width);
            coming.next();
        }
        Ok(places.rows())
    })?;
    if let Some((source, _)) = coming.next() {
        let path = table.sources[source].path().into();
        return Err(Error::Changed { path });
    }
    settle(table, jury, places, total)
}

/// Some rows of each source, as they come.
fn read(
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

/// A table whose rows are known when they have gone by: every chunk is observed at first, and of more and more rows an ever smaller
/// share; what falls out of the sample is forgotten.
fn as_it_comes(table: &Table, jury: &mut Jury) -> Result<SurveySize, Error> {
    let mut places = SampledChunks::new(jury)?;
    let blank = places.blank().clone();
    let power = AtomicU32::new(0);
    let mut last = 0;
    // While nothing has been left out, what every row makes of the jury.
    let mut whole = PerFileJury::new(jury)?;
    let rows = table.scan_fixed_chunks(
        ScanRequest::default(),
        |chunk| {
            // Whoever has not heard of the latest power does too much, never too little.
            if !is_taken(power.load(Ordering::Relaxed), chunk.row) {
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
                places.keep(|row| is_taken(now, row));
            }
            if let Some((learnt, measured)) = observed.filter(|_| is_taken(now, at.row)) {
                if now == 0 {
                    whole.take(at.file, &learnt)?;
                }
                places.add(at.file, at.row, learnt, measured)?;
            }
            Ok(())
        },
    )?;
    if power_for(last) > 0 {
        return settle(table, jury, places, rows);
    }
    *jury = whole.finish()?;
    Ok(SurveySize { rows, shown: rows, ..SurveySize::default() })
}
