//! Merging the states of two juries.
//!
//! The states of parts that were learnt separately, by threads, files or days, merge into the state
//! of the whole. Juries that cannot merge are refused before anything changes.

use super::Jury;
use crate::border::is_of_another_unit;
use crate::error::Error;
use crate::schedule::Schedule;

/// Merging of juries that learnt separately.
impl Jury {
    /// Adds the state of another jury with the same policy, options and evaluators.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut here = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(1)?)?;
    /// let mut there = here.clone();
    /// here.learn(&[Example { scores: &[1.0], reward: 1.0, receipt: None }], 0)?;
    /// there.learn(&[Example { scores: &[2.0], reward: 0.0, receipt: None }], 1)?;
    /// here.merge(&there)?;
    /// assert_eq!(here.seen().used, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Jury) -> Result<(), Error> {
        if self.evaluators != other.evaluators {
            return Err(Error::Merge(format!(
                "one is over the evaluators {}, the other over {}",
                self.evaluators, other.evaluators
            )));
        }
        if !self.seen.can_add(other.seen) {
            return Err(Error::Merge("together they count beyond 2^53, the most that is counted".into()));
        }
        if let (Some(mine), Some(theirs)) = (self.seen.latest, other.seen.latest)
            && (is_of_another_unit(mine, theirs) || is_of_another_unit(theirs, mine))
        {
            return Err(Error::Merge(format!(
                "the latest time of one is {mine}, that of the other {theirs}: these are not in one unit"
            )));
        }
        if self.spec != other.spec || !self.policy.merge(&other.policy) {
            return Err(Error::Merge(format!(
                "one was learnt by `{}`, the other by `{}`",
                self.spec, other.spec
            )));
        }
        self.schedule = Schedule::Due;
        self.seen.add(other.seen);
        Ok(())
    }

    /// Adds the state of a jury that saw further items of the same round. The two rounds count as
    /// one.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut first = Jury::new(&"esag".parse()?, Evaluators::numbered(1)?)?;
    /// let mut second = first.clone();
    /// first.observe(&first.scores(&[0.2, 0.4])?, 0)?;
    /// second.observe(&second.scores(&[0.9])?, 0)?;
    /// first.merge_same_round(&second)?;
    /// assert_eq!((first.seen().rounds, first.seen().items), (1, 3));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn merge_same_round(&mut self, other: &Jury) -> Result<(), Error> {
        let both = self.seen.rounds > 0 && other.seen.rounds > 0;
        self.merge(other)?;
        self.seen.rounds -= u64::from(both);
        Ok(())
    }

    /// Records the changes of evaluators and rewards that the state shows now. They then stay known
    /// when older data can no longer show them. A jury that observes round after round does so by
    /// itself. After merging parts, call this after each part with a later time. The result depends
    /// on when it is called.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let mut days = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
    /// for day in 0..3 {
    ///     let mut one = Jury::new(days.spec(), days.evaluators().clone())?;
    ///     one.observe(&one.scores(&[0.2, 0.4, 0.1, 0.9])?, day)?;
    ///     days.merge(&one)?;
    ///     days.settle();
    /// }
    /// assert!(days.fit().alarms().is_empty());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn settle(&mut self) {
        self.policy.settle();
        self.schedule = Schedule::Due;
    }
}
