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
//! 4. **Levels** ([`levels`]), where asked for. Where rewards are yes and no, or up to five marks, values are probabilities
//!    instead of straight lines, from logistic regressions and small trees; the prior is the same in kind.
//! 5. **Missing scores** are replaced by their expectation given the present ones under the one-factor model, which makes
//!    the value the posterior mean given what is there.
//! 6. **Context** ([`groups`]), where columns say which group an item belongs to: weights differ by group as far as the labels say so.
//! 7. **Reviewers** ([`reviewers`]), where verdicts name them: severity is taken out and a verdict counts for what it tells, as far as
//!    the verdicts show that reviewers differ.
//!
//! **Assumes** that rewards are a sum of one function per evaluator's score, plus noise; that the evaluators as a whole
//! point the right way (prior odds of 49 to 1, which labels can overturn). One evaluator, useless, inverted, duplicated or
//! constant ones, rewards of any sign and scale are ordinary. It sees interactions between evaluators only in levels, and
//! scores missing *because* of what they would have been mislead it. Noise is taken as normal: under very heavy tails of
//! the reward single labels count for too much. Like every greedy learner it can, on few labels, settle on a second-best
//! weighting that its own picks do not contradict; `draws` or `audit` pay to find out.
//!
//! **Merges** exactly: moments add, and the samples of rows, chosen by a hash, are the same however the rows were split.
//! Beyond `sample` labelled rows, curves rest on the sample, straight lines on every label. With `forget=true` what was seen is
//! filed by its time; states are brought to the later time, then added span by span.
//!
//! **In the paper:** nowhere; it uses Alg. 2's idea as one of its guesses, and folds the current round in first.
//! **Costs** O(J) an item to value (O(J^2) and twenty trees where rewards have levels) and O(J^2) to observe; a fit costs O(`sample` J^2), and rounds renew it when items or labels
//! have grown by a tenth (with every round while there are few, by a fifth where there are many).
//!
//! **Options:** `sample` (labelled rows kept, 1024), `curve` (`linear`, `ranks`, `spline`), `levels` (whether rewards of few
//! levels are fitted as such), `audit` and `slots` (the probability
//! that a round explores, and places drawn at random then), `draws` (choose by one of so many posterior draws; inclusion
//! probabilities are the exact average over them), `forget` (watch for drift), `tick` (how much time is one step).

mod doubts;
mod drift;
mod explain;
mod groups;
mod landscape;
mod least_squares;
mod levels;
mod model;
mod options;
mod phases;
mod posterior;
mod regression;
mod reviewers;
mod spread;
mod state;
mod tails;
mod uncertainty;

pub use self::doubts::Doubt;
pub use self::drift::{Alarm, Reading};
use self::groups::Groups;
use self::landscape::Landscape;
use self::levels::Levels;
use self::model::Model;
use self::options::{Curve, OPTIONS, Options};
use self::posterior::Posterior;
use self::reviewers::{Corrected, Reviewers};
use self::spread::Spread;
use self::state::{Block, State};
use super::{Entry, Exploration, Links, Needs, Policy};
use crate::estimate::ladder::Ladder;
use crate::estimate::{Joint, Sample, Statistic};
use crate::link::Link;
use crate::pick::Example;
use crate::reviewer::Reviewer;
use crate::schedule::Renewal;
use crate::scores::Scores;
use crate::seen::Seen;

#[derive(Debug, Clone)]
pub(crate) struct Adaptive {
    options: Options,
    evaluators: usize,
    state: State,
    empty: Box<Block>,
    row: Vec<f64>,
    /// Columns that are no scores, but say which group an item belongs to.
    contexts: Vec<usize>,
}

/// From so many examples on, the sample is shown all of them at once.
const MANY: usize = 256;
/// Where reviewers differ, the fit is corrected and they are compared anew so many times.
const REVIEWED: usize = 2;
/// Beyond this many evaluators a fit costs more than the few labels of one more round can change it.
const WIDE: usize = 32;

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
        needs: Needs::Nothing,
        assumes: "nothing but that scores carry some signal: learns scales, curves, noise and weights; the default",
        paper: "past the paper",
        options: OPTIONS,
    }];
    type Options = Options;
    type State = State;
    type Rank = Posterior;

    fn seat(_: &Entry, _: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        let sample = within("sample", options.sample.get(), 1 << 20)?;
        within("draws", options.draws, 1024)?;
        let empty = Block::new(evaluators);
        Ok(Adaptive {
            evaluators,
            state: State {
                ladder: Ladder::new(options.forget, empty.clone()),
                unlabelled: Sample::new(evaluators, (sample / 2).max(2)),
                labelled: Sample::new(evaluators + 1, sample),
            },
            empty: Box::new(empty),
            row: Vec::new(),
            contexts: Vec::new(),
            options,
        })
    }

    fn take_contexts(&mut self, columns: &[usize]) -> Result<(), String> {
        if columns.len() == self.evaluators {
            return Err("there is no evaluator beside the contexts".into());
        }
        self.contexts = columns.to_vec();
        Ok(())
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// The samples count the rows they were shown, each of which the jury has seen.
    fn is_within(&self, seen: &Seen) -> bool {
        self.state.unlabelled.counted() <= seen.items && self.state.labelled.counted() <= seen.used
    }

    fn observes_first(&self) -> bool {
        true
    }

    fn renewal(&self) -> Renewal {
        Renewal::Growth { eager: self.evaluators <= WIDE }
    }

    /// A change that was not known then. It is looked for whenever a span of time has passed.
    fn has_news(&self, then: &Self) -> bool {
        let known = |state: &State| {
            let (first, _) = drift::search(&state.ladder, self.evaluators);
            state.ladder.rungs()[first].start
        };
        let begins = |ladder: &Ladder<Block>| {
            ladder.rungs().last().is_some_and(|open| open.value.pulse.rounds() <= 1.0)
        };
        self.options.forget && begins(&self.state.ladder) && known(&self.state) > known(&then.state)
    }

    fn observe(&mut self, scores: &Scores<'_>, at: u64) -> bool {
        let time = self.time(at);
        let mut buffer = Vec::new();
        let scores = &self.without_groups(scores, &mut buffer);
        let block = self.state.ladder.at(time, &self.empty);
        block.scores.observe(scores);
        if self.options.forget {
            block.pulse.observe(scores);
        }
        self.state.unlabelled.offer_all(scores.values(), time);
        true
    }

    fn learns_from_scores(&self) -> bool {
        true
    }

    fn learn(&mut self, example: &Example<'_>, at: u64) -> bool {
        self.learn_by(example, None, at)
    }

    fn learn_by(&mut self, example: &Example<'_>, reviewer: Option<Reviewer>, at: u64) -> bool {
        let time = self.time(at);
        self.row.clear();
        self.row.extend_from_slice(example.scores);
        self.row.push(example.reward);
        match reviewer {
            Some(reviewer) => self.state.labelled.offer_tagged(&mut self.row, reviewer.code(), time),
            None => self.state.labelled.offer(&self.row, time),
        }
        let block = self.state.ladder.at(time, &self.empty);
        self.contexts.iter().for_each(|&column| self.row[column] = 0.0);
        if self.row.iter().all(|x| !x.is_nan()) {
            block.labelled.add(&self.row, 1.0);
        }
        true
    }

    /// The sample takes many rows at once for less than one by one.
    fn learn_all(&mut self, examples: &[Example<'_>], at: u64) -> (u64, u64) {
        let width = self.evaluators + 1;
        let mut rows = Vec::new();
        if examples.len() >= MANY && self.contexts.is_empty() {
            rows.reserve_exact(examples.len() * width);
            for example in examples {
                rows.extend_from_slice(example.scores);
                rows.push(example.reward);
            }
        } else {
            for example in examples {
                self.learn(example, at);
            }
        }
        let time = self.time(at);
        self.state.labelled.offer_all(&rows, time);
        let block = self.state.ladder.at(time, &self.empty);
        for row in rows.chunks_exact(width).filter(|row| row.iter().all(|x| !x.is_nan())) {
            block.labelled.add(row, 1.0);
        }
        (examples.len() as u64, 0)
    }

    fn buffer(&self) -> Posterior {
        Posterior::new(Exploration {
            eps: self.options.audit.get(),
            slots: Some(self.options.slots.get() as usize),
        })
    }

    /// Fits what the present still resembles.
    fn fit(&self, into: &mut Posterior) {
        let ladder = &self.state.ladder;
        let (first, mut alarms) = drift::search(ladder, self.evaluators);
        alarms.iter_mut().for_each(|alarm| alarm.since = alarm.since.saturating_mul(self.options.tick.get()));
        let since = if first == 0 { 0 } else { ladder.rungs()[first].start };
        let mut whole = Block::new(self.evaluators);
        for rung in &ladder.rungs()[first..] {
            whole.merge(&rung.value);
        }
        let unlabelled = self.state.unlabelled.rows().filter(|row| row.clock >= since);
        let labelled = self.state.labelled.rows().filter(|row| row.clock >= since);
        let blocks = match self.options.curve {
            Curve::Linear => 1,
            Curve::Ranks => 2,
            Curve::Spline => 4,
        };
        let landscape = Landscape::new(&whole.scores, &unlabelled, blocks);
        let mut model = Model::fit(landscape, labelled.clone(), &whole.labelled);
        model.spread = Spread::of(&model, labelled.clone());
        let mut reviewers = Reviewers::of(&model, labelled.clone());
        let mut corrected = None;
        if reviewers.differ {
            for _ in 0..REVIEWED {
                let rows: &Corrected = corrected.insert(reviewers.corrected(labelled.clone()));
                // Moments of every label cannot be corrected after the fact: all of the fit rests on the sample.
                model = Model::fit(model.landscape, rows.rows(), &Joint::new(self.evaluators + 1));
                model.spread = Spread::of(&model, rows.rows());
                reviewers = Reviewers::of(&model, labelled.clone());
            }
        }
        if self.options.draws > 0 {
            model.draw(self.options.draws as usize);
        } else if self.options.levels && self.options.curve == Curve::Spline {
            model.levels = match &corrected {
                Some(rows) => levels::levels_of(&labelled, self.evaluators).and_then(|levels| {
                    let rows = rows.on_levels(&levels);
                    Levels::fit(&model.landscape, rows.rows(), unlabelled, model.labels)
                }),
                None => Levels::fit(&model.landscape, labelled.clone(), unlabelled, model.labels),
            };
        }
        model.groups = match &corrected {
            Some(rows) => Groups::of(&model, &self.contexts, rows.rows()),
            None => Groups::of(&model, &self.contexts, labelled.clone()),
        };
        let doubts = doubts::of(&model, labelled);
        model.reviewers = reviewers;
        into.set(model, alarms, doubts);
    }
}

impl Adaptive {
    /// The scores, and nothing of the groups: their columns never vary, as those of evaluators that say nothing.
    fn without_groups<'a>(&self, scores: &Scores<'a>, buffer: &'a mut Vec<f64>) -> Scores<'a> {
        if self.contexts.is_empty() {
            return *scores;
        }
        *buffer = scores.values().to_vec();
        for row in buffer.chunks_exact_mut(self.evaluators) {
            self.contexts.iter().for_each(|&column| row[column] = 0.0);
        }
        let complete = buffer.iter().all(|score| !score.is_nan());
        Scores::trusted(buffer, self.evaluators, complete)
    }

    /// The step of the clock that a time belongs to; the clock stands still where time is not kept.
    fn time(&self, at: u64) -> u64 {
        if self.options.forget { at / self.options.tick.get() } else { 0 }
    }
}
