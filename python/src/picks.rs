//! The Python class `Picks`: picked items with the receipts that are needed to learn from their
//! verdicts.

use crate::arrays;
use crate::errors::{Result, refused};
use jurybox::{Evaluators, Pick, Receipt};
use numpy::{PyArray1, PyArray2, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping, PySlice, PyString, PyTuple};
use std::sync::Arc;

/// Picked items with everything needed to learn from them later.
#[pyclass(frozen, module = "jurybox", eq)]
#[derive(Clone)]
pub(crate) struct Picks {
    pub(crate) names: Arc<Vec<String>>,
    /// The evaluators that are contexts, whose numbers are groups and not scores. None if not
    /// recorded: picks of earlier versions may have contexts all the same.
    pub(crate) contexts: Option<Vec<String>>,
    pub(crate) picks: Vec<Pick>,
    /// The time of each pick's round.
    pub(crate) at: Vec<u64>,
    /// The scores of all picks, row by row.
    pub(crate) scores: Vec<f64>,
}

impl PartialEq for Picks {
    fn eq(&self, other: &Picks) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        self.names == other.names
            && self.contexts() == other.contexts()
            && self.picks == other.picks
            && self.at == other.at
            && self.scores.len() == other.scores.len()
            && self.scores.iter().zip(&other.scores).all(same)
    }
}

impl Picks {
    /// The picks of a round, with their scores from the round's table. `names` are the names of
    /// `evaluators`.
    pub(crate) fn new(
        names: Arc<Vec<String>>,
        evaluators: &Evaluators,
        picks: Vec<Pick>,
        at: u64,
        table: &[f64],
    ) -> Picks {
        let contexts = Some(evaluators.contexts().map(|column| names[column].clone()).collect());
        let width = names.len();
        let mut scores = Vec::with_capacity(picks.len() * width);
        for pick in &picks {
            scores.extend_from_slice(&table[pick.item * width..(pick.item + 1) * width]);
        }
        let at = vec![at; picks.len()];
        Picks { names, contexts, picks, at, scores }
    }

    pub(crate) fn row(&self, pick: usize) -> &[f64] {
        &self.scores[pick * self.names.len()..(pick + 1) * self.names.len()]
    }

    fn some(&self, which: &[usize]) -> Picks {
        Picks {
            names: self.names.clone(),
            contexts: self.contexts.clone(),
            picks: which.iter().map(|&at| self.picks[at].clone()).collect(),
            at: which.iter().map(|&at| self.at[at]).collect(),
            scores: which.iter().flat_map(|&at| self.row(at)).copied().collect(),
        }
    }
}

/// The picks in an argument that holds picks: `Picks`, the dicts written by `to_dicts`, or a frame
/// of these. None if the argument holds scores.
pub(crate) fn picks_from_python<'py>(
    given: &Bound<'py, PyAny>,
    evaluators: &Evaluators,
) -> Result<Option<Bound<'py, Picks>>> {
    if let Ok(picks) = given.cast::<Picks>() {
        return Ok(Some(picks.clone()));
    }
    if given.is_instance_of::<PyUntypedArray>() {
        return Ok(None);
    }
    let names = PyList::new(given.py(), evaluators.names())?;
    let read = given.py().import("jurybox._returned_picks")?.call_method1("read", (given, names))?;
    Ok(read.extract::<Option<Bound<'py, Picks>>>().map_err(PyErr::from)?)
}

#[pymethods]
impl Picks {
    /// The number of each picked item in its round, from 0. Picks of one round come best first,
    /// explored ones last.
    #[getter]
    fn items<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.picks.iter().map(|pick| (pick.item as u64).cast_signed()))
    }

    /// The probability with which each item was to be picked, before any random draw.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.picks.iter().map(|pick| pick.receipt.inclusion_probability))
    }

    /// Whether each item was drawn at random, for exploration.
    #[getter]
    fn explored<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, self.picks.iter().map(|pick| pick.receipt.explored))
    }

    /// The scores of each pick, one row per pick; NaN if missing.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::table(py, self.scores.clone(), self.names.len())
    }

    /// The time of each pick's round.
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.at.iter().map(|&at| at.cast_signed()))
    }

    /// The evaluators that gave the scores, in column order.
    #[getter]
    fn evaluators(&self) -> Vec<String> {
        self.names.to_vec()
    }

    /// The evaluators that are contexts: their numbers are groups, not scores.
    #[getter]
    fn contexts(&self) -> Vec<String> {
        self.contexts.clone().unwrap_or_default()
    }

    /// One dict per pick, of plain numbers and text, for a database or JSON.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (at, pick) in self.picks.iter().enumerate() {
            let dict = PyDict::new(py);
            dict.set_item("item", pick.item)?;
            dict.set_item("at", self.at[at])?;
            dict.set_item("probability", pick.receipt.inclusion_probability)?;
            dict.set_item("explored", pick.receipt.explored)?;
            let scores = PyDict::new(py);
            for (name, &score) in self.names.iter().zip(self.row(at)) {
                scores.set_item(name, (!score.is_nan()).then_some(score))?;
            }
            dict.set_item("scores", scores)?;
            if let Some(contexts) = self.contexts.as_ref().filter(|contexts| !contexts.is_empty()) {
                dict.set_item("contexts", contexts)?;
            }
            for (name, numbers) in [("advice", &pick.receipt.advice), ("bonus", &pick.receipt.bonus)] {
                if !numbers.is_empty() {
                    dict.set_item(name, numbers)?;
                }
            }
            list.append(dict)?;
        }
        Ok(list)
    }

    /// The picks in dicts that `to_dicts` wrote: in any order, from any rounds, not necessarily all
    /// of a round.
    #[staticmethod]
    fn from_dicts(rows: &Bound<'_, PyAny>) -> Result<Picks> {
        let mut picks = Picks {
            names: Arc::default(),
            contexts: None,
            picks: Vec::new(),
            at: Vec::new(),
            scores: Vec::new(),
        };
        for (number, row) in rows.try_iter()?.enumerate() {
            add(&mut picks, number, &row?)?;
        }
        Ok(picks)
    }

    fn __len__(&self) -> usize {
        self.picks.len()
    }

    /// Some of the picks: by number, slice, mask or several numbers.
    fn __getitem__(&self, which: &Bound<'_, PyAny>) -> Result<Picks> {
        let many = self.picks.len();
        if let Ok(slice) = which.cast::<PySlice>() {
            let of = slice.indices(many.cast_signed())?;
            let chosen: Vec<usize> =
                (0..of.slicelength.cast_signed()).map(|n| (of.start + n * of.step).cast_unsigned()).collect();
            return Ok(self.some(&chosen));
        }
        if let Ok(at) = which.extract::<isize>() {
            let from_start = if at < 0 { at + many.cast_signed() } else { at };
            if from_start < 0 || from_start >= many.cast_signed() {
                let message = format!("pick {at} of {many}");
                return Err(pyo3::exceptions::PyIndexError::new_err(message).into());
            }
            return Ok(self.some(&[from_start.cast_unsigned()]));
        }
        Ok(self.some(&arrays::rows(which, many, "picks")?))
    }

    /// Iterates over the picks, each as `Picks` of one.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, (0..self.picks.len()).map(|at| self.some(&[at])))?.try_iter()
    }

    fn __add__(&self, other: &Picks) -> Result<Picks> {
        if (self.names != other.names || !may_be_same(self.contexts.as_ref(), other.contexts.as_ref()))
            && !self.picks.is_empty()
            && !other.picks.is_empty()
        {
            let message = format!(
                "these picks were scored by other evaluators: {} and {}",
                self.names.join(", "),
                other.names.join(", ")
            );
            return Err(refused("evaluators", &message));
        }
        let mut both = if self.picks.is_empty() { other.clone() } else { self.clone() };
        if !self.picks.is_empty() {
            both.picks.extend(other.picks.iter().cloned());
            both.at.extend(&other.at);
            both.scores.extend(&other.scores);
            both.contexts = both.contexts.or_else(|| other.contexts.clone());
        }
        Ok(both)
    }

    fn __repr__(&self) -> String {
        let explored = self.picks.iter().filter(|pick| pick.receipt.explored).count();
        let items: Vec<String> = self.picks.iter().take(8).map(|pick| pick.item.to_string()).collect();
        let more = if self.picks.len() > items.len() { ", ..." } else { "" };
        format!("Picks([{}{more}], {} of them, {explored} explored)", items.join(", "), self.picks.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.import("jurybox._core")?.getattr("picks_from_parts")?;
        let receipts: Vec<String> =
            self.picks.iter().map(|pick| serde_json::to_string(&pick.receipt).unwrap_or_default()).collect();
        let items: Vec<usize> = self.picks.iter().map(|pick| pick.item).collect();
        let (names, contexts) = (self.names.to_vec(), self.contexts.clone());
        let parts = (names, items, receipts, self.at.clone(), self.scores.clone(), contexts);
        Ok((make, parts.into_pyobject(py)?))
    }
}

/// Whether two lists of contexts are the same, as far as they are recorded.
fn may_be_same(one: Option<&Vec<String>>, other: Option<&Vec<String>>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

/// Picks from a pickle; pickles of earlier versions do not record contexts.
#[pyfunction]
#[pyo3(signature = (names, items, receipts, at, scores, contexts = None))]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn picks_from_parts(
    names: Vec<String>,
    items: Vec<usize>,
    receipts: Vec<String>,
    at: Vec<u64>,
    scores: Vec<f64>,
    contexts: Option<Vec<String>>,
) -> Result<Picks> {
    let whole =
        items.len() == receipts.len() && items.len() == at.len() && scores.len() == items.len() * names.len();
    let mut picks = Vec::with_capacity(items.len());
    for (item, receipt) in items.into_iter().zip(&receipts) {
        let receipt: Receipt = serde_json::from_str(receipt)
            .map_err(|e| refused("receipt", &format!("a damaged receipt: {e}")))?;
        picks.push(Pick { item, receipt });
    }
    if !whole {
        return Err(refused("receipt", "these picks are incomplete"));
    }
    Ok(Picks { names: Arc::new(names), contexts, picks, at, scores })
}

/// The first 60 characters of a Python value's `repr`, for messages.
fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    let all = value.repr().map_or_else(|_| "this".to_string(), |text| text.to_string());
    match all.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &all[..end]),
        None => all,
    }
}

/// Appends the pick that a dict describes. `number` is its position in the list, for messages.
fn add(picks: &mut Picks, number: usize, row: &Bound<'_, PyAny>) -> Result<()> {
    let field = |name: &str| -> Result<Bound<'_, PyAny>> {
        row.get_item(name).map_err(|_| {
            let of_pick = row.get_item("receipt").is_ok() && row.get_item("picked_at").is_ok();
            let what = if of_pick {
                "these are rows of jurybox.pick: learn them by jurybox.learn(picks=rows, id=..., reward=..., state=jury)"
            } else {
                "pass what `to_dicts` wrote"
            };
            refused("receipt", &format!("pick {number}: there is no `{name}`; {what}"))
        })
    };
    let odd = |name: &str, value: &Bound<'_, PyAny>, wanted: &str| {
        refused("receipt", &format!("pick {number}, `{name}`: {} is not {wanted}", shown(value)))
    };
    if row.cast::<PyMapping>().is_err() {
        let message = format!("pick {number}: {} is not a dict; pass what `to_dicts` wrote", shown(row));
        return Err(refused("receipt", &message));
    }
    let number_in = |name: &str| -> Result<f64> {
        let value = field(name)?;
        value.extract().map_err(|_| odd(name, &value, "a number"))
    };
    let count_in = |name: &str| -> Result<u64> {
        let value = field(name)?;
        value.extract().map_err(|_| odd(name, &value, "a whole number from 0 on"))
    };
    let optional = |name: &str| -> Result<Vec<f64>> {
        match row.get_item(name) {
            Ok(list) if !list.is_none() => list.extract().map_err(|_| odd(name, &list, "a list of numbers")),
            _ => Ok(Vec::new()),
        }
    };
    let scores = field("scores")?;
    let scores = scores.cast::<PyDict>().map_err(|_| odd("scores", &scores, "a dict of scores by name"))?;
    let mut names = Vec::new();
    let mut values = Vec::new();
    for (name, score) in scores {
        let name: String = name.extract().map_err(|_| odd("scores", &name, "the name of an evaluator"))?;
        let value: Option<f64> = score.extract().map_err(|_| odd(&name, &score, "a score"))?;
        values.push(value.unwrap_or(f64::NAN));
        names.push(name);
    }
    let contexts: Option<Vec<String>> = match row.get_item("contexts") {
        Ok(list) if !list.is_none() => {
            Some(list.extract().map_err(|_| odd("contexts", &list, "a list of names"))?)
        }
        _ => None,
    };
    if picks.picks.is_empty() {
        picks.names = Arc::new(names);
        picks.scores.extend(values);
    } else {
        // A database may return fields in another order.
        let place = |name: &String| names.iter().position(|other| other == name);
        let Some(order) = picks.names.iter().map(place).collect::<Option<Vec<usize>>>() else {
            return Err(refused(
                "evaluators",
                &format!("pick {number}: its evaluators differ from those of the first pick"),
            ));
        };
        if order.len() != names.len() || !may_be_same(contexts.as_ref(), picks.contexts.as_ref()) {
            return Err(refused(
                "evaluators",
                &format!("pick {number}: its evaluators differ from those of the first pick"),
            ));
        }
        picks.scores.extend(order.into_iter().map(|at| values[at]));
    }
    picks.contexts = picks.contexts.take().or(contexts);
    let receipt = Receipt {
        inclusion_probability: number_in("probability")?,
        explored: {
            let value = field("explored")?;
            flag(&value).ok_or_else(|| odd("explored", &value, "true, false, 0 or 1"))?
        },
        advice: optional("advice")?,
        bonus: optional("bonus")?,
    };
    let item = usize::try_from(count_in("item")?).unwrap_or(usize::MAX);
    picks.at.push(count_in("at")?);
    picks.picks.push(Pick { item, receipt });
    Ok(())
}

/// A flag as databases return it: a bool, 0 or 1. None for anything else, such as text.
fn flag(value: &Bound<'_, PyAny>) -> Option<bool> {
    // Also extracts numpy's bool.
    if let Ok(flag) = value.extract::<bool>() {
        return Some(flag);
    }
    match value.extract::<f64>().ok().filter(|_| !value.is_instance_of::<PyString>())? {
        0.0 => Some(false),
        1.0 => Some(true),
        _ => None,
    }
}
