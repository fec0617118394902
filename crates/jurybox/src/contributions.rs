//! Why an item has its value: what each evaluator adds to it.

use serde::Serialize;

/// What each evaluator adds to the value of an item, and what the value is without any: together they are the value.
///
/// ```
/// use jurybox::{Evaluators, Jury};
///
/// let fitted = Jury::new(&"oracle(alpha=[1,2],sigma=[1,1])".parse()?, Evaluators::numbered(2)?)?.fit();
/// let why = fitted.contributions(&[1.0, 3.0])?.unwrap();
/// assert_eq!(why.each.len(), 2);
/// let value = fitted.values(&fitted.scores(&[1.0, 3.0])?)?[0];
/// assert!((why.value() - value).abs() < 1e-12);
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contributions {
    /// The value apart from what any score adds: an intercept, a prior mean, a bonus for what is little known.
    pub base: f64,
    /// What each evaluator adds, in column order; 0 for a missing score, which says nothing.
    pub each: Vec<f64>,
}

impl Contributions {
    /// The value of the item: the sum of all.
    pub fn value(&self) -> f64 {
        self.base + self.each.iter().sum::<f64>()
    }
}
