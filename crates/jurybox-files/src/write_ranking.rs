//! Output of rankings: the best rows with rank, score and contributions, or every row with its
//! score.

use crate::buffer_pool::BufferPool;
use crate::error::Error;
use crate::format::RowRequest;
use crate::output_rows::{OutputColumn, OutputRows};
use crate::own_columns::free_name;
use crate::rank::{Ranking, Winner};
use crate::ranker::{Ranker, ValueBuffers};
use crate::table::{KeepRecords, ScanRequest, Table};
use crate::write::{OutputLayout, TableWriter};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use jurybox::Contributions;
use std::path::Path;

impl Ranking {
    /// Writes the best rows with rank, score, contributions if requested, and all columns. The
    /// ending of the file name gives the format, otherwise `layout`.
    pub fn write(&self, table: &Table, path: &Path, layout: impl Into<OutputLayout>) -> Result<(), Error> {
        let mut writer = TableWriter::new(path, layout)?;
        for output in self.output_rows(table)? {
            writer.write(&output)?;
        }
        writer.finish()
    }

    /// The best rows as record batches. Each batch holds consecutive rows of the ranking from one
    /// source, so that a column can have different types in different batches.
    ///
    /// ```
    /// # use jurybox_files::{Ranker, RankOptions, Roles, Table, rank};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "post,spam\np1,0.9\np2,0.2\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?;
    /// let ranking = rank(
    ///     &table,
    ///     &Ranker::Weights(vec![1.0]),
    ///     RankOptions { k: 1, ..RankOptions::default() },
    /// )?;
    /// let batches = ranking.to_batches(&table)?;
    /// let names: Vec<&str> =
    ///     batches[0].schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    /// assert_eq!(names, ["rank", "score", "post", "spam"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_batches(&self, table: &Table) -> Result<Vec<RecordBatch>, Error> {
        let refused = |e: ArrowError| Error::Arrow { path: table.path().into(), reason: e.to_string() };
        self.output_rows(table)?.iter().map(|output| output.batch().map_err(refused)).collect()
    }

    /// The best rows as JSON objects: rank, score, contributions if requested, and all columns.
    pub fn to_json(&self, table: &Table) -> Result<Vec<serde_json::Value>, Error> {
        Ok(self.output_rows(table)?.iter().flat_map(OutputRows::objects).collect())
    }

    /// The best rows, with one output per run of consecutive rows from one source.
    fn output_rows(&self, table: &Table) -> Result<Vec<OutputRows>, Error> {
        let source_of = |row: u64| {
            // Every source has rows, so the last one that begins at or before the row has it.
            self.files.iter().rposition(|&first| first <= row).unwrap_or(0)
        };
        // Each source fetches all its rows at once.
        let mut wanted: Vec<Vec<RowRequest<'_>>> = table.sources.iter().map(|_| Vec::new()).collect();
        for winner in &self.winners {
            let source = source_of(winner.row);
            let Some(kept) = self.records.get(&winner.row) else { continue };
            let row = winner.row - self.files[source];
            wanted[source].push(RowRequest { row, record: &kept.record, scores: &kept.scores });
        }
        let mut fetched = Vec::new();
        for (at, (source, rows)) in table.sources.iter().zip(&wanted).enumerate() {
            fetched.push(if rows.is_empty() {
                OutputRows::default()
            } else {
                source.fetch(rows, &table.output_columns(at))?
            });
        }
        let (mut outputs, mut used) = (Vec::new(), vec![0; table.sources.len()]);
        for run in self.winners.chunk_by(|a, b| source_of(a.row) == source_of(b.row)) {
            let source = source_of(run[0].row);
            let (from, to) = (used[source], used[source] + run.len());
            used[source] = to;
            outputs.push(self.with_ranks(&fetched[source].slice(from, to), run));
        }
        Ok(outputs)
    }

    /// Adds the columns of the ranking to `rows`.
    fn with_ranks(&self, rows: &OutputRows, run: &[Winner]) -> OutputRows {
        let mut output = OutputRows { rows: rows.rows, ..OutputRows::default() };
        let free = |name: &str| free_name(&rows.names, name);
        output.push(free("rank"), OutputColumn::Count(run.iter().map(|winner| winner.rank).collect()));
        output.push(
            free("score"),
            OutputColumn::Number(run.iter().map(|winner| finite(winner.score)).collect()),
        );
        if self.explained {
            let contribution = |of: &dyn Fn(&Contributions) -> f64| -> OutputColumn {
                let each = run.iter().map(|winner| winner.contributions.as_ref().map_or(f64::NAN, of));
                OutputColumn::Number(each.map(finite).collect())
            };
            output.push(free("base"), contribution(&|why| why.base));
            for (at, evaluator) in self.evaluators.iter().enumerate() {
                output.push(free(&format!("by_{evaluator}")), contribution(&|why| why.each[at]));
            }
        }
        for (name, column) in rows.names.iter().zip(rows.columns.iter()) {
            output.push(name, column.clone());
        }
        output
    }
}

/// The value for output: NaN if it is not finite. A row without scores may have minus infinity.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// The value of every row, in the order of the table; NaN for rows without scores.
///
/// ```
/// # use jurybox_files::{Ranker, Roles, Table, score_rows};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("scores.csv");
/// # std::fs::write(&path, "post,spam\np1,0.9\np2,0.2\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// assert_eq!(score_rows(&table, &Ranker::Weights(vec![2.0]))?, [1.8, 0.4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn score_rows(table: &Table, ranker: &Ranker) -> Result<Vec<f64>, Error> {
    let mut all = values_of_rows(table, ranker)?;
    all.iter_mut().for_each(|value| *value = finite(*value));
    Ok(all)
}

/// The value of every row, in the order of the table; minus infinity for rows without scores.
pub(crate) fn values_of_rows(table: &Table, ranker: &Ranker) -> Result<Vec<f64>, Error> {
    let mut all = Vec::new();
    let (form, buffers) = (ranker.form(), BufferPool::<ValueBuffers>::default());
    table.scan(
        ScanRequest { form: form.as_ref(), ..ScanRequest::default() },
        |mut part| {
            buffers.with(|buffer| {
                ranker.values(form.as_ref(), &mut part.batch, buffer)?;
                Ok(std::mem::take(&mut buffer.values))
            })
        },
        |_, values| {
            all.extend(values);
            Ok(())
        },
    )?;
    Ok(all)
}

/// Writes every row with its score, in the order of the table. Returns the number of rows.
///
/// ```
/// # use jurybox_files::{Format, Ranker, Roles, Table, score_all};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("scores.csv");
/// # std::fs::write(&path, "post,spam\np1,0.9\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// let out = dir.path().join("scored.csv");
/// score_all(&table, &Ranker::Weights(vec![2.0]), &out, Format::Csv)?;
/// assert_eq!(std::fs::read_to_string(out)?, "score,post,spam\n1.8,p1,0.9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn score_all(
    table: &Table,
    ranker: &Ranker,
    path: &Path,
    layout: impl Into<OutputLayout>,
) -> Result<u64, Error> {
    let mut writer = TableWriter::new(path, layout)?;
    let (form, buffers) = (ranker.form(), BufferPool::<ValueBuffers>::default());
    let want = ScanRequest { records: KeepRecords::All, form: form.as_ref(), ..ScanRequest::default() };
    let rows = table.scan(
        want,
        |mut part| {
            let values = buffers.with(|buffer| {
                ranker.values(form.as_ref(), &mut part.batch, buffer)?;
                Ok::<_, Error>(std::mem::take(&mut buffer.values))
            })?;
            let rows = table.sources[part.source].whole_rows(&part, &table.output_columns(part.source))?;
            let mut output = OutputRows { rows: rows.rows, ..OutputRows::default() };
            let scores = values.into_iter().map(finite).collect();
            output.push(free_name(&rows.names, "score"), OutputColumn::Number(scores));
            for (name, column) in rows.names.into_iter().zip(rows.columns) {
                output.push(name, column);
            }
            Ok(output)
        },
        |_, output| writer.write(&output),
    )?;
    writer.finish()?;
    Ok(rows)
}
