//! What learning reports while it runs and at its end, with a message for each notice.

use crate::join_verdicts::ItemList;
use crate::roles::ColumnRoles;
use crate::warning::Warning;
use jurybox_draw::counted;
use std::fmt;
use std::path::PathBuf;

/// Something that learning reports.
///
/// ```
/// use jurybox_files::LearnNotice;
/// let notice = LearnNotice::LearntFile { path: "monday.csv".into() };
/// assert_eq!(notice.to_string(), "monday.csv: skipped, because it was learnt before");
/// assert!(!notice.is_warning());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LearnNotice {
    /// The roles of the columns of a table that is about to be learnt.
    Columns(ColumnRoles),
    /// A warning about a table.
    Warning(Warning),
    /// A file was skipped, because its bytes were learnt before, perhaps under another name.
    LearntFile {
        /// The file.
        path: PathBuf,
    },
    /// A file or a table in memory was skipped, because its rows were learnt before.
    LearntRows {
        /// The file, or the name of a table in memory.
        path: PathBuf,
    },
    /// A file was skipped, because it has columns but no rows.
    EmptyFile {
        /// The file.
        path: PathBuf,
    },
    /// An evaluator was added to the state.
    EvaluatorAdded {
        /// Its name.
        evaluator: String,
    },
    /// An evaluator was dropped from the state.
    EvaluatorRemoved {
        /// Its name.
        evaluator: String,
    },
    /// Rewards are far outside of the range that was learnt before.
    OtherScale {
        /// The column of the reward.
        reward: String,
        /// The least and the greatest reward before.
        before: (f64, f64),
        /// The least and the greatest reward now.
        here: (f64, f64),
    },
    /// The scores of an evaluator all equal the rewards, or all equal the negated rewards. They may
    /// be the verdicts themselves.
    LeakedReward {
        /// The evaluator's name.
        evaluator: String,
        /// The column of the reward.
        reward: String,
    },
    /// Rows of a round came after another round had begun. They were learnt as a new round.
    ReopenedRounds {
        /// The number of rounds.
        rounds: u64,
    },
    /// Rewards that the policy ignored, because it does not learn without receipts.
    MissingReceipts {
        /// The policy's name.
        policy: String,
        /// The number of rewards.
        rewards: u64,
    },
    /// Rewards outside the range given to the policy, counted over all that the state has learnt.
    OutOfRange {
        /// The policy with its options.
        policy: String,
        /// The number of rewards.
        rewards: u64,
    },
    /// The verdicts name their reviewers, but the policy does not tell reviewers apart.
    ReviewersIgnored {
        /// The policy's name.
        policy: String,
        /// The column of reviewers.
        column: String,
    },
    /// The state has picked from rows before. Without a column of ids, picked rows are not
    /// recognised.
    MissingIds,
    /// There are no verdicts on the picks yet.
    NoVerdicts,
    /// Verdicts on picks; they were learnt before and did not count again.
    LearntBefore {
        /// The number of verdicts.
        verdicts: u64,
    },
    /// Rows whose id, scores, verdict and reviewer were learnt before. They did not count again.
    LearntVerdicts {
        /// The number of rows.
        rows: u64,
    },
    /// Rows whose id was learnt before with other scores, verdict or reviewer. They counted.
    ReusedIds(ItemList),
    /// Picks that the policy does not learn from, although they have verdicts.
    IgnoredPicks {
        /// The policy's name.
        policy: String,
        /// The number of picks.
        picks: u64,
    },
    /// Verdicts on picks so old that the state has forgotten their rounds; they did not count.
    TooOld {
        /// The number of verdicts.
        verdicts: u64,
    },
    /// Items with verdicts that contradict each other.
    Contradictory(ItemList),
    /// Items that have a verdict and were not picked.
    UnknownItems(ItemList),
    /// Items that were picked more than once.
    PickedTwice(ItemList),
}

impl LearnNotice {
    /// Whether the notice is a warning, as opposed to information.
    pub fn is_warning(&self) -> bool {
        match self {
            LearnNotice::Warning(_)
            | LearnNotice::EmptyFile { .. }
            | LearnNotice::OtherScale { .. }
            | LearnNotice::LeakedReward { .. }
            | LearnNotice::ReopenedRounds { .. }
            | LearnNotice::MissingIds
            | LearnNotice::MissingReceipts { .. }
            | LearnNotice::OutOfRange { .. }
            | LearnNotice::ReviewersIgnored { .. }
            | LearnNotice::TooOld { .. }
            | LearnNotice::ReusedIds(_)
            | LearnNotice::Contradictory(_)
            | LearnNotice::UnknownItems(_)
            | LearnNotice::PickedTwice(_) => true,
            LearnNotice::Columns(_)
            | LearnNotice::LearntFile { .. }
            | LearnNotice::LearntRows { .. }
            | LearnNotice::EvaluatorAdded { .. }
            | LearnNotice::EvaluatorRemoved { .. }
            | LearnNotice::NoVerdicts
            | LearnNotice::LearntBefore { .. }
            | LearnNotice::LearntVerdicts { .. }
            | LearnNotice::IgnoredPicks { .. } => false,
        }
    }
}

impl fmt::Display for LearnNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LearnNotice::Columns(roles) => write!(f, "{roles}"),
            LearnNotice::Warning(warning) => write!(f, "{warning}"),
            LearnNotice::LearntFile { path } => {
                write!(f, "{}: skipped, because it was learnt before", path.display())
            }
            LearnNotice::LearntRows { path } => {
                write!(f, "{}: skipped, because the same rows were learnt before", path.display())
            }
            LearnNotice::EmptyFile { path } => {
                write!(f, "{}: skipped, because it has columns but no rows", path.display())
            }
            LearnNotice::EvaluatorAdded { evaluator } => {
                write!(f, "added evaluator `{evaluator}`: it has no scores for what was learnt before")
            }
            LearnNotice::EvaluatorRemoved { evaluator } => {
                write!(f, "dropped evaluator `{evaluator}`: what was learnt about it is forgotten")
            }
            LearnNotice::OtherScale { reward, before: (low, high), here: (least, greatest) } => write!(
                f,
                "rewards in `{reward}` were from {low} to {high} before and are from {least} to {greatest} now: check that the scale is the same"
            ),
            LearnNotice::LeakedReward { evaluator, reward } => write!(
                f,
                "`{evaluator}` equals the reward `{reward}` in every row: if it is known only after the review, ignore it, or nothing else is learnt"
            ),
            LearnNotice::ReopenedRounds { rounds } => write!(
                f,
                "{} had rows after another round had begun, and counted as new rounds: sort the rows by round",
                counted(*rounds, "round")
            ),
            LearnNotice::MissingReceipts { policy, rewards } => {
                write!(f, "`{policy}` does not learn from rewards without a receipt: {rewards} were ignored")
            }
            LearnNotice::OutOfRange { policy, rewards } => write!(
                f,
                "{} outside the range of `{policy}`, counted as its nearest end",
                counted(*rewards, "reward")
            ),
            LearnNotice::ReviewersIgnored { policy, column } => write!(
                f,
                "`{policy}` does not distinguish reviewers: `{column}` is ignored, and all verdicts count alike. `adaptive` learns how severe and how noisy each reviewer is"
            ),
            LearnNotice::MissingIds => write!(
                f,
                "the state has picked from rows before. If these are among them, they count twice: name the column of ids (`id`), so that they are recognised"
            ),
            LearnNotice::NoVerdicts => write!(f, "no verdicts yet: nothing was learnt"),
            LearnNotice::LearntBefore { verdicts } => {
                let were = if *verdicts == 1 { "was" } else { "were" };
                write!(f, "{} {were} learnt before, and not counted again", counted(*verdicts, "verdict"))
            }
            LearnNotice::LearntVerdicts { rows } => {
                let were = if *rows == 1 { "was" } else { "were" };
                write!(
                    f,
                    "{} with the same id, scores and verdict {were} learnt before, and not counted again",
                    counted(*rows, "row")
                )
            }
            LearnNotice::ReusedIds(items) => {
                let has = if items.count == 1 { "has" } else { "have" };
                write!(
                    f,
                    "{} {has} an id that was learnt before with other scores or another verdict: {items}. If the item is the same, it counts twice: remove the row. If ids are reused for new items, nothing needs to be done",
                    counted(items.count, "row")
                )
            }
            LearnNotice::IgnoredPicks { policy, picks } => {
                write!(f, "`{policy}` does not learn from {picks} of these picks")
            }
            LearnNotice::TooOld { verdicts } => write!(
                f,
                "{} on picks too old for the state to know whether it has learnt them: not counted",
                counted(*verdicts, "verdict")
            ),
            LearnNotice::Contradictory(items) => about(
                f,
                items,
                ["has", "have"],
                "verdicts that contradict each other; none of them was learnt",
            ),
            LearnNotice::UnknownItems(items) => {
                about(f, items, ["has a verdict and is", "have a verdict and are"], "not among the picks")
            }
            LearnNotice::PickedTwice(items) => about(
                f,
                items,
                ["was", "were"],
                "picked more than once; a verdict counts once, with the earliest pick",
            ),
        }
    }
}

/// Writes a list of items, such as `2 items were picked more than once: p1, p2`.
fn about(f: &mut fmt::Formatter<'_>, items: &ItemList, [one, many]: [&str; 2], what: &str) -> fmt::Result {
    let verb = if items.count == 1 { one } else { many };
    write!(f, "{} {verb} {what}: {items}", counted(items.count, "item"))
}
