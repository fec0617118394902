//! `jurybox learn` and `jurybox merge`: states from files.

use super::columns::{Columns, Special};
use crate::output;
use anyhow::{Context, bail};
use jurybox::{Evaluator, Evaluators, Jury, Spec};
use jurybox_files::{Error, Table, seat, teach, write_whole};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Learn from the scores of files, and from the rewards where they have them.
///
/// Adds to the state if the file is there already. Scores alone teach the policies that look at them; rewards teach the
/// rest.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// The state to write, or to add to
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// The column of rewards; empty where there is no verdict
    #[arg(long, value_name = "COLUMN")]
    reward: Option<String>,
    /// The column that names the round of each row: rows that follow each other with the same value are one round, and
    /// rounds are learnt in their order [default: each file is one round]
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// Which policy learns [default: that of the state, or the default policy]
    #[arg(long)]
    policy: Option<Spec>,
    /// The time of the first round, a whole number; each further round is one later. With 'adaptive(forget=true,tick=3600)' it
    /// can be a timestamp in seconds [default: one after the latest that the state has seen]
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Evaluators of the state to forget; without it, none that the state knows may be left out of --evaluators
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    drop: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let before = if self.state.exists() { Some(read_state(&self.state)?) } else { None };
        if let (Some(before), Some(asked)) = (&before, &self.policy)
            && !is_seated(before, asked)
        {
            bail!(
                "{} was learnt by `{}`, not by `{asked}`; use another file",
                self.state.display(),
                before.spec()
            );
        }
        let known = self.kept(before.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice()))?;
        let table = self.columns.open(&Special {
            reward: self.reward.as_ref(),
            key: self.round.as_ref(),
            known: &known,
            ..Special::default()
        })?;
        let evaluators = table.taken().evaluators();
        let spec = self.policy.clone().unwrap_or_default();
        let mut jury = match before {
            Some(mut jury) => {
                self.reseat(&mut jury, evaluators)?;
                jury
            }
            None => seat(&spec, evaluators)?,
        };
        let first = self.at.unwrap_or(jury.seen().next_time());
        let taught = teach(&table, &mut jury, first)?;
        write_state(&self.state, &jury)?;
        self.columns.say(format_args!(
            "{} rows in {} {}, {} with a reward, {} of them learnt from, by {}",
            taught.rows,
            taught.rounds,
            if taught.rounds == 1 { "round" } else { "rounds" },
            taught.labelled,
            taught.used,
            jury.spec()
        ));
        if taught.scattered > 0 {
            self.columns.say(format_args!(
                "warning: {} rounds came back after another had begun, and counted again: sort the file by its rounds",
                taught.scattered
            ));
        }
        if taught.passed_over > 0 {
            self.columns.say(format_args!(
                "warning: `{}` does not learn from rewards without a receipt: {} were passed over",
                jury.spec().name(),
                taught.passed_over
            ));
        }
        let outside = jury.seen().outside;
        if outside > 0 {
            self.columns.say(format_args!(
                "warning: {outside} rewards lay outside the range that `{}` was told, and were moved to its ends",
                jury.spec()
            ));
        }
        if self.json { summary(&jury, Some(&taught)) } else { Ok(()) }
    }

    /// The evaluators of the state that are not to be forgotten.
    fn kept(&self, known: &[Evaluator]) -> anyhow::Result<Vec<Evaluator>> {
        let dropped = |name: &str| self.drop.iter().any(|other| other == name);
        for name in &self.drop {
            if !known.iter().any(|evaluator| evaluator.name == *name) {
                bail!("--drop {name}: {} knows no such evaluator", self.state.display());
            }
            if self.columns.evaluators.contains(name) {
                bail!("`{name}` is named by both --drop and --evaluators");
            }
        }
        let kept: Vec<Evaluator> =
            known.iter().filter(|evaluator| !dropped(&evaluator.name)).cloned().collect();
        if kept.is_empty() && !known.is_empty() {
            bail!("--drop names every evaluator of {}; learn a new state instead", self.state.display());
        }
        Ok(kept)
    }

    /// Seats the evaluators that were named in place of those that the state knows, and says who came and who left.
    fn reseat(&self, jury: &mut Jury, evaluators: &Evaluators) -> anyhow::Result<()> {
        if jury.evaluators() == evaluators {
            return Ok(());
        }
        let before = jury.evaluators().clone();
        let leaves = |name: &&str| evaluators.position(name).is_none();
        if let Some(name) = before.names().filter(leaves).find(|name| !self.drop.iter().any(|d| d == name)) {
            bail!(
                "what was learnt of `{name}` would be forgotten: {} knows it, and --evaluators does not name it; name it \
                 too, or pass --drop {name}",
                self.state.display()
            );
        }
        jury.reseat(evaluators.clone())?;
        for name in evaluators.names().filter(|name| before.position(name).is_none()) {
            self.columns.say(format_args!("`{name}` joins: what was learnt before is learnt without it"));
        }
        for name in before.names().filter(|name| evaluators.position(name).is_none()) {
            self.columns.say(format_args!("`{name}` leaves: what was learnt of it is forgotten"));
        }
        Ok(())
    }
}

/// Whether a jury is what a spec asks for; `inverted` ends up in the evaluators.
fn is_seated(jury: &Jury, asked: &Spec) -> bool {
    Jury::new(asked, jury.evaluators().clone())
        .is_ok_and(|seated| (seated.spec(), seated.evaluators()) == (jury.spec(), jury.evaluators()))
}

/// One document about a state.
fn summary(jury: &Jury, taught: Option<&jurybox_files::Taught>) -> anyhow::Result<()> {
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
    output::versioned(
        "learn",
        json!({
            "policy": jury.spec(),
            "learnt_now": taught,
            "seen": jury.seen(),
            "evaluators": evaluators.collect::<Vec<_>>(),
        }),
    )
}

/// Add states that were learnt apart.
///
/// The result is what one state would have learnt from everything.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// States to add up
    #[arg(required = true, num_args = 1.., value_name = "STATE")]
    states: Vec<PathBuf>,
    /// Where to write the sum
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl MergeArgs {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut sum: Option<Jury> = None;
        for path in &self.states {
            let jury = read_state(path)?;
            match &mut sum {
                None => sum = Some(jury),
                Some(sum) => {
                    sum.merge(&jury).map_err(|source| Error::State { path: path.clone(), source })?;
                }
            }
        }
        let Some(sum) = sum else { bail!("name at least one state") };
        write_state(&self.out, &sum)?;
        if self.json {
            return summary(&sum, None);
        }
        let seen = sum.seen();
        eprintln!("{} states, {} items, {} rewards", self.states.len(), seen.items, seen.used);
        Ok(())
    }
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

/// Writes a state, once it is certain that it can be read again.
fn write_state(path: &Path, jury: &Jury) -> anyhow::Result<()> {
    let json = jury.to_json();
    Jury::from_json(&json)
        .map_err(|source| Error::State { path: path.into(), source })
        .context("what was learnt cannot be saved, and nothing was written")?;
    Ok(write_whole(path, &json)?)
}

/// Reads a state file.
pub(crate) fn read_state(path: &Path) -> anyhow::Result<Jury> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoFile { path: path.into() }.into());
        }
        Err(e) => return Err(Error::Io { path: path.into(), doing: "read", source: e }.into()),
    };
    Ok(Jury::from_json(&text).map_err(|source| Error::State { path: path.into(), source })?)
}
