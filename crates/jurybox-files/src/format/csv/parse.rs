//! Parsing a block of CSV records into scores.
//!
//! A block without quotes is parsed in one pass: plain numbers are read in place, and columns that
//! are not requested are skipped. In a block with quotes, cells are unquoted before they are read.

use super::cells::cells;
use crate::cell_number::{LIMIT, Notation};
use crate::error::{Error, RowPosition};
use crate::format::blocks::{closing_quote, record_end};
use crate::id;
use crate::scan_plan::{Batch, BatchLayout, ColumnUse, ScanPlan, group};
use memchr::{memchr, memchr_iter, memchr2};
use std::path::Path;

/// Parses the records of a block. Line numbers in errors count from 1 at the block's start.
pub(super) fn parse(path: &Path, block: &[u8], delimiter: u8, plan: &ScanPlan) -> Result<Batch, Error> {
    if let Err(bad) = std::str::from_utf8(block) {
        let line = memchr_iter(b'\n', &block[..bad.valid_up_to()]).count() as u64 + 1;
        return Err(Error::NotUtf8 { path: path.into(), place: RowPosition::Line(line) });
    }
    let mut batch =
        Batch { tallies: plan.tallies(), starts_lines: true, ..Batch::new(plan, BatchLayout::default()) };
    let plain = plan.notations.iter().map(Notation::is_plain).collect();
    let mut sink =
        RecordParser { path, delimiter, plan, plain, scores: Vec::new(), batch: &mut batch, line: 1 };
    sink.scores.reserve(block.len() / 64 * plan.evaluators);
    if memchr(b'"', block).is_some() {
        sink.records(block, |sink, at| sink.quoted_record(block, at))?;
    } else {
        sink.records(block, |sink, at| sink.unquoted_record(block, at))?;
    }
    let scores = std::mem::take(&mut sink.scores);
    batch.scores = BatchLayout::Rows(scores);
    Ok(batch)
}

/// The state of parsing one block.
struct RecordParser<'a> {
    path: &'a Path,
    delimiter: u8,
    plan: &'a ScanPlan,
    /// For each column, whether its numbers are in plain notation, so that the fast parser applies.
    plain: Vec<bool>,
    scores: Vec<f64>,
    batch: &'a mut Batch,
    line: u64,
}

impl RecordParser<'_> {
    /// Calls `record` with the start of every record of a block; skips blank lines. `record`
    /// returns where the next record starts.
    #[inline]
    fn records(
        &mut self,
        block: &[u8],
        mut record: impl FnMut(&mut Self, usize) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let mut at = 0;
        while at < block.len() {
            if let Some(skip) = blank_line(&block[at..]) {
                at += skip;
                self.line += 1;
            } else {
                at = record(self, at)?;
            }
        }
        if self.plan.records {
            self.batch.starts.push(block.len());
        }
        Ok(())
    }

    /// Parses the record at `start` in a block without quotes; returns where the next record
    /// starts.
    #[inline]
    fn unquoted_record(&mut self, block: &[u8], start: usize) -> Result<usize, Error> {
        self.open_row(start);
        let row = self.scores.len() - self.plan.evaluators;
        let (mut at, last) = (start, self.plan.uses.len() - 1);
        for (column, &what) in self.plan.uses.iter().enumerate() {
            let end = if let ColumnUse::Score { evaluator, sign } = what {
                let (value, end) = self.unquoted_number(block, at, column)?;
                self.scores[row + evaluator] = value * sign;
                end
            } else {
                let end = memchr2(self.delimiter, b'\n', &block[at..]).map_or(block.len(), |step| at + step);
                if what != ColumnUse::Skip {
                    self.take(column, without_return(&block[at..end]))?;
                }
                end
            };
            // A record must end after its last cell, and only there. The last line may lack a line
            // end.
            let ended = block.get(end).is_none_or(|&byte| byte == b'\n');
            if ended != (column == last) {
                return Err(self.ragged(block, start));
            }
            at = end + 1;
        }
        self.line += 1;
        Ok(at)
    }

    /// The number in the cell that starts at `at`, and the position where the cell ends.
    #[inline]
    fn unquoted_number(&mut self, block: &[u8], at: usize, column: usize) -> Result<(f64, usize), Error> {
        if self.plain[column]
            && let Ok((value, length)) = fast_float2::parse_partial::<f64, _>(&block[at..])
            && value.abs() <= LIMIT
        {
            let end = at + length;
            match block.get(end) {
                None | Some(b'\n') => return Ok((value, end)),
                Some(&byte) if byte == self.delimiter => return Ok((value, end)),
                Some(b'\r') if matches!(block.get(end + 1), None | Some(b'\n')) => {
                    return Ok((value, end + 1));
                }
                _ => {}
            }
        }
        let end = memchr2(self.delimiter, b'\n', &block[at..]).map_or(block.len(), |step| at + step);
        Ok((self.number(column, without_return(&block[at..end]))?, end))
    }

    /// Parses the record at `start` in a block with quotes; returns where the next record starts.
    fn quoted_record(&mut self, block: &[u8], start: usize) -> Result<usize, Error> {
        let end = match record_end(block, start, self.delimiter) {
            Some(end) => end,
            // Only the last record of a file may lack its line end. After a quote that is never
            // closed, all remaining text belongs to one cell.
            None if quotes_are_closed(&block[start..], self.delimiter) => block.len(),
            None => {
                return Err(Error::OpenQuote { path: self.path.into(), place: RowPosition::Line(self.line) });
            }
        };
        self.cells_of(&block[start..end], start)?;
        self.line += memchr_iter(b'\n', &block[start..end]).count() as u64;
        Ok(end)
    }

    fn cells_of(&mut self, record: &[u8], start: usize) -> Result<(), Error> {
        self.open_row(start);
        let row = self.scores.len() - self.plan.evaluators;
        let mut found = 0;
        for (column, cell) in cells(record, self.delimiter).enumerate() {
            found += 1;
            match self.plan.uses.get(column) {
                Some(&ColumnUse::Score { evaluator, sign }) => {
                    self.scores[row + evaluator] = self.number(column, &cell)? * sign;
                }
                Some(ColumnUse::Skip) | None => {}
                Some(_) => self.take(column, &cell)?,
            }
        }
        if found == self.plan.uses.len() { Ok(()) } else { Err(self.ragged(record, 0)) }
    }

    fn open_row(&mut self, start: usize) {
        self.batch.rows += 1;
        // NaN until a cell is read: some evaluators may have no column in this file.
        self.scores.resize(self.scores.len() + self.plan.evaluators, f64::NAN);
        if self.plan.records {
            self.batch.starts.push(start);
        }
    }

    /// Reads a requested cell that is not a score.
    fn take(&mut self, column: usize, cell: &[u8]) -> Result<(), Error> {
        match self.plan.uses[column] {
            ColumnUse::Reward { sign } => {
                let number = self.number(column, cell)?;
                self.batch.rewards.push(number * sign);
            }
            ColumnUse::Probability => {
                let number = self.number(column, cell)?;
                self.batch.probabilities.push(number);
            }
            ColumnUse::Key => self.batch.keys.push(String::from_utf8_lossy(cell).into()),
            ColumnUse::Reviewer => self.batch.reviewed_by(&String::from_utf8_lossy(cell)),
            ColumnUse::Id => {
                let (row, name, cell) =
                    (self.batch.rows - 1, &self.plan.names[column], String::from_utf8_lossy(cell));
                id::check(self.path, RowPosition::Line(self.line), name, &cell)?;
                self.batch.name(row, name, &cell);
            }
            ColumnUse::Watch => {
                self.number(column, cell)?;
            }
            ColumnUse::Group { evaluator } => {
                let row = self.scores.len() - self.plan.evaluators;
                self.scores[row + evaluator] = group(&String::from_utf8_lossy(cell));
            }
            ColumnUse::Skip | ColumnUse::Score { .. } => {}
        }
        Ok(())
    }

    /// Reads a whole cell as a number.
    fn number(&mut self, column: usize, cell: &[u8]) -> Result<f64, Error> {
        let read = self.plan.notations[column].read(cell);
        self.batch.tallies[column].take(
            self.path,
            RowPosition::Line(self.line),
            self.plan,
            column,
            read,
            cell,
        )
    }

    #[cold]
    fn ragged(&self, block: &[u8], start: usize) -> Error {
        let end = record_end(block, start, self.delimiter).unwrap_or(block.len());
        let found = cells(&block[start..end], self.delimiter).count();
        let (path, expected) = (self.path.to_path_buf(), self.plan.uses.len());
        Error::Ragged { path, place: RowPosition::Line(self.line), found, expected }
    }
}

fn without_return(cell: &[u8]) -> &[u8] {
    cell.strip_suffix(b"\r").unwrap_or(cell)
}

/// The length of the empty line at the start of a text; `None` if the text starts otherwise.
fn blank_line(text: &[u8]) -> Option<usize> {
    match text {
        [b'\n', ..] | [b'\r'] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

/// Whether the last record of a file closes every quote that it opens.
fn quotes_are_closed(record: &[u8], delimiter: u8) -> bool {
    let mut at = 0;
    loop {
        if record.get(at) == Some(&b'"') {
            match closing_quote(record, at + 1) {
                Some(close) => at = close + 1,
                None => return false,
            }
        }
        match memchr(delimiter, &record[at.min(record.len())..]) {
            Some(step) => at += step + 1,
            None => return true,
        }
    }
}
