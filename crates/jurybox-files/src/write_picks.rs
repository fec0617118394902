//! Output of picks: their rows with rank, value, probability and receipt.

use crate::cell_number::Notation;
use crate::error::Error;
use crate::format::{RowRequest, StoredRow};
use crate::output_rows::{FormatCells, OutputColumn, OutputRows};
use crate::own_columns::free_name;
use crate::pick_round::{PickedRow, Picking};
use crate::scan::ScanPart;
use crate::scan_plan::Batch;
use crate::table::{KeepRecords, ScanRequest, Table};
use crate::write::{OutputLayout, TableWriter};
use crate::write_ranking::finite;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use jurybox::Receipt;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

impl Picking {
    /// Writes the picks in their order, with all columns of their rows. The ending of the file name
    /// gives the format, otherwise `layout`.
    ///
    /// With `all`, writes a log: every row in the order of the table with its pick probability.
    pub fn write(
        &self,
        table: &Table,
        path: &Path,
        layout: impl Into<OutputLayout>,
        all: bool,
    ) -> Result<(), Error> {
        if !all {
            // The table is read first, so that its errors leave no file behind.
            let outputs = self.output_rows(table)?;
            let mut writer = TableWriter::new(path, layout)?;
            outputs.iter().try_for_each(|output| writer.write(output))?;
            return writer.finish();
        }
        let mut writer = TableWriter::new(path, layout)?;
        self.every(table, |output| writer.write(&output))?;
        writer.finish()
    }

    /// The output of [`write`](Self::write) as record batches.
    ///
    /// ```
    /// # use jurybox::Jury;
    /// # use jurybox_files::{PickOptions, Roles, State, Table, choose};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("hour.csv");
    /// # std::fs::write(&path, "post,spam\np1,0.9\np2,0.2\n")?;
    /// let table =
    ///     Table::open(&[path], &Roles { key: Some("post".into()), ..Roles::default() }, true)?;
    /// let mut state =
    ///     State::from(Jury::new(&"average".parse()?, table.roles().evaluators().clone())?);
    /// let picking = choose(&table, &mut state, PickOptions { k: 1, ..PickOptions::default() })?;
    /// let rows = |all| {
    ///     picking
    ///         .to_batches(&table, all)
    ///         .map(|batches| batches.iter().map(|batch| batch.num_rows()).sum())
    /// };
    /// assert_eq!((rows(false)?, rows(true)?), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_batches(&self, table: &Table, all: bool) -> Result<Vec<RecordBatch>, Error> {
        let batch = |output: &OutputRows| {
            let refused = |e: ArrowError| Error::Arrow { path: table.path().into(), reason: e.to_string() };
            output.batch().map_err(refused)
        };
        if !all {
            return self.output_rows(table)?.iter().map(batch).collect();
        }
        let mut batches = Vec::new();
        self.every(table, |output| {
            batches.push(batch(&output)?);
            Ok(())
        })?;
        Ok(batches)
    }

    /// Calls `each` with all rows and the columns of picks, batch by batch in the order of the
    /// table.
    fn every(
        &self,
        table: &Table,
        mut each: impl FnMut(OutputRows) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (places, probabilities) = (self.places(), self.probabilities()?);
        table.scan(
            ScanRequest { records: KeepRecords::All, ..ScanRequest::default() },
            |part| table.sources[part.source].whole_rows(&part, &table.output_columns(part.source)),
            |at, output| {
                let rows: Vec<u64> = (at.row..at.row + output.rows as u64).collect();
                each(self.with_picks(
                    &output,
                    &rows,
                    &places,
                    Some(&probabilities),
                    table.output_columns(at.file).numeric,
                ))
            },
        )?;
        Ok(())
    }

    /// The picks as JSON objects in their order, with the column names that [`write`](Self::write)
    /// uses.
    pub fn to_json(&self, table: &Table) -> Result<Vec<serde_json::Value>, Error> {
        Ok(self.output_rows(table)?.iter().flat_map(OutputRows::objects).collect())
    }

    /// The index of each pick in [`picks`](Picking::picks), by its row number.
    fn places(&self) -> HashMap<u64, usize> {
        self.picks.iter().enumerate().map(|(at, pick)| (pick.row, at)).collect()
    }

    /// The rows of the picks in their order, one output each. Reads only these rows if their
    /// sources allow it, and the whole table otherwise.
    fn output_rows(&self, table: &Table) -> Result<Vec<OutputRows>, Error> {
        let places = self.places();
        let by_number = |row: u64| {
            let source = self.files.iter().rposition(|&first| first <= row).unwrap_or(0);
            let number = row - self.files[source];
            table.sources[source].is_seekable().then_some((source, number, StoredRow::None))
        };
        let mut kept: Vec<Option<(usize, u64, StoredRow)>> =
            self.picks.iter().map(|pick| by_number(pick.row)).collect();
        if kept.iter().any(Option::is_none) {
            keep_passing(table, &places, &mut kept)?;
        }
        let mut outputs: Vec<Option<OutputRows>> = vec![None; self.picks.len()];
        for (number, source) in table.sources.iter().enumerate() {
            let here = |(place, kept): (usize, &Option<(usize, u64, StoredRow)>)| {
                kept.as_ref().is_some_and(|(source, ..)| *source == number).then_some(place)
            };
            let mine: Vec<usize> = kept.iter().enumerate().filter_map(here).collect();
            let rows: Vec<RowRequest<'_>> = kept
                .iter()
                .flatten()
                .filter(|(source, ..)| *source == number)
                .map(|(_, row, record)| RowRequest { row: *row, record, scores: &[] })
                .collect();
            if rows.is_empty() {
                continue;
            }
            let show = table.output_columns(number);
            let fetched = source.fetch(&rows, &show)?;
            for (at, place) in mine.into_iter().enumerate() {
                let row = [self.picks[place].row];
                outputs[place] =
                    Some(self.with_picks(&fetched.slice(at, at + 1), &row, &places, None, show.numeric));
            }
        }
        Ok(outputs.into_iter().flatten().collect())
    }

    /// Adds the columns of picks to `rows`. Probabilities are those of all rows, or those of the
    /// receipts if `probabilities` is `None`. Scores are written in plain notation, so that picks
    /// can be read without the options for reading the table.
    pub(crate) fn with_picks(
        &self,
        rows: &OutputRows,
        numbers: &[u64],
        places: &HashMap<u64, usize>,
        probabilities: Option<&[f64]>,
        numeric: &HashMap<String, Notation>,
    ) -> OutputRows {
        let picked: Vec<Option<(u64, &PickedRow)>> = numbers
            .iter()
            .map(|row| places.get(row).map(|&place| (place as u64 + 1, &self.picks[place])))
            .collect();
        let at = |of: &[f64]| numbers.iter().map(|&row| finite(of[row as usize])).collect();
        let on_receipt = |pick: &Option<(u64, &PickedRow)>| {
            pick.map_or(f64::NAN, |(_, pick)| pick.receipt.inclusion_probability)
        };
        let chances = probabilities.map_or_else(|| picked.iter().map(on_receipt).collect(), at);
        let ranks: UInt64Array = picked.iter().map(|pick| pick.map(|(rank, _)| rank)).collect();
        let explored: BooleanArray =
            picked.iter().map(|pick| pick.map(|(_, pick)| pick.receipt.explored)).collect();
        let rounds = StringArray::from_iter_values(numbers.iter().map(|_| &self.round));
        let receipts = picked.iter().map(|pick| pick.map(|(_, pick)| pick.receipt.clone())).collect();
        let mut output = OutputRows { rows: rows.rows, ..OutputRows::default() };
        for (name, column) in [
            ("rank", OutputColumn::Array(Arc::new(ranks) as ArrayRef)),
            ("value", OutputColumn::Number(at(&self.values))),
            ("probability", OutputColumn::Number(chances)),
            ("explored", OutputColumn::Array(Arc::new(explored))),
            ("picked_at", OutputColumn::Count(vec![self.at; numbers.len()])),
            ("round", OutputColumn::Array(Arc::new(rounds))),
            ("row", OutputColumn::Count(numbers.iter().map(|row| row + 1).collect())),
            ("receipt", OutputColumn::Cells(Arc::new(ReceiptCells(receipts)))),
        ] {
            output.push(free_name(&rows.names, name), column);
        }
        for (name, column) in rows.names.iter().zip(&rows.columns) {
            let read = numeric.get(name).map(|notation| column.as_read(rows.rows, notation));
            output.push(name, read.unwrap_or_else(|| column.clone()));
        }
        output
    }
}

/// Reads the table for the rows of picks that cannot be fetched by number.
fn keep_passing(
    table: &Table,
    places: &HashMap<u64, usize>,
    kept: &mut [Option<(usize, u64, StoredRow)>],
) -> Result<(), Error> {
    table.scan(
        ScanRequest { records: KeepRecords::Passing, ..ScanRequest::default() },
        |part| Ok((part.batch.rows(), part.stored_rows())),
        |at, (rows, (text, starts, arrays))| {
            let batch = Batch { rows, starts, ..Batch::default() };
            let part = ScanPart { batch, text: &text, arrays, source: at.file };
            for row in 0..rows {
                if let Some(&place) = places.get(&(at.row + row as u64)) {
                    kept[place] = Some((at.file, at.row_in_file + row as u64, part.record(row)?));
                }
            }
            Ok(())
        },
    )?;
    Ok(())
}

/// A column of receipts: JSON objects in JSON lines, JSON text elsewhere, missing for rows that
/// were not picked.
#[derive(Debug)]
struct ReceiptCells(Vec<Option<Receipt>>);

impl ReceiptCells {
    /// The receipt of a row as JSON; `None` if it was not picked.
    fn document(&self, row: usize) -> Option<String> {
        // A receipt is plain data, so that this cannot fail.
        self.0[row].as_ref().and_then(|receipt| serde_json::to_string(receipt).ok())
    }
}

impl FormatCells for ReceiptCells {
    fn text(&self, row: usize) -> String {
        self.document(row).unwrap_or_default()
    }

    fn json(&self, row: usize) -> Option<String> {
        Some(self.document(row).unwrap_or_else(|| "null".into()))
    }

    fn array(&self) -> ArrayRef {
        Arc::new((0..self.0.len()).map(|row| self.document(row)).collect::<StringArray>())
    }

    fn slice(&self, from: usize, to: usize) -> Arc<dyn FormatCells> {
        Arc::new(ReceiptCells(self.0[from..to].to_vec()))
    }
}
