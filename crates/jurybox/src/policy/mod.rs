//! Policies: how to pick, and how to learn from what the picks were worth.
//!
//! A policy is three verbs over a state that is a value. It has no memory of "the last round": what it needs to learn
//! from a pick travels in the pick's [`Receipt`](crate::Receipt), so rewards may come late, in any order, or never.
//!
//! - `choose` picks K items and never changes the state;
//! - `observe` sees every round's scores, chosen or not;
//! - `learn` sees one example: an item's scores, its reward, its receipt.
//!
//! To add a policy, write its file and add its line to the table in `table.rs`. The checks in `tests/policies.rs` then
//! run on it too. [`Jury`](crate::Jury) stands in front of every policy and lets only checked input through.

mod adaptive;
mod average;
mod eps_greedy;
mod esag;
mod eval_ucb;
mod exp4p;
mod explore;
mod gains;
mod lin_ucb;
mod oracle;
mod rand;
mod table;
mod uniform;

pub use adaptive::{Alarm, Interval, Reading};
pub use explore::Exploration;
pub use gains::SigmaOrigin;
pub(crate) use table::AnyPolicy;
pub use table::policies;

use crate::estimate::Statistic;
use crate::link::Link;
use crate::pick::{Example, Pick};
use crate::rank::TopK;
use crate::scores::Scores;
use ::rand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A name in the table of policies, and what a person should know before choosing it.
///
/// ```
/// let esag = jurybox::policies().iter().find(|entry| entry.name == "esag").unwrap();
/// assert!(esag.paper.contains("Alg. 2"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The name under which it is asked for.
    pub name: &'static str,
    /// Which links it can be asked to assume.
    pub links: Links,
    /// What it assumes and does, in one line.
    pub assumes: &'static str,
    /// Where it stands in the paper.
    pub paper: &'static str,
}

/// The links that a policy's name stands for.
///
/// ```
/// use jurybox::{Link, Links};
/// assert_eq!(Links::Glm.default_link(), Link::Logistic);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// The linear model; there is no `link` option.
    Identity,
    /// A `link` option: logistic (the default) or probit.
    Glm,
    /// A `link` option: identity (the default), logistic or probit.
    Any,
}

impl Links {
    /// The link assumed when none is asked for.
    pub fn default_link(self) -> Link {
        if self == Links::Glm { Link::Logistic } else { Link::Identity }
    }
}

/// For policies that have nothing to set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoOptions {}

/// Room to work in: buffers that a jury keeps from round to round, so that a steady state allocates nothing.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    /// The value of each item, for policies that rank.
    pub(crate) values: Vec<f64>,
    /// The probability of each item to be picked.
    pub(crate) probabilities: Vec<f64>,
    /// The scores on the inverse link's scale.
    pub(crate) inverse: Vec<f64>,
    /// The picks of this round.
    pub(crate) picks: Vec<Pick>,
    pub(crate) top: TopK,
    pub(crate) numbers: Vec<f64>,
    pub(crate) drawn: Vec<usize>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Desk {
            values: Vec::new(),
            probabilities: Vec::new(),
            inverse: Vec::new(),
            picks: Vec::new(),
            top: TopK::new(0, 0),
            numbers: Vec::new(),
            drawn: Vec::new(),
        }
    }
}

/// What every policy does. Input has been checked: right width, usable scores, `1 <= k <= items`.
pub(crate) trait Policy: Clone {
    /// The names it goes by.
    const ENTRIES: &'static [Entry];
    /// Its options, valid by their types.
    type Options: Serialize + DeserializeOwned;
    /// Everything it has learnt.
    type State: Statistic;

    /// A policy that has learnt nothing yet, or what is wrong with its options for that many evaluators.
    fn seat(entry: &Entry, link: Link, options: Self::Options, evaluators: usize) -> Result<Self, String>;

    fn state(&self) -> &Self::State;

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

    /// Brings what is derived from the state up to date. Called before it is used, if the state has changed since.
    fn prepare(&mut self) {}

    /// The value of each item, into `desk.values`.
    fn values(&self, scores: &Scores<'_>, desk: &mut Desk);

    /// How much of the coming round is given to chance.
    fn exploration(&self) -> Exploration {
        Exploration::NONE
    }

    /// Picks, into `desk.picks`: the top K by `values`, with exploration.
    fn choose<R: Rng + ?Sized>(&self, scores: &Scores<'_>, k: usize, rng: &mut R, desk: &mut Desk) {
        self.values(scores, desk);
        explore::choose(self.exploration(), k, rng, desk);
    }

    /// The probability of each item to be picked by `choose`, into `desk.probabilities`.
    fn inclusion(&self, scores: &Scores<'_>, k: usize, desk: &mut Desk) {
        self.values(scores, desk);
        explore::inclusion(self.exploration(), k, desk);
    }

    /// Sees a round's scores; true if that may change what is derived from the state.
    fn observe(&mut self, _scores: &Scores<'_>) -> bool {
        false
    }

    /// Learns from an example; false if this policy does not learn from such a one.
    fn learn(&mut self, _example: &Example<'_>) -> bool {
        false
    }

    /// Whether a reward lies outside the range that the policy was told, so that `learn` moves it to the nearest end.
    fn is_outside(&self, _reward: f64) -> bool {
        false
    }

    /// What is wrong with an example's receipt for this policy, if anything.
    fn check_receipt(&self, _example: &Example<'_>) -> Option<String> {
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

    /// The present estimate of the gains, up to a common factor for policies that cannot know it.
    fn alpha(&self) -> Option<&[f64]> {
        None
    }

    /// The present weights of the evaluators on the inverse link's scale.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// The noise levels in use, and where they come from.
    fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        None
    }
}

/// The scores on the inverse link's scale: as they come where that costs nothing, otherwise computed into `room`.
pub(crate) fn inverted<'a>(link: Link, scores: &Scores<'a>, room: &'a mut Vec<f64>) -> Scores<'a> {
    if let Some(ready) = scores.inverse(link) {
        return ready;
    }
    room.clear();
    link.inverse_into(scores.values(), room);
    Scores::trusted(room, scores.evaluators(), scores.is_complete())
}
