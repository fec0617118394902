//! Guesses whether sent items are new, to save looking up their ids on a shared database. After
//! some requests with new items only, the items of the next ones are assumed to be new. If the
//! database then refuses an existing id, nothing has happened, and the calls are decided again with
//! a lookup.

use crate::Error;
use crate::request::{Answer, Call, Rejected, Request};

/// With fewer items than this, the lookup costs nothing: a round trip that is made anyway does it.
const MANY: usize = 256;
/// After this many requests in a row with new items only, the next items are assumed to be new.
const SURE: u32 = 4;

/// Counts requests in a row that brought new items only.
#[derive(Debug, Default)]
pub(super) struct NewItemGuess {
    all_new_in_a_row: u32,
}

impl NewItemGuess {
    /// Whether the items of these calls can be assumed to be new.
    pub(super) fn expected(&self, calls: &[Call]) -> bool {
        let items = |call: &Call| if let Request::Items(items) = &call.request { items.len() } else { 0 };
        self.all_new_in_a_row >= SURE && calls.iter().map(items).sum::<usize>() >= MANY
    }

    /// Notes from the answers whether the items turned out to be new.
    pub(super) fn note(&mut self, answers: &[Result<Answer, Error>]) {
        for answer in answers {
            if let Ok(Answer::Items { accepted, updated, unchanged, rejected, .. }) = answer {
                let closed = || rejected.iter().any(Rejected::is_closed);
                let all_new = *accepted > 0 && updated + unchanged == 0 && !closed();
                self.all_new_in_a_row = if all_new { self.all_new_in_a_row.saturating_add(1) } else { 0 };
            }
        }
    }

    /// Notes that an item assumed to be new was not.
    pub(super) fn hit_existing_item(&mut self) {
        self.all_new_in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewItem;

    #[test]
    fn many_are_taken_for_new_after_many_that_were() {
        let calls = |many| [Call::new("a", Request::Items(vec![NewItem::default(); many]))];
        let told = |accepted, updated| {
            vec![Ok(Answer::Items { accepted, updated, unchanged: 0, ignored: 0, rejected: Vec::new() })]
        };
        let mut newcomers = NewItemGuess::default();
        for _ in 0..SURE {
            assert!(!newcomers.expected(&calls(MANY)));
            newcomers.note(&told(1000, 0));
        }
        assert!(newcomers.expected(&calls(MANY)) && !newcomers.expected(&calls(MANY - 1)));
        newcomers.note(&told(999, 1));
        assert!(!newcomers.expected(&calls(MANY)));
    }
}
