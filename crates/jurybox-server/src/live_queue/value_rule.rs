//! How an item's value is computed: by the fitted jury without muted evaluators, or as a weighted
//! mean with fixed weights. Learning is the same in both cases.

use crate::config::Config;
use crate::evaluator_history::project;
use jurybox::{Contributions, Direction, Evaluators, Fitted, Scores, Scratch};
use std::collections::{BTreeMap, BTreeSet};

/// A queue's muted evaluators and fixed weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ValueRule {
    /// Evaluators whose scores count as missing.
    muted: BTreeSet<String>,
    /// Fixed weights that override the learnt ranking; empty for none.
    weights: BTreeMap<String, f64>,
}

impl ValueRule {
    pub(crate) fn of(config: &Config) -> Self {
        ValueRule { muted: config.muted.iter().cloned().collect(), weights: config.weights.clone() }
    }

    /// The value of each row, whose columns are `evaluators`. NaN where the jury cannot value a
    /// row.
    pub(crate) fn values<'a>(
        &self,
        fitted: &Fitted,
        rows: &[f64],
        evaluators: &Evaluators,
        scratch: &'a mut Scratch,
        table: &mut Vec<f64>,
    ) -> Result<std::borrow::Cow<'a, [f64]>, jurybox::Error> {
        if !self.weights.is_empty() {
            let values = rows.chunks_exact(evaluators.len()).map(|row| self.fixed(row, evaluators).0);
            return Ok(values.collect::<Vec<f64>>().into());
        }
        let as_it_is = self.muted.is_empty() && fitted.evaluators() == evaluators;
        let rows = if as_it_is {
            rows
        } else {
            table.clear();
            for row in rows.chunks_exact(evaluators.len()) {
                table.extend(self.masked_row(row, evaluators, fitted.evaluators()));
            }
            table
        };
        let scores = Scores::new(rows, fitted.evaluators().len())?;
        Ok(fitted.values_with(&scores, scratch)?.into())
    }

    /// A row with the columns of `onto` instead of `of`, and muted scores missing.
    pub(crate) fn masked_row(&self, row: &[f64], of: &Evaluators, onto: &Evaluators) -> Vec<f64> {
        let mut row = project(row, of, onto);
        for (score, name) in row.iter_mut().zip(onto.names()) {
            if self.muted.contains(name) {
                *score = f64::NAN;
            }
        }
        row
    }

    /// Each evaluator's contribution to a value under fixed weights; none without fixed weights.
    pub(crate) fn contributions(&self, row: &[f64], evaluators: &Evaluators) -> Option<Contributions> {
        if self.weights.is_empty() {
            return None;
        }
        let (value, each) = self.fixed(row, evaluators);
        Some(Contributions { base: if value.is_finite() { 0.0 } else { value }, each })
    }

    /// An evaluator's fixed weight, 0 if it is not listed; none without fixed weights.
    pub(crate) fn weight(&self, name: &str) -> Option<f64> {
        (!self.weights.is_empty()).then(|| self.weights.get(name).copied().unwrap_or(0.0))
    }

    /// The weighted mean of the scores that count, and each evaluator's part of it. Scores of
    /// evaluators with direction low count negatively, and the sum is divided by the sum of
    /// absolute weights. A row in which no score counts gets negative infinity and ranks last.
    fn fixed(&self, row: &[f64], evaluators: &Evaluators) -> (f64, Vec<f64>) {
        let (mut sum, mut weights, mut each) = (0.0, 0.0, Vec::with_capacity(row.len()));
        for (score, evaluator) in row.iter().zip(evaluators.as_slice()) {
            let weight = self.weights.get(&evaluator.name).copied().unwrap_or(0.0);
            if score.is_nan() || weight == 0.0 || self.muted.contains(&evaluator.name) {
                each.push(0.0);
                continue;
            }
            let upward = if evaluator.direction == Direction::Low { -score } else { *score };
            sum += weight * upward;
            weights += weight.abs();
            each.push(weight * upward);
        }
        if weights == 0.0 {
            return (f64::NEG_INFINITY, each);
        }
        each.iter_mut().for_each(|part| *part /= weights);
        (sum / weights, each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jurybox::{Evaluator, Jury};

    fn evaluators() -> Evaluators {
        let low = Evaluator { direction: Direction::Low, ..Evaluator::from("b".to_string()) };
        Evaluators::new([Evaluator::from("a".to_string()), low]).unwrap()
    }

    fn values(value_rule: &ValueRule, rows: &[f64]) -> Vec<f64> {
        let fitted = Jury::new(&"average".parse().unwrap(), evaluators()).unwrap().fit();
        let (mut scratch, mut table) = (Scratch::new(), Vec::new());
        value_rule.values(&fitted, rows, &evaluators(), &mut scratch, &mut table).unwrap().into_owned()
    }

    #[test]
    fn the_muted_count_as_missing_and_fixed_weights_as_they_are() {
        let rows = [1.0, 3.0, 2.0, f64::NAN];
        assert_eq!(values(&ValueRule::default(), &rows), [-1.0, 2.0]);
        let muted = ValueRule { muted: ["b".to_string()].into(), ..ValueRule::default() };
        assert_eq!(values(&muted, &rows), [1.0, 2.0]);
        let weights: BTreeMap<String, f64> = [("a".to_string(), 3.0), ("b".into(), 1.0)].into();
        let fixed = ValueRule { weights: weights.clone(), ..ValueRule::default() };
        assert_eq!(values(&fixed, &rows), [0.0, 2.0]);
        assert_eq!(fixed.contributions(&rows[..2], &evaluators()).unwrap().each, [0.75, -0.75]);
        let both = ValueRule { weights, ..muted };
        assert_eq!(values(&both, &rows), [1.0, 2.0]);
        assert_eq!(values(&both, &[f64::NAN, 1.0]), [f64::NEG_INFINITY]);
    }
}
