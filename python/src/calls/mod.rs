//! The functions over tables: what the commands of `jurybox` do, for sources and options from Python. The one place where the
//! functions of `jurybox-files` and `jurybox-lab` are called.

pub(crate) mod learning;
pub(crate) mod picking;
pub(crate) mod ranking;
pub(crate) mod study;
pub(crate) mod verdicts;

use crate::errors::{self, refused};
use crate::jury_state::{JuryState, generator, lock};
use crate::jury::PyJury;
use crate::tables::{TableOptions, TableSource, named_as_ours, warning};
use crate::work::WorkControl;
use jurybox_files::{Error, Format, Given, Host, Layout, State, Table, Told as Fact, Warning, expand};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What is to be told: what was taken as what, and what a person should know before believing a result.
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

    /// What is known of a table before it is read.
    pub(super) fn table(&mut self, table: &Table) {
        self.columns.push(table.taken().to_string());
        self.warnings.extend(table.warnings().iter().map(warning));
        self.warnings.extend(named_as_ours(table.taken()));
    }

    /// What is known of the file that results will be in: where its name says no format, that is to be heard of.
    pub(super) fn output(&mut self, out: &Path, table: &Table) {
        let elsewhere = out.as_os_str() == "-" || (out.exists() && !out.is_file());
        if elsewhere || Format::of_name(&out.to_string_lossy()).is_some() {
            return;
        }
        let written = if layout(table, false).format == Format::JsonLines { "JSON lines" } else { "CSV" };
        self.warnings.push(format!(
            "{}: the name says no format, so it is {written}; end it with .csv, .jsonl or .parquet",
            out.display()
        ));
    }

    /// The same with what only reading the rows could tell.
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

/// Who has something learnt for Python: remembers what is to be told.
pub(super) struct NoticeCollector<'a> {
    table_options: &'a TableOptions,
    control: &'a WorkControl,
    notices: Notices,
}

impl<'a> NoticeCollector<'a> {
    pub(super) fn new(table_options: &'a TableOptions, control: &'a WorkControl) -> NoticeCollector<'a> {
        NoticeCollector { table_options, control, notices: Notices::default() }
    }

    /// All that is to be told, with what is known only at the end.
    pub(super) fn notices(mut self, remarks: Vec<Fact>) -> Notices {
        remarks.into_iter().for_each(|remark| self.tell(remark));
        self.notices.heard(self.control)
    }
}

impl Host for NoticeCollector<'_> {
    fn hold(&self, table: Table, worth: fn(&Warning) -> bool) -> Table {
        self.table_options.threaded(self.control.hear(self.control.hold(table), worth))
    }

    fn tell(&mut self, fact: Fact) {
        if let Fact::Taken(taken) = &fact {
            self.notices.warnings.extend(named_as_ours(taken));
        }
        let mut text = if let Fact::Warning(about) = &fact { warning(about) } else { fact.to_string() };
        if matches!(fact, Fact::Known { .. } | Fact::KnownRows { .. } | Fact::KnownVerdicts { .. }) {
            text.push_str("; again=True would");
        }
        let list = match &fact {
            Fact::Taken(_) => &mut self.notices.columns,
            fact if fact.is_warning() => &mut self.notices.warnings,
            _ => &mut self.notices.notes,
        };
        list.push(text);
    }
}

/// Rows for work that may be done twice.
pub(super) struct RepeatableRows(Option<TableSource>);

impl RepeatableRows {
    pub(super) fn of(source: TableSource) -> Result<RepeatableRows, Error> {
        Ok(RepeatableRows(Some(source.gathered()?)))
    }

    /// The same, where it is to be asked whether the rows were seen before: they are kept, also those of a stream.
    pub(super) fn kept(source: TableSource) -> Result<RepeatableRows, Error> {
        Ok(RepeatableRows(Some(source.kept()?)))
    }

    /// Whether the rows can be had more than once.
    pub(super) fn can_repeat(&self) -> bool {
        self.0.as_ref().is_some_and(|source| source.reread().is_some())
    }

    /// The rows.
    pub(super) fn given(&mut self) -> Result<Given<'static>, Error> {
        let reread = self.0.as_ref().and_then(TableSource::reread);
        let Some(source) = reread.or_else(|| self.0.take()) else {
            return Err(Error::ReadOnce { path: "stream".into() });
        };
        Ok(match source {
            TableSource::Paths(patterns) => Given::Files(expand(&patterns)?),
            other if other.reread().is_some() => {
                Given::Again(Box::new(move |reading, roles, again| match other.reread() {
                    Some(rows) => rows.open_as(reading, roles, again),
                    None => Err(Error::ReadOnce { path: "stream".into() }),
                }))
            }
            other => Given::Once(Box::new(move |reading, roles, again| other.open_as(reading, roles, again))),
        })
    }
}

/// Changes a jury by work over the caller's rows that makes a new state of the one before, or none where nothing is to change.
///
/// The jury is free while the rows are read: they may be made by code that uses this very jury, and would wait for it forever. So the
/// work is done on a copy, which takes the jury's place if that is still as it was. (To read all rows first and hold the jury only then
/// would take memory for all of them.) Where somebody has changed the jury meanwhile, the work is done once more, now with the jury
/// held, if the rows `last` and can be had without the caller's code; otherwise it is refused, and the jury stays what it has become.
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
            let message =
                "somebody else changed the jury while these rows were read: it is left as they made it";
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

/// The same where a jury is begun if there is none: returns what was begun.
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

/// Whether nothing was learnt, seen or remembered between two states.
pub(crate) fn is_same(one: &State, other: &State) -> bool {
    one.memory == other.memory && one.jury.to_bytes() == other.jury.to_bytes()
}

/// The state of a jury as it is now, for work that does not change it.
pub(super) fn state_of(py: Python<'_>, jury: Option<&Bound<'_, PyJury>>) -> Option<State> {
    jury.map(|jury| jury.get().with(py, |inner| inner.state.clone()))
}

/// A row without a single score has no value: missing, not minus infinity.
pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// How a table is written: text for text where the name does not say.
pub(super) fn layout(table: &Table, safe_csv: bool) -> Layout {
    let format = if table.format() == Format::Parquet { Format::Csv } else { table.format() };
    Layout { format, safe_csv }
}

/// What is inside of a jury, for a thread of its own.
pub(super) fn shared_state(state: Option<&Bound<'_, PyJury>>) -> Option<Arc<Mutex<JuryState>>> {
    state.map(|jury| jury.get().0.clone())
}

/// The jury that was given, or the one that was begun.
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
