//! `average`: the top K by the plain mean of the scores that an item has.
//!
//! **Assumes** that all evaluators use the same units and deserve the same trust. **In the paper**
//! ("Top K Ranking for Multi-Armed Bandit with Noisy Evaluations"): the baseline of Fig. 1a.
//! **Costs** O(J) an item for J evaluators. It learns nothing. An item without any score comes
//! last.

use super::{Entry, Links, Needs, NoOptions, Policy, Rank};
use crate::contributions::Contributions;
use crate::form::Form;
use crate::link::Link;
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::toolbox::sum_of_present;

#[derive(Debug, Clone)]
pub(crate) struct Average {
    nothing: (),
    evaluators: usize,
}

impl Policy for Average {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "average",
        links: Links::Identity,
        needs: Needs::Nothing,
        assumes: "every evaluator in the same units and equally good: the plain mean of the scores",
        paper: "baseline of Fig. 1a",
        options: &[],
    }];
    type Options = NoOptions;
    type State = ();
    type Rank = Mean;

    fn create(_: &Entry, _: Link, _: NoOptions, evaluators: usize) -> Result<Self, String> {
        Ok(Average { nothing: (), evaluators })
    }

    fn state(&self) -> &() {
        &self.nothing
    }

    fn state_mut(&mut self) -> &mut () {
        &mut self.nothing
    }

    fn buffer(&self) -> Mean {
        Mean { weights: vec![1.0 / self.evaluators as f64; self.evaluators] }
    }

    fn fit(&self, _: &mut Mean) {}
}

/// Ranks by the mean of the present scores.
#[derive(Debug, Clone)]
pub(crate) struct Mean {
    weights: Vec<f64>,
}

impl Rank for Mean {
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        scratch.values.clear();
        scratch.values.extend(scores.rows().map(|row| {
            let (sum, present) = sum_of_present(row.iter().copied());
            if present > 0.0 { sum / present } else { f64::NEG_INFINITY }
        }));
    }

    fn form(&self) -> Option<Form> {
        let width = self.weights.len();
        Some(Form::weighted(&vec![1.0; width]).over(width as f64))
    }

    fn contributions(&self, row: &[f64]) -> Option<Contributions> {
        let (_, present) = sum_of_present(row.iter().copied());
        Some(Contributions {
            base: if present > 0.0 { 0.0 } else { f64::NEG_INFINITY },
            each: row.iter().map(|x| if x.is_nan() { 0.0 } else { x / present }).collect(),
        })
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }
}
