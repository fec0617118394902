//! `jurybox merge`: one state from several.

use super::columns::OUTPUT;
use super::state::{LockWait, summary_with_warnings, write_back};
use crate::messages::{next, say, shell, wrote};
use crate::output;
use anyhow::bail;
use jurybox_files::{AllowedChange, Error, EvaluatorChange, State, counted};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  # Two sites into one state
  jurybox merge north.json south.json --out all.json
  # Add one more site, in place
  jurybox merge all.json west.json --out all.json";

/// Merge states that were learnt from different data
///
/// The result is the state that would have learnt from all of it. States that share a file or a
/// round of picks are refused, since that would count twice. The output may replace one of the
/// inputs.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// States to merge
    #[arg(required = true, num_args = 1.., value_name = "STATE")]
    states: Vec<PathBuf>,
    /// Output file
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    out: PathBuf,
    /// Count data that several states share once for each
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    lock: LockWait,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let _lock = self.lock.acquire(&self.out)?;
        let mut sum: Option<State> = None;
        for path in &self.states {
            let state = State::read(path)?;
            match &mut sum {
                None => sum = Some(state),
                Some(sum) => self.add(sum, &state, path)?,
            }
        }
        let Some(sum) = sum else { bail!("name at least one state") };
        write_back(&sum, &self.out, say)?;
        let seen = sum.jury.seen();
        say(format_args!(
            "Merged {}: {}, {}.",
            counted(self.states.len() as u64, "state"),
            counted(seen.items, "item"),
            counted(seen.used, "reward")
        ));
        if self.json {
            output::versioned("merge", summary_with_warnings(&sum.jury, &serde_json::Value::Null))?;
        }
        wrote([&*self.out]);
        let state = if output::is_stdout(&self.out) { "STATE".into() } else { shell(self.out.display()) };
        next(format_args!("rank FILE --state {state}"));
        Ok(())
    }

    fn add(&self, sum: &mut State, state: &State, path: &Path) -> anyhow::Result<()> {
        let shared = sum.memory.shared(&state.memory);
        if shared > 0 && !self.again {
            return Err(Error::SharedHistory { path: path.into(), shared }.into());
        }
        let twice = sum.memory.shared_verdicts(&state.memory);
        if twice > 0 && !self.again {
            say(format_args!(
                "warning: {}: {} already learnt by a state before it, and counted twice",
                path.display(),
                counted(twice as u64, "verdict")
            ));
        }
        sum.memory.merge(&state.memory)?;
        let mut jury = state.jury.clone();
        // Evaluators may be in another order. If they differ otherwise, the merge below is an
        // error.
        if jury.evaluators().len() == sum.jury.evaluators().len() {
            let _ = EvaluatorChange::apply(&mut jury, sum.jury.evaluators(), AllowedChange::Subset);
        }
        Ok(sum.jury.merge(&jury).map_err(|source| Error::State { path: path.into(), source })?)
    }
}
