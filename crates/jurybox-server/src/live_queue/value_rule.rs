//! What an item is worth to the order: by what was learnt, less those who are muted, or by weights that somebody has fixed. What is
//! learnt is the same either way.

use crate::config::Config;
use crate::evaluator_history::project;
use jurybox::{Contributions, Direction, Evaluators, Fitted, Scores, Scratch};
use std::collections::{BTreeMap, BTreeSet};

/// How items are valued under a fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ValueRule {
    /// Whose scores count as missing.
    muted: BTreeSet<String>,
    /// What counts instead of what was learnt; empty where nothing does.
    weights: BTreeMap<String, f64>,
}

impl ValueRule {
    pub(crate) fn of(config: &Config) -> Self {
        ValueRule { muted: config.muted.iter().cloned().collect(), weights: config.weights.clone() }
    }

    /// The values of rows that are laid out for these evaluators; NaN where a row cannot be valued.
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

    /// A row as the fit is to see it: laid out for those it knows, and without those who are muted.
    pub(crate) fn masked_row(&self, row: &[f64], of: &Evaluators, onto: &Evaluators) -> Vec<f64> {
        let mut row = project(row, of, onto);
        for (score, name) in row.iter_mut().zip(onto.names()) {
            if self.muted.contains(name) {
                *score = f64::NAN;
            }
        }
        row
    }

    /// Why an item has its value, where weights are fixed.
    pub(crate) fn contributions(&self, row: &[f64], evaluators: &Evaluators) -> Option<Contributions> {
        if self.weights.is_empty() {
            return None;
        }
        let (value, each) = self.fixed(row, evaluators);
        Some(Contributions { base: if value.is_finite() { 0.0 } else { value }, each })
    }

    /// The weight that is fixed for an evaluator, where any are.
    pub(crate) fn weight(&self, name: &str) -> Option<f64> {
        (!self.weights.is_empty()).then(|| self.weights.get(name).copied().unwrap_or(0.0))
    }

    /// The mean of the scores that are there and count, by their weights; and what each adds to it. Last of all where there are none, as
    /// with the plain mean.
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
