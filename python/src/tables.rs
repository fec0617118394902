//! Where rows come from, and which column is what, as Python says it.

use crate::arrow;
use crate::errors::{Result, refused};
use crate::jury::Jury;
use crate::work::{self, Reins};
use arrow_array::RecordBatch;
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_schema::{Field, Schema};
use jurybox::Evaluator;
use jurybox_files::{Error, Roles, Table, expand, fingerprint};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Which column is what.
#[derive(FromPyObject, Clone)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    evaluators: Vec<String>,
    id: Vec<String>,
    ignore: Vec<String>,
    pub(crate) invert: Vec<String>,
    pub(crate) reward: Option<String>,
    probability: Option<String>,
    pub(crate) key: Option<String>,
    threads: Option<usize>,
}

impl Asked {
    /// The same from roles.
    pub(crate) fn of(roles: Roles, threads: Option<usize>) -> Asked {
        let Roles { evaluators, seated: _, id, ignore, invert, reward, probability, key } = roles;
        Asked { evaluators, id, ignore, invert, reward, probability, key, threads }
    }

    /// Whether rows carry the probability with which they were picked.
    pub(crate) fn is_logged(&self) -> bool {
        self.probability.is_some()
    }

    pub(crate) fn roles(&self, seated: &[Evaluator]) -> Roles {
        Roles {
            evaluators: self.evaluators.clone(),
            seated: seated.to_vec(),
            id: self.id.clone(),
            ignore: self.ignore.clone(),
            invert: self.invert.clone(),
            reward: self.reward.clone(),
            probability: self.probability.clone(),
            key: self.key.clone(),
        }
    }
}

/// The rows.
pub(crate) enum Source {
    Paths(Vec<String>),
    /// All columns of something that streams.
    Stream(ArrowArrayStreamReader),
    /// Those columns of a frame that are needed, as a stream.
    FrameStream(ArrowArrayStreamReader),
    /// The same as columns.
    FrameColumns(RecordBatch),
}

impl Source {
    /// From `(kind, what)`.
    pub(crate) fn from_python(given: &Bound<'_, PyAny>) -> Result<Source> {
        let (kind, what): (String, Bound<'_, PyAny>) = given.extract()?;
        Ok(match kind.as_str() {
            "paths" => Source::Paths(what.extract()?),
            "stream" => Source::Stream(arrow::reader(&what)?),
            "frame-stream" => Source::FrameStream(arrow::reader(&what)?),
            "frame-columns" => Source::FrameColumns(columns(what.cast::<PyList>().map_err(PyErr::from)?)?),
            other => return Err(refused("source", &format!("there is no source `{other}`"))),
        })
    }

    /// Whether the rows are in the caller's own frame, from which winners are then taken.
    pub(crate) fn is_frame(&self) -> bool {
        matches!(self, Source::FrameStream(_) | Source::FrameColumns(_))
    }

    /// Opens the table; say whether it is read `again`.
    pub(crate) fn open(
        self,
        asked: &Asked,
        seated: &[Evaluator],
        again: bool,
        reins: &Reins,
    ) -> std::result::Result<Table, Error> {
        let roles = asked.roles(seated);
        let table = match self {
            Source::Paths(paths) => Table::open(&expand(&paths)?, &roles, again)?,
            Source::Stream(stream) => Table::from_stream(stream, &roles, true)?,
            Source::FrameStream(stream) => {
                let batches = stream.collect::<std::result::Result<Vec<_>, _>>();
                let batches =
                    batches.map_err(|e| Error::Arrow { path: "frame".into(), reason: e.to_string() })?;
                from_frame(batches, roles)?
            }
            Source::FrameColumns(batch) => from_frame(vec![batch], roles)?,
        };
        let table = reins.hold(table);
        Ok(match asked.threads {
            Some(threads) => table.with_threads(threads),
            None => table,
        })
    }
}

/// A table over what crossed the border: columns that were named and are not needed have stayed behind.
fn from_frame(batches: Vec<RecordBatch>, mut roles: Roles) -> std::result::Result<Table, Error> {
    if let Some(first) = batches.first() {
        let schema = first.schema();
        let seated: Vec<String> = roles.seated.iter().map(|seated| seated.name.clone()).collect();
        let here = |name: &String| schema.index_of(name).is_ok() || seated.contains(name);
        roles.id.retain(here);
        roles.ignore.retain(here);
    }
    Table::from_batches(batches, &roles)
}

/// A batch of columns: name, values, mask of what is missing or nothing.
fn columns(list: &Bound<'_, PyList>) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for column in list {
        let (name, values, missing): (String, Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) =
            column.extract()?;
        let array = arrow::column(&values, missing.as_ref())?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|e| refused("arrow", &format!("these columns are no table: {e}")))
}

/// The columns of a frame that will be read, decided before any of them crosses: each column comes with whether it holds
/// numbers.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn needed(
    py: Python<'_>,
    columns: Vec<(String, Option<bool>)>,
    asked: Asked,
    state: Option<&Bound<'_, Jury>>,
) -> Result<Vec<String>> {
    for (at, (name, _)) in columns.iter().enumerate() {
        if let Some(first) = columns[..at].iter().position(|(other, _)| other == name) {
            let (path, column) = ("frame".into(), name.clone());
            return Err(Error::DuplicateColumn { path, column, first: first + 1, second: at + 1 }.into());
        }
    }
    let seated = seated(py, state);
    let taken = asked.roles(&seated).over(&columns)?;
    let has = |name: &&str| columns.iter().any(|(column, _)| column == name);
    Ok(taken.read().filter(has).map(Into::into).collect())
}

/// The evaluators of a jury.
pub(crate) fn seated(py: Python<'_>, jury: Option<&Bound<'_, Jury>>) -> Vec<Evaluator> {
    jury.map_or_else(Vec::new, |jury| {
        jury.get().with(py, |inner| inner.state.jury.evaluators().as_slice().to_vec())
    })
}

/// The fingerprint of each file, none where it has none.
#[pyfunction]
pub(crate) fn fingerprints(py: Python<'_>, patterns: Vec<String>) -> Result<Vec<(PathBuf, Option<String>)>> {
    work::run(py, None, move |_| -> std::result::Result<_, Error> {
        expand(&patterns)?.into_iter().map(|path| fingerprint(&path).map(|name| (path, name))).collect()
    })
}

/// The right to change a state file, held from reading to writing.
#[pyclass(frozen, module = "jurybox._core")]
pub(crate) struct Lock(Mutex<Option<jurybox_files::Lock>>);

#[pymethods]
impl Lock {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, wait: f64) -> Result<Lock> {
        let at_most = Duration::try_from_secs_f64(wait).unwrap_or(Duration::ZERO);
        let held = work::run(py, None, move |_| jurybox_files::Lock::of(&path, at_most, || {}))?;
        Ok(Lock(Mutex::new(Some(held))))
    }

    /// Lets go of it.
    fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
