//! Scores in, numbers out: the border with numpy.
//!
//! What comes in is copied, in the order of its rows, whatever its memory looks like, and the copy is what is checked and used. Other
//! threads may write to an array meanwhile, without waiting for the interpreter: the numbers they leave behind are theirs, but none that was
//! not checked gets any further. Small tables are copied at once, of large ones some rows at a time as they are wanted (`shared_array.rs`). Only
//! where the array that they belong to is read-only are they read where they lie.
//!
//! The fast way is for what needs nothing else; all other input is made so by `jurybox._arrays`, or refused there with its reason.

use crate::arrow;
use crate::errors::Result;
use crate::shared_array::SharedArray;
use crate::work::WorkControl;
use arrow_buffer::ScalarBuffer;
use jurybox::{Error, Evaluators};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use std::borrow::Cow;

/// A table of scores, row after row.
pub(crate) struct ScoreTable {
    values: ScoreValues,
    width: usize,
    pub(crate) rows: usize,
}

/// Where numbers are.
enum ScoreValues {
    /// With us.
    Own(Vec<f64>),
    /// With somebody who will not change them.
    Theirs(ScalarBuffer<f64>),
    /// With somebody who may.
    SharedArray(SharedArray),
}

impl ScoreTable {
    /// Whether work on it can be long.
    pub(crate) fn is_large(&self) -> bool {
        !matches!(self.values, ScoreValues::Own(_)) || self.rows * self.width >= LARGE || is_wide(self.width)
    }

    /// All of it, for whoever must go back and forth.
    pub(crate) fn whole(&self) -> Cow<'_, [f64]> {
        match &self.values {
            ScoreValues::Own(values) => Cow::Borrowed(values),
            ScoreValues::Theirs(values) => Cow::Borrowed(values),
            ScoreValues::SharedArray(shared) => Cow::Owned(shared.copy(0..self.rows)),
        }
    }

    /// Goes over the rows, some thousand at a time: what needs no more of them at once takes no more memory. Each gets the number of its
    /// first row; errors are told with the number of their row among all. PredictionArrays between two pieces where that is asked for.
    pub(crate) fn each_piece(
        &self,
        control: Option<&WorkControl>,
        mut each: impl FnMut(usize, &[f64]) -> std::result::Result<(), Error>,
    ) -> Result<()> {
        for from in (0..self.rows).step_by(ROWS_PER_PIECE) {
            control.map_or(Ok(()), WorkControl::still_wanted)?;
            let rows = from..self.rows.min(from + ROWS_PER_PIECE);
            let cells = rows.start * self.width..rows.end * self.width;
            let piece = match &self.values {
                ScoreValues::Own(values) => Cow::Borrowed(&values[cells]),
                ScoreValues::Theirs(values) => Cow::Borrowed(&values[cells]),
                ScoreValues::SharedArray(shared) => Cow::Owned(shared.copy(rows)),
            };
            each(from, &piece).map_err(|error| moved_down(error, from))?;
        }
        Ok(())
    }
}

/// The same error, found in rows of which the first is that many rows further down.
fn moved_down(error: Error, by: usize) -> Error {
    match error {
        Error::Score { item, evaluator, value } => Error::Score { item: item + by, evaluator, value },
        Error::Reward { example, value } => Error::Reward { example: example + by, value },
        other => other,
    }
}

/// From so many numbers on a copy is felt, and so is the time that it takes to work on them. Below, both cost less than the care.
const LARGE: usize = 1 << 17;

/// With so many evaluators a fit may take long enough to be interrupted, and so may what is asked of it: both grow with their cube.
const WIDE: usize = 32;

/// Whether there are that many.
pub(crate) fn is_wide(evaluators: usize) -> bool {
    evaluators >= WIDE
}

/// So many rows are gone over at a time.
pub(crate) const ROWS_PER_PIECE: usize = 1 << 13;

/// The scores of items by these evaluators: a two-dimensional array, or whatever can be made one.
pub(crate) fn scores(given: &Bound<'_, PyAny>, evaluators: &Evaluators) -> Result<ScoreTable> {
    // Exactly numpy's own class: a masked array is an ndarray too, and its mask would be lost.
    if given.is_exact_instance_of::<PyUntypedArray>()
        && let Ok(array) = given.cast::<PyArray2<f64>>()
        && array.shape()[1] == evaluators.len()
    {
        return Ok(read(array));
    }
    let names = PyList::new(given.py(), evaluators.names())?;
    let contexts: Vec<usize> = evaluators.contexts().collect();
    let made = helper(given.py(), "scores")?.call1((given, names, contexts))?;
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
fn read(array: &Bound<'_, PyArray2<f64>>) -> ScoreTable {
    let (rows, width) = (array.shape()[0], array.shape()[1]);
    if array.len() >= LARGE {
        let in_place = if nobody_writes(array) { arrow::in_place(array).map(ScoreValues::Theirs) } else { None };
        if let Some(values) = in_place.or_else(|| SharedArray::of(array).map(ScoreValues::SharedArray)) {
            return ScoreTable { values, width, rows };
        }
    }
    let readonly = array.readonly();
    let values = match readonly.as_slice() {
        Ok(slice) if array.is_c_contiguous() => slice.to_vec(),
        _ => readonly.as_array().iter().copied().collect(),
    };
    ScoreTable { values: ScoreValues::Own(values), width, rows }
}

/// Whether an array and all that it is a view of are read-only, down to the array that the memory belongs to: who sealed that one is
/// believed. Of memory that belongs to something else (`numpy.frombuffer`, an array of Arrow, a mapped file) a view is often read-only by
/// itself, and says nothing of whoever else can write there.
fn nobody_writes(array: &Bound<'_, PyArray2<f64>>) -> bool {
    let mut array = array.as_any().clone();
    loop {
        let flag = |name: &str| -> PyResult<bool> { array.getattr("flags")?.getattr(name)?.extract() };
        if flag("writeable").unwrap_or(true) {
            return false;
        }
        match array.getattr("base") {
            Ok(base) if base.is_instance_of::<PyUntypedArray>() => array = base,
            Ok(base) => return base.is_none() && flag("owndata").unwrap_or(false),
            Err(_) => return false,
        }
    }
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
