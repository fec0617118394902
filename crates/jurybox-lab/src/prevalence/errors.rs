//! How often reviewers err, from golden items, and the rate of yes corrected by that (Rogan and
//! Gladen 1978).
//!
//! With a rate q of yes among all rows as reviewers call them, f of the no wrongly called yes, and
//! s of the yes rightly, the true rate is (q - f) / (s - f). Its interval adds up, in squares, how
//! far it moves with each of the three at the end of its own interval (MOVER, Zou and Donner 2008);
//! those of the error rates are Wilson's.

use jurybox::{Interval, Reviewer};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of the standard error, for 95%.
const NORMAL: f64 = 1.959_963_984_540_054;

/// A verdict on an item whose right answer is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct GoldenVerdict {
    /// The right answer, 1 or 0.
    pub(super) right: f64,
    /// What was said.
    pub(super) reward: f64,
    pub(super) reviewer: Option<Reviewer>,
}

/// How often reviewers say the wrong thing, by their verdicts on golden items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorRates {
    /// Of items that are a no, the share that is called yes.
    pub false_positive_rate: ErrorRate,
    /// Of items that are a yes, the share that is called no.
    pub false_negative_rate: ErrorRate,
}

/// A share of golden items that is called wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorRate {
    /// How many verdicts on golden items of that kind there are.
    pub verdicts: u64,
    /// The share. With the names of reviewers, each counts for as much as they judged of the other
    /// rows.
    pub mean: f64,
    /// The lower end of its 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What `reviewers` have judged among the rows, by the sum of one over the probability.
pub(super) type ReviewerShares = BTreeMap<Option<Reviewer>, f64>;

impl ErrorRates {
    /// With the share of the rows whose reviewers have judged no golden item of one kind; the
    /// others stand for them. An error says which kind of golden items is missing.
    pub(super) fn of(golden: &[GoldenVerdict], shares: &ReviewerShares) -> Result<(ErrorRates, f64), String> {
        let (false_positive_rate, one) = ErrorRate::of(golden, 0.0, shares)?;
        let (false_negative_rate, other) = ErrorRate::of(golden, 1.0, shares)?;
        Ok((ErrorRates { false_positive_rate, false_negative_rate }, one.max(other)))
    }

    /// The true rate, given the rate that reviewers call. None where the error rates cannot be told
    /// from those of a coin, or where more golden items that are a no are called yes than of all
    /// rows: then the errors are not those that are made on the rows.
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
    /// Of golden items that are `right`, with the share of the rows whose reviewers have judged
    /// none of them.
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
                "no golden item that is {kind} was judged by anybody who judged other rows: how often people err takes verdicts on \
                 golden items that are 1 and on some that are 0"
            ));
        }
        let mean = judged.iter().map(|(who, (all, wrong))| share(who) / known * wrong / all).sum::<f64>();
        let squares: f64 = judged.iter().map(|(who, (all, _))| (share(who) / known).powi(2) / all).sum();
        let (low, high) = wilson(mean, 1.0 / squares);
        let verdicts = judged.values().map(|(all, _)| all).sum::<f64>() as u64;
        Ok((ErrorRate { verdicts, mean, low, high }, 1.0 - known / total))
    }
}

/// Wilson's interval of 95% of a share among so many.
fn wilson(share: f64, count: f64) -> (f64, f64) {
    let z = NORMAL * NORMAL / count;
    let half = (z * share * (1.0 - share) + z * z / 4.0).max(0.0).sqrt();
    let end = |sign: f64| ((share + z / 2.0 + sign * half) / (1.0 + z)).clamp(0.0, 1.0);
    (end(-1.0), end(1.0))
}
