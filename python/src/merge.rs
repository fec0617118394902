//! Merging juries that learnt separately.

use crate::errors::{Result, refused};
use crate::jury::PyJury;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};

/// One jury from several. Juries that learnt the same file or picks are refused, unless `again`
/// allows them to count twice.
#[pyfunction]
#[pyo3(signature = (juries, *, again = false))]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn merge(py: Python<'_>, juries: Vec<Py<PyJury>>, again: bool) -> Result<PyJury> {
    let all: Vec<&PyJury> = juries.iter().map(Py::get).collect();
    merged(py, &all, again)
}

pub(crate) fn merged(py: Python<'_>, juries: &[&PyJury], again: bool) -> Result<PyJury> {
    let Some((first, others)) = juries.split_first() else {
        return Err(refused("merge", "no state to merge: pass at least one"));
    };
    let mut sum = first.with(py, |inner| inner.clone());
    for (number, other) in others.iter().enumerate() {
        let theirs = other.with(py, |inner| inner.state.clone());
        py.detach(|| -> Result<()> {
            let shared = sum.state.memory.shared(&theirs.memory);
            if shared > 0 && !again {
                let path = format!("state {}", number + 2).into();
                return Err(jurybox_files::Error::SharedHistory { path, shared }.into());
            }
            sum.state.memory.merge(&theirs.memory)?;
            Ok(sum.state.jury.merge(&theirs.jury)?)
        })?;
    }
    sum.fitted = None;
    Ok(PyJury(Arc::new(Mutex::new(sum))))
}
