//! State files as commands use them: read, locked while they change, told of on the terminal.

use crate::messages::say;
use anyhow::bail;
use jurybox::Jury;
use jurybox_files::{Lock, State, Table};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// How to wait for a state that another process works on.
#[derive(clap::Args)]
pub(crate) struct Turn {
    /// How long to wait for a state that another process is changing
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

impl Turn {
    /// Waits for one's turn with a state, and says so where it takes a while.
    pub(crate) fn with(&self, state: &Path) -> anyhow::Result<Lock> {
        let waiting = || say(format_args!("waiting: another process is changing {}", state.display()));
        Ok(Lock::of(state, Duration::from_secs(self.wait), waiting)?)
    }
}

/// Reads the jury of a state file.
pub(crate) fn read_jury(path: &Path) -> anyhow::Result<Jury> {
    Ok(State::read(path)?.jury)
}

/// Reads a state file where there is one.
pub(crate) fn read_if_there(path: &Path) -> anyhow::Result<Option<State>> {
    if path.try_exists()? { Ok(Some(State::read(path)?)) } else { Ok(None) }
}

/// A state is of use only for the evaluators it was learnt over: all of them, or some, in any order.
pub(crate) fn seated_for(table: &Table, mut jury: Jury) -> anyhow::Result<Jury> {
    let (learnt, here) = (jury.evaluators().as_slice(), table.taken().evaluators());
    if !here.as_slice().iter().all(|evaluator| learnt.contains(evaluator)) {
        bail!("the state was learnt over the evaluators {}; this table has {here}", jury.evaluators());
    }
    if jury.evaluators() != here {
        jury.reseat(here.clone())?;
    }
    Ok(jury)
}

/// One document about a state, with what was just learnt.
pub(crate) fn summary(jury: &Jury, learnt_now: &serde_json::Value) -> serde_json::Value {
    let fitted = jury.fit();
    let sigma = fitted.sigma().map(|(sigma, _)| sigma);
    let each = |values: Option<&[f64]>, at: usize| values.map(|values| values[at]);
    let evaluators = jury.evaluators().as_slice().iter().enumerate().map(|(at, evaluator)| {
        json!({
            "name": evaluator.name,
            "direction": evaluator.direction,
            "weight": each(fitted.weights(), at),
            "alpha": each(fitted.alpha(), at),
            "sigma": each(sigma, at),
        })
    });
    json!({
        "policy": jury.spec(),
        "learnt_now": learnt_now,
        "seen": jury.seen(),
        "evaluators": evaluators.collect::<Vec<_>>(),
    })
}
