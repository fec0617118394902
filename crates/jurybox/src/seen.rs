//! How much a jury has seen.

use serde::{Deserialize, Serialize};

/// How much a jury has seen.
///
/// ```
/// let jury = jurybox::Jury::new(&"esag".parse()?, jurybox::Evaluators::numbered(3)?)?;
/// assert_eq!(jury.seen().rounds, 0);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Rounds observed.
    pub rounds: u64,
    /// Items in them.
    pub items: u64,
    /// Scores that were missing.
    pub missing: u64,
    /// Scores that had to be moved into the range of the link. Many of them mean that the link does not fit.
    pub clamped: u64,
    /// Examples learnt from.
    pub used: u64,
    /// Examples that the policy does not learn from.
    pub passed_over: u64,
    /// Rewards learnt from that lay outside the range the policy was told, and were moved to its ends. Many of them mean
    /// that the range does not fit.
    pub outside: u64,
    /// The latest time that something was seen at, if anything was.
    pub latest: Option<u64>,
}

impl Seen {
    /// The time after the latest: what a caller who counts rounds, and keeps no time of its own, goes on with.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut jury = Jury::new(&"esag".parse()?, Evaluators::numbered(1)?)?;
    /// assert_eq!(jury.seen().next_time(), 0);
    /// jury.observe(&jury.scores(&[0.5])?, 41)?;
    /// assert_eq!(jury.seen().next_time(), 42);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn next_time(&self) -> u64 {
        self.latest.map_or(0, |latest| latest.saturating_add(1))
    }

    /// With a round of so many items more, and so many examples at the most.
    pub(crate) fn and(mut self, items: u64, examples: u64) -> Seen {
        self.items = self.items.saturating_add(items);
        self.used = self.used.saturating_add(examples);
        self
    }

    /// Adds what another has seen.
    pub(crate) fn add(&mut self, other: Seen) {
        self.rounds = self.rounds.saturating_add(other.rounds);
        self.items = self.items.saturating_add(other.items);
        self.missing = self.missing.saturating_add(other.missing);
        self.clamped = self.clamped.saturating_add(other.clamped);
        self.used = self.used.saturating_add(other.used);
        self.passed_over = self.passed_over.saturating_add(other.passed_over);
        self.outside = self.outside.saturating_add(other.outside);
        self.latest = self.latest.max(other.latest);
    }
}
