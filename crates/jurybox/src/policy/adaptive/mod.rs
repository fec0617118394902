//! `adaptive`: told nothing but the scores, close to what hindsight could do. The default.
//!
//! It regresses the reward on the scores. Picks are made by scores, so that regression, unlike the
//! paper's of scores on rewards, is not biased by the picking, and needs no exploration to be
//! right. Everything else is about being good *before* there are many labels, and on scores with
//! offsets, units, curves and shared errors of their own:
//!
//! 1. **Scales** ([`landscape`]). Scores are standardised by what was seen of them, labelled or
//!    not, the current round included, and taken a second time as normal scores (ranks on a
//!    Gaussian scale), with two bends. Any monotone change of an evaluator's units leaves the
//!    latter as they were.
//! 2. **A prior from the scores alone.** Several guesses at good weights need no label: equal
//!    weights (half of the prior), the paper's mean over variance, inverse variance, loadings on a
//!    common factor, and the same with correlated errors.
//! 3. **Evidence** ([`regression`]). Each guess, how far to stray from it, and which features to
//!    use make a model with a marginal likelihood in closed form; the answer averages over all. Few
//!    labels: the guesses. Many: least squares.
//! 4. **Levels** ([`levels`]). Where rewards are yes and no, or up to five marks, values are
//!    probabilities instead of straight lines, from logistic regressions and small trees; the prior
//!    is the same in kind. Many labels of marks tell how much of the value is better left to lines,
//!    bends and trees.
//! 5. **Missing scores** are replaced by their expectation given the present ones under the
//!    one-factor model, and their bends by theirs, which makes the value the posterior mean given
//!    what is there. Which scores are missing competes as features of its own. An evaluator that
//!    only ever says one thing, as a rule that writes 1 or nothing, says it by being there
//!    ([`silence`]).
//! 6. **Context** ([`groups`]), where columns say which group an item belongs to: weights differ by
//!    group as far as the labels say so.
//! 7. **Trees** ([`trees`]), where rewards are numbers: what depends on several scores at once is
//!    added, once labels that the trees have not seen prove it. Until then, values are sums over
//!    the scores.
//! 8. **Reviewers** ([`reviewers`]), where verdicts name them: severity is taken out and a verdict
//!    counts for what it tells, as far as the verdicts show that reviewers differ.
//!
//! Here is what it does with what it is shown. What of it is fitted, and in which order, is in
//! [`fitting`]; whether everything is still what it was, in [`watching`].
//!
//! **Assumes**, with fewer than some sixty labels, that rewards are a sum of one function per
//! evaluator's score, plus noise; that the evaluators as a whole point the right way (prior odds of
//! 49 to 1, which labels can overturn). One evaluator, useless, inverted, duplicated or constant
//! ones, rewards of any sign and scale are ordinary. Interactions between evaluators are seen in
//! the sample of labels, by up to three scores at once. Noise is taken as normal: under very heavy
//! tails of the reward single labels count for too much. Like every greedy learner it can, on few
//! labels, settle on a second-best weighting that its own picks do not contradict; `draws` or
//! `audit` pay to find out. What one evaluator scores highest and nobody has met is looked at now
//! and then ([`looks`]).
//!
//! **Merges** exactly: moments add, and the samples of rows, chosen by a hash, are the same however
//! the rows were split. Beyond `sample` labelled rows, curves rest on the sample, straight lines on
//! every label. What was seen is filed by its time, the more coarsely the older it is; states are
//! brought to the later time, then added span by span.
//!
//! **In the paper:** nowhere; it uses Alg. 2's idea as one of its guesses, and folds the current
//! round in first. **Costs** O(J) an item to value (O(J^2) and twenty trees where rewards have
//! levels, 96 to 160 small ones where numbers have shown that they depend on several scores at
//! once) and O(J^2) to observe; a fit costs O(`sample` J^2), and rounds renew it when items or
//! labels have grown by a tenth (with every round while there are few, by a fifth where there are
//! many).
//!
//! **Options:** `sample` (labelled rows kept, 1024), `curve` (`linear`, `ranks`, `spline`),
//! `levels` (whether rewards of few levels are fitted as such, which they are unless told
//! otherwise), `trees` (whether numbers may depend on several scores at once; the same), `looks`
//! (whether it looks now and then at what nobody has met; the same), `audit` and `slots` (the
//! probability that a round explores, and places drawn at random then), `draws` (choose by one of
//! so many posterior draws; inclusion probabilities are the exact average over them), `forget`
//! (whether what is older than a change is left out; alarms are raised in any case), `tick` (how
//! much time counts as one).

mod chance;
mod change;
mod contexts;
mod corrected;
mod diagnostics;
mod drift;
mod explain;
mod fitting;
mod groups;
mod kept;
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
mod silence;
mod spread;
mod state;
mod tails;
mod trees;
mod turn;
mod uncertainty;
mod watching;

use self::contexts::Contexts;
pub use self::diagnostics::Diagnostic;
pub use self::drift::{Alarm, Reading};
use self::options::{OPTIONS, Options};
use self::posterior::Posterior;
use self::settled::Settled;
use self::state::{Block, State};
use super::{Entry, Exploration, Links, Needs, Policy};
use crate::estimate::Sample;
use crate::estimate::ladder::Ladder;
use crate::estimate::pulse::Pulse;
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
    contexts: Contexts,
    /// Whether it has just been seen that no evaluator changed: with the round that was observed
    /// last.
    steady: bool,
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
/// Beyond this many evaluators a fit costs more than the few labels of one more round can change
/// it.
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

    fn create(_: &Entry, _: Link, options: Options, evaluators: usize) -> Result<Self, String> {
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
            contexts: Contexts::default(),
            steady: false,
            options,
        })
    }

    fn take_contexts(&mut self, columns: &[usize]) -> Result<(), String> {
        self.contexts = Contexts::among(self.evaluators, columns)?;
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

    /// What the statistics count, the jury has seen.
    fn is_within(&self, seen: &Seen) -> bool {
        self.state.is_within(seen)
    }

    fn observes_first(&self) -> bool {
        true
    }

    fn renewal(&self) -> Renewal {
        Renewal::Growth { eager: self.evaluators <= WIDE }
    }

    fn has_news(&self, then: &Self) -> bool {
        self.has_more_news_than(then)
    }

    fn observe(&mut self, scores: &Scores<'_>, at: u64) -> bool {
        let time = self.time(at);
        let mut buffer = Vec::new();
        let scores = &self.contexts.left_out_of(scores, &mut buffer);
        self.state.ladder.at(time, &self.empty.block).scores.observe(scores);
        self.state.pulses.at(time, &self.empty.pulse).observe(scores);
        self.state.unlabelled.offer_all(scores.values(), self.filed(time));
        self.keep_changes_now_and_then();
        true
    }

    fn settle(&mut self) {
        self.keep_changes();
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
        // A row of no group has a gap too: the fit reads it from the sample, and must not meet it
        // twice.
        let complete = self.row.iter().all(|x| !x.is_nan());
        self.contexts.blank(&mut self.row);
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

    fn fit(&self, into: &mut Posterior) {
        self.fit_present(into);
    }
}

impl Adaptive {
    /// The step of the clock that a time belongs to.
    fn time(&self, at: u64) -> u64 {
        at / self.options.tick.get()
    }

    /// The time by which a row of the samples can be left out; all are alike where nothing is.
    fn filed(&self, time: u64) -> u64 {
        if self.options.forget { time } else { 0 }
    }
}
