//! Teaching a jury the rewards of picks, or of rows that were not picked.

use crate::arrays::{ROWS_PER_PIECE, ScoreTable};
use crate::errors::{Result, refused};
use crate::names;
use crate::picks::Picks;
use crate::work::WorkControl;
use jurybox::{Direction, Error, Evaluators, Example, Jury, Reviewer};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// The counts of a batch of learnt examples.
#[pyclass(frozen, name = "Learnt", get_all, eq, module = "jurybox")]
#[derive(PartialEq, Default)]
pub(crate) struct LearntCounts {
    /// Examples that changed the state.
    pub(crate) used: u64,
    /// Examples that this policy does not learn from.
    pub(crate) ignored_rewards: u64,
}

#[pymethods]
impl LearntCounts {
    fn __repr__(&self) -> String {
        format!("Learnt(used={}, ignored_rewards={})", self.used, self.ignored_rewards)
    }
}

impl From<jurybox::Learnt> for LearntCounts {
    fn from(learnt: jurybox::Learnt) -> LearntCounts {
        let jurybox::Learnt { used, ignored_rewards } = learnt;
        LearntCounts { used, ignored_rewards }
    }
}

/// The reviewer of each item, from names or other values, each read as the text that a table would
/// have. None for missing values and empty text.
pub(crate) fn reviewers_of(given: Option<&Bound<'_, PyAny>>, items: usize) -> Result<Vec<Option<Reviewer>>> {
    let Some(given) = given else { return Ok(vec![None; items]) };
    let mut reviewers = Vec::with_capacity(items);
    for who in given.try_iter()? {
        let name = names::text(&who?)?;
        reviewers.push(name.and_then(|name| jurybox_files::reviewer(&name)));
    }
    if reviewers.len() == items {
        Ok(reviewers)
    } else {
        let found = reviewers.len();
        Err(refused(
            "shape",
            &format!("{found} reviewers for {items} items: pass one for each, None if unknown"),
        ))
    }
}

/// Teaches a jury the rewards of picks, each at the time of its round, or all at `at`. On an error
/// nothing is learnt.
pub(crate) fn learn_picks(
    jury: &mut Jury,
    names: &[String],
    picks: &Picks,
    rewards: &[f64],
    reviewers: &[Option<Reviewer>],
    at: Option<u64>,
) -> Result<LearntCounts> {
    let reseated = if picks.names.as_slice() == names { None } else { Some(scores_in_order(names, picks)?) };
    let example = |pick: usize| Example {
        scores: reseated.as_ref().map_or_else(|| picks.row(pick), |rows| &rows[pick][..]),
        reward: rewards[pick],
        receipt: Some(&picks.picks[pick].receipt),
    };
    let all = 0..picks.picks.len();
    let one_time =
        at.or_else(|| picks.at.first().copied().filter(|first| picks.at.iter().all(|at| at == first)));
    if let Some(at) = one_time {
        return Ok(jury.learn_by(&all.map(example).collect::<Vec<_>>(), reviewers, at)?.into());
    }
    let mut by_time: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for pick in all {
        by_time.entry(picks.at[pick]).or_default().push(pick);
    }
    let (mut after, mut learnt) = (jury.clone(), LearntCounts::default());
    for (at, those) in by_time {
        let by: Vec<Option<Reviewer>> = those.iter().map(|&pick| reviewers[pick]).collect();
        let now = after.learn_by(&those.into_iter().map(example).collect::<Vec<_>>(), &by, at)?;
        learnt.used += now.used;
        learnt.ignored_rewards += now.ignored_rewards;
    }
    *jury = after;
    Ok(learnt)
}

/// A warning if the policy also learns from the scores of all items, and with these items there
/// would be more rewards than observed items.
pub(crate) fn not_observed_warning(jury: &Jury, items: usize) -> Option<String> {
    let seen = jury.seen();
    (jury.learns_from_scores() && seen.items < seen.used + items as u64).then(|| {
        format!(
            "`{}` also learns from the scores of all items, and has not observed these: pass them to observe() first, or use \
             jurybox.learn, which does both",
            jury.spec().name()
        )
    })
}

/// A warning if reviewers are named and the policy does not tell them apart.
pub(crate) fn unused_reviewers_warning(jury: &Jury, reviewers: &[Option<Reviewer>]) -> Option<String> {
    let named = reviewers.iter().any(Option::is_some);
    (named && !jury.tells_reviewers_apart()).then(|| {
        format!(
            "`{}` does not distinguish reviewers: reviewers= is ignored, and every verdict counts alike. `adaptive` learns the \
             severity and noise of each reviewer",
            jury.spec().name()
        )
    })
}

/// Errors if a column is a context for the jury and a score in the picks, or the reverse.
pub(crate) fn check_contexts(evaluators: &Evaluators, picks: &Picks) -> Result<()> {
    let Some(contexts) = &picks.contexts else { return Ok(()) };
    for evaluator in evaluators.as_slice() {
        let name = &evaluator.name;
        let (here, there) = (evaluator.direction == Direction::Context, contexts.contains(name));
        if here == there || !picks.names.contains(name) {
            continue;
        }
        let (of_picks, of_jury) =
            if there { ("a context", "an evaluator") } else { ("an evaluator", "a context") };
        let message = format!(
            "`{name}` is {of_picks} of these picks and {of_jury} of this jury, and a context is not a score. Learn them with the jury that \
             picked them, or with one that has the same context="
        );
        return Err(refused("evaluators", &message));
    }
    Ok(())
}

/// Teaches a jury the rewards of rows that were not picked. On an error nothing is learnt.
pub(crate) fn learn_unpicked(
    jury: &mut Jury,
    table: &ScoreTable,
    rewards: &[f64],
    reviewers: &[Option<Reviewer>],
    at: u64,
    control: Option<&WorkControl>,
) -> Result<LearntCounts> {
    let mut learnt = LearntCounts::default();
    let mut learn = |jury: &mut Jury, from: usize, piece: &[f64]| -> std::result::Result<(), Error> {
        let scores = jury.scores(piece)?;
        let rows = scores.rows().zip(&rewards[from..]);
        let examples = rows.map(|(scores, &reward)| Example { scores, reward, receipt: None });
        let examples: Vec<Example<'_>> = examples.collect();
        let now = jury.learn_by(&examples, &reviewers[from..from + examples.len()], at)?;
        learnt.used += now.used;
        learnt.ignored_rewards += now.ignored_rewards;
        Ok(())
    };
    if table.rows <= ROWS_PER_PIECE {
        // One batch, which `learn_by` learns as a whole or not at all.
        learn(jury, 0, &table.whole())?;
        return Ok(learnt);
    }
    let mut after = jury.clone();
    table.each_piece(control, |from, piece| learn(&mut after, from, piece))?;
    *jury = after;
    Ok(learnt)
}

/// A warning if the picks were scored by other evaluators than the jury has. It names the jury's
/// evaluators that have no scores there, and the evaluators whose scores are not used.
pub(crate) fn other_evaluators_warning(evaluators: &Evaluators, picks: &Picks) -> Option<String> {
    if evaluators.names().eq(picks.names.iter().map(String::as_str)) {
        return None; // the usual case
    }
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let gone: Vec<&str> =
        evaluators.names().filter(|name| picks.names.iter().all(|other| other != name)).collect();
    let idle: Vec<&str> =
        picks.names.iter().map(String::as_str).filter(|name| evaluators.position(name).is_none()).collect();
    if picks.picks.is_empty() || gone.len() == evaluators.len() || (gone.is_empty() && idle.is_empty()) {
        return None; // no picks, nothing differs, or the picks are refused
    }
    let missing = || format!("; missing: scores of {}", listed(&gone));
    let idle_ones = || format!("; not used: scores of {}", listed(&idle));
    let line = [
        "this jury has other evaluators than these picks were scored by".to_string(),
        if gone.is_empty() { String::new() } else { missing() },
        if idle.is_empty() { String::new() } else { idle_ones() },
        ". If another jury made them, learn them there".to_string(),
    ];
    Some(line.concat())
}

/// The scores of picks in the order of the jury's evaluators, NaN for evaluators that the picks
/// lack.
fn scores_in_order(names: &[String], picks: &Picks) -> Result<Vec<Vec<f64>>> {
    let place = |name: &String| picks.names.iter().position(|other| other == name);
    let order: Vec<Option<usize>> = names.iter().map(place).collect();
    if order.iter().all(Option::is_none) && !picks.picks.is_empty() {
        let message =
            format!("these picks were scored by {}, not by {}", picks.names.join(", "), names.join(", "));
        return Err(refused("evaluators", &message));
    }
    let row = |pick: usize| {
        let scores = picks.row(pick);
        order.iter().map(|at| at.map_or(f64::NAN, |at| scores[at])).collect()
    };
    Ok((0..picks.picks.len()).map(row).collect())
}
