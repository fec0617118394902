//! The leases, verdicts and skips of one item, and the rule by which its verdicts decide it.

use super::thin_vec::ThinVec;
use crate::event::ReviewVerdict;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// The leases, verdicts and skips of one open item.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ItemReviews {
    pub(crate) leases: Vec<Lease>,
    /// The reviewers' verdicts that stand, in the order in which they came.
    pub(crate) verdicts: ThinVec<ReviewVerdict>,
    /// Reviewers who have skipped the item and will not be given it again.
    pub(crate) skipped: ThinVec<String>,
}

/// A reviewer's hold on an item until a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Lease {
    pub(crate) slot: i16,
    /// Shared by all leases of one claim, to save memory.
    #[serde(serialize_with = "as_text")]
    pub(crate) reviewer: Arc<Box<str>>,
    /// The log entry of the claim, or of the undo, that gave the lease.
    pub(crate) claim: u64,
    pub(crate) until: i64,
    pub(crate) probability: f64,
    pub(crate) explored: bool,
}

fn as_text<S: Serializer>(name: &Arc<Box<str>>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(name)
}

impl ItemReviews {
    pub(crate) fn is_empty(&self) -> bool {
        self.leases.is_empty() && self.verdicts.is_empty() && self.skipped.is_empty()
    }

    /// How many verdicts decide the item: `quorum`, or `2 * quorum - 1` once two verdicts differ.
    /// With two possible rewards, that many always contain `quorum` equal ones. A quorum of 2 needs
    /// 3 then. A quorum of 3 needs 5, so that two against one does not decide yet.
    pub(crate) fn needed(&self, quorum: u8) -> usize {
        let quorum = usize::from(quorum);
        let first = self.verdicts.first().map(|verdict| verdict.reward);
        let divided = self.verdicts.iter().any(|verdict| Some(verdict.reward) != first);
        if divided { 2 * quorum - 1 } else { quorum }
    }

    /// The lowest review slot without a lease or verdict. None if enough reviewers have the item or
    /// have judged it.
    pub(crate) fn free_slot(&self, quorum: u8) -> Option<i16> {
        let taken = |slot: i16| {
            self.leases.iter().any(|lease| lease.slot == slot)
                || self.verdicts.iter().any(|verdict| verdict.slot == slot)
        };
        (0..self.needed(quorum)).filter_map(|slot| i16::try_from(slot).ok()).find(|slot| !taken(*slot))
    }

    /// Whether a reviewer can be given the item. Nobody reviews an item twice, or after skipping
    /// it.
    pub(crate) fn is_for(&self, reviewer: &str) -> bool {
        !self.skipped.iter().any(|name| name == reviewer)
            && !self.leases.iter().any(|lease| **lease.reviewer == *reviewer)
            && !self.verdicts.iter().any(|verdict| verdict.reviewer == reviewer)
    }

    pub(crate) fn lease_of(&self, reviewer: &str) -> Option<&Lease> {
        self.leases.iter().find(|lease| **lease.reviewer == *reviewer)
    }
}

/// The reward that verdicts amount to: their median, or the mean of the middle two for an even
/// number. None without verdicts.
pub(crate) fn verdict_of(rewards: impl Iterator<Item = f64>) -> Option<f64> {
    let mut rewards: Vec<f64> = rewards.collect();
    rewards.sort_by(f64::total_cmp);
    let middle = rewards.len() / 2;
    match rewards.len() {
        0 => None,
        len if len % 2 == 1 => Some(rewards[middle]),
        _ => Some(f64::midpoint(rewards[middle - 1], rewards[middle])),
    }
}

/// The item's reward, once it has as many verdicts as it needs.
pub(crate) fn decided(reviews: &ItemReviews, quorum: u8) -> Option<f64> {
    let enough = reviews.verdicts.len() >= reviews.needed(quorum);
    if enough { verdict_of(reviews.verdicts.iter().map(|verdict| verdict.reward)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_who_disagree_need_a_third() {
        let by = |reviewer: &str, slot, reward| ReviewVerdict { reviewer: reviewer.into(), slot, reward };
        let mut reviews = ItemReviews { verdicts: vec![by("ann", 0, 1.0)].into(), ..ItemReviews::default() };
        assert_eq!((reviews.needed(2), reviews.free_slot(2)), (2, Some(1)));
        reviews.verdicts.push(by("bob", 1, 1.0));
        assert_eq!((reviews.needed(2), reviews.free_slot(2)), (2, None));
        reviews.verdicts[1].reward = 0.0;
        assert_eq!((reviews.needed(2), reviews.free_slot(2)), (3, Some(2)));
        assert!(reviews.is_for("cid") && !reviews.is_for("ann"));
        assert_eq!(verdict_of([1.0, 0.0, 1.0].into_iter()), Some(1.0));
        assert_eq!(verdict_of([1.0, 0.0].into_iter()), Some(0.5));
    }

    #[test]
    fn with_a_quorum_of_three_two_against_one_are_not_enough_and_five_decide() {
        let given = |rewards: &[f64]| {
            let by = |(slot, reward): (i16, &f64)| ReviewVerdict {
                reviewer: format!("r{slot}"),
                slot,
                reward: *reward,
            };
            let verdicts: Vec<ReviewVerdict> = (0..).zip(rewards).map(by).collect();
            ItemReviews { verdicts: verdicts.into(), ..ItemReviews::default() }
        };
        assert_eq!((decided(&given(&[1.0, 1.0]), 3), decided(&given(&[1.0; 3]), 3)), (None, Some(1.0)));
        let divided = given(&[1.0, 0.0, 1.0]);
        assert_eq!((divided.needed(3), divided.free_slot(3), decided(&divided, 3)), (5, Some(3), None));
        assert_eq!(decided(&given(&[1.0, 0.0, 1.0, 0.0, 1.0]), 3), Some(1.0));
        assert_eq!(decided(&given(&[1.0, 0.0, 1.0, 0.0, 0.0]), 3), Some(0.0));
    }
}
