//! The functions over tables: what the commands of `jurybox` do, for sources and options from Python. The one place where the
//! functions of `jurybox-files` and `jurybox-lab` are called.

pub(crate) mod learning;
pub(crate) mod picking;
pub(crate) mod ranking;
pub(crate) mod study;
pub(crate) mod verdicts;

use crate::jury::{Inner, Jury, generator};
use crate::tables::named_as_ours;
use crate::work::Reins;
use jurybox::Spec;
use jurybox_files::{Error, Format, Layout, State, Table, same_policy};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// What is to be told: what was taken as what, and what a person should know before believing a result.
#[derive(Default)]
pub(super) struct Told {
    pub(super) said: Vec<String>,
    pub(super) warned: Vec<String>,
}

impl Told {
    pub(super) fn of(table: &Table) -> Told {
        let mut told = Told::default();
        told.table(table);
        told
    }

    /// What is known of a table before it is read.
    pub(super) fn table(&mut self, table: &Table) {
        self.said.push(table.taken().to_string());
        self.warned.extend(table.warnings().iter().map(ToString::to_string));
        self.warned.extend(named_as_ours(table.taken()));
    }

    /// The same with what only reading the rows could tell.
    pub(super) fn heard(mut self, reins: &Reins) -> Told {
        self.warned.extend(reins.heard());
        self
    }

    pub(super) fn into_python(self, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        dict.set_item("said", self.said)?;
        dict.set_item("warned", self.warned)
    }
}

/// The state of a jury as it is now, for work that does not change it.
pub(super) fn state_of(py: Python<'_>, jury: Option<&Bound<'_, Jury>>) -> Option<State> {
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

/// The same policy as the state's, or none named.
pub(super) fn check_policy(state: &State, asked: Option<&Spec>) -> Result<(), Error> {
    asked.map_or(Ok(()), |asked| same_policy(&state.jury, asked))
}

/// What is inside of a jury, for a thread of its own.
pub(super) fn held(state: Option<&Bound<'_, Jury>>) -> Option<Arc<Mutex<Inner>>> {
    state.map(|jury| jury.get().0.clone())
}

/// The jury that was given, or the one that was begun.
pub(super) fn jury_of<'py>(
    py: Python<'py>,
    given: Option<&Bound<'py, Jury>>,
    begun: Option<State>,
) -> PyResult<Bound<'py, Jury>> {
    match (given, begun) {
        (_, Some(state)) => Bound::new(py, Jury::of(state, generator(0))),
        (Some(jury), None) => Ok(jury.clone()),
        (None, None) => Err(pyo3::exceptions::PyRuntimeError::new_err("no jury was begun")),
    }
}
