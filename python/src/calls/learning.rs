//! Learning, as `jurybox learn` does: from rows, and from the verdicts on picks.

use super::{Told, check_policy, held, jury_of};
use crate::errors::Result;
use crate::json;
use crate::jury::{Jury, lock};
use crate::policies::spec;
use crate::tables::{Asked, Source, seated};
use crate::work::{self, Reins};
use jurybox::{Direction, Evaluator, Evaluators};
use jurybox_files::{Error, Roles, State, seat, take_back, teach};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
