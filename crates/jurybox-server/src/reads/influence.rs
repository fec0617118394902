//! The influence of each evaluator at a time: its weight times the standard deviation of its latest
//! scores. For a regression this is called a standardised coefficient.
//!
//! A weight depends on the unit of an evaluator's scores, but the influence does not. The standard
//! deviation is that of the last items to arrive. Over all items, an evaluator that has just become
//! ten times as noisy would seem unchanged.

use super::model::deviation;
use crate::Error;
use crate::load::opened;
use crate::reads::RankingModel;
use crate::service::Queue;
use crate::store::{Store, set_up};
use jurybox::Evaluators;

/// Items from which the standard deviation is computed: 32 rounds of 64. For normal scores its
/// relative error is 1.6%, and scores before a change are soon gone.
const RECENT: u64 = 2048;

/// The influence of each evaluator at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatorInfluence {
    /// The time, in microseconds since 1970.
    pub at: i64,
    /// By evaluator: how much a score one standard deviation higher raised an item's value. NaN if
    /// unknown.
    pub pulls: Vec<(String, f64)>,
}

impl Queue {
    /// The influences at each stored checkpoint, oldest first. Checkpoints without weights are left
    /// out.
    pub fn influences(&self) -> Result<Vec<EvaluatorInfluence>, Error> {
        self.read_separately(|store, queue, head| {
            let arrivals = store.arrivals(queue)?;
            let mut influences = Vec::new();
            for checkpoint in store.checkpoints(queue)? {
                // Damaged checkpoints are skipped here; `rebuild` reports them.
                let Ok(learner) = opened(&checkpoint) else { continue };
                let fitted = learner.fit()?;
                let Some(weights) = fitted.weights() else { continue };
                let came = arrivals.iter().take_while(|entry| entry.seq <= checkpoint.seq);
                let last = came.map(|entry| entry.came).sum();
                let spreads = spreads(store, queue, head.seq, last, fitted.evaluators())?;
                influences.push(EvaluatorInfluence {
                    at: learner.at(),
                    pulls: pulls(fitted.evaluators(), weights, &spreads),
                });
            }
            Ok(influences)
        })
    }

    /// The present influences by a model; None if its policy has no weights.
    pub fn influence_by(&self, model: &RankingModel) -> Result<Option<EvaluatorInfluence>, Error> {
        let Some((sitting, weights)) = model.seats() else { return Ok(None) };
        self.read_separately(|store, queue, head| {
            let last = store.totals(queue)?.0;
            let spreads = spreads(store, queue, head.seq, last, sitting)?;
            Ok(Some(EvaluatorInfluence {
                at: head.at.max(head.now),
                pulls: pulls(sitting, weights, &spreads),
            }))
        })
    }
}

fn pulls(evaluators: &Evaluators, weights: &[f64], spreads: &[Option<f64>]) -> Vec<(String, f64)> {
    let pulls = weights.iter().zip(spreads).map(|(weight, spread)| weight * spread.unwrap_or(f64::NAN));
    evaluators.names().map(String::from).zip(pulls).collect()
}

/// The standard deviation of each evaluator's scores over the last items up to number `last`; None
/// with fewer than two scores.
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
