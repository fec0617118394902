//! The reward of a state: which way it points, on which scale it lies, and what a policy could not take as it was.

use super::{LearnHost, LearnNotice};
use crate::error::Error;
use crate::state::State;
use crate::teach::LearnCounts;
use jurybox::{Evaluator, Jury};

/// The reward with its direction: as it was said, or as the state remembers it. Another one than the state's is refused.
pub(super) fn directed(name: &str, invert: &[String], state: Option<&State>) -> Result<Evaluator, Error> {
    let Some(memory) = state.map(|state| &state.memory) else {
        return Ok(said(name, invert).unwrap_or_else(|| name.into()));
    };
    let learnt = || memory.reward().filter(|learnt| learnt.name == name);
    let reward = said(name, invert).or_else(learnt).unwrap_or_else(|| name.into());
    memory.same_reward(&reward)?;
    Ok(reward)
}

/// The reward turned round, where somebody said so.
fn said(name: &str, invert: &[String]) -> Option<Evaluator> {
    invert.iter().any(|inverted| inverted == name).then(|| Evaluator::low(name))
}

/// Remembers the reward and its range; tells where that looks like another scale.
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

/// Tells of evaluators that are the reward under another name. Rewards that are all the same say nothing of that.
pub(super) fn notify_leakage(jury: &Jury, reward: &Evaluator, taught: &LearnCounts, host: &mut dyn LearnHost) {
    if taught.range.is_none_or(|(least, greatest)| least == greatest) {
        return;
    }
    for evaluator in taught.leakage.evaluators().filter_map(|at| jury.evaluators().names().nth(at)) {
        let evaluator = evaluator.to_owned();
        host.notify(LearnNotice::LeakedReward { evaluator, reward: reward.name.clone() });
    }
}

/// How many rewards the policy could not take as they are.
pub(super) fn outside(state: &State) -> Option<LearnNotice> {
    let rewards = state.jury.seen().outside;
    (rewards > 0).then(|| LearnNotice::OutOfRange { policy: state.jury.spec().to_string(), rewards })
}
