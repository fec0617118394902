//! Reviewers, who give verdicts, and how they compare with each other.

use crate::toolbox::{Interval, code_of};
use serde::Serialize;

/// A reviewer, as a code that is the same on every machine. Only the caller knows the names.
///
/// ```
/// use jurybox::Reviewer;
/// let ann = Reviewer::named("ann");
/// assert_eq!(ann, Reviewer::named("ann"));
/// assert_ne!(ann, Reviewer::named("bob"));
/// assert_eq!(Reviewer::from_code(ann.code()), Some(ann));
/// assert_eq!(Reviewer::from_code(1 << 53), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Reviewer(u64);

impl Reviewer {
    /// The reviewer with this name. Two different names share a code with probability 2^-53.
    pub fn named(name: &str) -> Self {
        Reviewer(code_of(name))
    }

    /// The reviewer with this code, which must be below 2^53.
    pub fn from_code(code: u64) -> Option<Self> {
        (code >> 53 == 0).then_some(Reviewer(code))
    }

    /// The code.
    pub fn code(self) -> u64 {
        self.0
    }
}

/// A reviewer compared with the others: see
/// [`Fitted::reviewers`](crate::Fitted::reviewers).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// The reviewer; none for verdicts without a name.
    pub reviewer: Option<Reviewer>,
    /// Number of verdicts behind the estimates: all that this reviewer gave, up to the number that
    /// a policy keeps row by row.
    pub labels: u64,
    /// How far this reviewer's verdicts lie above those of others for the same items, in units of
    /// the reward. The estimate is shrunk towards 0 while verdicts are few. The interval is not
    /// shrunk, but widened to contain the estimate; it is unbounded where verdicts are too few.
    pub severity: Interval,
    /// Noise of this reviewer's verdicts relative to the median reviewer: 1 is as noisy, 2 twice as
    /// noisy. A reviewer whose verdicts hardly depend on the item is noisy, however steady the
    /// verdicts. Variation that no score explains is part of the noise of every reviewer, which
    /// brings the figure closer to 1. Of two reviewers the median is the one who gave more
    /// verdicts. The estimate is shrunk while verdicts are few; the interval is not, but it is
    /// widened to contain the estimate.
    pub noise: Interval,
    /// Weight of one verdict of this reviewer relative to the median reviewer; 1 where verdicts
    /// give no reason for another.
    pub weight: f64,
}
