//! Options for the settings of a queue: for a new queue, or to change one.

use jurybox::Spec;
use jurybox_server::{ConfigChange, VerdictScale};

const QUEUE_SETTINGS: &str = "Queue settings";

/// The settings of a queue besides its evaluators. A setting that is not given stays as it is, or
/// has its default in a new queue.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct QueueSettings {
    /// The policy that ranks; one that draws its picks at random is refused [new queue: adaptive]
    #[arg(long = "policy", id = "queue_policy", value_name = "POLICY", help_heading = QUEUE_SETTINGS)]
    policy: Option<Spec>,
    /// Items per claim that names no number [new queue: 10]
    #[arg(short = 'k', long = "k", id = "claim_size", value_name = "K", help_heading = QUEUE_SETTINGS)]
    k: Option<u32>,
    /// How long a claimed item is reserved for its reviewer [new queue: 900]
    #[arg(long, value_name = "SECONDS", help_heading = QUEUE_SETTINGS)]
    lease: Option<u32>,
    /// Reviewers per item; if they disagree, more are asked [new queue: 1]
    #[arg(long, value_name = "N", help_heading = QUEUE_SETTINGS)]
    quorum: Option<u8>,
    /// Share of new items that are reviewed regardless of their scores, to measure misses [new
    /// queue: 0]
    #[arg(long, value_name = "SHARE", help_heading = QUEUE_SETTINGS)]
    random_check_rate: Option<f64>,
    /// Largest share of a claim that random checks take [new queue: 0.25]
    #[arg(long, value_name = "SHARE", help_heading = QUEUE_SETTINGS)]
    random_check_share: Option<f64>,
    /// How much an item's value grows per day of waiting [new queue: 0]
    #[arg(long, value_name = "VALUE", help_heading = QUEUE_SETTINGS)]
    ageing_per_day: Option<f64>,
    /// How long a verdict can be undone; then it is learnt from [new queue: 20]
    #[arg(long, value_name = "SECONDS", help_heading = QUEUE_SETTINGS)]
    undo: Option<u32>,
    /// How long learning from an item waits for its missing scores [new queue: 60]
    #[arg(long, value_name = "SECONDS", help_heading = QUEUE_SETTINGS)]
    settle: Option<u32>,
    /// Delete payloads after this many days; 0 for never [new queue: 0]
    #[arg(long, value_name = "DAYS", help_heading = QUEUE_SETTINGS)]
    payload_days: Option<u32>,
    /// Largest payload of an item, as JSON [new queue: 262144]
    #[arg(long, value_name = "BYTES", help_heading = QUEUE_SETTINGS)]
    max_payload: Option<u32>,
    /// Most items that a reviewer holds at once, or K if that is more [new queue: 100]
    #[arg(long, value_name = "N", help_heading = QUEUE_SETTINGS)]
    max_held: Option<u32>,
    /// Lowest and highest reward; other verdicts are refused [without: 0..1, widened by rewards so
    /// far]
    #[arg(long, value_name = "LOWEST..HIGHEST", value_parser = ends, allow_hyphen_values = true, help_heading = QUEUE_SETTINGS)]
    reward_scale: Option<(f64, f64)>,
    /// A word for a verdict, and its reward, such as harmful=1; repeat it per word
    #[arg(long = "label", id = "queue_label", value_name = "WORD=REWARD", value_parser = label, help_heading = QUEUE_SETTINGS)]
    labels: Vec<(String, f64)>,
}

/// Parses `LOWEST..HIGHEST`.
fn ends(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
    let (low, high) = text.split_once("..").ok_or("write two numbers, such as 0..1")?;
    Ok((number(low)?, number(high)?))
}

/// Parses `WORD=REWARD`.
fn label(text: &str) -> Result<(String, f64), String> {
    let (word, reward) = text.rsplit_once('=').ok_or("write a word and a number, such as harmful=1")?;
    Ok((word.into(), reward.parse().map_err(|_| format!("`{reward}` is not a number"))?))
}

impl QueueSettings {
    /// These settings as a change. `before` is the reward scale of the queue; new words are added
    /// to its words.
    pub(crate) fn change(&self, before: Option<&VerdictScale>) -> ConfigChange {
        ConfigChange {
            policy: self.policy.clone(),
            k: self.k,
            lease_seconds: self.lease,
            quorum: self.quorum,
            random_check_rate: self.random_check_rate,
            random_check_share: self.random_check_share,
            ageing_per_day: self.ageing_per_day,
            undo_seconds: self.undo,
            settle_seconds: self.settle,
            payload_days: self.payload_days,
            max_payload: self.max_payload,
            max_held: self.max_held,
            reward: self.rewards(before).map(Some),
            ..ConfigChange::default()
        }
    }

    /// The reward scale with its words. The scale is as given, else as in `before`, else from the
    /// lowest to the highest reward of a word. New words are added to the words of `before`. None
    /// if neither a scale nor a word is given.
    fn rewards(&self, before: Option<&VerdictScale>) -> Option<VerdictScale> {
        if self.reward_scale.is_none() && self.labels.is_empty() {
            return None;
        }
        let mut labels = before.map(|before| before.labels.clone()).unwrap_or_default();
        labels.extend(self.labels.iter().cloned());
        let ends = before.map(|before| (before.lowest, before.highest));
        let of_words = || {
            let rewards = labels.values().copied();
            (rewards.clone().fold(f64::INFINITY, f64::min), rewards.fold(f64::NEG_INFINITY, f64::max))
        };
        let (lowest, highest) = self.reward_scale.or(ends).unwrap_or_else(of_words);
        Some(VerdictScale { lowest, highest, labels })
    }

    /// Whether no setting is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.change(None) == ConfigChange::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_set_the_scale_and_are_added_to_earlier_words() {
        let settings = |labels: &[(&str, f64)], reward_scale| QueueSettings {
            labels: labels.iter().map(|(word, reward)| ((*word).into(), *reward)).collect(),
            reward_scale,
            ..QueueSettings::default()
        };
        assert!(settings(&[], None).is_empty());
        let first = settings(&[("harmful", 1.0), ("fine", 0.0)], None).rewards(None).unwrap();
        assert_eq!(first.to_string(), "from 0 to 1 (fine = 0, harmful = 1)");
        let more = settings(&[("rude", 0.5)], None).rewards(Some(&first)).unwrap();
        assert_eq!(more.to_string(), "from 0 to 1 (fine = 0, harmful = 1, rude = 0.5)");
        let wider = settings(&[], Some((0.0, 10.0))).rewards(Some(&more)).unwrap();
        assert_eq!((wider.highest, wider.labels.len()), (10.0, 3));
    }
}
