//! What goes on around one item: who has it, who has given a verdict, who does not want it.

use super::thin_vec::ThinVec;
use crate::event::ReviewVerdict;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// An item that somebody has, or had.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ItemReviews {
    pub(crate) leases: Vec<Lease>,
    /// Those that stand, in the order in which they came.
    pub(crate) verdicts: ThinVec<ReviewVerdict>,
    /// Who does not want to be given it again.
    pub(crate) skipped: ThinVec<String>,
}

/// An item in a reviewer's hands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Lease {
    pub(crate) slot: i16,
    /// One name for all that were given out together.
    #[serde(serialize_with = "as_text")]
    pub(crate) reviewer: Arc<Box<str>>,
    /// The claim: whoever comes with another one has been overtaken.
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

    /// How many verdicts it takes: as many as the quorum, and where those do not agree, so many that one side has the majority.
    pub(crate) fn needed(&self, quorum: u8) -> usize {
        let quorum = usize::from(quorum);
        let first = self.verdicts.first().map(|verdict| verdict.reward);
        let divided = self.verdicts.iter().any(|verdict| Some(verdict.reward) != first);
        if divided { 2 * quorum - 1 } else { quorum }
    }

    /// The lowest place among the reviews that nobody has taken.
    pub(crate) fn free_slot(&self, quorum: u8) -> Option<i16> {
        let taken = |slot: i16| {
            self.leases.iter().any(|lease| lease.slot == slot)
                || self.verdicts.iter().any(|verdict| verdict.slot == slot)
        };
        (0..self.needed(quorum)).filter_map(|slot| i16::try_from(slot).ok()).find(|slot| !taken(*slot))
    }

    /// Whether a reviewer can be given it: nobody looks at an item twice.
    pub(crate) fn is_for(&self, reviewer: &str) -> bool {
        !self.skipped.iter().any(|name| name == reviewer)
            && !self.leases.iter().any(|lease| **lease.reviewer == *reviewer)
            && !self.verdicts.iter().any(|verdict| verdict.reviewer == reviewer)
    }

    pub(crate) fn lease_of(&self, reviewer: &str) -> Option<&Lease> {
        self.leases.iter().find(|lease| **lease.reviewer == *reviewer)
    }
}

/// What verdicts on an item come to: their median, the mean of the middle two where they are even in number.
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

/// What an item is worth once enough have looked at it.
pub(crate) fn decided(work: &ItemReviews, quorum: u8) -> Option<f64> {
    let enough = work.verdicts.len() >= work.needed(quorum);
    if enough { verdict_of(work.verdicts.iter().map(|verdict| verdict.reward)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_who_disagree_need_a_third() {
        let by = |reviewer: &str, slot, reward| ReviewVerdict { reviewer: reviewer.into(), slot, reward };
        let mut work = ItemReviews { verdicts: vec![by("ann", 0, 1.0)].into(), ..ItemReviews::default() };
        assert_eq!((work.needed(2), work.free_slot(2)), (2, Some(1)));
        work.verdicts.push(by("bob", 1, 1.0));
        assert_eq!((work.needed(2), work.free_slot(2)), (2, None));
        work.verdicts[1].reward = 0.0;
        assert_eq!((work.needed(2), work.free_slot(2)), (3, Some(2)));
        assert!(work.is_for("cid") && !work.is_for("ann"));
        assert_eq!(verdict_of([1.0, 0.0, 1.0].into_iter()), Some(1.0));
        assert_eq!(verdict_of([1.0, 0.0].into_iter()), Some(0.5));
    }
}
