//! Rules that write 1 or nothing: where an evaluator has only ever given one score, its silence
//! counts as 0.
//!
//! A missing score is missing: it is expected from the others. An evaluator whose present scores
//! are all one value would say nothing then, although it says something by being there. So its
//! missing scores are read as 0: in the moments, in the samples, and in the rows that are valued.
//! One that has only ever given 0 tells nothing apart either way, and one that scores every item
//! needs none of this. Nothing of it is state: an evaluator that gives a second value is read as
//! any other from the next fit on.

use crate::estimate::{Moments, Sample, SampledRow};
use crate::policy::adaptive::landscape::scale;
use crate::scores::Scores;
use std::borrow::Cow;

/// The evaluators whose missing scores count as 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence(Vec<usize>);

/// Moments and samples of what was seen, in which silence is 0.
pub(super) struct Heard<'a> {
    pub(super) silence: Silence,
    pub(super) scores: Moments,
    pub(super) unlabelled: Cow<'a, Sample>,
    /// Scores, then the reward.
    pub(super) labelled: Cow<'a, Sample>,
}

impl<'a> Heard<'a> {
    /// Reads silence in what was seen from a time on: the moments of these scores, and the samples.
    pub(super) fn of(scores: Moments, since: u64, unlabelled: &'a Sample, labelled: &'a Sample) -> Self {
        let width = scores.evaluators();
        let says_one_thing =
            |j: usize| scores.count(j, j) > 0.0 && scores.mean(j) != 0.0 && scale(&scores, j) == 0.0;
        let mut silent: Vec<usize> = (0..width).filter(|&j| says_one_thing(j)).collect();
        let items = if silent.is_empty() {
            0.0
        } else {
            items(&scores, unlabelled.rows().filter(|row| row.clock >= since))
        };
        silent.retain(|&j| scores.count(j, j) < items);
        if silent.is_empty() {
            let (unlabelled, labelled) = (Cow::Borrowed(unlabelled), Cow::Borrowed(labelled));
            return Heard { silence: Silence(silent), scores, unlabelled, labelled };
        }
        Heard {
            scores: scores.with_silence(&silent, items),
            unlabelled: Cow::Owned(unlabelled.filled(&silent)),
            labelled: Cow::Owned(labelled.filled(&silent)),
            silence: Silence(silent),
        }
    }
}

impl Silence {
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the silence in a row.
    pub(super) fn fill(&self, row: &mut [f64]) {
        for &j in &self.0 {
            if row[j].is_nan() {
                row[j] = 0.0;
            }
        }
    }

    /// The scores with the silence read; `buffer` holds them where that changes any.
    pub(super) fn read<'a>(&self, scores: &Scores<'a>, buffer: &'a mut Vec<f64>) -> Scores<'a> {
        if scores.is_complete() || !scores.rows().any(|row| self.0.iter().any(|&j| row[j].is_nan())) {
            return *scores;
        }
        *buffer = scores.values().to_vec();
        buffer.chunks_exact_mut(scores.evaluators()).for_each(|row| self.fill(row));
        let complete = buffer.iter().all(|score| !score.is_nan());
        Scores::trusted(buffer, scores.evaluators(), complete)
    }
}

/// How many items were seen. The moments count those that an evaluator scored, and the sample tells
/// the share of all that they are: exactly, as long as it holds every row or the evaluator scores
/// every item.
fn items<'a>(scores: &Moments, rows: impl Iterator<Item = SampledRow<'a>> + Clone) -> f64 {
    let most = (0..scores.evaluators()).max_by(|&i, &j| scores.count(i, i).total_cmp(&scores.count(j, j)));
    let Some(most) = most else { return 0.0 };
    let count =
        |rows: &mut dyn Iterator<Item = SampledRow<'a>>| rows.map(|row| row.count as f64).sum::<f64>();
    let shown = count(&mut rows.clone());
    let present = count(&mut rows.filter(|row| !row.values[most].is_nan()));
    let scored = scores.count(most, most);
    if present > 0.0 { (scored * shown / present).max(scored) } else { scored }
}
