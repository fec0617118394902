//! Who judged: reviewers, and how they stand beside one another.

use crate::toolbox::{Interval, code_of};
use serde::Serialize;

/// Who gave a verdict, as a code that is the same on every machine. Names stay with whoever has them.
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
    /// The reviewer of a name: two names share a code once in 2^53 pairs.
    pub fn named(name: &str) -> Self {
        Reviewer(code_of(name))
    }

    /// The reviewer of a code, which is below 2^53.
    pub fn from_code(code: u64) -> Option<Self> {
        (code >> 53 == 0).then_some(Reviewer(code))
    }

    /// The code.
    pub fn code(self) -> u64 {
        self.0
    }
}

/// What was learnt of a reviewer, beside the others: see [`Fitted::reviewers`](crate::Fitted::reviewers).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// Whose it is; none for the verdicts that name nobody.
    pub reviewer: Option<Reviewer>,
    /// Verdicts that it rests on: all, until there are more than a policy keeps row by row.
    pub labels: u64,
    /// How far their verdicts lie above those that others would give the same items, in units of the reward. The estimate is drawn towards
    /// nothing while verdicts are few; the interval is that of what the labels alone say, widened to hold the estimate, and without ends
    /// where they are too few to say.
    pub severity: Interval,
    /// How far their verdicts are from telling what an item is worth, beside the middle reviewer: 1 is as good, 2 twice as noisy.
    /// Verdicts that hardly depend on the item are noise too, however steady. What no score sees of an item is a part of everyone's, so that it
    /// is nearer to 1 than what reviewers themselves add; of two, the middle one is who gave more verdicts. Estimate and interval are as above.
    pub noise: Interval,
    /// What a verdict of theirs counts for, beside one of the middle reviewer; 1 where the verdicts do not ask for anything else.
    pub weight: f64,
}
