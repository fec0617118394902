//! Ranking, as `jurybox rank` does.

use super::{Notices, finite, layout, state_of};
use crate::errors::Result;
use crate::jury::PyJury;
use crate::policies::{pairs, spec};
use crate::rows::ResultRows;
use crate::tables::{NamedDirections, TableOptions, TableSource, evaluators_of, named_as_ours, warning};
use crate::work;
use jurybox::{Direction, Spec, TopK};
use jurybox_files::{
    AllowedChange, Error, EvaluatorChange, PickNote, RankOptions, Ranker, Ranking, SurveyScope, Table,
    Warning, by_evaluator, counted, new_jury, score_all, score_rows, survey,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What rows are ranked by: a learnt jury, fixed weights, or a policy that first surveys the
/// scores.
enum RankBy {
    State(Box<jurybox::Jury>),
    Weights(Vec<(String, f64)>),
    Policy(Option<Spec>, Vec<(String, f64)>, SurveyScope),
}

impl RankBy {
    fn judge(self, table: &Table, notices: &mut Notices) -> std::result::Result<Ranker, Error> {
        let evaluators = table.roles().evaluators();
        match self {
            RankBy::Weights(weights) => Ranker::weights(evaluators, &weights),
            RankBy::State(mut jury) => {
                for name in EvaluatorChange::apply(&mut jury, evaluators, AllowedChange::Subset)?.removed {
                    notices
                        .warnings
                        .push(format!("`{name}` is not among the evaluators: rows are ranked without it"));
                }
                Ok(Ranker::jury(&jury))
            }
            RankBy::Policy(table_options, sigma, look) => {
                // Noise levels need a policy that uses them: esag by default.
                let default = || {
                    if sigma.is_empty() {
                        Spec::default()
                    } else {
                        Spec::new("esag").with("current_round", true)
                    }
                };
                let mut spec = table_options.unwrap_or_else(default);
                if !sigma.is_empty() {
                    spec = spec.with("sigma", by_evaluator(evaluators, &sigma, None)?);
                }
                let mut jury = new_jury(&spec, evaluators)?;
                let seen = survey(table, &mut jury, look)?;
                if seen.is_sample() {
                    notices.notes.push(format!(
                        "fitted on a sample: {} of {}, in {} spread evenly; every_row=True uses all",
                        seen.shown,
                        counted(seen.rows, "row"),
                        counted(seen.chunks, "place")
                    ));
                } else if seen.uneven {
                    let why = "scores change along the rows, so a sample would mislead";
                    notices.notes.push(format!("fitted on every row: {why}"));
                }
                notices.notes.push(format!("policy: {spec}"));
                let fitted = jury.fit();
                if let Some((_, origin)) = fitted.sigma() {
                    notices.notes.push(format!("noise levels: {origin}"));
                }
                Ok(Ranker::Fitted(fitted))
            }
        }
    }
}

/// The result of ranking.
enum RankOutput {
    /// The best rows: their numbers, and the rows themselves unless they are in the caller's frame.
    Best(Ranking, Option<ResultRows>),
    /// The score of every row.
    Every(Vec<f64>),
    /// The number of rows; all of them were written to a file.
    Written(u64),
}

/// Ranks rows. Returns a dict with `total`, the `row`, `rank` and `score` of the best, and their
/// `rows` unless the caller has these in a frame; with `explain` also `base` and `each`. With
/// `every`, the dict has the `score` of all rows, or only `total` if they went to a file.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the options of the command"
)]
pub(crate) fn rank<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    table_options: TableOptions,
    k: usize,
    seed: u64,
    explain: bool,
    every: bool,
    out: Option<PathBuf>,
    safe_csv: bool,
    state: Option<&Bound<'py, PyJury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    sigma: &Bound<'py, PyDict>,
    weights: &Bound<'py, PyDict>,
    every_row: bool,
    watch: Option<&Bound<'py, PyAny>>,
    first_row: u64,
    min_reward: Option<f64>,
) -> Result<Bound<'py, PyDict>> {
    let options_of = RankOptions { k, min_reward, seed, explain, grouped: table_options.key.is_some() };
    options_of.check()?;
    let source = TableSource::from_python(source)?;
    let by_weights = pairs(weights)?;
    let mut calibrated = false;
    let asking = match (state_of(py, state), policy) {
        (Some(state), _) => {
            calibrated = state.is_calibrated();
            RankBy::State(Box::new(state.jury))
        }
        _ if !by_weights.is_empty() => RankBy::Weights(by_weights),
        (None, policy) => {
            let look = if every_row { SurveyScope::EveryRow } else { SurveyScope::Sample };
            let spec = policy.map(|policy| spec(policy, options, None)).transpose()?;
            RankBy::Policy(spec, pairs(sigma)?, look)
        }
    };
    let seated = evaluators_of(py, state);
    let (ranks, evaluators, notices) = work::run(py, watch, move |control| -> Result<_> {
        let frame = source.is_frame();
        let again = matches!(asking, RankBy::Policy(..));
        let table = source.open(&table_options, &seated, again, control)?.numbered_from(first_row);
        let mut notices = Notices::of(&table);
        if let Some(out) = &out {
            table.check_output(out)?;
            notices.output(out, &table);
        }
        let judge = asking.judge(&table, &mut notices)?;
        if min_reward.is_some() && !calibrated {
            notices.warnings.push(PickNote::NotCalibrated.to_string());
        }
        if let Ranker::Fitted(fitted) = &judge
            && judge.explores()
        {
            notices.notes.push(format!(
                "this is a plain list, without the random picks that `{}` makes when picking",
                fitted.spec()
            ));
        }
        let ranks = match (&out, every) {
            (Some(out), true) => {
                RankOutput::Written(score_all(&table, &judge, out, layout(&table, safe_csv))?)
            }
            (None, true) => RankOutput::Every(score_rows(&table, &judge)?),
            (out, false) => {
                let ranking = jurybox_files::rank(&table, &judge, options_of)?;
                if !ranking.is_in_order() {
                    let (path, rows) = (table.path().into(), ranking.rows());
                    notices.warnings.push(warning(&Warning::NoOrder { path, rows }));
                }
                // Converted before anything is written: if rows cannot be returned, nothing is
                // written.
                let rows = if frame { None } else { Some(ResultRows::of(ranking.to_batches(&table)?)?) };
                if let Some(out) = out {
                    ranking.write(&table, out, layout(&table, safe_csv))?;
                }
                RankOutput::Best(ranking, rows)
            }
        };
        let evaluators: Vec<String> = table.roles().evaluators().names().map(Into::into).collect();
        Ok((ranks, evaluators, notices.heard(control)))
    })?;
    let dict = PyDict::new(py);
    match ranks {
        RankOutput::Written(rows) => dict.set_item("total", rows)?,
        RankOutput::Every(scores) => dict.set_item("score", PyArray1::from_vec(py, scores))?,
        RankOutput::Best(ranking, rows) => {
            let winners = ranking.winners();
            dict.set_item("total", ranking.rows())?;
            dict.set_item(
                "row",
                PyArray1::from_iter(py, winners.iter().map(|winner| winner.row.cast_signed())),
            )?;
            dict.set_item(
                "rank",
                PyArray1::from_iter(py, winners.iter().map(|winner| winner.rank.cast_signed())),
            )?;
            dict.set_item(
                "score",
                PyArray1::from_iter(py, winners.iter().map(|winner| finite(winner.score))),
            )?;
            if explain {
                let column = |of: &dyn Fn(&jurybox::Contributions) -> f64| -> Vec<f64> {
                    let each =
                        winners.iter().map(|winner| winner.contributions.as_ref().map_or(f64::NAN, of));
                    each.map(finite).collect()
                };
                dict.set_item("base", PyArray1::from_vec(py, column(&|why| why.base)))?;
                let each = PyDict::new(py);
                for (at, name) in evaluators.iter().enumerate() {
                    each.set_item(name, PyArray1::from_vec(py, column(&|why| why.each[at])))?;
                }
                dict.set_item("each", each)?;
            }
            if let Some(rows) = rows {
                dict.set_item("rows", Bound::new(py, rows)?)?;
            }
        }
    }
    notices.into_python(&dict)?;
    Ok(dict)
}

/// The evaluators of a table, each with whether low scores mean high rewards. Also the warning
/// about columns that are left out because results have columns of these names.
#[pyfunction]
pub(crate) fn resolve_evaluators(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    table_options: TableOptions,
    state: Option<&Bound<'_, PyJury>>,
) -> Result<(NamedDirections, Vec<String>)> {
    let source = TableSource::from_python(source)?;
    let seated = evaluators_of(py, state);
    work::run(py, None, move |control| -> std::result::Result<_, Error> {
        let table = source.open(&table_options, &seated, false, control)?;
        let evaluators = table.roles().evaluators().as_slice().iter();
        let evaluators = evaluators.map(|one| (one.name.clone(), one.direction == Direction::Low)).collect();
        Ok((evaluators, named_as_ours(table.roles()).into_iter().collect()))
    })
}

/// The rows with the highest values, best first. Ties are ordered as in any ranking with this seed.
#[pyfunction]
pub(crate) fn top_rows(rows: Vec<u64>, values: Vec<f64>, k: usize, seed: u64) -> Result<Vec<u64>> {
    RankOptions { k, ..RankOptions::default() }.check()?;
    let mut top = TopK::new(k, seed);
    for (row, value) in rows.into_iter().zip(values) {
        top.push(row, value);
    }
    Ok(top.into_sorted().into_iter().map(|ranked| ranked.item).collect())
}
