//! The distinct sets of tags, each stored once however many items share it.

use super::LiveQueue;
use crate::event::Tags;
use std::sync::Arc;

/// Unused sets are dropped once there are this many more sets than twice the number kept last time,
/// or than twice the open items if these are fewer.
const SPARE: usize = 1024;

impl LiveQueue {
    /// The index of a set of tags, which is added if it is new.
    pub(super) fn tag_number(&mut self, tags: &Tags) -> u32 {
        if let Some(number) = self.tag_numbers.get(tags) {
            return *number;
        }
        let (tags, number) = (Arc::new(tags.clone()), self.tag_sets.len() as u32);
        self.tag_sets.push(tags.clone());
        self.tag_numbers.insert(tags, number);
        number
    }

    /// Drops sets that no open item has, once there may be many of them. A tag that names a person,
    /// for example, can bring a new set with every item. Only between transactions, since it cannot
    /// be rolled back.
    pub(super) fn forget_tags(&mut self) {
        let enough = 2 * self.blocks.open().min(self.tags_kept) + SPARE;
        if self.tag_sets.len() < enough {
            return;
        }
        let used = self.blocks.used_tags(self.tag_sets.len());
        let mut moved = vec![0_u32; used.len()];
        let mut kept = Vec::new();
        for (old, set) in self.tag_sets.drain(..).enumerate().filter(|(old, _)| used[*old]) {
            moved[old] = kept.len() as u32;
            kept.push(set);
        }
        self.tag_numbers = kept.iter().cloned().zip(0_u32..).collect();
        self.blocks.retag(&moved);
        (self.tags_kept, self.tag_sets) = (kept.len(), kept);
    }

    /// The number of sets stored.
    #[cfg(test)]
    pub(crate) fn kinds_of_tags(&self) -> usize {
        self.tag_sets.len()
    }
}
