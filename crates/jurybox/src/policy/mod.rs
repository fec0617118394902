//! Policies: how to learn from what picks were worth, and how to pick by what was learnt. Two things, two traits.
//!
//! A [`Policy`] learns. Its state is a value, and it has no memory of "the last round": what it needs to learn from a pick
//! travels in the pick's [`Receipt`](crate::Receipt), so rewards may come late, in any order, or never.
//!
//! - `observe` sees every round's scores, chosen or not;
//! - `learn` sees one example: an item's scores, its reward, its receipt;
//! - `fit` turns what was learnt into a [`Rank`], and `count` adds what goes by the number of rounds: together a pure
//!   function of the options, the state and the counters.
//!
//! A [`Rank`] picks. It never changes, so that many threads can share one.
//!
//! To add a policy, write its file and add its line to the table in `table.rs`. The checks in `tests/policies.rs` then
//! run on it too. [`Jury`](crate::Jury) and [`Fitted`](crate::Fitted) stand in front of every policy and let only checked
//! input through.

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

pub use adaptive::{Alarm, Doubt, Reading};
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

/// For policies that have nothing to set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoOptions {}

/// What learns. Input has been checked: right width, usable scores and rewards, high scores for high rewards.
pub(crate) trait Policy: Clone {
    /// The names it goes by.
    const ENTRIES: &'static [Entry];
    /// Its options, valid by their types.
    type Options: Serialize + DeserializeOwned;
    /// Everything it has learnt.
    type State: Statistic;
    /// What picks by what was learnt.
    type Rank: Rank;

    /// A policy that has learnt nothing yet, or what is wrong with its options for that many evaluators.
    fn seat(entry: &Entry, link: Link, options: Self::Options, evaluators: usize) -> Result<Self, String>;

    /// Takes columns for what they are: no scores, but numbers that say which group an item belongs to. Or says why not.
    fn take_contexts(&mut self, _columns: &[usize]) -> Result<(), String> {
        Err("it has the same weights for all items: leave out the context, or take adaptive, whose weights differ by group".into())
    }

    /// Whether it can: its weights may differ by group.
    fn takes_contexts(&self) -> bool {
        false
    }

    /// Whether it makes a difference to it who judged.
    fn tells_reviewers_apart(&self) -> bool {
        false
    }

    fn state(&self) -> &Self::State;

    /// Whether a jury that has seen this can have such a state, as far as the state itself does not tell.
    fn is_within(&self, _seen: &Seen) -> bool {
        true
    }

    /// The state, to be changed from outside.
    fn state_mut(&mut self) -> &mut Self::State;

    /// Whether a round's scores should be observed before choosing from it, instead of after as in the paper.
    fn observes_first(&self) -> bool {
        false
    }

    /// The link whose inverse it takes of the scores.
    fn link(&self) -> Link {
        Link::Identity
    }

    /// When [`Jury::round`](crate::Jury::round) fits again.
    fn renewal(&self) -> Renewal {
        Renewal::EveryChange
    }

    /// Whether it has observed something since then that a fit must know at once, however little has been seen in between.
    fn has_news(&self, _then: &Self) -> bool {
        false
    }

    /// Keeps what it would not find again later, as it does of itself while it observes round after round.
    fn settle(&mut self) {}

    /// Sees a round's scores; true if that may change what `fit` gives. That a round has passed is for `count`.
    fn observe(&mut self, _scores: &Scores<'_>, _at: u64) -> bool {
        false
    }

    /// Whether what it observes can change what `fit` gives; otherwise its rounds are only counted.
    fn learns_from_scores(&self) -> bool {
        false
    }

    /// Learns from an example; false if this policy does not learn from such a one.
    fn learn(&mut self, _example: &Example<'_>, _at: u64) -> bool {
        false
    }

    /// As `learn`, and who gave the verdict, for those who ask.
    fn learn_by(&mut self, example: &Example<'_>, _reviewer: Option<Reviewer>, at: u64) -> bool {
        self.learn(example, at)
    }

    /// Learns from examples as from one after the other; says how many were used, and how many of those lie outside.
    fn learn_all(&mut self, examples: &[Example<'_>], at: u64) -> (u64, u64) {
        let (mut used, mut outside) = (0, 0);
        for example in examples {
            if self.learn(example, at) {
                used += 1;
                outside += u64::from(self.is_outside(example.reward));
            }
        }
        (used, outside)
    }

    /// Whether a reward lies outside the range that the policy was told, so that `learn` moves it to the nearest end.
    fn is_outside(&self, _reward: f64) -> bool {
        false
    }

    /// What is wrong with an example's receipt for this policy, if anything.
    fn check_receipt(&self, _example: &Example<'_>) -> Option<String> {
        None
    }

    /// A buffer for a fit; what is in it does not matter.
    fn buffer(&self) -> Self::Rank;

    /// What was learnt, as something to rank by: a pure function of options and state, written over whatever `into` held,
    /// whose memory is used again.
    fn fit(&self, into: &mut Self::Rank);

    /// Puts what goes by the counters alone into a fit of the present state. Counters move with every round, and a fit that
    /// nothing else has changed is good for many.
    fn count(&self, _seen: &Seen, _into: &mut Self::Rank) {}
}

/// What picks. Input has been checked as for a [`Policy`], and `1 <= k <= items`.
pub(crate) trait Rank: Clone + Send + Sync {
    /// The value of each item, into `scratch.values`.
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch);

    /// Whether values are expected rewards, on the reward's own scale.
    fn values_are_rewards(&self) -> bool {
        false
    }

    /// How the value of an item with all of its scores adds up over them, where it does: the sums of `values`, to the last bit.
    fn form(&self) -> Option<Form> {
        None
    }

    /// How much of a round is given to chance.
    fn exploration(&self) -> Exploration {
        Exploration::NONE
    }

    /// Whether it leaves some of its picks to chance, so that a plain list by value is not what it picks.
    fn leaves_to_chance(&self) -> bool {
        self.exploration().eps > 0.0
    }

    /// Whether it picks by the values of the items, and by nothing else of their scores.
    fn picks_by_values(&self) -> bool {
        true
    }

    /// The same, going by values alone where it would look at more of the scores now and then.
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

    /// What each evaluator adds to the value of an item, where that is a question about the item alone.
    fn contributions(&self, _row: &[f64]) -> Option<Contributions> {
        None
    }

    /// The weights with intervals of that probability, where the policy knows how sure it is.
    fn weight_intervals(&self, _level: f64) -> Option<Vec<Interval>> {
        None
    }

    /// The reward of each item with an interval of that probability, where the policy can say.
    fn predict(&self, _scores: &Scores<'_>, _level: f64) -> Option<Vec<Interval>> {
        None
    }

    /// Evaluators that are not what they were, where the policy watches for that.
    fn alarms(&self) -> &[Alarm] {
        &[]
    }

    /// What the items of a group are worth more than others with the same scores, and the weights of the evaluators for them, where that
    /// differs: for the group of that number in that column.
    fn group_weights(&self, _column: usize, _group: f64) -> Option<(f64, Vec<f64>)> {
        None
    }

    /// Those who judged, where the policy tells them apart, with intervals of that probability.
    fn reviewers(&self, _level: f64) -> Vec<Standing> {
        Vec::new()
    }

    /// What to doubt of what was learnt, where the policy looks at that.
    fn doubts(&self) -> &[Doubt] {
        &[]
    }

    /// The estimate of the gains, up to a common factor for policies that cannot know it.
    fn alpha(&self) -> Option<&[f64]> {
        None
    }

    /// The weights of the evaluators on the inverse link's scale.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// The noise levels in use, and where they come from.
    fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        None
    }
}

/// The scores on the inverse link's scale: as they come where that costs nothing, otherwise computed into `buffer`.
pub(crate) fn inverted<'a>(link: Link, scores: &Scores<'a>, buffer: &'a mut Vec<f64>) -> Scores<'a> {
    if let Some(ready) = scores.inverse(link) {
        return ready;
    }
    buffer.clear();
    link.inverse_into(scores.values(), buffer);
    Scores::trusted(buffer, scores.evaluators(), scores.is_complete())
}
