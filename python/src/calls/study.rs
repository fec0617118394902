//! Reports and replays, as `jurybox report` and `jurybox replay` make them.

use super::{Told, seated_for, state_of};
use crate::errors::Result;
use crate::json;
use crate::jury::Jury;
use crate::policies::pairs;
use crate::tables::{Asked, Source, seated};
use crate::work::{self, Reins};
use jurybox_files::{Error, by_evaluator};
use jurybox_lab::{Protocol, ReplayOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A report: a dict with the document, the page and the table.
#[pyfunction]
pub(crate) fn report<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    asked: Asked,
    state: Option<&Bound<'py, Jury>>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let source = Source::from_python(source)?;
    let (known, seated) = (state_of(py, state), seated(py, state));
    let work = move |reins: &Reins| -> std::result::Result<_, Error> {
        let table = source.open(&asked, &seated, false, reins)?;
        let jury = known.map(|state| seated_for(&table, state.jury)).transpose()?;
        let report = jurybox_files::report(&table, jury.as_ref())?;
        let document = serde_json::to_value(&report).unwrap_or_default();
        Ok((document, report.to_html(), report.to_table(), Told::of(&table)))
    };
    shown(py, work::run(py, watch, work)?)
}

fn shown(
    py: Python<'_>,
    (document, html, text, told): (serde_json::Value, String, String, Told),
) -> Result<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("document", json::to_python(py, &document)?)?;
    dict.set_item("html", html)?;
    dict.set_item("text", text)?;
    told.into_python(&dict)?;
    Ok(dict)
}

/// How to replay.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Replaying {
    pool: bool,
    budget: usize,
    folds: Option<usize>,
    reuse: bool,
    items: Option<usize>,
    k: usize,
    rounds: Option<usize>,
    runs: Option<usize>,
    seed: u64,
    policies: Option<Vec<String>>,
    reward_range: Option<(f64, f64)>,
    picks: Option<PathBuf>,
}

/// A replay: a dict with the document, the page and the table.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    asked: Asked,
    how: Replaying,
    states: Vec<(String, Bound<'py, Jury>)>,
    weights: &Bound<'py, PyDict>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let source = Source::from_python(source)?;
    let seated = seated(py, states.first().map(|(_, jury)| jury));
    let juries = states
        .iter()
        .map(|(name, jury)| (name.clone(), jury.get().with(py, |inner| inner.state.jury.clone())));
    let mut options = how.options(juries.collect())?;
    let weights = pairs(weights)?;
    let work = move |reins: &Reins| -> std::result::Result<_, jurybox_lab::Error> {
        let off_policy = asked.is_logged();
        let table = source.open(&asked, &seated, false, reins)?;
        if !weights.is_empty() {
            options.weights = Some(by_evaluator(table.taken().evaluators(), &weights, Some(0.0))?);
        }
        let told = Told::of(&table);
        if off_policy {
            let outcome = jurybox_lab::off_policy(&table, &options)?;
            let document = serde_json::to_value(&outcome).unwrap_or_default();
            return Ok((document, outcome.to_html(), outcome.to_table(), told));
        }
        let outcome = jurybox_lab::replay(&table, &options)?;
        let document = serde_json::to_value(&outcome).unwrap_or_default();
        Ok((document, outcome.to_html(), outcome.to_table(), told))
    };
    shown(py, work::run(py, watch, work)?)
}

impl Replaying {
    fn options(self, states: Vec<(String, jurybox::Jury)>) -> Result<ReplayOptions> {
        let defaults = ReplayOptions::default();
        let folds = self.folds.is_some();
        let protocol = match self.folds {
            Some(folds) => Protocol::Folds(folds),
            None if self.pool => Protocol::Pool { budget: self.budget },
            None if self.reuse => Protocol::Reuse,
            None => Protocol::Rounds,
        };
        let policies = match self.policies {
            None => defaults.policies,
            Some(list) => list.iter().map(|policy| policy.parse()).collect::<std::result::Result<_, _>>()?,
        };
        Ok(ReplayOptions {
            protocol,
            items: self.items.unwrap_or(if folds { 0 } else { defaults.items }),
            k: self.k,
            rounds: self.rounds,
            runs: self.runs.unwrap_or(if folds { 3 } else { defaults.runs }),
            seed: self.seed,
            policies,
            states,
            weights: None,
            reward_range: self.reward_range,
            picks: self.picks,
        })
    }
}
