//! Sets of tags, each kept once however many items share it, and forgotten when no open item has it any more.

use super::LiveQueue;
use crate::event::Tags;
use std::sync::Arc;

/// So many sets may be kept that no item has, before they are looked through.
const SPARE: usize = 1024;

impl LiveQueue {
    /// The number of a set of tags, which is kept from now on.
    pub(super) fn tag_number(&mut self, tags: &Tags) -> u32 {
        if let Some(number) = self.tag_numbers.get(tags) {
            return *number;
        }
        let (tags, number) = (Arc::new(tags.clone()), self.tag_sets.len() as u32);
        self.tag_sets.push(tags.clone());
        self.tag_numbers.insert(tags, number);
        number
    }

    /// Forgets sets that no open item has, where there are many more sets than items, or than there were the last time: where a tag names a
    /// person, each item may bring one. Only between transactions, when nothing can be taken back.
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

    /// How many sets are kept.
    #[cfg(test)]
    pub(crate) fn kinds_of_tags(&self) -> usize {
        self.tag_sets.len()
    }
}
