//! Counts of what a jury has seen.

use crate::estimate::MOST_COUNTED;
use crate::estimate::ladder::LATEST;
use serde::{Deserialize, Serialize};

/// Counts of what a jury has seen.
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
    /// Items in these rounds.
    pub items: u64,
    /// Scores that were missing.
    pub missing: u64,
    /// Scores that were clamped into the range of the link. If there are many, the link does not
    /// fit.
    pub clamped: u64,
    /// Examples learnt from.
    pub used: u64,
    /// Examples that the policy does not learn from.
    pub ignored_rewards: u64,
    /// Rewards outside the policy's range, which were clamped to it. If there are many, the range
    /// does not fit.
    pub out_of_range: u64,
    /// The latest time of an observation or an example, if there was one.
    pub latest: Option<u64>,
}

impl Seen {
    /// The latest valid time, 2^62.
    pub const LATEST: u64 = LATEST;

    /// The time after the latest, for callers who count rounds and keep no time themselves; 0 at
    /// the start.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut jury = Jury::new(&"esag".parse()?, Evaluators::numbered(1)?)?;
    /// assert_eq!(jury.seen().next_time(), 0);
    /// jury.observe(&jury.scores(&[0.5])?, 41)?;
    /// assert_eq!(jury.seen().next_time(), 42);
    /// jury.observe(&jury.scores(&[0.5])?, jurybox::Seen::LATEST)?;
    /// assert_eq!(jury.seen().next_time(), jurybox::Seen::LATEST); // there is none after it
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn next_time(&self) -> u64 {
        self.latest.map_or(0, |latest| latest.saturating_add(1).min(LATEST))
    }

    /// These counts with more items and examples; rounds stay.
    pub(crate) fn and(mut self, items: u64, examples: u64) -> Seen {
        self.items = self.items.saturating_add(items);
        self.used = self.used.saturating_add(examples);
        self
    }

    fn counts(&mut self) -> [&mut u64; 7] {
        let Seen { rounds, items, missing, clamped, used, ignored_rewards, out_of_range, latest: _ } = self;
        [rounds, items, missing, clamped, used, ignored_rewards, out_of_range]
    }

    /// Adds other counts and takes the later time. Each count stops at 2^53.
    pub(crate) fn add(&mut self, mut other: Seen) {
        for (mine, theirs) in self.counts().into_iter().zip(other.counts()) {
            *mine = mine.saturating_add(*theirs).min(MOST_COUNTED);
        }
        self.latest = self.latest.max(other.latest);
    }

    /// Whether no count of the sum exceeds 2^53, up to which counts are exact.
    pub(crate) fn can_add(mut self, mut other: Seen) -> bool {
        let mut both = self.counts().into_iter().zip(other.counts());
        both.all(|(mine, theirs)| mine.saturating_add(*theirs) <= MOST_COUNTED)
    }

    /// Whether a jury with these counts can later have the other counts.
    pub(crate) fn is_before(mut self, mut later: Seen) -> bool {
        let no_more = |(mine, theirs): (&mut u64, &mut u64)| mine <= theirs;
        self.latest <= later.latest && self.counts().into_iter().zip(later.counts()).all(no_more)
    }

    /// A contradiction within these counts, if there is one; for counts read from outside.
    pub(crate) fn contradiction(mut self) -> Option<&'static str> {
        if self.latest.is_some_and(|latest| latest > LATEST) {
            return Some("its latest time is later than 2^62, the latest there is");
        }
        if self.counts().iter().any(|count| **count > MOST_COUNTED) {
            return Some("it counts beyond 2^53, the most that is counted");
        }
        (self.out_of_range > self.used).then_some("more rewards were moved than were learnt from")
    }
}
