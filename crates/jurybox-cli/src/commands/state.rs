//! State files as commands use them: read, locked while they change, told of on the terminal.

use super::concerns::Concerns;
use crate::messages::say;
use anyhow::bail;
use jurybox::Jury;
use jurybox_files::{Lock, Ready, State, Table, refuse_overwriting};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
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

/// Reads a state file where there is one, to be changed and written back.
pub(crate) fn read_if_there(path: &Path) -> anyhow::Result<Option<State>> {
    match std::fs::metadata(path) {
        // Reading a pipe would wait for whoever writes to it, and then there would be nothing to write back to.
        Ok(about) if !about.is_file() => {
            bail!("{}: a state that is changed is kept in a plain file, and this is none", path.display())
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // What else may be wrong with it, reading tells in its own words.
        _ => Ok(Some(State::read(path)?)),
    }
}

/// Writes a state back.
pub(crate) fn write_back(
    state: &State,
    path: &Path,
    say: impl Fn(std::fmt::Arguments<'_>),
) -> anyhow::Result<()> {
    put_in_place(state.ready(path)?, path, say)
}

/// Puts a state that is written in its place, and says where it had to change hands: whose it was may not be able to read it any more.
pub(crate) fn put_in_place(
    ready: Ready,
    path: &Path,
    say: impl Fn(std::fmt::Arguments<'_>),
) -> anyhow::Result<()> {
    let before = owner(path);
    ready.publish()?;
    let after = owner(path);
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        say(format_args!(
            "warning: {} belonged to user {before} and belongs to user {after} now: only the system's administrator can leave it with its owner",
            path.display()
        ));
    }
    Ok(())
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|about| about.uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

/// Refuses to write over anything that a command reads, or two things into one file: the table, its states, and every other
/// output.
pub(crate) fn check_outputs<'a>(
    table: &Table,
    states: &[PathBuf],
    outputs: impl IntoIterator<Item = &'a PathBuf>,
) -> anyhow::Result<()> {
    let mut others = states.to_vec();
    for out in outputs {
        table.check_output(out)?;
        refuse_overwriting(&others, out)?;
        others.push(out.clone());
    }
    Ok(())
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

/// The same, with what has changed and what is to be doubted.
pub(crate) fn told(jury: &Jury, learnt_now: &serde_json::Value) -> impl Serialize + use<> {
    Concerns::of(&jury.fit()).behind(summary(jury, learnt_now))
}
