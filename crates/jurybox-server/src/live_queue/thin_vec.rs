//! A vector of one pointer, for lists that are nearly always empty: a queue keeps two for each item
//! with a lease, verdict or skip.

use serde::{Serialize, Serializer};
use std::ops::{Deref, DerefMut};

/// A vector that takes one pointer while it is empty.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::box_collection, reason = "the list itself takes three times as much")]
pub(crate) struct ThinVec<T>(Option<Box<Vec<T>>>);

impl<T> ThinVec<T> {
    pub(crate) fn push(&mut self, one: T) {
        self.0.get_or_insert_default().push(one);
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        if let Some(all) = &mut self.0 {
            all.retain(keep);
            if all.is_empty() {
                self.0 = None;
            }
        }
    }
}

impl<T> Default for ThinVec<T> {
    fn default() -> Self {
        ThinVec(None)
    }
}

impl<T> Deref for ThinVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl<T> DerefMut for ThinVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.as_deref_mut().map_or(&mut [], Vec::as_mut_slice)
    }
}

impl<T> From<Vec<T>> for ThinVec<T> {
    fn from(all: Vec<T>) -> Self {
        ThinVec((!all.is_empty()).then(|| Box::new(all)))
    }
}

impl<T: Serialize> Serialize for ThinVec<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}
