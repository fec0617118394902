//! Options of replays and off-policy estimates.

use super::entrants::BEST_SINGLE;
use crate::error::Error;
use jurybox::{Jury, Spec};
use std::path::PathBuf;

/// Which rows a run shows, and how often.
///
/// In every protocol but [`Reuse`](Protocol::Reuse) a run reviews a row once at most: no picker
/// earns a reward that it has learnt before.
///
/// ```
/// assert_eq!(jurybox_lab::Protocol::default(), jurybox_lab::Protocol::Rounds);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Rounds in which each row comes once at most: the file's own rounds, or shuffled rows.
    #[default]
    Rounds,
    /// Rounds drawn from all rows every time. Rows come back, which favours policies that remember
    /// them.
    Reuse,
    /// One pool in which rows stay until they are picked; each run has a random 80% of the rows.
    Pool {
        /// Number of labels in a run.
        budget: usize,
    },
    /// Cross-validation with this many folds: a policy learns from all other folds, then ranks the
    /// fold.
    Folds(usize),
}

/// Share of the rows in a pool.
pub(crate) const POOL_SHARE: f64 = 0.8;

/// Largest number of runs.
const MOST_RUNS: usize = 100_000;
/// Largest number of rounds that options may ask for.
const MOST_ROUNDS: usize = 10_000_000;

/// Options of [`replay`](crate::replay) and [`off_policy`](crate::off_policy).
///
/// ```
/// let options = jurybox_lab::ReplayOptions::default();
/// assert_eq!((options.items, options.k, options.rounds), (200, 10, None));
/// ```
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// Which rows a run shows.
    pub protocol: Protocol,
    /// Items in a round, where the file has no rounds of its own. With folds, 0 means the whole
    /// fold.
    pub items: usize,
    /// Picks of a round, or of a step in a pool.
    pub k: usize,
    /// Largest number of rounds in a run, except in a pool or with folds. All by default, or 2000
    /// if rows come back.
    pub rounds: Option<usize>,
    /// Number of runs of a replay.
    pub runs: usize,
    /// Seed of all random draws.
    pub seed: u64,
    /// Policies to compare. A policy that is named twice counts once.
    pub policies: Vec<Spec>,
    /// Saved juries to compare, each with a name. They go on learning during the replay.
    pub states: Vec<(String, Jury)>,
    /// Fixed weights to compare, one per evaluator.
    pub weights: Option<Vec<f64>>,
    /// Least and greatest possible reward. Only off-policy estimates use it.
    pub reward_range: Option<(f64, f64)>,
    /// CSV file to write: every pick of a replay, or the probabilities of an off-policy estimate.
    pub picks: Option<PathBuf>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions {
            protocol: Protocol::default(),
            items: 200,
            k: 10,
            rounds: None,
            runs: 20,
            seed: 1,
            policies: default_policies(),
            states: Vec::new(),
            weights: None,
            reward_range: None,
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

/// Names of references in replays and off-policy estimates.
const REFERENCES: [&str; 9] = [
    "uniform",
    "average",
    "z-mean",
    "rank-mean",
    "ridge",
    "logistic",
    "hindsight",
    "best",
    "regression, out of fold",
];

/// Whether a reference or the fixed weights may have this name in results.
fn is_reserved(name: &str) -> bool {
    REFERENCES.contains(&name) || name.starts_with(BEST_SINGLE) || name.starts_with("weights")
}

impl ReplayOptions {
    /// The name of each state in the results: the given one, or `state(NAME)` if a policy or a
    /// reference has that name already.
    pub(crate) fn state_names(&self) -> impl Iterator<Item = String> {
        let policies: Vec<String> = self.policies.iter().map(ToString::to_string).collect();
        self.states.iter().map(move |(name, _)| {
            if policies.contains(name) || is_reserved(name) { format!("state({name})") } else { name.clone() }
        })
    }

    /// The default options of a protocol.
    ///
    /// ```
    /// use jurybox_lab::{Protocol, ReplayOptions};
    /// assert_eq!(ReplayOptions::of(Protocol::Rounds).items, 200);
    /// assert_eq!(ReplayOptions::of(Protocol::Folds(5)).items, 0);
    /// ```
    pub fn of(protocol: Protocol) -> ReplayOptions {
        let all = ReplayOptions { protocol, ..ReplayOptions::default() };
        // A fold is ranked as a whole, and runs differ little.
        if let Protocol::Folds(_) = protocol { ReplayOptions { items: 0, runs: 3, ..all } } else { all }
    }

    /// Errors on options that are impossible for every file.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let counts = [("k", Some(self.k)), ("runs", Some(self.runs)), ("rounds", self.rounds)];
        for (name, count) in counts {
            if count == Some(0) {
                return Err(Error::setting(name, 0, "a replay needs at least one"));
            }
        }
        let most = [("runs", Some(self.runs), MOST_RUNS), ("rounds", self.rounds, MOST_ROUNDS)];
        for (name, count, most) in most {
            if let Some(count) = count.filter(|&count| count > most) {
                return Err(Error::setting(name, count, format!("at most {most} can be played")));
            }
        }
        match self.protocol {
            Protocol::Folds(folds) if folds < 2 => Err(Error::setting(
                "folds",
                folds,
                "at least two are needed: one to rank, the others to learn from",
            )),
            Protocol::Pool { budget: 0 } => {
                Err(Error::setting("budget", 0, "a pool needs at least one label"))
            }
            _ => Ok(()),
        }
    }
}
