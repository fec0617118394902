//! The interface of policies, which learn from rewards and pick.
//!
//! A [`Policy`] learns. Its state is a value without memory of "the last round". What it needs to
//! know of a pick travels in the pick's [`Receipt`](crate::Receipt), so rewards may come late, in
//! any order, or never.
//!
//! - `observe` sees every round's scores, picked or not;
//! - `learn` sees one example: an item's scores, its reward, its receipt;
//! - `fit` turns the state into a [`Rank`], and `count` adds what depends on the counts of rounds
//!   and items. Together they are a pure function of options, state and counts.
//!
//! A [`Rank`] picks. It is immutable, so several threads can share one.
//!
//! To add a policy, write its file and add its line to the table in `table.rs`. The checks in
//! `tests/policies.rs` then run on it too. [`Jury`](crate::Jury) and [`Fitted`](crate::Fitted)
//! validate all input before a policy sees it.

mod adaptive;
mod average;
mod entry;
mod eps_greedy;
mod esag;
mod eval_ucb;
mod exp4p;
pub(crate) mod explore;
mod gains;
mod lin_ucb;
mod oracle;
mod rand;
mod reward_law;
mod table;
mod uniform;

pub use adaptive::{Alarm, Diagnostic, Reading};
pub use entry::{Entry, Links, Needs, OptionEntry, OptionKind};
pub use explore::Exploration;
pub use gains::SigmaOrigin;
pub use table::policies;
pub(crate) use table::{AnyPolicy, AnyRank};

use crate::contributions::Contributions;
use crate::estimate::Statistic;
use crate::form::Form;
use crate::link::Link;
use crate::pick::Example;
use crate::reviewer::{Reviewer, Standing};
use crate::schedule::Renewal;
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::seen::Seen;
use crate::toolbox::Interval;
use ::rand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The options of a policy that has none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoOptions {}

/// A policy that learns. Its input has been validated: the width is right, rewards are finite,
/// scores are finite or missing (NaN), and high scores suggest high rewards.
pub(crate) trait Policy: Clone {
    /// Its entries in the table of policies.
    const ENTRIES: &'static [Entry];
    /// Its options, valid by their types.
    type Options: Serialize + DeserializeOwned;
    /// The learnt state.
    type State: Statistic;
    /// The fit, which picks.
    type Rank: Rank;

    /// A new policy over this number of evaluators, or the fault of the options.
    fn create(entry: &Entry, link: Link, options: Self::Options, evaluators: usize) -> Result<Self, String>;

    /// Declares columns as contexts, which hold groups of items instead of scores. Errors if the
    /// policy cannot use them.
    fn take_contexts(&mut self, _columns: &[usize]) -> Result<(), String> {
        Err("it has the same weights for all items: leave out the context, or take adaptive, whose weights differ by group".into())
    }

    /// Whether the policy can use contexts, so that its weights differ by group.
    fn takes_contexts(&self) -> bool {
        false
    }

    /// Whether the policy uses the reviewers' names.
    fn tells_reviewers_apart(&self) -> bool {
        false
    }

    fn state(&self) -> &Self::State;

    /// Whether this state agrees with a jury's counts, in ways that [`Statistic::is_sound`] cannot
    /// check.
    fn is_within(&self, _seen: &Seen) -> bool {
        true
    }

    /// The state, for merging, loading and changes of evaluators.
    fn state_mut(&mut self) -> &mut Self::State;

    /// Whether a round's scores should be observed before picking, instead of after it as in the
    /// paper.
    fn observes_first(&self) -> bool {
        false
    }

    /// The link whose inverse the policy applies to scores.
    fn link(&self) -> Link {
        Link::Identity
    }

    /// When [`Jury::round`](crate::Jury::round) fits again.
    fn renewal(&self) -> Renewal {
        Renewal::EveryChange
    }

    /// Whether the policy has observed, since its earlier copy `then`, a change that a fit must
    /// know at once.
    fn has_news(&self, _then: &Self) -> bool {
        false
    }

    /// Records confirmed changes that the policy could not find again later. A policy that observes
    /// round after round does so by itself.
    fn settle(&mut self) {}

    /// Observes a round's scores; true if that may change the fit. `count` handles the number of
    /// rounds.
    fn observe(&mut self, _scores: &Scores<'_>, _at: u64) -> bool {
        false
    }

    /// Whether observed scores can change the fit; if not, rounds are only counted.
    fn learns_from_scores(&self) -> bool {
        false
    }

    /// Learns from an example; false if this policy does not learn from one like it.
    fn learn(&mut self, _example: &Example<'_>, _at: u64) -> bool {
        false
    }

    /// Like `learn`, with the reviewer of the verdict for policies that use it.
    fn learn_by(&mut self, example: &Example<'_>, _reviewer: Option<Reviewer>, at: u64) -> bool {
        self.learn(example, at)
    }

    /// Learns from examples in order. Returns the number used, and how many of the used rewards
    /// were outside the policy's range.
    fn learn_all(&mut self, examples: &[Example<'_>], at: u64) -> (u64, u64) {
        let (mut used, mut out_of_range) = (0, 0);
        for example in examples {
            if self.learn(example, at) {
                used += 1;
                out_of_range += u64::from(self.is_outside(example.reward));
            }
        }
        (used, out_of_range)
    }

    /// Whether a reward lies outside the policy's range, so that `learn` clamps it.
    fn is_outside(&self, _reward: f64) -> bool {
        false
    }

    /// The fault of an example's receipt for this policy, if anything.
    fn check_receipt(&self, _example: &Example<'_>) -> Option<String> {
        None
    }

    /// A buffer for a fit; its content does not matter.
    fn buffer(&self) -> Self::Rank;

    /// Fits to the state: a pure function of options and state, written over `into`, whose memory
    /// is reused.
    fn fit(&self, into: &mut Self::Rank);

    /// Updates a fit of the present state with the counts. Counts change every round, while the
    /// rest of a fit can serve for many.
    fn count(&self, _seen: &Seen, _into: &mut Self::Rank) {}
}

/// A fit that picks. Input is valid as for a [`Policy`], and `1 <= k <= items`.
pub(crate) trait Rank: Clone + Send + Sync {
    /// Computes the value of each item into `scratch.values`.
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch);

    /// Whether values are expected rewards, on the reward's own scale.
    fn values_are_rewards(&self) -> bool {
        false
    }

    /// The additive form of the value of a complete item, if it has one; bit-equal to `values`.
    fn form(&self) -> Option<Form> {
        None
    }

    /// The exploration that picks use.
    fn exploration(&self) -> Exploration {
        Exploration::NONE
    }

    /// Whether some picks are drawn at random, so that picks are not just the list sorted by value.
    fn leaves_to_chance(&self) -> bool {
        self.exploration().eps > 0.0
    }

    /// Whether picks depend on the items' values alone.
    fn picks_by_values(&self) -> bool {
        true
    }

    /// A copy without probes, the occasional picks that depend on the scores and not only on the
    /// values.
    fn without_looks(&self) -> Self {
        self.clone()
    }

    /// Picks, into `scratch.picks`: the top K by `values`, with exploration.
    fn choose<R: Rng + ?Sized>(&self, scores: &Scores<'_>, k: usize, rng: &mut R, scratch: &mut Scratch) {
        self.values(scores, scratch);
        explore::choose(self.exploration(), k, rng, scratch);
    }

    /// The probability of each item to be picked by `choose`, into `scratch.probabilities`.
    fn inclusion(&self, scores: &Scores<'_>, k: usize, scratch: &mut Scratch) {
        self.values(scores, scratch);
        explore::inclusion(self.exploration(), k, scratch);
    }

    /// The contribution of each evaluator to the value of an item. None if the value depends on
    /// other items of the round.
    fn contributions(&self, _row: &[f64]) -> Option<Contributions> {
        None
    }

    /// The weights with intervals of probability `level`, if the policy has intervals.
    fn weight_intervals(&self, _level: f64) -> Option<Vec<Interval>> {
        None
    }

    /// The reward of each item with an interval of probability `level`, if the policy predicts
    /// rewards.
    fn predict(&self, _scores: &Scores<'_>, _level: f64) -> Option<Vec<Interval>> {
        None
    }

    /// Changes in evaluators or rewards, if the policy watches for them.
    fn alarms(&self) -> &[Alarm] {
        &[]
    }

    /// The offset of a group's items and the weights for them, if groups differ. `group` is the
    /// number of the group in the context column `column`.
    fn group_weights(&self, _column: usize, _group: f64) -> Option<(f64, Vec<f64>)> {
        None
    }

    /// The reviewers with intervals of probability `level`, if the policy models them.
    fn reviewers(&self, _level: f64) -> Vec<Standing> {
        Vec::new()
    }

    /// Diagnostics of the labels, if the policy has them.
    fn diagnostics(&self) -> &[Diagnostic] {
        &[]
    }

    /// The estimated gains, if the policy has them, for some policies up to a common factor.
    fn alpha(&self) -> Option<&[f64]> {
        None
    }

    /// The weights of the evaluators on the scale of g^-1, where g is the link.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// The noise levels in use, and their source.
    fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        None
    }
}

/// The scores on the scale of g^-1, where g is the link: unchanged for the identity, otherwise
/// computed into `buffer` unless the table already has them.
pub(crate) fn inverted<'a>(link: Link, scores: &Scores<'a>, buffer: &'a mut Vec<f64>) -> Scores<'a> {
    if let Some(ready) = scores.inverse(link) {
        return ready;
    }
    buffer.clear();
    link.inverse_into(scores.values(), buffer);
    Scores::trusted(buffer, scores.evaluators(), scores.is_complete())
}
