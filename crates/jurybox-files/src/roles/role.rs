//! The roles that a column of a table can have, and the reasons why one is not an evaluator.

use std::fmt;

/// The role of a column in a table.
///
/// ```
/// use jurybox_files::Role;
/// assert_eq!(Role::Reward.to_string(), "the reward");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Role {
    /// Scores of an evaluator.
    Evaluator,
    /// Groups of items, such as languages, for which the weights of evaluators may differ.
    Context,
    /// Ids of the items.
    Id,
    /// Not used, but written out with its row.
    Ignored,
    /// Rewards: verdicts as numbers.
    Reward,
    /// Probabilities with which items were picked.
    Probability,
    /// Groups within which rows are ranked, or rounds in which they are learnt.
    #[default]
    Group,
    /// Names of the reviewers who gave the verdicts.
    Reviewer,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Evaluator => "an evaluator",
            Role::Context => "a context",
            Role::Id => "an id",
            Role::Ignored => "ignored",
            Role::Reward => "the reward",
            Role::Probability => "the probability",
            Role::Group => "a round or group",
            Role::Reviewer => "the reviewer",
        })
    }
}

/// The reason why a column is not an evaluator.
///
/// ```
/// use jurybox_files::NotEvaluator;
/// assert_eq!(NotEvaluator::Text.to_string(), "text");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotEvaluator {
    /// It was named as the ids of items.
    Id,
    /// It was named as a column to ignore.
    Ignored,
    /// It is used for something else, which the caller names.
    UsedFor(&'static str),
    /// The evaluators were named, or are those of a state, and this column is none of them.
    NotNamed,
    /// It has numbers, but the state has no evaluator of this name.
    UnknownToState,
    /// It is the reward that the state has learnt.
    LearntReward,
    /// It has the name of a column that Jurybox writes, in rankings, picks or exported queues.
    NamedLikeOutput,
    /// It has a name such as `verdict` or `human_label`.
    NamedLikeVerdict,
    /// It has a name such as `post_id`.
    NamedLikeId,
    /// It has a name such as `created_at`.
    NamedLikeTime,
    /// It has a name such as `zip_code` or `phone`.
    NamedLikePlace,
    /// It has a name such as `Unnamed: 0`, which stands for an index column without a name.
    UnnamedIndex,
    /// Its cells are whole numbers that hardly repeat, or that count up.
    DistinctNumbers,
    /// Its cells are all whole numbers as large as times and telephone numbers.
    LongNumbers,
    /// Its cells are mostly numbers such as `1,234`, which can be read in two ways.
    AmbiguousNumbers,
    /// Its cells are all yes, or all no.
    OneWord,
    /// Its cells are mostly text.
    Text,
    /// Its first cells are all empty.
    Empty,
}

impl NotEvaluator {
    /// Whether a person may wonder why the column is not used. Lists of unused columns then show
    /// the reason.
    pub(crate) fn is_surprising(self) -> bool {
        matches!(
            self,
            NotEvaluator::UsedFor(_)
                | NotEvaluator::UnknownToState
                | NotEvaluator::LearntReward
                | NotEvaluator::NamedLikeOutput
                | NotEvaluator::NamedLikeVerdict
                | NotEvaluator::DistinctNumbers
                | NotEvaluator::LongNumbers
                | NotEvaluator::AmbiguousNumbers
                | NotEvaluator::Empty
        )
    }
}

impl fmt::Display for NotEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotEvaluator::Id => "id",
            NotEvaluator::Ignored => "ignored",
            NotEvaluator::UsedFor(purpose) => purpose,
            NotEvaluator::NotNamed => "not named",
            NotEvaluator::UnknownToState => "numbers, but no evaluator of the state",
            NotEvaluator::LearntReward => "the reward of the state",
            NotEvaluator::NamedLikeOutput => "named like a column of Jurybox's own output",
            NotEvaluator::NamedLikeVerdict => "named like a verdict",
            NotEvaluator::NamedLikeId => "named like an id",
            NotEvaluator::NamedLikeTime => "named like a time",
            NotEvaluator::NamedLikePlace => "named like a place or a telephone number",
            NotEvaluator::UnnamedIndex => "an index without a name",
            NotEvaluator::DistinctNumbers => "distinct whole numbers, like an id",
            NotEvaluator::LongNumbers => "long whole numbers, like times or telephone numbers",
            NotEvaluator::AmbiguousNumbers => "numbers such as 1,234, which may be thousands or decimals",
            NotEvaluator::OneWord => "the same word in every row",
            NotEvaluator::Text => "text",
            NotEvaluator::Empty => "empty",
        })
    }
}
