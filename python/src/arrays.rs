//! Scores in, numbers out: the border with numpy.
//!
//! What comes in is copied, in the order of its rows, whatever its memory looks like; large tables that lie in that order are read
//! where they are. The fast way is for what needs nothing else; all other input is made so by `jurybox._arrays`, or refused there
//! with its reason.

use crate::arrow;
use crate::errors::Result;
use arrow_buffer::ScalarBuffer;
use jurybox::Evaluators;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use std::ops::Deref;

/// A table of scores, row after row.
pub(crate) struct Table {
    pub(crate) values: Values,
    pub(crate) rows: usize,
}

/// Numbers of our own, or where somebody else has them.
pub(crate) enum Values {
    Own(Vec<f64>),
    Theirs(ScalarBuffer<f64>),
}

impl Deref for Values {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            Values::Own(values) => values,
            Values::Theirs(values) => values,
        }
    }
}

/// From so many numbers on a copy is felt. Below, it costs less than the care for somebody else's memory.
const LARGE: usize = 1 << 17;

/// The scores of items by these evaluators: a two-dimensional array, or whatever can be made one.
pub(crate) fn scores(given: &Bound<'_, PyAny>, evaluators: &Evaluators) -> Result<Table> {
    // Exactly numpy's own class: a masked array is an ndarray too, and its mask would be lost.
    if given.is_exact_instance_of::<PyUntypedArray>()
        && let Ok(array) = given.cast::<PyArray2<f64>>()
        && array.shape()[1] == evaluators.len()
    {
        return Ok(read(array));
    }
    let names = PyList::new(given.py(), evaluators.names())?;
    let made = helper(given.py(), "scores")?.call1((given, names))?;
    Ok(read(made.cast::<PyArray2<f64>>().map_err(PyErr::from)?))
}

/// One number for each of so many things.
pub(crate) fn numbers(given: &Bound<'_, PyAny>, what: &str) -> Result<Vec<f64>> {
    if given.is_exact_instance_of::<PyUntypedArray>()
        && let Ok(array) = given.cast::<PyArray1<f64>>()
    {
        return Ok(array.readonly().as_array().iter().copied().collect());
    }
    if let Ok(list) = given.cast::<PyList>()
        && let Ok(numbers) = list.iter().map(|item| plain(&item)).collect::<PyResult<Vec<f64>>>()
    {
        return Ok(numbers);
    }
    let made = helper(given.py(), "numbers")?.call1((given, what))?;
    let array = made.cast::<PyArray1<f64>>().map_err(PyErr::from)?;
    Ok(array.readonly().as_array().iter().copied().collect())
}

/// Which rows are meant: by a mask, or by their numbers.
pub(crate) fn rows(given: &Bound<'_, PyAny>, of: usize, what: &str) -> Result<Vec<usize>> {
    Ok(helper(given.py(), "rows")?.call1((given, of, what))?.extract()?)
}

/// A Python float or int, without guessing.
fn plain(item: &Bound<'_, PyAny>) -> PyResult<f64> {
    match item.cast::<pyo3::types::PyFloat>() {
        Ok(number) => Ok(number.value()),
        Err(_) => Ok(item.cast::<pyo3::types::PyInt>()?.extract()?),
    }
}

/// In the order of the rows: `as_slice` alone would take Fortran order for it.
fn read(array: &Bound<'_, PyArray2<f64>>) -> Table {
    let rows = array.shape()[0];
    if array.len() >= LARGE
        && let Some(values) = arrow::in_place(array)
    {
        return Table { values: Values::Theirs(values), rows };
    }
    let readonly = array.readonly();
    let values = match readonly.as_slice() {
        Ok(slice) if array.is_c_contiguous() => slice.to_vec(),
        _ => readonly.as_array().iter().copied().collect(),
    };
    Table { values: Values::Own(values), rows }
}

/// A function of `jurybox._arrays`.
fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("jurybox._arrays").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// Numbers as a two-dimensional array of so many columns.
pub(crate) fn table(py: Python<'_>, values: Vec<f64>, columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}
