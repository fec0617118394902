//! Passes over the rows of a table, with results in row order. A unit is a part of a source that
//! one thread parses.

use crate::error::Error;
use crate::format::{UnitReader, WorkUnit};
use crate::odd_cells::SourceTally;
use crate::progress::Progress;
use crate::scan::{ScanPart, in_order};
use crate::scan_plan::ScanPlan;
use crate::table::{BatchPosition, ScanRequest, Table};
use crate::warning::together;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of one unit.
pub(crate) struct UnitResult<T> {
    pub(crate) source: usize,
    /// The number of lines (of text) or rows in the unit.
    pub(crate) lines: u64,
    /// The caller's result for its rows.
    pub(crate) result: T,
    /// Missing and odd cells, and late keys, of its rows.
    pub(crate) tally: SourceTally,
    /// The errors of the rows that were skipped.
    pub(crate) skipped: Vec<Error>,
    pub(crate) error: Option<Error>,
}

/// A unit of a source, with its number over all sources.
#[derive(Default)]
pub(crate) struct NumberedUnit {
    pub(crate) source: usize,
    pub(crate) number: u64,
    unit: WorkUnit,
}

impl Table {
    /// Passes over all rows: `work` handles each batch on any thread, `fold` the results in row
    /// order on this thread. Returns the number of rows.
    pub fn scan<T: Send>(
        &self,
        want: ScanRequest<'_>,
        work: impl Fn(ScanPart<'_>) -> Result<T, Error> + Sync,
        mut fold: impl FnMut(BatchPosition, T) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut at = BatchPosition::default();
        self.pass(
            want,
            None,
            |_| {},
            |(), parse| {
                let mut parts = Vec::new();
                let error = parse(&mut |part: ScanPart<'_>| {
                    let rows = part.batch.rows();
                    work(part).map(|result| parts.push((rows, result)))
                });
                (parts, error.err())
            },
            |source, parts| {
                if source != at.file {
                    at = BatchPosition { file: source, row_in_file: 0, ..at };
                }
                for (rows, result) in parts {
                    fold(at, result)?;
                    at.row += rows as u64;
                    at.row_in_file += rows as u64;
                }
                Ok(at.row)
            },
        )?;
        Ok(at.row)
    }

    /// Runs a pass over all rows, or over `some` row ranges of each source.
    ///
    /// On any thread, `begin` is called for each unit, then `run` with a function that parses the
    /// unit. On this thread, `fold` is called for each result in row order; it returns the number
    /// of rows folded so far.
    pub(crate) fn pass<B, T: Send>(
        &self,
        want: ScanRequest<'_>,
        some: Option<&[Vec<Range<u64>>]>,
        begin: impl Fn(&NumberedUnit) -> B + Sync,
        run: impl Fn(B, &mut ParseUnit<'_>) -> (T, Option<Error>) + Sync,
        mut fold: impl FnMut(usize, T) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        let asks: Vec<ScanPlan> =
            self.sources.iter().map(|source| self.scan_plan(source.as_ref(), want)).collect();
        let bytes = Arc::new(AtomicU64::new(0));
        let of = self.sources.iter().map(|source| source.size()).sum();
        let units = AllUnits { table: self, some, source: 0, number: 0, open: None, bytes: bytes.clone() };
        let run = |numbered: &mut NumberedUnit| {
            let begun = begin(numbered);
            let (source, plan) = (&self.sources[numbered.source], &asks[numbered.source]);
            let lines = source.lines(&numbered.unit);
            let (unit, mut tally, mut skipped) = (&mut numbered.unit, SourceTally::default(), Vec::new());
            let (result, error) = run(begun, &mut |each| {
                loop {
                    let mut has_passed_on = false;
                    let parsed = source.parse(unit, plan, &mut |mut parsed| {
                        has_passed_on = true;
                        plan.complete(&mut parsed.batch);
                        plan.check(source.path(), &parsed.batch)?;
                        tally.take(&mut parsed.batch);
                        let (batch, text, arrays) = (parsed.batch, parsed.text, parsed.arrays);
                        each(ScanPart { batch, text, arrays, source: numbered.source })
                    });
                    // Parses again without the bad row, if skipping is on and no batch has been
                    // passed on yet.
                    match parsed {
                        Err(error) if !has_passed_on => match self.skipped.line_of(&error) {
                            Some(line) if source.remove_record(unit, line) => skipped.push(error),
                            _ => return Err(error),
                        },
                        parsed => return parsed,
                    }
                }
            });
            UnitResult { source: numbered.source, lines, result, tally, skipped, error }
        };
        // The position of the folded source, in lines of text or in rows.
        let (mut source, mut place) = (0, self.sources[0].lines_before());
        let mut tally = vec![SourceTally::default(); self.sources.len()];
        in_order(self.threads(), units, AllUnits::take, run, |done: UnitResult<T>| {
            if done.source != source {
                source = done.source;
                place = self.sources[source].lines_before();
            }
            if self.is_stopped() {
                return Err(Error::Stopped);
            }
            let rows = fold(source, done.result)?;
            if let Some(error) = done.error {
                return Err(error.moved_down(place));
            }
            self.skipped.note(done.skipped.into_iter().map(|error| error.moved_down(place)));
            tally[source].add(done.tally, place);
            place += done.lines;
            let bytes = bytes.load(Ordering::Relaxed);
            self.watch.tell(Progress::Rows { rows, bytes, of });
            Ok(())
        })?;
        // Odd cells are judged by their share of all rows, and this pass did not read all of them.
        if some.is_some() {
            return Ok(());
        }
        let mut warnings = Vec::new();
        let judged = self.sources.iter().zip(&asks).zip(tally).try_for_each(|((source, plan), tally)| {
            warnings.extend(tally.judge(source.path(), plan, self.skipped.most > 0)?);
            Ok(())
        });
        // Warnings found before an error are still reported.
        together(warnings).into_iter().for_each(|warning| self.listener.tell(warning));
        judged
    }
}

/// Parses a unit and passes each batch to a callback.
pub(crate) type ParseUnit<'a> =
    dyn FnMut(&mut dyn FnMut(ScanPart<'_>) -> Result<(), Error>) -> Result<(), Error> + 'a;

/// All units of all sources, in order.
struct AllUnits<'a> {
    table: &'a Table,
    some: Option<&'a [Vec<Range<u64>>]>,
    source: usize,
    number: u64,
    open: Option<Box<dyn UnitReader + 'a>>,
    /// Bytes of the units handed out so far.
    bytes: Arc<AtomicU64>,
}

impl AllUnits<'_> {
    /// Reads the next unit, reusing the memory of `numbered`. False if no unit is left.
    fn take(&mut self, numbered: &mut NumberedUnit) -> Result<bool, Error> {
        while let Some(source) = self.table.sources.get(self.source) {
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    source.check_unchanged()?;
                    none.insert(match self.some.and_then(|some| some.get(self.source)) {
                        Some(rows) => source.units_of_rows(rows, &self.bytes)?,
                        None => source.units(&self.bytes)?,
                    })
                }
            };
            if open.next(&mut numbered.unit)? {
                (numbered.source, numbered.number) = (self.source, self.number);
                self.number += 1;
                return Ok(true);
            }
            source.check_unchanged()?;
            self.open = None;
            self.source += 1;
        }
        Ok(false)
    }
}
