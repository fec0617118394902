//! What can be asked of a replay.

use super::entrants::BEST_SINGLE;
use crate::error::Error;
use jurybox::{Jury, Spec};
use std::path::PathBuf;

/// Which rows are shown when, and how often.
///
/// In every protocol but [`Reuse`](Protocol::Reuse) a row is looked at at most once in a run: a reward that was learnt is
/// never also counted as found.
///
/// ```
/// assert_eq!(jurybox_lab::Protocol::default(), jurybox_lab::Protocol::Rounds);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Rounds of rows, each row once: the file's own rounds, or the rows shuffled and dealt out.
    #[default]
    Rounds,
    /// Rounds drawn from all rows every time: rows come back, and whoever remembers their rewards looks better than he is.
    Reuse,
    /// All rows in one pool, where they stay until picked; each run has another random 80% of the rows.
    Pool {
        /// Labels of a run.
        budget: usize,
    },
    /// Learns from all rows but a fold, ranks the fold, and so for each of them.
    Folds(usize),
}

/// The share of the rows that a pool holds.
pub(crate) const POOL_SHARE: f64 = 0.8;

/// Runs at most.
const MOST_RUNS: usize = 100_000;
/// Rounds at most, where they are asked for.
const MOST_ROUNDS: usize = 10_000_000;

/// How to replay.
///
/// ```
/// let options = jurybox_lab::ReplayOptions::default();
/// assert_eq!((options.items, options.k, options.rounds), (200, 10, None));
/// ```
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// Which rows are shown when.
    pub protocol: Protocol,
    /// Items of a round that is drawn or dealt; out of fold, 0 stands for the whole fold.
    pub items: usize,
    /// Picks of a round, or of a step in a pool.
    pub k: usize,
    /// Rounds of a run at most; all that there are when not set, 2000 where rows come back.
    pub rounds: Option<usize>,
    /// Runs.
    pub runs: usize,
    /// The seed of every draw.
    pub seed: u64,
    /// The policies to try; one that is named twice is tried once.
    pub policies: Vec<Spec>,
    /// Juries that have learnt already, with a name each. They go on learning.
    pub states: Vec<(String, Jury)>,
    /// Fixed weights to try, one for each evaluator.
    pub weights: Option<Vec<f64>>,
    /// The least and the greatest that a reward can be, where it is known; used off-policy only, for what a log did not look at.
    pub reward_range: Option<(f64, f64)>,
    /// Where to write every pick.
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

/// Names of the references of replays and off-policy estimates.
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

/// Whether results show a reference or the fixed weights under this name.
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

    /// What a protocol is played with where nothing else is said.
    ///
    /// ```
    /// use jurybox_lab::{Protocol, ReplayOptions};
    /// assert_eq!((ReplayOptions::of(Protocol::Folds(5)).items, ReplayOptions::of(Protocol::Rounds).items), (0, 200));
    /// ```
    pub fn of(protocol: Protocol) -> ReplayOptions {
        let all = ReplayOptions { protocol, ..ReplayOptions::default() };
        // A fold is ranked whole, and runs on the same rows differ little.
        if let Protocol::Folds(_) = protocol { ReplayOptions { items: 0, runs: 3, ..all } } else { all }
    }

    /// Refuses what cannot be replayed, whatever the file.
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
                "there must be two at least: one to rank, the rest to learn from",
            )),
            Protocol::Pool { budget: 0 } => Err(Error::setting("budget", 0, "a pool needs labels to give")),
            _ => Ok(()),
        }
    }
}
