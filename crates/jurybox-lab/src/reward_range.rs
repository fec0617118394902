//! The range in which all rewards, known or not, are taken to lie: declared, or read from the log.

use crate::error::Error;
use jurybox_draw::short;

/// The least and the greatest possible reward, and the reason for them as a phrase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RewardRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) from: &'static str,
    /// Whether the range was declared or all rewards in the log are 0 or 1. Rewards outside are
    /// then taken to be impossible.
    pub(crate) known: bool,
}

impl RewardRange {
    /// The declared range; else 0 to 1 if all rewards in the log are 0 or 1; else the range of the
    /// rewards in the log.
    ///
    /// # Errors
    /// If a reward is outside the declared range, or if the declared range is empty or infinite.
    pub(crate) fn of(rewards: &[f64], declared: Option<(f64, f64)>) -> Result<RewardRange, Error> {
        let known = || rewards.iter().copied().filter(|r| !r.is_nan());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        if let Some((least, most)) = declared {
            let value = format!("{least},{most}");
            if !(least < most && least.is_finite() && most.is_finite()) {
                return Err(Error::setting("reward range", value, "the first must be below the second"));
            }
            if low < least || high > most {
                let reason = format!("the log has rewards from {low} to {high}");
                return Err(Error::setting("reward range", value, reason));
            }
            return Ok(RewardRange { low: least, high: most, from: "as declared", known: true });
        }
        if known().all(|r| r == 0.0 || r == 1.0) {
            return Ok(RewardRange {
                low: 0.0,
                high: 1.0,
                from: "all rewards in the log are 0 or 1",
                known: true,
            });
        }
        Ok(RewardRange { low, high, from: "the range of the rewards in the log", known: false })
    }

    /// A warning if the range is only that of the rewards in the log.
    pub(crate) fn warning(&self) -> Option<String> {
        (!self.known).then(|| {
            format!(
                "rewards are assumed to lie between {} and {}, as in the log. Intervals do not \
                 allow for others: if larger or smaller ones are possible, declare the range of \
                 rewards",
                short(self.low),
                short(self.high)
            )
        })
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}
