//! Learning from rows, as `jurybox learn` does.

use super::{NoticeCollector, RepeatableRows, change_or_begin, jury_of, shared_state};
use crate::errors::{self, Result};
use crate::json;
use crate::jury::PyJury;
use crate::jury_state::lock;
use crate::policies::spec;
use crate::tables::{TableOptions, TableSource, evaluators_of};
use crate::work::{self, WorkControl};
use jurybox_files::{Error, LearnCounts, LearnOptions, LearnResult, ScanRequest, learn_rows};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Shows rows to a jury, and teaches it their rewards if there are any. Returns a dict with counts
/// and messages, and the jury.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table_options: TableOptions,
    state: Option<&Bound<'py, PyJury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    at: Option<u64>,
    drop: Vec<String>,
    again: bool,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<(Bound<'py, PyDict>, Bound<'py, PyJury>)> {
    let source = TableSource::from_python(source)?;
    let policy = policy.map(|policy| spec(policy, options, None)).transpose()?;
    let (reading, roles) = (table_options.files().reading(), table_options.roles(&[]));
    let how = LearnOptions { reading, roles, policy, at, drop, again };
    let jury = shared_state(state);
    let work = move |control: &WorkControl| -> Result<_> {
        // Only a jury that has picked can have observed these rows already. To check that, the rows
        // may be read twice, so a stream is kept in memory.
        let picked = jury.as_deref().is_some_and(|jury| lock(jury).state.memory.knows_rounds());
        let ask = picked && !again && how.roles.id.len() == 1;
        let mut rows = if ask { RepeatableRows::kept(source)? } else { RepeatableRows::of(source)? };
        change_or_begin(jury.as_deref(), control, rows.can_repeat(), |before| {
            let mut listener = NoticeCollector::new(&table_options, control);
            let learnt = learn_rows(before, rows.given()?, &how, &mut listener);
            Ok(match learnt.map_err(with_python_names)? {
                None if before.is_none() => return Err(no_rows().into()),
                None => (None, (LearnCounts::default(), listener.notices(Vec::new()))),
                Some(lesson) => {
                    let notices = listener.notices(lesson.notices());
                    let LearnResult { state, taught } = lesson;
                    (Some(state), (taught, notices))
                }
            })
        })
    };
    let (begun, (taught, notices)) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &serde_json::to_value(taught).unwrap_or_default())?)?;
    notices.into_python(&dict)?;
    Ok((dict, jury_of(py, state, begun)?))
}

/// The error when there are no rows to begin a jury with.
fn no_rows() -> Error {
    Error::NoRows { path: "the files".into(), columns: Vec::new() }
}

/// The error with the names of Python's arguments, if it is about evaluators to drop.
fn with_python_names(error: Error) -> errors::Error {
    let reason = match error {
        Error::NotInState { evaluator } => format!("drop=: there is no evaluator `{evaluator}`"),
        Error::ForgottenAndNamed { evaluator } => {
            format!("`{evaluator}` is named by both drop= and evaluators=")
        }
        Error::AllForgotten => "drop= names every evaluator; learn a new state instead".into(),
        other => return other.into(),
    };
    jurybox::Error::Evaluators(reason).into()
}

/// The number of rounds in rows with a round column, and the first and the last round. Rows of a
/// round are consecutive.
#[pyfunction]
pub(crate) fn rounds(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    table_options: TableOptions,
    state: Option<&Bound<'_, PyJury>>,
) -> Result<(u64, Option<String>, Option<String>)> {
    let source = TableSource::from_python(source)?;
    let seated = evaluators_of(py, state);
    work::run(py, None, move |control| -> std::result::Result<_, Error> {
        let table = source.open(&table_options, &seated, false, control)?;
        let (mut count, mut first, mut last): (u64, Option<Box<str>>, Option<Box<str>>) = (0, None, None);
        table.scan(
            ScanRequest { key: true, ..ScanRequest::default() },
            |part| Ok(part.batch.keys().to_vec()),
            |_, keys| {
                for key in keys {
                    if last.as_ref() != Some(&key) {
                        count += 1;
                        first.get_or_insert_with(|| key.clone());
                        last = Some(key);
                    }
                }
                Ok(())
            },
        )?;
        Ok((count, first.map(Into::into), last.map(Into::into)))
    })
}

/// Whether the rows belong to a round that the jury picked from.
#[pyfunction]
pub(crate) fn was_picked_from(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    table_options: TableOptions,
    state: &Bound<'_, PyJury>,
) -> Result<bool> {
    let source = TableSource::from_python(source)?;
    let state = state.get().with(py, |inner| inner.state.clone());
    work::run(py, None, move |control| -> std::result::Result<_, Error> {
        let seated = state.jury.evaluators().as_slice().to_vec();
        jurybox_files::was_picked_from(&state, &source.open(&table_options, &seated, true, control)?)
    })
}
