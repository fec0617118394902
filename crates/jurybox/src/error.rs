//! What can go wrong, said so that a person can act on it: what, where, and what to do.

use std::fmt;

/// The one error of the library. Nothing has been changed when it is returned.
///
/// ```
/// use jurybox::{Error, Scores};
///
/// let error = Scores::new(&[0.2, f64::INFINITY], 2).unwrap_err();
/// assert!(matches!(error, Error::Score { item: 0, .. }));
/// assert_eq!(
///     error.to_string(),
///     "item 0, evaluator #1: score inf is not usable; a score is a number within ±1e100, or NaN where it is missing"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A score that is infinite, or too large for its square to be a number.
    #[error(
        "item {item}, evaluator {evaluator}: score {value} is not usable; a score is a number within ±1e100, or NaN where it is missing"
    )]
    Score {
        /// Row of the offending score.
        item: usize,
        /// Column of the offending score.
        evaluator: EvaluatorLabel,
        /// The score itself.
        value: f64,
    },
    /// The number of scores is not a whole number of rows.
    #[error(
        "{values} scores do not make rows of {evaluators} evaluators; pass one score per item and evaluator, NaN where missing"
    )]
    Shape {
        /// How many scores were passed.
        values: usize,
        /// How many evaluators a row has.
        evaluators: usize,
    },
    /// Scores of another width than the jury's.
    #[error("{what} has {found} scores, but the jury has {expected} evaluators")]
    Width {
        /// What was of the wrong width.
        what: String,
        /// Its width.
        found: usize,
        /// The number of evaluators.
        expected: usize,
    },
    /// `k` is zero, or larger than the number of items.
    #[error("k = {k} of {items} items: k must be at least 1 and at most the number of items")]
    K {
        /// What was asked for.
        k: usize,
        /// What there was.
        items: usize,
    },
    /// A reward that is not a finite number.
    #[error("example {example}: reward {value} is not usable; a reward is a number within ±1e100")]
    Reward {
        /// Position in the batch.
        example: usize,
        /// The reward itself.
        value: f64,
    },
    /// A receipt that no pick of this policy can carry.
    #[error("example {example}: receipt refused: {reason}")]
    Receipt {
        /// Position in the batch.
        example: usize,
        /// What was wrong with it.
        reason: String,
    },
    /// Not one reviewer for each example.
    #[error(
        "{found} reviewers for {expected} examples; pass one for each, none where nobody knows who judged"
    )]
    Reviewers {
        /// How many reviewers were passed.
        found: usize,
        /// How many examples there are.
        expected: usize,
    },
    /// A date in another unit than those before.
    #[error(
        "time {at} and {latest}, the latest so far, are dates in different units (seconds, milliseconds, microseconds, \
         nanoseconds): use one"
    )]
    Unit {
        /// The time itself.
        at: u64,
        /// The latest before it.
        latest: u64,
    },
    /// A time so late that no sum could be made with it.
    #[error("time {at} is later than 2^62, the latest there is")]
    Time {
        /// The time itself.
        at: u64,
    },
    /// A list of evaluators that cannot be seated.
    #[error("evaluators: {0}")]
    Evaluators(String),
    /// A policy, or one of its options, that does not exist or does not fit.
    #[error("policy `{policy}`: {reason}")]
    Policy {
        /// What was asked for.
        policy: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A policy that picks by more than the values of items, asked to pick by these.
    #[error("`{policy}` picks by more than the values of items: it must see their scores")]
    ByMore {
        /// Its name.
        policy: String,
    },
    /// States that were learnt under different questions.
    #[error("these states cannot be merged: {0}")]
    Merge(String),
    /// A state that cannot be read.
    #[error("this is not a state that can be read: {0}")]
    State(String),
}

impl Error {
    /// A word for the kind of error that stays the same from version to version, for programs that act on it.
    ///
    /// ```
    /// let error = jurybox::Scores::new(&[0.2, f64::INFINITY], 2).unwrap_err();
    /// assert_eq!(error.code(), "score");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Error::Score { .. } => "score",
            Error::Shape { .. } => "shape",
            Error::Width { .. } => "width",
            Error::K { .. } => "k",
            Error::ByMore { .. } => "by-more",
            Error::Reward { .. } => "reward",
            Error::Receipt { .. } => "receipt",
            Error::Reviewers { .. } => "reviewers",
            Error::Time { .. } | Error::Unit { .. } => "time",
            Error::Evaluators(_) => "evaluators",
            Error::Policy { .. } => "policy",
            Error::Merge(_) => "merge",
            Error::State(_) => "state",
        }
    }
}

/// An evaluator as an error names it: by its name where that is known, by its column where not.
///
/// ```
/// use jurybox::EvaluatorLabel;
/// assert_eq!(EvaluatorLabel { column: 1, name: Some("spam".into()) }.to_string(), "`spam` (#1)");
/// assert_eq!(EvaluatorLabel { column: 1, name: None }.to_string(), "#1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatorLabel {
    /// Column in the scores, from 0.
    pub column: usize,
    /// Name, where the caller gave one.
    pub name: Option<String>,
}

impl fmt::Display for EvaluatorLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}` (#{})", self.column),
            None => write!(f, "#{}", self.column),
        }
    }
}
