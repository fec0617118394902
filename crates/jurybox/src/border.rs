//! What a jury and its fits refuse, before anything changes.

use crate::error::{Error, EvaluatorLabel};
use crate::estimate::ladder::LATEST;
use crate::evaluators::Evaluators;
use crate::jury::Jury;
use crate::pick::Example;
use crate::scores::{Scores, all_usable, usable, usable_or_missing};

impl Jury {
    pub(crate) fn check_example(&self, at: usize, example: &Example<'_>) -> Result<(), Error> {
        let (found, expected) = (example.scores.len(), self.evaluators().len());
        if found != expected {
            return Err(Error::Width { what: format!("example {at}"), found, expected });
        }
        if !all_usable(example.scores)
            && let Some(column) = example.scores.iter().position(|&v| !usable_or_missing(v))
        {
            let name = self.evaluators().names().nth(column).map(Into::into);
            let evaluator = EvaluatorLabel { column, name };
            return Err(Error::Score { item: at, evaluator, value: example.scores[column] });
        }
        if !usable(example.reward) {
            return Err(Error::Reward { example: at, value: example.reward });
        }
        if let Some(receipt) = example.receipt {
            let p = receipt.inclusion_probability;
            if !(p > 0.0 && p <= 1.0) {
                let reason = format!("inclusion probability {p:?} is not above 0 and at most 1");
                return Err(Error::Receipt { example: at, reason });
            }
            if let Some(reason) = self.policy.check_receipt(example) {
                return Err(Error::Receipt { example: at, reason });
            }
        }
        Ok(())
    }
}

pub(crate) fn check_width(scores: &Scores<'_>, evaluators: &Evaluators) -> Result<(), Error> {
    let (found, expected) = (scores.evaluators(), evaluators.len());
    if found == expected { Ok(()) } else { Err(Error::Width { what: "the round".into(), found, expected }) }
}

pub(crate) fn check_k(k: usize, items: usize) -> Result<(), Error> {
    if k == 0 || k > items { Err(Error::K { k, items }) } else { Ok(()) }
}

pub(crate) fn check_time(at: u64, latest: Option<u64>) -> Result<(), Error> {
    if at > LATEST {
        return Err(Error::Time { at });
    }
    match latest {
        Some(latest) if is_of_another_unit(at, latest) => Err(Error::Unit { at, latest }),
        _ => Ok(()),
    }
}

/// From here on times are dates in seconds or less (it was so in 1973), and not numbers of rounds.
const DATES: u64 = 100_000_000;
/// A date is never so many times another of its unit.
const APART: u64 = 100;

/// Whether a time is so far behind one that was seen that they cannot be in one unit. After it, all that there is would be old, and nothing could be seen to
/// change.
pub(crate) fn is_of_another_unit(at: u64, latest: u64) -> bool {
    latest >= DATES && at / APART > latest
}
