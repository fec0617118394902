//! Whether items are taken for new without a look. Most batches bring none that is there already, and to look for every one of them takes a
//! fifth as long as to write them: where the last ones were all new, so are the next, until the database refuses an id that is there.
//! Nothing has happened then, and the same calls are decided again with a look.

use crate::Error;
use crate::request::{Answer, Call, Rejected, Request};

/// With fewer items than this a look costs nothing: it goes along on a journey that is made anyway.
const MANY: usize = 256;
/// After so many batches in a row that brought nothing but new items, the next one is taken for such.
const SURE: u32 = 4;

/// How items have come in of late.
#[derive(Debug, Default)]
pub(super) struct NewItemGuess {
    all_new_in_a_row: u32,
}

impl NewItemGuess {
    /// Whether the items of these calls are taken for new.
    pub(super) fn expected(&self, calls: &[Call]) -> bool {
        let items = |call: &Call| if let Request::Items(items) = &call.request { items.len() } else { 0 };
        self.all_new_in_a_row >= SURE && calls.iter().map(items).sum::<usize>() >= MANY
    }

    /// What these were after all.
    pub(super) fn note(&mut self, answers: &[Result<Answer, Error>]) {
        for answer in answers {
            if let Ok(Answer::Items { accepted, updated, unchanged, rejected, .. }) = answer {
                let closed = || rejected.iter().any(Rejected::is_closed);
                let all_new = *accepted > 0 && updated + unchanged == 0 && !closed();
                self.all_new_in_a_row = if all_new { self.all_new_in_a_row.saturating_add(1) } else { 0 };
            }
        }
    }

    /// One was there.
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
