//! The reward scale of a queue: lowest and highest reward, and the rewards of labels.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest absolute reward of any scale.
pub(crate) const UTMOST: f64 = 1e100;
/// The range of rewards in a queue without a scale. Rewards given under an earlier scale can widen
/// it.
pub(crate) const UNSAID: (f64, f64) = (0.0, 1.0);
/// The most labels of a scale.
const MOST_LABELS: usize = 1000;

/// The reward scale of a queue: lowest and highest reward, and the rewards of labels.
///
/// ```
/// let scale = r#"{"lowest": 0, "highest": 10, "labels": {"harmful": 10, "fine": 0}}"#;
/// let scale: jurybox_server::VerdictScale = serde_json::from_str(scale)?;
/// assert_eq!(scale.to_string(), "from 0 to 10 (fine = 0, harmful = 10)");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictScale {
    /// The lowest reward.
    pub lowest: f64,
    /// The highest reward.
    pub highest: f64,
    /// Rewards by label. A verdict can name a label instead of a reward.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, f64>,
}

impl std::fmt::Display for VerdictScale {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "from {} to {}", self.lowest, self.highest)?;
        let words: Vec<String> =
            self.labels.iter().map(|(label, reward)| format!("{label} = {reward}")).collect();
        if words.is_empty() { Ok(()) } else { write!(to, " ({})", words.join(", ")) }
    }
}

impl VerdictScale {
    /// Refuses unusable ends, too many labels, invalid labels, and rewards of labels outside the
    /// ends.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::Refused(format!("reward: {what}")));
        let usable = |end: f64| end.abs() <= UTMOST;
        if !usable(self.lowest) || !usable(self.highest) || self.lowest >= self.highest {
            return refuse(format!(
                "from {} to {} is not a scale: give two numbers within ±1e100, the lowest first",
                self.lowest, self.highest
            ));
        }
        if self.labels.len() > MOST_LABELS {
            return refuse(format!("{} labels, more than {MOST_LABELS}", self.labels.len()));
        }
        for (label, reward) in &self.labels {
            crate::decide::check_name("a label", label)
                .map_err(|why| Error::Refused(format!("reward: {why}")))?;
            if !self.contains(*reward) {
                return refuse(format!("label `{label}` = {reward} is not {}", self.range_text()));
            }
        }
        Ok(())
    }

    fn range_text(&self) -> String {
        format!("from {} to {}", self.lowest, self.highest)
    }

    fn contains(&self, reward: f64) -> bool {
        (self.lowest..=self.highest).contains(&reward)
    }

    /// The reason why a reward with this label does not fit the scale, or none if it fits. A label
    /// that the scale does not list fits.
    pub(crate) fn mismatch(&self, label: Option<&str>, reward: f64) -> Option<String> {
        if !self.contains(reward) {
            return Some(format!("reward {reward} is not on the queue's scale, {self}"));
        }
        let label = label?;
        let expected = *self.labels.get(label)?;
        (expected != reward)
            .then(|| format!("label `{label}` has the reward {expected}, and the verdict says {reward}"))
    }
}

/// The reward of a verdict that has a label, a reward, or both. Err is the reason for refusing it.
pub(crate) fn reward_of(
    scale: Option<&VerdictScale>,
    label: Option<&str>,
    reward: Option<f64>,
) -> Result<f64, String> {
    let reward = match (reward, label) {
        (Some(reward), _) => reward,
        (None, None) => return Err("it has neither a reward nor a label".into()),
        (None, Some(label)) => {
            let known = scale.and_then(|scale| scale.labels.get(label));
            *known.ok_or_else(|| match scale.filter(|scale| !scale.labels.is_empty()) {
                Some(scale) => format!("label `{label}` is not on the queue's scale, {scale}"),
                None => format!("the queue has no reward for label `{label}`: send a reward, or add the label to `reward.labels` of the queue"),
            })?
        }
    };
    if reward.is_nan() || reward.abs() > UTMOST {
        return Err(format!("reward {reward} is not usable; a reward is a number within ±1e100"));
    }
    match scale.and_then(|scale| scale.mismatch(label, reward)) {
        Some(mismatch) => Err(mismatch),
        None => Ok(reward),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale() -> VerdictScale {
        let labels = [("harmful".to_string(), 1.0), ("fine".into(), 0.0)].into();
        VerdictScale { lowest: 0.0, highest: 1.0, labels }
    }

    #[test]
    fn a_word_is_worth_what_the_scale_says() {
        let scale = scale();
        assert_eq!(reward_of(Some(&scale), Some("harmful"), None), Ok(1.0));
        assert_eq!(reward_of(Some(&scale), Some("harmful"), Some(1.0)), Ok(1.0));
        assert_eq!(reward_of(Some(&scale), Some("a word of my own"), Some(0.5)), Ok(0.5));
        assert_eq!(reward_of(None, None, Some(7.0)), Ok(7.0));
        for (label, reward, why) in [
            (Some("harmful"), Some(0.0), "has the reward 1, and the verdict says 0"),
            (Some("other"), None, "from 0 to 1 (fine = 0, harmful = 1)"),
            (None, Some(2.0), "reward 2 is not on the queue's scale, from 0 to 1"),
            (None, None, "neither a reward nor a label"),
            (None, Some(f64::NAN), "not usable"),
        ] {
            let refused = reward_of(Some(&scale), label, reward).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(reward_of(None, Some("harmful"), None).unwrap_err().contains("has no reward"));
    }

    #[test]
    fn a_scale_that_cannot_be_meant_is_refused() {
        scale().check().unwrap();
        for mismatch in [
            VerdictScale { lowest: 1.0, ..scale() },
            VerdictScale { highest: f64::INFINITY, ..scale() },
            VerdictScale { lowest: f64::NAN, ..scale() },
            VerdictScale { labels: [("x".to_string(), 2.0)].into(), ..scale() },
            VerdictScale { labels: [(String::new(), 1.0)].into(), ..scale() },
        ] {
            assert!(mismatch.check().is_err(), "{mismatch}");
        }
    }
}
