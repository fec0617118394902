//! Who sits in the jury, and what becomes of what was learnt when others do?
//!
//! A seat is a column: an evaluator, or a context, which says which group an item belongs to.

use super::Jury;
use crate::error::Error;
use crate::evaluators::Evaluators;

/// Evaluators that come and go.
impl Jury {
    /// Seats other evaluators in place of these: what was learnt stays with the names, newcomers begin with nothing, those
    /// no longer named are forgotten. An old label goes on teaching with the scores it has.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::new(["spam", "abuse"])?)?;
    /// jury.learn(&[Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None }], 0)?;
    /// jury.reseat(Evaluators::new(["spam", "abuse", "newcomer"])?)?;
    /// jury.learn(&[Example { scores: &[0.8, 0.3, 0.5], reward: 1.0, receipt: None }], 1)?;
    /// jury.reseat(Evaluators::new(["newcomer", "spam"])?)?;
    /// assert_eq!(jury.seen().used, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn reseat(&mut self, evaluators: Evaluators) -> Result<(), Error> {
        let columns = evaluators.columns_in(&self.evaluators)?;
        let spec = self.spec.with_columns(&columns)?;
        let mut seated = Jury::seated(spec, evaluators)?;
        seated.policy.take_columns(&self.policy, &columns);
        seated.seen = self.seen;
        *self = seated;
        Ok(())
    }

    /// The evaluators, in the order of the columns.
    pub fn evaluators(&self) -> &Evaluators {
        &self.evaluators
    }

    /// Whether its policy takes columns that say which group an item belongs to, so that weights may differ by group; others refuse them.
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
