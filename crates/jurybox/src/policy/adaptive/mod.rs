//! `adaptive`: told nothing but the scores, and good on data as it is.

mod drift;
mod landscape;
mod model;
mod phases;
mod regression;
mod uncertainty;

pub use self::drift::{Alarm, Reading};
use self::landscape::Landscape;
use self::model::Model;
pub use self::uncertainty::Interval;
use self::uncertainty::Uncertainty;
use super::{Desk, Entry, Exploration, Links, Policy, explore};
use crate::estimate::ladder::Ladder;
use crate::estimate::pulse::Pulse;
use crate::estimate::{Joint, Moments, Sample, SampledRow, Statistic};
use crate::link::Link;
use crate::options::{Count, Probability};
use crate::pick::Example;
use crate::scores::Scores;
use rand::{Rng, RngExt};
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
    /// How many sets of weights are drawn from the posterior to choose by; 0 chooses by the mean.
    draws: u64,
    /// Columns of evaluators where a low score means a high reward.
    inverted: Vec<usize>,
    /// Whether to watch for drift and forget what no longer holds.
    forget: bool,
    /// How bent the relation of a score to the reward may be.
    curve: Curve,
    /// Whether items come back until they are picked: each distinct row of scores then counts once.
    persistent: bool,
    /// Whether rewards may scatter more for some expected rewards than for others.
    noise: Noise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Curve {
    /// Straight lines only.
    Linear,
    /// Straight lines and normal scores.
    Ranks,
    /// Those, and piecewise linear functions of the normal scores.
    Spline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Noise {
    Constant,
    Varying,
}

impl Default for Options {
    fn default() -> Self {
        let count = |n: u64| Count::try_from(n).expect("positive");
        Options {
            sample: count(1024),
            audit: Probability::try_from(0.0).expect("a probability"),
            slots: count(1),
            draws: 0,
            inverted: Vec::new(),
            forget: false,
            curve: Curve::Ranks,
            persistent: false,
            noise: Noise::Constant,
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
    /// Readings by which drift is seen; empty unless that is asked for.
    pulse: Pulse,
}

impl Block {
    fn new(evaluators: usize) -> Self {
        Block {
            scores: Moments::new(evaluators),
            labelled: Joint::new(evaluators + 1),
            pulse: Pulse::new(evaluators),
        }
    }
}

impl Statistic for Block {
    fn merge(&mut self, other: &Self) {
        self.scores.merge(&other.scores);
        self.labelled.merge(&other.labelled);
        self.pulse.merge(&other.pulse);
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.scores.is_sound(evaluators)
            && self.labelled.is_sound(evaluators + 1)
            && self.pulse.is_sound(evaluators)
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
    alarms: Vec<Alarm>,
    weights: Vec<f64>,
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

/// An option that decides how much memory is used.
fn within(name: &str, value: u64, most: u64) -> Result<usize, String> {
    if value <= most {
        Ok(value as usize)
    } else {
        Err(format!("{name}={value} is too large; {most} is the most"))
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
        let sample = within("sample", options.sample.get(), 1 << 20)?;
        within("draws", options.draws, 1024)?;
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
            alarms: Vec::new(),
            weights: Vec::new(),
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
        let mut model = self.fit();
        if self.options.draws > 0 {
            model.draw(self.options.draws as usize);
        }
        self.weights.clear();
        let width = self.inverted.len();
        self.weights.extend(
            (0..width).map(|j| model.landscape.scale[j] * (model.weights[j] + model.weights[width + j])),
        );
        self.model = Some(model);
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
        if self.options.forget {
            self.state.ladder.open().pulse.observe(scores);
        }
        self.state.ladder.tick(&self.empty);
        self.fresh.items += scores.items() as u64;
    }

    /// One of the draws, each as likely, then the best by it and the audit slots.
    fn choose<R: Rng + ?Sized>(&self, scores: &Scores<'_>, k: usize, rng: &mut R, desk: &mut Desk) {
        let Some(model) = self.model.as_ref().filter(|_| self.options.draws > 0) else {
            self.values(scores, desk);
            return explore::choose(self.exploration(), k, rng, desk);
        };
        self.inclusion(scores, k, desk);
        let probabilities = std::mem::take(&mut desk.probabilities);
        let member = (rng.random::<f64>() * model.members() as f64) as usize;
        model.values_of(member, scores, &mut desk.values);
        explore::choose(self.exploration(), k, rng, desk);
        for pick in &mut desk.picks {
            pick.receipt.inclusion_probability = probabilities[pick.item];
        }
        desk.probabilities = probabilities;
    }

    /// The average over the draws: exact, since they are the same until the next fit.
    fn inclusion(&self, scores: &Scores<'_>, k: usize, desk: &mut Desk) {
        let Some(model) = self.model.as_ref().filter(|_| self.options.draws > 0) else {
            self.values(scores, desk);
            return explore::inclusion(self.exploration(), k, desk);
        };
        let mut total = vec![0.0; scores.items()];
        for member in 0..model.members() {
            model.values_of(member, scores, &mut desk.values);
            explore::inclusion(self.exploration(), k, desk);
            for (sum, p) in total.iter_mut().zip(&desk.probabilities) {
                *sum += p / model.members() as f64;
            }
        }
        desk.probabilities = total;
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn weight_intervals(&self, level: f64) -> Option<Vec<Interval>> {
        self.model.as_ref().map(|model| Uncertainty::of(model).weights(model, level))
    }

    fn predict(&self, scores: &Scores<'_>, level: f64) -> Option<Vec<Interval>> {
        let model = self.model.as_ref()?;
        let uncertainty = Uncertainty::of(model);
        Some(scores.rows().map(|row| uncertainty.predict(model, row, level)).collect())
    }

    fn alarms(&self) -> &[Alarm] {
        &self.alarms
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
    /// Fits what the present still resembles.
    fn fit(&mut self) -> Model {
        let evaluators = self.inverted.len();
        let ladder = &self.state.ladder;
        let (first, alarms) = drift::search(ladder, evaluators);
        let since = if first == 0 { 0 } else { ladder.rungs()[first].start };
        let mut whole = Block::new(evaluators);
        for rung in &ladder.rungs()[first..] {
            whole.merge(&rung.value);
        }
        self.alarms = alarms;
        let unlabelled = self.state.unlabelled.rows().filter(|row| row.clock >= since);
        let labelled = self.state.labelled.rows().filter(|row| row.clock >= since);
        if self.options.persistent {
            whole.scores = Moments::new(evaluators);
            for row in unlabelled.clone() {
                whole.scores.observe(&Scores::trusted(
                    row.values,
                    evaluators,
                    row.values.iter().all(|x| !x.is_nan()),
                ));
            }
        }
        let once = self.options.persistent;
        let unlabelled =
            unlabelled.map(move |row| SampledRow { count: if once { 1 } else { row.count }, ..row });
        let blocks = match self.options.curve {
            Curve::Linear => 1,
            Curve::Ranks => 2,
            Curve::Spline => 4,
        };
        let landscape = Landscape::new(&whole.scores, unlabelled, &self.inverted, blocks);
        let model = Model::fit(landscape, labelled.clone(), &whole.labelled);
        if self.options.noise == Noise::Varying { model.refit(labelled) } else { model }
    }
}
