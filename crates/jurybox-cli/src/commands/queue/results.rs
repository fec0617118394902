//! The results part of `jurybox queue report`: what a queue found, and what it may have missed.

use jurybox::Interval;
use jurybox_server::{QueueReport, RewardMean};
use std::fmt::Write;

/// A number with at most this many significant digits, at most nine decimals and no exponent. All
/// digits before the decimal point are kept.
fn rounded(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { value.to_string() };
    }
    let decimals = usize::try_from(digits - 1 - value.abs().log10().floor() as i32).unwrap_or(0).min(9);
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').into() }
}

/// How rewards are printed: as percentages if the reward scale is 0 to 1, else as numbers.
#[derive(Clone, Copy)]
struct RewardFormat {
    low: f64,
    high: f64,
}

impl RewardFormat {
    fn is_share(self) -> bool {
        self.low == 0.0 && self.high == 1.0
    }

    fn mean(self, value: f64) -> String {
        if self.is_share() { format!("{}%", rounded(100.0 * value, 2)) } else { rounded(value, 2) }
    }

    /// A mean reward with its interval. A missing mean is left out, and so is an interval over all
    /// possible rewards, which says nothing.
    fn interval(self, interval: Interval) -> String {
        let Interval { mean, low, high } = interval;
        let says_something = low.is_finite() && high.is_finite() && (low > self.low || high < self.high);
        let ends = format!("{} to {}", self.mean(low), self.mean(high));
        match (mean.is_nan(), says_something) {
            (false, true) => format!("{} ({ends})", self.mean(mean)),
            (true, true) => ends,
            (false, false) => self.mean(mean),
            (true, false) => "too few to tell".into(),
        }
    }
}

/// A sum of rewards with its interval. A missing sum is left out.
fn sum(interval: Interval) -> String {
    let Interval { mean, low, high } = interval;
    let ends = format!("{} to {}", rounded(low, 2), rounded(high, 2));
    if mean.is_nan() { ends } else { format!("{} ({ends})", rounded(mean, 2)) }
}

/// Writes the found and the missed rewards, with intervals.
pub(super) fn write_results(text: &mut String, found: &QueueReport) -> std::fmt::Result {
    let format = RewardFormat { low: found.scale.low, high: found.scale.high };
    let share = |share: &RewardMean, of: &str| {
        share.mean.map(|mean| format!("{} in {} {of}", format.interval(mean), share.items))
    };
    writeln!(text, "reviewed       {} of {} items", found.reviewed, found.items)?;
    writeln!(text, "found          {}", rounded(found.found, 3))?;
    let lines = [
        ("by the queue", share(&found.picked, "items claimed for their value")),
        ("plain average", share(&found.plain_mean, "random checks that it would have picked")),
        ("at random", share(&found.random, "random checks")),
        ("missed", found.missed.map(sum)),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            writeln!(text, "{name:13}  {value}")?;
        }
    }
    if found.golden > 0 {
        writeln!(text, "golden         {} decided, not counted in any other line", found.golden)?;
    }
    let checks = found.random_checks;
    if checks.waiting + checks.closed + checks.erased > 0 {
        let (decided, items) = (checks.decided, checks.items);
        writeln!(text, "random checks  {decided} of {items} decided; the others may have any reward")?;
    }
    if found.released > 0 {
        writeln!(
            text,
            "released       {} claims without a verdict, which may have any reward",
            found.released
        )?;
    }
    if let Some(why) = found.unknown {
        writeln!(text, "missed         not known: {why}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_significant_digits() {
        for (value, digits, text) in [
            (0.0, 2, "0"),
            (-7.55e-4, 2, "-0.00076"),
            (29.12, 2, "29"),
            (1234.5, 3, "1234"),
            (0.5, 2, "0.5"),
            (12.345, 3, "12.3"),
            (20.0, 3, "20"),
        ] {
            assert_eq!(rounded(value, digits), text);
        }
    }

    #[test]
    fn an_interval_that_says_nothing_is_not_printed() {
        let nan = f64::NAN;
        let format = RewardFormat { low: 0.0, high: 1.0 };
        let text = |mean, low, high| format.interval(Interval { mean, low, high });
        assert_eq!(text(0.25, 0.1, 0.5), "25% (10% to 50%)");
        assert_eq!(text(0.25, 0.0, 1.0), "25%");
        assert_eq!(text(nan, 0.25, 0.75), "25% to 75%");
        assert_eq!(text(nan, 0.0, 1.0), "too few to tell");
        assert_eq!(text(nan, nan, nan), "too few to tell");
        let grades = RewardFormat { low: 1.0, high: 5.0 };
        assert_eq!(grades.interval(Interval { mean: 3.456, low: 2.0, high: 4.0 }), "3.5 (2 to 4)");
        assert_eq!(sum(Interval { mean: nan, low: 3.0, high: 1234.5 }), "3 to 1234");
    }
}
