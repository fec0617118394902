//! How pages speak of verdicts: by the queue's own label ("60 of 80 reviewed were harmful") if
//! every verdict is yes or no, else by the average verdict.

use super::format::{amount, between, count, number, percent};
use jurybox::Interval;
use jurybox_server::Config;

/// The label of a queue's positive verdicts, if every verdict is yes or no, and the scale of
/// rewards.
pub(super) struct Wording {
    label: Option<String>,
    scale: (f64, f64),
}

impl Wording {
    /// Uses the label of the reward 1 if the scale is 0 to 1 and every reward, given or labelled,
    /// is 0 or 1. Without exactly one label for 1 it says "positive".
    pub(super) fn of(config: &Config, rewards: impl IntoIterator<Item = f64>) -> Wording {
        let scale = config.reward.as_ref();
        let range = scale.map_or((0.0, 1.0), |scale| (scale.lowest, scale.highest));
        let is_binary = |reward: f64| reward == 0.0 || reward == 1.0;
        let labels = scale.map(|scale| &scale.labels);
        let mut all = labels.into_iter().flat_map(|labels| labels.values().copied()).chain(rewards);
        let label = (range == (0.0, 1.0) && all.all(is_binary)).then(|| {
            let mut ones = labels.into_iter().flatten().filter(|(_, reward)| **reward == 1.0);
            match (ones.next(), ones.next()) {
                (Some((label, _)), None) => label.clone(),
                _ => "positive".into(),
            }
        });
        Wording { label, scale: range }
    }

    /// The title of an axis with a sum of rewards: "harmful found", or "verdict total".
    pub(super) fn found(&self) -> String {
        self.label.as_ref().map_or("verdict total".into(), |label| format!("{label} found"))
    }

    /// A sum of rewards in words: "60 harmful", or "a verdict total of 60".
    pub(super) fn sum(&self, sum: f64) -> String {
        match &self.label {
            Some(label) => format!("{} {label}", amount(sum)),
            None => format!("a verdict total of {}", amount(sum)),
        }
    }

    /// What reviewers found in some items: "60 of 80 reviewed were harmful".
    pub(super) fn found_in(&self, sum: f64, items: u64) -> String {
        match &self.label {
            _ if items == 0 => "none reviewed".into(),
            Some(label) => format!("{} of {} reviewed were {label}", amount(sum), count(items)),
            None => format!("average verdict {} of {} reviewed", number(sum / items as f64), count(items)),
        }
    }

    /// The title of a column or an axis of averages: "harmful", or "average verdict".
    pub(super) fn average(&self) -> String {
        self.label.clone().unwrap_or_else(|| "average verdict".into())
    }

    /// An average reward: "70%" of binary verdicts, else a number. An interval stands beside it
    /// unless it covers more than half of the scale. Only the interval if the mean is not known.
    pub(super) fn mean(&self, interval: Interval) -> String {
        let tells = self.tells(interval);
        match (&self.label, tells) {
            (_, true) if interval.mean.is_nan() => self.ends(interval),
            (Some(_), true) => format!("{} ({})", percent(interval.mean), self.ends(interval)),
            (None, true) => between(interval),
            (Some(_), false) => percent(interval.mean),
            (None, false) => number(interval.mean),
        }
    }

    /// The ends of an interval: "62% to 77%".
    pub(super) fn ends(&self, interval: Interval) -> String {
        match self.label {
            Some(_) => format!("{} to {}", percent(interval.low), percent(interval.high)),
            None => between(Interval { mean: f64::NAN, ..interval }),
        }
    }

    /// All there was to find, in words: "everything harmful".
    pub(super) fn everything(&self) -> String {
        self.label.as_ref().map_or("all there was to find".into(), |label| format!("everything {label}"))
    }

    /// A clause about an average: "70% were harmful", "the average verdict was 3.1".
    pub(super) fn were(&self, average: &str) -> String {
        match &self.label {
            Some(label) => format!("{average} were {label}"),
            None => format!("the average verdict was {average}"),
        }
    }

    /// What the jury predicts for one item: "20% likely harmful". A binary prediction gets no
    /// interval, because the interval would nearly always reach from no to yes.
    pub(super) fn prediction(&self, interval: Interval) -> String {
        match &self.label {
            Some(label) => format!("{} likely {label}", percent(interval.mean.clamp(0.0, 1.0))),
            None => self.mean(interval),
        }
    }

    /// Whether an interval is narrow enough to be worth showing: at most half of the scale.
    pub(super) fn tells(&self, interval: Interval) -> bool {
        interval.high - interval.low <= (self.scale.1 - self.scale.0) / 2.0
    }

    /// About how many random checks would make an interval worth showing, rounded up to two digits.
    /// The given interval is from `checks` random checks, and shrinks with the square root of their
    /// number.
    pub(super) fn checks_needed(&self, interval: Interval, checks: u64) -> u64 {
        let ratio = (interval.high - interval.low) / ((self.scale.1 - self.scale.0) / 2.0);
        let needed = checks as f64 * ratio.max(1.0).powi(2);
        let step = 10_f64.powf((needed.max(1.0).log10() - 1.0).floor().max(0.0));
        ((needed / step).ceil() * step) as u64
    }
}

/// A verdict in words: its own label, else the label for its reward. On a scale without labels, yes
/// or no for the ends. Else the number.
pub(super) fn verdict_text(config: &Config, label: Option<&str>, reward: f64) -> String {
    let scale = config.reward.as_ref();
    let labels = scale.into_iter().flat_map(|scale| &scale.labels);
    let mut named = labels.filter(|(_, value)| **value == reward).map(|(name, _)| name.as_str());
    let plain = scale.is_none_or(|scale| scale.labels.is_empty()).then_some(reward);
    let range = scale.map_or((0.0, 1.0), |scale| (scale.lowest, scale.highest));
    match label.or_else(|| named.next()) {
        Some(label) => label.into(),
        None if plain == Some(range.1) => "yes".into(),
        None if plain == Some(range.0) => "no".into(),
        None => number(reward),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wording(reward: &str, rewards: &[f64]) -> Wording {
        let config = format!(r#"{{"evaluators": [{{"name": "a"}}]{reward}}}"#);
        Wording::of(&serde_json::from_str(&config).unwrap(), rewards.iter().copied())
    }

    #[test]
    fn binary_verdicts_are_named_by_their_label() {
        let labels = r#", "reward": {"lowest": 0, "highest": 1, "labels": {"fine": 0, "harmful": 1}}"#;
        let binary = wording(labels, &[0.0, 1.0]);
        assert_eq!(binary.found_in(60.0, 80), "60 of 80 reviewed were harmful");
        let estimate = |mean, low, high| Interval { mean, low, high };
        assert_eq!(binary.mean(estimate(0.7, 0.62, 0.77)), "70% (62% to 77%)");
        assert_eq!(binary.mean(estimate(0.7, 0.0, 1.0)), "70%");
        assert_eq!(binary.prediction(estimate(0.2, 0.0, 1.0)), "20% likely harmful");
        assert_eq!(wording("", &[1.0]).found_in(2.0, 3), "2 of 3 reviewed were positive");
        let graded = wording(labels, &[0.5]);
        assert_eq!(graded.found_in(3.0, 4), "average verdict 0.75 of 4 reviewed");
        assert_eq!(graded.mean(estimate(0.7, 0.62, 0.77)), "0.70 (0.62 to 0.77)");
        let wide = wording(r#", "reward": {"lowest": 0, "highest": 10}"#, &[]);
        assert_eq!(wide.prediction(estimate(3.25, 1.0, 9.0)), "3.25");
    }

    #[test]
    fn a_wide_interval_says_how_many_checks_it_takes() {
        let binary = wording("", &[]);
        assert_eq!(binary.checks_needed(Interval { mean: 0.4, low: 0.0, high: 0.88 }, 64), 200);
        assert_eq!(binary.checks_needed(Interval { mean: 0.4, low: 0.2, high: 0.5 }, 64), 64);
    }
}
