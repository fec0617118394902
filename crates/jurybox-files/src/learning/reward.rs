//! Checks of rewards against the learnt ones: direction, range, and leakage into scores.

use super::{LearnHost, LearnNotice};
use crate::error::Error;
use crate::state::State;
use crate::teach::LearnCounts;
use jurybox::{Evaluator, Jury};

/// The reward with its direction: inverted if `invert` names it, else as in the state. Errors if
/// the state has learnt another reward, or another direction.
pub(super) fn directed(name: &str, invert: &[String], state: Option<&State>) -> Result<Evaluator, Error> {
    let Some(memory) = state.map(|state| &state.memory) else {
        return Ok(inverted(name, invert).unwrap_or_else(|| name.into()));
    };
    let learnt = || memory.reward().filter(|learnt| learnt.name == name);
    let reward = inverted(name, invert).or_else(learnt).unwrap_or_else(|| name.into());
    memory.same_reward(&reward)?;
    Ok(reward)
}

/// The inverted reward, if `invert` names it.
fn inverted(name: &str, invert: &[String]) -> Option<Evaluator> {
    invert.iter().any(|other| other == name).then(|| Evaluator::low(name))
}

/// Adds the reward and its range to the state. Reports a range that suggests another scale.
pub(super) fn remember(
    state: &mut State,
    reward: &Evaluator,
    range: Option<(f64, f64)>,
    host: &mut dyn LearnHost,
) {
    let Some((least, greatest)) = range else { return };
    if let Some(before) = state.memory.add_rewards(reward, least, greatest) {
        host.notify(LearnNotice::OtherScale { reward: reward.name.clone(), before, here: (least, greatest) });
    }
}

/// Reports evaluators whose scores equal the rewards. If all rewards are equal, reports nothing.
pub(super) fn notify_leakage(
    jury: &Jury,
    reward: &Evaluator,
    taught: &LearnCounts,
    host: &mut dyn LearnHost,
) {
    if taught.range.is_none_or(|(least, greatest)| least == greatest) {
        return;
    }
    for evaluator in taught.leakage.evaluators().filter_map(|at| jury.evaluators().names().nth(at)) {
        let evaluator = evaluator.to_owned();
        host.notify(LearnNotice::LeakedReward { evaluator, reward: reward.name.clone() });
    }
}

/// The notice about rewards outside the policy's range, if the state has any.
pub(super) fn out_of_range(state: &State) -> Option<LearnNotice> {
    let rewards = state.jury.seen().out_of_range;
    (rewards > 0).then(|| LearnNotice::OutOfRange { policy: state.jury.spec().to_string(), rewards })
}
