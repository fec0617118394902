//! Who judged: some are severe, some are careless, and a verdict should count for what it tells.
//!
//! Different reviewers see different items, so it is how far a verdict is from what the fit expects
//! of its item that is compared. For the verdicts y of reviewer r on items of which f is expected,
//! c being the mean of all f,
//!
//! ```text
//! y = f + a_r + (b_r - 1) (f - c) + noise of variance v_r u(f)
//! ```
//!
//! with u the spread of rewards by what is expected of them. a is severity. What a verdict tells of
//! f is `b^2 / v`: one who answers at random half of the time has b = 1/2, and one who always says
//! yes, who is not noisy at all, has b = 0.
//!
//! Each of the three is taken to vary among reviewers by a normal law whose scale is averaged over
//! by evidence, on a grid that begins with 0: all alike, half of the prior. Unless one of them
//! varies with a probability of 0.8, and more surely than with names shuffled among the verdicts,
//! nothing changes. Otherwise the labels are fitted anew as what the middle reviewer would have
//! said, `c + (y - a - c) / b`, each with weight `b^2 / v` beside the middle reviewer's. That takes
//! single rows: all of the fit then rests on the sample.

mod beside;
mod compared;
mod habits;
mod pooled;
mod proof;
mod sums;

use self::beside::Beside;
use self::compared::{Compared, LEAST_SLOPE, NOISE, SEVERITY, SLOPE};
use self::habits::Habits;
use super::corrected::Corrected;
use super::model::Model;
use crate::estimate::SampledRow;
use crate::reviewer::{Reviewer, Standing};
use crate::toolbox::Interval;
use std::collections::BTreeMap;

/// Weights are whole multiples of this: sums of them do not depend on the order.
pub(super) const GRAIN: f64 = 1.0 / 1024.0;
/// No verdict is expected to be nearer than this to its expectation, as a multiple of the mean
/// variance.
const LEAST_SPREAD: f64 = 0.05;

/// What the verdicts of each reviewer say beside the others'.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reviewers {
    each: BTreeMap<Option<u64>, Habits>,
    /// The mean of what was expected.
    centre: f64,
    /// In which of the three they surely differ.
    proven: [bool; 3],
    /// What the labels alone say of each.
    beside: Option<Beside>,
}

impl Reviewers {
    /// From a fit, and labelled rows (scores, then the reward) with their reviewers as tags;
    /// nothing unless there are two to compare.
    pub(super) fn of<'a>(model: &Model, labelled: impl Iterator<Item = SampledRow<'a>> + Clone) -> Self {
        let mut names: Vec<Option<u64>> = labelled.clone().map(|row| row.tag).collect();
        names.sort_unstable();
        names.dedup();
        let mut rewards = labelled.clone().filter_map(|row| row.values.last().copied());
        let first = rewards.next();
        if names.len() < 2 || rewards.all(|reward| Some(reward) == first) {
            return Reviewers::default(); // what is left of verdicts that are all alike is the prior's
        }
        let mut expected = model.expected(labelled.clone());
        for (expected, row) in expected.iter_mut().zip(labelled.clone()) {
            *expected += model.groups.shift(model, &row.values[..model.landscape.width()]);
        }
        let counts: f64 = labelled.clone().map(|row| row.weight).sum();
        let centre = expected.iter().zip(labelled.clone()).map(|(f, row)| f * row.weight / counts).sum();
        let verdicts = expected.iter().zip(labelled.clone()).map(|(&f, row)| {
            let spread = model.spread().at(f).max(LEAST_SPREAD);
            (f - centre, row.values[model.landscape.width()] - f, row.weight, row.weight / spread)
        });
        let verdicts: Vec<proof::Verdict> = verdicts.collect();
        let by: Vec<usize> =
            labelled.clone().map(|row| names.partition_point(|name| *name < row.tag)).collect();
        let sums = proof::summed(&verdicts, &by, names.len());
        let Some(mut said) = Compared::of(&sums, false) else {
            return Reviewers::default(); // every verdict is as expected, or nobody gave enough of them
        };
        let mut proven = proof::proven(&verdicts, &by, names.len(), &said);
        if !proven[SLOPE]
            && let Some(alike) = Compared::of(&sums, true)
        {
            proven[SEVERITY] &= proof::is_sure(alike.odds[SEVERITY]);
            said = alike;
        }
        Reviewers {
            each: names.into_iter().zip(said.habits).collect(),
            centre,
            proven,
            beside: Some(Beside::of(&model.landscape, labelled, &verdicts)),
        }
    }

    /// Whether they surely differ.
    pub(super) fn differ(&self) -> bool {
        self.proven != [false; 3]
    }

    /// The labelled rows as the middle reviewer would have judged them, each with its weight.
    pub(super) fn corrected<'a>(&self, labelled: impl Iterator<Item = SampledRow<'a>>) -> Corrected {
        let mut corrected = Corrected::default();
        for row in labelled {
            let Some((reward, scores)) = row.values.split_last() else { continue };
            let (reward, weight) = self.each.get(&row.tag).map_or((*reward, 1.0), |habits| {
                let severity = if self.proven[SEVERITY] { habits.severity.mean } else { 0.0 };
                let off = reward - severity - self.centre;
                (self.centre + off / habits.slope.mean.max(LEAST_SLOPE), self.weight(habits))
            });
            // What tells nothing is not a row that is near anything, either.
            if weight > 0.0 {
                corrected.push(&row, scores, reward, row.weight * weight);
            }
        }
        corrected
    }

    /// Everyone, where there are two or more, with intervals of that probability.
    pub(super) fn standings(&self, level: f64) -> Vec<Standing> {
        let Some(beside) = &self.beside else { return Vec::new() };
        let standing = |(&tag, habits): (&Option<u64>, &Habits)| {
            let above = habits.above(habits.place) - self.others_above(tag, habits.place);
            let (low, high) = beside.interval(tag, level);
            Standing {
                reviewer: tag.and_then(Reviewer::from_code),
                labels: habits.verdicts as u64,
                severity: Interval { mean: above, low: low.min(above), high: high.max(above) },
                noise: habits.noise_beside_the_middle(level),
                weight: self.weight(habits),
            }
        };
        self.each.iter().map(standing).collect()
    }

    /// What a verdict counts for beside one of the middle reviewer, as far as that is proven.
    fn weight(&self, habits: &Habits) -> f64 {
        if self.proven[NOISE] || self.proven[SLOPE] { habits.weight() } else { 1.0 }
    }

    /// How far the verdicts of all but one are above what is expected of items at a place, each as
    /// far as theirs tell anything.
    fn others_above(&self, one: Option<u64>, place: f64) -> f64 {
        let others = || self.each.iter().filter(|(tag, _)| **tag != one).map(|(_, habits)| habits);
        let told = |habits: &Habits| habits.verdicts * habits.telling();
        let all = others().map(told).sum::<f64>().max(f64::MIN_POSITIVE);
        others().map(|habits| told(habits) / all * habits.above(place)).sum()
    }
}
