//! Errors of the library: the fault, its place, and what to do.

use std::fmt;

/// The error type of the library. A call that returns an error has changed nothing.
///
/// ```
/// use jurybox::{Error, Scores};
///
/// let error = Scores::new(&[0.2, f64::INFINITY], 2).unwrap_err();
/// assert!(matches!(error, Error::Score { item: 0, .. }));
/// assert_eq!(
///     error.to_string(),
///     "item 0, evaluator #1: score inf is not usable; a score is a number within ±1e100, or NaN \
///      where it is missing"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A score that is infinite or beyond ±1e100.
    #[error(
        "item {item}, evaluator {evaluator}: score {value} is not usable; a score is a number within ±1e100, or NaN where it is missing"
    )]
    Score {
        /// Row of the offending score, or the position of its example in the batch.
        item: usize,
        /// The evaluator of the offending score.
        evaluator: EvaluatorLabel,
        /// The offending score.
        value: f64,
    },
    /// The number of scores is no multiple of the number of evaluators, there are no evaluators, or
    /// kept inverses are not one per score.
    #[error(
        "{values} scores do not make rows of {evaluators} evaluators; pass one score per item and evaluator, NaN where missing"
    )]
    Shape {
        /// How many scores were passed.
        values: usize,
        /// How many evaluators a row has.
        evaluators: usize,
    },
    /// Scores with another number of columns than the jury has evaluators.
    #[error("{what} has {found} scores, but the jury has {expected} evaluators")]
    Width {
        /// The input that has the wrong width.
        what: String,
        /// The width of the input.
        found: usize,
        /// The number of evaluators.
        expected: usize,
    },
    /// `k` is zero, or larger than the number of items.
    #[error("k = {k} of {items} items: k must be at least 1 and at most the number of items")]
    K {
        /// The requested k.
        k: usize,
        /// The number of items.
        items: usize,
    },
    /// A reward that is NaN, infinite or beyond ±1e100.
    #[error("example {example}: reward {value} is not usable; a reward is a number within ±1e100")]
    Reward {
        /// Position in the batch.
        example: usize,
        /// The offending reward.
        value: f64,
    },
    /// A receipt that no pick of this policy can carry.
    #[error("example {example}: receipt refused: {reason}")]
    Receipt {
        /// Position in the batch.
        example: usize,
        /// The reason for refusing the receipt.
        reason: String,
    },
    /// The numbers of reviewers and of examples differ.
    #[error(
        "{found} reviewers for {expected} examples; pass one for each, none where nobody knows who judged"
    )]
    Reviewers {
        /// How many reviewers were passed.
        found: usize,
        /// How many examples there are.
        expected: usize,
    },
    /// A date in another unit than the latest one.
    #[error(
        "time {at} and {latest}, the latest so far, are dates in different units (seconds, milliseconds, microseconds, \
         nanoseconds): use one"
    )]
    Unit {
        /// The offending time.
        at: u64,
        /// The latest time before it.
        latest: u64,
    },
    /// A time later than 2^62.
    #[error("time {at} is later than 2^62, the latest there is")]
    Time {
        /// The offending time.
        at: u64,
    },
    /// An invalid list of evaluators.
    #[error("evaluators: {0}")]
    Evaluators(String),
    /// An unknown policy, or options or evaluators that it cannot use.
    #[error("policy `{policy}`: {reason}")]
    Policy {
        /// The requested policy.
        policy: String,
        /// The reason, and what would be right.
        reason: String,
    },
    /// Picking by given values was asked of a policy that does not pick by values alone.
    #[error("`{policy}` picks by more than the values of items: it must see their scores")]
    ByMore {
        /// The name of the policy.
        policy: String,
    },
    /// States that cannot be merged, for example of different policies, options or evaluators.
    #[error("these states cannot be merged: {0}")]
    Merge(String),
    /// A state that cannot be read.
    #[error("this is not a state that can be read: {0}")]
    State(String),
}

impl Error {
    /// A code of the error that is stable between versions, for programs that act on it.
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

/// An evaluator in an error: name and column, or the column alone if the name is unknown.
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
    /// Name, if the caller gave one.
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
