//! The Python class `Fitted`: an immutable fit that values and picks items.

use crate::arrays::{self, is_wide};
use crate::errors::{Error, Result, refused};
use crate::jury_state::generator;
use crate::large_arrays;
use crate::names;
use crate::picks::Picks;
use crate::{integers, work};
use jurybox::options::Fraction;
use jurybox::{Direction, Interval, Links, Scratch};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

/// An immutable fit, made by `Jury.fit`; any number of threads may share it.
#[pyclass(frozen, name = "Fitted", module = "jurybox")]
#[derive(Clone)]
pub(crate) struct PyFitted {
    pub(crate) fitted: jurybox::Fitted,
    pub(crate) names: Arc<Vec<String>>,
    /// The state of the jury that was fitted, for pickling: a fit is a pure function of it.
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// The base of each item's value, and the contribution of each evaluator to it (one row per item).
pub(crate) type ContributionArrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// The reward that a group's items have above others with the same scores, and the group's weights
/// by evaluator.
pub(crate) type GroupWeights<'py> = (f64, Bound<'py, PyDict>);

/// Mean, low and high of one interval per item.
pub(crate) type PredictionArrays<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl PyFitted {
    /// The policy with its options, as text.
    #[getter]
    fn policy(&self) -> String {
        self.fitted.spec().to_string()
    }

    /// The names of the evaluators, in column order.
    #[getter]
    fn evaluators(&self) -> Vec<String> {
        self.names.to_vec()
    }

    /// The value that each item is ranked by, before exploration.
    pub(crate) fn values<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyArray1<f64>>> {
        let table = arrays::scores(scores, self.fitted.evaluators())?;
        let fitted = self.fitted.clone();
        let values = large_arrays::compute(py, table, move |table, control| {
            // Probes (`without_looks`) change which items are picked, but not their values.
            if !fitted.picks_by_values() && !fitted.without_looks().picks_by_values() {
                // A policy that picks by other means may value an item by the rest of its round.
                return Ok(fitted.values(&fitted.scores(&table.whole())?)?);
            }
            let (mut values, mut scratch) = (Vec::with_capacity(table.rows), Scratch::new());
            table.each_piece(control, |_, rows| {
                values.extend_from_slice(fitted.values_with(&fitted.scores(rows)?, &mut scratch)?);
                Ok(())
            })?;
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// Picks `k` items, best first and explored ones last. Nothing is learnt or remembered.
    #[pyo3(signature = (scores, k, *, seed = 0, at = 0))]
    fn choose(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integers::k)] k: usize,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
        #[pyo3(from_py_with = integers::time)] at: u64,
    ) -> Result<Picks> {
        let table = arrays::scores(scores, self.fitted.evaluators())?;
        let (fitted, names) = (self.fitted.clone(), self.names.clone());
        large_arrays::compute(py, table, move |table, _| {
            let values = table.whole();
            let picks = fitted.choose(&fitted.scores(&values)?, k, &mut generator(seed))?;
            Ok(Picks::new(names, fitted.evaluators(), picks, at, &values))
        })
    }

    /// The probability with which `choose` picks each item; they sum to `k`.
    pub(crate) fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = integers::k)] k: usize,
    ) -> Result<Bound<'py, PyArray1<f64>>> {
        let table = arrays::scores(scores, self.fitted.evaluators())?;
        let fitted = self.fitted.clone();
        let all = large_arrays::compute(py, table, move |table, _| {
            Ok(fitted.inclusion_probabilities(&fitted.scores(&table.whole())?, k)?)
        })?;
        Ok(PyArray1::from_vec(py, all))
    }

    /// Mean, low and high of each item's prediction interval, which holds the item's reward with
    /// probability `level` on average over items.
    #[pyo3(signature = (scores, *, level = 0.9))]
    pub(crate) fn predict<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        level: f64,
    ) -> Result<PredictionArrays<'py>> {
        let level = fraction(level)?;
        let table = arrays::scores(scores, self.fitted.evaluators())?;
        let fitted = self.fitted.clone();
        let predicted = large_arrays::compute(py, table, move |table, control| {
            let mut ends: Option<[Vec<f64>; 3]> = Some(Default::default());
            table.each_piece(control, |_, rows| {
                let some = fitted.predict(&fitted.scores(rows)?, level)?;
                ends = ends.take().zip(some).map(|(mut ends, some)| {
                    for Interval { mean, low, high } in some {
                        ends.iter_mut().zip([mean, low, high]).for_each(|(end, value)| end.push(value));
                    }
                    ends
                });
                Ok(())
            })?;
            Ok(ends)
        })?;
        let [mean, low, high] = predicted.ok_or_else(|| self.cannot("predict rewards"))?;
        Ok((PyArray1::from_vec(py, mean), PyArray1::from_vec(py, low), PyArray1::from_vec(py, high)))
    }

    /// The base of each item's value and the contribution of each evaluator, one column per
    /// evaluator. They sum to the value.
    pub(crate) fn contributions<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
    ) -> Result<ContributionArrays<'py>> {
        let width = self.names.len();
        let table = arrays::scores(scores, self.fitted.evaluators())?;
        let fitted = self.fitted.clone();
        let told = large_arrays::compute(py, table, move |table, control| {
            let mut told: Option<(Vec<f64>, Vec<f64>)> = Some(Default::default());
            table.each_piece(control, |_, rows| {
                for row in fitted.scores(rows)?.rows() {
                    let why = fitted.contributions(row)?;
                    told = told.take().zip(why).map(|((mut base, mut each), why)| {
                        base.push(why.base);
                        each.extend(why.each);
                        (base, each)
                    });
                }
                Ok(())
            })?;
            Ok(told)
        })?;
        let (base, each) = told.ok_or_else(|| self.cannot("split an item's value into contributions"))?;
        Ok((PyArray1::from_vec(py, base), arrays::table(py, each, width)?))
    }

    /// The weights by evaluator. With `level`, each comes with an interval that contains, with this
    /// probability, the weight that unlimited verdicts on the learnt items would give. The interval
    /// is infinite if the verdicts do not determine the weight. It is widened to contain the weight
    /// itself, which is drawn towards a prior while verdicts are few.
    #[pyo3(signature = (*, level = None))]
    pub(crate) fn weights<'py>(&self, py: Python<'py>, level: Option<f64>) -> Result<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if let Some(level) = level {
            let intervals = self.fitted.weight_intervals(fraction(level)?);
            let intervals = intervals.ok_or_else(|| self.cannot("give intervals for its weights"))?;
            for (name, Interval { mean, low, high }) in self.names.iter().zip(intervals) {
                dict.set_item(name, (mean, low, high))?;
            }
            return Ok(dict);
        }
        let weights = self.fitted.weights().ok_or_else(|| self.cannot("weigh its evaluators"))?;
        for (name, weight) in self.names.iter().zip(weights) {
            dict.set_item(name, weight)?;
        }
        Ok(dict)
    }

    /// For the items of one group: their reward above that of other items with the same scores, and
    /// the weights by evaluator. None for an unknown group, or where groups do not differ.
    pub(crate) fn group_weights<'py>(
        &self,
        py: Python<'py>,
        context: &str,
        group: &Bound<'py, PyAny>,
    ) -> Result<Option<GroupWeights<'py>>> {
        let evaluators = self.fitted.evaluators();
        let column = evaluators.contexts().find(|&column| self.names[column] == context);
        let column = column.ok_or_else(|| names::no_context(context, evaluators))?;
        let Some((more, weights)) = self.fitted.group_weights(column, names::group(group)?) else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        for (at, weight) in weights.into_iter().enumerate() {
            if evaluators.contexts().all(|column| column != at) {
                dict.set_item(&self.names[at], weight)?;
            }
        }
        Ok(Some((more, dict)))
    }

    /// The noise levels by evaluator; None if the policy uses none.
    fn sigma<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some((sigma, _)) = self.fitted.sigma() else { return Ok(None) };
        let dict = PyDict::new(py);
        for (name, sigma) in self.names.iter().zip(sigma) {
            dict.set_item(name, sigma)?;
        }
        Ok(Some(dict))
    }

    /// Severity and noise of those of the named reviewers who gave verdicts: a dict for each, by
    /// name.
    #[pyo3(signature = (names, *, level = 0.9))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    pub(crate) fn reviewers<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = names::reviewers)] names: Vec<String>,
        level: f64,
    ) -> Result<Bound<'py, PyDict>> {
        let (standings, dict) = (self.fitted.reviewers(fraction(level)?), PyDict::new(py));
        for name in &names {
            let reviewer = jurybox_files::reviewer(name);
            let Some(of) = standings.iter().find(|standing| standing.reviewer == reviewer) else { continue };
            let (about, ends) = (PyDict::new(py), |of: Interval| (of.mean, of.low, of.high));
            about.set_item("labels", of.labels)?;
            about.set_item("severity", ends(of.severity))?;
            about.set_item("noise", ends(of.noise))?;
            about.set_item("weight", of.weight)?;
            dict.set_item(name, about)?;
        }
        Ok(dict)
    }

    /// The evaluators or rewards that changed: a dict for each alarm.
    pub(crate) fn alarms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for alarm in self.fitted.alarms() {
            let about = serde_json::to_value(alarm).unwrap_or_default();
            let about = crate::json::with_fields_renamed(about, &[("reading", "statistic")]);
            let dict = crate::json::to_python(py, &about)?;
            dict.set_item("evaluator", alarm.evaluator.map(|at| &self.names[at]))?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// An item's value as an SQL expression over columns named like the evaluators, for items
    /// without missing scores.
    #[pyo3(signature = (dialect = "duckdb"))]
    fn to_sql<'py>(slf: &Bound<'py, Self>, dialect: &str) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("jurybox._sql")?.call_method1("to_sql", (slf, dialect))
    }

    /// For `to_sql`: the name of the link, and for each evaluator whether its low scores mean high
    /// rewards.
    fn _form(&self) -> (String, Vec<bool>) {
        let spec = self.fitted.spec();
        let entry = jurybox::policies().iter().find(|entry| entry.name == spec.name());
        let default = entry.map_or(Links::Identity, |entry| entry.links).default_link();
        let default = serde_json::to_value(default).ok().and_then(|link| link.as_str().map(Into::into));
        let set = spec.options().get("link").and_then(|link| link.as_str().map(Into::into));
        let low = |evaluator: &jurybox::Evaluator| evaluator.direction == Direction::Low;
        let turned = self.fitted.evaluators().as_slice().iter().map(low).collect();
        (set.or(default).unwrap_or_else(|| "identity".to_string()), turned)
    }

    fn __repr__(&self) -> String {
        let shown = format!("Fitted({}, [{}])", self.fitted.spec(), self.names.join(", "));
        jurybox_files::plain(&shown, false).into_owned()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.get_type::<PyFitted>().getattr("_from_bytes")?;
        Ok((make, (&self.bytes[..],).into_pyobject(py)?))
    }

    #[staticmethod]
    fn _from_bytes(py: Python<'_>, bytes: &[u8]) -> Result<PyFitted> {
        let jury = jurybox::Jury::from_bytes(bytes)?;
        if is_wide(jury.evaluators().len()) {
            return work::run(py, None, move |_| -> Result<PyFitted> { Ok(PyFitted::of(&jury)) });
        }
        Ok(py.detach(|| PyFitted::of(&jury)))
    }
}

impl PyFitted {
    pub(crate) fn of(jury: &jurybox::Jury) -> PyFitted {
        PyFitted {
            fitted: jury.fit(),
            names: Arc::new(jury.evaluators().names().map(Into::into).collect()),
            bytes: Arc::new(jury.to_bytes()),
        }
    }

    fn cannot(&self, what: &str) -> Error {
        refused("unsupported", &format!("`{}` cannot {what}", self.fitted.spec().name()))
    }
}

fn fraction(level: f64) -> Result<Fraction> {
    Fraction::try_from(level).map_err(|reason| refused("level", &format!("level {reason}")))
}
