//! Error rates of reviewers, from golden items, and the correction of a rate for them (Rogan and
//! Gladen 1978).
//!
//! If reviewers call a share q of all rows yes, with false positive rate f and sensitivity s, the
//! true rate is (q - f) / (s - f). Its interval combines those of q, f and s (MOVER, Zou and Donner
//! 2008); those of the error rates are Wilson's.

use jurybox::{Interval, Reviewer};
use serde::Serialize;
use std::collections::BTreeMap;

/// The 97.5% quantile of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// A verdict on a golden item, which is an item whose right answer is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct GoldenVerdict {
    /// The right answer, 1 or 0.
    pub(super) right: f64,
    /// The verdict, 1 or 0.
    pub(super) reward: f64,
    pub(super) reviewer: Option<Reviewer>,
}

/// Error rates of reviewers, from their verdicts on golden items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorRates {
    /// The share of golden items without harm (0) that are called harmful (1).
    pub false_positive_rate: ErrorRate,
    /// The share of harmful golden items (1) that are called harmless (0).
    pub false_negative_rate: ErrorRate,
}

/// An error rate with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorRate {
    /// Number of verdicts on golden items of this kind.
    pub verdicts: u64,
    /// The rate. With names of reviewers, each reviewer's rate is weighted by the sum of 1 / p over
    /// the other rows that the reviewer judged, where p is a row's probability.
    pub mean: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end of the 95% interval.
    pub high: f64,
}

/// For each reviewer, the sum of 1 / p over the rows that the reviewer judged, where p is a row's
/// probability.
pub(super) type ReviewerShares = BTreeMap<Option<Reviewer>, f64>;

impl ErrorRates {
    /// The rates, and a share of the rows: those whose reviewers judged no golden item with the
    /// answer 0, or with the answer 1, whichever is more. The error names the kind of golden items
    /// that is missing.
    pub(super) fn of(golden: &[GoldenVerdict], shares: &ReviewerShares) -> Result<(ErrorRates, f64), String> {
        let (false_positive_rate, one) = ErrorRate::of(golden, 0.0, shares)?;
        let (false_negative_rate, other) = ErrorRate::of(golden, 1.0, shares)?;
        Ok((ErrorRates { false_positive_rate, false_negative_rate }, one.max(other)))
    }

    /// The interval of the true rate, from the interval of the rate that reviewers call. None if
    /// the upper ends of the error rates sum to one or more, as for coins. None also if the whole
    /// interval is below zero, since the false positive rate then contradicts the rate called.
    pub(super) fn corrected(&self, called: Interval) -> Option<Interval> {
        let (f, m) = (self.false_positive_rate, self.false_negative_rate);
        if f.high + m.high >= 1.0 {
            return None;
        }
        let of = |q: f64, f: f64, m: f64| (q - f) / (1.0 - m - f);
        let mean = of(called.mean, f.mean, m.mean);
        let moved = [
            (of(called.low, f.mean, m.mean), of(called.high, f.mean, m.mean)),
            (of(called.mean, f.low, m.mean), of(called.mean, f.high, m.mean)),
            (of(called.mean, f.mean, m.low), of(called.mean, f.mean, m.high)),
        ];
        let far = |end: fn(f64, f64) -> f64| {
            moved.iter().map(|&(a, b)| (end(end(a, b), mean) - mean).powi(2)).sum::<f64>().sqrt()
        };
        let (low, high) = (mean - far(f64::min), mean + far(f64::max));
        let within = |rate: f64| rate.clamp(0.0, 1.0);
        (high >= 0.0).then(|| Interval { mean: within(mean), low: within(low), high: within(high) })
    }
}

impl ErrorRate {
    /// The error rate on golden items with this right answer, and the share of the rows whose
    /// reviewers judged none of these items.
    fn of(golden: &[GoldenVerdict], right: f64, shares: &ReviewerShares) -> Result<(ErrorRate, f64), String> {
        let mut judged: BTreeMap<Option<Reviewer>, (f64, f64)> = BTreeMap::new();
        for one in golden.iter().filter(|one| one.right == right) {
            let (all, wrong) = judged.entry(one.reviewer).or_default();
            *all += 1.0;
            *wrong += f64::from(u8::from(one.reward != right));
        }
        let share = |reviewer| shares.get(reviewer).copied().unwrap_or(0.0);
        let total: f64 = shares.values().sum();
        let known: f64 = judged.keys().map(share).sum();
        if known <= 0.0 {
            let kind = if right > 0.0 { "1" } else { "0" };
            return Err(format!(
                "no golden item with the answer {kind} was judged by a reviewer who judged other \
                 rows: error rates take verdicts on golden items of both answers, 0 and 1"
            ));
        }
        let mean = judged.iter().map(|(who, (all, wrong))| share(who) / known * wrong / all).sum::<f64>();
        let squares: f64 = judged.iter().map(|(who, (all, _))| (share(who) / known).powi(2) / all).sum();
        let (low, high) = wilson(mean, 1.0 / squares);
        let verdicts = judged.values().map(|(all, _)| all).sum::<f64>() as u64;
        Ok((ErrorRate { verdicts, mean, low, high }, 1.0 - known / total))
    }
}

/// Wilson's 95% interval of a share of `count` verdicts, which may be an effective number.
fn wilson(share: f64, count: f64) -> (f64, f64) {
    let z = NORMAL * NORMAL / count;
    let half = (z * share * (1.0 - share) + z * z / 4.0).max(0.0).sqrt();
    let end = |sign: f64| ((share + z / 2.0 + sign * half) / (1.0 + z)).clamp(0.0, 1.0);
    (end(-1.0), end(1.0))
}
