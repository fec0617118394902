//! Reusable buffers, so that repeated calls need not allocate.

use crate::pick::Pick;
use crate::rank::TopK;

/// Buffers that a caller keeps between calls of a [`Fitted`](crate::Fitted), one per thread.
///
/// ```
/// use jurybox::{Evaluators, Jury, Scratch};
///
/// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
/// let table = [0.1, 0.2, 0.9, 0.7];
/// let scores = fitted.scores(&table)?;
/// let mut scratch = Scratch::new();
/// for _ in 0..3 {
///     assert_eq!(fitted.values_with(&scores, &mut scratch)?.len(), 2);
/// }
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scratch {
    /// The value of each item, or one evaluator's scores.
    pub(crate) values: Vec<f64>,
    /// The probability of each item to be picked.
    pub(crate) probabilities: Vec<f64>,
    /// The scores with low evaluators mirrored.
    pub(crate) oriented: Vec<f64>,
    /// The scores on the scale of g^-1 for link g; for `exp4p` the advice.
    pub(crate) inverse: Vec<f64>,
    /// The picks of this round.
    pub(crate) picks: Vec<Pick>,
    pub(crate) top: TopK,
    pub(crate) numbers: Vec<f64>,
    pub(crate) drawn: Vec<usize>,
}

impl Scratch {
    /// Empty buffers, which grow when they are used.
    pub fn new() -> Self {
        Scratch {
            values: Vec::new(),
            probabilities: Vec::new(),
            oriented: Vec::new(),
            inverse: Vec::new(),
            picks: Vec::new(),
            top: TopK::new(0, 0),
            numbers: Vec::new(),
            drawn: Vec::new(),
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}
