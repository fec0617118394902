//! `uniform`: K items drawn at random, whatever their scores.
//!
//! **Assumes** nothing and learns nothing. **In the paper:** "Rand, the fully random strategy" of the main text. It is
//! what any lift is measured from, and the fairest sample for an audit: every item has probability K / K_t.

use super::{Desk, Entry, Links, NoOptions, Policy};
use crate::link::Link;
use crate::scores::Scores;

#[derive(Debug, Clone)]
pub(crate) struct Uniform(());

impl Policy for Uniform {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "uniform",
        links: Links::Identity,
        assumes: "nothing: K items at random, whatever their scores",
        paper: "Rand of the main text",
    }];
    type Options = NoOptions;
    type State = ();

    fn seat(_: &Entry, _: Link, _: NoOptions, _: usize) -> Result<Self, String> {
        Ok(Uniform(()))
    }

    fn state(&self) -> &() {
        &self.0
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.0
    }

    /// Every item ties, and the tie rule draws.
    fn values(&self, scores: &Scores<'_>, desk: &mut Desk) {
        desk.values.clear();
        desk.values.resize(scores.items(), 0.0);
    }
}
