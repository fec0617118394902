//! Rewards of few levels: yes and no, or marks.
//!
//! A straight line is a poor guess at a probability, and with few labels, all from the top, a
//! dangerous one. Where rewards have at most five distinct values, each cut between two
//! neighbouring levels is a question of its own: is this item's reward above it? Its probability is
//! read off
//!
//! 1. a logistic regression on the standardised scores ([`logistic`]), and one on the normal
//!    scores: they work from the first label on, and labels that are all 0 move them too;
//! 2. extremely randomised trees ([`forest`]) for what no line sees, with a weight that grows with
//!    the number of labels that give the rarer answer.
//!
//! The log-odds are averaged, and the value is the expected reward: the lowest level, plus each gap
//! between levels times the probability to be above it. Where even many labels agree better with a
//! jury that points the wrong way, it is turned round.

mod climb;
mod edge;
mod explain;
mod forest;
mod grow;
mod lens;
mod logistic;
mod open;
mod table;

use self::edge::LateOutcomes;
use self::forest::{Forest, MOST_QUESTIONS, MOST_ROWS, Shares, Stand};
use self::lens::{MOST_EVALUATORS, Places, Seen};
use self::logistic::{Logistic, logistic};
use self::table::Table;
use super::kept::Kept;
use super::landscape::Landscape;
use super::model::Model;
use super::spread::Spread;
use crate::estimate::SampledRow;
use crate::scores::Scores;
use crate::toolbox::{Interval, hash_number};
use std::collections::HashMap;
use std::sync::Arc;

/// The most distinct rewards that are levels.
pub(super) const MOST_LEVELS: usize = MOST_QUESTIONS + 1;
/// Rewards are levels when there are so many of each, on average: the first few numbers are
/// distinct too.
const OF_EACH: f64 = 2.0;
/// So many items are valued together.
const BLOCK: usize = 64;
/// The prior probability that the jury as a whole points the wrong way.
const REVERSED: f64 = 0.1;
/// The weight of the trees beside one line: at most `TREES`, half of that at so many labels that
/// give the rarer answer.
const TREES: f64 = 2.0;
const HALF_TREES: f64 = 10.0;

#[derive(Debug, Clone)]
pub(crate) struct Levels {
    lowest: f64,
    questions: Vec<Question>,
    forest: Forest,
    /// How much of the value is from here, where only a sample of the labels is known row by row.
    share: f64,
    /// What became of the labelled rows.
    outcomes: LateOutcomes,
}

/// Is an item's reward above a level?
#[derive(Debug, Clone)]
struct Question {
    /// What a yes adds to the reward.
    gap: f64,
    plain: Logistic,
    ranked: Logistic,
    /// The weight of the trees beside one line.
    trees: f64,
    /// Whether the lines lean on the opposite of the direction.
    turned: bool,
}

impl Levels {
    /// Fits labelled rows (scores, then the reward) whose rewards are levels, beside the model of
    /// lines and bends.
    pub(crate) fn fit<'a>(
        model: &Model,
        kept: &Arc<Kept>,
        unlabelled: impl Iterator<Item = SampledRow<'a>>,
    ) -> Option<Self> {
        let landscape = &model.landscape;
        let width = landscape.width();
        if width > MOST_EVALUATORS {
            return None;
        }
        let labelled = kept.rows();
        let levels = levels_of(labelled.clone().map(|row| (row.values[width], row.weight)))?;
        let order = lens::order(landscape);
        let mut direction = landscape.equal();
        direction.resize(order - 1, 0.0);
        let (mut plain, mut ranked) = (Table::new(order), Table::new(order));
        let places = Places::labelled(landscape, labelled.clone());
        let mut looked_at = Vec::with_capacity(places.each().len());
        let keys = labels(landscape, labelled.clone());
        for (row, seen) in labelled.zip(places.each()) {
            plain.add(seen.plain, row.weight);
            ranked.add(seen.ranked, row.weight);
            let passed = levels.iter().filter(|&&level| row.values[width] > level).count();
            looked_at.push((seen.plain, row.weight, passed));
        }
        let ordinary = Places::labelled(landscape, unlabelled);
        let ordinary: Vec<&[f64]> = ordinary.each().map(|seen| seen.plain).collect();
        // Nothing but zeros: a yes has not been met, and would be worth more.
        let gaps: Vec<f64> = if levels.len() == 1 {
            vec![1.0]
        } else {
            levels.windows(2).map(|pair| pair[1] - pair[0]).collect()
        };
        let questions = gaps.iter().enumerate().map(|(at, &gap)| {
            let yes: Vec<bool> = looked_at.iter().map(|row| row.2 > at).collect();
            Question::fit(gap, &plain, &ranked, &yes, &direction)
        });
        let stand = Stand::new(&looked_at, &ordinary, width).drawn_by(keys);
        Some(Levels {
            lowest: levels[0],
            questions: questions.collect(),
            forest: Forest::grow(&stand, gaps.len()),
            share: (plain.counts().sum::<f64>() / model.labels).min(1.0),
            outcomes: LateOutcomes::of(kept, None),
        })
    }

    /// Whether the value is all from here, and not from straight lines and bends.
    pub(crate) fn is_all(&self) -> bool {
        self.share == 1.0
    }

    /// Whether so many labels of marks, which are more than yes and no, can tell how much of the
    /// value is to be from here: on average each is new to half of the trees or more.
    pub(super) fn may_be_weighed(&self, labels: usize) -> bool {
        self.questions.len() > 1 && labels >= 2 * MOST_ROWS
    }

    /// Leaves a share of the value to straight lines and bends.
    pub(super) fn weigh(&mut self, share: f64) {
        self.share *= share;
    }

    /// The values of the labelled rows that these levels were fitted to, by trees that have not
    /// seen them.
    pub(super) fn unseen_values<'a>(
        &self,
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
    ) -> Vec<f64> {
        let places = Places::labelled(landscape, labelled.clone());
        let rows = places.each().len();
        let value = |(key, seen): (u64, Seen<'_>)| {
            let shares = self.forest.unseen_shares(seen.plain, key, rows);
            self.questions.iter().zip(shares).fold(self.lowest, |value, (question, share)| {
                value + question.gap * logistic(question.log_odds(seen, share))
            })
        };
        labels(landscape, labelled).into_iter().zip(places.each()).map(value).collect()
    }

    /// Whether most of the reward goes by questions for which the jury was turned round.
    pub(crate) fn is_turned(&self) -> bool {
        let gaps = |turned: bool| -> f64 {
            self.questions.iter().filter(|question| question.turned == turned).map(|of| of.gap).sum()
        };
        gaps(true) > gaps(false)
    }

    /// Makes the expected reward of each item of its value by straight lines and bends, which does
    /// not matter where [`is_all`](Self::is_all).
    pub(crate) fn values(&self, landscape: &Landscape, scores: &Scores<'_>, values: &mut [f64]) {
        let width = scores.evaluators();
        let mut places = Places::of(landscape, &[]);
        for (values, rows) in values.chunks_mut(BLOCK).zip(scores.values().chunks(BLOCK * width)) {
            places.fill(landscape, rows);
            for (value, seen) in values.iter_mut().zip(places.each()) {
                *value = self.joined(self.value(seen), *value);
            }
        }
    }

    /// A value, by levels and by lines. These go on beyond the levels, where no reward is.
    pub(super) fn joined(&self, by_levels: f64, by_lines: f64) -> f64 {
        self.share * by_levels + (1.0 - self.share) * self.within(by_lines)
    }

    /// An expected reward is between the lowest level and the highest.
    pub(super) fn within(&self, expected: f64) -> f64 {
        let highest = self.questions.iter().fold(self.lowest, |level, question| level + question.gap);
        expected.clamp(self.lowest, highest)
    }

    fn value(&self, seen: Seen<'_>) -> f64 {
        let sum = |value, (p, question): (f64, &Question)| value + question.gap * p;
        self.above(seen).zip(&self.questions).fold(self.lowest, sum)
    }

    /// The probability that an item's reward is above each level.
    fn above(&self, seen: Seen<'_>) -> impl Iterator<Item = f64> {
        let shares = self.forest.shares(seen.plain);
        let answer = move |(question, share): (&Question, f64)| logistic(question.log_odds(seen, share));
        self.questions.iter().zip(shares).map(answer)
    }

    /// The same, and nothing where there are fewer questions.
    fn shares_above(&self, seen: Seen<'_>) -> Shares {
        let mut above = Shares::default();
        above.iter_mut().zip(self.above(seen)).for_each(|(own, p)| *own = p);
        above
    }

    /// Has intervals go by what became of labelled rows (scores, then the reward) by their values,
    /// of which levels are a part.
    pub(super) fn look_back_by(&mut self, labelled: &Arc<Kept>, values: Vec<f64>) {
        self.outcomes = LateOutcomes::of(labelled, Some(values));
    }

    /// The value of an item, given that by lines.
    pub(super) fn mean(&self, landscape: &Landscape, row: &[f64], by_lines: f64) -> f64 {
        let places = Places::of(landscape, row);
        let by_model = places.each().next().map_or_else(Shares::default, |seen| self.shares_above(seen));
        self.joined(self.expectation(&by_model), by_lines)
    }

    /// The reward that probabilities to be above each level lead to expect.
    fn expectation(&self, above: &Shares) -> f64 {
        self.questions.iter().zip(above).fold(self.lowest, |value, (question, p)| value + question.gap * p)
    }

    /// Where the reward of an item will lie: from one level to another, and no further in than its
    /// expectation.
    pub(crate) fn predict(
        &self,
        landscape: &Landscape,
        row: &[f64],
        by_lines: &Interval,
        level: f64,
        spread: &Spread,
    ) -> Interval {
        let outcomes = self.outcomes.known(self, landscape);
        let places = Places::of(landscape, row);
        let mut by_model = places.each().next().map_or_else(Shares::default, |seen| self.shares_above(seen));
        let mut expected = self.expectation(&by_model);
        let mean = self.joined(expected, by_lines.mean);
        if outcomes.are_by_values() {
            // Levels say how rewards lie about a value that they are a part of, not how high it is.
            (by_model, expected) = (edge::moved(&by_model, mean, |above| self.expectation(above)), mean);
        }
        let above = outcomes.joined(expected, by_model);
        let (from, to) = edge::fewest(&above[..self.questions.len()], level);
        let at = |level: usize| self.questions[..level].iter().fold(self.lowest, |at, of| at + of.gap);
        let (mut low, mut high) = (at(from).min(mean), at(to).max(mean));
        if outcomes.is_beyond(expected) {
            low = spread.on_scale(by_lines.low).map_or(low, |end| low.min(end));
            high = spread.on_scale(by_lines.high).map_or(high, |end| high.max(end));
        }
        Interval { mean, low, high }
    }
}

/// What each label is drawn by: its scores, and how many with the same scores came before it, so
/// that one more label leaves the others where they are. The two halves of one that was shared out
/// between levels stand side by side.
fn labels<'a>(landscape: &Landscape, rows: impl Iterator<Item = SampledRow<'a>>) -> Vec<u64> {
    let width = landscape.width();
    let (mut met, mut key, mut before) = (HashMap::<u64, u64>::new(), 0, None::<&[f64]>);
    let of_row = |row: SampledRow<'a>| {
        let scores = &row.values[..width];
        let same = |before: &[f64]| before.iter().zip(scores).all(|(a, b)| a.to_bits() == b.to_bits());
        if !before.is_some_and(same) {
            let own = landscape.key(scores);
            let earlier = met.entry(own).or_default();
            key = hash_number(own, *earlier);
            *earlier += 1;
        }
        before = Some(scores);
        key
    };
    rows.map(of_row).collect()
}

impl Question {
    fn fit(gap: f64, plain: &Table, ranked: &Table, yes: &[bool], direction: &[f64]) -> Self {
        let (ranked, turned) = Logistic::fit(ranked, yes, direction, REVERSED / (1.0 - REVERSED));
        let direction: Vec<f64> = direction.iter().map(|d| if turned { -d } else { *d }).collect();
        let rarer = plain.rarer(yes);
        let plain = Logistic::along(plain, yes, &direction, Some(&ranked));
        Question { gap, plain, ranked, trees: TREES * rarer / (rarer + HALF_TREES), turned }
    }

    /// The mean log-odds of the two lines and the trees.
    fn log_odds(&self, seen: Seen<'_>, share: f64) -> f64 {
        let lines = self.plain.log_odds(seen.plain) + self.ranked.log_odds(seen.ranked);
        (lines + self.trees * odds(share)) / (2.0 + self.trees)
    }
}

/// Log-odds of a probability.
fn odds(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

/// The levels that rewards, each with its count, take; none where they are numbers, or all equal
/// and not 0.
pub(super) fn levels_of(rewards: impl Iterator<Item = (f64, f64)>) -> Option<Vec<f64>> {
    let (mut levels, mut total) = (Vec::with_capacity(MOST_LEVELS + 1), 0.0);
    for (reward, count) in rewards {
        let reward = reward + 0.0; // nought has two signs, and is one level
        total += count;
        if let Err(at) = levels.binary_search_by(|level: &f64| level.total_cmp(&reward)) {
            levels.insert(at, reward);
            if levels.len() > MOST_LEVELS {
                return None;
            }
        }
    }
    let constant = levels.len() == 1 && levels[0] != 0.0;
    (!levels.is_empty() && !constant && total >= OF_EACH * levels.len() as f64).then_some(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_distinct_rewards_are_levels_once_they_come_back() {
        let levels = |rewards: &[f64]| levels_of(rewards.iter().map(|&reward| (reward, 1.0)));
        assert_eq!(levels(&[1.0, 0.0, 0.0, 1.0]), Some(vec![0.0, 1.0]));
        assert_eq!(levels(&[0.0, 0.0]), Some(vec![0.0])); // no yes yet
        assert_eq!(levels(&[1.0, -0.0, 0.0, 1.0]).map(|levels| levels.len()), Some(2));
        assert_eq!(levels(&[3.0, 3.0]), None); // who knows what of
        assert_eq!(levels(&[1.0, 0.0, 0.0]), None); // numbers may begin so
        assert_eq!(levels(&[]), None);
        let marks: Vec<f64> = (0..12).map(|i| f64::from(i % 5)).collect();
        assert_eq!(levels(&marks).map(|levels| levels.len()), Some(5));
        let numbers: Vec<f64> = (0..12).map(|i| f64::from(i % 6)).collect();
        assert_eq!(levels(&numbers), None);
    }
}
