//! The functions over tables, as the commands of `jurybox` have them. Functions of `jurybox-files`
//! and `jurybox-lab` that read whole tables are called only here.

pub(crate) mod learning;
pub(crate) mod picking;
pub(crate) mod ranking;
pub(crate) mod study;
pub(crate) mod verdicts;

use crate::errors::{self, refused};
use crate::jury::PyJury;
use crate::jury_state::{JuryState, generator, lock};
use crate::tables::{TableOptions, TableSource, named_as_ours, warning};
use crate::work::WorkControl;
use jurybox_files::{
    Error, Format, LearnHost, LearnNotice as Fact, OutputLayout, RowInput, State, Table, Warning, expand,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Messages for the caller: the role of each column, notes for the log, and warnings.
#[derive(Default)]
pub(super) struct Notices {
    pub(super) columns: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Notices {
    pub(super) fn of(table: &Table) -> Notices {
        let mut notices = Notices::default();
        notices.table(table);
        notices
    }

    /// Adds the roles of a table's columns, and the warnings known before its rows are read.
    pub(super) fn table(&mut self, table: &Table) {
        self.columns.push(table.roles().to_string());
        self.warnings.extend(table.warnings().iter().map(warning));
        self.warnings.extend(named_as_ours(table.roles()));
    }

    /// Warns if the name of the output file does not tell its format.
    pub(super) fn output(&mut self, out: &Path, table: &Table) {
        let elsewhere = out.as_os_str() == "-" || (out.exists() && !out.is_file());
        if elsewhere || Format::of_name(&out.to_string_lossy()).is_some() {
            return;
        }
        let written = if layout(table, false).format == Format::JsonLines { "JSON lines" } else { "CSV" };
        self.warnings.push(format!(
            "{}: the name does not tell the format, so it is {written}; end it with .csv, .jsonl or .parquet",
            out.display()
        ));
    }

    /// Adds the warnings that were given while rows were read.
    pub(super) fn heard(mut self, control: &WorkControl) -> Notices {
        self.warnings.extend(control.heard());
        self
    }

    pub(super) fn into_python(self, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        dict.set_item("columns", self.columns)?;
        dict.set_item("notes", self.notes)?;
        dict.set_item("warnings", self.warnings)
    }
}

/// Collects the messages of learning for Python.
pub(super) struct NoticeCollector<'a> {
    table_options: &'a TableOptions,
    control: &'a WorkControl,
    notices: Notices,
}

impl<'a> NoticeCollector<'a> {
    pub(super) fn new(table_options: &'a TableOptions, control: &'a WorkControl) -> NoticeCollector<'a> {
        NoticeCollector { table_options, control, notices: Notices::default() }
    }

    /// All messages, with those known only at the end.
    pub(super) fn notices(mut self, remarks: Vec<Fact>) -> Notices {
        remarks.into_iter().for_each(|remark| self.notify(remark));
        self.notices.heard(self.control)
    }
}

impl LearnHost for NoticeCollector<'_> {
    fn prepare(&self, table: Table, worth: fn(&Warning) -> bool) -> Table {
        self.table_options.threaded(self.control.hear(self.control.hold(table), worth))
    }

    fn notify(&mut self, fact: Fact) {
        if let Fact::Columns(taken) = &fact {
            self.notices.warnings.extend(named_as_ours(taken));
        }
        let mut text = if let Fact::Warning(about) = &fact { warning(about) } else { fact.to_string() };
        if matches!(fact, Fact::LearntFile { .. } | Fact::LearntRows { .. } | Fact::LearntVerdicts { .. }) {
            text.push_str("; pass again=True to count it again");
        }
        let list = match &fact {
            Fact::Columns(_) => &mut self.notices.columns,
            fact if fact.is_warning() => &mut self.notices.warnings,
            _ => &mut self.notices.notes,
        };
        list.push(text);
    }
}

/// Rows to learn from, which may be needed more than once; a stream can be given only once.
pub(super) struct RepeatableRows(Option<TableSource>);

impl RepeatableRows {
    pub(super) fn of(source: TableSource) -> Result<RepeatableRows, Error> {
        Ok(RepeatableRows(Some(source.gathered()?)))
    }

    /// Rows with streams kept in memory, so that they can be read again.
    pub(super) fn kept(source: TableSource) -> Result<RepeatableRows, Error> {
        Ok(RepeatableRows(Some(source.kept()?)))
    }

    /// Whether the rows can be read more than once.
    pub(super) fn can_repeat(&self) -> bool {
        self.0.as_ref().is_some_and(|source| source.reread().is_some())
    }

    /// The rows as input for learning.
    pub(super) fn given(&mut self) -> Result<RowInput<'static>, Error> {
        let reread = self.0.as_ref().and_then(TableSource::reread);
        let Some(source) = reread.or_else(|| self.0.take()) else {
            return Err(Error::ReadOnce { path: "stream".into() });
        };
        Ok(match source {
            TableSource::Paths(patterns) => RowInput::Files(expand(&patterns)?),
            other if other.reread().is_some() => {
                RowInput::Again(Box::new(move |reading, roles, again| match other.reread() {
                    Some(rows) => rows.open_as(reading, roles, again),
                    None => Err(Error::ReadOnce { path: "stream".into() }),
                }))
            }
            other => {
                RowInput::Once(Box::new(move |reading, roles, again| other.open_as(reading, roles, again)))
            }
        })
    }
}

/// Changes a jury by `work`, which makes a new state from the present one, or none if nothing
/// changes.
///
/// The jury is unlocked while rows are read, because the code that produces them may use this very
/// jury and would wait forever. So the work is done on a copy, which replaces the jury if nobody
/// changed it meanwhile. If somebody did, the work is repeated on the locked jury. That needs
/// `last`: rows that can be read again without the caller's code. Otherwise, or if the evaluators
/// changed, the change is refused and the jury stays as it is.
pub(super) fn change<T>(
    jury: &Mutex<JuryState>,
    control: &WorkControl,
    last: bool,
    mut work: impl FnMut(&State) -> errors::Result<(Option<State>, T)>,
) -> errors::Result<T> {
    let before = lock(jury).state.clone();
    let (mut after, mut found) = work(&before)?;
    control.confirm()?;
    let mut inner = lock(jury);
    if after.is_some() && !is_same(&inner.state, &before) {
        if !last || inner.state.jury.evaluators() != before.jury.evaluators() {
            let message = "another thread changed the jury while these rows were read; nothing was learnt from them, try again";
            return Err(refused("changed-meanwhile", message));
        }
        (after, found) = work(&inner.state)?;
        control.still_wanted()?;
    }
    if let Some(after) = after {
        inner.replace(after);
    }
    Ok(found)
}

/// Changes a jury as `change` does. Without a jury, `work` begins a new state, which is returned.
pub(super) fn change_or_begin<T>(
    jury: Option<&Mutex<JuryState>>,
    control: &WorkControl,
    last: bool,
    mut work: impl FnMut(Option<&State>) -> errors::Result<(Option<State>, T)>,
) -> errors::Result<(Option<State>, T)> {
    if let Some(jury) = jury {
        return Ok((None, change(jury, control, last, |before| work(Some(before)))?));
    }
    let begun = work(None)?;
    control.confirm()?;
    Ok(begun)
}

/// Whether two states are equal: their juries to the last byte, and their records of files and
/// picks.
pub(crate) fn is_same(one: &State, other: &State) -> bool {
    one.memory == other.memory && one.jury.to_bytes() == other.jury.to_bytes()
}

/// A copy of the jury's state, for work that does not change it; None without a jury.
pub(super) fn state_of(py: Python<'_>, jury: Option<&Bound<'_, PyJury>>) -> Option<State> {
    jury.map(|jury| jury.get().with(py, |inner| inner.state.clone()))
}

/// The value, or NaN if it is not finite: a row without any score has the value minus infinity.
pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// The format of an output file whose name does not tell it: that of the input, or CSV if the input
/// is Parquet.
pub(super) fn layout(table: &Table, safe_csv: bool) -> OutputLayout {
    let format = if table.format() == Format::Parquet { Format::Csv } else { table.format() };
    OutputLayout { format, safe_csv }
}

/// The jury's shared state, for use on another thread.
pub(super) fn shared_state(state: Option<&Bound<'_, PyJury>>) -> Option<Arc<Mutex<JuryState>>> {
    state.map(|jury| jury.get().0.clone())
}

/// The jury that was passed, or the one that was begun.
pub(super) fn jury_of<'py>(
    py: Python<'py>,
    given: Option<&Bound<'py, PyJury>>,
    begun: Option<State>,
) -> PyResult<Bound<'py, PyJury>> {
    match (given, begun) {
        (_, Some(state)) => Bound::new(py, PyJury::of(state, generator(0))),
        (Some(jury), None) => Ok(jury.clone()),
        (None, None) => Err(pyo3::exceptions::PyRuntimeError::new_err("no jury was begun")),
    }
}
