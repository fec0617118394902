//! The functions over tables: what the commands of `jurybox` do, for sources and options from Python. The one place where the
//! functions of `jurybox-files` and `jurybox-lab` are called.

use crate::errors::Result;
use crate::json;
use crate::jury::{Inner, Jury, generator, lock};
use crate::policies::{pairs, spec};
use crate::rows::Rows;
use crate::tables::{Asked, Source, seated};
use crate::work::{self, Reins};
use arrow_array::RecordBatch;
use jurybox::{Direction, Evaluator, Evaluators, Spec, TopK};
use jurybox_files::{
    Error, Format, Judge, PickOptions, Picking, RankOptions, Ranking, Roles, State, Table, by_evaluator,
    choose, score_all, score_rows, seat, take_back, teach,
};
use jurybox_lab::{Protocol, ReplayOptions};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What is to be told: what was taken as what, and what a person should know before believing a result.
#[derive(Default)]
struct Told {
    said: Vec<String>,
    warned: Vec<String>,
}

impl Told {
    fn of(table: &Table) -> Told {
        let warned = table.warnings().iter().map(ToString::to_string).collect();
        Told { said: vec![table.taken().to_string()], warned }
    }

    fn into_python(self, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        dict.set_item("said", self.said)?;
        dict.set_item("warned", self.warned)
    }
}

/// The state of a jury as it is now, for work that does not change it.
fn state_of(py: Python<'_>, jury: Option<&Bound<'_, Jury>>) -> Option<State> {
    jury.map(|jury| jury.get().with(py, |inner| inner.state.clone()))
}

/// A state is of use only for the evaluators it was learnt over: all of them, or some, in any order.
fn seated_for(table: &Table, mut jury: jurybox::Jury) -> std::result::Result<jurybox::Jury, Error> {
    let (learnt, here) = (jury.evaluators().as_slice(), table.taken().evaluators());
    if !here.as_slice().iter().all(|evaluator| learnt.contains(evaluator)) {
        return Err(other_evaluators(jury.evaluators(), here));
    }
    if jury.evaluators() != here {
        jury.reseat(here.clone())?;
    }
    Ok(jury)
}

fn other_evaluators(learnt: &Evaluators, here: &Evaluators) -> Error {
    let reason = format!("the state was learnt over {learnt}; this table has {here}");
    Error::Jury(jurybox::Error::Evaluators(reason))
}

/// What to rank by, as it was asked for.
enum Asking {
    State(Box<jurybox::Jury>),
    Weights(Vec<(String, f64)>),
    Policy(Option<Spec>, Vec<(String, f64)>),
}

impl Asking {
    fn judge(self, table: &Table, told: &mut Told) -> std::result::Result<Judge, Error> {
        let evaluators = table.taken().evaluators();
        match self {
            Asking::Weights(weights) => Judge::weights(evaluators, &weights),
            Asking::State(jury) => {
                for name in jury.evaluators().names().filter(|name| evaluators.position(name).is_none()) {
                    told.warned.push(format!("`{name}` is not named: rows are ranked without it"));
                }
                Ok(Judge::jury(&seated_for(table, *jury)?))
            }
            Asking::Policy(asked, sigma) => {
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
                teach(table, &mut jury, 0)?;
                told.said.push(format!("policy: {spec}"));
                Ok(Judge::jury(&jury))
            }
        }
    }
}

/// What comes of ranking.
enum Ranks {
    /// The best: rows of the caller's frame, or the rows themselves.
    Best(Ranking, Option<Vec<RecordBatch>>),
    /// The score of every row.
    Every(Vec<f64>),
    /// Everything is in a file.
    Written(u64),
}

/// Ranks rows. Returns a dict: `row`, `rank`, `score`, with `explain` also `base` and `each`, of the best; `rows`, the rows
/// themselves, unless they are in the caller's frame.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn rank<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    asked: Asked,
    k: usize,
    seed: u64,
    explain: bool,
    every: bool,
    out: Option<PathBuf>,
    state: Option<&Bound<'py, Jury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    sigma: &Bound<'py, PyDict>,
    weights: &Bound<'py, PyDict>,
    watch: Option<&Bound<'py, PyAny>>,
    first_row: u64,
) -> Result<Bound<'py, PyDict>> {
    let options_of = RankOptions { k, seed, explain, grouped: asked.key.is_some() };
    options_of.check()?;
    let source = Source::from_python(source)?;
    let by_weights = pairs(weights)?;
    let asking = match (state_of(py, state), policy) {
        (Some(state), _) => Asking::State(Box::new(state.jury)),
        _ if !by_weights.is_empty() => Asking::Weights(by_weights),
        (None, policy) => {
            Asking::Policy(policy.map(|policy| spec(policy, options, None)).transpose()?, pairs(sigma)?)
        }
    };
    let seated = seated(py, state);
    let (ranks, evaluators, told) = work::run(py, watch, move |reins| -> std::result::Result<_, Error> {
        let frame = source.is_frame();
        let again = matches!(asking, Asking::Policy(..));
        let table = source.open(&asked, &seated, again, reins)?.numbered_from(first_row);
        if let Some(out) = &out {
            table.check_output(out)?;
        }
        let mut told = Told::of(&table);
        let judge = asking.judge(&table, &mut told)?;
        if let Judge::Fitted(fitted) = &judge
            && judge.explores()
        {
            told.said
                .push(format!("this is a plain list: `{}` would leave some picks to chance", fitted.spec()));
        }
        let ranks = match (&out, every) {
            (Some(out), true) => Ranks::Written(score_all(&table, &judge, out, as_text(&table))?),
            (None, true) => Ranks::Every(score_rows(&table, &judge)?),
            (out, false) => {
                let ranking = jurybox_files::rank(&table, &judge, options_of)?;
                if let Some(out) = out {
                    ranking.write(&table, out, as_text(&table))?;
                }
                let batches = if frame { None } else { Some(ranking.to_batches(&table)?) };
                Ranks::Best(ranking, batches)
            }
        };
        let evaluators: Vec<String> = table.taken().evaluators().names().map(Into::into).collect();
        Ok((ranks, evaluators, told))
    })?;
    let dict = PyDict::new(py);
    match ranks {
        Ranks::Written(rows) => dict.set_item("total", rows)?,
        Ranks::Every(scores) => dict.set_item("score", PyArray1::from_vec(py, scores))?,
        Ranks::Best(ranking, batches) => {
            let winners = ranking.winners();
            dict.set_item("total", ranking.rows())?;
            dict.set_item("row", PyArray1::from_iter(py, winners.iter().map(|winner| winner.row as i64)))?;
            dict.set_item("rank", PyArray1::from_iter(py, winners.iter().map(|winner| winner.rank as i64)))?;
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
            if let Some(batches) = batches {
                dict.set_item("rows", Bound::new(py, Rows::of(batches)?)?)?;
            }
        }
    }
    told.into_python(&dict)?;
    Ok(dict)
}

/// Which evaluators files would be judged by: names, and whether low means high.
#[pyfunction]
pub(crate) fn taken(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    asked: Asked,
    state: Option<&Bound<'_, Jury>>,
) -> Result<Vec<(String, bool)>> {
    let source = Source::from_python(source)?;
    let seated = seated(py, state);
    work::run(py, None, move |reins| -> std::result::Result<_, Error> {
        let table = source.open(&asked, &seated, false, reins)?;
        let evaluators = table.taken().evaluators().as_slice().iter();
        Ok(evaluators.map(|one| (one.name.clone(), one.direction == Direction::Low)).collect())
    })
}

/// The best of rows by their values, best first; ties are ordered as in any ranking with this seed.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn top(rows: Vec<u64>, values: Vec<f64>, k: usize, seed: u64) -> Result<Vec<u64>> {
    RankOptions { k, ..RankOptions::default() }.check()?;
    let mut top = TopK::new(k, seed);
    for (row, value) in rows.into_iter().zip(values) {
        top.push(row, value);
    }
    Ok(top.into_sorted().into_iter().map(|ranked| ranked.item).collect())
}

/// A row without a single score has no value: missing, not minus infinity.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// What is written where the name does not say: text for text.
fn as_text(table: &Table) -> Format {
    if table.format() == Format::Parquet { Format::Csv } else { table.format() }
}

/// Picks from rows as the policy does, and shows them to the jury, once. Returns a dict: `row`, `value`, `probability`,
/// `explored`, `receipt` of the picks, `round` and `at`; of every row, `values` and `probabilities`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn pick<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    asked: Asked,
    state: Option<&Bound<'py, Jury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    k: usize,
    seed: u64,
    at: Option<u64>,
    observe: bool,
    every: bool,
    out: Option<PathBuf>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<(Bound<'py, PyDict>, Bound<'py, Jury>)> {
    let source = Source::from_python(source)?;
    let seated = seated(py, state);
    let spec = policy.map(|policy| spec(policy, options, None)).transpose()?;
    let jury = held(state);
    let work = move |reins: &Reins| -> std::result::Result<_, Error> {
        let frame = source.is_frame();
        let table = source.open(&asked, &seated, true, reins)?;
        if let Some(out) = &out {
            table.check_output(out)?;
        }
        let mut told = Told::of(&table);
        let mut held = jury.as_deref().map(lock);
        let mut state = match &held {
            Some(inner) => inner.state.clone(),
            None => State::from(seat(&spec.clone().unwrap_or_default(), table.taken().evaluators())?),
        };
        check_policy(&state, spec.as_ref())?;
        if state.jury.evaluators() != table.taken().evaluators() {
            return Err(other_evaluators(state.jury.evaluators(), table.taken().evaluators()));
        }
        let picking = choose(&table, &mut state, PickOptions { k, seed, at, only_choose: !observe })?;
        if picking.observed_before {
            told.said.push("these rows were picked from before, and are not counted again".into());
        }
        if let Some(out) = &out {
            picking.write(&table, out, as_text(&table), every)?;
        }
        let batches = if frame { None } else { Some(picking.to_batches(&table, every)?) };
        reins.still_wanted()?;
        let begun = match &mut held {
            Some(inner) => {
                inner.replace(state);
                None
            }
            None => Some(state),
        };
        Ok((picking, batches, told, begun))
    };
    let (picking, batches, told, begun) = work::run(py, watch, work)?;
    let dict = picked(py, &picking)?;
    if let Some(batches) = batches {
        dict.set_item("rows", Bound::new(py, Rows::of(batches)?)?)?;
    }
    told.into_python(&dict)?;
    Ok((dict, jury_of(py, state, begun)?))
}

fn picked<'py>(py: Python<'py>, picking: &Picking) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let rows = || picking.picks.iter().map(|pick| pick.row);
    dict.set_item("total", picking.rows)?;
    dict.set_item("round", &picking.round)?;
    dict.set_item("at", picking.at)?;
    dict.set_item("row", PyArray1::from_iter(py, rows().map(|row| row as i64)))?;
    let explored = picking.picks.iter().map(|pick| pick.receipt.explored);
    dict.set_item("explored", PyArray1::from_iter(py, explored))?;
    let receipts = picking.picks.iter().map(|pick| serde_json::to_string(&pick.receipt).unwrap_or_default());
    dict.set_item("receipt", receipts.collect::<Vec<String>>())?;
    dict.set_item("values", PyArray1::from_iter(py, picking.values().iter().map(|&value| finite(value))))?;
    dict.set_item("probabilities", PyArray1::from_slice(py, picking.probabilities()))?;
    Ok(dict)
}

/// The same policy as the state's, or none named.
fn check_policy(state: &State, asked: Option<&Spec>) -> std::result::Result<(), Error> {
    let Some(asked) = asked else { return Ok(()) };
    let jury = &state.jury;
    let same = jurybox::Jury::new(asked, jury.evaluators().clone())
        .is_ok_and(|seated| (seated.spec(), seated.evaluators()) == (jury.spec(), jury.evaluators()));
    if same {
        return Ok(());
    }
    let reason = format!("the state was learnt by `{}`", jury.spec());
    Err(Error::Jury(jurybox::Error::Policy { policy: asked.to_string(), reason }))
}

/// What is inside of a jury, for a thread of its own.
fn held(state: Option<&Bound<'_, Jury>>) -> Option<Arc<Mutex<Inner>>> {
    state.map(|jury| jury.get().0.clone())
}

/// The jury that was given, or the one that was begun.
fn jury_of<'py>(
    py: Python<'py>,
    given: Option<&Bound<'py, Jury>>,
    begun: Option<State>,
) -> PyResult<Bound<'py, Jury>> {
    match (given, begun) {
        (_, Some(state)) => Bound::new(py, Jury::of(state, generator(0))),
        (Some(jury), None) => Ok(jury.clone()),
        (None, None) => Err(pyo3::exceptions::PyRuntimeError::new_err("no jury was begun")),
    }
}

/// Shows rows to a jury, with their rewards where they have any. `files` are the fingerprints of the files that are learnt.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    mut asked: Asked,
    state: Option<&Bound<'py, Jury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    at: Option<u64>,
    drop: Vec<String>,
    files: Vec<String>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<(Bound<'py, PyDict>, Bound<'py, Jury>)> {
    let source = Source::from_python(source)?;
    let mut seated = seated(py, state);
    for name in &drop {
        if !seated.iter().any(|evaluator| evaluator.name == *name) {
            let reason = format!("there is no `{name}` to drop");
            return Err(jurybox::Error::Evaluators(reason).into());
        }
    }
    seated.retain(|evaluator| !drop.contains(&evaluator.name));
    let spec = policy.map(|policy| spec(policy, options, None)).transpose()?;
    let jury = held(state);
    let work = move |reins: &Reins| -> std::result::Result<_, Error> {
        let mut held = jury.as_deref().map(lock);
        let before = held.as_ref().map(|inner| inner.state.clone());
        let reward =
            asked.reward.clone().map(|name| directed(&name, &asked.invert, before.as_ref())).transpose()?;
        if let Some(reward) = &reward
            && reward.direction == Direction::Low
            && !asked.invert.contains(&reward.name)
        {
            asked.invert.push(reward.name.clone());
        }
        let table = source.open(&asked, &seated, false, reins)?;
        let mut told = Told::of(&table);
        let mut state = match before {
            Some(mut state) => {
                check_policy(&state, spec.as_ref())?;
                reseat(&mut state.jury, table.taken().evaluators(), &drop, &mut told)?;
                state
            }
            None => State::from(seat(&spec.unwrap_or_default(), table.taken().evaluators())?),
        };
        let first = at.unwrap_or(state.jury.seen().next_time());
        let taught = teach(&table, &mut state.jury, first)?;
        for file in files {
            state.memory.learnt_file(file);
        }
        if let Some(reward) = &reward {
            remember(&mut state, reward, taught.range, &mut told);
        }
        if taught.scattered > 0 {
            told.warned.push(format!(
                "{} rounds came back after another had begun, and counted again: sort the rows by their rounds",
                taught.scattered
            ));
        }
        if taught.passed_over > 0 {
            told.warned.push(format!(
                "`{}` does not learn from rewards without a receipt: {} were passed over",
                state.jury.spec().name(),
                taught.passed_over
            ));
        }
        outside(&state, &mut told);
        reins.still_wanted()?;
        let begun = match &mut held {
            Some(inner) => {
                inner.replace(state);
                None
            }
            None => Some(state),
        };
        Ok((serde_json::to_value(taught).unwrap_or_default(), told, begun))
    };
    let (taught, told, begun) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &taught)?)?;
    told.into_python(&dict)?;
    Ok((dict, jury_of(py, state, begun)?))
}

/// The reward with its direction: as it was said, or as the state remembers it. Another one than the state's is refused.
fn directed(name: &str, invert: &[String], state: Option<&State>) -> std::result::Result<Evaluator, Error> {
    let learnt = state.and_then(|state| state.memory.reward());
    let reward = if invert.iter().any(|other| other == name) {
        Evaluator::low(name)
    } else {
        learnt.filter(|learnt| learnt.name == name).unwrap_or_else(|| name.into())
    };
    state.map_or(Ok(()), |state| state.memory.same_reward(&reward))?;
    Ok(reward)
}

/// Seats the table's evaluators; none that the state knows is forgotten without being named.
fn reseat(
    jury: &mut jurybox::Jury,
    evaluators: &Evaluators,
    drop: &[String],
    told: &mut Told,
) -> std::result::Result<(), Error> {
    if jury.evaluators() == evaluators {
        return Ok(());
    }
    let before = jury.evaluators().clone();
    let leaves = |name: &&str| evaluators.position(name).is_none();
    if let Some(name) = before.names().filter(leaves).find(|name| !drop.iter().any(|other| other == name)) {
        let reason = format!("what was learnt of `{name}` would be forgotten: name it too, or drop it");
        return Err(jurybox::Error::Evaluators(reason).into());
    }
    jury.reseat(evaluators.clone())?;
    for name in evaluators.names().filter(|name| before.position(name).is_none()) {
        told.said.push(format!("`{name}` joins: what was learnt before is learnt without it"));
    }
    for name in before.names().filter(|name| evaluators.position(name).is_none()) {
        told.said.push(format!("`{name}` leaves: what was learnt of it is forgotten"));
    }
    Ok(())
}

/// Remembers the reward and its range; says where that looks like another scale.
fn remember(state: &mut State, reward: &Evaluator, range: Option<(f64, f64)>, told: &mut Told) {
    let Some((least, greatest)) = range else { return };
    if let Some((low, high)) = state.memory.saw_rewards(reward, least, greatest) {
        told.warned.push(format!(
            "`{}` lay within {low} to {high} until now, and here within {least} to {greatest}: is that another scale?",
            reward.name
        ));
    }
}

fn outside(state: &State, told: &mut Told) {
    let outside = state.jury.seen().outside;
    if outside > 0 {
        told.warned.push(format!(
            "{outside} rewards lay outside the range that `{}` was told, and were moved to its ends",
            state.jury.spec()
        ));
    }
}

/// Teaches a jury the verdicts on picks, joined by an id: each once.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn_picks<'py>(
    py: Python<'py>,
    picks: &Bound<'py, PyAny>,
    verdicts: &Bound<'py, PyAny>,
    id: String,
    reward: String,
    inverted: bool,
    state: &Bound<'py, Jury>,
    again: bool,
    threads: Option<usize>,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let (picks, verdicts) = (Source::from_python(picks)?, Source::from_python(verdicts)?);
    let jury = state.get().0.clone();
    let work = move |reins: &Reins| -> std::result::Result<_, Error> {
        let mut inner = lock(&jury);
        let mut state = inner.state.clone();
        let invert: Vec<String> = inverted.then(|| reward.clone()).into_iter().collect();
        let reward = directed(&reward, &invert, Some(&state))?;
        let turned = (reward.direction == Direction::Low).then(|| reward.name.clone());
        let seated = state.jury.evaluators().as_slice().to_vec();
        let blank = Roles { key: Some(id), ..Roles::default() };
        let asked = |roles: Roles| Asked::of(roles, threads);
        let picks = picks.open(&asked(blank.clone()), &seated, false, reins)?;
        let of_verdicts =
            Roles { evaluators: vec![reward.name.clone()], invert: turned.into_iter().collect(), ..blank };
        let verdicts = verdicts.open(&asked(of_verdicts), &[], false, reins)?;
        let mut told = Told::of(&picks);
        told.warned.extend(verdicts.warnings().iter().map(ToString::to_string));
        let back = take_back(&mut state, &picks, &verdicts, again)?;
        remember(&mut state, &reward, back.range, &mut told);
        for (items, what) in [
            (&back.contradictory, "have verdicts that contradict each other, none of which is learnt"),
            (&back.strangers, "have a verdict and are not among the picks"),
            (&back.picked_twice, "were picked more than once; their verdict goes to the first pick"),
        ] {
            if items.count > 0 {
                told.warned.push(format!("{} items {what}: {items}", items.count));
            }
        }
        outside(&state, &mut told);
        reins.still_wanted()?;
        inner.replace(state);
        Ok((serde_json::to_value(&back).unwrap_or_default(), told))
    };
    let (back, told) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &back)?)?;
    told.into_python(&dict)?;
    Ok(dict)
}

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
