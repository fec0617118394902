//! `adaptive`: told nothing but the scores, close to what hindsight could do. The default.
//!
//! It regresses the reward on the scores. Picks are made by scores, so that regression, unlike the paper's of scores on
//! rewards, is not biased by the picking, and needs no exploration to be right. Everything else is about being good
//! *before* there are many labels, and on scores with offsets, units, curves and shared errors of their own:
//!
//! 1. **Scales** ([`landscape`]). Scores are standardised by what was seen of them, labelled or not, the current round
//!    included, and taken a second time as normal scores (ranks on a Gaussian scale), with two bends. Any monotone change
//!    of an evaluator's units leaves the latter as they were.
//! 2. **A prior from the scores alone.** Several guesses at good weights need no label: equal weights (half of the prior),
//!    the paper's mean over variance, inverse variance, loadings on a common factor, and the same with correlated errors.
//! 3. **Evidence** ([`regression`]). Each guess, how far to stray from it, and which features to use make a model with a
//!    marginal likelihood in closed form; the answer averages over all. Few labels: the guesses. Many: least squares.
//! 4. **Missing scores** are replaced by their expectation given the present ones under the one-factor model, which makes
//!    the value the posterior mean given what is there.
//!
//! **Assumes** that rewards are a sum of one function per evaluator's score, plus noise; that the evaluators as a whole
//! point the right way (prior odds of 49 to 1, which labels can overturn). One evaluator, useless, inverted, duplicated or
//! constant ones, rewards of any sign and scale are ordinary. It does not see interactions between evaluators, and
//! scores missing *because* of what they would have been mislead it. Noise is taken as normal: under very heavy tails of
//! the reward single labels count for too much. Like every greedy learner it can, on few labels, settle on a second-best
//! weighting that its own picks do not contradict; `draws` or `audit` pay to find out.
//!
//! **Merges** exactly: moments add, and the samples of rows, chosen by a hash, are the same however the rows were split.
//! Beyond `sample` labelled rows, curves rest on the sample, straight lines on every label. With `forget=true` a state has a
//! clock of observed rounds; states are brought to the later clock, then added span by span.
//!
//! **In the paper:** nowhere; it uses Alg. 2's idea as one of its guesses, and folds the current round in first.
//! **Costs** O(J) an item to value and O(J^2) to observe; a fit costs O(`sample` J^2) and is renewed when items or labels
//! have grown by a tenth (with every round while there are few). Between fits values are those of the last one.
//!
//! **Options:** `sample` (labelled rows kept, 1024), `curve` (`linear`, `ranks`, `spline`), `inverted` (columns where low means
//! high), `audit` and `slots` (the probability that a round explores, and places drawn at random then), `draws` (choose by one of
//! so many posterior draws; inclusion probabilities are the exact average over them), `forget` (watch for drift).

mod drift;
mod landscape;
mod model;
mod options;
mod phases;
mod regression;
mod state;
mod tails;
mod uncertainty;

pub use self::drift::{Alarm, Reading};
use self::landscape::Landscape;
use self::model::Model;
use self::options::{Curve, Options};
use self::state::{Block, State};
pub use self::uncertainty::Interval;
use self::uncertainty::Uncertainty;
use super::{Desk, Entry, Exploration, Links, Policy, explore};
use crate::estimate::ladder::Ladder;
use crate::estimate::{Sample, Statistic};
use crate::link::Link;
use crate::pick::Example;
use crate::scores::Scores;
use rand::{Rng, RngExt};

#[derive(Debug, Clone)]
pub(crate) struct Adaptive {
    options: Options,
    inverted: Vec<bool>,
    state: State,
    empty: Box<Block>,
    model: Option<Box<Model>>,
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
const RENEWAL: u64 = 10;
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
            empty: Box::new(empty),
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
        self.weights.extend((0..width).map(|j| model.landscape.scale[j] * model.slope(j)));
        self.model = Some(Box::new(model));
    }

    fn values(&self, scores: &Scores<'_>, desk: &mut Desk) {
        if let Some(model) = &self.model {
            model.values(scores, &mut desk.values);
        } else {
            desk.values.clear();
            desk.values.resize(scores.items(), 0.0);
        }
    }

    fn exploration(&self) -> Exploration {
        Exploration { eps: self.options.audit.get(), slots: Some(self.options.slots.get() as usize) }
    }

    fn observe(&mut self, scores: &Scores<'_>) -> bool {
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
        true
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
                *sum = (*sum + p / model.members() as f64).min(1.0); // n times 1/n may round to more
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
        let blocks = match self.options.curve {
            Curve::Linear => 1,
            Curve::Ranks => 2,
            Curve::Spline => 4,
        };
        let landscape = Landscape::new(&whole.scores, &unlabelled, &self.inverted, blocks);
        Model::fit(landscape, labelled, &whole.labelled)
    }
}
