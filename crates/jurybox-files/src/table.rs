//! A table over one or more files: its columns, what they are taken for, and passes over its rows.

use crate::ask::{Ask, Use};
use crate::blocks::{Blocks, Ends};
use crate::error::Error;
use crate::groups::{self, Stretch};
use crate::input::{Format, Input};
use crate::positioned::Positioned;
use crate::roles::{Found, Roles, Taken};
use crate::scan::{Done, Part, in_order};
use crate::shelf::Shelf;
use crate::watch::{Progress, Watch};
use crate::{csv, jsonl, sniff};
use arrow_schema::DataType;
use memchr::memchr_iter;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows in one or more files, all with the same columns.
///
/// ```
/// use jurybox_files::{Roles, Table, Want};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// assert_eq!(table.taken().evaluators(), ["spam", "abuse"]);
/// let mut sum = 0.0;
/// let rows = table.scan(Want::default(), |part| Ok(part.batch.score(0, 0)), |_, spam| {
///     sum += spam;
///     Ok(())
/// })?;
/// assert_eq!((rows, sum), (2, 0.9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table {
    pub(crate) files: Vec<Source>,
    taken: Taken,
    columns: Vec<String>,
    threads: usize,
    pub(crate) watch: Watch,
}

/// One file of a table.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) input: Input,
    pub(crate) names: Vec<String>,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Csv(csv::Header),
    JsonLines,
    Parquet(Positioned, ArrowReaderMetadata),
}

impl Kind {
    /// The type of a column.
    pub(crate) fn field(&self, column: usize) -> &DataType {
        match self {
            Kind::Parquet(_, metadata) => metadata.schema().field(column).data_type(),
            Kind::Csv(_) | Kind::JsonLines => &DataType::Utf8,
        }
    }
}

/// What a pass needs besides the scores.
///
/// ```
/// let want = jurybox_files::Want { reward: true, ..jurybox_files::Want::default() };
/// assert!(!want.key);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Want<'a> {
    /// The rewards.
    pub reward: bool,
    /// The logged probabilities.
    pub probability: bool,
    /// The round or group of each row.
    pub key: bool,
    /// The rows as they stand in the file.
    pub records: Records,
    /// One weight per evaluator, where rows will be valued by their weighted sums.
    pub weights: Option<&'a [f64]>,
}

/// Whether a pass keeps rows as they stand in the file.
///
/// ```
/// assert_eq!(jurybox_files::Records::default(), jurybox_files::Records::None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Records {
    /// Only the numbers and keys asked for.
    #[default]
    None,
    /// The text of rows that are text; of Parquet only what is asked for.
    OfText,
    /// Whole rows: the text, or every column.
    All,
}

/// Where a batch stands.
///
/// ```
/// let at = jurybox_files::At { file: 0, row: 10, row_in_file: 10 };
/// assert_eq!(at.row, at.row_in_file);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct At {
    /// Which file.
    pub file: usize,
    /// The number of its first row, over all files, from 0.
    pub row: u64,
    /// The number of its first row in its file.
    pub row_in_file: u64,
}

impl Table {
    /// Opens files and decides over their columns. Say whether the rows will be read `again`: only then is a standard
    /// input kept aside on disk.
    pub fn open(paths: &[PathBuf], roles: &Roles, again: bool) -> Result<Table, Error> {
        let mut files = Vec::new();
        let mut first: Option<Vec<Found>> = None;
        for path in paths {
            let input = Input::open(path, again)?;
            let (found, kind) = sniff::columns(&input)?;
            let names: Vec<String> = found.iter().map(|found| found.name.clone()).collect();
            if let Some(first) = &first {
                same_columns(&files, first, &input.path, &names)?;
            } else {
                first = Some(found);
            }
            files.push(Source { input, names, kind });
        }
        let (Some(first), Some(source)) = (first, files.first()) else {
            return Err(Error::Usage("name at least one file".into()));
        };
        let taken = roles.take(&source.input.path, &first)?;
        let columns = source.names.clone();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Table { files, taken, columns, threads, watch: Watch::default() })
    }

    /// The same table read by that many threads; the results are the same.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The same table; `watch` is told how far each pass over it has come.
    #[must_use]
    pub fn watched(mut self, watch: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watch = Watch(Some(Arc::new(watch)));
        self
    }

    /// How many threads work on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Tells whoever watches this table how far work on it has come.
    pub fn tell(&self, progress: Progress) {
        self.watch.tell(progress);
    }

    /// Which column was taken as what.
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// Every column, in the order of the first file.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The format of the first file.
    pub fn format(&self) -> Format {
        self.files[0].input.format
    }

    /// The path of the first file, for messages about all of them.
    pub fn path(&self) -> &Path {
        &self.files[0].input.path
    }

    /// What each column of a file is for.
    fn ask(&self, source: &Source, want: Want<'_>) -> Ask {
        let taken = &self.taken;
        let uses = source.names.iter().map(|name| {
            if let Some(evaluator) = taken.evaluators.iter().position(|e| e.column == *name) {
                return Use::Score { evaluator, sign: taken.evaluators[evaluator].sign };
            }
            match () {
                () if want.reward && taken.reward() == Some(name) => {
                    Use::Reward { sign: taken.reward.as_ref().map_or(1.0, |reward| reward.sign) }
                }
                () if want.probability && taken.probability.as_ref() == Some(name) => Use::Probability,
                () if want.key && taken.key.as_ref() == Some(name) => Use::Key,
                () => Use::Skip,
            }
        });
        Ask {
            uses: uses.collect(),
            names: source.names.clone(),
            evaluators: taken.evaluators.len(),
            records: match want.records {
                Records::None => false,
                Records::OfText => !matches!(source.kind, Kind::Parquet(..)),
                Records::All => true,
            },
            weights: want.weights.map(<[f64]>::to_vec),
        }
    }

    /// One pass over all rows: `work` on every thread for each batch, `fold` here in the order of the rows.
    /// Returns how many rows there were.
    pub fn scan<T: Send>(
        &self,
        want: Want<'_>,
        work: impl Fn(Part<'_>) -> Result<T, Error> + Sync,
        mut fold: impl FnMut(At, T) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let asks: Vec<Ask> = self.files.iter().map(|source| self.ask(source, want)).collect();
        let mut at = At::default();
        // Where the file being folded stands, in lines for text and in rows for Parquet.
        let mut place = self.first_place(0);
        let bytes = Arc::new(AtomicU64::new(0));
        let of = self.files.iter().map(|source| source.input.size).sum();
        let units = Units { table: self, file: 0, open: None, pool: Vec::new(), bytes: bytes.clone() };
        let run = |unit: &mut Unit| {
            let source = &self.files[unit.file];
            let mut done = Done { file: unit.file, lines: 0, parts: Vec::new(), error: None };
            done.error = source
                .parse(unit, &asks[unit.file], &mut done.lines, &mut |part| {
                    let rows = part.batch.rows();
                    work(part).map(|result| done.parts.push((rows, result)))
                })
                .err();
            done
        };
        in_order(self.threads, units, Units::take, run, |done: Done<T>| {
            if done.file != at.file {
                at = At { file: done.file, row_in_file: 0, ..at };
                place = self.first_place(done.file);
            }
            for (rows, result) in done.parts {
                fold(at, result)?;
                at.row += rows as u64;
                at.row_in_file += rows as u64;
            }
            if let Some(error) = done.error {
                return Err(error.moved_down(place));
            }
            place += done.lines;
            let bytes = bytes.load(Ordering::Relaxed);
            self.watch.tell(Progress::Rows { rows: at.row, bytes, of });
            Ok(())
        })?;
        Ok(at.row)
    }

    /// Whether a column was read as numbers.
    pub(crate) fn is_number(&self, name: &str) -> bool {
        self.taken.evaluators.iter().any(|evaluator| evaluator.column == name)
            || self.taken.reward() == Some(name)
            || self.taken.probability.as_deref() == Some(name)
    }

    /// Lines before the first row of a file.
    fn first_place(&self, file: usize) -> u64 {
        match &self.files[file].kind {
            Kind::Csv(header) => header.lines,
            Kind::JsonLines | Kind::Parquet(..) => 0,
        }
    }
}

impl Source {
    /// Parses a unit of work, handing each batch to `each`.
    fn parse(
        &self,
        unit: &mut Unit,
        ask: &Ask,
        lines: &mut u64,
        each: &mut dyn FnMut(Part<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (path, file) = (&self.input.path, unit.file);
        match (&self.kind, unit.stretch) {
            (Kind::Parquet(handle, metadata), Some(stretch)) => {
                *lines = stretch.rows() as u64;
                groups::read(path, handle, metadata, stretch, ask, &mut unit.shelf, |batch, arrays| {
                    each(Part { batch, text: &[], arrays, file })
                })
            }
            (Kind::Csv(header), _) => {
                *lines = memchr_iter(b'\n', &unit.text).count() as u64;
                let batch = csv::parse(path, &unit.text, header.delimiter, ask)?;
                each(Part { batch, text: &unit.text, arrays: None, file })
            }
            _ => {
                *lines = memchr_iter(b'\n', &unit.text).count() as u64;
                let batch = jsonl::parse(path, &unit.text, ask)?;
                each(Part { batch, text: &unit.text, arrays: None, file })
            }
        }
    }
}

/// A unit of work: a block of text, or a stretch of rows.
#[derive(Default)]
struct Unit {
    file: usize,
    text: Vec<u8>,
    stretch: Option<Stretch>,
    shelf: Shelf,
}

/// All units of all files, in order.
struct Units<'a> {
    table: &'a Table,
    file: usize,
    open: Option<Open>,
    pool: Vec<u8>,
    /// Bytes of the files that have been given out.
    bytes: Arc<AtomicU64>,
}

enum Open {
    Text(Blocks),
    Stretches(std::vec::IntoIter<Stretch>),
}

impl Units<'_> {
    /// The next unit, into memory that is used again; false when all files are through.
    fn take(&mut self, unit: &mut Unit) -> Result<bool, Error> {
        while let Some(source) = self.table.files.get(self.file) {
            if self.open.is_none() {
                self.open = Some(self.begin(source)?);
            }
            unit.file = self.file;
            let more = match &mut self.open {
                Some(Open::Text(blocks)) => blocks.next(&source.input, &mut unit.text)?,
                Some(Open::Stretches(list)) => {
                    unit.stretch = list.next();
                    self.bytes.fetch_add(unit.stretch.map_or(0, Stretch::bytes), Ordering::Relaxed);
                    unit.stretch.is_some()
                }
                None => false,
            };
            if more {
                return Ok(true);
            }
            self.open = None;
            self.file += 1;
        }
        Ok(false)
    }

    fn begin(&mut self, source: &Source) -> Result<Open, Error> {
        let ends = match &source.kind {
            Kind::Parquet(_, metadata) => {
                return Ok(Open::Stretches(groups::stretches(metadata, source.input.size).into_iter()));
            }
            Kind::Csv(header) => Ends::Quoted(header.delimiter),
            Kind::JsonLines => Ends::Lines,
        };
        let mut text = source.input.text(&self.bytes)?;
        if let Kind::Csv(header) = &source.kind {
            self.pool.resize(header.bytes, 0);
            text.read_exact(&mut self.pool).map_err(|e| source.input.reading(e))?;
        }
        Ok(Open::Text(Blocks::new(text, ends)))
    }
}

/// Several files are one table only if they have the same columns.
fn same_columns(files: &[Source], first: &[Found], path: &Path, names: &[String]) -> Result<(), Error> {
    let missing = first.iter().find(|found| !names.contains(&found.name)).map(|found| &found.name);
    let extra = names.iter().find(|name| !first.iter().any(|found| found.name == **name));
    let json = files.iter().any(|source| matches!(source.kind, Kind::JsonLines));
    match (missing, extra) {
        // Keys may be absent from JSON lines: then the cell is missing.
        _ if json => Ok(()),
        (None, None) => Ok(()),
        (Some(name), _) => Err(Error::UnknownColumn {
            path: path.into(),
            column: name.clone(),
            hint: format!(
                "{} has it: files read together need the same columns",
                files[0].input.path.display()
            ),
        }),
        (None, Some(name)) => Err(Error::UnknownColumn {
            path: files[0].input.path.clone(),
            column: name.clone(),
            hint: format!("{} has it: files read together need the same columns", path.display()),
        }),
    }
}
