//! Arguments that are names: of evaluators, context columns, groups and reviewers.

use crate::errors::{Error, Result, refused};
use jurybox::{Direction, Evaluator, Evaluators};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A list of names. A single string is refused, because Python would iterate over its letters.
fn several(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<String>> {
    let odd = || {
        let shown = given.repr().map_or_else(|_| "this".to_string(), |text| text.to_string());
        let single = given.is_instance_of::<PyString>();
        let such = if single { format!("[{shown}]") } else { "[\"toxicity\", \"spam\"]".to_string() };
        PyErr::from(refused("names", &format!("{what} = {shown}: expected a list of names, such as {such}")))
    };
    if given.is_instance_of::<PyString>() {
        return Err(odd());
    }
    let named = given.try_iter().map_err(|_| odd())?;
    named.map(|name| name?.extract().map_err(|_| odd())).collect()
}

pub(crate) fn evaluators(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    several(given, "evaluators")
}

/// Names of reviewers, as text even if they are numbers; missing ones are left out.
pub(crate) fn reviewers(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() || given.try_iter().is_err() {
        return several(given, "names");
    }
    let named = |who: PyResult<Bound<'_, PyAny>>| {
        let who = who?;
        let Some(name) = text(&who)? else { return Ok(None) };
        // Whole numbers in a column with gaps become floats: their ".0" is removed. Text stays as
        // it is.
        let number = !who.is_instance_of::<PyString>() && name.parse::<f64>().is_ok();
        Ok(Some(name.strip_suffix(".0").filter(|_| number).map_or(name.clone(), Into::into)))
    };
    given.try_iter()?.map(named).filter_map(PyResult::transpose).collect()
}

/// A list of names, from None, a single string or a list.
fn one_or_several(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<String>> {
    if given.is_none() {
        return Ok(Vec::new());
    }
    match given.cast::<PyString>() {
        Ok(one) => Ok(vec![one.to_string()]),
        Err(_) => several(given, what),
    }
}

pub(crate) fn invert(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    one_or_several(given, "invert")
}

pub(crate) fn context(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    one_or_several(given, "context")
}

/// The evaluator of this name; its low scores mean high rewards if `invert` lists it.
pub(crate) fn directed(name: &str, invert: &[String]) -> Evaluator {
    if invert.iter().any(|low| low == name) { Evaluator::low(name) } else { Evaluator::from(name) }
}

/// The evaluators of a new jury. Contexts that are not in `names` are appended.
pub(crate) fn new_evaluators(
    mut names: Vec<String>,
    invert: &[String],
    context: &[String],
) -> Result<Evaluators> {
    let missing: Vec<String> = context.iter().filter(|name| !names.contains(name)).cloned().collect();
    names.extend(missing);
    if let Some(name) = invert.iter().find(|name| !names.contains(name)) {
        return Err(refused("evaluators", &format!("invert=: there is no evaluator `{name}`")));
    }
    if let Some(name) = invert.iter().find(|name| context.contains(name)) {
        return Err(refused("evaluators", &format!("invert=: `{name}` is a context, not a score")));
    }
    let seat = |name: &String| {
        if context.contains(name) { Evaluator::context(name) } else { directed(name, invert) }
    };
    Ok(Evaluators::new(names.iter().map(seat))?)
}

/// The error for a column that is not a context of the jury.
pub(crate) fn no_context(name: &str, evaluators: &Evaluators) -> Error {
    let seated = evaluators.as_slice().iter();
    let known: Vec<&str> =
        seated.filter(|one| one.direction == Direction::Context).map(|one| one.name.as_str()).collect();
    let there =
        if known.is_empty() { "it has none".to_string() } else { format!("it has {}", known.join(", ")) };
    refused("context", &format!("`{name}` is not a context of this jury: {there}"))
}

/// The text of a value as a table cell; None if it is missing.
pub(crate) fn text(given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Some(text.to_string()));
    }
    given.py().import("jurybox._column_export")?.getattr("cell_text")?.call1((given,))?.extract()
}

/// The number of a group, from its name as tables have it; NaN if missing.
pub(crate) fn group(given: &Bound<'_, PyAny>) -> Result<f64> {
    let name = text(given)?;
    Ok(jurybox_files::group(name.as_deref().unwrap_or_default()))
}

/// The numbers of groups, from their names; NaN for None.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn group_codes(py: Python<'_>, names: Vec<Option<String>>) -> Bound<'_, PyArray1<f64>> {
    let group = |name: &Option<String>| jurybox_files::group(name.as_deref().unwrap_or_default());
    PyArray1::from_iter(py, names.iter().map(group))
}
