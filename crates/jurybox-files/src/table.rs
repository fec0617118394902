//! Tables: one or more sources of rows, with a role for each column.
//!
//! [`scan_request`] selects what a pass over the rows reads.

mod scan_request;

pub use self::scan_request::{KeepRecords, ScanRequest};
use crate::cell_number::Notation;
use crate::column_info;
use crate::destination::{refuse_foreign, refuse_overwriting};
use crate::error::Error;
use crate::format::{Format, OutputColumns, RowSource};
use crate::input::InputFile;
use crate::long_format::{WideTable, widen};
use crate::own_columns::receipts_of_picks;
use crate::progress::{ProgressWatch, WarningListener};
use crate::read_options::ReadOptions;
use crate::roles::{ColumnInfo, ColumnRoles, Roles};
use crate::skip_bad_rows::SkippedRows;
use crate::warning::{Warning, together};
use jurybox::Direction;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A table of rows in one or more files, or in memory.
///
/// Its columns are those of all sources together. Where a source lacks a column, its cells are
/// missing. [`warnings`](Table::warnings) says so if the column is read for its role.
///
/// ```
/// use jurybox_files::{Roles, Table, ScanRequest};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// assert_eq!(table.roles().evaluators().to_string(), "spam, abuse");
/// let mut sum = 0.0;
/// let rows = table.scan(ScanRequest::default(), |part| Ok(part.batch.score(0, 0)), |_, spam| {
///     sum += spam;
///     Ok(())
/// })?;
/// assert_eq!((rows, sum), (2, 0.9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table {
    pub(crate) sources: Vec<Box<dyn RowSource>>,
    /// The paths of the files.
    inputs: Vec<PathBuf>,
    roles: ColumnRoles,
    /// Output columns: all columns but unused fields of nested objects.
    found: Vec<ColumnInfo>,
    /// All columns, including unused fields of nested objects.
    all_columns: Vec<ColumnInfo>,
    columns: Vec<String>,
    /// The notation of cells, as far as the user has set it.
    pub(crate) notation: Notation,
    /// Notation of the columns read as numbers, by source: files may differ in their decimal marks.
    numeric: Vec<HashMap<String, Notation>>,
    warnings: Vec<Warning>,
    threads: usize,
    /// The number of the table's first row in a ranking.
    pub(crate) first: u64,
    /// The limit of rows to skip because they cannot be read, and the errors of those skipped.
    pub(crate) skipped: SkippedRows,
    pub(crate) watch: ProgressWatch,
    /// Receives warnings that only a pass can raise.
    pub(crate) listener: WarningListener,
}

/// The maximum number of threads.
const MOST_THREADS: usize = 256;

/// The position of a batch within a table.
///
/// ```
/// let at = jurybox_files::BatchPosition { file: 0, row: 10, row_in_file: 10 };
/// assert_eq!(at.row, at.row_in_file);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchPosition {
    /// Index of the file.
    pub file: usize,
    /// The number of the batch's first row over all files, from 0.
    pub row: u64,
    /// The number of the batch's first row in its file, from 0.
    pub row_in_file: u64,
}

impl Table {
    /// Opens files and assigns roles to their columns.
    ///
    /// Set `again` if the rows will be read more than once: standard input and pipes are then
    /// copied to disk.
    pub fn open(paths: &[PathBuf], roles: &Roles, again: bool) -> Result<Table, Error> {
        Table::open_as(paths, &ReadOptions::default(), roles, again)
    }

    /// Opens files with reading options, such as a delimiter or words for "missing".
    pub fn open_as(
        paths: &[PathBuf],
        reading: &ReadOptions,
        roles: &Roles,
        again: bool,
    ) -> Result<Table, Error> {
        Table::over(Table::sources(paths, reading, again)?, paths.to_vec(), reading, roles)
    }

    /// Opens files without assigning roles.
    pub(crate) fn sources(
        paths: &[PathBuf],
        reading: &ReadOptions,
        again: bool,
    ) -> Result<Vec<Box<dyn RowSource>>, Error> {
        let open = |path: &PathBuf| {
            let input = InputFile::open(path, reading, again)?;
            (input.format.info().open)(input)
        };
        paths.iter().map(open).collect()
    }

    /// Makes a table of opened sources and the paths of the files.
    pub(crate) fn over(
        sources: Vec<Box<dyn RowSource>>,
        paths: Vec<PathBuf>,
        reading: &ReadOptions,
        roles: &Roles,
    ) -> Result<Table, Error> {
        let mut table = Table::made_wide(sources, reading, roles)?;
        table.inputs = paths;
        Ok(table)
    }

    /// Makes a table of sources. Long tables (one score per row) are made wide first.
    pub(crate) fn made_wide(
        sources: Vec<Box<dyn RowSource>>,
        reading: &ReadOptions,
        roles: &Roles,
    ) -> Result<Table, Error> {
        let Some(long) = &reading.long else { return Table::of(sources, reading, roles) };
        let WideTable { source, warnings, says } = widen(sources, reading, long)?;
        let mut table = Table::of(vec![Box::new(source)], reading, roles)?;
        table.warnings.splice(0..0, warnings);
        table.roles.widened = Some(says);
        Ok(table)
    }

    /// Makes a table of sources, resolving the roles of their columns.
    pub(crate) fn of(
        mut sources: Vec<Box<dyn RowSource>>,
        reading: &ReadOptions,
        roles: &Roles,
    ) -> Result<Table, Error> {
        for source in &mut sources {
            roles.named_columns().try_for_each(|name| source.add_column(name))?;
        }
        let Some(first) = sources.first() else { return Err(Error::NoFiles) };
        let mut found = column_info::together(sources.iter().flat_map(|source| source.columns()));
        let column_roles = roles.resolve(first.path(), &found)?;
        let mut warnings = Vec::new();
        for source in &sources {
            warnings.extend(source.detection_warning());
            warnings.extend(missing_columns(source.as_ref(), &column_roles)?);
        }
        warnings.extend(column_roles.warnings().iter().cloned());
        let warnings = together(warnings);
        found.iter_mut().for_each(|found| found.cells = Vec::new());
        let columns = found.iter().map(|found| found.name.clone()).collect();
        let all_columns = found.clone();
        // A nested field is written as part of its column, and by itself only if it has a role.
        found.retain(|found| !found.nested || column_roles.reads(&found.name));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let notation = reading.notation();
        let read = column_roles.numbers();
        let numeric = |source: &dyn RowSource| -> HashMap<String, Notation> {
            let columns = source.columns().iter().filter(|found| read.contains(&*found.name));
            columns.map(|found| (found.name.clone(), notation.of_column(found))).collect()
        };
        let numeric = sources.iter().map(|source| numeric(source.as_ref())).collect();
        let inputs = sources.iter().map(|source| source.path().into()).collect();
        Ok(Table {
            sources,
            inputs,
            roles: column_roles,
            found,
            all_columns,
            columns,
            notation,
            numeric,
            warnings,
            threads,
            first: 0,
            skipped: SkippedRows::default(),
            watch: ProgressWatch::default(),
            listener: WarningListener::default(),
        })
    }

    /// Sets the number of threads, between 1 and 256. Results do not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, MOST_THREADS);
        self
    }

    /// Numbers the rows from `first` on, for a table that is part of a larger one.
    ///
    /// [Ranking](fn@crate::rank) orders rows with the same value by their numbers and the seed. The
    /// best of separately ranked parts are therefore the best of the whole.
    ///
    /// ```
    /// # use jurybox_files::{Ranker, RankOptions, Roles, Table, rank};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "spam\n0.9\n0.2\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?.numbered_from(1000);
    /// let options = RankOptions { k: 1, ..RankOptions::default() };
    /// let ranking = rank(&table, &Ranker::Weights(vec![1.0]), options)?;
    /// assert_eq!((ranking.winners()[0].row, ranking.rows()), (1000, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn numbered_from(mut self, first: u64) -> Self {
        self.first = first;
        self
    }

    /// The number of threads that work on the table.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// All columns, including unused fields of nested objects.
    pub(crate) fn all_columns(&self) -> &[ColumnInfo] {
        &self.all_columns
    }

    /// The output columns of a source, and how their cells are converted.
    pub(crate) fn output_columns(&self, source: usize) -> OutputColumns<'_> {
        OutputColumns {
            columns: &self.found,
            roles: &self.roles,
            numeric: &self.numeric[source],
            threads: self.threads,
        }
    }

    /// Warnings about the columns.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table};
    /// # let dir = tempfile::tempdir()?;
    /// let paths = ["mon.csv", "tue.csv"].map(|name| dir.path().join(name));
    /// std::fs::write(&paths[0], "spam,abuse\n0.1,0.2\n")?;
    /// std::fs::write(&paths[1], "spam\n0.3\n")?;
    /// let table = Table::open(&paths, &Roles::default(), false)?;
    /// assert_eq!(table.roles().evaluators().to_string(), "spam, abuse");
    /// assert_eq!(table.warnings()[0].code(), "missing-column");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The roles of the columns.
    pub fn roles(&self) -> &ColumnRoles {
        &self.roles
    }

    /// The names of all columns: those of the first source in order, then the additional ones of
    /// the others.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The names of all columns but those for fields of nested objects.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("posts.jsonl");
    /// std::fs::write(&path, "{\"post\": {\"text\": \"hello\"}, \"spam\": 0.5}\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?;
    /// assert_eq!(table.columns(), ["post", "post.text", "spam"]);
    /// assert_eq!(table.whole_columns().collect::<Vec<_>>(), ["post", "spam"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn whole_columns(&self) -> impl Iterator<Item = &String> {
        self.all_columns.iter().filter(|found| !found.nested).map(|found| &found.name)
    }

    /// The default output format: that of the first source.
    pub fn format(&self) -> Format {
        self.sources[0].format()
    }

    /// The path of the first file, as messages show it.
    pub fn path(&self) -> &Path {
        self.sources[0].path()
    }

    /// The path of a file, as messages show it.
    pub fn path_of(&self, file: usize) -> &Path {
        self.sources[file].path()
    }

    /// Errors if `out` is one of the input files, or if its ending names a format that cannot be
    /// written.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, "spam\n0.1\n")?;
    /// let table = Table::open(&[path.clone()], &Roles::default(), false)?;
    /// assert!(table.check_output(&path).is_err());
    /// table.check_output(&dir.path().join("top.csv"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_output(&self, out: &Path) -> Result<(), Error> {
        refuse_foreign(out)?;
        refuse_overwriting(&self.inputs, out)
    }

    /// A hash of each source's content, independent of file name and compression. `None` without
    /// a file, and if the source can be read only once.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, "spam\n0.1\n")?;
    /// let table = Table::open(&[path.clone()], &Roles::default(), false)?;
    /// assert_eq!(table.fingerprints()?, [jurybox_files::fingerprint(&path)?]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fingerprints(&self) -> Result<Vec<Option<String>>, Error> {
        self.sources.iter().map(|source| source.fingerprint()).collect()
    }

    /// The name of the receipts column, if this is a file of picks.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table};
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("picks.csv");
    /// std::fs::write(&path, "rank,picked_at,round,row,receipt,spam\n1,0,r1,7,{},0.1\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?;
    /// assert_eq!(table.receipts_of_picks(), Some("receipt".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receipts_of_picks(&self) -> Option<String> {
        receipts_of_picks(&self.columns)
    }
}

/// Warnings about the columns that a source lacks. Errors if it has no column of any evaluator,
/// unless rows are read for their texts.
fn missing_columns(source: &dyn RowSource, column_roles: &ColumnRoles) -> Result<Vec<Warning>, Error> {
    let names: HashSet<&str> = source.columns().iter().map(|found| found.name.as_str()).collect();
    let has = |column: &str| names.contains(column);
    column_roles.has_one_of(source.path(), names.iter().copied())?;
    let evaluators = column_roles.evaluators.as_slice().iter().map(|evaluator| {
        let what = if evaluator.direction == Direction::Context { "groups" } else { "scores" };
        (evaluator.name.as_str(), what)
    });
    let reward = column_roles.reward().map(|column| (column, "rewards"));
    let probability = column_roles.probability.as_deref().map(|column| (column, "probabilities"));
    let key = column_roles.key.as_deref().map(|column| (column, "ids, rounds or groups"));
    let reviewer = column_roles.reviewer.as_deref().map(|column| (column, "reviewers"));
    let wanted = evaluators.chain(reward).chain(probability).chain(key).chain(reviewer);
    let warning = |(column, what): (&str, &'static str)| {
        let (path, column) = (source.path().into(), column.to_string());
        if !has(&column) {
            Some(Warning::MissingColumn { path, more: 0, column, what })
        } else if column_roles.is_unread(&column) {
            Some(Warning::IgnoredColumn { path, more: 0, column })
        } else {
            None
        }
    };
    Ok(wanted.filter_map(warning).collect())
}
