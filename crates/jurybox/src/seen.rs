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
    #[serde(default)]
    pub outside: u64,
}

impl Seen {
    /// Adds what another has seen.
    pub(crate) fn add(&mut self, other: Seen) {
        self.rounds += other.rounds;
        self.items += other.items;
        self.missing += other.missing;
        self.clamped += other.clamped;
        self.used += other.used;
        self.passed_over += other.passed_over;
        self.outside += other.outside;
    }
}
