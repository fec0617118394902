//! Picks with their receipts, and labelled examples.

use serde::{Deserialize, Serialize};

/// An item picked for a person's time.
///
/// ```
/// use jurybox::{Pick, Receipt};
///
/// let receipt = Receipt { inclusion_probability: 0.25, explored: true, ..Receipt::default() };
/// let pick = Pick { item: 3, receipt };
/// // Kept beside the item until the verdict comes.
/// let json = serde_json::to_string(&pick.receipt).unwrap();
/// assert_eq!(serde_json::from_str::<Receipt>(&json).unwrap(), pick.receipt);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pick {
    /// Row of the item in the round's scores.
    pub item: usize,
    /// The receipt, which the policy needs in order to learn from the pick.
    pub receipt: Receipt,
}

/// Facts about a pick that a policy needs when the reward comes, however late.
///
/// ```
/// let receipt = jurybox::Receipt::default(); // of a pick that was certain
/// assert!(receipt.inclusion_probability == 1.0 && !receipt.explored);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The probability of this item to be picked in its round, before any random draw.
    pub inclusion_probability: f64,
    /// Whether the item was drawn at random in an explore slot.
    pub explored: bool,
    /// For `exp4p`: for each evaluator, the probability that the evaluator's own top K contained
    /// this item. Else empty.
    #[serde(default)]
    pub advice: Vec<f64>,
    /// For `exp4p`: for each evaluator, this pick's share of the round's bonus. Else empty.
    #[serde(default)]
    pub bonus: Vec<f64>,
}

impl Default for Receipt {
    fn default() -> Self {
        Receipt { inclusion_probability: 1.0, explored: false, advice: Vec::new(), bonus: Vec::new() }
    }
}

/// A labelled item: its scores and its reward.
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
    /// The receipt of the pick that led to this example. History from elsewhere has none; policies
    /// learn from it unless they need a receipt.
    pub receipt: Option<&'a Receipt>,
}

/// The result of learning from a batch of examples.
///
/// ```
/// let learnt = jurybox::Learnt { used: 8, ignored_rewards: 2 };
/// assert_eq!(learnt.used + learnt.ignored_rewards, 10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Learnt {
    /// Examples that the policy has learnt from.
    pub used: u64,
    /// Examples that this policy does not learn from, such as greedy picks for `eps-greedy`, or
    /// history without receipts for `exp4p`.
    pub ignored_rewards: u64,
}
