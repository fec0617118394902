//! Estimates rounded for people: about two significant digits beside an interval, else three.

use crate::reward_range::RewardRange;
use jurybox::Interval;
use jurybox_draw::short;

/// The unit in which rewards are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RewardUnit {
    /// The rewards' own unit.
    #[default]
    Plain,
    /// Percent, for rewards that are 0 or 1.
    Percent,
}

impl RewardUnit {
    /// Percent if no known reward is other than 0 or 1.
    pub(crate) fn of(rewards: &[f64]) -> RewardUnit {
        let is_binary = rewards.iter().all(|r| r.is_nan() || *r == 0.0 || *r == 1.0);
        if is_binary { RewardUnit::Percent } else { RewardUnit::Plain }
    }

    /// Percent if no known reward is other than 0 or 1 and the reward range is 0 to 1.
    pub(crate) fn within(rewards: &[f64], range: RewardRange) -> RewardUnit {
        if range.ends() == (0.0, 1.0) { RewardUnit::of(rewards) } else { RewardUnit::Plain }
    }

    /// A number with three significant digits, but all digits before the decimal point and at most
    /// six decimals.
    pub(crate) fn number(self, value: f64) -> String {
        self.fixed(value, decimals(self.scaled(value).abs(), 3))
    }

    /// An estimate with its interval, as `29% ± 5%`; as `29% (24% to 36%)` if one side is more than
    /// a tenth longer. Only the number if an end is infinite or the interval has no width.
    pub(crate) fn estimate(self, estimate: Interval) -> String {
        const UNEVEN: f64 = 1.1;
        let Interval { mean, low, high } = estimate;
        let (down, up) = (mean - low, high - mean);
        if !(down.is_finite() && up.is_finite()) || (down == 0.0 && up == 0.0) {
            return self.number(mean);
        }
        let [mean, low, high] = self.aligned([mean, low, high]);
        if down.max(up) <= UNEVEN * down.min(up) {
            let half =
                self.fixed(down.max(up), self.decimals_of([estimate.mean, estimate.low, estimate.high]));
            format!("{mean} ± {half}")
        } else {
            format!("{mean} ({low} to {high})")
        }
    }

    /// Mean and ends of an interval, with the decimals that show two significant digits of the
    /// largest of them in size. A narrow interval gets more decimals, six at most.
    pub(crate) fn aligned(self, values: [f64; 3]) -> [String; 3] {
        let decimals = self.decimals_of(values);
        values.map(|value| self.fixed(value, decimals))
    }

    fn decimals_of(self, values: [f64; 3]) -> usize {
        let [mean, low, high] = values.map(|value| self.scaled(value));
        let largest = mean.abs().max(low.abs()).max(high.abs());
        // At least one digit of the interval's half-width must show.
        decimals(largest, 2).max(decimals(0.5 * (high - low), 1))
    }

    fn scaled(self, value: f64) -> f64 {
        if self == RewardUnit::Percent { 100.0 * value } else { value }
    }

    fn fixed(self, value: f64, decimals: usize) -> String {
        if !value.is_finite() {
            return short(value);
        }
        let text = format!("{:.decimals$}", self.scaled(value));
        // A negative number that rounds to zero has no sign.
        let is_zero = text.bytes().all(|byte| b"-0.".contains(&byte));
        let text = if is_zero { text.trim_start_matches('-') } else { &text };
        if self == RewardUnit::Percent { format!("{text}%") } else { text.into() }
    }
}

/// Decimals that show this many significant digits of a size, six at most; 0 for zero or infinity.
fn decimals(size: f64, significant: i32) -> usize {
    if size > 0.0 && size.is_finite() {
        (significant - 1 - size.log10().floor() as i32).clamp(0, 6) as usize
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_suit_the_interval() {
        let plain = |mean, low, high| RewardUnit::Plain.estimate(Interval { mean, low, high });
        assert_eq!(plain(-7.55e-4, -0.2216, 0.2202), "0.00 ± 0.22");
        assert_eq!(plain(0.712, 0.695, 0.729), "0.71 ± 0.02");
        assert_eq!(plain(0.9963, 0.9955, 0.9971), "0.9963 ± 0.0008");
        assert_eq!(plain(12.34, 10.1, 19.7), "12 (10 to 20)");
        assert_eq!(plain(0.25, f64::NEG_INFINITY, f64::INFINITY), "0.250");
        let percent = |mean, low, high| RewardUnit::Percent.estimate(Interval { mean, low, high });
        assert_eq!(percent(0.29, 0.24, 0.36), "29% (24% to 36%)");
        assert_eq!(percent(0.0, 0.0, 0.003), "0.00% (0.00% to 0.30%)");
        assert_eq!(RewardUnit::of(&[1.0, f64::NAN, 0.0]), RewardUnit::Percent);
        assert_eq!(RewardUnit::of(&[0.5]), RewardUnit::Plain);
    }
}
