//! State files: locking, reading, writing, and their summary in JSON documents.

use super::fit_warnings::FitWarnings;
use crate::messages::say;
use crate::output;
use anyhow::bail;
use jurybox::options::Fraction;
use jurybox::{Fitted, Jury};
use jurybox_files::{FileLock, FinishedFile, State, Table, refuse_overwriting};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for a state that another process changes.
#[derive(clap::Args)]
pub(crate) struct LockWait {
    /// How long to wait while another process changes the state
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

impl LockWait {
    /// Locks a state. Prints a message after half a second of waiting for another process.
    pub(crate) fn acquire(&self, state: &Path) -> anyhow::Result<FileLock> {
        let waiting = || say(format_args!("Waiting for another process that changes {}.", state.display()));
        Ok(FileLock::of(state, Duration::from_secs(self.wait), waiting)?)
    }
}

/// Reads the jury of a state file.
pub(crate) fn read_jury(path: &Path) -> anyhow::Result<Jury> {
    Ok(State::read(path)?.jury)
}

/// Reads a state file that is to be changed. None if there is no such file.
pub(crate) fn read_if_there(path: &Path) -> anyhow::Result<Option<State>> {
    match std::fs::metadata(path) {
        // Reading a pipe would wait for its writer, and a pipe cannot be replaced by the new state.
        Ok(about) if !about.is_file() => {
            bail!("{}: not a plain file; only a plain file can be changed", path.display())
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // Reading reports every other problem.
        _ => Ok(Some(State::read(path)?)),
    }
}

/// Writes a state back.
pub(crate) fn write_back(
    state: &State,
    path: &Path,
    say: impl Fn(std::fmt::Arguments<'_>),
) -> anyhow::Result<()> {
    put_in_place(state.prepare(path)?, path, say)
}

/// Moves a written state into its place. Warns if that changed the owner of the file: perhaps only
/// the owner can read it.
pub(crate) fn put_in_place(
    ready: FinishedFile,
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
            "warning: {} belonged to user {before} and now belongs to user {after}: only an administrator can keep the owner",
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

/// Checks that no output is an input (a file of the table or a state) or another output.
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

/// The summary of a state as JSON. `learnt_now` has the counts of this run.
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
        "seen": output::renamed(jury.seen(), &output::SEEN).unwrap_or_default(),
        "evaluators": evaluators.collect::<Vec<_>>(),
    })
}

/// Counts of learning whose stored names differ from their names in documents.
pub(crate) const LEARNT: [(&str, &str); 5] = [
    ("passed_over", "ignored_rewards"),
    ("scattered", "reopened_rounds"),
    ("already", "learnt_before"),
    ("forgotten", "too_old"),
    ("strangers", "unknown_items"),
];

/// [`summary`] with alarms and diagnostics.
pub(crate) fn summary_with_warnings(jury: &Jury, learnt_now: &serde_json::Value) -> impl Serialize + use<> {
    FitWarnings::of(&jury.fit()).after(summary(jury, learnt_now))
}

/// A sentence such as `Most trusted: a, b.`, with the one or two evaluators whose weights are most
/// clearly above zero. None if there is no such evaluator.
///
/// An evaluator counts if the 95% interval of its weight is bounded and above zero. The order is by
/// the weight over the half width of its interval, which does not depend on the unit of the scores.
pub(crate) fn most_trusted(fitted: &Fitted) -> Option<String> {
    let level = Fraction::try_from(0.95).ok()?;
    let weights = fitted.weight_intervals(level)?;
    let mut clear: Vec<(&str, f64)> = fitted
        .evaluators()
        .names()
        .zip(weights)
        .filter(|(_, weight)| weight.low > 0.0 && weight.high.is_finite())
        .map(|(name, weight)| (name, weight.mean / weight.half_width()))
        .collect();
    clear.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let names: Vec<&str> = clear.iter().take(2).map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| format!("Most trusted: {}.", names.join(", ")))
}
