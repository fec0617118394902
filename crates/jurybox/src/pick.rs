//! What goes out and comes back: picks with their receipts, and examples.

use serde::{Deserialize, Serialize};

/// An item chosen for a person's time.
///
/// ```
/// use jurybox::{Pick, Receipt};
///
/// let pick = Pick { item: 3, receipt: Receipt { inclusion_probability: 0.25, explored: true, ..Receipt::default() } };
/// let json = serde_json::to_string(&pick.receipt).unwrap(); // keep it beside the item until the verdict comes
/// assert_eq!(serde_json::from_str::<Receipt>(&json).unwrap(), pick.receipt);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pick {
    /// Row of the item in the round's scores.
    pub item: usize,
    /// What the policy needs back to learn from it.
    pub receipt: Receipt,
}

/// What a policy must be told about a pick when its reward comes, however late.
///
/// ```
/// let receipt = jurybox::Receipt::default(); // of a pick that was certain
/// assert!(receipt.inclusion_probability == 1.0 && !receipt.explored);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The probability with which this item was to be among the picks of its round, before any draw was made.
    pub inclusion_probability: f64,
    /// Whether the item was drawn at random in an explore slot.
    pub explored: bool,
    /// For `exp4p`: per evaluator, the probability that it would have had this item among its own top K. Empty for others.
    #[serde(default)]
    pub advice: Vec<f64>,
    /// For `exp4p`: per evaluator, this pick's share of the bonus that the round earned it. Empty for others.
    #[serde(default)]
    pub bonus: Vec<f64>,
}

impl Default for Receipt {
    fn default() -> Self {
        Receipt { inclusion_probability: 1.0, explored: false, advice: Vec::new(), bonus: Vec::new() }
    }
}

/// An item's scores and the reward its verdict was worth.
///
/// ```
/// let example = jurybox::Example { scores: &[0.9, 0.4], reward: 1.0, receipt: None };
/// assert_eq!(example.scores.len(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Example<'a> {
    /// The item's scores, NaN where missing.
    pub scores: &'a [f64],
    /// The reward.
    pub reward: f64,
    /// The receipt of its pick. History from elsewhere has none; a policy learns from it where that is sound.
    pub receipt: Option<&'a Receipt>,
}

/// What became of a batch of examples.
///
/// ```
/// let learnt = jurybox::Learnt { used: 8, passed_over: 2 };
/// assert_eq!(learnt.used + learnt.passed_over, 10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Learnt {
    /// Examples that changed the state.
    pub used: u64,
    /// Examples this policy does not learn from, such as greedy picks for `eps-greedy`, or history without receipts for
    /// `exp4p`.
    pub passed_over: u64,
}
