//! `uniform`: K items drawn at random, whatever their scores.
//!
//! **Assumes** nothing and learns nothing. **In the paper** ("Top K Ranking for Multi-Armed Bandit
//! with Noisy Evaluations"): "Rand, the fully random strategy" of the main text. Lifts are measured
//! relative to it. Each of n items has probability K / n, so the picks can serve as an unbiased
//! random check.

use super::{Entry, Links, Needs, NoOptions, Policy, Rank};
use crate::contributions::Contributions;
use crate::link::Link;
use crate::scores::Scores;
use crate::scratch::Scratch;

#[derive(Debug, Clone)]
pub(crate) struct Uniform(());

impl Policy for Uniform {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "uniform",
        links: Links::Identity,
        needs: Needs::Nothing,
        assumes: "nothing: K items at random, whatever their scores",
        paper: "Rand of the main text",
        options: &[],
    }];
    type Options = NoOptions;
    type State = ();
    type Rank = Ties;

    fn create(_: &Entry, _: Link, _: NoOptions, _: usize) -> Result<Self, String> {
        Ok(Uniform(()))
    }

    fn state(&self) -> &() {
        &self.0
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.0
    }

    fn buffer(&self) -> Ties {
        Ties
    }

    fn fit(&self, _: &mut Ties) {}
}

/// The fit of `uniform`: every item has value 0, and the tie rule draws.
#[derive(Debug, Clone)]
pub(crate) struct Ties;

impl Rank for Ties {
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        scratch.values.clear();
        scratch.values.resize(scores.items(), 0.0);
    }

    fn leaves_to_chance(&self) -> bool {
        true
    }

    fn contributions(&self, row: &[f64]) -> Option<Contributions> {
        Some(Contributions { base: 0.0, each: vec![0.0; row.len()] })
    }
}
