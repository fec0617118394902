//! `adaptive`: told nothing but the scores, and good on data as it is.

mod landscape;
mod model;
mod regression;

use self::landscape::Landscape;
use self::model::Model;
use super::{Desk, Entry, Exploration, Links, Policy};
use crate::estimate::ladder::Ladder;
use crate::estimate::{Joint, Moments, Sample, Statistic};
use crate::link::Link;
use crate::options::{Count, Probability};
use crate::pick::Example;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// Options of `adaptive`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    /// Labelled rows kept for the curved part; half as many unlabelled ones.
    sample: Count,
    /// The probability that a round explores.
    audit: Probability,
    /// How many places of an exploring round are drawn at random.
    slots: Count,
    /// Columns of evaluators where a low score means a high reward.
    inverted: Vec<usize>,
    /// Whether to watch for drift and forget what no longer holds.
    forget: bool,
}

impl Default for Options {
    fn default() -> Self {
        let count = |n: u64| Count::try_from(n).expect("positive");
        Options {
            sample: count(1024),
            audit: Probability::try_from(0.0).expect("a probability"),
            slots: count(1),
            inverted: Vec::new(),
            forget: false,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    ladder: Ladder<Block>,
    unlabelled: Sample,
    /// Scores, then the reward.
    labelled: Sample,
}

/// What a span of time has shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Block {
    scores: Moments,
    /// Complete rows with their rewards.
    labelled: Joint,
}

impl Block {
    fn new(evaluators: usize) -> Self {
        Block { scores: Moments::new(evaluators), labelled: Joint::new(evaluators + 1) }
    }
}

impl Statistic for Block {
    fn merge(&mut self, other: &Self) {
        self.scores.merge(&other.scores);
        self.labelled.merge(&other.labelled);
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.scores.is_sound(evaluators) && self.labelled.is_sound(evaluators + 1)
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        let empty = Block::new(self.evaluators());
        self.ladder.merge(&other.ladder, &empty);
        self.unlabelled.merge(&other.unlabelled);
        self.labelled.merge(&other.labelled);
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.ladder.is_sound(evaluators)
            && self.unlabelled.is_sound(evaluators)
            && self.labelled.is_sound(evaluators + 1)
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        self.ladder.is_running() == other.ladder.is_running()
            && self.unlabelled.is_of_kind(&other.unlabelled)
            && self.labelled.is_of_kind(&other.labelled)
    }
}

impl State {
    fn evaluators(&self) -> usize {
        self.ladder.rungs()[0].value.scores.evaluators()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Adaptive {
    options: Options,
    inverted: Vec<bool>,
    state: State,
    empty: Block,
    model: Option<Model>,
    /// Rows and examples seen since the beginning of this process's fit; when to fit again.
    fresh: Freshness,
    room: Vec<f64>,
}

/// When the next fit is due.
#[derive(Debug, Clone, Copy, Default)]
struct Freshness {
    items: u64,
    labels: u64,
    next_items: u64,
    next_labels: u64,
}

/// A fit is renewed when items or labels have grown by one in this many.
const RENEWAL: u64 = 16;
/// Below this many items or labels it is renewed with every round.
const EAGER_ITEMS: u64 = 2000;
const EAGER_LABELS: u64 = 300;

impl Freshness {
    fn is_due(&self) -> bool {
        self.items >= self.next_items || self.labels >= self.next_labels
    }

    fn renew(&mut self) {
        let next = |seen: u64, eager: u64| seen + 1 + if seen < eager { 0 } else { seen / RENEWAL };
        self.next_items = next(self.items, EAGER_ITEMS);
        self.next_labels = next(self.labels, EAGER_LABELS);
    }
}

impl Policy for Adaptive {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "adaptive",
        links: Links::Identity,
        assumes: "nothing but that scores carry some signal: learns scales, curves, noise and weights; the default",
        paper: "past the paper",
    }];
    type Options = Options;
    type State = State;

    fn seat(_: &Entry, _: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        let mut inverted = vec![false; evaluators];
        for &column in &options.inverted {
            *inverted.get_mut(column).ok_or_else(|| {
                format!("inverted: there is no column {column} among {evaluators} evaluators")
            })? = true;
        }
        let sample = options.sample.get() as usize;
        let empty = Block::new(evaluators);
        Ok(Adaptive {
            inverted,
            state: State {
                ladder: Ladder::new(options.forget, empty.clone()),
                unlabelled: Sample::new(evaluators, (sample / 2).max(2)),
                labelled: Sample::new(evaluators + 1, sample),
            },
            empty,
            model: None,
            fresh: Freshness::default(),
            room: Vec::new(),
            options,
        })
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        self.model = None;
        &mut self.state
    }

    fn observes_first(&self) -> bool {
        true
    }

    fn prepare(&mut self) {
        if self.model.is_none() {
            let items = |block: &Block| {
                let scores = &block.scores;
                (0..scores.evaluators()).map(|j| scores.count(j, j) as u64).max().unwrap_or(0)
            };
            self.fresh.items = self.state.ladder.rungs().iter().map(|rung| items(&rung.value)).sum();
            self.fresh.labels = self.state.labelled.rows().map(|row| row.count).sum();
        } else if !self.fresh.is_due() {
            return;
        }
        self.fresh.renew();
        self.model = Some(self.fit());
    }

    fn values(&self, scores: &Scores<'_>, desk: &mut Desk) {
        match &self.model {
            Some(model) => model.values(scores, &mut desk.values),
            None => {
                desk.values.clear();
                desk.values.resize(scores.items(), 0.0);
            }
        }
    }

    fn exploration(&self) -> Exploration {
        Exploration { eps: self.options.audit.get(), slots: Some(self.options.slots.get() as usize) }
    }

    fn observe(&mut self, scores: &Scores<'_>) {
        let clock = self.state.ladder.clock();
        self.state.ladder.open().scores.observe(scores);
        for row in scores.rows() {
            self.state.unlabelled.offer(row, clock);
        }
        self.state.ladder.tick(&self.empty);
        self.fresh.items += scores.items() as u64;
    }

    fn learn(&mut self, example: &Example<'_>) -> bool {
        let clock = self.state.ladder.clock();
        self.room.clear();
        self.room.extend_from_slice(example.scores);
        self.room.push(example.reward);
        self.state.labelled.offer(&self.room, clock);
        if self.room.iter().all(|x| !x.is_nan()) {
            self.state.ladder.open().labelled.add(&self.room, 1.0);
        }
        self.fresh.labels += 1;
        true
    }
}

impl Adaptive {
    fn fit(&self) -> Model {
        let evaluators = self.inverted.len();
        let mut whole = Block::new(evaluators);
        for rung in self.state.ladder.rungs() {
            whole.merge(&rung.value);
        }
        let landscape = Landscape::new(&whole.scores, self.state.unlabelled.rows(), &self.inverted);
        Model::fit(landscape, self.state.labelled.rows(), &whole.labelled)
    }
}
