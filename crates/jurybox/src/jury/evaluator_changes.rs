//! Evaluators that join or leave a jury that has already learnt.
//!
//! A column holds the scores of an evaluator, or a context: the groups of the items.

use super::Jury;
use crate::error::Error;
use crate::evaluators::Evaluators;

/// Change of evaluators.
impl Jury {
    /// Replaces the evaluators. Learnt figures stay with the names, and is forgotten for
    /// evaluators that are not listed. New evaluators have no past scores. Where the policy allows
    /// it, past labels still teach through the scores that they have.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// jury.learn(&[Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None }], 0)?;
    /// jury.set_evaluators(Evaluators::new(["spam", "abuse", "newcomer"])?)?;
    /// jury.learn(&[Example { scores: &[0.8, 0.3, 0.5], reward: 1.0, receipt: None }], 1)?;
    /// jury.set_evaluators(Evaluators::new(["newcomer", "spam"])?)?;
    /// assert_eq!(jury.seen().used, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn set_evaluators(&mut self, evaluators: Evaluators) -> Result<(), Error> {
        let columns = evaluators.columns_in(&self.evaluators)?;
        let spec = self.spec.with_columns(&columns)?;
        let mut jury = Jury::build(spec, evaluators)?;
        jury.policy.take_columns(&self.policy, &columns);
        jury.seen = self.seen;
        *self = jury;
        Ok(())
    }

    /// The evaluators, in column order.
    pub fn evaluators(&self) -> &Evaluators {
        &self.evaluators
    }

    /// Whether the policy takes contexts, so that weights may differ by group. If not, it refuses
    /// evaluators with contexts.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// assert!(Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?.takes_contexts());
    /// assert!(!Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?.takes_contexts());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn takes_contexts(&self) -> bool {
        self.policy.takes_contexts()
    }
}
