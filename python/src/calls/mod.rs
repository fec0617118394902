//! The functions over tables: what the commands of `jurybox` do, for sources and options from Python. The one place where the
//! functions of `jurybox-files` and `jurybox-lab` are called.

pub(crate) mod learning;
pub(crate) mod picking;
pub(crate) mod ranking;
pub(crate) mod study;

use crate::jury::{Inner, Jury, generator};
use jurybox::{Evaluators, Spec};
use jurybox_files::{Error, Format, State, Table};
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
        let warned = table.warnings().iter().map(ToString::to_string).collect();
        Told { said: vec![table.taken().to_string()], warned }
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

/// A state is of use only for the evaluators it was learnt over: all of them, or some, in any order.
pub(super) fn seated_for(table: &Table, mut jury: jurybox::Jury) -> Result<jurybox::Jury, Error> {
    let (learnt, here) = (jury.evaluators().as_slice(), table.taken().evaluators());
    if !here.as_slice().iter().all(|evaluator| learnt.contains(evaluator)) {
        return Err(other_evaluators(jury.evaluators(), here));
    }
    if jury.evaluators() != here {
        jury.reseat(here.clone())?;
    }
    Ok(jury)
}

pub(super) fn other_evaluators(learnt: &Evaluators, here: &Evaluators) -> Error {
    let reason = format!("the state was learnt over {learnt}; this table has {here}");
    Error::Jury(jurybox::Error::Evaluators(reason))
}

/// A row without a single score has no value: missing, not minus infinity.
pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// What is written where the name does not say: text for text.
pub(super) fn as_text(table: &Table) -> Format {
    if table.format() == Format::Parquet { Format::Csv } else { table.format() }
}

/// The same policy as the state's, or none named.
pub(super) fn check_policy(state: &State, asked: Option<&Spec>) -> Result<(), Error> {
    let Some(asked) = asked else { return Ok(()) };
    let jury = &state.jury;
    let same = jurybox::Jury::new(asked, jury.evaluators().clone())
        .is_ok_and(|seated| (seated.spec(), seated.evaluators()) == (jury.spec(), jury.evaluators()));
    if same {
        return Ok(());
    }
    let reason = format!("the state was learnt by `{}`", jury.spec());
    Err(Error::Jury(jurybox::Error::Policy { policy: asked.to_string(), reason }))
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
