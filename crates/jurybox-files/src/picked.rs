//! Picks on their way out: the rows with rank, value, probability and receipt.

use crate::choose::{PickedRow, Picking};
use crate::column::{Cells, Column, Slab};
use crate::error::Error;
use crate::format::Format;
use crate::own::free_name;
use crate::ranked::finite;
use crate::table::{Records, Table, Want};
use crate::write::Writer;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use jurybox::Receipt;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

impl Picking {
    /// Writes the picks, best first, with all columns of their rows; the format is what the name says. With `all`, every row
    /// in the order of the table, with its probability whether it was picked or not: a log.
    pub fn write(&self, table: &Table, path: &Path, format: Format, all: bool) -> Result<(), Error> {
        let mut writer = Writer::new(path, format)?;
        self.slabs(table, all, |slab| writer.write(slab))?;
        writer.finish()
    }

    /// What [`write`](Self::write) would write, as record batches.
    pub fn to_batches(&self, table: &Table, all: bool) -> Result<Vec<RecordBatch>, Error> {
        let mut batches = Vec::new();
        self.slabs(table, all, |slab| {
            let refused = |e: ArrowError| Error::Arrow { path: table.path().into(), reason: e.to_string() };
            batches.push(slab.batch().map_err(refused)?);
            Ok(())
        })?;
        Ok(batches)
    }

    fn slabs(
        &self,
        table: &Table,
        all: bool,
        mut write: impl FnMut(&Slab) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let places: HashMap<u64, usize> =
            self.picks.iter().enumerate().map(|(at, pick)| (pick.row, at)).collect();
        let mut kept: Vec<Option<Slab>> = vec![None; self.picks.len()];
        let show = table.show();
        table.scan(
            Want { records: Records::All, ..Want::default() },
            |part| table.sources[part.source].whole(&part, &show),
            |at, slab| {
                let here = at.row..at.row + slab.rows as u64;
                if all {
                    let rows: Vec<u64> = here.collect();
                    return write(&self.with_picks(&slab, &rows, &places));
                }
                for row in here {
                    if let Some(&place) = places.get(&row) {
                        let from = (row - at.row) as usize;
                        kept[place] = Some(slab.slice(from, from + 1));
                    }
                }
                Ok(())
            },
        )?;
        for (pick, slab) in self.picks.iter().zip(kept) {
            if let Some(slab) = slab {
                write(&self.with_picks(&slab, &[pick.row], &places))?;
            }
        }
        Ok(())
    }

    fn with_picks(&self, rows: &Slab, numbers: &[u64], places: &HashMap<u64, usize>) -> Slab {
        let picked: Vec<Option<(u64, &PickedRow)>> = numbers
            .iter()
            .map(|row| places.get(row).map(|&place| (place as u64 + 1, &self.picks[place])))
            .collect();
        let at = |of: &[f64]| Column::Number(numbers.iter().map(|&row| finite(of[row as usize])).collect());
        let ranks: UInt64Array = picked.iter().map(|pick| pick.map(|(rank, _)| rank)).collect();
        let explored: BooleanArray =
            picked.iter().map(|pick| pick.map(|(_, pick)| pick.receipt.explored)).collect();
        let rounds = StringArray::from_iter_values(numbers.iter().map(|_| &self.round));
        let receipts = picked.iter().map(|pick| pick.map(|(_, pick)| pick.receipt.clone())).collect();
        let mut slab = Slab { rows: rows.rows, ..Slab::default() };
        for (name, column) in [
            ("rank", Column::Array(Arc::new(ranks) as ArrayRef)),
            ("value", at(&self.values)),
            ("probability", at(&self.probabilities)),
            ("explored", Column::Array(Arc::new(explored))),
            ("picked_at", Column::Count(vec![self.at; numbers.len()])),
            ("round", Column::Array(Arc::new(rounds))),
            ("row", Column::Count(numbers.iter().map(|row| row + 1).collect())),
            ("receipt", Column::Cells(Arc::new(Receipts(receipts)))),
        ] {
            slab.push(free_name(&rows.names, name), column);
        }
        for (name, column) in rows.names.iter().zip(&rows.columns) {
            slab.push(name, column.clone());
        }
        slab
    }
}

/// Receipts in a table: objects in JSON lines, JSON as text elsewhere; nothing for a row that was not picked.
#[derive(Debug)]
struct Receipts(Vec<Option<Receipt>>);

impl Receipts {
    fn document(&self, row: usize) -> Option<String> {
        // A receipt is plain data, which serde_json cannot fail on.
        self.0[row].as_ref().and_then(|receipt| serde_json::to_string(receipt).ok())
    }
}

impl Cells for Receipts {
    fn text(&self, row: usize) -> String {
        self.document(row).unwrap_or_default()
    }

    fn json(&self, row: usize) -> Option<String> {
        Some(self.document(row).unwrap_or_else(|| "null".into()))
    }

    fn array(&self) -> ArrayRef {
        Arc::new((0..self.0.len()).map(|row| self.document(row)).collect::<StringArray>())
    }

    fn slice(&self, from: usize, to: usize) -> Arc<dyn Cells> {
        Arc::new(Receipts(self.0[from..to].to_vec()))
    }
}
