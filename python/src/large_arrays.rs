//! Runs work on tables of scores. Work that may be long has a thread of its own, so that Ctrl-C can
//! interrupt it (`work.rs`).

use crate::arrays::ScoreTable;
use crate::calls::is_same;
use crate::errors::Result;
use crate::jury_state::{JuryState, lock};
use crate::work::{self, WorkControl};
use jurybox::Evaluators;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, TryLockError};

/// Runs `work` on a table, without holding the interpreter.
pub(crate) fn compute<T: Send + 'static>(
    py: Python<'_>,
    table: ScoreTable,
    work: impl FnOnce(&ScoreTable, Option<&WorkControl>) -> Result<T> + Send + 'static,
) -> Result<T> {
    if table.is_large() {
        work::run(py, None, move |control| work(&table, Some(control)))
    } else {
        py.detach(|| work(&table, None))
    }
}

/// Changes a jury by `work` on a large table that was read for the evaluators `read_for`. None if
/// the jury has other evaluators by now.
///
/// The work is done on a copy. The caller's thread puts the copy in place right after a check for
/// signals, so that after Ctrl-C the jury is unchanged. If another thread changed the jury
/// meanwhile, the work is repeated on the locked jury.
pub(crate) fn change<T: Send + 'static>(
    py: Python<'_>,
    jury: Arc<Mutex<JuryState>>,
    read_for: Arc<Evaluators>,
    work: impl Fn(&mut JuryState, &WorkControl) -> Result<T> + Send + Sync + 'static,
) -> Result<Option<T>> {
    let (held, work) = (jury.clone(), Arc::new(work));
    let (first, seated) = (work.clone(), read_for.clone());
    let done = work::run(py, None, move |control| -> Result<_> {
        let before = lock(&held).clone();
        if before.evaluators != seated {
            return Ok(None);
        }
        let mut after = before.clone();
        let found = first(&mut after, control)?;
        Ok(Some((before, after, found)))
    })?;
    let Some((before, after, found)) = done else { return Ok(None) };
    loop {
        py.check_signals()?;
        // Does not wait for the lock, so that no signal comes between the check and the change.
        match jury.try_lock() {
            Ok(mut inner) if inner.rng == before.rng && is_same(&inner.state, &before.state) => {
                *inner = after;
                return Ok(Some(found));
            }
            Err(TryLockError::WouldBlock) => py.detach(|| drop(lock(&jury))),
            _ => break,
        }
    }
    work::run(py, None, move |control| -> Result<_> {
        let mut inner = lock(&jury);
        if inner.evaluators != read_for {
            return Ok(None);
        }
        let mut after = inner.clone();
        let found = work(&mut after, control)?;
        control.still_wanted()?;
        *inner = after;
        Ok(Some(found))
    })
}
