//! The contribution of each evaluator to an item's value.

use serde::Serialize;

/// The contributions of the evaluators to an item's value, and a base. Their sum is the value.
///
/// ```
/// use jurybox::{Evaluators, Jury};
///
/// let policy = "oracle(alpha=[1,2],sigma=[1,1])".parse()?;
/// let fitted = Jury::new(&policy, Evaluators::numbered(2)?)?.fit();
/// let why = fitted.contributions(&[1.0, 3.0])?.unwrap();
/// assert_eq!(why.each.len(), 2);
/// let value = fitted.values(&fitted.scores(&[1.0, 3.0])?)?[0];
/// assert!((why.value() - value).abs() < 1e-12);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contributions {
    /// The part of the value that belongs to no evaluator: an intercept, a prior mean, or an
    /// exploration bonus. Minus infinity for an item that comes last for lack of scores.
    pub base: f64,
    /// Contributions in column order; 0 for a missing score.
    pub each: Vec<f64>,
}

impl Contributions {
    /// The value of the item: the base plus all contributions.
    pub fn value(&self) -> f64 {
        self.base + self.each.iter().sum::<f64>()
    }
}
