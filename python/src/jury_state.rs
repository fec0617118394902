//! The state behind the Python class `Jury`, and how it is locked and changed.

use crate::arrays::{self, ScoreTable, is_wide};
use crate::errors::Result;
use crate::fitted::PyFitted;
use crate::jury::PyJury;
use crate::large_arrays;
use crate::work::WorkControl;
use jurybox::Evaluators;
use jurybox::rand::SeedableRng;
use jurybox_files::State;
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state of a jury, the random generator of its picks, and a fit if one was made.
#[derive(Clone)]
pub(crate) struct JuryState {
    pub(crate) state: State,
    pub(crate) rng: ChaCha8Rng,
    pub(crate) evaluators: Arc<Evaluators>,
    pub(crate) names: Arc<Vec<String>>,
    /// A fit of the present state, if one was made.
    pub(crate) fitted: Option<PyFitted>,
}

impl JuryState {
    pub(crate) fn new(state: State, rng: ChaCha8Rng) -> JuryState {
        let evaluators = Arc::new(state.jury.evaluators().clone());
        let names = Arc::new(evaluators.names().map(Into::into).collect());
        JuryState { state, rng, evaluators, names, fitted: None }
    }

    /// Replaces the state by a changed copy of it; the generator stays.
    pub(crate) fn replace(&mut self, state: State) {
        *self = JuryState::new(state, self.rng.clone());
    }

    /// A fit that exists or is quick to make; None if it would take long.
    pub(crate) fn fit_if_quick(&mut self) -> Option<PyFitted> {
        (self.fitted.is_some() || !is_wide(self.names.len())).then(|| self.fit())
    }

    pub(crate) fn fit(&mut self) -> PyFitted {
        self.fitted.get_or_insert_with(|| PyFitted::of(&self.state.jury)).clone()
    }
}

/// The ChaCha8 random generator with this seed.
pub(crate) fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn lock(inner: &Mutex<JuryState>) -> MutexGuard<'_, JuryState> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PyJury {
    /// Runs `work` on the locked jury, without the interpreter: no thread waits for Python while it
    /// holds the lock.
    pub(crate) fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut JuryState) -> T + Send) -> T {
        py.detach(|| work(&mut lock(&self.0)))
    }

    pub(crate) fn evaluators_now(&self, py: Python<'_>) -> Arc<Evaluators> {
        self.with(py, |inner| inner.evaluators.clone())
    }

    /// Runs `work` on the jury with a table of its evaluators' scores and the numbers of the `new`
    /// rows. Scores are read before the lock is taken; if the evaluators change meanwhile, they are
    /// read again.
    pub(crate) fn scored<T: Send + 'static>(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        new: Option<&Bound<'_, PyAny>>,
        work: impl Fn(&mut JuryState, &ScoreTable, Option<&[usize]>, Option<&WorkControl>) -> Result<T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T> {
        let work = Arc::new(work);
        loop {
            let read_for = self.evaluators_now(py);
            let table = arrays::scores(scores, &read_for)?;
            let new = new.map(|new| arrays::rows(new, table.rows, "new")).transpose()?;
            let done = if table.is_large() {
                let work = work.clone();
                large_arrays::change(py, self.0.clone(), read_for, move |inner, control| {
                    work(inner, &table, new.as_deref(), Some(control))
                })?
            } else {
                let seated = |inner: &mut JuryState| inner.evaluators == read_for;
                self.with(py, |inner| seated(inner).then(|| work(inner, &table, new.as_deref(), None)))
                    .transpose()?
            };
            if let Some(done) = done {
                return Ok(done);
            }
        }
    }
}
