//! `jurybox replay`: what each policy would have earned on a person's own history.

use super::columns::{Columns, Special};
use crate::output;
use jurybox::Spec;
use jurybox_files::write_whole;
use jurybox_lab::{ReplayOptions, replay};
use std::path::PathBuf;

/// Replay a history of scores and rewards under each policy.
///
/// Rounds are drawn at random from the rows, or are the file's own with --round. Rewards are scaled to 0..1 by the range
/// of the file before a policy learns from them, and reported as they are. Scores, rewards and rounds of all rows are held
/// in memory (8 bytes a number), because rounds are drawn from all of them; the other columns are not.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// The column of rewards
    #[arg(long, value_name = "COLUMN")]
    reward: String,
    /// The column that names the round of each row: rounds in order of appearance, instead of random ones
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// The column with the probability that a row was reviewed, where only reviewed rows have a reward
    #[arg(long, value_name = "COLUMN")]
    probability: Option<String>,
    /// Items of a random round
    #[arg(long, default_value_t = 200)]
    items: usize,
    /// Picks of a round
    #[arg(short, long, default_value_t = 10)]
    k: usize,
    /// Rounds of a run; with --round, at most that many
    #[arg(long)]
    rounds: Option<usize>,
    /// Runs
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// The seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Policies to try; see `jurybox policies`
    #[arg(long, value_name = "NAMES")]
    policies: Option<String>,
    /// Write every pick: policy, run, round, row, probability
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
        let table = self.columns.open(&Special {
            reward: Some(&self.reward),
            probability: self.probability.as_ref(),
            key: self.round.as_ref(),
            ..Special::default()
        })?;
        let defaults = ReplayOptions::default();
        let policies = match &self.policies {
            None => defaults.policies,
            Some(list) => Spec::list(list)?,
        };
        let rounds = self.rounds.unwrap_or(if self.round.is_some() { usize::MAX } else { defaults.rounds });
        let options = ReplayOptions {
            items: self.items,
            k: self.k,
            rounds,
            runs: self.runs,
            seed: self.seed,
            policies,
            picks: self.picks.clone(),
        };
        let outcome = replay(&table, &options)?;
        if let Some(path) = &self.svg {
            write_whole(path, &outcome.to_svg())?;
        }
        if let Some(path) = &self.html {
            write_whole(path, &outcome.to_html())?;
        }
        if self.json {
            output::document(&outcome)
        } else {
            eprint!("{}", outcome.to_table());
            Ok(())
        }
    }
}
