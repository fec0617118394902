//! Which columns are there, over one or more sources, and what are they taken for?
//!
//! What a pass over them then asks of each source is in [`want`].

mod want;

pub use self::want::{Records, Want};
use crate::destination::{refuse_foreign, refuse_overwriting};
use crate::error::Error;
use crate::format::{Format, Show, Source};
use crate::found;
use crate::input::Input;
use crate::long::{Widened, widen};
use crate::number::Notation;
use crate::own::receipts_of_picks;
use crate::reading::Reading;
use crate::roles::{Found, Roles, Taken};
use crate::spare::Spare;
use crate::warning::{Warning, together};
use crate::watch::{Ears, Watch};
use jurybox::Direction;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Rows in one or more files, or in memory.
///
/// The columns of a table are those of all its sources. Where one of them lacks a column, its cells are missing there, and
/// [`warnings`](Table::warnings) say so.
///
/// ```
/// use jurybox_files::{Roles, Table, Want};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// assert_eq!(table.taken().evaluators().to_string(), "spam, abuse");
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
    pub(crate) sources: Vec<Box<dyn Source>>,
    /// The files that are read.
    inputs: Vec<PathBuf>,
    taken: Taken,
    /// Those that are written out: those of the first source, then what the others have beside them.
    found: Vec<Found>,
    /// All of them, also the fields within columns that were not read.
    everything: Vec<Found>,
    columns: Vec<String>,
    /// How cells are written where a column does not say otherwise.
    pub(crate) notation: Notation,
    /// How those are written that are read as numbers, by source: one has points, another commas.
    numeric: Vec<HashMap<String, Notation>>,
    warnings: Vec<Warning>,
    threads: usize,
    /// The number of the first row in a ranking.
    pub(crate) first: u64,
    /// What it does with rows that cannot be read.
    pub(crate) spare: Spare,
    pub(crate) watch: Watch,
    /// Who is told of what only a pass can know.
    pub(crate) ears: Ears,
}

/// More threads than this are not begun: none of them would find work.
const MOST_THREADS: usize = 256;

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
        Table::open_as(paths, &Reading::default(), roles, again)
    }

    /// The same of files that are written as a person says.
    pub fn open_as(paths: &[PathBuf], reading: &Reading, roles: &Roles, again: bool) -> Result<Table, Error> {
        Table::over(Table::sources(paths, reading, again)?, paths.to_vec(), reading, roles)
    }

    /// Opens files, and decides nothing yet.
    pub(crate) fn sources(
        paths: &[PathBuf],
        reading: &Reading,
        again: bool,
    ) -> Result<Vec<Box<dyn Source>>, Error> {
        let open = |path: &PathBuf| {
            let input = Input::open(path, reading, again)?;
            (input.format.about().open)(input)
        };
        paths.iter().map(open).collect()
    }

    /// A table over files that are open.
    pub(crate) fn over(
        sources: Vec<Box<dyn Source>>,
        paths: Vec<PathBuf>,
        reading: &Reading,
        roles: &Roles,
    ) -> Result<Table, Error> {
        let mut table = Table::made_wide(sources, reading, roles)?;
        table.inputs = paths;
        Ok(table)
    }

    /// A table over sources, which are made wide first where they are long.
    pub(crate) fn made_wide(
        sources: Vec<Box<dyn Source>>,
        reading: &Reading,
        roles: &Roles,
    ) -> Result<Table, Error> {
        let Some(long) = &reading.long else { return Table::of(sources, reading, roles) };
        let Widened { source, warnings, says } = widen(sources, reading, long)?;
        let mut table = Table::of(vec![Box::new(source)], reading, roles)?;
        table.warnings.splice(0..0, warnings);
        table.taken.widened = Some(says);
        Ok(table)
    }

    pub(crate) fn of(
        mut sources: Vec<Box<dyn Source>>,
        reading: &Reading,
        roles: &Roles,
    ) -> Result<Table, Error> {
        for source in &mut sources {
            roles.asked().try_for_each(|name| source.adopt(name))?;
        }
        let Some(first) = sources.first() else { return Err(Error::NoFiles) };
        let mut found = found::together(sources.iter().flat_map(|source| source.columns()));
        let taken = roles.take(first.path(), &found)?;
        let mut warnings = Vec::new();
        for source in &sources {
            warnings.extend(source.doubt());
            warnings.extend(lacking(source.as_ref(), &taken)?);
        }
        warnings.extend(taken.warnings().iter().cloned());
        let warnings = together(warnings);
        found.iter_mut().for_each(|found| found.cells = Vec::new());
        let columns = found.iter().map(|found| found.name.clone()).collect();
        let everything = found.clone();
        // A field within a column is written out with it, and by itself where it was read.
        found.retain(|found| !found.nested || taken.reads(&found.name));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let notation = reading.notation();
        let read = taken.numbers();
        let numeric = |source: &dyn Source| -> HashMap<String, Notation> {
            let columns = source.columns().iter().filter(|found| read.contains(&*found.name));
            columns.map(|found| (found.name.clone(), notation.of_column(found))).collect()
        };
        let numeric = sources.iter().map(|source| numeric(source.as_ref())).collect();
        let inputs = sources.iter().map(|source| source.path().into()).collect();
        Ok(Table {
            sources,
            inputs,
            taken,
            found,
            everything,
            columns,
            notation,
            numeric,
            warnings,
            threads,
            first: 0,
            spare: Spare::default(),
            watch: Watch::default(),
            ears: Ears::default(),
        })
    }

    /// The same table read by that many threads, 256 at the most; the results are the same.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, MOST_THREADS);
        self
    }

    /// The same table as part of a larger one: a [ranking](crate::rank) of it numbers rows from `first` on. Ties are ordered by the numbers of rows,
    /// so that the best of parts that are ranked apart are those of the whole.
    ///
    /// ```
    /// # use jurybox_files::{Judge, RankOptions, Roles, Table, rank};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// # std::fs::write(&path, "spam\n0.9\n0.2\n")?;
    /// let table = Table::open(&[path], &Roles::default(), false)?.numbered_from(1000);
    /// let ranking = rank(&table, &Judge::Weights(vec![1.0]), RankOptions { k: 1, ..RankOptions::default() })?;
    /// assert_eq!((ranking.winners()[0].row, ranking.rows()), (1000, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn numbered_from(mut self, first: u64) -> Self {
        self.first = first;
        self
    }

    /// How many threads work on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Every column that was found.
    pub(crate) fn everything(&self) -> &[Found] {
        &self.everything
    }

    /// How whole rows of a source are to be shown.
    pub(crate) fn show(&self, source: usize) -> Show<'_> {
        Show {
            columns: &self.found,
            taken: &self.taken,
            numeric: &self.numeric[source],
            threads: self.threads,
        }
    }

    /// What a person should know about the columns before believing a result.
    ///
    /// ```
    /// # use jurybox_files::{Roles, Table};
    /// # let dir = tempfile::tempdir()?;
    /// let paths = ["mon.csv", "tue.csv"].map(|name| dir.path().join(name));
    /// std::fs::write(&paths[0], "spam,abuse\n0.1,0.2\n")?;
    /// std::fs::write(&paths[1], "spam\n0.3\n")?;
    /// let table = Table::open(&paths, &Roles::default(), false)?;
    /// assert_eq!(table.taken().evaluators().to_string(), "spam, abuse");
    /// assert!(table.warnings()[0].to_string().ends_with("tue.csv: there is no column `abuse`: its scores are missing"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Which column was taken as what.
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// Every column: those of the first source in its order, then what the others have beside them.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The same without the fields within columns.
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
        self.everything.iter().filter(|found| !found.nested).map(|found| &found.name)
    }

    /// The format in which rows are written where nothing else is said: that of the first source.
    pub fn format(&self) -> Format {
        self.sources[0].format()
    }

    /// What messages about all of it call it: the path of the first file.
    pub fn path(&self) -> &Path {
        self.sources[0].path()
    }

    /// What messages about one of its files call it.
    pub fn path_of(&self, file: usize) -> &Path {
        self.sources[file].path()
    }

    /// Refuses to write over one of the files that are read, and under a name that says a format which is not written.
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

    /// A name for the contents of each source, the same whatever it is called and however it is compressed; none for what has no
    /// file and for what can be read only once.
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

    /// The column of receipts, where this is a table of picks.
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

/// What is wanted of a source that it has no column for. Without a single evaluator there is nothing to go by.
fn lacking(source: &dyn Source, taken: &Taken) -> Result<Vec<Warning>, Error> {
    let names: HashSet<&str> = source.columns().iter().map(|found| found.name.as_str()).collect();
    let has = |column: &str| names.contains(column);
    taken.has_one_of(source.path(), names.iter().copied())?;
    let evaluators = taken.evaluators.as_slice().iter().map(|evaluator| {
        let what = if evaluator.direction == Direction::Context { "groups" } else { "scores" };
        (evaluator.name.as_str(), what)
    });
    let reward = taken.reward().map(|column| (column, "rewards"));
    let probability = taken.probability.as_deref().map(|column| (column, "probabilities"));
    let key = taken.key.as_deref().map(|column| (column, "names of items, rounds or groups"));
    let reviewer = taken.reviewer.as_deref().map(|column| (column, "names of reviewers"));
    let wanted = evaluators.chain(reward).chain(probability).chain(key).chain(reviewer);
    let warning = |(column, what): (&str, &'static str)| {
        let (path, column) = (source.path().into(), column.to_string());
        if !has(&column) {
            Some(Warning::MissingColumn { path, more: 0, column, what })
        } else if taken.is_unread(&column) {
            Some(Warning::IgnoredColumn { path, more: 0, column })
        } else {
            None
        }
    };
    Ok(wanted.filter_map(warning).collect())
}
