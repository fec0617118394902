//! What each evaluator adds: its weight times how much its scores vary, at the moment that is spoken of.
//!
//! A weight is of a unit of the evaluator's own, and what a unit is changes when the evaluator does. So the spread is that of the items which
//! came in last by then: one over all items ever would say of an evaluator that has just become ten times as noisy that it is as it was.

use super::model::deviation;
use crate::Error;
use crate::load::opened;
use crate::reads::RankingModel;
use crate::service::Queue;
use crate::store::{Store, set_up};
use jurybox::Evaluators;

/// Items that a spread is taken from: 32 rounds. A standard deviation is then known to a few percent, and the scores of before a change are soon
/// gone.
const RECENT: u64 = 2048;

/// What evaluators added at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatorInfluence {
    /// When, in microseconds since 1970.
    pub at: i64,
    /// What a score that is one standard deviation of that time higher added to an item's value, by the names of evaluators; NaN where it is
    /// not known.
    pub pulls: Vec<(String, f64)>,
}

impl Queue {
    /// What evaluators added when checkpoints were made, oldest first.
    pub fn influences(&self) -> Result<Vec<EvaluatorInfluence>, Error> {
        self.read_separately(|store, queue, head| {
            let arrivals = store.arrivals(queue)?;
            let mut influences = Vec::new();
            for checkpoint in store.checkpoints(queue)? {
                // One that is damaged says nothing here, and `rebuild` tells of it.
                let Ok(learner) = opened(&checkpoint) else { continue };
                let fitted = learner.fit()?;
                let Some(weights) = fitted.weights() else { continue };
                let came = arrivals.iter().take_while(|entry| entry.seq <= checkpoint.seq);
                let last = came.map(|entry| entry.came).sum();
                let spreads = spreads(store, queue, head.seq, last, fitted.evaluators())?;
                influences
                    .push(EvaluatorInfluence { at: learner.at(), pulls: pulls(fitted.evaluators(), weights, &spreads) });
            }
            Ok(influences)
        })
    }

    /// What evaluators add by a model now; none where the policy cannot say what they weigh.
    pub fn influence_by(&self, model: &RankingModel) -> Result<Option<EvaluatorInfluence>, Error> {
        let Some((sitting, weights)) = model.seats() else { return Ok(None) };
        self.read_separately(|store, queue, head| {
            let last = store.totals(queue)?.0;
            let spreads = spreads(store, queue, head.seq, last, sitting)?;
            Ok(Some(EvaluatorInfluence { at: head.at.max(head.now), pulls: pulls(sitting, weights, &spreads) }))
        })
    }
}

fn pulls(evaluators: &Evaluators, weights: &[f64], spreads: &[Option<f64>]) -> Vec<(String, f64)> {
    let pulls = weights.iter().zip(spreads).map(|(weight, spread)| weight * spread.unwrap_or(f64::NAN));
    evaluators.names().map(String::from).zip(pulls).collect()
}

/// The standard deviation of each evaluator's scores among the items that came in last, up to one number.
pub(super) fn spreads(
    store: &mut dyn Store,
    queue: i64,
    head: u64,
    last: u64,
    sitting: &Evaluators,
) -> Result<Vec<Option<f64>>, Error> {
    let (history, config) = set_up(store, queue, head)?;
    let mut rows = Vec::new();
    store.scored(queue, last.saturating_sub(RECENT), last, &mut |item| {
        let scores = item.into_added(&history, head + 1).scores;
        rows.push(crate::evaluator_history::project(&scores, &config.evaluators, sitting));
        Ok(())
    })?;
    let spread = |j: usize| deviation(rows.iter().map(|row| row[j]).filter(|score| !score.is_nan()));
    Ok((0..sitting.len()).map(spread).collect())
}
