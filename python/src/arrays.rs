//! Conversion between numpy arrays and the tables of scores that juries work on.
//!
//! An array may be written to by another thread during a call, which can change the numbers read.
//! So numbers are copied first, and the copy is checked and used. Small tables are copied at once,
//! large ones a few thousand rows at a time where the work allows it (`shared_array.rs`). Only
//! large arrays that are read-only, down to the array that owns the memory, are read in place.
//!
//! Numpy's own arrays of doubles and lists of numbers are read here. All other input is first
//! converted, or refused, by `jurybox._arrays`.

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

/// A table of scores, row by row.
pub(crate) struct ScoreTable {
    values: ScoreValues,
    width: usize,
    pub(crate) rows: usize,
}

/// Storage of the scores.
enum ScoreValues {
    /// A copy of our own.
    Copied(Vec<f64>),
    /// A numpy array that is read-only, down to the array that owns the memory; read in place.
    ReadOnly(ScalarBuffer<f64>),
    /// A numpy array that other code may write to: copied when it is needed.
    Writable(SharedArray),
}

impl ScoreTable {
    /// Whether work on the table may take long enough to be interrupted.
    pub(crate) fn is_large(&self) -> bool {
        !matches!(self.values, ScoreValues::Copied(_))
            || self.rows * self.width >= LARGE
            || is_wide(self.width)
    }

    /// All scores at once, for work that cannot go piece by piece.
    pub(crate) fn whole(&self) -> Cow<'_, [f64]> {
        match &self.values {
            ScoreValues::Copied(values) => Cow::Borrowed(values),
            ScoreValues::ReadOnly(values) => Cow::Borrowed(values),
            ScoreValues::Writable(shared) => Cow::Owned(shared.copy(0..self.rows)),
        }
    }

    /// Calls `each` with pieces of at most `ROWS_PER_PIECE` rows and the number of their first row.
    /// An array that other code may write to is copied one piece at a time. Errors name the row
    /// within the whole table. With `control`, an interrupt ends the work between two pieces.
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
                ScoreValues::Copied(values) => Cow::Borrowed(&values[cells]),
                ScoreValues::ReadOnly(values) => Cow::Borrowed(&values[cells]),
                ScoreValues::Writable(shared) => Cow::Owned(shared.copy(rows)),
            };
            each(from, &piece).map_err(|error| with_row_offset(error, from))?;
        }
        Ok(())
    }
}

/// Adds `by` to the number of the row that an error names, if it names one.
fn with_row_offset(error: Error, by: usize) -> Error {
    match error {
        Error::Score { item, evaluator, value } => Error::Score { item: item + by, evaluator, value },
        Error::Reward { example, value } => Error::Reward { example: example + by, value },
        other => other,
    }
}

/// Number of scores from which copying and working on a table may take noticeable time.
const LARGE: usize = 1 << 17;

/// Number of evaluators from which fits and predictions may take noticeable time.
const WIDE: usize = 32;

/// Whether there are at least `WIDE` evaluators.
pub(crate) fn is_wide(evaluators: usize) -> bool {
    evaluators >= WIDE
}

/// Rows that are processed at a time.
pub(crate) const ROWS_PER_PIECE: usize = 1 << 13;

/// A table of scores with a column for each evaluator, from a two-dimensional array or anything
/// that can become one.
pub(crate) fn scores(given: &Bound<'_, PyAny>, evaluators: &Evaluators) -> Result<ScoreTable> {
    // Exactly numpy's own class: a masked array is a subclass, and its mask would be lost.
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

/// A column of numbers, such as rewards; `what` names it in error messages.
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

/// Row numbers, from a mask with one flag for each of `of` rows or from the numbers themselves.
pub(crate) fn rows(given: &Bound<'_, PyAny>, of: usize, what: &str) -> Result<Vec<usize>> {
    Ok(helper(given.py(), "rows")?.call1((given, of, what))?.extract()?)
}

/// A Python float or int as a number; anything else is an error.
fn plain(item: &Bound<'_, PyAny>) -> PyResult<f64> {
    match item.cast::<pyo3::types::PyFloat>() {
        Ok(number) => Ok(number.value()),
        Err(_) => Ok(item.cast::<pyo3::types::PyInt>()?.extract()?),
    }
}

/// The scores of an array, row by row. `as_slice` alone would also accept Fortran order.
fn read(array: &Bound<'_, PyArray2<f64>>) -> ScoreTable {
    let (rows, width) = (array.shape()[0], array.shape()[1]);
    if array.len() >= LARGE {
        let in_place =
            if is_sealed(array) { arrow::in_place(array).map(ScoreValues::ReadOnly) } else { None };
        if let Some(values) = in_place.or_else(|| SharedArray::of(array).map(ScoreValues::Writable)) {
            return ScoreTable { values, width, rows };
        }
    }
    let readonly = array.readonly();
    let values = match readonly.as_slice() {
        Ok(slice) if array.is_c_contiguous() => slice.to_vec(),
        _ => readonly.as_array().iter().copied().collect(),
    };
    ScoreTable { values: ScoreValues::Copied(values), width, rows }
}

/// Whether an array and every array it is a view of are read-only, down to the one that owns the
/// memory.
///
/// A view of memory owned by something else (`numpy.frombuffer`, Arrow, a mapped file) does not
/// count: it may be read-only while other code writes there.
fn is_sealed(array: &Bound<'_, PyArray2<f64>>) -> bool {
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

/// A function of the Python module `jurybox._arrays`.
fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("jurybox._arrays").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// A two-dimensional numpy array with this many columns, from its values row by row.
pub(crate) fn table(py: Python<'_>, values: Vec<f64>, columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}
