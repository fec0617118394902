//! Reports, replays and estimates of prevalence, as the commands `report`, `replay` and
//! `prevalence` make them.

use super::{Notices, state_of};
use crate::errors::{Result, refused};
use crate::json;
use crate::jury::PyJury;
use crate::policies::pairs;
use crate::tables::{TableOptions, TableSource, evaluators_of};
use crate::work::{self, WorkControl};
use jurybox::Spec;
use jurybox_files::{AllowedChange, Error, EvaluatorChange, State, by_evaluator, without_contexts};
use jurybox_lab::{Period, Predictions, PrevalenceOptions, Protocol, ReplayOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

/// Makes a report. Returns a dict with the document, the HTML page, the text table and messages.
#[pyfunction]
pub(crate) fn report<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table_options: TableOptions,
    state: Option<&Bound<'py, PyJury>>,
    made_at: u64,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let source = TableSource::from_python(source)?;
    let mut known = state_of(py, state);
    let work = move |control: &WorkControl| -> std::result::Result<_, Error> {
        // Only the weights that all groups share are reported; context columns are ignored.
        if let Some(State { jury, .. }) = &mut known {
            without_contexts(jury)?;
        }
        let seated = known.as_ref().map_or(&[][..], |state| state.jury.evaluators().as_slice()).to_vec();
        // Estimates of missed items and statistics of reviewers each read the table again.
        let again = table_options.is_logged() || table_options.reviewer.is_some();
        let table = source.open(&table_options, &seated, again, control)?;
        let notices = Notices::of(&table);
        let jury = known
            .map(|State { mut jury, .. }| {
                EvaluatorChange::apply(&mut jury, table.roles().evaluators(), AllowedChange::Subset)
                    .map(|_| jury)
            })
            .transpose()?;
        let report =
            jurybox_files::report(&table, jury.as_ref())?.dated(UNIX_EPOCH + Duration::from_secs(made_at));
        let document = named("report", Some(2), serde_json::to_value(&report).unwrap_or_default());
        let shown = StudyOutput { document, html: report.to_html(), svg: None, text: report.to_table() };
        Ok((shown, notices.heard(control)))
    };
    shown(py, work::run(py, watch, work)?)
}

/// The output of a report, replay or prevalence estimate in each format.
struct StudyOutput {
    document: Value,
    html: String,
    svg: Option<String>,
    text: String,
}

/// A JSON document with its format name, and with `version` if given.
fn named(command: &str, version: Option<u32>, mut document: Value) -> Value {
    if let Value::Object(fields) = &mut document {
        fields.insert("format".into(), json!(format!("jurybox-{command}")));
        if let Some(version) = version {
            fields.insert("version".into(), json!(version));
        }
    }
    document
}

fn shown(py: Python<'_>, (shown, notices): (StudyOutput, Notices)) -> Result<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("document", json::to_python(py, &shown.document)?)?;
    dict.set_item("html", shown.html)?;
    dict.set_item("svg", shown.svg)?;
    dict.set_item("text", shown.text)?;
    notices.into_python(&dict)?;
    Ok(dict)
}

/// Arguments of `prevalence`: groups and periods, the source of predictions, golden items, and the
/// range of rewards.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PrevalenceArgs {
    by: Option<String>,
    period: Option<String>,
    prediction: Option<String>,
    golden: Option<String>,
    reward_range: Option<(f64, f64)>,
}

/// Estimates the mean reward of all rows. Returns a dict with the document, the text table and
/// messages; Python makes the page.
#[pyfunction]
pub(crate) fn prevalence<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table_options: TableOptions,
    how: PrevalenceArgs,
    state: Option<&Bound<'py, PyJury>>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let source = TableSource::from_python(source)?;
    let (known, seated) = (state_of(py, state), evaluators_of(py, state));
    let period = how.period.map(|text| text.parse::<Period>()).transpose();
    let period = period.map_err(|reason| refused("period", &reason))?;
    let work = move |control: &WorkControl| -> std::result::Result<_, jurybox_lab::Error> {
        let table = source.open(&table_options, &seated, false, control)?;
        let notices = Notices::of(&table);
        let predictions = match (known, how.prediction) {
            (Some(State { mut jury, .. }), _) => {
                EvaluatorChange::apply(&mut jury, table.roles().evaluators(), AllowedChange::Subset)?;
                Predictions::State(Box::new(jury))
            }
            (None, Some(_)) => Predictions::Column,
            (None, None) => Predictions::default(),
        };
        let options = PrevalenceOptions {
            by: how.by,
            period,
            predictions,
            golden: how.golden,
            reward_range: how.reward_range,
        };
        let found = jurybox_lab::prevalence(&table, &options)?;
        let document = named("prevalence", Some(2), serde_json::to_value(&found).unwrap_or_default());
        let shown = StudyOutput { document, html: String::new(), svg: None, text: found.to_table() };
        Ok((shown, notices.heard(control)))
    };
    shown(py, work::run(py, watch, work)?)
}

/// Arguments of `replay`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReplayArgs {
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

/// Replays a history or, if the table has probabilities, makes off-policy estimates from it.
/// Returns a dict with the document, the HTML page, the text table and messages.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table_options: TableOptions,
    how: ReplayArgs,
    states: Vec<(String, Bound<'py, PyJury>)>,
    weights: &Bound<'py, PyDict>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let source = TableSource::from_python(source)?;
    let seated = evaluators_of(py, states.first().map(|(_, jury)| jury));
    let juries = states
        .iter()
        .map(|(name, jury)| (name.clone(), jury.get().with(py, |inner| inner.state.jury.clone())));
    let mut options = how.options(juries.collect())?;
    let weights = pairs(weights)?;
    let work = move |control: &WorkControl| -> std::result::Result<_, jurybox_lab::Error> {
        let off_policy = table_options.is_logged();
        let table = source.open(&table_options, &seated, false, control)?;
        if !weights.is_empty() {
            let evaluators = table.roles().evaluators().without_contexts()?;
            options.weights = Some(by_evaluator(&evaluators, &weights, Some(0.0))?);
        }
        for (_, jury) in &mut options.states {
            EvaluatorChange::for_history(jury, table.roles().evaluators())?;
        }
        if let Some(picks) = &options.picks {
            table.check_output(picks)?;
        }
        let notices = Notices::of(&table);
        let shown = if off_policy {
            let outcome = jurybox_lab::off_policy(&table, &options)?;
            let document = named("off-policy", None, serde_json::to_value(&outcome).unwrap_or_default());
            StudyOutput { document, html: outcome.to_html(), svg: None, text: outcome.to_table() }
        } else {
            let outcome = jurybox_lab::replay(&table, &options)?;
            let document = serde_json::to_value(&outcome).unwrap_or_default();
            StudyOutput {
                document,
                html: outcome.to_html(),
                svg: Some(outcome.to_svg()),
                text: outcome.to_table(),
            }
        };
        Ok((shown, notices.heard(control)))
    };
    shown(py, work::run(py, watch, work)?)
}

impl ReplayArgs {
    fn options(self, states: Vec<(String, jurybox::Jury)>) -> Result<ReplayOptions> {
        let protocol = match self.folds {
            Some(folds) => Protocol::Folds(folds),
            None if self.pool => Protocol::Pool { budget: self.budget },
            None if self.reuse => Protocol::Reuse,
            None => Protocol::Rounds,
        };
        let defaults = ReplayOptions::of(protocol);
        let policies = match self.policies {
            None => defaults.policies,
            Some(list) => {
                let each =
                    list.iter().map(|some| Spec::list(some)).collect::<std::result::Result<Vec<_>, _>>()?;
                each.into_iter().flatten().collect()
            }
        };
        Ok(ReplayOptions {
            protocol,
            items: self.items.unwrap_or(defaults.items),
            k: self.k,
            rounds: self.rounds,
            runs: self.runs.unwrap_or(defaults.runs),
            seed: self.seed,
            policies,
            states,
            weights: None,
            reward_range: self.reward_range,
            picks: self.picks,
        })
    }
}
