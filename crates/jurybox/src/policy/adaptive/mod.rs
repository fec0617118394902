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
//! 4. **Levels** ([`levels`]). Where rewards are yes and no, or up to five marks, values are probabilities
//!    instead of straight lines, from logistic regressions and small trees; the prior is the same in kind. Many labels of marks tell how much of the value is
//!    better left to lines, bends and trees.
//! 5. **Missing scores** are replaced by their expectation given the present ones under the one-factor model, and their bends by
//!    theirs, which makes the value the posterior mean given what is there. Which scores are missing competes as features of its own.
//! 6. **Context** ([`groups`]), where columns say which group an item belongs to: weights differ by group as far as the labels say so.
//! 7. **Trees** ([`trees`]), where rewards are numbers: what depends on several scores at once is added, once labels that the trees have not
//!    seen prove it. Until then, values are sums over the scores.
//! 8. **Reviewers** ([`reviewers`]), where verdicts name them: severity is taken out and a verdict counts for what it tells, as far as
//!    the verdicts show that reviewers differ.
//!
//! **Assumes**, with fewer than some sixty labels, that rewards are a sum of one function per evaluator's score, plus noise; that the evaluators as a whole
//! point the right way (prior odds of 49 to 1, which labels can overturn). One evaluator, useless, inverted, duplicated or
//! constant ones, rewards of any sign and scale are ordinary. Interactions between evaluators are seen in the sample of labels,
//! by up to three scores at once. Noise is taken as normal: under very heavy tails of
//! the reward single labels count for too much. Like every greedy learner it can, on few labels, settle on a second-best
//! weighting that its own picks do not contradict; `draws` or `audit` pay to find out. What one evaluator scores highest and nobody has
//! met is looked at now and then ([`looks`]).
//!
//! **Merges** exactly: moments add, and the samples of rows, chosen by a hash, are the same however the rows were split.
//! Beyond `sample` labelled rows, curves rest on the sample, straight lines on every label. What was seen is filed by its time, the
//! more coarsely the older it is; states are brought to the later time, then added span by span.
//!
//! **In the paper:** nowhere; it uses Alg. 2's idea as one of its guesses, and folds the current round in first.
//! **Costs** O(J) an item to value (O(J^2) and twenty trees where rewards have levels, 96 to 160 small ones where numbers have shown that they depend on several scores at once) and O(J^2) to observe; a fit costs O(`sample` J^2), and rounds renew it when items or labels
//! have grown by a tenth (with every round while there are few, by a fifth where there are many).
//!
//! **Options:** `sample` (labelled rows kept, 1024), `curve` (`linear`, `ranks`, `spline`), `levels` (whether rewards of few
//! levels are fitted as such, which they are unless told otherwise), `trees` (whether numbers may depend on several scores at once; the same), `looks` (whether
//! it looks now and then at what nobody has met; the same), `audit` and `slots` (the probability
//! that a round explores, and places drawn at random then), `draws` (choose by one of so many posterior draws; inclusion
//! probabilities are the exact average over them), `forget` (whether what is older than a change is left out; alarms are raised in any
//! case), `tick` (how much time counts as one).

mod change;
mod doubts;
mod drift;
mod explain;
mod groups;
mod landscape;
mod least_squares;
mod levels;
mod looks;
mod model;
mod near;
mod options;
mod own;
mod phases;
mod posterior;
mod regression;
mod reviewers;
mod rewards;
mod settled;
mod spread;
mod state;
mod tails;
mod trees;
mod turn;
mod uncertainty;

pub use self::doubts::Doubt;
use self::drift::Changed;
pub use self::drift::{Alarm, Reading};
use self::groups::Groups;
use self::landscape::Landscape;
use self::looks::Looks;
use self::model::Model;
use self::options::{Curve, OPTIONS, Options};
use self::own::Own;
use self::posterior::Posterior;
use self::reviewers::{Corrected, Reviewers};
use self::rewards::Label;
use self::settled::Settled;
use self::spread::Spread;
use self::state::{Block, State};
use self::turn::Turn;
use super::{Entry, Exploration, Links, Needs, Policy};
use crate::estimate::ladder::Ladder;
use crate::estimate::pulse::Pulse;
use crate::estimate::{Joint, Sample, SampledRow, Statistic};
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
    empty: Box<Empty>,
    row: Vec<f64>,
    /// Columns that are no scores, but say which group an item belongs to.
    contexts: Vec<usize>,
}

/// Nothing seen yet.
#[derive(Debug, Clone)]
struct Empty {
    block: Block,
    pulse: Pulse,
    rows: Sample,
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
        let empty = Empty {
            block: Block::new(evaluators),
            pulse: Pulse::new(evaluators),
            rows: Sample::new(evaluators + 1, rewards::ROWS),
        };
        Ok(Adaptive {
            evaluators,
            state: State {
                ladder: Ladder::new(options.forget),
                pulses: Ladder::new(true),
                traces: Ladder::new(true),
                turn: None,
                settled: Settled::default(),
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

    fn takes_contexts(&self) -> bool {
        true
    }

    fn tells_reviewers_apart(&self) -> bool {
        true
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

    /// A change that was not known then, or of which more is known now. It is looked for after every so many rounds.
    fn has_news(&self, then: &Self) -> bool {
        if !self.options.forget || drift::rounds(&self.state.pulses) % LOOK != 0.0 {
            return false;
        }
        let turned = |of: &Self| Turn::time(of.state.turn.as_ref());
        let changed = self.changes_of_scores().last().map_or(self.state.settled.since(), |last| last.since);
        let since = changed.max(turned(self));
        let after = |of: &Self| drift::rounds_between(&of.state.pulses, since, u64::MAX);
        turned(self) > turned(then) || since > 0 && after(self) > GROWN * after(then)
    }

    fn observe(&mut self, scores: &Scores<'_>, at: u64) -> bool {
        let time = self.time(at);
        let mut buffer = Vec::new();
        let scores = &self.without_groups(scores, &mut buffer);
        self.state.ladder.at(time, &self.empty.block).scores.observe(scores);
        self.state.pulses.at(time, &self.empty.pulse).observe(scores);
        self.state.unlabelled.offer_all(scores.values(), self.filed(time));
        if drift::rounds(&self.state.pulses) % LOOK_TO_KEEP == 0.0 {
            self.settle();
        }
        true
    }

    fn settle(&mut self) {
        let found = self.changes_of_scores();
        self.state.settled.keep(&found, &self.state.pulses);
        let changed = found.last().map_or(self.state.settled.since(), |last| last.since);
        let found = Turn::of(self.glance_at_rewards(changed));
        self.state.turn = Turn::later(self.state.turn.take(), found);
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
        let filed = self.filed(time);
        let code = reviewer.map(Reviewer::code);
        match code {
            Some(code) => self.state.labelled.offer_tagged(&mut self.row, code, filed),
            None => self.state.labelled.offer(&self.row, filed),
        }
        self.state.traces.at(time, &self.empty.rows).offer_of_its_time(&mut self.row, code, time);
        // A row of no group has a gap too: the fit reads it from the sample, and must not meet it twice.
        let complete = self.row.iter().all(|x| !x.is_nan());
        self.contexts.iter().for_each(|&column| self.row[column] = 0.0);
        let block = self.state.ladder.at(time, &self.empty.block);
        if complete {
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
        if rows.is_empty() {
            return (examples.len() as u64, 0);
        }
        self.state.labelled.offer_all(&rows, self.filed(time));
        let traces = self.state.traces.at(time, &self.empty.rows);
        for row in rows.chunks_exact(width) {
            self.row.clear();
            self.row.extend_from_slice(row);
            traces.offer_of_its_time(&mut self.row, None, time);
        }
        let block = self.state.ladder.at(time, &self.empty.block);
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
        let (changed, mut alarms) = self.state.settled.with(&self.changes_of_scores());
        let turned = Turn::time(self.state.turn.as_ref());
        alarms.extend(self.state.turn.iter().flat_map(Turn::alarms).cloned());
        let (since, mut labels_since) =
            if self.options.forget { (changed, changed.max(turned)) } else { (0, 0) };
        let mut model = self.model(since, labels_since);
        let of_rewards = self.watch_rewards(&model, changed.max(turned));
        let found = of_rewards.last().map_or(0, |last| last.since);
        alarms.extend(of_rewards.into_iter().flat_map(|change| change.alarms));
        if self.options.forget && found > labels_since {
            labels_since = found;
            model = self.model(since, labels_since);
        }
        let tick = self.options.tick.get();
        for alarm in &mut alarms {
            (alarm.since, alarm.until) = (alarm.since.saturating_mul(tick), alarm.until.saturating_mul(tick));
        }
        let doubts = doubts::of(&model, self.labelled(labels_since));
        let looks = if self.options.looks {
            Looks::of(&model.landscape, &self.labelled(labels_since), model.labels)
        } else {
            Looks::default()
        };
        into.set(model, alarms, doubts, looks);
    }
}

/// Rounds between two looks for news, and for what is kept.
const LOOK: f64 = 8.0;
const LOOK_TO_KEEP: f64 = 16.0;
/// What came after a change is fitted again when it has grown by a tenth: how much came before does not count.
const GROWN: f64 = 1.1;

impl Adaptive {
    /// The step of the clock that a time belongs to.
    fn time(&self, at: u64) -> u64 {
        at / self.options.tick.get()
    }

    /// The time by which a row of the samples can be left out; all are alike where nothing is.
    fn filed(&self, time: u64) -> u64 {
        if self.options.forget { time } else { 0 }
    }

    /// Labelled rows of the sample, from a time on.
    fn labelled(&self, since: u64) -> impl Iterator<Item = SampledRow<'_>> + Clone {
        self.state.labelled.rows().filter(move |row| row.clock >= since)
    }

    /// The model of the scores seen from a time on, and of the labels from one that is no earlier.
    fn model(&self, scores_since: u64, labels_since: u64) -> Model {
        let mut whole = Block::new(self.evaluators);
        for rung in self.state.ladder.rungs() {
            if rung.first >= scores_since {
                whole.scores.merge(&rung.value.scores);
            }
            if rung.first >= labels_since {
                whole.labelled.merge(&rung.value.labelled);
            }
        }
        let unlabelled = self.state.unlabelled.rows().filter(|row| row.clock >= scores_since);
        let blocks = match self.options.curve {
            Curve::Linear => 1,
            Curve::Ranks => 2,
            Curve::Spline => 4,
        };
        let landscape = Landscape::new(&whole.scores, &unlabelled, blocks);
        // Far from all that was seen (a verdict may come before its item's round is whole) a row says nothing, and its squares would say all.
        let far = |row: &SampledRow<'_>| landscape.is_far(&row.values[..self.evaluators]);
        let seen = self.labelled(labels_since).any(|row| far(&row)).then(|| landscape.clone());
        let near = |row: &SampledRow<'_>| {
            seen.as_ref().is_none_or(|seen| !seen.is_far(&row.values[..self.evaluators]))
        };
        let labelled = self.labelled(labels_since).filter(near);
        if seen.is_some() {
            whole.labelled = Joint::new(self.evaluators + 1);
        }
        let mut model = Model::fit(landscape, labelled.clone(), &whole.labelled);
        model.spread = Spread::of(&model, labelled.clone());
        // What a group explains is no severity of who judges it.
        model.groups = Groups::of(&model, &self.contexts, labelled.clone());
        let mut reviewers = Reviewers::of(&model, labelled.clone());
        let mut corrected = None;
        if reviewers.differ {
            for _ in 0..REVIEWED {
                let rows: &Corrected = corrected.insert(reviewers.corrected(labelled.clone()));
                // Moments of every label cannot be corrected after the fact: all of the fit rests on the sample.
                model = Model::fit(model.landscape, rows.rows(), &Joint::new(self.evaluators + 1));
                model.spread = Spread::of(&model, rows.rows());
                model.groups = Groups::of(&model, &self.contexts, rows.rows());
                reviewers = Reviewers::of(&model, labelled.clone());
            }
        }
        model.reviewers = reviewers;
        let on_levels = corrected.as_ref().and_then(|rows| {
            let levels =
                levels::levels_of(labelled.clone().map(|row| (row.values[self.evaluators], row.weight)));
            levels.map(|levels| rows.on_levels(&levels))
        });
        if let Some(rows) = &on_levels {
            // Rewards that are to come are levels, which corrected ones lie between.
            model.spread = Spread::of(&model, rows.rows());
        }
        let mut rewards = labelled.clone().map(|row| row.values[self.evaluators]);
        let first = rewards.next();
        model.alike = rewards.all(|reward| Some(reward) == first);
        if self.options.draws > 0 {
            model.draw(self.options.draws as usize);
        } else if self.options.levels && self.options.curve == Curve::Spline {
            match (&corrected, &on_levels) {
                (None, _) => model.fit_levels(labelled.clone(), unlabelled),
                (_, Some(rows)) => model.fit_levels(rows.rows(), unlabelled),
                (Some(_), None) => {}
            }
        }
        if self.options.trees && self.options.draws == 0 && self.options.curve == Curve::Spline {
            match (&on_levels, &corrected) {
                (Some(rows), _) | (None, Some(rows)) => model.fit_trees(rows.rows()),
                (None, None) => model.fit_trees(labelled.clone()),
            }
        }
        model.groups = match (&on_levels, &corrected) {
            (Some(rows), _) | (None, Some(rows)) => Groups::of(&model, &self.contexts, rows.rows()),
            (None, None) => Groups::of(&model, &self.contexts, labelled),
        };
        model
    }

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

    /// What changed after what is settled.
    fn changes_of_scores(&self) -> Vec<Changed> {
        drift::of_scores(&self.state.pulses, self.evaluators, self.state.settled.since())
    }

    /// Whether rewards mean what they meant, by a model of what was seen from a time on.
    fn watch_rewards(&self, model: &Model, since: u64) -> Vec<Changed> {
        let rows = self.traced(since);
        let table: Vec<f64> = rows.iter().flat_map(|row| &row.values[..self.evaluators]).copied().collect();
        let complete = !table.iter().any(|x| x.is_nan());
        let (mut buffer, mut values) = (Vec::new(), Vec::new());
        let scores = Scores::trusted(&table, self.evaluators, complete);
        model.shared_values(&self.without_groups(&scores, &mut buffer), &mut values);
        let looks = drift::rounds(&self.state.pulses) + model.labels;
        rewards::of_rewards(Label::all(&rows, values), &self.own(&rows), looks)
    }

    /// The same as far as can be told without a fit, after the last change that is known, which may be one of scores.
    fn glance_at_rewards(&self, changed: u64) -> Vec<Changed> {
        let since = changed.max(Turn::time(self.state.turn.as_ref()));
        let mut joint = Joint::new(self.evaluators + 1);
        let rungs = self.state.ladder.rungs().iter().filter(|rung| rung.first >= self.filed(since));
        rungs.for_each(|rung| joint.merge(&rung.value.labelled));
        let Some(value) = rewards::roughly(&joint) else { return Vec::new() };
        let rows = self.traced(since);
        let labels = Label::all(&rows, rows.iter().map(|row| value(&row.values[..self.evaluators])));
        let looks = drift::rounds(&self.state.pulses) + joint.weight();
        rewards::of_rewards(labels, &self.own(&rows), looks)
    }

    /// Whose rows these are: of which group by each context, and of which reviewer.
    fn own(&self, rows: &[SampledRow<'_>]) -> Own {
        let by_context =
            self.contexts.iter().map(|&column| rows.iter().map(|row| row.values[column].to_bits()).collect());
        let by_reviewer = rows.iter().map(|row| row.tag.unwrap_or(u64::MAX)).collect();
        Own::new(by_context.chain([by_reviewer]))
    }

    /// Labelled rows of each span of time, from a time on.
    fn traced(&self, since: u64) -> Vec<SampledRow<'_>> {
        let rows = self.state.traces.rungs().iter().flat_map(|rung| rung.value.rows());
        rows.filter(|row| row.clock >= since).collect()
    }
}
