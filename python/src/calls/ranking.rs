//! Ranking, as `jurybox rank` does.

use super::{Told, finite, layout, state_of};
use crate::errors::Result;
use crate::jury::Jury;
use crate::policies::{pairs, spec};
use crate::rows::Rows;
use crate::tables::{Asked, Directed, Source, named_as_ours, seated, warning};
use crate::work;
use jurybox::{Direction, Spec, TopK};
use jurybox_files::{
    Error, Judge, Look, May, RankOptions, Ranking, Remark, Seated, Table, Warning, by_evaluator, counted,
    score_all, score_rows, seat, survey,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What to rank by, as it was asked for.
enum Asking {
    State(Box<jurybox::Jury>),
    Weights(Vec<(String, f64)>),
    Policy(Option<Spec>, Vec<(String, f64)>, Look),
}

impl Asking {
    fn judge(self, table: &Table, told: &mut Told) -> std::result::Result<Judge, Error> {
        let evaluators = table.taken().evaluators();
        match self {
            Asking::Weights(weights) => Judge::weights(evaluators, &weights),
            Asking::State(mut jury) => {
                for name in Seated::again(&mut jury, evaluators, May::Lack)?.left {
                    told.warned.push(format!("`{name}` is not named: rows are ranked without it"));
                }
                Ok(Judge::jury(&jury))
            }
            Asking::Policy(asked, sigma, look) => {
                // Told noise levels are for the policies that take them; without a name, that is esag.
                let default = || {
                    if sigma.is_empty() {
                        Spec::default()
                    } else {
                        Spec::new("esag").with("current_round", true)
                    }
                };
                let mut spec = asked.unwrap_or_else(default);
                if !sigma.is_empty() {
                    spec = spec.with("sigma", by_evaluator(evaluators, &sigma, None)?);
                }
                let mut jury = seat(&spec, evaluators)?;
                let seen = survey(table, &mut jury, look)?;
                if seen.is_sample() {
                    told.said.push(format!(
                        "measured on a sample: {} of {}, in {} spread evenly; every_row=True measures on all",
                        seen.shown,
                        counted(seen.rows, "row"),
                        counted(seen.places, "place")
                    ));
                } else if seen.uneven {
                    let why = "scores change over the rows, so that a sample would not do";
                    told.said.push(format!("measured on every row: {why}"));
                }
                told.said.push(format!("policy: {spec}"));
                let fitted = jury.fit();
                if let Some((_, origin)) = fitted.sigma() {
                    told.said.push(format!("noise levels: {origin}"));
                }
                Ok(Judge::Fitted(fitted))
            }
        }
    }
}

/// What comes of ranking.
enum Ranks {
    /// The best: rows of the caller's frame, or the rows themselves.
    Best(Ranking, Option<Rows>),
    /// The score of every row.
    Every(Vec<f64>),
    /// Everything is in a file.
    Written(u64),
}

/// Ranks rows. Returns a dict: `row`, `rank`, `score`, with `explain` also `base` and `each`, of the best; `rows`, the rows
/// themselves, unless they are in the caller's frame.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the options of the command"
)]
pub(crate) fn rank<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    asked: Asked,
    k: usize,
    seed: u64,
    explain: bool,
    every: bool,
    out: Option<PathBuf>,
    safe_csv: bool,
    state: Option<&Bound<'py, Jury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    sigma: &Bound<'py, PyDict>,
    weights: &Bound<'py, PyDict>,
    every_row: bool,
    watch: Option<&Bound<'py, PyAny>>,
    first_row: u64,
    worth: Option<f64>,
) -> Result<Bound<'py, PyDict>> {
    let options_of = RankOptions { k, worth, seed, explain, grouped: asked.key.is_some() };
    options_of.check()?;
    let source = Source::from_python(source)?;
    let by_weights = pairs(weights)?;
    let mut calibrated = false;
    let asking = match (state_of(py, state), policy) {
        (Some(state), _) => {
            calibrated = state.is_calibrated();
            Asking::State(Box::new(state.jury))
        }
        _ if !by_weights.is_empty() => Asking::Weights(by_weights),
        (None, policy) => {
            let look = if every_row { Look::EveryRow } else { Look::Sample };
            let spec = policy.map(|policy| spec(policy, options, None)).transpose()?;
            Asking::Policy(spec, pairs(sigma)?, look)
        }
    };
    let seated = seated(py, state);
    let (ranks, evaluators, told) = work::run(py, watch, move |reins| -> Result<_> {
        let frame = source.is_frame();
        let again = matches!(asking, Asking::Policy(..));
        let table = source.open(&asked, &seated, again, reins)?.numbered_from(first_row);
        let mut told = Told::of(&table);
        if let Some(out) = &out {
            table.check_output(out)?;
            told.output(out, &table);
        }
        let judge = asking.judge(&table, &mut told)?;
        if worth.is_some() && !calibrated {
            told.warned.push(Remark::NotCalibrated.to_string());
        }
        if let Judge::Fitted(fitted) = &judge
            && judge.explores()
        {
            told.said
                .push(format!("this is a plain list: `{}` would leave some picks to chance", fitted.spec()));
        }
        let ranks = match (&out, every) {
            (Some(out), true) => Ranks::Written(score_all(&table, &judge, out, layout(&table, safe_csv))?),
            (None, true) => Ranks::Every(score_rows(&table, &judge)?),
            (out, false) => {
                let ranking = jurybox_files::rank(&table, &judge, options_of)?;
                if !ranking.is_in_order() {
                    let (path, rows) = (table.path().into(), ranking.rows());
                    told.warned.push(warning(&Warning::NoOrder { path, rows }));
                }
                // Before anything is written: what cannot be handed over fails here.
                let rows = if frame { None } else { Some(Rows::of(ranking.to_batches(&table)?)?) };
                if let Some(out) = out {
                    ranking.write(&table, out, layout(&table, safe_csv))?;
                }
                Ranks::Best(ranking, rows)
            }
        };
        let evaluators: Vec<String> = table.taken().evaluators().names().map(Into::into).collect();
        Ok((ranks, evaluators, told.heard(reins)))
    })?;
    let dict = PyDict::new(py);
    match ranks {
        Ranks::Written(rows) => dict.set_item("total", rows)?,
        Ranks::Every(scores) => dict.set_item("score", PyArray1::from_vec(py, scores))?,
        Ranks::Best(ranking, rows) => {
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
                let told = |of: &dyn Fn(&jurybox::Contributions) -> f64| -> Vec<f64> {
                    let each =
                        winners.iter().map(|winner| winner.contributions.as_ref().map_or(f64::NAN, of));
                    each.map(finite).collect()
                };
                dict.set_item("base", PyArray1::from_vec(py, told(&|why| why.base)))?;
                let each = PyDict::new(py);
                for (at, name) in evaluators.iter().enumerate() {
                    each.set_item(name, PyArray1::from_vec(py, told(&|why| why.each[at])))?;
                }
                dict.set_item("each", each)?;
            }
            if let Some(rows) = rows {
                dict.set_item("rows", Bound::new(py, rows)?)?;
            }
        }
    }
    told.into_python(&dict)?;
    Ok(dict)
}

/// Which evaluators files would be judged by: names, and whether low means high; and what is to be told of that.
#[pyfunction]
pub(crate) fn taken(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    asked: Asked,
    state: Option<&Bound<'_, Jury>>,
) -> Result<(Directed, Vec<String>)> {
    let source = Source::from_python(source)?;
    let seated = seated(py, state);
    work::run(py, None, move |reins| -> std::result::Result<_, Error> {
        let table = source.open(&asked, &seated, false, reins)?;
        let evaluators = table.taken().evaluators().as_slice().iter();
        let evaluators = evaluators.map(|one| (one.name.clone(), one.direction == Direction::Low)).collect();
        Ok((evaluators, named_as_ours(table.taken()).into_iter().collect()))
    })
}

/// The best of rows by their values, best first; ties are ordered as in any ranking with this seed.
#[pyfunction]
pub(crate) fn top(rows: Vec<u64>, values: Vec<f64>, k: usize, seed: u64) -> Result<Vec<u64>> {
    RankOptions { k, ..RankOptions::default() }.check()?;
    let mut top = TopK::new(k, seed);
    for (row, value) in rows.into_iter().zip(values) {
        top.push(row, value);
    }
    Ok(top.into_sorted().into_iter().map(|ranked| ranked.item).collect())
}
