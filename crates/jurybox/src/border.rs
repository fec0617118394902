//! Validation of input to juries and fits, before anything changes.

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

/// The times that count as dates: 2001 to 2128, in seconds. A number that is in this range, as it
/// is or after division by 10^3, 10^6 or 10^9, is a date. Other numbers are rounds or times since a
/// start.
const DATES: std::ops::Range<u64> = 1_000_000_000..5_000_000_000;

/// Twenty years in seconds: the times of one log are assumed to lie no further apart.
const OF_ONE_LOG: u64 = 20 * 31_557_600;

/// The power of 1,000 that divides a date into seconds, and the date in seconds; none if the number
/// is no date.
fn date(at: u64) -> Option<(u32, u64)> {
    (0..4).map(|power| (power, at / 1000_u64.pow(power))).find(|(_, seconds)| DATES.contains(seconds))
}

/// Whether two times are dates in different units and at most twenty years apart. A date in a finer
/// unit would make all dates after it count as old, so no change could be seen.
pub(crate) fn is_of_another_unit(at: u64, latest: u64) -> bool {
    date(at).zip(date(latest)).is_some_and(|((unit, one), (other_unit, other))| {
        unit != other_unit && one.abs_diff(other) <= OF_ONE_LOG
    })
}
