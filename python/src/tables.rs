//! The arguments that all functions over tables share: where rows come from, and the role of each
//! column.

use crate::arrow;
use crate::errors::{Result, refused};
use crate::jury::PyJury;
use crate::stream::ArrowStream;
use crate::work::{self, WorkControl};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{Field, Schema};
use jurybox::{Direction, Evaluator};
use jurybox_files::{
    ColumnRoles, Decimal, Error, Format, LongFormat, ReadOptions, Role, Roles, Table, Warning, fingerprint,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The role of each column, how files are to be read, and the number of threads.
#[derive(FromPyObject, Clone)]
#[pyo3(from_item_all)]
pub(crate) struct TableOptions {
    pub(crate) evaluators: Vec<String>,
    id: Vec<String>,
    ignore: Vec<String>,
    pub(crate) invert: Vec<String>,
    pub(crate) reward: Option<String>,
    pub(crate) labels: Vec<(String, f64)>,
    probability: Option<String>,
    pub(crate) key: Option<String>,
    key_is_id: bool,
    pub(crate) reviewer: Option<String>,
    context: Vec<String>,
    files: FileOptions,
    threads: Option<usize>,
}

impl TableOptions {
    /// Whether there is a column with the probability of each pick.
    pub(crate) fn is_logged(&self) -> bool {
        self.probability.is_some()
    }

    /// The table, read with the number of threads that was asked for.
    pub(crate) fn threaded(&self, table: Table) -> Table {
        match self.threads {
            Some(threads) => table.with_threads(threads),
            None => table,
        }
    }

    /// How files are to be read, as the caller specified.
    pub(crate) fn files(&self) -> &FileOptions {
        &self.files
    }

    pub(crate) fn roles(&self, seated: &[Evaluator]) -> Roles {
        Roles {
            evaluators: self.evaluators.clone(),
            learnt_evaluators: seated.to_vec(),
            id: self.id.clone(),
            ignore: self.ignore.clone(),
            invert: self.invert.clone(),
            reward: self.reward.clone(),
            labels: self.labels.clone(),
            verdicts: false,
            learnt_reward: None,
            probability: self.probability.clone(),
            key: self.key.clone(),
            key_role: if self.key_is_id { Role::Id } else { Role::Group },
            reviewer: self.reviewer.clone(),
            context: self.context.clone(),
            ignored_as: Vec::new(),
            texts: false,
        }
    }
}

/// How files are to be read, where the caller specified it.
#[derive(FromPyObject, Clone)]
#[pyo3(from_item_all)]
pub(crate) struct FileOptions {
    input_format: Option<String>,
    delimiter: Option<String>,
    header: bool,
    decimal: Option<String>,
    na: Vec<String>,
    long: Option<(String, String, String)>,
}

impl FileOptions {
    /// These options for `jurybox-files`; Python has already refused invalid ones.
    pub(crate) fn reading(&self) -> ReadOptions {
        let format = |name: &String| Format::of_name(&format!("x.{}", name.trim_start_matches('.')));
        let delimiter = |text: &String| if text == "tab" { Some(b'\t') } else { text.bytes().next() };
        let decimal = |text: &String| text.parse::<Decimal>().ok();
        ReadOptions {
            format: self.input_format.as_ref().and_then(format),
            delimiter: self.delimiter.as_ref().and_then(delimiter),
            header: (!self.header).then_some(false),
            decimal: self.decimal.as_ref().and_then(decimal).unwrap_or_default(),
            na: self.na.clone(),
            long: self.long.clone().map(|(item, judge, grade)| LongFormat { item, judge, grade }),
        }
    }
}

/// Where rows come from.
pub(crate) enum TableSource {
    /// Files, by names and patterns.
    Paths(Vec<String>),
    /// An Arrow stream with all its columns.
    Stream(ArrowStream),
    /// Batches with all columns: a frame with one row per grade, or a stream kept in memory.
    Columns(Vec<RecordBatch>),
    /// The needed columns of a frame, as a stream.
    FrameStream(ArrowStream),
    /// The needed columns of a frame, in memory.
    Frame(Vec<RecordBatch>),
}

impl TableSource {
    /// A source from the pair `(kind, value)` that `jurybox._sources` makes.
    pub(crate) fn from_python(given: &Bound<'_, PyAny>) -> Result<TableSource> {
        let (kind, what): (String, Bound<'_, PyAny>) = given.extract()?;
        let columns = |what: &Bound<'_, PyAny>| columns(what.cast::<PyList>().map_err(PyErr::from)?);
        Ok(match kind.as_str() {
            "paths" => TableSource::Paths(what.extract()?),
            "stream" => TableSource::Stream(ArrowStream::of(&what)?),
            "columns" => TableSource::Columns(vec![columns(&what)?]),
            "frame-stream" => TableSource::FrameStream(ArrowStream::of(&what)?),
            "frame-columns" => TableSource::Frame(vec![columns(&what)?]),
            other => return Err(refused("source", &format!("there is no source `{other}`"))),
        })
    }

    /// Whether results are rows of the caller's own frame.
    pub(crate) fn is_frame(&self) -> bool {
        matches!(self, TableSource::FrameStream(_) | TableSource::Frame(_))
    }

    /// Opens the table, with progress and interrupts attached. `again` says whether it will be read
    /// more than once.
    pub(crate) fn open(
        self,
        table_options: &TableOptions,
        seated: &[Evaluator],
        again: bool,
        control: &WorkControl,
    ) -> std::result::Result<Table, Error> {
        let table = self.open_as(&table_options.files.reading(), &table_options.roles(seated), again)?;
        Ok(table_options.threaded(control.hold(table)))
    }

    /// Opens the table without progress and interrupts.
    pub(crate) fn open_as(
        self,
        reading: &ReadOptions,
        roles: &Roles,
        again: bool,
    ) -> std::result::Result<Table, Error> {
        match self {
            TableSource::Paths(paths) => {
                Table::open_as(&jurybox_files::expand(&paths)?, reading, roles, again)
            }
            TableSource::Stream(stream) => Table::from_stream_as(stream, reading, roles, again),
            TableSource::Columns(batches) => Table::from_batches_as(batches, reading, roles),
            TableSource::FrameStream(stream) => from_frame(gathered(stream)?, reading, roles.clone()),
            TableSource::Frame(batches) => from_frame(batches, reading, roles.clone()),
        }
    }

    /// The source with a frame's stream read into memory, so that it can be read again.
    pub(crate) fn gathered(self) -> std::result::Result<TableSource, Error> {
        match self {
            TableSource::FrameStream(stream) => gathered(stream).map(TableSource::Frame),
            other => Ok(other),
        }
    }

    /// The batches that show what columns hold; none for files.
    fn first_batches(self) -> std::result::Result<Vec<RecordBatch>, Error> {
        match self {
            TableSource::Paths(_) => Ok(Vec::new()),
            TableSource::Stream(stream) | TableSource::FrameStream(stream) => stream.first_batches(),
            TableSource::Columns(batches) | TableSource::Frame(batches) => Ok(batches),
        }
    }

    /// The source with any stream read into memory.
    pub(crate) fn kept(self) -> std::result::Result<TableSource, Error> {
        match self {
            TableSource::Stream(stream) => gathered(stream).map(TableSource::Columns),
            other => other.gathered(),
        }
    }

    /// A second copy of the source, if reading it runs none of the caller's code: plain files and
    /// data in memory.
    pub(crate) fn reread(&self) -> Option<TableSource> {
        match self {
            TableSource::Paths(paths) => {
                let files = jurybox_files::expand(paths);
                let plain = files.is_ok_and(|files| files.iter().all(|path| path.is_file()));
                plain.then(|| TableSource::Paths(paths.clone()))
            }
            TableSource::Columns(batches) => Some(TableSource::Columns(batches.clone())),
            TableSource::Frame(batches) => Some(TableSource::Frame(batches.clone())),
            TableSource::Stream(_) | TableSource::FrameStream(_) => None,
        }
    }
}

/// All batches of a stream; if there are none, an empty one.
fn gathered(stream: ArrowStream) -> std::result::Result<Vec<RecordBatch>, Error> {
    let schema = stream.schema();
    let mut batches = stream.collect::<std::result::Result<Vec<_>, _>>()?;
    // A frame without rows may have no batches, but it has columns.
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Ok(batches)
}

/// A table from the columns of a frame that were handed over. Ids and ignored columns that were not
/// handed over lose these roles, unless the jury has an evaluator of that name.
fn from_frame(
    batches: Vec<RecordBatch>,
    reading: &ReadOptions,
    mut roles: Roles,
) -> std::result::Result<Table, Error> {
    if let Some(first) = batches.first() {
        let schema = first.schema();
        let seated: Vec<String> = roles.learnt_evaluators.iter().map(|seated| seated.name.clone()).collect();
        let here = |name: &String| schema.index_of(name).is_ok() || seated.contains(name);
        roles.id.retain(here);
        roles.ignore.retain(here);
    }
    Table::from_batches_as(batches, reading, &roles)
}

/// A batch from a list of columns, each `(name, values, mask of missing cells or None)`.
fn columns(list: &Bound<'_, PyList>) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for column in list {
        let (name, values, missing): (String, Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) =
            column.extract()?;
        let array = arrow::column(&values, missing.as_ref()).map_err(|error| error.of_column(&name))?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let rows = arrays.first().map_or(0, |array: &ArrayRef| array.len());
    let counted = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &counted)
        .map_err(|e| refused("arrow", &format!("these columns do not form a table: {e}")))
}

/// Evaluators by name, each with whether its low scores mean high rewards.
pub(crate) type NamedDirections = Vec<(String, bool)>;

/// The decision about a frame's columns: the columns to read, the evaluators, a line that describes
/// all roles, and warnings.
type ColumnDecision = (Vec<String>, NamedDirections, String, Vec<String>);

/// Decides which columns of a frame, or of several with the same columns, are needed. `frames` have
/// only the first rows.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn columns_needed(
    py: Python<'_>,
    frames: Vec<Bound<'_, PyAny>>,
    table_options: TableOptions,
    state: Option<&Bound<'_, PyJury>>,
) -> Result<ColumnDecision> {
    let first = frames.iter().map(TableSource::from_python).collect::<Result<Vec<_>>>()?;
    let roles = table_options.roles(&evaluators_of(py, state));
    let reading = table_options.files.reading();
    let decided = py.detach(|| -> std::result::Result<_, Error> {
        let first = first.into_iter().map(TableSource::first_batches);
        let first = first.collect::<std::result::Result<Vec<_>, _>>()?;
        let taken = roles.resolve_batches(&first, &reading)?;
        Ok((taken, first))
    });
    let (taken, first) = decided?;
    let known = |name: &&str| {
        first.iter().filter_map(|batches| batches.first()).any(|batch| batch.schema().index_of(name).is_ok())
    };
    let evaluators = taken.evaluators().as_slice().iter();
    let evaluators = evaluators.map(|one| (one.name.clone(), one.direction == Direction::Low)).collect();
    let read = taken.columns_to_read().filter(known).map(Into::into).collect();
    let warned = taken.warnings().iter().map(warning).chain(named_as_ours(&taken)).collect();
    Ok((read, evaluators, taken.to_string(), warned))
}

/// A warning as text, with advice in terms of Python's arguments.
pub(crate) fn warning(warning: &Warning) -> String {
    let advice = match warning {
        Warning::NamedLikeAVerdict { column, .. } => format!(
            "if it holds verdicts, learn them by jb.learn(..., reward=\"{column}\"); if it is an evaluator, name all evaluators by evaluators=; otherwise pass it in ignore="
        ),
        Warning::OtherScale { .. } => "pass columns that are not evaluators in ignore=".into(),
        Warning::LooksLong { item, judge, grade, .. } => {
            format!(
                "to get one row per `{item}`, pass long=(\"{item}\", \"{judge}\", \"{grade}\"); if each row is an item, pass evaluators=[\"{grade}\"]"
            )
        }
        Warning::NoOrder { .. } => {
            "if a missing score means something, such as a rule that did not fire, make it 0 (the default policy reads it so if a rule writes 1 or nothing)".into()
        }
        _ => return warning.to_string(),
    };
    format!("{warning}; {advice}")
}

/// The warning that columns named like those of results (such as `score`) are no evaluators.
pub(crate) fn named_as_ours(taken: &ColumnRoles) -> Option<String> {
    let names: Vec<String> = taken.named_like_output().map(|name| format!("`{name}`")).collect();
    let (are, evaluators) = if names.len() == 1 { ("is", "an evaluator") } else { ("are", "evaluators") };
    let advice = "pass it in evaluators= if it is one, otherwise in ignore= or id=";
    let list = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "{list} {are} not taken for {evaluators}, because rankings have columns of such names; {advice}"
        )
    })
}

/// The group numbers of a frame's only column, as they are when rows are learnt.
#[pyfunction]
pub(crate) fn group_codes_of_column<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    name: &str,
) -> Result<Bound<'py, PyArray1<f64>>> {
    let source = TableSource::from_python(source)?.gathered()?;
    let codes = py.detach(|| -> std::result::Result<Vec<f64>, Error> {
        let batches = source.first_batches()?;
        let mut codes = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        for batch in batches {
            codes.extend(jurybox_files::group_codes(name, batch.column(0))?);
        }
        Ok(codes)
    })?;
    Ok(PyArray1::from_vec(py, codes))
}

/// The evaluators of a jury; none without one.
pub(crate) fn evaluators_of(py: Python<'_>, jury: Option<&Bound<'_, PyJury>>) -> Vec<Evaluator> {
    jury.map_or_else(Vec::new, |jury| {
        jury.get().with(py, |inner| inner.state.jury.evaluators().as_slice().to_vec())
    })
}

/// The fingerprint of each file's content; None for files that have none.
#[pyfunction]
pub(crate) fn fingerprints(py: Python<'_>, patterns: Vec<String>) -> Result<Vec<(PathBuf, Option<String>)>> {
    work::run(py, None, move |_| -> std::result::Result<_, Error> {
        jurybox_files::expand(&patterns)?
            .into_iter()
            .map(|path| fingerprint(&path).map(|name| (path, name)))
            .collect()
    })
}

/// The files that names and patterns match, as for the command.
#[pyfunction]
pub(crate) fn expand(py: Python<'_>, patterns: Vec<String>) -> Result<Vec<PathBuf>> {
    work::run(py, None, move |_| jurybox_files::expand(&patterns))
}

/// Text from outside with control characters escaped, so that a terminal does not act on them.
#[pyfunction]
pub(crate) fn printable(text: &str, lines: bool) -> String {
    jurybox_files::plain(text, lines).into_owned()
}

/// Errors if `out` is one of the files that are read.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn refuse_overwriting(read: Vec<PathBuf>, out: PathBuf) -> Result<()> {
    Ok(jurybox_files::refuse_overwriting(&read, &out)?)
}

/// An exclusive lock on a state file, held from reading to writing.
#[pyclass(frozen, name = "Lock", module = "jurybox._core")]
pub(crate) struct StateLock(Mutex<Option<jurybox_files::FileLock>>);

#[pymethods]
impl StateLock {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, wait: f64) -> Result<StateLock> {
        let at_most = Duration::try_from_secs_f64(wait).unwrap_or(Duration::ZERO);
        let held = work::run(py, None, move |_| jurybox_files::FileLock::of(&path, at_most, || {}))?;
        Ok(StateLock(Mutex::new(Some(held))))
    }

    /// Unlocks the file.
    fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
