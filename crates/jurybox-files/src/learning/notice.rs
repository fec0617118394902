//! What is to be told of learning: facts, with words for them that know no flags and no keywords.

use crate::roles::ColumnRoles;
use crate::join_verdicts::ItemList;
use crate::warning::Warning;
use jurybox_draw::counted;
use std::fmt;
use std::path::PathBuf;

/// Something to be told of learning.
///
/// ```
/// use jurybox_files::LearnNotice;
/// let told = LearnNotice::LearntFile { path: "monday.csv".into() };
/// assert_eq!(told.to_string(), "monday.csv: learnt already, and not counted again");
/// assert!(!told.is_warning());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LearnNotice {
    /// Which column was taken as what.
    Columns(ColumnRoles),
    /// What a person should know of a table.
    Warning(Warning),
    /// A file has been learnt, and is passed over.
    LearntFile {
        /// The file.
        path: PathBuf,
    },
    /// The rows of a file have been learnt from another one, and it is passed over.
    LearntRows {
        /// The file.
        path: PathBuf,
    },
    /// A file has columns and no rows, and is passed over.
    EmptyFile {
        /// The file.
        path: PathBuf,
    },
    /// An evaluator is new to the state.
    EvaluatorAdded {
        /// Its name.
        evaluator: String,
    },
    /// An evaluator of the state is forgotten.
    EvaluatorRemoved {
        /// Its name.
        evaluator: String,
    },
    /// Rewards lie far beyond those that were learnt before.
    OtherScale {
        /// The column of the reward.
        reward: String,
        /// The least and the greatest until now.
        before: (f64, f64),
        /// The least and the greatest here.
        here: (f64, f64),
    },
    /// Every score of an evaluator is the reward of its row: it may be the verdict itself.
    LeakedReward {
        /// Its name.
        evaluator: String,
        /// The column of the reward.
        reward: String,
    },
    /// Rounds came back after another had begun.
    ReopenedRounds {
        /// How many.
        rounds: u64,
    },
    /// Rewards that the policy does not learn from, because they have no receipt.
    MissingReceipts {
        /// The policy's name.
        policy: String,
        /// How many.
        rewards: u64,
    },
    /// Rewards lay outside the range that the policy was told; all that the state has seen.
    OutOfRange {
        /// The policy with its options.
        policy: String,
        /// How many.
        rewards: u64,
    },
    /// Verdicts name their reviewers, and the policy makes no use of it.
    ReviewersIgnored {
        /// The policy's name.
        policy: String,
        /// The column of reviewers.
        column: String,
    },
    /// The state has picked, and these rows have no ids by which to tell whether it was from them.
    MissingIds,
    /// Nobody has given a verdict yet.
    NoVerdicts,
    /// Verdicts that have been learnt before.
    LearntBefore {
        /// How many.
        verdicts: u64,
    },
    /// Rows with verdicts that have been learnt before: the same id, scores, verdict and reviewer.
    LearntVerdicts {
        /// How many.
        rows: u64,
    },
    /// Rows of which the id was learnt before, with other scores or another verdict.
    ReusedIds(ItemList),
    /// Picks that the policy does not learn from.
    IgnoredPicks {
        /// The policy's name.
        policy: String,
        /// How many.
        picks: u64,
    },
    /// Verdicts on picks of rounds that the state has forgotten.
    TooOld {
        /// How many.
        verdicts: u64,
    },
    /// Items with verdicts that contradict each other.
    Contradictory(ItemList),
    /// Items with a verdict that were not picked.
    UnknownItems(ItemList),
    /// Items that were picked more than once.
    PickedTwice(ItemList),
}

impl LearnNotice {
    /// Whether a person should think about it before believing a result.
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
            LearnNotice::Columns(taken) => write!(f, "{taken}"),
            LearnNotice::Warning(warning) => write!(f, "{warning}"),
            LearnNotice::LearntFile { path } => write!(f, "{}: learnt already, and not counted again", path.display()),
            LearnNotice::LearntRows { path } => {
                write!(f, "{}: the same rows were learnt already, and not counted again", path.display())
            }
            LearnNotice::EmptyFile { path } => write!(f, "{}: there are columns but no rows", path.display()),
            LearnNotice::EvaluatorAdded { evaluator } => {
                write!(f, "`{evaluator}` joins: what was learnt before is learnt without it")
            }
            LearnNotice::EvaluatorRemoved { evaluator } => {
                write!(f, "`{evaluator}` leaves: what was learnt of it is forgotten")
            }
            LearnNotice::OtherScale { reward, before: (low, high), here: (least, greatest) } => write!(
                f,
                "`{reward}` lay within {low} to {high} until now, and here within {least} to {greatest}: is that another scale?"
            ),
            LearnNotice::LeakedReward { evaluator, reward } => write!(
                f,
                "`{evaluator}` is `{reward}` in every row: if it is only known once somebody has looked, leave it out, or all that is learnt is to trust it"
            ),
            LearnNotice::ReopenedRounds { rounds } => write!(
                f,
                "{} came back after another had begun, and counted again: sort the rows by their rounds",
                counted(*rounds, "round")
            ),
            LearnNotice::MissingReceipts { policy, rewards } => write!(
                f,
                "`{policy}` does not learn from rewards without a receipt: {rewards} were passed over"
            ),
            LearnNotice::OutOfRange { policy, rewards } => write!(
                f,
                "{} outside the range that `{policy}` was told, moved to its ends",
                counted(*rewards, "reward")
            ),
            LearnNotice::ReviewersIgnored { policy, column } => write!(
                f,
                "`{policy}` does not tell reviewers apart: `{column}` is passed over, and every verdict counts alike. `adaptive` learns how severe and how noisy each of them is"
            ),
            LearnNotice::MissingIds => write!(
                f,
                "the state has seen items by picking from them; without the column of their ids nobody can tell whether these rows are among them, and then they count twice: name it (`id`)"
            ),
            LearnNotice::NoVerdicts => write!(f, "no verdicts yet: nothing is learnt"),
            LearnNotice::LearntBefore { verdicts } => {
                write!(f, "{} learnt already, and not counted again", counted(*verdicts, "verdict"))
            }
            LearnNotice::LearntVerdicts { rows } => {
                let have = if *rows == 1 { "has" } else { "have" };
                write!(
                    f,
                    "{} {have} ids, scores and verdicts that were learnt already, and not counted again",
                    counted(*rows, "row")
                )
            }
            LearnNotice::ReusedIds(items) => {
                let (has, counts) =
                    if items.count == 1 { ("has", "it counts") } else { ("have", "they count") };
                write!(
                    f,
                    "{} {has} an id that was learnt before, and other scores or another verdict as far as is known: {items}; where that is the same item, {counts} twice: leave it out. Where ids come back as new items, all is well",
                    counted(items.count, "row")
                )
            }
            LearnNotice::IgnoredPicks { policy, picks } => {
                write!(f, "`{policy}` does not learn from {picks} of these picks")
            }
            LearnNotice::TooOld { verdicts } => write!(
                f,
                "{} on picks so old that the state does not know whether it has learnt them: not counted",
                counted(*verdicts, "verdict")
            ),
            LearnNotice::Contradictory(items) => about(
                f,
                items,
                ["has", "have"],
                "verdicts that contradict each other, none of which is learnt",
            ),
            LearnNotice::UnknownItems(items) => {
                about(f, items, ["has a verdict and is", "have a verdict and are"], "not among the picks")
            }
            LearnNotice::PickedTwice(items) => about(
                f,
                items,
                ["was", "were"],
                "picked more than once; a verdict counts once, with the first pick that it comes to",
            ),
        }
    }
}

/// `2 items were picked more than once: p1, p2`
fn about(f: &mut fmt::Formatter<'_>, items: &ItemList, [one, many]: [&str; 2], what: &str) -> fmt::Result {
    let verb = if items.count == 1 { one } else { many };
    write!(f, "{} {verb} {what}: {items}", counted(items.count, "item"))
}
