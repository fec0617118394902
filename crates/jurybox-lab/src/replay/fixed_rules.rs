//! Rankings that never learn from a reward: averages, one evaluator, fixed weights, known values.

use super::ReviewLog;
use super::pickers::{CandidateRows, PickRequest, PickedPosition, RowPicker, highest};
use crate::error::Error;
use jurybox::toolbox::{Standard, mean_of_present};
use jurybox_files::Ranker;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// The value that rows are ranked by.
#[derive(Debug, Clone)]
pub(crate) enum RankingRule {
    /// The mean of a row's scores, missing ones left out.
    Average,
    /// The mean of a row's standardised scores, by the means and deviations of all rows shown so
    /// far.
    ZMean,
    /// The mean rank of a row's scores among the rows that were shown with it.
    RankMean,
    /// The score of one evaluator.
    Single(usize),
    /// A weighted sum of scores.
    Weights(Vec<f64>),
    /// A given value for each row of the log.
    Known(Arc<[f64]>),
}

/// A picker that ranks by a fixed rule.
pub(crate) struct FixedRulePicker {
    value: RankingRule,
    width: usize,
    moments: Standard,
    /// Values of the candidates, by position.
    values: Vec<f64>,
}

impl FixedRulePicker {
    pub(crate) fn new(value: RankingRule, log: &ReviewLog) -> FixedRulePicker {
        FixedRulePicker { value, width: log.width(), moments: Standard::new(log.width()), values: Vec::new() }
    }

    fn value_new_rows(&mut self, candidates: &CandidateRows) -> Result<(), Error> {
        let rows = || candidates.scores.chunks_exact(self.width);
        self.values.clear();
        match &self.value {
            RankingRule::Known(known) => self.values.extend(candidates.rows.iter().map(|&row| known[row])),
            RankingRule::Average => self.values.extend(rows().map(|x| mean_of_present(x.iter().copied()))),
            RankingRule::Single(j) => self.values.extend(rows().map(|x| x[*j])),
            RankingRule::ZMean => {
                self.moments.observe(&candidates.scores);
                self.values.extend(rows().map(|x| self.moments.row_mean(x)));
            }
            RankingRule::RankMean => {
                let ranks = ranks(&candidates.scores, self.width);
                let means = ranks.chunks_exact(self.width).map(|row| mean_of_present(row.iter().copied()));
                self.values.extend(means);
            }
            RankingRule::Weights(weights) => {
                self.values
                    .extend(Ranker::Weights(weights.clone()).values_of(&candidates.scores, self.width)?);
            }
        }
        Ok(())
    }
}

impl RowPicker for FixedRulePicker {
    fn study(&mut self, log: &ReviewLog, rows: &[usize]) -> Result<usize, Error> {
        let mut scores = Vec::with_capacity(self.width);
        for &row in rows {
            scores.clear();
            log.push_row(row, &mut scores);
            self.moments.observe(&scores);
        }
        Ok(rows.len())
    }

    fn pick(
        &mut self,
        request: &PickRequest<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<PickedPosition>, Error> {
        if request.new {
            self.value_new_rows(request.candidates)?;
        }
        Ok(highest(&self.values, request.k, rng))
    }

    fn learn(&mut self, _: &ReviewLog, _: &[usize], _: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    fn removed(&mut self, places: &[usize]) {
        for &place in places {
            self.values.swap_remove(place);
        }
    }
}

/// The rank of each score among the scores of its evaluator, from 0 (lowest) to 1. Ties share their
/// mean rank; missing scores have NaN.
fn ranks(scores: &[f64], width: usize) -> Vec<f64> {
    let mut ranks = vec![f64::NAN; scores.len()];
    for j in 0..width {
        let score = |place: usize| scores[place * width + j];
        let mut order: Vec<usize> =
            (0..scores.len() / width).filter(|&place| !score(place).is_nan()).collect();
        order.sort_unstable_by(|&a, &b| score(a).total_cmp(&score(b)));
        let last = (order.len().max(2) - 1) as f64;
        let mut start = 0;
        for equal in order.chunk_by(|&a, &b| score(a) == score(b)) {
            let middle = start as f64 + (equal.len() - 1) as f64 / 2.0;
            equal.iter().for_each(|&place| ranks[place * width + j] = middle / last);
            start += equal.len();
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_share_a_rank_and_missing_ones_have_none() {
        let found = ranks(&[5.0, f64::NAN, 1.0, 3.0, 5.0, 2.0, 9.0, f64::NAN], 2);
        assert_eq!([found[0], found[2], found[4], found[6]], [0.5, 0.0, 0.5, 1.0]);
        assert!(found[1].is_nan() && found[7].is_nan());
        assert_eq!((found[3], found[5]), (1.0, 0.0));
    }
}
