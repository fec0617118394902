//! The data from which the figures of a report come.

use serde::{Serialize, Serializer};
use std::fmt;

/// The data from which gains, noise, weights and error correlations come.
///
/// ```
/// assert_eq!(jurybox_files::Basis::Rewards.to_string(), "rewards");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Rewards.
    Rewards,
    /// The scores alone, by the one-factor model.
    Scores,
    /// Nothing: all rewards are the same, and the one-factor model does not fit the scores.
    EqualRewards,
    /// Nothing: there are too few rewards, and the one-factor model does not fit the scores.
    FewRewards,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Rewards => "rewards",
            Basis::Scores => "scores alone, by the one-factor model",
            Basis::EqualRewards => {
                "nothing: all rewards are the same, and the scores do not move together enough to tell signal from noise"
            }
            Basis::FewRewards => {
                "nothing: too few rewards, and the scores do not move together enough to tell signal from noise"
            }
        })
    }
}

impl Serialize for Basis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
