//! The Python class `Jury`: a policy that learns, and the random generator of its picks.

use crate::arrays;
use crate::errors::{Result, refused};
use crate::fitted::{ContributionArrays, GroupWeights, PredictionArrays, PyFitted};
use crate::integers;
use crate::jury_state::{JuryState, generator, lock};
use crate::merge::merged;
use crate::names::{self, directed, new_evaluators};
use crate::picks::{Picks, picks_from_python};
use crate::policies::spec;
use crate::teaching::{
    LearntCounts, check_contexts, learn_picks, learn_unpicked, not_observed_warning,
    other_evaluators_warning, reviewers_of, unused_reviewers_warning,
};
use crate::work;
use jurybox::rand::SeedableRng;
use jurybox::{Direction, Evaluators};
use jurybox_files::{State, StateMemory};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use rand_chacha::ChaCha8Rng;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A policy that learns over named evaluators.
#[pyclass(frozen, name = "Jury", module = "jurybox", weakref)]
pub(crate) struct PyJury(pub(crate) Arc<Mutex<JuryState>>);

impl PyJury {
    pub(crate) fn of(state: State, rng: ChaCha8Rng) -> PyJury {
        PyJury(Arc::new(Mutex::new(JuryState::new(state, rng))))
    }
}

#[pymethods]
impl PyJury {
    #[new]
    #[pyo3(signature = (evaluators, policy = None, *, seed = 0, invert = Vec::new(), context = Vec::new(), **options))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn new(
        #[pyo3(from_py_with = names::evaluators)] evaluators: Vec<String>,
        policy: Option<&str>,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
        #[pyo3(from_py_with = names::invert)] invert: Vec<String>,
        #[pyo3(from_py_with = names::context)] context: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<PyJury> {
        let evaluators = new_evaluators(evaluators, &invert, &context)?;
        let none = PyDict::new(py);
        let default = jurybox::Spec::default().to_string();
        let spec = spec(policy.unwrap_or(&default), options.unwrap_or(&none), Some(&evaluators))?;
        Ok(PyJury::of(State::from(jurybox::Jury::new(&spec, evaluators)?), generator(seed)))
    }

    /// The policy with its options, as text.
    #[getter]
    fn policy(&self, py: Python<'_>) -> String {
        self.with(py, |inner| inner.state.jury.spec().to_string())
    }

    /// The names of the evaluators, in column order.
    #[getter]
    fn evaluators(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |inner| inner.names.to_vec())
    }

    /// The evaluators whose low scores mean high rewards.
    #[getter]
    fn inverted(&self, py: Python<'_>) -> Vec<String> {
        let evaluators = self.evaluators_now(py);
        let low = |evaluator: &&jurybox::Evaluator| evaluator.direction == Direction::Low;
        evaluators.as_slice().iter().filter(low).map(|evaluator| evaluator.name.clone()).collect()
    }

    /// The columns that name an item's group and are not scores.
    #[getter]
    fn contexts(&self, py: Python<'_>) -> Vec<String> {
        let evaluators = self.evaluators_now(py);
        evaluators.contexts().map(|column| evaluators.as_slice()[column].name.clone()).collect()
    }

    /// Counts of what the jury has seen, as a dict.
    #[getter]
    fn seen<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seen = self.with(py, |inner| inner.state.jury.seen());
        let seen = serde_json::to_value(seen).unwrap_or_default();
        let renamed = [("passed_over", "ignored_rewards"), ("outside", "out_of_range")];
        crate::json::to_python(py, &crate::json::with_fields_renamed(seen, &renamed))
    }

    /// One round: picks `k` items and observes the scores of all items, or, with `new`, only of the
    /// rows listed there.
    #[pyo3(signature = (scores, k, *, at = None, new = None))]
    fn round(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integers::k)] k: usize,
        #[pyo3(from_py_with = integers::at)] at: Option<u64>,
        new: Option<&Bound<'_, PyAny>>,
    ) -> Result<Picks> {
        self.scored(py, scores, new, move |inner, table, new, _| {
            let JuryState { state, rng, .. } = inner;
            let jury = &mut state.jury;
            let (width, values) = (jury.evaluators().len(), table.whole());
            let at = at.unwrap_or_else(|| jury.seen().next_time());
            let pool = jury.scores(&values)?;
            let picks = match new {
                None => jury.round(&pool, at, k, rng)?,
                Some(new) => {
                    let rows: Vec<f64> = new
                        .iter()
                        .flat_map(|&row| &values[row * width..(row + 1) * width])
                        .copied()
                        .collect();
                    let fresh = jury.scores(&rows)?;
                    jury.round_from_pool(&pool, &fresh, at, k, rng)?
                }
            };
            inner.fitted = None;
            Ok(Picks::new(inner.names.clone(), &inner.evaluators, picks, at, &values))
        })
    }

    /// Picks `k` items by what has been learnt. Only the random generator changes; with `seed`, not
    /// even that.
    #[pyo3(signature = (scores, k, *, seed = None, at = None))]
    fn choose(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integers::k)] k: usize,
        #[pyo3(from_py_with = integers::seed_or_none)] seed: Option<u64>,
        #[pyo3(from_py_with = integers::at)] at: Option<u64>,
    ) -> Result<Picks> {
        self.scored(py, scores, None, move |inner, table, _, _| {
            let (fitted, values) = (inner.fit().fitted, table.whole());
            let scores = fitted.scores(&values)?;
            let picks = match seed {
                Some(seed) => fitted.choose(&scores, k, &mut generator(seed))?,
                None => fitted.choose(&scores, k, &mut inner.rng)?,
            };
            let at = at.unwrap_or_else(|| inner.state.jury.seen().next_time());
            Ok(Picks::new(inner.names.clone(), &inner.evaluators, picks, at, &values))
        })
    }

    /// Observes the scores of a round's items, each once, whether or not they were picked.
    #[pyo3(signature = (scores, *, at = None))]
    fn observe(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integers::at)] at: Option<u64>,
    ) -> Result<()> {
        self.scored(py, scores, None, move |inner, table, _, _| {
            let jury = &mut inner.state.jury;
            let at = at.unwrap_or_else(|| jury.seen().next_time());
            jury.observe(&jury.scores(&table.whole())?, at)?;
            inner.fitted = None;
            Ok(())
        })
    }

    /// Learns the rewards of picks, or of items that were not picked, given by their scores. Picks
    /// that are learnt twice count twice: unlike `jurybox.learn(picks=...)`, a jury does not
    /// remember single picks.
    #[pyo3(signature = (picks, rewards, *, reviewers = None, at = None))]
    fn learn(
        &self,
        py: Python<'_>,
        picks: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        reviewers: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::at)] at: Option<u64>,
    ) -> Result<LearntCounts> {
        let rewards = arrays::numbers(rewards, "rewards")?;
        let by = reviewers_of(reviewers, rewards.len())?;
        let many = |rewards: usize, found: usize| {
            refused("shape", &format!("{rewards} rewards for {found} items: pass one for each"))
        };
        if let Some(line) = self.with(py, |inner| unused_reviewers_warning(&inner.state.jury, &by)) {
            py.import("jurybox._table_options")?.call_method1("warn", ((line,), 2))?;
        }
        let evaluators = self.evaluators_now(py);
        if let Some(picks) = picks_from_python(picks, &evaluators)? {
            let picks = picks.get();
            if picks.picks.len() != rewards.len() {
                return Err(many(rewards.len(), picks.picks.len()));
            }
            // Warned about before anything is learnt: a warning turned into an error leaves the
            // jury as it is.
            check_contexts(&evaluators, picks)?;
            if let Some(line) = other_evaluators_warning(&evaluators, picks) {
                py.import("jurybox._table_options")?.call_method1("warn", ((line,), 2))?;
            }
            return self.with(py, |inner| {
                let JuryState { state, names, fitted, .. } = inner;
                let learnt = learn_picks(&mut state.jury, names, picks, &rewards, &by, at)?;
                *fitted = None;
                Ok(learnt)
            });
        }
        if let Some(line) = self.with(py, |inner| not_observed_warning(&inner.state.jury, rewards.len())) {
            py.import("jurybox._table_options")?.call_method1("warn", ((line,), 2))?;
        }
        self.scored(py, picks, None, move |inner, table, _, control| {
            if table.rows != rewards.len() {
                return Err(many(rewards.len(), table.rows));
            }
            let jury = &mut inner.state.jury;
            let at = at.unwrap_or_else(|| jury.seen().latest.unwrap_or(0));
            let learnt = learn_unpicked(jury, table, &rewards, &by, at, control)?;
            inner.fitted = None;
            Ok(learnt)
        })
    }

    /// An immutable fit of everything learnt so far.
    fn fit(&self, py: Python<'_>) -> Result<PyFitted> {
        if let Some(fitted) = self.with(py, JuryState::fit_if_quick) {
            return Ok(fitted);
        }
        let held = self.0.clone();
        work::run(py, None, move |_| -> Result<PyFitted> {
            // Fits a copy, so that the jury is not locked meanwhile, even if the caller stops
            // waiting.
            let jury = lock(&held).state.jury.clone();
            let fitted = PyFitted::of(&jury);
            let mut inner = lock(&held);
            if inner.state.jury.to_bytes() == *fitted.bytes {
                inner.fitted = Some(fitted.clone());
            }
            Ok(fitted)
        })
    }

    /// Replaces the evaluators. Evaluators of the same name keep their learnt figures.
    #[pyo3(signature = (evaluators, *, invert = Vec::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn set_evaluators(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = names::evaluators)] evaluators: Vec<String>,
        #[pyo3(from_py_with = names::invert)] invert: Vec<String>,
    ) -> Result<()> {
        self.with(py, |inner| {
            let before = inner.state.jury.evaluators().clone();
            let seated = |name: &String| {
                let known = before.position(name).map(|at| before.as_slice()[at].clone());
                known.unwrap_or_else(|| directed(name, &invert))
            };
            let mut state = inner.state.clone();
            state.jury.set_evaluators(Evaluators::new(evaluators.iter().map(seated))?)?;
            inner.replace(state);
            Ok(())
        })
    }

    /// The jury as a JSON document, without its generator and the record of files and picks it
    /// learnt.
    fn to_json(&self, py: Python<'_>) -> String {
        self.with(py, |inner| inner.state.jury.to_json())
    }

    /// Reads the output of `to_json`.
    #[staticmethod]
    #[pyo3(signature = (text, *, seed = 0))]
    fn from_json(text: &str, #[pyo3(from_py_with = integers::seed)] seed: u64) -> Result<PyJury> {
        Ok(PyJury::of(State::from(jurybox::Jury::from_json(text)?), generator(seed)))
    }

    /// Writes a state file, which `jurybox --state` reads. On an error the old file stays.
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        Ok(self.with(py, |inner| inner.state.write(&path))?)
    }

    /// Reads a state file.
    #[staticmethod]
    #[pyo3(signature = (path, *, seed = 0))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
    ) -> Result<PyJury> {
        Ok(PyJury::of(py.detach(|| State::read(&path))?, generator(seed)))
    }

    /// The reward column that was learnt from tables, and whether its low values mean high rewards;
    /// None if there is none.
    fn _reward(&self, py: Python<'_>) -> Option<(String, bool)> {
        let reward = self.with(py, |inner| inner.state.memory.reward())?;
        Some((reward.name, reward.direction == Direction::Low))
    }

    /// Whether the jury learnt from the file with this fingerprint.
    fn _knows_file(&self, py: Python<'_>, fingerprint: &str) -> bool {
        self.with(py, |inner| inner.state.memory.knows_file(fingerprint))
    }

    /// Whether the jury has picked from any table.
    fn _has_picked(&self, py: Python<'_>) -> bool {
        self.with(py, |inner| inner.state.memory.knows_rounds())
    }

    /// Whether both juries learnt from the same file, round or verdict.
    fn _shares(&self, py: Python<'_>, other: &PyJury) -> bool {
        let theirs = other.with(py, |inner| inner.state.memory.clone());
        self.with(py, |inner| inner.state.memory.shared(&theirs) > 0)
    }

    /// Errors if the file was picked from, since its rows have been observed already.
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn _refuse_picked_from(&self, py: Python<'_>, path: PathBuf, fingerprint: &str) -> Result<()> {
        if self.with(py, |inner| inner.state.memory.knows_picked_file(fingerprint)) {
            return Err(jurybox_files::Error::PickedFrom { path: path.clone() }.into());
        }
        Ok(())
    }

    /// The value that each item is ranked by, before exploration.
    fn values<'py>(&self, py: Python<'py>, scores: &Bound<'py, PyAny>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.fit(py)?.values(py, scores)
    }

    /// The probability with which `choose` picks each item; they sum to `k`.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = integers::k)] k: usize,
    ) -> Result<Bound<'py, PyArray1<f64>>> {
        self.fit(py)?.probabilities(py, scores, k)
    }

    /// Mean, low and high of each item's prediction interval, which holds the item's reward with
    /// probability `level` on average over items.
    #[pyo3(signature = (scores, *, level = 0.9))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        level: f64,
    ) -> Result<PredictionArrays<'py>> {
        self.fit(py)?.predict(py, scores, level)
    }

    /// The base of each item's value and the contribution of each evaluator, one column per
    /// evaluator.
    fn contributions<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
    ) -> Result<ContributionArrays<'py>> {
        self.fit(py)?.contributions(py, scores)
    }

    /// The weights by evaluator; with `level`, each as weight, low and high of its interval (see
    /// `Fitted.weights`).
    #[pyo3(signature = (*, level = None))]
    fn weights<'py>(&self, py: Python<'py>, level: Option<f64>) -> Result<Bound<'py, PyDict>> {
        self.fit(py)?.weights(py, level)
    }

    /// For the items of one group: their reward above that of other items with the same scores, and
    /// the weights by evaluator. None for an unknown group, or where groups do not differ.
    fn group_weights<'py>(
        &self,
        py: Python<'py>,
        context: &str,
        group: &Bound<'py, PyAny>,
    ) -> Result<Option<GroupWeights<'py>>> {
        self.fit(py)?.group_weights(py, context, group)
    }

    /// Severity and noise of those of the named reviewers who gave verdicts: a dict for each, by
    /// name.
    #[pyo3(signature = (names, *, level = 0.9))]
    fn reviewers<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = names::reviewers)] names: Vec<String>,
        level: f64,
    ) -> Result<Bound<'py, PyDict>> {
        self.fit(py)?.reviewers(py, names, level)
    }

    /// The evaluators or rewards that changed: a dict for each alarm.
    fn alarms<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        Ok(self.fit(py)?.alarms(py)?)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("jury_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._display")?.call_method1("jury_html", (slf,))
    }

    fn __add__(&self, py: Python<'_>, other: &PyJury) -> Result<PyJury> {
        merged(py, &[self, other], false)
    }

    /// Makes `sum(juries)` work, which begins with 0.
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if other.extract::<i64>().is_ok_and(|zero| zero == 0) {
            return Ok(Bound::new(py, slf.get().__copy__(py))?.into_any());
        }
        Ok(py.NotImplemented().into_bound(py))
    }

    fn __copy__(&self, py: Python<'_>) -> PyJury {
        PyJury(Arc::new(Mutex::new(self.with(py, |inner| inner.clone()))))
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyJury {
        self.__copy__(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.import("jurybox._core")?.getattr("jury_from_parts")?;
        let (bytes, memory, rng) = self.with(py, |inner| {
            let memory = serde_json::to_string(&inner.state.memory).unwrap_or_default();
            (inner.state.jury.to_bytes(), memory, inner.rng.clone())
        });
        let seed = PyBytes::new(py, &rng.get_seed());
        let parts = (PyBytes::new(py, &bytes), memory, seed, rng.get_stream(), rng.get_word_pos());
        Ok((make, parts.into_pyobject(py)?))
    }
}

/// A jury from a pickle.
#[pyfunction]
pub(crate) fn jury_from_parts(
    bytes: &[u8],
    memory: &str,
    seed: [u8; 32],
    stream: u64,
    place: u128,
) -> Result<PyJury> {
    let jury = jurybox::Jury::from_bytes(bytes)?;
    let memory: StateMemory =
        serde_json::from_str(memory).map_err(|e| refused("state", &format!("a damaged memory: {e}")))?;
    let mut rng = ChaCha8Rng::from_seed(seed);
    rng.set_stream(stream);
    rng.set_word_pos(place);
    Ok(PyJury::of(State { jury, memory }, rng))
}
