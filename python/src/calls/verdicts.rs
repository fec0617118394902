//! Verdicts that come back, as `jurybox learn --picks` takes them.

use super::Told;
use super::learning::{directed, outside, remember};
use crate::errors::Result;
use crate::json;
use crate::jury::{Jury, lock};
use crate::tables::{Asked, Source, Written};
use crate::work::{self, Reins};
use jurybox::{Direction, Evaluator};
use jurybox_files::{Error, Roles, State, Table, TakenBack, Warning, counted, expand, take_back};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Teaches a jury the verdicts on picks, joined by the key of what was asked: each once. `together` says that the verdicts are a
/// column of the picks themselves.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the command")]
pub(crate) fn learn_picks<'py>(
    py: Python<'py>,
    picks: &Bound<'py, PyAny>,
    verdicts: &Bound<'py, PyAny>,
    asked: Asked,
    reward: String,
    state: &Bound<'py, Jury>,
    together: bool,
    again: bool,
    watch: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let (picks, verdicts) = (Source::from_python(picks)?, Source::from_python(verdicts)?);
    let jury = state.get().0.clone();
    let work = move |reins: &Reins| -> std::result::Result<_, Error> {
        let mut inner = lock(&jury);
        let mut state = inner.state.clone();
        let reward = directed(&reward, &asked.invert, Some(&state))?;
        let mut told = Told::default();
        let Some(verdicts) = opened(verdicts, &asked, &reward, together, reins)? else {
            told.said.push("no verdicts yet: nothing is learnt".into());
            return Ok((TakenBack::default(), told.heard(reins)));
        };
        let seated = state.jury.evaluators().as_slice().to_vec();
        // What a person says of how numbers are written is about theirs: the scores of picks are as we wrote them.
        let ours = if together { asked.written().without_words() } else { Written::default() };
        let blank = Roles { key: asked.key.clone(), ..Roles::default() };
        let picks = reins.hear(picks.open(&asked.with(blank, ours), &seated, false, reins)?, of_picks);
        let known = picks.warnings().iter().filter(|warning| of_picks(warning));
        told.warned.extend(known.chain(verdicts.warnings()).map(ToString::to_string));
        let back = take_back(&mut state, &picks, &verdicts, again)?;
        remember(&mut state, &reward, back.range, &mut told);
        tell(&mut told, &state, &back);
        outside(&state, &mut told);
        reins.still_wanted()?;
        inner.replace(state);
        Ok((back, told.heard(reins)))
    };
    let (back, told) = work::run(py, watch, work)?;
    let dict = PyDict::new(py);
    dict.set_item("taught", json::to_python(py, &serde_json::to_value(&back).unwrap_or_default())?)?;
    told.into_python(&dict)?;
    Ok(dict)
}

/// What is worth telling of picks. Which evaluators had no scores for them was said when they were picked, and one that joined since
/// cannot have any: a desk that learns every hour would be told of it every hour.
fn of_picks(warning: &Warning) -> bool {
    !["missing-column", "no-values"].contains(&warning.code())
}

/// The verdicts; none where nobody has given one. Files without rows are passed over: a desk that was quiet this hour sends one.
fn opened(
    verdicts: Source,
    asked: &Asked,
    reward: &Evaluator,
    together: bool,
    reins: &Reins,
) -> std::result::Result<Option<Table>, Error> {
    let turned = (reward.direction == Direction::Low).then(|| reward.name.clone());
    let roles = Roles {
        evaluators: vec![reward.name.clone()],
        invert: turned.into_iter().collect(),
        key: asked.key.clone(),
        ..Roles::default()
    };
    let asked = asked.with(roles, asked.written().clone());
    let Source::Paths(patterns) = verdicts else {
        return match verdicts.open(&asked, &[], false, reins) {
            Err(Error::NoRows { .. }) => Ok(None),
            opened => opened.map(Some),
        };
    };
    let mut paths = expand(&patterns)?;
    while !paths.is_empty() {
        match Source::Files(paths.clone()).open(&asked, &[], false, reins) {
            Err(Error::NoRows { path } | Error::Empty { path }) if paths.contains(&path) => {
                paths.retain(|other| *other != path);
            }
            // Picks that people have not written a verdict into have no column for it.
            Err(Error::NoneOfTheEvaluators { path, .. }) if together && paths.contains(&path) => {
                paths.retain(|other| *other != path);
            }
            opened => return opened.map(Some),
        }
    }
    Ok(None)
}

/// What became of them, as far as a person should know.
fn tell(told: &mut Told, state: &State, back: &TakenBack) {
    if back.passed_over > 0 {
        let policy = state.jury.spec().name();
        told.said.push(format!("`{policy}` does not learn from {} of these picks", back.passed_over));
    }
    if back.forgotten > 0 {
        told.warned.push(format!(
            "{} on picks so old that the state does not know whether it has learnt them: not counted",
            counted(back.forgotten, "verdict")
        ));
    }
    for (items, one, many) in [
        (
            &back.contradictory,
            "has verdicts that contradict each other, none of which is learnt",
            "have verdicts that contradict each other, none of which is learnt",
        ),
        (
            &back.strangers,
            "has a verdict and is not among the picks",
            "have a verdict and are not among the picks",
        ),
        (
            &back.picked_twice,
            "was picked more than once; a verdict counts once, with the first pick that it comes to",
            "were picked more than once; a verdict counts once, with the first pick that it comes to",
        ),
    ] {
        if items.count > 0 {
            let what = if items.count == 1 { one } else { many };
            told.warned.push(format!("{} {what}: {items}", counted(items.count, "item")));
        }
    }
}
