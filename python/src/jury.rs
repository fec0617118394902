//! The jury: what learns, with the generator of its draws.

use crate::arrays::{self, Table, is_wide};
use crate::errors::{Result, refused};
use crate::fitted::{BaseAndEach, Ends, Fitted};
use crate::large;
use crate::picks::Picks;
use crate::policies::spec;
use crate::sum::merged;
use crate::taught::{Learnt, history, reviewers_of, taught, unseen};
use crate::whole;
use crate::work::{self, Reins};
use jurybox::rand::SeedableRng;
use jurybox::{Direction, Evaluator, Evaluators};
use jurybox_files::{Remembered, State};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use rand_chacha::ChaCha8Rng;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A policy that learns over named evaluators.
#[pyclass(frozen, module = "jurybox", weakref)]
pub(crate) struct Jury(pub(crate) Arc<Mutex<Inner>>);

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) rng: ChaCha8Rng,
    pub(crate) evaluators: Arc<Evaluators>,
    names: Arc<Vec<String>>,
    /// A fit of the present state, once somebody has asked for one.
    pub(crate) fitted: Option<Fitted>,
}

impl Inner {
    pub(crate) fn new(state: State, rng: ChaCha8Rng) -> Inner {
        let evaluators = Arc::new(state.jury.evaluators().clone());
        let names = Arc::new(evaluators.names().map(Into::into).collect());
        Inner { state, rng, evaluators, names, fitted: None }
    }

    /// Takes another state, learnt elsewhere from this one.
    pub(crate) fn replace(&mut self, state: State) {
        *self = Inner::new(state, self.rng.clone());
    }

    /// A fit that is at hand, or takes no time to speak of.
    fn fit_soon(&mut self) -> Option<Fitted> {
        (self.fitted.is_some() || !is_wide(self.names.len())).then(|| self.fit())
    }

    fn fit(&mut self) -> Fitted {
        self.fitted.get_or_insert_with(|| Fitted::of(&self.state.jury)).clone()
    }
}

fn directed(name: &str, invert: &[String]) -> Evaluator {
    if invert.iter().any(|low| low == name) { Evaluator::low(name) } else { Evaluator::from(name) }
}

/// The generator of a seed: the same draws as in Rust.
pub(crate) fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

impl Jury {
    pub(crate) fn of(state: State, rng: ChaCha8Rng) -> Jury {
        Jury(Arc::new(Mutex::new(Inner::new(state, rng))))
    }

    /// Works on the jury, detached: nobody waits for the interpreter while holding the lock.
    pub(crate) fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Inner) -> T + Send) -> T {
        py.detach(|| work(&mut lock(&self.0)))
    }

    fn evaluators_now(&self, py: Python<'_>) -> Arc<Evaluators> {
        self.with(py, |inner| inner.evaluators.clone())
    }

    /// Works on the jury with scores of its evaluators, and with the rows among them that are `new`. What was given is read before
    /// the lock is taken, so that others may have been seated meanwhile: then it is read again for them.
    fn scored<T: Send + 'static>(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        new: Option<&Bound<'_, PyAny>>,
        work: impl Fn(&mut Inner, &Table, Option<&[usize]>, Option<&Reins>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let work = Arc::new(work);
        loop {
            let read_for = self.evaluators_now(py);
            let table = arrays::scores(scores, &read_for)?;
            let new = new.map(|new| arrays::rows(new, table.rows, "new")).transpose()?;
            let done = if table.is_large() {
                let work = work.clone();
                large::change(py, self.0.clone(), read_for, move |inner, reins| {
                    work(inner, &table, new.as_deref(), Some(reins))
                })?
            } else {
                let seated = |inner: &mut Inner| inner.evaluators == read_for;
                self.with(py, |inner| seated(inner).then(|| work(inner, &table, new.as_deref(), None)))
                    .transpose()?
            };
            if let Some(done) = done {
                return Ok(done);
            }
        }
    }
}

pub(crate) fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Jury {
    #[new]
    #[pyo3(signature = (evaluators, policy = None, *, seed = 0, invert = Vec::new(), **options))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn new(
        evaluators: Vec<String>,
        policy: Option<&str>,
        #[pyo3(from_py_with = whole::seed)] seed: u64,
        invert: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> Result<Jury> {
        if let Some(name) = invert.iter().find(|name| !evaluators.contains(name)) {
            return Err(refused("evaluators", &format!("evaluators: there is no `{name}` to invert")));
        }
        let evaluators = Evaluators::new(evaluators.iter().map(|name| directed(name, &invert)))?;
        let none = PyDict::new(py);
        let default = jurybox::Spec::default().to_string();
        let spec = spec(policy.unwrap_or(&default), options.unwrap_or(&none), Some(&evaluators))?;
        Ok(Jury::of(State::from(jurybox::Jury::new(&spec, evaluators)?), generator(seed)))
    }

    /// The policy with its options, as text.
    #[getter]
    fn policy(&self, py: Python<'_>) -> String {
        self.with(py, |inner| inner.state.jury.spec().to_string())
    }

    /// The names of the evaluators, in the order of the columns.
    #[getter]
    fn evaluators(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |inner| inner.names.to_vec())
    }

    /// Evaluators whose low scores speak for a high reward.
    #[getter]
    fn inverted(&self, py: Python<'_>) -> Vec<String> {
        let evaluators = self.evaluators_now(py);
        let low = |evaluator: &&Evaluator| evaluator.direction == Direction::Low;
        evaluators.as_slice().iter().filter(low).map(|evaluator| evaluator.name.clone()).collect()
    }

    /// How much has been seen: a dict of counts.
    #[getter]
    fn seen<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seen = self.with(py, |inner| inner.state.jury.seen());
        crate::json::to_python(py, &serde_json::to_value(seen).unwrap_or_default())
    }

    /// One round: picks `k` items and sees the scores of all of them.
    #[pyo3(signature = (scores, k, *, at = None, new = None))]
    fn round(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole::k)] k: usize,
        #[pyo3(from_py_with = whole::at)] at: Option<u64>,
        new: Option<&Bound<'_, PyAny>>,
    ) -> Result<Picks> {
        self.scored(py, scores, new, move |inner, table, new, _| {
            let Inner { state, rng, .. } = inner;
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
            Ok(Picks::new(inner.names.clone(), picks, at, &values))
        })
    }

    /// Picks `k` items by what has been learnt, and changes nothing but the generator; with `seed`, not even that.
    #[pyo3(signature = (scores, k, *, seed = None, at = None))]
    fn choose(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole::k)] k: usize,
        #[pyo3(from_py_with = whole::seed_or_none)] seed: Option<u64>,
        #[pyo3(from_py_with = whole::at)] at: Option<u64>,
    ) -> Result<Picks> {
        self.scored(py, scores, None, move |inner, table, _, _| {
            let (fitted, values) = (inner.fit().fitted, table.whole());
            let scores = fitted.scores(&values)?;
            let picks = match seed {
                Some(seed) => fitted.choose(&scores, k, &mut generator(seed))?,
                None => fitted.choose(&scores, k, &mut inner.rng)?,
            };
            let at = at.unwrap_or_else(|| inner.state.jury.seen().next_time());
            Ok(Picks::new(inner.names.clone(), picks, at, &values))
        })
    }

    /// Sees a round's scores, each item once, whatever was chosen from it.
    #[pyo3(signature = (scores, *, at = None))]
    fn observe(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole::at)] at: Option<u64>,
    ) -> Result<()> {
        self.scored(py, scores, None, move |inner, table, _, _| {
            let jury = &mut inner.state.jury;
            let at = at.unwrap_or_else(|| jury.seen().next_time());
            jury.observe(&jury.scores(&table.whole())?, at)?;
            inner.fitted = None;
            Ok(())
        })
    }

    /// Learns what picks were worth; or what items were worth that nobody picked, given by their scores.
    #[pyo3(signature = (picks, rewards, *, reviewers = None, at = None))]
    fn learn(
        &self,
        py: Python<'_>,
        picks: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        reviewers: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole::at)] at: Option<u64>,
    ) -> Result<Learnt> {
        let rewards = arrays::numbers(rewards, "rewards")?;
        let by = reviewers_of(reviewers, rewards.len())?;
        let many = |rewards: usize, found: usize| {
            refused("shape", &format!("{rewards} rewards for {found} items: pass one for each"))
        };
        if let Ok(picks) = picks.cast::<Picks>() {
            let picks = picks.get();
            if picks.picks.len() != rewards.len() {
                return Err(many(rewards.len(), picks.picks.len()));
            }
            return self.with(py, |inner| {
                let Inner { state, names, fitted, .. } = inner;
                let learnt = taught(&mut state.jury, names, picks, &rewards, &by, at)?;
                *fitted = None;
                Ok(learnt)
            });
        }
        if let Some(line) = self.with(py, |inner| unseen(&inner.state.jury, rewards.len())) {
            py.import("jurybox._asked")?.call_method1("warn", ((line,), 2))?;
        }
        self.scored(py, picks, None, move |inner, table, _, reins| {
            if table.rows != rewards.len() {
                return Err(many(rewards.len(), table.rows));
            }
            let jury = &mut inner.state.jury;
            let at = at.unwrap_or_else(|| jury.seen().latest.unwrap_or(0));
            let learnt = history(jury, table, &rewards, &by, at, reins)?;
            inner.fitted = None;
            Ok(learnt)
        })
    }

    /// What ranks, by all that has been learnt up to now.
    fn fit(&self, py: Python<'_>) -> Result<Fitted> {
        if let Some(fitted) = self.with(py, Inner::fit_soon) {
            return Ok(fitted);
        }
        let held = self.0.clone();
        work::run(py, None, move |_| -> Result<Fitted> {
            // Of a copy: a jury that nobody waits for any more is free.
            let jury = lock(&held).state.jury.clone();
            let fitted = Fitted::of(&jury);
            let mut inner = lock(&held);
            if inner.state.jury.to_bytes() == *fitted.bytes {
                inner.fitted = Some(fitted.clone());
            }
            Ok(fitted)
        })
    }

    /// Seats other evaluators in place of these: what was learnt stays with the names.
    #[pyo3(signature = (evaluators, *, invert = Vec::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn reseat(&self, py: Python<'_>, evaluators: Vec<String>, invert: Vec<String>) -> Result<()> {
        self.with(py, |inner| {
            let before = inner.state.jury.evaluators().clone();
            let seated = |name: &String| {
                let known = before.position(name).map(|at| before.as_slice()[at].clone());
                known.unwrap_or_else(|| directed(name, &invert))
            };
            let mut state = inner.state.clone();
            state.jury.reseat(Evaluators::new(evaluators.iter().map(seated))?)?;
            inner.replace(state);
            Ok(())
        })
    }

    /// The whole jury as one JSON document, without what it was taught with.
    fn to_json(&self, py: Python<'_>) -> String {
        self.with(py, |inner| inner.state.jury.to_json())
    }

    /// Reads what `to_json` wrote.
    #[staticmethod]
    #[pyo3(signature = (text, *, seed = 0))]
    fn from_json(text: &str, #[pyo3(from_py_with = whole::seed)] seed: u64) -> Result<Jury> {
        Ok(Jury::of(State::from(jurybox::Jury::from_json(text)?), generator(seed)))
    }

    /// Writes a state file, whole or not at all: what `jurybox --state` reads.
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        Ok(self.with(py, |inner| inner.state.write(&path))?)
    }

    /// Reads a state file.
    #[staticmethod]
    #[pyo3(signature = (path, *, seed = 0))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn load(py: Python<'_>, path: PathBuf, #[pyo3(from_py_with = whole::seed)] seed: u64) -> Result<Jury> {
        Ok(Jury::of(py.detach(|| State::read(&path))?, generator(seed)))
    }

    /// The reward that was learnt from tables, if any: its column, and whether low means high.
    fn _reward(&self, py: Python<'_>) -> Option<(String, bool)> {
        let reward = self.with(py, |inner| inner.state.memory.reward())?;
        Some((reward.name, reward.direction == Direction::Low))
    }

    /// The columns that say which group an item belongs to.
    fn _contexts(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |inner| {
            let evaluators = inner.state.jury.evaluators();
            evaluators.contexts().map(|column| evaluators.as_slice()[column].name.clone()).collect()
        })
    }

    /// Whether a file was learnt from.
    fn _knows_file(&self, py: Python<'_>, fingerprint: &str) -> bool {
        self.with(py, |inner| inner.state.memory.knows_file(fingerprint))
    }

    /// Whether anything was picked from.
    fn _has_picked(&self, py: Python<'_>) -> bool {
        self.with(py, |inner| inner.state.memory.knows_rounds())
    }

    /// Whether both were taught with the same file, or the same rows.
    fn _shares(&self, py: Python<'_>, other: &Jury) -> bool {
        let theirs = other.with(py, |inner| inner.state.memory.clone());
        self.with(py, |inner| inner.state.memory.shared(&theirs) > 0)
    }

    /// Refuses a file that was picked from: its rows have been seen.
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn _refuse_picked_from(&self, py: Python<'_>, path: PathBuf, fingerprint: &str) -> Result<()> {
        if self.with(py, |inner| inner.state.memory.knows_picked_file(fingerprint)) {
            return Err(jurybox_files::Error::PickedFrom { path: path.clone() }.into());
        }
        Ok(())
    }

    /// The value that each item is ranked by, exploration aside.
    fn values<'py>(&self, py: Python<'py>, scores: &Bound<'py, PyAny>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.fit(py)?.values(py, scores)
    }

    /// The probability of each item to be picked by `choose`; they sum to `k`.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = whole::k)] k: usize,
    ) -> Result<Bound<'py, PyArray1<f64>>> {
        self.fit(py)?.probabilities(py, scores, k)
    }

    /// The reward of each item: mean, low and high of an interval that holds it with probability `level`.
    #[pyo3(signature = (scores, *, level = 0.9))]
    fn predict<'py>(&self, py: Python<'py>, scores: &Bound<'py, PyAny>, level: f64) -> Result<Ends<'py>> {
        self.fit(py)?.predict(py, scores, level)
    }

    /// What each evaluator adds to the value of each item: a base, and one column per evaluator.
    fn contributions<'py>(&self, py: Python<'py>, scores: &Bound<'py, PyAny>) -> Result<BaseAndEach<'py>> {
        self.fit(py)?.contributions(py, scores)
    }

    /// The weights of the evaluators by name; with `level`, each with the ends of an interval that holds with that probability what
    /// endless verdicts on the items learnt from would give. They are infinite where the labels cannot tell yet.
    #[pyo3(signature = (*, level = None))]
    fn weights<'py>(&self, py: Python<'py>, level: Option<f64>) -> Result<Bound<'py, PyDict>> {
        self.fit(py)?.weights(py, level)
    }

    /// Those of these names who judged, beside one another: one dict each.
    #[pyo3(signature = (names, *, level = 0.9))]
    fn reviewers<'py>(&self, py: Python<'py>, names: Vec<String>, level: f64) -> Result<Bound<'py, PyDict>> {
        self.fit(py)?.reviewers(py, names, level)
    }

    /// What is not what it was, evaluators or rewards: one dict each.
    fn alarms<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        Ok(self.fit(py)?.alarms(py)?)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._show")?.call_method1("jury_text", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._show")?.call_method1("jury_html", (slf,))
    }

    fn __add__(&self, py: Python<'_>, other: &Jury) -> Result<Jury> {
        merged(py, &[self, other], false)
    }

    /// So that `sum(juries)` is one jury: it begins with 0.
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if other.extract::<i64>().is_ok_and(|zero| zero == 0) {
            return Ok(Bound::new(py, slf.get().__copy__(py))?.into_any());
        }
        Ok(py.NotImplemented().into_bound(py))
    }

    fn __copy__(&self, py: Python<'_>) -> Jury {
        Jury(Arc::new(Mutex::new(self.with(py, |inner| inner.clone()))))
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Jury {
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

/// A jury out of a pickle.
#[pyfunction]
pub(crate) fn jury_from_parts(
    bytes: &[u8],
    memory: &str,
    seed: [u8; 32],
    stream: u64,
    place: u128,
) -> Result<Jury> {
    let jury = jurybox::Jury::from_bytes(bytes)?;
    let memory: Remembered =
        serde_json::from_str(memory).map_err(|e| refused("state", &format!("a damaged memory: {e}")))?;
    let mut rng = ChaCha8Rng::from_seed(seed);
    rng.set_stream(stream);
    rng.set_word_pos(place);
    Ok(Jury::of(State { jury, memory }, rng))
}
