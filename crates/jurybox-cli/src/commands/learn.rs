//! `jurybox learn`: a state from files, or from the verdicts on picks.

use super::columns::{Columns, Special};
use super::names::{self, Names};
use super::state::{Turn, read_if_there, summary, write_back};
use super::verdicts;
use crate::output;
use anyhow::bail;
use jurybox::{Direction, Evaluator, Evaluators, Jury, Spec};
use jurybox_files::{
    Content, Error, May, Roles, Seated, State, Table, counted, expand, fingerprint, same_policy, seat, teach,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What is said of a file that comes again.
const ALREADY: &str = "learnt already, and not counted again; --again would";

/// Larger files, in bytes, are not read once more to know their rows again.
const LARGE: u64 = 1 << 26;

/// Learn from the scores of files and from the rewards where they have them, or from the verdicts on picks.
///
/// Adds to the state if the file is there already. Scores alone teach the policies that look at them; rewards teach the
/// rest. A state remembers which files it has learnt, and passes over those that come again.
///
/// With --picks, the verdicts are joined by --id to what `jurybox pick` wrote, in the same file or in others. They may come late
/// and in parts: each is learnt once, with the scores, the probability and the time of its pick.
///
///   jurybox learn monday.csv --reward verdict --state model.json
///
///   jurybox learn --picks 'picks-*.csv' --verdicts verdicts.csv --id post_id --reward verdict --state model.json
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) columns: Columns,
    /// The state to write, or to add to
    #[arg(long, value_name = "FILE")]
    pub(super) state: PathBuf,
    /// The column of rewards; empty where there is no verdict [with --picks: that of the state]
    #[arg(long, value_name = "COLUMN")]
    pub(super) reward: Option<String>,
    /// What `jurybox pick` wrote; patterns are fine
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["files", "round", "at", "policy", "long"], requires = "id")]
    pub(super) picks: Vec<String>,
    /// The verdicts on the picks, with the same --id [default: a column of the picks themselves]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "picks")]
    pub(super) verdicts: Vec<String>,
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
    /// Learn also what the state has learnt already, and count it twice
    #[arg(long)]
    pub(super) again: bool,
    #[command(flatten)]
    turn: Turn,
    /// Evaluators of the state to forget; without it, none that the state knows may be left out of --evaluators
    #[arg(long, value_name = "NAMES")]
    drop: Vec<Names>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let _lock = self.turn.with(&self.state)?;
        let before = read_if_there(&self.state)?;
        if !self.picks.is_empty() {
            let Some(state) = before else {
                bail!(
                    "{}: there is no such state; picks are learnt by the one that `jurybox pick` wrote",
                    self.state.display()
                );
            };
            return verdicts::run(self, state);
        }
        if let (Some(before), Some(asked)) = (&before, &self.policy) {
            same_policy(&before.jury, asked)?;
        }
        let reward = self.reward.as_ref().map(|name| self.directed(name, before.as_ref())).transpose()?;
        let (mut paths, mut fingerprints) = self.new_files(before.as_ref())?;
        if paths.is_empty() {
            return self.nothing_new(before.as_ref());
        }
        if let Some(before) = before.as_ref().filter(|_| !self.again) {
            (paths, fingerprints) = self.new_rows(before, (paths, fingerprints))?;
            if paths.is_empty() {
                return self.nothing_new(Some(before));
            }
        }
        let turned = reward.iter().filter(|reward| reward.direction == Direction::Low);
        let kept = self.kept(before.as_ref().map_or(&[][..], |state| state.jury.evaluators().as_slice()))?;
        let table = self.columns.open_paths(
            &paths,
            &Special {
                reward: self.reward.as_ref(),
                key: self.round.as_ref(),
                known: &kept,
                invert: turned.map(|reward| reward.name.clone()).collect(),
                // What comes through a pipe is kept aside, so that it can be known again.
                again: fingerprints.contains(&None),
                ..Special::default()
            },
        )?;
        if let Some(column) = table.receipts_of_picks() {
            return Err(Error::ArePicks { path: table.path().into(), column }.into());
        }
        if fingerprints.contains(&None) {
            fingerprints = table.fingerprints()?;
            let piped = fingerprints.iter().flatten();
            if !self.again && piped.clone().any(|name| is_picked_from(before.as_ref(), name)) {
                return Err(Error::PickedFrom { path: table.path().into() }.into());
            }
            let known = piped.clone().any(|name| self.is_known(before.as_ref(), name));
            if known && paths.len() == 1 {
                self.columns.say(format_args!("{}: {ALREADY}", table.path().display()));
                return self.nothing_new(before.as_ref());
            } else if known {
                bail!("standard input: {ALREADY}");
            }
        }
        let mut state = self.seated(before, table.taken().evaluators())?;
        let first = self.at.unwrap_or(state.jury.seen().next_time());
        let taught = teach(&table, &mut state.jury, first)?;
        let seats = state.jury.evaluators().as_slice().to_vec();
        let rows = paths.iter().filter_map(|path| Some(self.contents(&seats, path)?.rewards));
        for name in fingerprints.into_iter().flatten().chain(rows) {
            state.memory.learnt_file(name);
        }
        if let Some(reward) = &reward {
            self.remember(&mut state, reward, taught.range);
        }
        write_back(&state, &self.state, |what| self.columns.say(what))?;
        let jury = &state.jury;
        self.columns.say(format_args!(
            "{} in {}, {} with a reward, {} of them learnt from, by {}",
            counted(taught.rows, "row"),
            counted(taught.rounds, "round"),
            taught.labelled,
            taught.used,
            jury.spec()
        ));
        if taught.scattered > 0 {
            self.columns.say(format_args!(
                "warning: {} came back after another had begun, and counted again: sort the file by its rounds",
                counted(taught.scattered, "round")
            ));
        }
        if taught.passed_over > 0 {
            self.columns.say(format_args!(
                "warning: `{}` does not learn from rewards without a receipt: {} were passed over",
                jury.spec().name(),
                taught.passed_over
            ));
        }
        self.outside(jury);
        if self.json { output::versioned("learn", summary(jury, &json!(taught))) } else { Ok(()) }
    }

    /// The reward with its direction: as it was said, or as the state remembers it. Another one than the state's is refused.
    pub(super) fn directed(&self, name: &str, state: Option<&State>) -> anyhow::Result<Evaluator> {
        let learnt = state.and_then(|state| state.memory.reward());
        if self.columns.invert().iter().any(|inverted| inverted == name) {
            let reward = Evaluator::low(name);
            state.map_or(Ok(()), |state| state.memory.same_reward(&reward))?;
            return Ok(reward);
        }
        let reward = learnt.filter(|learnt| learnt.name == name).unwrap_or_else(|| name.into());
        state.map_or(Ok(()), |state| state.memory.same_reward(&reward))?;
        Ok(reward)
    }

    /// The files that have not been learnt yet, with the fingerprints of those that have one; says which were.
    fn new_files(&self, state: Option<&State>) -> anyhow::Result<(Vec<PathBuf>, Vec<Option<String>>)> {
        let (mut paths, mut fingerprints) = (Vec::new(), Vec::new());
        for path in expand(&self.columns.files)? {
            let fingerprint = fingerprint(&path)?;
            if let Some(name) = fingerprint.as_ref().filter(|_| !self.again) {
                if self.is_known(state, name) || fingerprints.contains(&fingerprint) {
                    self.columns.say(format_args!("{}: {ALREADY}", path.display()));
                    continue;
                }
                if is_picked_from(state, name) {
                    return Err(Error::PickedFrom { path }.into());
                }
            }
            fingerprints.push(fingerprint);
            paths.push(path);
        }
        Ok((paths, fingerprints))
    }

    /// The names of the rows of files, where they have ids and the files are not too large to be read once more for it.
    fn contents(&self, evaluators: &[Evaluator], path: &Path) -> Option<Content> {
        let [id] = &self.columns.id()[..] else { return None };
        let small = path.is_file() && std::fs::metadata(path).is_ok_and(|about| about.len() <= LARGE);
        let roles = Roles {
            seated: evaluators.to_vec(),
            key: Some(id.clone()),
            reward: self.reward.clone(),
            ..Roles::default()
        };
        // What cannot be read is told of when it is learnt.
        let open = || Table::open_as(&[path.to_path_buf()], &self.columns.reading(), &roles, true).ok();
        let table = small.then(open).flatten().filter(|table| table.receipts_of_picks().is_none());
        table.and_then(|table| Content::of(&table).ok())
    }

    /// Leaves out files whose rows were learnt already, in another order or dress, and refuses those whose rows were picked from,
    /// though they have gained a column of verdicts since.
    fn new_rows(
        &self,
        state: &State,
        (paths, fingerprints): (Vec<PathBuf>, Vec<Option<String>>),
    ) -> anyhow::Result<(Vec<PathBuf>, Vec<Option<String>>)> {
        let (mut new, mut names) = (Vec::new(), Vec::new());
        for (path, name) in paths.into_iter().zip(fingerprints) {
            if let Some(content) = self.contents(state.jury.evaluators().as_slice(), &path) {
                if is_picked_from(Some(state), &content.scores) {
                    return Err(Error::PickedFrom { path }.into());
                }
                if self.is_known(Some(state), &content.rewards) {
                    self.columns.say(format_args!("{}: the same rows were {ALREADY}", path.display()));
                    continue;
                }
            }
            new.push(path);
            names.push(name);
        }
        Ok((new, names))
    }

    /// Whether what goes by this name has been learnt, and is not to be learnt again.
    fn is_known(&self, state: Option<&State>, fingerprint: &str) -> bool {
        !self.again && state.is_some_and(|state| state.memory.knows_file(fingerprint))
    }

    /// The state with the table's evaluators seated; says who came and who left.
    fn seated(&self, before: Option<State>, evaluators: &Evaluators) -> anyhow::Result<State> {
        let Some(mut state) = before else {
            return Ok(State::from(seat(&self.policy.clone().unwrap_or_default(), evaluators)?));
        };
        let may = May::Change { forget: &names::all(&self.drop) };
        let seated = Seated::again(&mut state.jury, evaluators, may)?;
        for name in seated.joined {
            self.columns.say(format_args!("`{name}` joins: what was learnt before is learnt without it"));
        }
        for name in seated.left {
            self.columns.say(format_args!("`{name}` leaves: what was learnt of it is forgotten"));
        }
        Ok(state)
    }

    /// What is left to do where everything has been learnt already.
    fn nothing_new(&self, state: Option<&State>) -> anyhow::Result<()> {
        match state.filter(|_| self.json) {
            Some(state) => output::versioned("learn", summary(&state.jury, &json!({"rows": 0}))),
            None => Ok(()),
        }
    }

    /// Remembers the reward and its range; says where that looks like another scale.
    pub(super) fn remember(&self, state: &mut State, reward: &Evaluator, range: Option<(f64, f64)>) {
        let Some((least, greatest)) = range else { return };
        if let Some((low, high)) = state.memory.saw_rewards(reward, least, greatest) {
            self.columns.say(format_args!(
                "warning: `{}` lay within {low} to {high} until now, and here within {least} to {greatest}: is that another scale?",
                reward.name
            ));
        }
    }

    /// Says how many rewards the policy could not take as they are.
    pub(super) fn outside(&self, jury: &Jury) {
        let outside = jury.seen().outside;
        if outside > 0 {
            self.columns.say(format_args!(
                "warning: {} outside the range that `{}` was told, moved to its ends",
                counted(outside, "reward"),
                jury.spec()
            ));
        }
    }

    /// The evaluators of the state that are not to be forgotten.
    fn kept(&self, known: &[Evaluator]) -> anyhow::Result<Vec<Evaluator>> {
        let drop = names::all(&self.drop);
        let dropped = |name: &str| drop.iter().any(|other| other == name);
        for name in &drop {
            if !known.iter().any(|evaluator| evaluator.name == *name) {
                bail!("--drop {name}: {} knows no such evaluator", self.state.display());
            }
            if self.columns.evaluators().contains(name) {
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
}

/// Whether a state has seen the rows of what goes by this name by picking from them.
fn is_picked_from(state: Option<&State>, fingerprint: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_picked_file(fingerprint))
}
