//! Learning from rows, as `jurybox learn` does.

use super::{Told, check_policy, held, jury_of};
use crate::errors::Result;
use crate::json;
use crate::jury::{Jury, lock};
use crate::policies::spec;
use crate::tables::{Asked, Source, seated};
use crate::work::{self, Reins};
use jurybox::{Direction, Evaluator};
use jurybox_files::{
    Error, May, Roles, Seated, State, Taught, Want, counted, expand, fingerprint, seat, teach,
    was_picked_from,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What is said of a file that comes again.
const ALREADY: &str = "learnt already, and not counted again; again=True would";

/// How to learn, beside the columns.
struct Learning {
    spec: Option<jurybox::Spec>,
    at: Option<u64>,
    drop: Vec<String>,
    again: bool,
}

/// Shows rows to a jury, with their rewards where they have any.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    asked: Asked,
    state: Option<&Bound<'py, Jury>>,
    policy: Option<&str>,
    options: &Bound<'py, PyDict>,
    at: Option<u64>,
    drop: Vec<String>,
    again: bool,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<(Bound<'py, PyDict>, Bound<'py, Jury>)> {
    let source = Source::from_python(source)?;
    let seated = kept(seated(py, state), &drop, &asked)?;
    let spec = policy.map(|policy| spec(policy, options, None)).transpose()?;
    let how = Learning { spec, at, drop, again };
    let jury = held(state);
    let work = move |reins: &Reins| -> std::result::Result<_, Error> {
        let mut held = jury.as_deref().map(lock);
        let before = held.as_ref().map(|inner| inner.state.clone());
        let mut told = Told::default();
        let learnt = learnt(source, asked, &seated, before, how, &mut told, reins)?;
        reins.still_wanted()?;
        let Some((state, taught)) = learnt else { return Ok((Taught::default(), told.heard(reins), None)) };
        let begun = match &mut held {
            Some(inner) => {
                inner.replace(state);
                None
            }
            None => Some(state),
        };
        Ok((taught, told.heard(reins), begun))
    };
    let (taught, told, begun) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &serde_json::to_value(taught).unwrap_or_default())?)?;
    told.into_python(&dict)?;
    Ok((dict, jury_of(py, state, begun)?))
}

/// The rounds of rows by their key: how many there are, the first and the last of them.
#[pyfunction]
pub(crate) fn rounds(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    asked: Asked,
    state: Option<&Bound<'_, Jury>>,
) -> Result<(u64, Option<String>, Option<String>)> {
    let source = Source::from_python(source)?;
    let seated = seated(py, state);
    work::run(py, None, move |reins| -> std::result::Result<_, Error> {
        let table = source.open(&asked, &seated, false, reins)?;
        let (mut count, mut first, mut last): (u64, Option<Box<str>>, Option<Box<str>>) = (0, None, None);
        table.scan(
            Want { key: true, ..Want::default() },
            |part| Ok(part.batch.keys().to_vec()),
            |_, keys| {
                for key in keys {
                    if last.as_ref() != Some(&key) {
                        count += 1;
                        first.get_or_insert_with(|| key.clone());
                        last = Some(key);
                    }
                }
                Ok(())
            },
        )?;
        Ok((count, first.map(Into::into), last.map(Into::into)))
    })
}

/// The evaluators of the state that are not to be forgotten.
fn kept(mut known: Vec<Evaluator>, drop: &[String], asked: &Asked) -> Result<Vec<Evaluator>> {
    let refuse = |reason: String| jurybox::Error::Evaluators(reason);
    for name in drop {
        if !known.iter().any(|evaluator| evaluator.name == *name) {
            return Err(refuse(format!("there is no `{name}` to drop")).into());
        }
        if asked.evaluators.contains(name) {
            return Err(refuse(format!("`{name}` is named by both drop= and evaluators=")).into());
        }
    }
    let all = known.len();
    known.retain(|evaluator| !drop.contains(&evaluator.name));
    if known.is_empty() && all > 0 {
        return Err(refuse("drop= names every evaluator; learn a new state instead".into()).into());
    }
    Ok(known)
}

/// The state after learning; none where all of it was known already.
fn learnt(
    source: Source,
    mut asked: Asked,
    seated: &[Evaluator],
    before: Option<State>,
    how: Learning,
    told: &mut Told,
    reins: &Reins,
) -> std::result::Result<Option<(State, Taught)>, Error> {
    if let Some(before) = &before {
        check_policy(before, how.spec.as_ref())?;
    }
    let reward =
        asked.reward.clone().map(|name| directed(&name, &asked.invert, before.as_ref())).transpose()?;
    if let Some(reward) = &reward
        && reward.direction == Direction::Low
        && !asked.invert.contains(&reward.name)
    {
        asked.invert.push(reward.name.clone());
    }
    let mut files = Vec::new();
    let source = match source {
        Source::Paths(patterns) => {
            let (paths, named) = new_files(&patterns, before.as_ref(), how.again, told)?;
            if paths.is_empty() {
                return Ok(None);
            }
            files = named;
            if let (Some(state), false, Some(id)) = (&before, how.again, asked.one_id()) {
                refuse_rows_of_picks(state, &paths, &asked, &id, reins)?;
            }
            Source::Files(paths)
        }
        other => other,
    };
    // What comes through a pipe is kept aside, so that it can be known again.
    let table = source.open(&asked, seated, files.contains(&None), reins)?;
    told.table(&table);
    if let Some(column) = table.receipts_of_picks() {
        return Err(Error::ArePicks { path: table.path().into(), column });
    }
    if files.contains(&None) {
        files = table.fingerprints()?;
        for name in files.iter().flatten().filter(|_| !how.again) {
            if is_known(before.as_ref(), name) {
                told.said.push(format!("{}: {ALREADY}", table.path().display()));
                return Ok(None);
            }
            if is_picked_from(before.as_ref(), name) {
                return Err(Error::PickedFrom { path: table.path().into() });
            }
        }
    }
    let mut state = match before {
        None => State::from(seat(&how.spec.unwrap_or_default(), table.taken().evaluators())?),
        Some(mut state) => {
            let may = May::Change { forget: &how.drop };
            let seated = Seated::again(&mut state.jury, table.taken().evaluators(), may)?;
            let joins = |name| format!("`{name}` joins: what was learnt before is learnt without it");
            told.said.extend(seated.joined.into_iter().map(joins));
            let leaves = |name| format!("`{name}` leaves: what was learnt of it is forgotten");
            told.said.extend(seated.left.into_iter().map(leaves));
            state
        }
    };
    let first = how.at.unwrap_or(state.jury.seen().next_time());
    let taught = teach(&table, &mut state.jury, first)?;
    for file in files.into_iter().flatten() {
        state.memory.learnt_file(file);
    }
    if let Some(reward) = &reward {
        remember(&mut state, reward, taught.range, told);
    }
    if taught.scattered > 0 {
        told.warned.push(format!(
            "{} came back after another had begun, and counted again: sort the rows by their rounds",
            counted(taught.scattered, "round")
        ));
    }
    if taught.passed_over > 0 {
        told.warned.push(format!(
            "`{}` does not learn from rewards without a receipt: {} were passed over",
            state.jury.spec().name(),
            taught.passed_over
        ));
    }
    outside(&state, told);
    Ok(Some((state, taught)))
}

/// The files that have not been learnt yet, with the fingerprints of those that have one.
fn new_files(
    patterns: &[String],
    state: Option<&State>,
    again: bool,
    told: &mut Told,
) -> std::result::Result<(Vec<PathBuf>, Vec<Option<String>>), Error> {
    let (mut paths, mut names) = (Vec::new(), Vec::new());
    for path in expand(patterns)? {
        let name = fingerprint(&path)?;
        if let Some(known) = name.as_deref().filter(|_| !again) {
            if is_known(state, known) || names.contains(&name) {
                told.said.push(format!("{}: {ALREADY}", path.display()));
                continue;
            }
            if is_picked_from(state, known) {
                return Err(Error::PickedFrom { path });
            }
        }
        names.push(name);
        paths.push(path);
    }
    Ok((paths, names))
}

/// Refuses files whose rows were picked from, though they have gained a column of verdicts since and are other files by that.
fn refuse_rows_of_picks(
    state: &State,
    paths: &[PathBuf],
    asked: &Asked,
    id: &str,
    reins: &Reins,
) -> std::result::Result<(), Error> {
    let seated = state.jury.evaluators().as_slice().to_vec();
    let roles = Roles { key: Some(id.into()), ..Roles::default() };
    let asked = asked.with(roles, asked.written().clone());
    for path in paths.iter().filter(|path| path.is_file()) {
        // What cannot be read is told of when it is learnt.
        let table = Source::Files(vec![path.clone()]).open(&asked, &seated, true, reins);
        if table.is_ok_and(|table| was_picked_from(state, &table).unwrap_or(false)) {
            return Err(Error::PickedFrom { path: path.clone() });
        }
    }
    reins.heard(); // it will be said when they are learnt
    Ok(())
}

/// Whether rows are those of a round that was picked from.
#[pyfunction]
pub(crate) fn are_of_picks(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    asked: Asked,
    state: &Bound<'_, Jury>,
) -> Result<bool> {
    let source = Source::from_python(source)?;
    let state = state.get().with(py, |inner| inner.state.clone());
    work::run(py, None, move |reins| -> std::result::Result<_, Error> {
        let seated = state.jury.evaluators().as_slice().to_vec();
        was_picked_from(&state, &source.open(&asked, &seated, true, reins)?)
    })
}

fn is_known(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_file(name))
}

fn is_picked_from(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_picked_file(name))
}

/// The reward with its direction: as it was said, or as the state remembers it. Another one than the state's is refused.
pub(super) fn directed(
    name: &str,
    invert: &[String],
    state: Option<&State>,
) -> std::result::Result<Evaluator, Error> {
    let learnt = state.and_then(|state| state.memory.reward());
    let reward = if invert.iter().any(|other| other == name) {
        Evaluator::low(name)
    } else {
        learnt.filter(|learnt| learnt.name == name).unwrap_or_else(|| name.into())
    };
    state.map_or(Ok(()), |state| state.memory.same_reward(&reward))?;
    Ok(reward)
}

/// Remembers the reward and its range; says where that looks like another scale.
pub(super) fn remember(state: &mut State, reward: &Evaluator, range: Option<(f64, f64)>, told: &mut Told) {
    let Some((least, greatest)) = range else { return };
    if let Some((low, high)) = state.memory.saw_rewards(reward, least, greatest) {
        told.warned.push(format!(
            "`{}` lay within {low} to {high} until now, and here within {least} to {greatest}: is that another scale?",
            reward.name
        ));
    }
}

/// Says how many rewards the policy could not take as they are.
pub(super) fn outside(state: &State, told: &mut Told) {
    let outside = state.jury.seen().outside;
    if outside > 0 {
        told.warned.push(format!(
            "{} outside the range that `{}` was told, moved to its ends",
            counted(outside, "reward"),
            state.jury.spec()
        ));
    }
}
