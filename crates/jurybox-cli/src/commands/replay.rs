//! `jurybox replay`: the reward that each policy would have earned on a recorded history.

use super::columns::{COLUMNS, ColumnArgs, CommandColumns, LabelArgs, OUTPUT};
use super::names::{self, NameList, NameNumbers};
use super::range::range;
use super::state::{check_outputs, read_jury};
use crate::messages::{next, shell, wrote};
use crate::output;
use anyhow::Context;
use jurybox::{Direction, Jury, Spec};
use jurybox_files::{EvaluatorChange, by_evaluator, write_whole};
use jurybox_lab::{OffPolicy, Protocol, ReplayOptions, off_policy, replay};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # Two policies on shuffled rounds of your own history
  jurybox replay history.csv --id post_id --reward verdict --policies adaptive,average --runs 4
  # From a log with the probability of each pick
  jurybox replay log.csv --reward verdict --probability p --round round -k 1 --policies average";

/// Replay a history of scores and rewards under each policy
///
/// Rows are shuffled into random rounds; with --round they keep the rounds of the file, with --pool
/// they wait in one pool until picked, with --folds each fold is ranked by what the others taught.
/// A row (with --id, an item) is reviewed once per run: a learnt reward is never also counted as
/// found.
///
/// Policies learn from rewards scaled to 0..1 by the range of the file; reports use the file's
/// scale. Scores, rewards and rounds are held in memory (8 bytes per number), other columns are
/// not.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: ColumnArgs,
    /// The column of rewards
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    reward: String,
    #[command(flatten)]
    labels: LabelArgs,
    /// Columns with the group of an item, such as its language, for policies whose weights differ
    /// by group
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    context: Vec<NameList>,
    /// The column that names the round of each row, instead of random rounds
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    round: Option<String>,
    /// The column with the logged probability of each pick: rewards are then estimated off-policy,
    /// in the rounds of the log (without --round, --items rows each in the order of the file)
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["pool", "folds", "reuse", "svg"], help_heading = COLUMNS)]
    probability: Option<String>,
    /// One pool of all rows: --k picks per step until the --budget is spent; each run has a random
    /// 80% of rows
    #[arg(long, conflicts_with_all = ["round", "items", "rounds", "folds", "reuse"])]
    pool: bool,
    /// Labels per run in a pool
    #[arg(long, default_value_t = 200, requires = "pool")]
    budget: usize,
    /// Cross-validation: rank each of N folds by what all other rows taught
    #[arg(long, value_name = "N", conflicts_with_all = ["rounds", "reuse"])]
    folds: Option<usize>,
    /// Draw every round from all rows, so that rows return; flatters policies that remember rows
    #[arg(long, conflicts_with = "round")]
    reuse: bool,
    /// Items per round [default: 200; with --folds, the whole fold]
    #[arg(long)]
    items: Option<usize>,
    /// Picks per round, or per step in a pool
    #[arg(short, long, default_value_t = 10)]
    k: usize,
    /// Rounds per run [default: as many as the rows allow; with --reuse, 2000]
    #[arg(long)]
    rounds: Option<usize>,
    /// Number of runs [default: 20; with --folds, 3]
    #[arg(long)]
    runs: Option<usize>,
    /// Seed of all draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Policies to compare; differences are to the first. See `jurybox policies`
    #[arg(long, value_name = "NAMES")]
    policies: Option<String>,
    /// A state to compare, which goes on learning; may be repeated
    #[arg(long, value_name = "FILE")]
    state: Vec<PathBuf>,
    /// Fixed weights to compare, such as spam=0.2,abuse=0.5
    #[arg(long, value_name = "NAME=WEIGHT")]
    weights: Vec<NameNumbers>,
    /// The least and the greatest possible reward, such as 0,5, for rows without one [default:
    /// those of the file; 0,1 if all are 0 or 1]
    #[arg(long, value_parser = range, value_name = "LOW,HIGH", requires = "probability", allow_hyphen_values = true)]
    reward_range: Option<(f64, f64)>,
    /// Write every pick: policy, run, round, row, probability; with --probability, every row with
    /// the probabilities, the reward and its regression estimate
    #[arg(long = "picks", id = "picks_out", value_name = "FILE", help_heading = OUTPUT)]
    picks: Option<PathBuf>,
    /// Write a figure
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    svg: Option<PathBuf>,
    /// Write an HTML page
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        output::uses_stdout([&self.picks, &self.svg, &self.html].into_iter().flatten(), self.json)?;
        let mut states: Vec<(String, Jury)> = self
            .state
            .iter()
            .map(|path| Ok((format!("state({})", path.display()), read_jury(path)?)))
            .collect::<anyhow::Result<_>>()?;
        let contexts = states.iter().flat_map(|(_, jury)| jury.evaluators().as_slice());
        let contexts = contexts.filter(|one| one.direction == Direction::Context).map(|one| one.name.clone());
        let known = states.first().map_or(&[][..], |(_, jury)| jury.evaluators().as_slice());
        let table = self.columns.open(&CommandColumns {
            reward: Some(&self.reward),
            labels: self.labels.all(),
            probability: self.probability.as_ref(),
            key: self.round.as_ref(),
            context: names::all(&self.context).into_iter().chain(contexts).collect(),
            known,
            ..CommandColumns::default()
        })?;
        check_outputs(&table, &self.state, [&self.picks, &self.svg, &self.html].into_iter().flatten())?;
        for (name, jury) in &mut states {
            EvaluatorChange::for_history(jury, table.roles().evaluators()).with_context(|| name.clone())?;
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
                let evaluators = table.roles().evaluators().without_contexts()?;
                Ok(by_evaluator(&evaluators, &NameNumbers::all(&self.weights), Some(0.0))?)
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
        if self.json {
            output::document(&outcome)?;
        } else {
            self.print(&outcome.to_table())?;
        }
        self.finish();
        Ok(())
    }

    fn estimate(&self, outcome: &OffPolicy) -> anyhow::Result<()> {
        if let Some(path) = &self.html {
            write_whole(path, &outcome.to_html())?;
        }
        if self.json {
            output::named("off-policy", outcome)?;
        } else {
            self.print(&outcome.to_table())?;
        }
        self.finish();
        Ok(())
    }

    /// Prints the table, unless an output file is standard output.
    fn print(&self, table: &str) -> anyhow::Result<()> {
        let files = [&self.picks, &self.svg, &self.html].into_iter().flatten();
        if output::uses_stdout(files, self.json)? { Ok(()) } else { output::text_to_stdout(table) }
    }

    fn finish(&self) {
        wrote([&self.picks, &self.svg, &self.html].into_iter().flatten().map(|file| &**file));
        next(format_args!(
            "learn {} --id {} --reward {} --state model.json",
            self.columns.files_argument(),
            self.columns.id_argument(),
            shell(&self.reward)
        ));
    }
}
