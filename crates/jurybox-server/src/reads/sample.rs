//! What is known of all items by those that were drawn on arrival, each with a known probability, whoever took them and why.
//!
//! Items that came in while the same share was drawn are one stratum. Within it the drawn items are like the others, all of them
//! together: those that were decided and those that were not. So one that no person has decided (nobody could be given it, a rule
//! closed it, it was erased, its turn has not come) is counted at the worst it could be worth, at each end.

use super::bound::bounds;
use jurybox::Interval;

/// What rewards lie within.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Scale {
    /// Where nothing else was seen.
    pub(super) const USUAL: Scale = Scale { low: 0.0, high: 1.0 };

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
    pub(super) drawn: u64,
    /// How many of those a person has decided.
    pub(super) decided: u64,
    /// What those are worth together.
    pub(super) sum: f64,
}

impl Stratum {
    /// How many were not drawn.
    pub(super) fn others(&self) -> u64 {
        self.came.saturating_sub(self.drawn)
    }

    /// For how many items each drawn one stands.
    pub(super) fn weight(&self) -> f64 {
        self.came as f64 / self.drawn as f64
    }
}

/// The sum of shares over so many items of each stratum, with an interval of 95 %; `n` says how many independent items an interval
/// for a stratum's mean may be taken from. None where nothing that was drawn is decided.
pub(super) fn total(
    strata: &[Stratum],
    scale: Scale,
    many: impl Fn(&Stratum) -> f64,
    n: impl Fn(&Stratum) -> f64,
) -> Option<Interval> {
    let known = |stratum: &&Stratum| stratum.decided > 0;
    let of = |stratum: &Stratum| scale.share(stratum.sum, stratum.decided);
    let weight: f64 = strata.iter().filter(known).map(|s| s.weight() * s.decided as f64).sum();
    // For strata of which nothing is known.
    let usual = strata.iter().filter(known).map(|s| s.weight() * of(s)).sum::<f64>() / weight;
    if weight.is_nan() || weight <= 0.0 {
        return None;
    }
    let mut all = Interval { mean: 0.0, low: 0.0, high: 0.0 };
    let (mut below, mut above) = (0.0, 0.0);
    for stratum in strata {
        let (many, n) = (many(stratum), n(stratum));
        all.mean += many * if stratum.decided > 0 { of(stratum) / stratum.decided as f64 } else { usual };
        if stratum.drawn == 0 || n <= 0.0 {
            all.high += many;
            continue;
        }
        let drawn = stratum.drawn as f64;
        let fewest = of(stratum) / drawn;
        let most = fewest + (stratum.drawn - stratum.decided) as f64 / drawn;
        let (low, high) = bounds(fewest, most, n);
        (all.low, all.high) = (all.low + many * fewest, all.high + many * most);
        // Strata miss apart from each other: their distances add up as sides of a right angle do (Zou and Donner 2008).
        below += (many * (fewest - low)).powi(2);
        above += (many * (high - most)).powi(2);
    }
    Some(Interval { low: all.low - below.sqrt(), high: all.high + above.sqrt(), ..all })
}

/// The items that were not drawn are so many, and were not drawn from endlessly many: how many independent draws a drawn mean is
/// worth as a forecast of theirs.
pub(super) fn for_the_others(stratum: &Stratum) -> f64 {
    stratum.drawn as f64 * stratum.others() as f64 / stratum.came as f64
}
