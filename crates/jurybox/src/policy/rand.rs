//! `rand`: random dictatorship. Every round one evaluator is drawn uniformly, and its top K is
//! picked.
//!
//! **Assumes** nothing and learns nothing. **In the paper** ("Top K Ranking for Multi-Armed Bandit
//! with Noisy Evaluations"): Alg. 5 of the appendix. The inclusion probability of an item is the
//! share of the evaluators that have it in their own top K; ties at the border share. **Costs** a
//! top K for each evaluator, to compute these probabilities. Items that the drawn evaluator did not
//! score come last in its order.

use super::explore::PickSlots;
use super::{Entry, Links, Needs, NoOptions, Policy, Rank};
use crate::link::Link;
use crate::rank::shares_of_top;
use crate::scores::Scores;
use crate::scratch::Scratch;
use rand::{Rng, RngExt};

#[derive(Debug, Clone)]
pub(crate) struct Rand(());

impl Policy for Rand {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "rand",
        links: Links::Identity,
        needs: Needs::Nothing,
        assumes: "nothing: one evaluator drawn each round ranks the items alone",
        paper: "Rand of the appendix",
        options: &[],
    }];
    type Options = NoOptions;
    type State = ();
    type Rank = OneAtRandom;

    fn create(_: &Entry, _: Link, _: NoOptions, _: usize) -> Result<Self, String> {
        Ok(Rand(()))
    }

    fn state(&self) -> &() {
        &self.0
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.0
    }

    fn buffer(&self) -> OneAtRandom {
        OneAtRandom
    }

    fn fit(&self, _: &mut OneAtRandom) {}
}

/// The fit of `rand`, which draws the evaluator that decides.
#[derive(Debug, Clone)]
pub(crate) struct OneAtRandom;

impl Rank for OneAtRandom {
    /// The Borda count with equal weights, for callers that need one fixed order of the items.
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        let trust = vec![1.0 / scores.evaluators() as f64; scores.evaluators()];
        mean_rank(scores, &trust, &mut scratch.values);
    }

    fn leaves_to_chance(&self) -> bool {
        true
    }

    fn picks_by_values(&self) -> bool {
        false
    }

    fn choose<R: Rng + ?Sized>(&self, scores: &Scores<'_>, k: usize, rng: &mut R, scratch: &mut Scratch) {
        self.inclusion(scores, k, scratch);
        let drawn = rng.random_range(0..scores.evaluators());
        column(scores, drawn, &mut scratch.values);
        scratch.top.fill(k, rng.next_u64(), &scratch.values);
        let mut slots = PickSlots::new(&mut scratch.picks, k);
        for ranked in scratch.top.sorted() {
            let item = ranked.item as usize;
            slots.push(item, scratch.probabilities[item], false);
        }
    }

    fn inclusion(&self, scores: &Scores<'_>, k: usize, scratch: &mut Scratch) {
        scratch.probabilities.clear();
        scratch.probabilities.resize(scores.items(), 0.0);
        let share = 1.0 / scores.evaluators() as f64;
        for j in 0..scores.evaluators() {
            column(scores, j, &mut scratch.values);
            shares_of_top(&scratch.values, k, &mut scratch.top, &mut scratch.numbers);
            for (probability, own) in scratch.probabilities.iter_mut().zip(&scratch.numbers) {
                *probability = (*probability + share * own).min(1.0); // rounding may exceed 1
            }
        }
    }
}

/// The weighted Borda count of each item; larger is better. For each evaluator, the items that an
/// item beats count 1 and ties count half, itself included, divided by the number of items. `trust`
/// weighs the evaluators.
pub(super) fn mean_rank(scores: &Scores<'_>, trust: &[f64], values: &mut Vec<f64>) {
    let items = scores.items();
    values.clear();
    values.resize(items, 0.0);
    let (mut own, mut sorted) = (Vec::new(), Vec::new());
    for (j, trust) in trust.iter().enumerate() {
        column(scores, j, &mut own);
        sorted.clone_from(&own);
        sorted.sort_unstable_by(f64::total_cmp);
        for (value, x) in values.iter_mut().zip(&own) {
            let below = sorted.partition_point(|y| y < x);
            let up_to = sorted.partition_point(|y| y <= x);
            *value += trust * (below + up_to) as f64 / (2 * items) as f64;
        }
    }
}

/// The scores of evaluator `j`; missing ones are minus infinity.
pub(super) fn column(scores: &Scores<'_>, j: usize, out: &mut Vec<f64>) {
    out.clear();
    out.extend(scores.rows().map(|row| if row[j].is_nan() { f64::NEG_INFINITY } else { row[j] }));
}
