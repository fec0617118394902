//! What is known of all items by those that were drawn on arrival, each with a known probability, whoever took them and why.
//!
//! Items that came in while the same share was drawn are one stratum. Within it the drawn items are like the others, all of them
//! together: those that were decided and those that were not. So one that no person has decided (nobody could be given it, a rule
//! closed it, it was erased, its turn has not come) is counted at the worst it could be worth, at each end.

use super::intervals::EACH_END;
use jurybox::Interval;
use jurybox::toolbox::{greatest_mean, least_mean};

/// What rewards lie within.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RewardBounds {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl RewardBounds {
    /// Where nothing else was seen.
    pub(super) const USUAL: RewardBounds = RewardBounds { low: 0.0, high: 1.0 };

    pub(super) fn take_in(&mut self, reward: f64) {
        (self.low, self.high) = (self.low.min(reward), self.high.max(reward));
    }

    /// A sum of so many rewards, in shares of the scale.
    pub(super) fn share(&self, sum: f64, many: u64) -> f64 {
        ((sum - self.low * many as f64) / (self.high - self.low)).clamp(0.0, many as f64)
    }

    /// Shares of the scale, summed over so many items, as a sum of rewards.
    pub(super) fn rewards(&self, shares: Interval, many: f64) -> Interval {
        shares.times(self.high - self.low).plus(self.low * many)
    }
}

/// Items that came in while the same share was drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stratum {
    /// The share.
    pub(super) rate: f64,
    /// How many came in, erased ones included.
    pub(super) came: u64,
    /// How many of them were drawn, erased ones included.
    pub(super) random_checks: u64,
    /// How many of those were erased.
    pub(super) gone: u64,
    /// How many of those a person has decided.
    pub(super) decided: u64,
    /// What those are worth together.
    pub(super) sum: f64,
}

impl Stratum {
    /// How many were not drawn.
    pub(super) fn others(&self) -> u64 {
        self.came.saturating_sub(self.random_checks)
    }

    /// What those that were drawn are worth at the least, in shares of the scale: what nobody has decided is worth nothing.
    fn least(&self, scale: RewardBounds) -> f64 {
        scale.share(self.sum, self.decided)
    }

    /// And at the most.
    fn most(&self, scale: RewardBounds) -> f64 {
        self.least(scale) + (self.random_checks - self.decided) as f64
    }

    /// For how many items each drawn one stands.
    pub(super) fn weight(&self) -> f64 {
        self.came as f64 / self.random_checks as f64
    }
}

/// The sum of shares over all items that came in, with an interval of 95 % that holds at every moment at once: a queue is looked at all
/// day, and a sequence of intervals each of which holds at its own moment alone would be wrong at some moment far more often. None
/// where nothing that was drawn is decided.
pub(super) fn total(strata: &[Stratum], scale: RewardBounds) -> Option<Interval> {
    let mean = mean(strata, scale, |stratum| stratum.came as f64)?;
    let (low, high) = ends(strata, scale);
    Some(Interval { mean, low, high })
}

/// The same over those that were not drawn: what all are worth, less those that were.
pub(super) fn others(strata: &[Stratum], scale: RewardBounds) -> Option<Interval> {
    let mean = mean(strata, scale, |stratum| stratum.others() as f64)?;
    let (low, high) = ends(strata, scale);
    let random_checks = |of: fn(&Stratum, RewardBounds) -> f64| strata.iter().map(|stratum| of(stratum, scale)).sum::<f64>();
    let many: u64 = strata.iter().map(Stratum::others).sum();
    let within = |end: f64| end.clamp(0.0, many as f64);
    Some(Interval {
        mean,
        low: within(low - random_checks(Stratum::least)),
        high: within(high - random_checks(Stratum::most)),
    })
}

/// So many items of each stratum at the mean of those that were drawn and decided; where there are none, at the mean of all of these.
fn mean(strata: &[Stratum], scale: RewardBounds, many: impl Fn(&Stratum) -> f64) -> Option<f64> {
    let known = |stratum: &&Stratum| stratum.decided > 0;
    let weight: f64 = strata.iter().filter(known).map(|s| s.weight() * s.decided as f64).sum();
    let usual = strata.iter().filter(known).map(|s| s.weight() * s.least(scale)).sum::<f64>() / weight;
    let of = |s: &Stratum| if s.decided > 0 { s.least(scale) / s.decided as f64 } else { usual };
    (weight > 0.0).then(|| strata.iter().map(|stratum| many(stratum) * of(stratum)).sum())
}

/// The least and the most that all items can be worth together.
fn ends(strata: &[Stratum], scale: RewardBounds) -> (f64, f64) {
    // What is drawn for certain is known, and of what never is, nothing is.
    let by_lot = || strata.iter().filter(|stratum| stratum.rate > 0.0 && stratum.rate < 1.0);
    let (mut low, mut high) = (0.0, 0.0);
    for stratum in strata.iter().filter(|stratum| stratum.rate >= 1.0) {
        (low, high) = (low + stratum.least(scale), high + stratum.most(scale));
    }
    high +=
        strata.iter().filter(|stratum| stratum.rate <= 0.0).map(|stratum| stratum.came as f64).sum::<f64>();
    let items: f64 = by_lot().map(|stratum| stratum.came as f64).sum();
    let rate = by_lot().map(|stratum| stratum.rate).fold(1.0, f64::min);
    let fewest = by_lot().map(|stratum| (stratum.least(scale), stratum.rate));
    let most = by_lot().map(|stratum| (stratum.most(scale), stratum.rate));
    (
        low + items * least_mean(fewest, items, rate, EACH_END),
        high + items * greatest_mean(most, items, rate, EACH_END),
    )
}
