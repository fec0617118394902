//! Whole-number arguments: anything else, or a number outside 0 to 2^64 - 1, is an error that names
//! the argument.

use crate::errors::refused;
use pyo3::prelude::*;

fn whole(name: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given.extract().map_err(|_| {
        let shown = given.repr().map_or_else(|_| "this".to_string(), |text| text.to_string());
        refused("whole-number", &format!("{name} = {shown}: expected a whole number from 0 to 2^64 - 1"))
            .into()
    })
}

fn count(name: &str, given: &Bound<'_, PyAny>) -> PyResult<usize> {
    // A count beyond the address space means all there are.
    Ok(usize::try_from(whole(name, given)?).unwrap_or(usize::MAX))
}

fn or_none(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if given.is_none() { Ok(None) } else { whole(name, given).map(Some) }
}

pub(crate) fn k(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    count("k", given)
}

pub(crate) fn rows(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    count("rows", given)
}

pub(crate) fn seed(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole("seed", given)
}

pub(crate) fn seed_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    or_none("seed", given)
}

pub(crate) fn time(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole("at", given)
}

pub(crate) fn at(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    or_none("at", given)
}
