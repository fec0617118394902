//! The evaluators of a queue over its log, and how a row of scores is carried from one list to the
//! next.

use jurybox::Evaluators;
use serde::{Deserialize, Serialize};

/// The lists of evaluators, each with the entry that set it. A row of scores has the columns of the
/// list in force at its entry. A score is carried over as long as its evaluator stays unchanged. An
/// evaluator that was removed and added again starts without scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EvaluatorHistory(Vec<(u64, Evaluators)>);

impl EvaluatorHistory {
    pub(crate) fn new(seq: u64, evaluators: Evaluators) -> Self {
        EvaluatorHistory(vec![(seq, evaluators)])
    }

    /// Adds a list that is in force after this entry, if it differs from the last list.
    pub(crate) fn change(&mut self, seq: u64, evaluators: &Evaluators) {
        if self.current() != evaluators {
            self.0.push((seq, evaluators.clone()));
        }
    }

    /// Drops all but the first `len` lists.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn current(&self) -> &Evaluators {
        &self.0[self.0.len() - 1].1
    }

    /// Whether an evaluator of that name was ever in a list.
    pub(crate) fn ever_had(&self, name: &str) -> bool {
        self.0.iter().any(|(_, evaluators)| evaluators.position(name).is_some())
    }

    /// The index of the list in force for the rows of an entry. A list is in force after the entry
    /// that set it.
    pub(crate) fn at(&self, seq: u64) -> usize {
        self.0.partition_point(|(from, _)| *from < seq).saturating_sub(1)
    }

    /// How many scores a row of that entry has.
    pub(crate) fn width_at(&self, seq: u64) -> usize {
        self.0[self.at(seq)].1.len()
    }

    /// Rearranges a row from the list with index `from` to the later one with index `to`.
    pub(crate) fn carry(&self, row: &mut Vec<f64>, from: usize, to: usize) {
        for step in from..to {
            let (old, new) = (&self.0[step].1, &self.0[step + 1].1);
            let moved = new.as_slice().iter().map(|evaluator| {
                let at = old.as_slice().iter().position(|other| other == evaluator);
                at.and_then(|at| row.get(at)).copied().unwrap_or(f64::NAN)
            });
            *row = moved.collect();
        }
    }
}

/// A row with the columns of `onto` instead of `of`. Columns that only `of` has are left out;
/// columns that only `onto` has are NaN.
pub(crate) fn project(row: &[f64], of: &Evaluators, onto: &Evaluators) -> Vec<f64> {
    onto.as_slice()
        .iter()
        .map(|evaluator| {
            let at = of.as_slice().iter().position(|other| other == evaluator);
            at.and_then(|at| row.get(at)).copied().unwrap_or(f64::NAN)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_stays_with_its_evaluator_while_that_sits() {
        let names = |list: &[&str]| Evaluators::new(list.iter().copied()).unwrap();
        let mut history = EvaluatorHistory::new(1, names(&["a", "b"]));
        history.change(5, &names(&["a", "b"]));
        assert_eq!(history.len(), 1);
        history.change(7, &names(&["c", "a"]));
        history.change(9, &names(&["a", "b"]));
        assert_eq!([1, 2, 7, 8, 9, 10].map(|seq| history.at(seq)), [0, 0, 0, 1, 1, 2]);
        let mut row = vec![0.1, 0.2];
        history.carry(&mut row, 0, 1);
        assert!(row[0].is_nan() && row[1] == 0.1);
        history.carry(&mut row, history.at(8), 2);
        assert!(row[0] == 0.1 && row[1].is_nan(), "b left and came back: {row:?}");
    }
}
