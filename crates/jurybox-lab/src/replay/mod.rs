//! Replay: what each policy would have earned on a person's own history.
//!
//! Where every row has a reward, a round is a draw of rows (or the file's own round), a policy picks K of them, earns
//! what they were worth and learns from it: exactly what would have happened. Where only reviewed rows have a reward, that
//! cannot be known, only estimated from logged probabilities; see `offpolicy`.

mod dataset;
mod log;
mod picks;
pub(crate) mod run;
mod show;

pub(crate) use dataset::{Dataset, Replay};
pub(crate) use log::{Log, filled};

use crate::error::Error;
use crate::offpolicy::{self, Estimates};
use crate::statistics::Estimate;
use jurybox::Spec;
use jurybox_files::Table;
use serde::Serialize;
use std::path::PathBuf;

/// How to replay.
///
/// ```
/// let options = jurybox_lab::ReplayOptions::default();
/// assert_eq!((options.items, options.k), (200, 10));
/// ```
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// Items of a drawn round.
    pub items: usize,
    /// Picks of a round.
    pub k: usize,
    /// Rounds of a run.
    pub rounds: usize,
    /// Runs.
    pub runs: usize,
    /// The seed of every draw.
    pub seed: u64,
    /// The policies to try.
    pub policies: Vec<Spec>,
    /// Where to write every pick.
    pub picks: Option<PathBuf>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions {
            items: 200,
            k: 10,
            rounds: 2000,
            runs: 20,
            seed: 1,
            policies: default_policies(),
            picks: None,
        }
    }
}

fn default_policies() -> Vec<Spec> {
    let mut specs = vec![Spec::default()];
    for name in ["esag", "greedy", "eps-greedy-all", "eval-ucb", "lin-ucb", "exp4p"] {
        if specs.iter().all(|spec| spec.name() != name) {
            specs.push(Spec::new(name));
        }
    }
    specs
}

/// What came of a replay; the document of `jurybox replay --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Rows of the history.
    pub rows: usize,
    /// Rows with a reward.
    pub labelled: usize,
    /// The evaluators.
    pub evaluators: Vec<String>,
    /// `replayed` where every reward is known, `estimated` from logged probabilities, or `unknown`.
    pub how: &'static str,
    /// What the intervals are over: `runs`, `rounds` or `rows`.
    pub ci95_over: &'static str,
    /// Items and picks of a round on average, rounds of a run, runs.
    pub items: f64,
    /// Picks of a round.
    pub k: usize,
    /// Rounds of a run.
    pub rounds: usize,
    /// Runs.
    pub runs: usize,
    /// The seed.
    pub seed: u64,
    /// The policies asked for.
    pub policies: Vec<Line>,
    /// What to hold them against.
    pub references: Vec<Line>,
    /// What a person should know before believing any of it.
    pub warnings: Vec<String>,
}

/// One policy's result.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// The policy with its options, or the reference.
    pub name: String,
    /// What a pick was worth.
    pub reward_per_pick: Estimate,
    /// `(mean - uniform) / (hindsight - uniform)`.
    pub lift_share: Option<f64>,
    /// Reward per pick up to each round, where rounds were played.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// The estimates from logged probabilities, where that is what they are.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub estimates: Option<Estimates>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// After this many rounds.
    pub round: usize,
    /// Reward per pick until then.
    pub reward_per_pick: f64,
}

/// Replays a table's history under each policy.
///
/// ```
/// use jurybox_files::{Roles, Table};
/// use jurybox_lab::{ReplayOptions, replay};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("history.csv");
/// let rows: String = (0..300).map(|i| format!("{},{},{}\n", i % 17, i % 5, i % 17)).collect();
/// std::fs::write(&path, format!("good,noise,verdict\n{rows}"))?;
/// let roles = Roles { reward: Some("verdict".into()), ..Roles::default() };
/// let table = Table::open(&[path], &roles, false)?;
/// let options = ReplayOptions { items: 20, k: 2, rounds: 50, runs: 3, policies: vec!["lin-ucb".parse()?], ..Default::default() };
/// let outcome = replay(&table, &options)?;
/// assert!(outcome.policies[0].lift_share.unwrap() > 0.8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replay(table: &Table, options: &ReplayOptions) -> Result<Outcome, Error> {
    let log = Log::read(table)?;
    if options.k == 0 || options.runs == 0 || options.rounds == 0 {
        return Err(Error::setting(
            "k, rounds or runs",
            0,
            "a replay needs at least one pick, one round and one run",
        ));
    }
    if log.rounds.is_empty() && (options.items > log.rows() || options.k > options.items) {
        let reason = format!(
            "of {} items of {} rows: k can be at most the items, and the items at most the rows",
            options.items,
            log.rows()
        );
        return Err(Error::setting("k", options.k, reason));
    }
    let mut outcome = Outcome {
        rows: log.rows(),
        labelled: log.labelled(),
        evaluators: log.names.clone(),
        how: "replayed",
        ci95_over: if log.rounds.is_empty() && options.runs > 1 { "runs" } else { "rounds" },
        items: if log.rounds.is_empty() {
            options.items as f64
        } else {
            log.rows() as f64 / log.rounds.len() as f64
        },
        k: options.k,
        rounds: if log.rounds.is_empty() { options.rounds } else { options.rounds.min(log.rounds.len()) },
        runs: options.runs,
        seed: options.seed,
        policies: Vec::new(),
        references: Vec::new(),
        warnings: Vec::new(),
    };
    if log.labelled() == log.rows() {
        run::replayed(table, &log, options, &mut outcome)?;
    } else {
        offpolicy::estimated(table, &log, options, &mut outcome)?;
    }
    share_the_lift(&mut outcome);
    Ok(outcome)
}

fn share_the_lift(outcome: &mut Outcome) {
    let mean = |name: &str| {
        let line = outcome.references.iter().find(|line| line.name == name);
        line.map(|line| line.reward_per_pick.mean)
    };
    let (Some(uniform), Some(hindsight)) = (mean("uniform"), mean("hindsight")) else { return };
    let possible = hindsight - uniform;
    for line in outcome.policies.iter_mut().chain(&mut outcome.references) {
        let share = (line.reward_per_pick.mean - uniform) / possible;
        line.lift_share = share.is_finite().then_some(share);
    }
    if possible.is_nan() || possible <= 0.0 {
        outcome.warnings.push(
            "even with all labels a linear regression on the scores does no better than a random pick: the shares \
             of the lift mean nothing here"
                .into(),
        );
    }
}
