//! Counting of odd cells, which are neither numbers nor missing, in columns of numbers. Too many of
//! them are an error.

use crate::cell_number::ParsedCell;
use crate::error::{Error, RowPosition};
use crate::scan_plan::{Batch, ColumnUse, ScanPlan, bad_number, shown};
use crate::warning::{OddColumn, Warning};
use std::path::Path;

/// A column with more than one odd cell in this many cells that are not missing is refused.
/// Otherwise odd cells count as missing.
const ODD_LIMIT: u64 = 20;
/// The limit that applies instead if bad rows are skipped: up to half the cells may be odd.
const ODD_LIMIT_WHEN_SKIPPING: u64 = 2;

/// Maximum number of odd cells quoted in a message.
const QUOTED: usize = 3;

/// Maximum number of late keys quoted in a message. A late key is a key of JSON objects that first
/// occurs below the rows from which the columns were detected.
pub(crate) const LATE: usize = 8;

/// Counts of the missing and the odd cells of a column.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnTally {
    pub(crate) missing: u64,
    odd: u64,
    first: Vec<(RowPosition, String)>,
}

impl ColumnTally {
    /// Counts a cell and returns its number, NaN if missing or odd.
    ///
    /// In a watched column, whose first rows are empty, every cell that is not missing is counted
    /// as odd. Other columns: errors on numbers beyond the usable range and on odd probabilities. A
    /// probability weights its whole row and cannot be left out.
    pub(crate) fn take(
        &mut self,
        path: &Path,
        place: RowPosition,
        plan: &ScanPlan,
        column: usize,
        cell: ParsedCell,
        text: &[u8],
    ) -> Result<f64, Error> {
        match cell {
            ParsedCell::Missing => self.missing += 1,
            _ if plan.uses[column] == ColumnUse::Watch => self.name(place, text),
            ParsedCell::Number(value) => return Ok(value),
            ParsedCell::NotANumber if plan.uses[column] != ColumnUse::Probability => self.name(place, text),
            ParsedCell::NotANumber | ParsedCell::Unusable => {
                return Err(bad_number(path, place, &plan.names[column], cell, text));
            }
        }
        Ok(f64::NAN)
    }

    fn name(&mut self, place: RowPosition, text: &[u8]) {
        self.odd += 1;
        if self.first.len() < QUOTED {
            self.name_once(place, shown(text));
        }
    }

    /// Adds a cell to the quoted ones, unless one with the same text is quoted already.
    fn name_once(&mut self, place: RowPosition, text: String) {
        if self.first.len() < QUOTED && self.first.iter().all(|(_, named)| *named != text) {
            self.first.push((place, text));
        }
    }

    /// Adds the counts of later rows, whose positions are moved down by `by` lines or rows.
    pub(crate) fn add(&mut self, other: ColumnTally, by: u64) {
        self.missing += other.missing;
        self.odd += other.odd;
        for (place, text) in other.first {
            self.name_once(place.moved_down(by), text);
        }
    }

    /// The warning about a column, if any. Errors if more than one cell in `share` is odd, missing
    /// cells aside; without `share`, any number may be odd.
    fn judge(
        &self,
        path: &Path,
        column: &str,
        rows: u64,
        share: Option<u64>,
        is_reward: bool,
    ) -> Result<Option<Warning>, Error> {
        if self.odd == 0 {
            return Ok(None);
        }
        let of = rows - self.missing;
        let odd = OddColumn {
            path: path.into(),
            column: column.into(),
            odd: self.odd,
            of,
            first: self.first.clone(),
            is_reward,
        };
        let Some(share) = share else { return Ok(Some(Warning::LateValues(odd))) };
        if self.odd.saturating_mul(share) > of {
            return Err(Error::OddCells(Box::new(odd)));
        }
        Ok(Some(Warning::OddCells(odd)))
    }
}

/// Missing cells, odd cells and late keys of one source, or of a part of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceTally {
    rows: u64,
    tallies: Vec<ColumnTally>,
    late: Vec<(String, RowPosition)>,
}

impl SourceTally {
    /// Moves the counts out of a batch.
    pub(crate) fn take(&mut self, batch: &mut Batch) {
        // Line positions count from the beginning of the unit, the part of a source that one thread
        // parses. Row positions count from the start of the batch.
        let before = if batch.starts_lines { 0 } else { self.rows };
        let (tallies, late) = (std::mem::take(&mut batch.tallies), std::mem::take(&mut batch.late));
        self.add(SourceTally { rows: batch.rows as u64, tallies, late }, before);
    }

    /// Adds the counts of later rows, whose positions are moved down by `by` lines or rows.
    pub(crate) fn add(&mut self, other: SourceTally, by: u64) {
        self.rows += other.rows;
        self.tallies.resize(self.tallies.len().max(other.tallies.len()), ColumnTally::default());
        for (mine, theirs) in self.tallies.iter_mut().zip(other.tallies) {
            mine.add(theirs, by);
        }
        for (key, place) in other.late {
            if self.late.len() < LATE && self.late.iter().all(|(known, _)| *known != key) {
                self.late.push((key, place.moved_down(by)));
            }
        }
    }

    /// The warnings about a source that was read to its end. Errors if too many cells of a column
    /// are odd: more than one in twenty, or more than half if bad rows are skipped (`spares`).
    pub(crate) fn judge(self, path: &Path, plan: &ScanPlan, spares: bool) -> Result<Vec<Warning>, Error> {
        let share = if spares { ODD_LIMIT_WHEN_SKIPPING } else { ODD_LIMIT };
        let mut warnings = Vec::new();
        for (column, tally) in self.tallies.iter().enumerate() {
            let name = &plan.names[column];
            warnings.extend(tally.judge(
                path,
                name,
                self.rows,
                (plan.uses[column] != ColumnUse::Watch).then_some(share),
                plan.rewards.as_deref() == Some(&**name),
            )?);
            if tally.missing == self.rows && matches!(plan.uses[column], ColumnUse::Score { .. }) {
                warnings.push(Warning::NoValues { path: path.into(), more: 0, column: name.clone() });
            }
        }
        if !self.late.is_empty() {
            warnings.push(Warning::LateKeys { path: path.into(), keys: self.late });
        }
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_cells_are_quoted_once() {
        let met = |words: &[&str]| {
            let mut tally = ColumnTally::default();
            words
                .iter()
                .zip(2..)
                .for_each(|(word, line)| tally.name(RowPosition::Line(line), word.as_bytes()));
            tally
        };
        let mut tally = met(&["keep", "keep", "keep", "remove"]);
        tally.add(met(&["remove", "unsure", "keep"]), 4);
        let words: Vec<&str> = tally.first.iter().map(|(_, word)| word.as_str()).collect();
        assert_eq!((tally.odd, words), (7, vec!["keep", "remove", "unsure"]));
        assert_eq!(tally.first[2].0, RowPosition::Line(7));
    }

    #[test]
    fn one_cell_in_twenty_may_be_odd() {
        let tally =
            |missing, odd| ColumnTally { missing, odd, first: vec![(RowPosition::Line(3), "high".into())] };
        let judge = |tally: ColumnTally| tally.judge(Path::new("a.csv"), "spam", 100, Some(ODD_LIMIT), false);
        assert!(judge(tally(100, 0)).unwrap().is_none());
        assert_eq!(
            judge(tally(0, 5)).unwrap().unwrap().to_string(),
            "a.csv, column `spam`: 5 of 100 cells are not numbers, and count as missing: `high` (line 3)"
        );
        // 5 of 99 cells that are not missing: more than one in twenty.
        assert_eq!(judge(tally(1, 5)).unwrap_err().code(), "odd-cells");
    }
}
