//! `jurybox merge`: one state of several.

use super::state::{Turn, told, write_back};
use crate::messages::say;
use crate::output;
use anyhow::bail;
use jurybox_files::{Error, May, Seated, State, counted};
use std::path::{Path, PathBuf};

/// Add states that were learnt apart.
///
/// The result is what one state would have learnt from everything. States that were taught with the same file, or with the
/// same round of picks, are refused: it would count twice. The sum may take the place of one of them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// States to add up
    #[arg(required = true, num_args = 1.., value_name = "STATE")]
    states: Vec<PathBuf>,
    /// Where to write the sum
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Count what several states were taught with several times
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    turn: Turn,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let _lock = self.turn.with(&self.out)?;
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
            "{}, {}, {}",
            counted(self.states.len() as u64, "state"),
            counted(seen.items, "item"),
            counted(seen.used, "reward")
        ));
        if self.json { output::versioned("merge", told(&sum.jury, &serde_json::Value::Null)) } else { Ok(()) }
    }

    fn add(&self, sum: &mut State, state: &State, path: &Path) -> anyhow::Result<()> {
        let shared = sum.memory.shared(&state.memory);
        if shared > 0 && !self.again {
            return Err(Error::Shared { path: path.into(), shared }.into());
        }
        let twice = sum.memory.shared_verdicts(&state.memory);
        if twice > 0 && !self.again {
            say(format_args!(
                "warning: {}: {} learnt by the states before it, too, and counted twice",
                path.display(),
                counted(twice as u64, "verdict")
            ));
        }
        sum.memory.merge(&state.memory)?;
        let mut jury = state.jury.clone();
        // The same evaluators in another order are the same; what does not fit is refused below, in its own words.
        if jury.evaluators().len() == sum.jury.evaluators().len() {
            let _ = Seated::again(&mut jury, sum.jury.evaluators(), May::Lack);
        }
        Ok(sum.jury.merge(&jury).map_err(|source| Error::State { path: path.into(), source })?)
    }
}
