//! Estimates for all items from random checks, by stratified sampling: items are chosen for a
//! random check on arrival with a known probability.
//!
//! Items that arrived at the same random-check rate form a stratum. All random checks of a stratum
//! together, decided or not, represent it. Some have no decision by a person: nobody could claim
//! them, a rule closed them, they were erased, or they wait. They count at the worst for each end
//! of an interval.

use super::intervals::EACH_END;
use jurybox::Interval;
use jurybox::toolbox::{greatest_mean, least_mean};

/// The range of rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RewardBounds {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl RewardBounds {
    /// The range before any reward outside of it was seen.
    pub(super) const USUAL: RewardBounds = RewardBounds { low: 0.0, high: 1.0 };

    pub(super) fn take_in(&mut self, reward: f64) {
        (self.low, self.high) = (self.low.min(reward), self.high.max(reward));
    }

    /// Turns the sum of `many` rewards into the sum of these rewards rescaled to 0 to 1.
    pub(super) fn share(&self, sum: f64, many: u64) -> f64 {
        ((sum - self.low * many as f64) / (self.high - self.low)).clamp(0.0, many as f64)
    }

    /// Turns an interval for a sum of rescaled rewards over `many` items into one for the rewards.
    pub(super) fn rewards(&self, shares: Interval, many: f64) -> Interval {
        shares.times(self.high - self.low).plus(self.low * many)
    }
}

/// Items that arrived under the same random-check rate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stratum {
    /// The rate.
    pub(super) rate: f64,
    /// Items that arrived, erased ones included.
    pub(super) came: u64,
    /// Random checks among them, erased ones included.
    pub(super) random_checks: u64,
    /// Erased random checks.
    pub(super) gone: u64,
    /// Random checks that a person has decided, without erased ones.
    pub(super) decided: u64,
    /// The sum of the decided rewards.
    pub(super) sum: f64,
}

impl Stratum {
    /// Items that are not random checks.
    pub(super) fn others(&self) -> u64 {
        self.came.saturating_sub(self.random_checks)
    }

    /// The least possible sum of rescaled rewards of the random checks: undecided ones count 0.
    fn least(&self, scale: RewardBounds) -> f64 {
        scale.share(self.sum, self.decided)
    }

    /// The greatest possible sum of rescaled rewards of the random checks: undecided ones count 1.
    fn most(&self, scale: RewardBounds) -> f64 {
        self.least(scale) + (self.random_checks - self.decided) as f64
    }

    /// The number of items that each random check represents, itself included.
    pub(super) fn weight(&self) -> f64 {
        self.came as f64 / self.random_checks as f64
    }
}

/// The sum of the rescaled rewards of all items, with a 95% interval that holds at all times at
/// once (a confidence sequence). An ordinary interval that is looked at again and again would be
/// wrong at some time far more often. None if no random check is decided.
pub(super) fn total(strata: &[Stratum], scale: RewardBounds) -> Option<Interval> {
    let mean = mean(strata, scale, |stratum| stratum.came as f64)?;
    let (low, high) = ends(strata, scale);
    Some(Interval { mean, low, high })
}

/// The sum of the rescaled rewards of the items that are not random checks. Its interval is that of
/// all items minus the random checks. None if no random check is decided.
pub(super) fn others(strata: &[Stratum], scale: RewardBounds) -> Option<Interval> {
    let mean = mean(strata, scale, |stratum| stratum.others() as f64)?;
    let (low, high) = ends(strata, scale);
    let random_checks =
        |of: fn(&Stratum, RewardBounds) -> f64| strata.iter().map(|stratum| of(stratum, scale)).sum::<f64>();
    let many: u64 = strata.iter().map(Stratum::others).sum();
    let within = |end: f64| end.clamp(0.0, many as f64);
    Some(Interval {
        mean,
        low: within(low - random_checks(Stratum::least)),
        high: within(high - random_checks(Stratum::most)),
    })
}

/// Multiplies the mean of each stratum's decided random checks by `many`, and adds up. A stratum
/// without decided ones gets the overall mean.
fn mean(strata: &[Stratum], scale: RewardBounds, many: impl Fn(&Stratum) -> f64) -> Option<f64> {
    let known = |stratum: &&Stratum| stratum.decided > 0;
    let weight: f64 = strata.iter().filter(known).map(|s| s.weight() * s.decided as f64).sum();
    let usual = strata.iter().filter(known).map(|s| s.weight() * s.least(scale)).sum::<f64>() / weight;
    let of = |s: &Stratum| if s.decided > 0 { s.least(scale) / s.decided as f64 } else { usual };
    (weight > 0.0).then(|| strata.iter().map(|stratum| many(stratum) * of(stratum)).sum())
}

/// The ends of the interval for the sum over all items, by `least_mean` and `greatest_mean`.
fn ends(strata: &[Stratum], scale: RewardBounds) -> (f64, f64) {
    // At rate 1 every item is a random check; at rate 0 nothing is known.
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
