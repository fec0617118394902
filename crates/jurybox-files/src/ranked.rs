//! Rankings on their way out: the winners' rows with rank, score and contributions; or every row with its score.

use crate::column::{Column, Slab};
use crate::error::Error;
use crate::groups;
use crate::input::Format;
use crate::judge::Judge;
use crate::rank::{Ranking, Winner};
use crate::table::{Kind, Records, Table, Want};
use crate::write::Writer;
use arrow_array::RecordBatch;
use std::path::Path;

/// What was read of a Parquet file for its winners: rows ascending, and the columns kept as scores with their evaluators.
struct Fetched {
    arrays: Vec<RecordBatch>,
    rows: Vec<u64>,
    kept: Vec<(usize, usize)>,
}

/// Writing a ranking out.
impl Ranking {
    /// Writes the winners with their rank and score, and the columns of their rows; the format is what the name says.
    pub fn write(&self, table: &Table, path: &Path, format: Format) -> Result<(), Error> {
        let mut writer = Writer::new(path, format)?;
        for slab in self.slabs(table)? {
            writer.write(&slab)?;
        }
        writer.finish()
    }

    /// The winners as JSON objects: rank, score, row, the columns, and the contributions where they were asked for.
    pub fn to_json(&self, table: &Table) -> Result<Vec<serde_json::Value>, Error> {
        let mut rows = Vec::new();
        for slab in self.slabs(table)? {
            for row in 0..slab.rows {
                let fields = slab.names.iter().zip(&slab.columns).map(|(name, column)| {
                    let value = column.json(row).and_then(|text| serde_json::from_str(&text).ok());
                    (name.clone(), value.unwrap_or(serde_json::Value::Null))
                });
                rows.push(serde_json::Value::Object(fields.collect()));
            }
        }
        Ok(rows)
    }

    /// The winners' rows in runs that come from one file.
    fn slabs(&self, table: &Table) -> Result<Vec<Slab>, Error> {
        let file_of = |row: u64| {
            // Files without rows cannot be: the last file that begins at or before the row has it.
            self.files.iter().rposition(|&first| first <= row).unwrap_or(0)
        };
        let mut wanted: Vec<Vec<u64>> = vec![Vec::new(); table.files.len()];
        for winner in &self.winners {
            let file = file_of(winner.row);
            wanted[file].push(winner.row - self.files[file]);
        }
        let mut fetched = Vec::new();
        for (source, mut rows) in table.files.iter().zip(wanted) {
            rows.sort_unstable();
            fetched.push(match &source.kind {
                Kind::Parquet(file, metadata) if !rows.is_empty() => {
                    let kept = table.kept_columns(metadata.schema());
                    let others = |column: usize| kept.iter().all(|(at, _)| *at != column);
                    let columns: Vec<usize> =
                        (0..source.names.len()).filter(|&column| others(column)).collect();
                    let path = &source.input.path;
                    let arrays = groups::rows(path, file, metadata, &columns, &rows, table.threads())?;
                    Some(Fetched { arrays, rows, kept })
                }
                _ => None,
            });
        }
        let mut slabs = Vec::new();
        for run in self.winners.chunk_by(|a, b| file_of(a.row) == file_of(b.row)) {
            let file = file_of(run[0].row);
            let rows = if let Some(fetched) = &fetched[file] {
                self.slab_of_arrays(table, file, fetched, run)?
            } else {
                let record =
                    |winner: &Winner| self.records.get(&winner.row).map_or(&[][..], |kept| &kept.record);
                table.slab_of_records(file, &run.iter().map(record).collect::<Vec<_>>())
            };
            slabs.push(self.with_ranks(&rows, run));
        }
        Ok(slabs)
    }

    /// Winners' rows of one Parquet file: columns that were read for them, and those whose scores were kept.
    fn slab_of_arrays(
        &self,
        table: &Table,
        file: usize,
        fetched: &Fetched,
        run: &[Winner],
    ) -> Result<Slab, Error> {
        let source = &table.files[file];
        let at = |winner: &Winner| {
            fetched.rows.binary_search(&(winner.row - self.files[file])).unwrap_or(0) as u64
        };
        let order: Vec<u64> = run.iter().map(at).collect();
        let taken = groups::reordered(&source.input.path, &fetched.arrays, &order)?;
        let mut slab = Slab::of_arrays(table.columns(), &taken);
        for &(column, evaluator) in &fetched.kept {
            let sign = table.taken().evaluators[evaluator].sign;
            let score = |winner: &Winner| {
                self.records.get(&winner.row).map_or(f64::NAN, |kept| kept.scores[evaluator] * sign)
            };
            let values: Vec<f64> = run.iter().map(score).collect();
            let array = crate::arrow::of_numbers(source.kind.field(column), &values);
            slab.set(&source.names[column], Column::Array(array));
        }
        Ok(slab)
    }

    fn with_ranks(&self, rows: &Slab, run: &[Winner]) -> Slab {
        let mut slab = Slab { rows: rows.rows, ..Slab::default() };
        let free = |name: &str| free_name(&rows.names, name);
        slab.push(free("rank"), Column::Count(run.iter().map(|winner| winner.rank).collect()));
        slab.push(free("score"), Column::Number(run.iter().map(|winner| finite(winner.score)).collect()));
        for (at, evaluator) in self.evaluators.iter().enumerate().filter(|_| self.explained) {
            let column = run.iter().map(|winner| winner.contributions.get(at).copied().unwrap_or(f64::NAN));
            slab.push(free(&format!("by_{evaluator}")), Column::Number(column.collect()));
        }
        for (name, column) in rows.names.iter().zip(rows.columns.iter()) {
            slab.push(name, column.clone());
        }
        slab
    }
}

/// A row without a single score has no value: missing, not minus infinity.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// A name that the file does not use already.
fn free_name(taken: &[String], name: &str) -> String {
    let mut name = name.to_string();
    while taken.contains(&name) {
        name = format!("jurybox_{name}");
    }
    name
}

/// Writes every row with its score, in the order of the table, as it streams by. Returns how many there were.
///
/// ```
/// # use jurybox_files::{Format, Judge, Roles, Table, score_all};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("scores.csv");
/// # std::fs::write(&path, "post,spam\np1,0.9\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// let out = dir.path().join("scored.csv");
/// score_all(&table, &Judge::Weights(vec![2.0]), &out, Format::Csv)?;
/// assert_eq!(std::fs::read_to_string(out)?, "score,post,spam\n1.8,p1,0.9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn score_all(table: &Table, judge: &Judge, path: &Path, format: Format) -> Result<u64, Error> {
    let mut writer = Writer::new(path, format)?;
    let want = Want { records: Records::All, ..Want::default() };
    let rows = table.scan(
        want,
        |mut part| {
            let mut values = Vec::new();
            judge.values(&mut part.batch, &mut values)?;
            let rows = if let Some(arrays) = &part.arrays {
                Slab::of_arrays(table.columns(), arrays)
            } else {
                let records: Vec<&[u8]> = (0..part.batch.rows()).map(|row| part.record(row)).collect();
                table.slab_of_records(part.file, &records)
            };
            let mut slab = Slab { rows: rows.rows, ..Slab::default() };
            let scores = values.into_iter().map(finite).collect();
            slab.push(free_name(&rows.names, "score"), Column::Number(scores));
            for (name, column) in rows.names.into_iter().zip(rows.columns) {
                slab.push(name, column);
            }
            Ok(slab)
        },
        |_, slab| writer.write(&slab),
    )?;
    writer.finish()?;
    Ok(rows)
}

impl Table {
    /// Columns of a Parquet file whose scores say all that the column says, with their evaluators.
    fn kept_columns(&self, schema: &arrow_schema::Schema) -> Vec<(usize, usize)> {
        let fields = schema.fields().iter().enumerate();
        let kept = fields.filter(|(_, field)| crate::arrow::fits_a_number(field.data_type())).filter_map(
            |(column, field)| {
                let evaluator = self.taken().evaluators.iter().position(|e| e.column == *field.name())?;
                Some((column, evaluator))
            },
        );
        kept.collect()
    }

    /// Records of one file as columns.
    fn slab_of_records(&self, file: usize, records: &[&[u8]]) -> Slab {
        let numeric = |name: &str| self.is_number(name);
        match &self.files[file].kind {
            Kind::Csv(header) => Slab::of_csv(self.columns(), header, numeric, records),
            _ => Slab::of_json(self.columns(), numeric, records),
        }
    }
}
