//! `jurybox replay`: what each policy would have earned on a person's own history.

use super::columns::{Columns, Labels, Special};
use super::names::{self, Names, Pairs};
use super::range::range;
use super::state::{check_outputs, read_jury};
use crate::output;
use anyhow::Context;
use jurybox::{Direction, Jury, Spec};
use jurybox_files::{Seated, by_evaluator, write_whole};
use jurybox_lab::{OffPolicy, Protocol, ReplayOptions, off_policy, replay};
use std::path::PathBuf;

/// Replay a history of scores and rewards under each policy.
///
/// A row is looked at at most once in a run: a reward that was learnt is never also counted as found. Rows are shuffled and
/// dealt out in rounds, or come in the file's own rounds with --round, or lie in one --pool until they are picked, or are
/// ranked out of fold with --folds. With --id it is items that are looked at once, however many rows they have.
///
/// Rewards are scaled to 0..1 by the range of the file before a policy learns from them, and reported as they are. Scores,
/// rewards and rounds of all rows are held in memory (8 bytes a number); the other columns are not.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// The column of rewards
    #[arg(long, value_name = "COLUMN")]
    reward: String,
    #[command(flatten)]
    labels: Labels,
    /// Columns that say which group an item belongs to, such as its language, for policies whose weights may differ by group; those of a
    /// state are known
    #[arg(long, value_name = "COLUMNS")]
    context: Vec<Names>,
    /// The column that names the round of each row: rounds in order of appearance, instead of random ones
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// The column with the logged probability of each pick: what the policies would have earned is then estimated from what
    /// the log looked at, in the log's own rounds (without --round, --items rows each, in the order of the file)
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["pool", "folds", "reuse", "svg"])]
    probability: Option<String>,
    /// All rows in one pool, --k picks a step until the --budget is spent, each run on another random 80% of the rows
    #[arg(long, conflicts_with_all = ["round", "items", "rounds", "folds", "reuse"])]
    pool: bool,
    /// Labels of a run in a pool
    #[arg(long, default_value_t = 200, requires = "pool")]
    budget: usize,
    /// Learn from all rows but a fold and rank the fold, for each of so many folds
    #[arg(long, value_name = "N", conflicts_with_all = ["rounds", "reuse"])]
    folds: Option<usize>,
    /// Let rows come back: every round is drawn from all of them. Flatters whoever remembers
    #[arg(long, conflicts_with = "round")]
    reuse: bool,
    /// Items of a round [default: 200; with --folds, the whole fold]
    #[arg(long)]
    items: Option<usize>,
    /// Picks of a round, or of a step in a pool
    #[arg(short, long, default_value_t = 10)]
    k: usize,
    /// Rounds of a run, at most as many as there are rows for [default: as many; with --reuse, 2000]
    #[arg(long)]
    rounds: Option<usize>,
    /// Runs [default: 20; with --folds, 3]
    #[arg(long)]
    runs: Option<usize>,
    /// The seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Policies to try, each once; differences are to the first. See `jurybox policies`
    #[arg(long, value_name = "NAMES")]
    policies: Option<String>,
    /// A jury that has learnt already, as written by `jurybox learn`; it goes on learning. May be given several times
    #[arg(long, value_name = "FILE")]
    state: Vec<PathBuf>,
    /// Fixed weights to try beside the policies, such as spam=0.2,abuse=0.5
    #[arg(long, value_name = "NAME=WEIGHT")]
    weights: Vec<Pairs>,
    /// The least and the greatest that a reward can be, such as 0,5: for what a log did not look at [default: those in the
    /// file; 0,1 where all are 0 or 1]
    #[arg(long, value_parser = range, value_name = "LOW,HIGH", requires = "probability", allow_hyphen_values = true)]
    reward_range: Option<(f64, f64)>,
    /// Write every pick: policy, run, round, row, probability; with --probability, every row with each policy's
    /// probability, the logged one, the reward and what a regression expects
    #[arg(long, value_name = "FILE")]
    picks: Option<PathBuf>,
    /// Write a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        output::is_given_away([&self.picks, &self.svg, &self.html].into_iter().flatten(), self.json)?;
        let mut states: Vec<(String, Jury)> = self
            .state
            .iter()
            .map(|path| Ok((format!("state({})", path.display()), read_jury(path)?)))
            .collect::<anyhow::Result<_>>()?;
        let contexts = states.iter().flat_map(|(_, jury)| jury.evaluators().as_slice());
        let contexts = contexts.filter(|one| one.direction == Direction::Context).map(|one| one.name.clone());
        let known = states.first().map_or(&[][..], |(_, jury)| jury.evaluators().as_slice());
        let table = self.columns.open(&Special {
            reward: Some(&self.reward),
            labels: self.labels.all(),
            probability: self.probability.as_ref(),
            key: self.round.as_ref(),
            context: names::all(&self.context).into_iter().chain(contexts).collect(),
            known,
            ..Special::default()
        })?;
        check_outputs(&table, &self.state, [&self.picks, &self.svg, &self.html].into_iter().flatten())?;
        for (name, jury) in &mut states {
            Seated::for_history(jury, table.taken().evaluators()).with_context(|| name.clone())?;
        }
        let protocol = match self.folds {
            Some(folds) => Protocol::Folds(folds),
            None if self.pool => Protocol::Pool { budget: self.budget },
            None if self.reuse => Protocol::Reuse,
            None => Protocol::Rounds,
        };
        let defaults = ReplayOptions::of(protocol);
        let policies = match &self.policies {
            None => defaults.policies,
            Some(list) => Spec::list(list)?,
        };
        let weights = (!self.weights.is_empty())
            .then(|| -> anyhow::Result<Vec<f64>> {
                let evaluators = table.taken().evaluators().without_contexts()?;
                Ok(by_evaluator(&evaluators, &Pairs::all(&self.weights), Some(0.0))?)
            })
            .transpose()?;
        let options = ReplayOptions {
            protocol,
            items: self.items.unwrap_or(defaults.items),
            k: self.k,
            rounds: self.rounds,
            runs: self.runs.unwrap_or(defaults.runs),
            seed: self.seed,
            policies,
            states,
            weights,
            reward_range: self.reward_range,
            picks: self.picks.clone(),
        };
        if self.probability.is_some() {
            return self.estimate(&off_policy(&table, &options)?);
        }
        let outcome = replay(&table, &options)?;
        if let Some(path) = &self.svg {
            write_whole(path, &outcome.to_svg())?;
        }
        if let Some(path) = &self.html {
            write_whole(path, &outcome.to_html())?;
        }
        if self.json { output::document(&outcome) } else { self.show(&outcome.to_table()) }
    }

    fn estimate(&self, outcome: &OffPolicy) -> anyhow::Result<()> {
        if let Some(path) = &self.html {
            write_whole(path, &outcome.to_html())?;
        }
        if self.json { output::named("off-policy", outcome) } else { self.show(&outcome.to_table()) }
    }

    /// The table, unless a page or picture has standard output.
    fn show(&self, table: &str) -> anyhow::Result<()> {
        let files = [&self.picks, &self.svg, &self.html].into_iter().flatten();
        if output::is_given_away(files, self.json)? { Ok(()) } else { output::text_to_stdout(table) }
    }
}
